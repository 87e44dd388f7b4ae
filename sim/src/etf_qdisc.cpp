// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/etf_qdisc.hpp"

#include "keepon/sim/leaf_kind.hpp"

namespace keepon::sim
{

namespace
{

std::unique_ptr<Qdisc> Make(const LeafSetup &setup)
{
	return std::make_unique<EtfQdisc>(setup.host, setup.below, setup.spec, setup.labeller,
					  setup.taker);
}

const Registry<LeafKind>::Entry kEntry{ "etf", { Make } };

} // namespace

/// A frame whose sender knows of no time has none but what taprio gave it; without that the kernel
/// takes it for one of 1970. Applications set their sockets to the mode the qdisc has.
void EtfQdisc::Enqueue(TxFrame &frame)
{
	const std::int64_t now_ns = host_.TaiNs();
	const bool timed = frame.frame.flags & KPN_FRAME_TXTIME;
	if (!timed || (frame.assisted && !spec_.skip_sock_check)) {
		EndWrong(frame);
		return;
	}
	if (frame.frame.txtime_ns < now_ns) {
		if (EndLate(frame, now_ns) || taker_)
			Serve();
		return;
	}
	if (frame.frame.txtime_ns < last_ns_) {
		EndBehind(frame);
		return;
	}
	queue_.Push(frame.frame.txtime_ns, frame.index);
	Serve();
}

/// Labelled best effort gets its next place instead of an end.
bool EtfQdisc::Reschedule(TxFrame &frame, std::int64_t now_ns)
{
	if (!spec_.reschedule || !labeller_ || !frame.assisted)
		return false;
	labeller_->GiveTime(frame, last_ns_);
	if (frame.frame.txtime_ns < now_ns || frame.frame.txtime_ns < last_ns_)
		return false;
	queue_.Push(frame.frame.txtime_ns, frame.index);
	return true;
}

/// True: it has another time now.
bool EtfQdisc::EndLate(TxFrame &frame, std::int64_t now_ns)
{
	if (Reschedule(frame, now_ns)) {
		rescheduled_++;
		return true;
	}
	late_++;
	host_.Drop(frame, KPN_VERDICT_LATE);
	return false;
}

/// One that is to be sent later has left already.
void EtfQdisc::EndBehind(TxFrame &frame)
{
	if (Reschedule(frame, host_.TaiNs())) {
		moved_behind_++;
		Serve();
		return;
	}
	EndWrong(frame);
}

/// Whatever becomes of a frame, Linux asks for others when it has come.
void EtfQdisc::EndWrong(TxFrame &frame)
{
	wrong_++;
	host_.Drop(frame, KPN_VERDICT_INVALID);
	if (taker_)
		taker_->Serve();
}

std::int64_t EtfQdisc::DueNs() const
{
	return spec_.deadline_mode ? INT64_MIN : queue_.First().txtime_ns - spec_.delta_ns;
}

TxFrame *EtfQdisc::Head()
{
	return queue_.Empty() ? nullptr : &host_.FrameAt(queue_.First().frame);
}

/// As Linux looks at it (etf_dequeue_timesortedlist()): all that have expired end with the first.
TxFrame *EtfQdisc::Take()
{
	const std::int64_t now_ns = host_.TaiNs();
	TxFrame *taken = nullptr;
	if (queue_.First().txtime_ns < now_ns) {
		while (!queue_.Empty() && queue_.First().txtime_ns <= now_ns)
			EndLate(host_.FrameAt(queue_.Pop()), now_ns);
	} else if (DueNs() <= now_ns) {
		taken = &host_.FrameAt(queue_.Pop());
		last_ns_ = taken->frame.txtime_ns;
		if (spec_.deadline_mode)
			taken->frame.txtime_ns = now_ns;
	}
	ResetTimer();
	return taken;
}

/// As reset_watchdog() of Linux has it, in deadline mode, too.
void EtfQdisc::ResetTimer()
{
	const std::int64_t due_ns =
		queue_.Empty() ? INT64_MAX : queue_.First().txtime_ns - spec_.delta_ns;
	if (due_ns == timer_ns_)
		return;
	timer_ns_ = due_ns;
	if (!queue_.Empty())
		host_.SetTimer(timer_ns_, timer_);
}

/// An armed timer is moved forward only, unless frames are taken out.
void EtfQdisc::Serve()
{
	if (taker_) {
		ResetTimer();
		taker_->Serve();
		return;
	}
	const std::int64_t now_ns = host_.TaiNs();
	while (!queue_.Empty() && DueNs() <= now_ns && !host_.Busy()) {
		TxFrame &frame = host_.FrameAt(queue_.Pop());
		if (frame.frame.txtime_ns < now_ns) {
			EndLate(frame, now_ns);
			continue;
		}
		last_ns_ = frame.frame.txtime_ns;
		if (spec_.deadline_mode)
			frame.frame.txtime_ns = now_ns;
		below_.HandOn(frame);
	}
	if (queue_.Empty() || host_.Busy() || DueNs() >= timer_ns_)
		return;
	timer_ns_ = DueNs();
	host_.SetTimer(timer_ns_, timer_);
}

void EtfQdisc::OnTimer(TimePs, std::uint64_t due_ns)
{
	host_.OnTimerTold();
	if (static_cast<std::int64_t>(due_ns) != timer_ns_)
		return;
	timer_ns_ = INT64_MAX;
	if (taker_)
		taker_->Serve();
	else
		Serve();
}

void EtfQdisc::AddCounters(Counters &counters) const
{
	counters.emplace_back("etf_late", late_);
	counters.emplace_back("etf_wrong", wrong_);
	counters.emplace_back("etf_rescheduled", rescheduled_);
	counters.emplace_back("etf_moved_behind", moved_behind_);
}

} // namespace keepon::sim
