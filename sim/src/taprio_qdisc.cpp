// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/taprio_qdisc.hpp"

#include <algorithm>

namespace keepon::sim
{

/// A base time that has passed is that of the next cycle.
static std::int64_t StartNs(const TaprioSpec &spec, std::int64_t now_ns)
{
	if (spec.base_ns > now_ns)
		return spec.base_ns;
	return now_ns - (now_ns - spec.base_ns) % spec.cycle_ns + spec.cycle_ns;
}

std::int64_t TaprioAssist::DurationNs(const TxFrame &frame) const
{
	return SkbBytes(frame) * host_.ByteTimePs() / kPsPerNs;
}

void TaprioAssist::Start()
{
	std::int64_t open_ns = StartNs(spec_, host_.TaiNs());
	for (std::size_t i = 0; i < spec_.windows.size(); open_ns += spec_.windows[i++].ns)
		next_ns_[i] = open_ns;
}

/// As Linux looks for one (find_entry_to_transmit()), which is not always the first that is free: a
/// window with a place given beyond \p least_ns is not asked for earlier cycles, and one that is
/// over is taken in the next before those that are full. With two windows a class has labels out of
/// order.
std::optional<TaprioAssist::Opening> TaprioAssist::Find(const TxFrame &frame,
							std::int64_t least_ns) const
{
	const std::int64_t duration_ns = DurationNs(frame);
	std::optional<Opening> best;
	bool best_is_over = false;
	std::int64_t open_ns = least_ns - FloorMod(least_ns - spec_.base_ns, spec_.cycle_ns);
	for (std::size_t i = 0; i < spec_.windows.size(); open_ns += spec_.windows[i++].ns) {
		const GateWindow &window = spec_.windows[i];
		if (!(window.classes >> frame.frame.tc & 1) || duration_ns > window.ns)
			continue;
		const Opening opening{ i, open_ns, open_ns + window.ns };
		if (next_ns_[i] < least_ns) {
			const bool open = opening.open_ns < least_ns &&
					  least_ns + duration_ns < opening.close_ns;
			if (open || opening.open_ns > least_ns)
				return opening;
			if (!best_is_over)
				best = opening.After(spec_.cycle_ns);
			best_is_over = true;
		} else if (!best_is_over && (!best || next_ns_[i] < next_ns_[best->window])) {
			const std::int64_t cycles = (next_ns_[i] - open_ns) / spec_.cycle_ns;
			best = opening.After(cycles * spec_.cycle_ns);
		}
	}
	return best;
}

/// Until the base time all gates are open. Each turn takes the least time, or the next place of a
/// window, further.
bool TaprioAssist::Label(TxFrame &frame, std::int64_t least_ns)
{
	least_ns = std::max(least_ns, host_.TaiNs() + spec_.txtime_delay_ns);
	std::int64_t at_ns = least_ns;
	for (bool fits = least_ns < spec_.base_ns; !fits;) {
		const std::optional<Opening> opening = Find(frame, least_ns);
		if (!opening)
			return false;
		std::int64_t &next_ns = next_ns_[opening->window];
		at_ns = std::max({ next_ns, least_ns, opening->open_ns });
		least_ns = at_ns + DurationNs(frame);
		fits = least_ns <= opening->close_ns;
		next_ns = fits ? least_ns : opening->open_ns + spec_.cycle_ns;
	}
	frame.frame.txtime_ns = at_ns;
	frame.frame.flags |= KPN_FRAME_TXTIME;
	frame.assisted = true;
	return true;
}

/// As in Linux it begins behind the start of its window, not at it, and ends before its end; there
/// are no windows before the base time.
bool TaprioAssist::Allows(const TxFrame &frame) const
{
	if (frame.frame.txtime_ns < spec_.base_ns)
		return false;
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
	: host_(host), below_(below), spec_(spec), open_ns_(spec.windows.size())
{
	for (std::size_t window = 0; window < open_ns_.size(); window++)
		for (std::size_t tc = 0; tc < kClasses; tc++)
			open_ns_[window][tc] = OpenNs(window, tc);
}

/// How long a class stays open from a window's start, over all that follow in a row and have it; at
/// most once round (taprio_calculate_gate_durations() since Linux 6.3).
std::int64_t TaprioGates::OpenNs(std::size_t window, std::size_t tc) const
{
	std::int64_t ns = 0;
	for (std::size_t i = 0; i < spec_.windows.size(); i++) {
		const GateWindow &at = spec_.windows[(window + i) % spec_.windows.size()];
		if (!(at.classes >> tc & 1))
			break;
		ns += at.ns;
	}
	return ns;
}

void TaprioGates::Start()
{
	window_ = spec_.windows.size() - 1;
	host_.SetTimer(StartNs(spec_, host_.TaiNs()), timer_);
}

/// As in Linux (advance_sched()) the first window follows the last at once, also where the cycle is
/// longer than all of them: it says only when the schedule begins. A timer that is a window late or
/// more goes on to the one that it is in at once, as its interrupt does. A class that is open in
/// all of a cycle never closes and has no budget.
void TaprioGates::OnWindow(TimePs, std::uint64_t start_ns)
{
	host_.OnTimerTold();
	begun_ = true;
	auto at_ns = static_cast<std::int64_t>(start_ns);
	std::int64_t end_ns = at_ns;
	do {
		at_ns = end_ns;
		window_ = (window_ + 1) % spec_.windows.size();
		end_ns = at_ns + spec_.windows[window_].ns;
	} while (end_ns <= host_.TaiNs());
	for (std::size_t tc = 0; tc < kClasses; tc++) {
		const std::int64_t ns = open_ns_[window_][tc];
		open_[tc] = ns == spec_.cycle_ns ? Open{ INT64_MAX, INT64_MAX } :
						   Open{ at_ns + ns, ns * kPsPerNs };
	}
	host_.SetTimer(end_ns, timer_);
	Serve();
}

/// Whether its class is ever open as long as it takes; Linux drops it since 6.3, as nothing behind
/// it would leave.
bool TaprioGates::Fits(const TxFrame &frame) const
{
	const std::int64_t ps = SkbBytes(frame) * host_.ByteTimePs();
	return std::any_of(open_ns_.begin(), open_ns_.end(), [&](const auto &open_ns) {
		const std::int64_t ns = open_ns[frame.frame.tc];
		return ns == spec_.cycle_ns || ps <= ns * kPsPerNs;
	});
}

void TaprioGates::TakeFrom(std::size_t tc, TimedLeaf &leaf, QdiscBelow &below)
{
	sources_[tc] = { &leaf, &below };
}

/// Whatever becomes of a frame, Linux asks for others when it has come.
bool TaprioGates::Refuses(TxFrame &frame)
{
	if (!begun_ || Fits(frame))
		return false;
	host_.Drop(frame, KPN_VERDICT_OVERSIZE);
	Serve();
	return true;
}

void TaprioGates::HandOn(TxFrame &frame)
{
	auto &own = ready_[frame.frame.tc];
	if (own.size() >= kQueueFrames) {
		host_.Drop(frame, KPN_VERDICT_NO_ROOM);
	} else {
		own.push_back(frame.index);
		waiting_++;
	}
	Serve();
}

void TaprioGates::OnRoom(TimePs, std::uint64_t)
{
	stopped_ = false;
	Serve();
}

/// What does not end before its gate closes waits; a time in ns, rounded down as in Linux
/// (length_to_duration()). Before the schedule begins all gates are open.
bool TaprioGates::IsOpen(const TxFrame &frame)
{
	if (!begun_)
		return true;
	const std::int64_t ns = SkbBytes(frame) * host_.ByteTimePs() / kPsPerNs;
	return spec_.windows[window_].classes >> frame.frame.tc & 1 &&
	       host_.TaiNs() + ns < open_[frame.frame.tc].close_ns;
}

/// What the wire has no time for until its gate closes waits, too. As in Linux a frame takes of
/// every class' budget, and also where its own is not enough. Before the schedule begins there is
/// no such bound.
bool TaprioGates::HasBudget(const TxFrame &frame)
{
	if (!begun_)
		return true;
	const std::int64_t ps = SkbBytes(frame) * host_.ByteTimePs();
	for (Open &each : open_)
		if (each.budget_ps != INT64_MAX)
			each.budget_ps -= ps;
	return open_[frame.frame.tc].budget_ps >= 0;
}

/// Several classes may lead to one leaf, which is asked once, as that of its first frame.
TxFrame *TaprioGates::Head(std::size_t tc)
{
	if (sources_[tc].leaf) {
		TxFrame *const head = sources_[tc].leaf->Head();
		return head && head->frame.tc == tc ? head : nullptr;
	}
	return ready_[tc].empty() ? nullptr : &host_.FrameAt(ready_[tc].front());
}

/// The head, if it is due, too.
TxFrame *TaprioGates::TakeOut(std::size_t tc)
{
	if (sources_[tc].leaf) {
		TxFrame *const taken = sources_[tc].leaf->Take();
		waiting_ += taken != nullptr;
		return taken;
	}
	TxFrame &frame = host_.FrameAt(ready_[tc].front());
	ready_[tc].pop_front();
	return &frame;
}

/// The first of the highest class whose first frame passes, as in Linux since 6.3
/// (taprio_dequeue()).
TxFrame *TaprioGates::Next()
{
	for (std::size_t tc = kClasses; tc-- > 0;) {
		const TxFrame *const head = Head(tc);
		if (!head || !IsOpen(*head) || !HasBudget(*head))
			continue;
		if (TxFrame *const taken = TakeOut(tc))
			return taken;
	}
	return nullptr;
}

/// Frames behind \p first that the driver is given with it, as long as they are of its class; the
/// first of another is kept (try_bulk_dequeue_skb_slow()).
void TaprioGates::TakeMore(const TxFrame &first)
{
	for (std::size_t more = 0; more < kMoreFrames; more++) {
		const TxFrame *const next = Next();
		if (!next)
			return;
		if (next->frame.tc != first.frame.tc) {
			other_.push_back(next->index);
			return;
		}
		taken_.push_back(next->index);
	}
}

bool TaprioGates::HasRoom(const TxFrame &frame)
{
	if (host_.HasRoom(frame))
		return true;
	if (!stopped_)
		host_.Later(frame, room_);
	stopped_ = true;
	return false;
}

/// What the driver is given next is `taken_` then (dequeue_skb()). What has been taken and had no
/// room in the ring goes before all else, and its gate is not looked at again.
bool TaprioGates::Take()
{
	if (!taken_.empty())
		return HasRoom(host_.FrameAt(taken_.front()));
	TxFrame *first = nullptr;
	if (other_.empty()) {
		first = Next();
	} else if (HasRoom(host_.FrameAt(other_.front()))) {
		first = &host_.FrameAt(other_.front());
		other_.pop_front();
	}
	if (!first)
		return false;
	taken_.push_back(first->index);
	TakeMore(*first);
	return true;
}

void TaprioGates::Serve()
{
	while (Take()) {
		while (!taken_.empty()) {
			TxFrame &frame = host_.FrameAt(taken_.front());
			if (!HasRoom(frame))
				return;
			taken_.pop_front();
			waiting_--;
			QdiscBelow *const own = sources_[frame.frame.tc].below;
			(own ? *own : below_).HandOn(frame);
			static_cast<void>(HasRoom(frame)); // a ring that it fills wakes us
		}
	}
}

} // namespace keepon::sim
