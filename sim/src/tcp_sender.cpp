// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/tcp_sender.hpp"

#include <algorithm>

namespace keepon::sim
{

namespace
{

/// Linux gives probes and the reordering timer two ticks beside what RFC 8985 has.
constexpr int kSpareTicks = 2;
/// Linux's TCP_RTO_MIN and TCP_RESOURCE_PROBE_INTERVAL (include/net/tcp.h): how long it waits when
/// its own host refuses all there is to send, and when it refuses that again.
constexpr TimePs kPersistPs = 200'000'000'000;
constexpr TimePs kResourcePs = 500'000'000'000;

std::unique_ptr<TcpCongestion> Congestion(const std::string &name)
{
	const TcpCongestionKind *kind = Registry<TcpCongestionKind>::Find(name);
	if (!kind)
		throw ValueError("congestion = \"" + name + "\" is not one of " +
				 Registry<TcpCongestionKind>::Names());
	return kind->make();
}

} // namespace

TcpSender::TcpSender(const TcpSenderSpec &spec)
	: spec_(spec), congestion_(Congestion(spec.congestion)), rtt_(spec.timers)
{
	spec_.rack &= spec_.sack;
	window_.cwnd = kInitialWindow;
	window_end_ = kInitialWindow * spec_.mss; // until the first ACK says more
}

TimePs TcpSender::Tick(TimePs now, TimePs delay) const
{
	return TickOf(now, delay, spec_.timers.granularity_ps);
}

TcpSegment TcpSender::Repeat(std::size_t index, TimePs now)
{
	const TcpScoreboard::Sent &sent = board_[index];
	counts_.segments++;
	counts_.retransmissions++;
	board_.OnSentAgain(index, now);
	if (Reducing())
		prr_.OnSent();
	last_ = timeout_repeats_ ? Last::kTimeout : Last::kAgain;
	timeout_repeats_ = false;
	return { sent.seq, sent.bytes, now };
}

std::optional<TcpSegment> TcpSender::SendNew(TimePs now)
{
	const std::int64_t bytes = std::min<std::int64_t>(spec_.mss, spec_.transfer_bytes - nxt_);
	if (bytes <= 0 || nxt_ + bytes > window_end_)
		return std::nullopt;
	const TcpSegment segment{ nxt_, static_cast<std::uint32_t>(bytes), now };
	if (board_.Count() == 0)
		rto_at_ = Tick(now, rtt_.Rto());
	board_.OnSent(segment.seq, segment.bytes, now);
	nxt_ += bytes;
	counts_.segments++;
	if (Reducing())
		prr_.OnSent();
	last_ = Last::kNew;
	persist_at_ = kNever;
	SetProbeTimer(now);
	return segment;
}

/// NextSeg() of RFC 6675, (1) and (2).
std::optional<TcpSegment> TcpSender::Send(TimePs now)
{
	if (probe_due_) {
		probe_due_ = false;
		counts_.probes++;
		std::optional<TcpSegment> probe = SendNew(now);
		probe_repeats_ = !probe;
		if (!probe && board_.Count() > 0)
			probe = Repeat(board_.Count() - 1, now);
		probe_end_ = nxt_;
		probe_at_ = kNever;
		rto_at_ = Tick(now, rtt_.Rto());
		if (probe_repeats_)
			last_ = Last::kProbe;
		return probe;
	}
	if (persist_due_) {
		persist_due_ = false;
		std::optional<TcpSegment> segment = SendNew(now);
		last_ = Last::kPersist;
		return segment;
	}
	if (Pipe() >= window_.cwnd) {
		cwnd_limited_ = true;
		return std::nullopt;
	}
	if (board_.LostWaiting() > 0) {
		const std::size_t index = board_.NextLost();
		if (index == 0 && rto_at_ == kNever)
			rto_at_ = Tick(now, rtt_.Rto());
		return Repeat(index, now);
	}
	return SendNew(now);
}

/// Linux does not count it as sent, lowers its window as for a mark of congestion, and waits: for
/// an ACK of what is under way, or if nothing is, for a timer (net/ipv4/tcp_output.c:
/// tcp_enter_cwr(), tcp_check_probe_timer(), tcp_send_probe0(); tcp_timer.c:
/// tcp_retransmit_timer()).
void TcpSender::OnRefused(const TcpSegment &segment, TimePs now)
{
	counts_.refused++;
	if (last_ == Last::kNew || last_ == Last::kPersist) {
		board_.TakeBack();
		nxt_ = segment.seq;
	} else {
		board_.TakeBackAgain(segment.seq);
	}
	if (probe_end_ >= segment.seq + segment.bytes)
		probe_end_ = -1; // no probe is under way
	if (state_ == TcpState::kOpen)
		EnterReduced();
	if (board_.Count() == 0) {
		rto_at_ = probe_at_ = reorder_at_ = kNever;
		persist_at_ = Tick(now, last_ == Last::kPersist ? kResourcePs :
								  std::max(rtt_.Rto(), kPersistPs));
	} else if (last_ == Last::kTimeout) {
		rto_at_ = Tick(now, kResourcePs);
	}
}

void TcpSender::SampleRtt(const TcpNews &news, const TcpAck &ack, TimePs now)
{
	TimePs rtt = 0;
	if (news.rtt_sent != kNever)
		rtt = now - news.rtt_sent;
	else if (news.acked > 0 && ack.ts_ecr > 0)
		rtt = now - ack.ts_ecr;
	if (rtt <= 0)
		return;
	rtt_.OnSample(rtt, now);
	congestion_->OnRtt(window_, { news.delivered, una_, nxt_, now, rtt });
}

/// Without SACK a duplicate ACK tells that some segment has left the network (RFC 5681 section
/// 3.2); of what a new ACK covers one filled the hole, the others had been counted.
void TcpSender::CountDuplicates(const TcpNews &news)
{
	if (spec_.sack)
		return;
	if (news.acked > 0)
		duplicate_acks_ = std::max<std::int64_t>(duplicate_acks_ - (news.acked - 1), 0);
	else if (board_.Count() > 0)
		duplicate_acks_ = std::min(duplicate_acks_ + 1, board_.Pipe());
	if (una_ >= recover_ && news.acked > 0)
		duplicate_acks_ = 0;
}

/// If a probe that repeated a segment has repaired a loss, the window pays for it (RFC 8985 section
/// 7.4.2); if its first copy had arrived, the receiver says so.
void TcpSender::OnProbeAnswer(const TcpNews &news, const TcpAck &ack)
{
	if (probe_end_ < 0 || ack.ack < probe_end_)
		return;
	const bool same = news.acked == 0 && news.sacked == 0;
	const bool in_vain = !probe_repeats_ || news.duplicate;
	const bool beyond = ack.ack > probe_end_;
	if (!in_vain && !beyond && !same)
		return;
	probe_end_ = -1;
	if (!in_vain && beyond && state_ == TcpState::kOpen) {
		window_.ssthresh = congestion_->Reduced(window_);
		window_.cwnd = std::min(window_.cwnd, window_.ssthresh);
		window_.credit = 0;
	}
}

/// Step 2 of RFC 8985 section 6.2: the segment that was sent last of those that have arrived. Of
/// one that was sent again so lately the first copy has.
void TcpSender::NoteRack(const TcpNews &news, TimePs now)
{
	NoteLatest(news.once, now);
	if (now - news.again.sent >= rtt_.Min())
		NoteLatest(news.again, now);
}

void TcpSender::NoteLatest(const TcpNews::Latest &latest, TimePs now)
{
	if (latest.sent > rack_sent_ || (latest.sent == rack_sent_ && latest.end > rack_end_)) {
		rack_sent_ = latest.sent;
		rack_end_ = latest.end;
		rack_rtt_ = now - latest.sent;
	}
}

/// Step 3: what was sent once has arrived behind what was sent after it. Then what the receiver
/// says came twice may have been sent again for nothing: once a round the window of step 4 gets
/// wider.
/// As in Linux what answers a probe does not count (tcp_dsack_seen()).
void TcpSender::NoteReordering(const TcpNews &news)
{
	reordered_ |= news.first_end < rack_most_;
	rack_most_ = std::max(rack_most_, news.last_end);
	if (una_ >= wider_until_)
		wider_until_ = -1;
	if (!news.duplicate || !reordered_ || wider_until_ >= 0 || probe_end_ >= 0)
		return;
	wider_until_ = nxt_;
	windows_ = std::min(windows_ + 1, kWindowsMax);
	windows_persist_ = kWindowsPersist;
}

/// Step 4: as long as nothing was seen reordered DupThresh counts, and recovery waits for nobody.
TimePs TcpSender::ReorderingWindow() const
{
	if (!reordered_ && (!Calm() || board_.Sacked() >= kDupThresh))
		return 0;
	return std::min(windows_ * rtt_.Min() / 4, rtt_.Srtt());
}

/// Step 5: lost is what was sent before the one that has arrived, and a reordering window ago.
std::int64_t TcpSender::DetectByRack(TimePs now)
{
	reorder_at_ = kNever;
	if (board_.Sacked() == 0 && board_.Again() == 0)
		return 0; // all others were sent later
	const TimePs window = ReorderingWindow();
	const std::size_t end = std::max(board_.SackedEnd(), board_.AgainEnd());
	std::int64_t marked = 0;
	TimePs wait = 0;
	for (std::size_t i = 0; i < end && i < board_.Count(); i++) {
		const TcpScoreboard::Sent &sent = board_[i];
		if (sent.sacked || (sent.lost && !sent.again))
			continue;
		if (sent.at > rack_sent_ || (sent.at == rack_sent_ && sent.End() >= rack_end_))
			continue;
		const TimePs left = sent.at + rack_rtt_ + window - now;
		if (left <= 0)
			marked += board_.MarkLost(i);
		else
			wait = std::max(wait, left);
	}
	if (wait > 0)
		reorder_at_ = Tick(now, wait + kSpareTicks * spec_.timers.granularity_ps);
	return marked;
}

std::int64_t TcpSender::Detect(const TcpNews &news, TimePs now)
{
	if (spec_.rack) {
		NoteRack(news, now);
		NoteReordering(news);
		return DetectByRack(now);
	}
	if (spec_.sack) {
		if (board_.Count() > 0 && state_ == TcpState::kRecovery && news.acked > 0 &&
		    !board_[0].lost && !board_[0].sacked && board_.Sacked() == 0)
			return board_.MarkLost(0); // a partial ACK
		return board_.MarkByDupThresh();
	}
	if (board_.Count() == 0)
		return 0;
	// RFC 6582 sections 3.2 steps 2 and 3: three duplicates above recover, partial ACKs
	const bool third =
		state_ == TcpState::kOpen && duplicate_acks_ >= kDupThresh && una_ > recover_;
	const bool partial = state_ == TcpState::kRecovery && news.acked > 0;
	return third || partial ? board_.MarkLost(0) : 0;
}

void TcpSender::EnterRecovery()
{
	counts_.recoveries++;
	if (state_ != TcpState::kReduced) // which is under way already
		BeginReduction();
	state_ = TcpState::kRecovery;
	recover_ = nxt_;
	probe_at_ = kNever;
	probe_end_ = -1;
}

void TcpSender::EnterReduced()
{
	BeginReduction();
	state_ = TcpState::kReduced;
	recover_ = nxt_;
}

void TcpSender::BeginReduction()
{
	window_.ssthresh = congestion_->Reduced(window_);
	window_.credit = 0;
	prr_.Begin(window_.cwnd, window_.ssthresh);
}

/// RFC 6298 (5.4) to (5.6) and RFC 5681 (4). What was reduced for a loss of the same window is not
/// reduced again. What RACK does not yet find overdue is not called lost (RFC 8985 section 6.3).
void TcpSender::EnterLoss(TimePs now)
{
	counts_.timeouts++;
	// Another segment than the last timer's is another loss (RFC 5681 (4); tcp_enter_loss()).
	const bool another = state_ == TcpState::kLoss && una_ > timeout_una_;
	if (state_ == TcpState::kOpen || una_ >= recover_ || another)
		window_.ssthresh = congestion_->Reduced(window_);
	timeout_una_ = una_;
	congestion_->OnTimeout();
	rtt_.BackOff();
	for (std::size_t i = 0; i < board_.Count(); i++) {
		const bool overdue = i == 0 || !spec_.rack ||
				     board_[i].at + rack_rtt_ + ReorderingWindow() <= now;
		if (overdue)
			board_.MarkLost(i);
	}
	duplicate_acks_ = 0;
	state_ = TcpState::kLoss;
	recover_ = nxt_;
	window_.cwnd = Pipe() + 1;
	window_.credit = 0;
	probe_at_ = reorder_at_ = kNever;
	probe_end_ = -1;
	probe_due_ = false;
	timeout_repeats_ = true;
	rto_at_ = Tick(now, rtt_.Rto());
}

/// What tells of nothing delivered lets nothing go either.
void TcpSender::Reduce(std::int64_t delivered, bool good)
{
	if (delivered > 0)
		window_.cwnd = Pipe() + prr_.OnAck(delivered, Pipe(), good);
}

void TcpSender::Leave()
{
	if (Reducing())
		window_.cwnd = window_.ssthresh;
	if (!Calm() && windows_persist_ > 0 && --windows_persist_ == 0)
		windows_ = 1;
	state_ = TcpState::kOpen;
	duplicate_acks_ = 0;
}

void TcpSender::Grow(const TcpNews &news, TimePs now)
{
	const bool used = cwnd_limited_;
	cwnd_limited_ = false;
	if (news.acked > 0 && used)
		congestion_->OnProgress(window_, { news.delivered, una_, nxt_, now, 0 });
}

void TcpSender::OnAck(const TcpAck &ack, TimePs now)
{
	if (ack.ack > nxt_)
		return; // of what was never sent
	if (ack.ack < una_ && ack.block_count == 0)
		return; // overtaken by another one
	const std::int64_t una_before = una_;
	una_ = std::max(una_, ack.ack);
	window_end_ = std::max(window_end_, ack.ack + ack.window);
	const TcpNews news = board_.OnAck(ack);
	SampleRtt(news, ack, now);
	CountDuplicates(news);
	OnProbeAnswer(news, ack);
	const std::int64_t past = state_ == TcpState::kReduced; // one that was not under way then
	if (state_ != TcpState::kOpen && una_ >= recover_ + past)
		Leave();
	const std::int64_t lost = Detect(news, now);
	if (Calm() && board_.LostWaiting() > 0)
		EnterRecovery();
	if (Reducing())
		Reduce(spec_.sack ? news.delivered : 1, news.acked > 0 && lost == 0);
	else
		Grow(news, now);
	SetTimers(news, una_before, now);
}

/// (5.2) and (5.3) of RFC 6298.
void TcpSender::SetTimers(const TcpNews &news, std::int64_t una_before, TimePs now)
{
	if (board_.Count() == 0) {
		rto_at_ = probe_at_ = reorder_at_ = kNever;
		return;
	}
	if (una_ > una_before)
		rto_at_ = Tick(now, rtt_.Rto());
	if (una_ > una_before || news.sacked > 0)
		SetProbeTimer(now);
}

/// Section 7.2 of RFC 8985; not after the RTO, and one probe at a time.
void TcpSender::SetProbeTimer(TimePs now)
{
	probe_at_ = kNever;
	if (!spec_.rack || !Calm() || probe_end_ >= 0 || board_.Count() == 0 || board_.Sacked() > 0)
		return;
	TimePs pto = rtt_.HasSample() ? 2 * rtt_.Srtt() : spec_.timers.rto_ps_initial;
	if (board_.Count() == 1)
		pto += spec_.timers.worst_delayed_ack_ps;
	else
		pto += kSpareTicks * spec_.timers.granularity_ps;
	probe_at_ = std::min(Tick(now, pto), rto_at_);
}

TimePs TcpSender::NextTimer() const
{
	return std::min({ rto_at_, probe_at_, reorder_at_, persist_at_ });
}

void TcpSender::OnTimer(TimePs now)
{
	if (reorder_at_ <= now) {
		DetectByRack(now);
		if (Calm() && board_.LostWaiting() > 0) {
			EnterRecovery();
			Reduce(1, false);
		}
	} else if (probe_at_ <= now) {
		probe_due_ = true;
		probe_at_ = kNever;
	} else if (rto_at_ <= now) {
		EnterLoss(now);
	} else if (persist_at_ <= now) {
		persist_due_ = true;
		persist_at_ = kNever;
	}
}

} // namespace keepon::sim
