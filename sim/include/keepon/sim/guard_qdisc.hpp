// SPDX-License-Identifier: BSD-3-Clause
// Qdisc guard: software best effort of the SO_TXTIME proposal. What goes when is decided by the
// core's guard.c, as in sch_guard.ko; here are its two queues and its timer.
#pragma once

#include <deque>

#include "keepon/sim/core.hpp"
#include "keepon/sim/qdisc.hpp"
#include "keepon/sim/qdisc_spec.hpp"
#include "keepon/sim/release.hpp"

namespace keepon::sim
{

class GuardQdisc final : public Qdisc
{
public:
	/// Throws ValueError if the spec is out of range.
	GuardQdisc(QdiscHost &host, QdiscBelow &below, const GuardSpec &spec);

	void Enqueue(TxFrame &frame) override;
	void AddCounters(Counters &counters) const override;
	const kpn_guard &Decisions() const { return guard_; }

private:
	void OnTimer(TimePs, std::uint64_t due_ns);
	void EnqueueTimed(TxFrame &frame);
	void Serve() override;
	void SendTimed(kpn_guard_step step);

	QdiscHost &host_;
	QdiscBelow &below_;
	GuardSpec spec_;
	kpn_guard guard_{};
	EtfQueue timed_;
	std::size_t timed_count_ = 0;
	std::deque<std::uint32_t> others_;
	std::int64_t timer_ns_ = INT64_MAX;
	std::int64_t overflows_ = 0;
	MemberEvent<&GuardQdisc::OnTimer> timer_{ *this };
};

} // namespace keepon::sim
