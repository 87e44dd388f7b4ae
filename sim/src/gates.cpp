// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/gates.hpp"

#include <algorithm>

namespace keepon::sim
{

Gates::Gates(std::int64_t base_ps, const std::vector<GateEntry> &entries)
{
	for (const GateEntry &entry : entries)
		cycle_ps_ += entry.ns * kPsPerNs;
	base_ps_ = FloorMod(base_ps, cycle_ps_);
	for (int queue = 0; queue <= kRelease; queue++) {
		auto &windows = windows_[queue];
		std::int64_t at = 0;
		for (const GateEntry &entry : entries) {
			const std::int64_t end = at + entry.ns * kPsPerNs;
			if ((entry.mask ^ GateEntry::kHold) >> queue & 1) {
				if (!windows.empty() && windows.back().end == at)
					windows.back().end = end;
				else
					windows.push_back({ at, end });
			}
			at = end;
		}
		always_[queue] =
			windows.size() == 1 && windows[0].start == 0 && windows[0].end == cycle_ps_;
		if (windows.size() > 1 && windows.front().start == 0 &&
		    windows.back().end == cycle_ps_)
			windows.back().end += windows.front().end;
	}
}

std::int64_t Gates::EarliestStart(int queue, std::int64_t now, std::int64_t duration) const
{
	if (!Any() || always_[queue])
		return now;
	const std::int64_t phase = FloorMod(now - base_ps_, cycle_ps_);
	for (const Window &window : windows_[queue]) {
		const std::int64_t start = std::max(window.start, phase);
		if (start + duration <= window.end)
			return now + start - phase;
	}
	for (const Window &window : windows_[queue]) {
		if (window.start + duration <= window.end)
			return now + window.start + cycle_ps_ - phase;
	}
	return kNever;
}

std::int64_t Gates::OpenIn(const Window &window, std::int64_t phase) const
{
	return std::max<std::int64_t>(std::min({ window.end, cycle_ps_, phase }) - window.start, 0);
}

std::int64_t Gates::OpenPs(int queue) const
{
	std::int64_t open = 0;
	for (const Window &window : windows_[queue])
		open += OpenIn(window, cycle_ps_);
	return open;
}

std::int64_t Gates::OpenTime(int queue, std::int64_t now) const
{
	std::int64_t open = FloorDiv(now - base_ps_, cycle_ps_) * OpenPs(queue);
	for (const Window &window : windows_[queue])
		open += OpenIn(window, FloorMod(now - base_ps_, cycle_ps_));
	return open;
}

std::int64_t Gates::TimeOfOpen(int queue, std::int64_t open) const
{
	const std::int64_t each = OpenPs(queue);
	if (each == 0)
		return kNever;
	const std::int64_t cycle = CeilDiv(open, each) - 1;
	std::int64_t rest = open - cycle * each; // 1 to each
	for (const Window &window : windows_[queue]) {
		const std::int64_t length = OpenIn(window, cycle_ps_);
		if (rest <= length)
			return base_ps_ + cycle * cycle_ps_ + window.start + rest;
		rest -= length;
	}
	return kNever;
}

std::int64_t Gates::LastStart(int queue, std::int64_t now, std::int64_t duration) const
{
	if (always_[queue])
		return kNever;
	const std::int64_t phase = FloorMod(now - base_ps_, cycle_ps_);
	for (const Window &window : windows_[queue]) {
		if (window.start <= phase && phase < window.end)
			return now + window.end - duration - phase;
	}
	return now;
}

} // namespace keepon::sim
