// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/mac.hpp"

#include <algorithm>

namespace keepon::sim
{

Transmission Mac::Send(std::uint32_t frame_bytes, TimePs earliest)
{
	const std::int64_t ready =
		std::max(OnTick(oscillator_.Local(std::max<TimePs>(earliest, 0))), free_local_);

	last_ = { pauses_.empty() ? ready : AfterPauses(ready), frame_bytes, byte_time_ps_ };
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

Transmission Mac::CutShort(TimePs now)
{
	const std::int64_t sent = oscillator_.Local(now) - last_.Sfd();
	const std::int64_t bytes = sent < 0 ? 0 : sent / byte_time_ps_ + 1;

	if (bytes >= last_.frame_bytes)
		return last_;
	last_.frame_bytes = static_cast<std::uint32_t>(bytes);
	free_local_ = last_.End();
	free_ = oscillator_.TrueOf(free_local_);
	return last_;
}

} // namespace keepon::sim
