// SPDX-License-Identifier: BSD-3-Clause
// The wire side of a NIC that sends single frames: starts on the NIC's own byte clock, one frame
// after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "keepon/sim/core.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/transmitter.hpp"
#include "keepon/sim/wire_pause.hpp"

namespace keepon::sim
{

class WirePort
{
public:
	WirePort(Oscillator &oscillator, std::uint32_t byte_time_ps)
		: oscillator_(oscillator), byte_time_ps_(byte_time_ps)
	{
	}

	/// To be called before the first Send().
	void AddPause(const WirePause &pause) { InsertPause(pauses_, pause); }

	/// Send \p frame at the first byte tick at or after \p earliest at which the wire is free.
	WireFrame Send(const TxFrame &frame, TimePs earliest)
	{
		const std::int64_t tick = byte_time_ps_;
		const std::int64_t wish =
			CeilDiv(oscillator_.Local(std::max<TimePs>(earliest, 0)), tick) * tick;
		const std::int64_t start = AfterPauses(std::max(wish, free_local_));
		const std::int64_t sfd = start + KPN_PREAMBLE_BYTES * tick;
		const std::int64_t complete = sfd + frame.frame.frame_bytes * tick;
		free_local_ = complete + KPN_GAP_BYTES * tick;
		free_ = oscillator_.TrueOf(free_local_);
		start_ = oscillator_.TrueOf(start);
		return { static_cast<const std::uint8_t *>(frame.frame.data),
			 frame.frame.frame_bytes, oscillator_.TrueOf(sfd),
			 oscillator_.TrueOf(complete), false };
	}

	/// By how much pauses held frames back.
	std::int64_t PausedPs() const { return paused_ps_; }
	TimePs FreeAt() const { return free_; }
	TimePs LastStart() const { return start_; }
	std::uint32_t ByteTimePs() const { return byte_time_ps_; }

private:
	std::int64_t AfterPauses(const std::int64_t ready)
	{
		const std::int64_t tick = byte_time_ps_;
		std::int64_t start = ready;
		for (; next_pause_ < pauses_.size() &&
		       pauses_[next_pause_].at_ps <= oscillator_.TrueOf(start);
		     next_pause_++) {
			const WirePause &pause = pauses_[next_pause_];
			const std::int64_t idle =
				std::max(free_local_, oscillator_.Local(pause.at_ps));
			start = std::max(start, CeilDiv(idle + pause.idle_ps, tick) * tick);
		}
		paused_ps_ += start - ready;
		return start;
	}

	Oscillator &oscillator_;
	std::uint32_t byte_time_ps_;
	std::vector<WirePause> pauses_;
	std::size_t next_pause_ = 0;
	std::int64_t paused_ps_ = 0;
	std::int64_t free_local_ = 0;
	TimePs free_ = 0;
	TimePs start_ = 0;
};

} // namespace keepon::sim
