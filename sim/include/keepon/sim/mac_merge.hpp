// SPDX-License-Identifier: BSD-3-Clause
// The MAC Merge sublayer of a port (IEEE Std 802.3-2022 clause 99): one preemptable frame at a time,
// which express frames interrupt.
//
// It goes as one mPacket or several. Each has 8 bytes of preamble and SMD (a continuation: preamble,
// SMD-C and FRAG_COUNT) in front and the gap of 12 behind. All but the last end with an mCRC of 4
// bytes and have min_fragment_bytes at least, mCRC included: 64 x (1 + addFragSize). The last ends
// with the FCS and has 64 at least.
#pragma once

#include <cstdint>

#include "keepon/sim/core.hpp"
#include "keepon/sim/mac.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

class MacMerge
{
public:
	static constexpr std::uint32_t kMcrcBytes = 4;
	static constexpr std::uint32_t kLastBytesMin = 64;

	/// \param queues  a bit for each whose frames are preemptable
	MacMerge(std::uint32_t queues, std::uint32_t min_fragment_bytes)
		: queues_(queues), cut_bytes_min_(min_fragment_bytes - kMcrcBytes)
	{
	}

	std::uint32_t Queues() const { return queues_; }
	/// The longest that an express frame waits for, from the preamble to the end of the gap: an
	/// mPacket one byte too short for two.
	std::uint32_t WaitBytesMax() const
	{
		return KPN_WIRE_OVERHEAD_BYTES + cut_bytes_min_ + kLastBytesMin - 1;
	}

	/// A part of a frame is on the wire that may yet be interrupted.
	bool Underway() const { return rest_bytes_ > 0 && under_way_; }
	/// The rest of a frame waits for the wire.
	bool Interrupted() const { return rest_bytes_ > 0 && !under_way_; }

	/// The first mPacket of a frame begins, or that of the rest of the one interrupted.
	void Begin(Mac &mac, std::uint32_t frame_bytes, TimePs now);
	void Continue(Mac &mac, TimePs now);
	/// Last instant for Interrupt(); in the past if what is under way goes on to its end.
	TimePs InterruptibleUntil(Mac &mac) const;
	/// End the mPacket under way as soon as may be, from \p now on.
	void Interrupt(Mac &mac, TimePs now);
	/// What is under way goes on to its end, so that there is no frame any more: all of it.
	Transmission End();

private:
	std::uint32_t queues_;
	std::uint32_t cut_bytes_min_; // of the frame, before an mCRC
	bool under_way_ = false;
	std::uint32_t rest_bytes_ = 0; // of the frame, with the mPacket under way
	Transmission all_;
	Transmission part_;
};

} // namespace keepon::sim
