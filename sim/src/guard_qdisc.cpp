// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/guard_qdisc.hpp"

#include "keepon/sim/leaf_kind.hpp"

namespace keepon::sim
{

namespace
{

std::unique_ptr<Qdisc> Make(const LeafSetup &setup)
{
	return std::make_unique<GuardQdisc>(setup.host, setup.below, setup.spec);
}

const Registry<LeafKind>::Entry kEntry{ "guard", { Make } };

} // namespace

GuardQdisc::GuardQdisc(QdiscHost &host, QdiscBelow &below, const GuardSpec &spec)
	: host_(host), below_(below), spec_(spec)
{
	const std::uint64_t link_bps = 8'000'000'000'000u / host.ByteTimePs();
	const kpn_guard_config config{ spec.rate_bps ? spec.rate_bps : link_bps, spec.mtu_bytes,
				       spec.fudge_ns, spec.tolerance_ns,
				       spec.late_send ? KPN_GUARD_LATE_SEND : KPN_GUARD_LATE_DROP };
	if (kpn_guard_configure(&guard_, &config))
		throw ValueError("guard: rate, mtu, fudge or tolerance is out of range");
}

void GuardQdisc::Enqueue(TxFrame &frame)
{
	if (frame.frame.flags & KPN_FRAME_TXTIME) {
		EnqueueTimed(frame);
		return;
	}
	if (frame.frame.frame_bytes > spec_.mtu_bytes) {
		host_.Drop(frame, KPN_VERDICT_OVERSIZE);
		return;
	}
	if (others_.size() >= spec_.limit_frames) {
		overflows_++;
		host_.Drop(frame, KPN_VERDICT_NO_ROOM);
		return;
	}
	others_.push_back(frame.index);
	Serve();
}

void GuardQdisc::EnqueueTimed(TxFrame &frame)
{
	if (timed_count_ >= spec_.limit_frames) {
		overflows_++;
		host_.Drop(frame, KPN_VERDICT_NO_ROOM);
		return;
	}
	switch (kpn_guard_enter(&guard_, frame.frame.txtime_ns, frame.frame.frame_bytes,
				host_.TaiNs())) {
	case KPN_GUARD_QUEUE: break;
	case KPN_GUARD_TOO_LATE: host_.Drop(frame, KPN_VERDICT_LATE); return;
	case KPN_GUARD_TOO_LONG: host_.Drop(frame, KPN_VERDICT_OVERSIZE); return;
	}
	timed_.Push(frame.frame.txtime_ns, frame.index);
	timed_count_++;
	Serve();
}

void GuardQdisc::SendTimed(kpn_guard_step step)
{
	TxFrame &frame = host_.FrameAt(timed_.Pop());
	timed_count_--;
	if (step == KPN_GUARD_DROP_TIMED)
		host_.Drop(frame, KPN_VERDICT_LATE);
	else
		below_.HandOn(frame);
}

void GuardQdisc::Serve()
{
	for (;;) {
		kpn_guard_heads heads{};
		if (!timed_.Empty()) {
			heads.txtime_ns = timed_.First().txtime_ns;
			heads.timed_bytes = host_.FrameAt(timed_.First().frame).frame.frame_bytes;
		}
		if (!others_.empty())
			heads.other_bytes = host_.FrameAt(others_.front()).frame.frame_bytes;
		std::int64_t wake_ns = 0;
		const kpn_guard_step step =
			kpn_guard_next(&guard_, &heads, host_.TaiNs(), &wake_ns);
		if (step == KPN_GUARD_SEND_OTHER) {
			const std::uint32_t index = others_.front();
			others_.pop_front();
			below_.HandOn(host_.FrameAt(index));
		} else if (step != KPN_GUARD_WAIT) {
			SendTimed(step);
		} else {
			// Linux moves the timer either way; what it is set to last counts.
			if (wake_ns != KPN_GUARD_NEVER_NS && wake_ns != timer_ns_) {
				timer_ns_ = wake_ns;
				host_.SetTimer(wake_ns, timer_);
			}
			return;
		}
	}
}

void GuardQdisc::OnTimer(TimePs, std::uint64_t due_ns)
{
	host_.OnTimerTold();
	if (static_cast<std::int64_t>(due_ns) != timer_ns_)
		return;
	timer_ns_ = INT64_MAX;
	Serve();
}

void GuardQdisc::AddCounters(Counters &counters) const
{
	const std::pair<const char *, std::uint64_t> counted[] = {
		{ "guard_timed", guard_.timed },
		{ "guard_late", guard_.late },
		{ "guard_late_sent", guard_.late_sent },
		{ "guard_others", guard_.others },
		{ "guard_squeezed", guard_.squeezed },
		{ "guard_short_notice", guard_.short_notice },
		{ "guard_held_ns", guard_.held_ns },
	};
	for (const auto &[name, value] : counted)
		counters.emplace_back(name, static_cast<std::int64_t>(value));
	counters.emplace_back("guard_overflows", overflows_);
}

} // namespace keepon::sim
