// SPDX-License-Identifier: BSD-3-Clause
// The wire side of a NIC that sends single frames: starts on the NIC's own byte clock, one frame after the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "keepon/sim/core.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/transmitter.hpp"

namespace keepon::sim
{

class WirePort
{
public:
	WirePort(Oscillator &oscillator, std::uint32_t byte_time_ps)
		: oscillator_(oscillator), byte_time_ps_(byte_time_ps)
	{
	}

	/// Send \p frame at the first byte tick at or after \p earliest at which the wire is free.
	WireFrame Send(const TxFrame &frame, TimePs earliest)
	{
		const std::int64_t tick = byte_time_ps_;
		const std::int64_t wish = CeilDiv(oscillator_.Local(std::max<TimePs>(earliest, 0)), tick) * tick;
		const std::int64_t start = std::max(wish, free_local_);
		const std::int64_t sfd = start + KPN_PREAMBLE_BYTES * tick;
		const std::int64_t complete = sfd + frame.frame.frame_bytes * tick;
		free_local_ = complete + KPN_GAP_BYTES * tick;
		free_ = oscillator_.TrueOf(free_local_);
		start_ = oscillator_.TrueOf(start);
		return { static_cast<const std::uint8_t *>(frame.frame.data), frame.frame.frame_bytes,
			 oscillator_.TrueOf(sfd), oscillator_.TrueOf(complete), false };
	}

	TimePs FreeAt() const { return free_; }
	TimePs LastStart() const { return start_; }
	std::uint32_t ByteTimePs() const { return byte_time_ps_; }

private:
	Oscillator &oscillator_;
	std::uint32_t byte_time_ps_;
	std::int64_t free_local_ = 0;
	TimePs free_ = 0;
	TimePs start_ = 0;
};

} // namespace keepon::sim
