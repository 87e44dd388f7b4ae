// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/taprio_qdisc.hpp"

#include <algorithm>

namespace keepon::sim
{

std::int64_t TaprioAssist::DurationNs(const TxFrame &frame) const
{
	return CeilDiv(SkbBytes(frame) * host_.ByteTimePs(), kPsPerNs);
}

/// Of all windows of its class the one with the earliest free place, not before txtime-delay has
/// passed. Windows before the base time are those of the grid it continues.
bool TaprioAssist::Label(TxFrame &frame, std::int64_t least_ns)
{
	least_ns = std::max(least_ns, host_.TaiNs() + spec_.txtime_delay_ns);
	const std::int64_t duration_ns = DurationNs(frame);
	std::int64_t earliest_ns = INT64_MAX;
	std::size_t found = 0;
	std::int64_t offset_ns = 0;
	for (std::size_t i = 0; i < spec_.windows.size(); offset_ns += spec_.windows[i++].ns) {
		const GateWindow &window = spec_.windows[i];
		if (!(window.classes >> frame.frame.tc & 1) || duration_ns > window.ns)
			continue;
		std::int64_t at_ns = std::max(least_ns, next_ns_[i]);
		const std::int64_t into_ns =
			FloorMod(at_ns - spec_.base_ns - offset_ns, spec_.cycle_ns);
		if (into_ns + duration_ns > window.ns) // the next one
			at_ns += spec_.cycle_ns - into_ns;
		if (at_ns < earliest_ns) {
			earliest_ns = at_ns;
			found = i;
		}
	}
	if (earliest_ns == INT64_MAX)
		return false;
	next_ns_[found] = earliest_ns + duration_ns;
	frame.frame.txtime_ns = earliest_ns;
	frame.frame.flags |= KPN_FRAME_TXTIME;
	frame.assisted = true;
	return true;
}

/// As in Linux it begins behind the start of its window, not at it, and ends before its end.
bool TaprioAssist::Allows(const TxFrame &frame) const
{
	std::int64_t offset_ns = 0;
	for (const GateWindow &window : spec_.windows) {
		const std::int64_t into_ns =
			FloorMod(frame.frame.txtime_ns - spec_.base_ns - offset_ns, spec_.cycle_ns);
		if (window.classes >> frame.frame.tc & 1 && into_ns > 0 &&
		    into_ns + DurationNs(frame) < window.ns)
			return true;
		offset_ns += window.ns;
	}
	return false;
}

TaprioGates::TaprioGates(QdiscHost &host, QdiscBelow &below, const TaprioSpec &spec)
	: host_(host), below_(below), spec_(spec)
{
}

/// A base time that has passed is that of the next cycle.
void TaprioGates::Start()
{
	const std::int64_t now_ns = host_.TaiNs();
	std::int64_t start_ns = spec_.base_ns;
	if (start_ns <= now_ns)
		start_ns += ((now_ns - start_ns) / spec_.cycle_ns + 1) * spec_.cycle_ns;
	window_ = spec_.windows.size() - 1;
	host_.SetTimer(start_ns, timer_);
}

void TaprioGates::OnWindow(TimePs, std::uint64_t start_ns)
{
	host_.OnTimerTold();
	window_ = (window_ + 1) % spec_.windows.size();
	const std::int64_t ns = spec_.windows[window_].ns;
	close_ns_ = static_cast<std::int64_t>(start_ns) + ns;
	budget_ps_ = ns * kPsPerNs;
	// The last window ends with the cycle, which may be longer than all of them.
	if (window_ + 1 == spec_.windows.size()) {
		for (const GateWindow &window : spec_.windows)
			close_ns_ -= window.ns;
		close_ns_ += spec_.cycle_ns;
	}
	host_.SetTimer(close_ns_, timer_);
	Serve();
}

void TaprioGates::HandOn(TxFrame &frame)
{
	ready_[frame.frame.tc].push_back(frame.index);
	waiting_++;
	Serve();
}

/// The highest class first; what does not end before its gate closes waits, and so does what the
/// wire has no time for in this window.
void TaprioGates::Serve()
{
	if (close_ns_ == INT64_MIN)
		return;
	for (std::size_t tc = kClasses; tc-- > 0;) {
		if (!(spec_.windows[window_].classes >> tc & 1))
			continue;
		while (!ready_[tc].empty()) {
			TxFrame &frame = host_.FrameAt(ready_[tc].front());
			const std::int64_t ps = SkbBytes(frame) * host_.ByteTimePs();
			if (host_.TaiNs() + CeilDiv(ps, kPsPerNs) > close_ns_ || ps > budget_ps_)
				break;
			budget_ps_ -= ps;
			ready_[tc].pop_front();
			waiting_--;
			below_.HandOn(frame);
		}
	}
}

} // namespace keepon::sim
