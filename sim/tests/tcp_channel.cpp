// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_channel.hpp"

#include <algorithm>

namespace keepon::sim::test
{

namespace
{

/// The first byte that has not arrived, by walking over all that has.
std::int64_t FirstMissing(const std::set<std::int64_t> &arrived, std::int64_t mss,
			  std::int64_t total)
{
	std::int64_t at = 0;
	while (at < total && arrived.count(at))
		at = std::min(at + mss, total);
	return at;
}

} // namespace

void TcpChannel::Put(const Arrival &arrival)
{
	if (rng_.Unit() < spec_.loss)
		return;
	const int copies = 1 + (rng_.Unit() < spec_.duplication);
	for (int i = 0; i < copies; i++) {
		TimePs delay = spec_.delay_ps;
		if (rng_.Unit() < spec_.reordering)
			delay += rng_.Below(spec_.delay_ps);
		TimePs from = now_;
		if (!arrival.is_ack)
			from = wire_free_ = std::max(wire_free_, now_) + spec_.serial_ps;
		under_way_.emplace(from + delay, arrival);
	}
}

void TcpChannel::Drain()
{
	Checks &checks = checks_;
	for (;;) {
		const bool may = sender_.Pipe() < sender_.Window().cwnd;
		const std::int64_t probes = sender_.Counts().probes;
		const std::optional<TcpSegment> segment = sender_.Send(now_);
		if (!segment)
			return;
		EXPECT(may || sender_.Counts().probes == probes + 1);
		EXPECT(segment->bytes > 0 && segment->End() <= sender_.Nxt());
		EXPECT(segment->seq % sender_spec_.mss == 0 && segment->seq >= acked_);
		if (spec_.refused > 0 && rng_.Unit() < spec_.refused) {
			sender_.OnRefused(*segment, now_);
			return;
		}
		sent_.insert(segment->seq);
		Arrival arrival;
		arrival.segment = *segment;
		Put(arrival);
	}
}

/// SACK blocks tell of what has arrived and of nothing else, the newest first (RFC 2018 section 4).
void TcpChannel::CheckAck(const TcpAck &ack, std::int64_t recent)
{
	Checks &checks = checks_;
	const std::int64_t mss = sender_spec_.mss;
	EXPECT(ack.ack == FirstMissing(arrived_, mss, sender_spec_.transfer_bytes));
	EXPECT(sender_spec_.sack || ack.block_count == 0);
	for (std::size_t i = 0; i < ack.block_count; i++) {
		for (std::int64_t at = ack.blocks[i].left; at < ack.blocks[i].right; at += mss)
			EXPECT(arrived_.count(at));
	}
	if (sender_spec_.sack && recent >= ack.ack)
		EXPECT(ack.blocks[0].left <= recent && recent < ack.blocks[0].right);
}

void TcpChannel::OnSegment(const TcpSegment &segment)
{
	arrived_.insert(segment.seq);
	if (!receiver_.OnSegment(segment, now_))
		return;
	Arrival arrival;
	arrival.is_ack = true;
	arrival.ack = receiver_.MakeAck();
	CheckAck(arrival.ack, segment.seq);
	Put(arrival);
}

/// The board knows exactly what ACKs have said, and its sums are those of its segments.
void TcpChannel::CheckBoard()
{
	Checks &checks = checks_;
	const TcpScoreboard &board = sender_.Board();
	std::int64_t pipe = 0;
	std::int64_t next = acked_;
	for (std::size_t i = 0; i < board.Count(); i++) {
		const TcpScoreboard::Sent &sent = board[i];
		EXPECT(sent.seq == next && sent_.count(sent.seq));
		next = sent.End();
		EXPECT(sent.sacked == (reported_.count(sent.seq) > 0));
		EXPECT(!sent.sacked || (!sent.lost && !sent.again));
		pipe += !sent.sacked && !sent.lost; // SetPipe() (a)
		pipe += sent.again;                 // and (b)
	}
	EXPECT(next == sender_.Nxt() && sender_.Una() == acked_);
	EXPECT(board.Pipe() == pipe);
}

/// What the window may do at an ACK (RFC 5681, 6937, 9438).
void TcpChannel::CheckWindow(const TcpWindow &before, TcpState state, std::int64_t una,
			     const TcpSenderCounts &counts, std::int64_t delivered)
{
	Checks &checks = checks_;
	const TcpWindow &after = sender_.Window();
	EXPECT(after.cwnd >= 1 && after.ssthresh >= 2);
	if (spec_.refused > 0) // which lowers windows as well
		return;
	const std::int64_t entered = sender_.Counts().recoveries - counts.recoveries;
	const std::int64_t tenths = sender_spec_.congestion == "reno" ? 5 : 7;
	if (entered) {
		std::int64_t from = before.cwnd;
		if (state == TcpState::kRecovery)
			from = before.ssthresh; // left one and entered the next
		EXPECT(entered == 1 &&
		       after.ssthresh == std::max<std::int64_t>(from * tenths / 10, 2));
	} else if (state == TcpState::kRecovery && sender_.State() == TcpState::kOpen) {
		EXPECT(after.cwnd >= before.ssthresh &&
		       after.cwnd <=
			       before.ssthresh + 1 + (sender_.Una() - una) / sender_spec_.mss);
	} else if (state != TcpState::kRecovery && sender_.State() != TcpState::kRecovery &&
		   after.ssthresh == before.ssthresh) {
		EXPECT(after.cwnd >= before.cwnd && after.cwnd - before.cwnd <= delivered);
	}
}

void TcpChannel::OnAck(const TcpAck &ack)
{
	const std::int64_t mss = sender_spec_.mss;
	const TcpWindow before = sender_.Window();
	const TcpState state = sender_.State();
	const std::int64_t una = sender_.Una();
	const TcpSenderCounts counts = sender_.Counts();
	const std::size_t known = reported_.size();
	acked_ = std::max(acked_, ack.ack);
	for (std::int64_t at = una; at < acked_; at += mss)
		reported_.insert(at);
	for (std::size_t i = 0; i < ack.block_count; i++) {
		for (std::int64_t at = ack.blocks[i].left; at < ack.blocks[i].right; at += mss)
			reported_.insert(at);
	}
	sender_.OnAck(ack, now_);
	CheckBoard();
	CheckWindow(before, state, una, counts,
		    static_cast<std::int64_t>(reported_.size() - known));
}

void TcpChannel::Run(TimePs until)
{
	Checks &checks = checks_;
	Drain();
	while (sender_.Una() < sender_spec_.transfer_bytes) {
		const TimePs arrival = under_way_.empty() ? kNever : under_way_.begin()->first;
		const TimePs next =
			std::min({ arrival, sender_.NextTimer(), receiver_.NextTimer() });
		EXPECT(next != kNever); // or it would wait for ever
		if (next == kNever || next > until)
			return;
		now_ = std::max(now_, next);
		if (next == arrival) {
			const Arrival one = under_way_.begin()->second;
			under_way_.erase(under_way_.begin());
			if (one.is_ack)
				OnAck(one.ack);
			else
				OnSegment(one.segment);
		} else if (next == receiver_.NextTimer()) {
			Arrival late;
			late.is_ack = true;
			late.ack = receiver_.MakeAck();
			CheckAck(late.ack, -1);
			Put(late);
		} else {
			sender_.OnTimer(now_);
		}
		Drain();
	}
}

} // namespace keepon::sim::test
