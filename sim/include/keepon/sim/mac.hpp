// SPDX-License-Identifier: BSD-3-Clause
// The MAC of a port: one frame at a time on the wire, from the preamble's first bit to the end of
// the gap, by its own oscillator. A transmission begins, may be ended sooner, and ends; the end is an
// event only for a caller that waits for it. The ring NIC counts its wire with the same
// nicmodel/wire.h.
#pragma once

#include <cstdint>
#include <vector>

#include "keepon/sim/core.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/types.hpp"
#include "keepon/sim/wire_pause.hpp"

namespace keepon::sim
{

/// A frame on the wire. Times are ps of the MAC's oscillator.
struct Transmission {
	std::int64_t start = 0; // first bit of the preamble
	std::uint32_t frame_bytes = 0;
	std::uint32_t byte_time_ps = 1;
	std::int64_t interrupted_ps = 0; // from its first to its last mPacket, see mac_merge.hpp
	std::uint32_t mpackets = 1;

	/// Its reference plane: the end of the preamble.
	std::int64_t Sfd() const
	{
		return start + std::int64_t{ KPN_PREAMBLE_BYTES } * byte_time_ps;
	}
	std::int64_t LastBit() const
	{
		return Sfd() + std::int64_t{ frame_bytes } * byte_time_ps + interrupted_ps;
	}
	/// The wire is free again.
	std::int64_t End() const
	{
		return LastBit() + std::int64_t{ KPN_GAP_BYTES } * byte_time_ps;
	}
};

class Mac
{
public:
	/// \param quantum_ps  frames start at multiples of it by \p oscillator: a byte time in NICs
	Mac(Oscillator &oscillator, std::uint32_t byte_time_ps, std::uint32_t quantum_ps)
		: oscillator_(oscillator), byte_time_ps_(byte_time_ps), quantum_ps_(quantum_ps)
	{
	}

	/// To be called before the first Send().
	void AddPause(const WirePause &pause) { InsertPause(pauses_, pause); }

	/// A frame of \p frame_bytes, as soon as the wire is free but not before \p earliest.
	/// Several may be sent ahead of time, if nothing else can get between them.
	Transmission Send(std::uint32_t frame_bytes, TimePs earliest);

	/// Of the last frame sent, which is on the wire: bytes that have begun before \p now.
	std::uint32_t BytesBegun(TimePs now) const;
	/// It ends after as many bytes, more than have begun; the gap follows.
	void EndAfter(std::uint32_t frame_bytes);

	/// True time at which the wire is free.
	TimePs FreeAt() const { return free_; }
	TimePs TrueOf(std::int64_t local) { return oscillator_.TrueOf(local); }
	std::int64_t Local(TimePs t) { return oscillator_.Local(t); }
	std::uint32_t ByteTimePs() const { return byte_time_ps_; }
	/// By how much pauses held frames back.
	std::int64_t PausedPs() const { return paused_ps_; }

private:
	std::int64_t OnTick(std::int64_t local) const
	{
		return quantum_ps_ == 1 ? local : CeilDiv(local, quantum_ps_) * quantum_ps_;
	}
	std::int64_t AfterPauses(std::int64_t ready);

	Oscillator &oscillator_;
	std::uint32_t byte_time_ps_;
	std::uint32_t quantum_ps_;
	Transmission last_;
	std::int64_t free_local_ = 0;
	TimePs free_ = 0;
	std::vector<WirePause> pauses_;
	std::vector<ring_nic_pause> announced_; // the first ones, by the oscillator
	std::size_t next_pause_ = 0;
	std::int64_t paused_ps_ = 0;
};

} // namespace keepon::sim
