// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/mac.hpp"

#include <algorithm>

namespace keepon::sim
{

Transmission Mac::Send(std::uint32_t frame_bytes, TimePs earliest)
{
	const std::int64_t ready =
		std::max(OnTick(oscillator_.Local(std::max<TimePs>(earliest, 0))), free_local_);

	last_ = {};
	last_.start = pauses_.empty() ? ready : AfterPauses(ready);
	last_.frame_bytes = frame_bytes;
	last_.byte_time_ps = byte_time_ps_;
	free_local_ = last_.End();
	free_ = oscillator_.TrueOf(free_local_);
	return last_;
}

/// Pauses are put in the oscillator's time when the wire gets there, not all of them for the whole
/// run.
std::int64_t Mac::AfterPauses(std::int64_t ready)
{
	std::int64_t start = ready;
	std::size_t met;

	do {
		met = next_pause_;
		while (announced_.size() < pauses_.size() &&
		       pauses_[announced_.size()].at_ps <= oscillator_.TrueOf(start)) {
			const WirePause &pause = pauses_[announced_.size()];
			announced_.push_back(
				{ static_cast<std::uint64_t>(oscillator_.Local(pause.at_ps)),
				  static_cast<std::uint64_t>(pause.idle_ps) });
		}
		start = OnTick(static_cast<std::int64_t>(
			nic_wire_start_ps(announced_.data(), announced_.size(), &next_pause_,
					  static_cast<std::uint64_t>(free_local_),
					  static_cast<std::uint64_t>(start))));
	} while (next_pause_ > met);
	paused_ps_ += start - ready;
	return start;
}

std::uint32_t Mac::BytesBegun(TimePs now) const
{
	const std::int64_t sent = oscillator_.Local(now) - last_.Sfd();

	return static_cast<std::uint32_t>(std::max<std::int64_t>(CeilDiv(sent, byte_time_ps_), 0));
}

void Mac::EndAfter(std::uint32_t frame_bytes)
{
	last_.frame_bytes = frame_bytes;
	free_local_ = last_.End();
	free_ = oscillator_.TrueOf(free_local_);
}

} // namespace keepon::sim
