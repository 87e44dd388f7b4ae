// SPDX-License-Identifier: BSD-3-Clause
// The ETF qdisc (Linux net/sched/sch_etf.c): frames in order of txtime, handed on delta before it by
// a timer that comes late. What is late when it enters or leaves is dropped, and so is what enters
// behind a later one that has left (F8, F9, N25). In deadline mode a frame goes at once. Gates of
// software look at the first frame whether it is due or not, and take it out themselves.
#pragma once

#include "keepon/sim/qdisc.hpp"
#include "keepon/sim/qdisc_spec.hpp"
#include "keepon/sim/release.hpp"

namespace keepon::sim
{

class EtfQdisc final : public Qdisc, public TimedLeaf
{
public:
	/// \param labeller  of frames that carry its label; NULL: nobody does
	/// \param taker     who takes frames out; NULL: they are handed on
	EtfQdisc(QdiscHost &host, QdiscBelow &below, const EtfSpec &spec, Labeller *labeller,
		 LeafTaker *taker)
		: host_(host), below_(below), spec_(spec), labeller_(labeller), taker_(taker)
	{
	}
	~EtfQdisc() override = default;

	void Enqueue(TxFrame &frame) override;
	/// Hand on what is due, drop what is late, and set the timer for the next.
	void Serve() override;
	TimedLeaf *Timed() override { return taker_ ? this : nullptr; }
	TxFrame *Head() override;
	TxFrame *Take() override;
	void AddCounters(Counters &counters) const override;
	std::int64_t Drops() const override { return late_ + wrong_; }

private:
	void OnTimer(TimePs, std::uint64_t due_ns);
	bool Reschedule(TxFrame &frame, std::int64_t now_ns);
	bool EndLate(TxFrame &frame, std::int64_t now_ns);
	void EndBehind(TxFrame &frame);
	void EndWrong(TxFrame &frame);
	std::int64_t DueNs() const;
	void ResetTimer();

	QdiscHost &host_;
	QdiscBelow &below_;
	EtfSpec spec_;
	Labeller *labeller_;
	LeafTaker *taker_;
	EtfQueue queue_;
	std::int64_t last_ns_ = INT64_MIN; // txtime of the last that left
	std::int64_t timer_ns_ = INT64_MAX;
	std::int64_t late_ = 0;
	std::int64_t wrong_ = 0;
	std::int64_t rescheduled_ = 0;  // late ones
	std::int64_t moved_behind_ = 0; // those behind one that had left
	MemberEvent<&EtfQdisc::OnTimer> timer_{ *this };
};

} // namespace keepon::sim
