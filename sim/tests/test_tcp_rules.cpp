// SPDX-License-Identifier: BSD-3-Clause
// Single rules of TCP by their numbers. What keeps to none of them still brings all bytes over, so
// the channels of test_tcp.cpp do not notice.
#include "checks.hpp"
#include "keepon/sim/tcp_receiver.hpp"
#include "keepon/sim/tcp_sender.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr TimePs kSecond = 1'000'000'000'000;
constexpr TimePs kMs = 1'000'000'000;
constexpr TimePs kTick = 4 * kMs;

TcpSenderSpec Spec(int recovery)
{
	TcpSenderSpec spec;
	spec.congestion = "reno";
	spec.sack = recovery > 0;
	spec.rack = recovery > 1;
	spec.mss = 1000;
	return spec;
}

TcpAck Ack(std::int64_t ack, TimePs ts_ecr = 0)
{
	TcpAck made;
	made.ack = ack;
	made.window = 1'000'000;
	made.ts_ecr = ts_ecr;
	return made;
}

TcpAck Sacking(std::int64_t ack, std::int64_t left, std::int64_t right)
{
	TcpAck made = Ack(ack);
	made.blocks[made.block_count++] = { left, right };
	return made;
}

int SendAll(TcpSender &sender, TimePs now)
{
	int sent = 0;
	while (sender.Send(now))
		sent++;
	return sent;
}

/// To the next timer, and what it makes the sender send.
TimePs Fire(TcpSender &sender)
{
	const TimePs now = sender.NextTimer();
	sender.OnTimer(now);
	SendAll(sender, now);
	return now;
}

/// RFC 6298 (2.3): beta is 1/4; the least round trip is forgotten after five minutes.
void TestRtt(Checks &checks)
{
	TcpTimerSpec spec;
	spec.variance_ps_min = 0;
	TcpRtt rtt(spec);
	rtt.OnSample(800 * kMs, kSecond);
	rtt.OnSample(800 * kMs, 2 * kSecond);
	EXPECT(rtt.Rto() == (800 + 4 * 300) * kMs);
	rtt.OnSample(900 * kMs, 300 * kSecond);
	EXPECT(rtt.Min() == 800 * kMs);
	rtt.OnSample(900 * kMs, 303 * kSecond);
	EXPECT(rtt.Min() == 900 * kMs);
}

/// The RTO doubles each time; what a window has paid for is not paid for again (RFC 5681 (4)).
void TestTimeoutsInARow(Checks &checks)
{
	TcpSender sender(Spec(1));
	EXPECT(SendAll(sender, kSecond) == 10);
	const TimePs first = Fire(sender);
	EXPECT(first - kSecond >= kSecond && first - kSecond <= kSecond + 2 * kTick);
	EXPECT(sender.Counts().timeouts == 1 && sender.Window().ssthresh == 5);
	const TimePs second = Fire(sender);
	EXPECT(second - first >= 2 * kSecond && second - first <= 2 * kSecond + 2 * kTick);
	EXPECT(sender.Counts().timeouts == 2 && sender.Window().ssthresh == 5);
}

/// A timeout of another segment than the one before, while what was lost is sent again, is another
/// loss (RFC 5681 section 3.1).
void TestTimeoutsWithProgressBetween(Checks &checks)
{
	TcpSender sender(Spec(1));
	EXPECT(SendAll(sender, kSecond) == 10);
	TimePs now = Fire(sender);
	EXPECT(sender.Window().ssthresh == 5);
	for (std::int64_t acked = 1; acked <= 6; acked++) {
		now += kMs;
		sender.OnAck(Ack(1000 * acked), now);
		SendAll(sender, now);
	}
	const std::int64_t cwnd = sender.Window().cwnd;
	EXPECT(cwnd > 4 && cwnd < 10);
	Fire(sender);
	EXPECT(sender.Counts().timeouts == 2 && sender.Window().ssthresh < 5);
	const std::int64_t reduced = sender.Window().ssthresh;
	Fire(sender); // of the same segment
	EXPECT(sender.Counts().timeouts == 3 && sender.Window().ssthresh == reduced);
}

/// Karn's algorithm: of a segment that was sent twice its time stamp alone tells a round trip.
void TestKarn(Checks &checks)
{
	for (const bool stamped : { false, true }) {
		TcpSender sender(Spec(1));
		SendAll(sender, kSecond);
		const TimePs again = Fire(sender);
		sender.OnAck(Ack(1000, stamped ? kSecond : 0), again + 10 * kMs);
		EXPECT(sender.Rtt().HasSample() == stamped);
		EXPECT(!stamped || sender.Rtt().Srtt() == again + 10 * kMs - kSecond);
	}
}

/// What lay behind a hole until that was sent again tells no round trip, but what SACK newly tells
/// of does (tcp_clean_rtx_queue() of Linux).
void TestRoundTripBehindAHole(Checks &checks)
{
	for (const bool sack : { false, true }) {
		TcpScoreboard board;
		for (int i = 0; i < 8; i++)
			board.OnSent(i * 1000, 1000, kSecond + i * kMs);
		board.MarkLost(0);
		board.OnSentAgain(0, 2 * kSecond);
		const TcpNews news = board.OnAck(sack ? Sacking(3000, 5000, 6000) : Ack(3000));
		EXPECT(news.acked == 3);
		EXPECT(news.rtt_sent == (sack ? kSecond + 5 * kMs : kNever));
	}
}

/// RFC 8985 section 6.2, step 2, is of each segment: a first copy that came late, taken for the one
/// sent again, hides nothing of what else an ACK tells.
void TestRackOfEachSegment(Checks &checks)
{
	TcpSender sender(Spec(2));
	SendAll(sender, kMs);          // 0 to 9
	for (int i = 1; i <= 3; i++) { // a round trip is 20 ms
		sender.OnAck(Ack(2000 * i), (20 + i) * kMs);
		SendAll(sender, (20 + i) * kMs);
	}
	for (int i = 1; i <= 3; i++) { // 6 is late: sent again
		sender.OnAck(Sacking(6000, 7000, 7000 + i * 1000), 24 * kMs + i * kMs / 10);
		SendAll(sender, 24 * kMs + i * kMs / 10);
	}
	EXPECT(sender.Counts().retransmissions == 1);
	// 10 and 11, of 21 ms, are lost; 12 to 15, of 22 and 23 ms, have come
	sender.OnAck(Sacking(10'000, 12'000, 16'000), 44 * kMs);
	EXPECT(sender.Board()[0].lost && sender.Board()[1].lost);
}

/// RFC 8985 section 6.2, step 4: what was sent sooner is waited for, a quarter of the least round
/// trip.
void TestReorderingWindow(Checks &checks)
{
	TcpSender sender(Spec(2));
	SendAll(sender, kSecond);
	const TimePs now = kSecond + 40 * kMs;
	sender.OnAck(Sacking(0, 1000, 2000), now);
	EXPECT(sender.State() == TcpState::kOpen);
	const TimePs waits = sender.NextTimer() - now;
	EXPECT(waits >= 10 * kMs + 2 * kTick && waits <= 10 * kMs + 4 * kTick);
	sender.OnTimer(sender.NextTimer());
	EXPECT(sender.State() == TcpState::kRecovery && sender.Counts().recoveries == 1);
}

/// RFC 6582: three duplicates of what a timeout has sent again begin no recovery; nor do ACKs that
/// others have overtaken.
void TestDuplicatesWithoutSack(Checks &checks)
{
	TcpSender sender(Spec(0));
	SendAll(sender, kSecond);
	const TimePs now = Fire(sender);
	sender.OnAck(Ack(10'000), now + 10 * kMs);
	EXPECT(sender.State() == TcpState::kOpen);
	EXPECT(SendAll(sender, now + 10 * kMs) > 0);
	for (int i = 0; i < 3; i++)
		sender.OnAck(Ack(10'000), now + 20 * kMs);
	EXPECT(sender.Counts().recoveries == 0);

	TcpSender other(Spec(0));
	SendAll(other, kSecond);
	other.OnAck(Ack(4000), kSecond + 10 * kMs);
	for (int i = 0; i < 3; i++)
		other.OnAck(Ack(2000), kSecond + 11 * kMs);
	EXPECT(other.Counts().recoveries == 0);
}

/// A loss while the window is being reduced already does not reduce it again.
void TestOneReduction(Checks &checks)
{
	TcpSender sender(Spec(1));
	for (int i = 0; i < 8; i++)
		sender.Send(kSecond);
	sender.OnRefused(*sender.Send(kSecond), kSecond);
	EXPECT(sender.State() == TcpState::kReduced && sender.Window().ssthresh == 5);
	sender.OnAck(Ack(1000), kSecond + 10 * kMs);
	EXPECT(sender.Window().cwnd < 10);
	sender.OnAck(Sacking(1000, 2000, 7000), kSecond + 10 * kMs);
	EXPECT(sender.State() == TcpState::kRecovery && sender.Window().ssthresh == 5);
}

/// A window that was not used does not grow (RFC 9293 section 3.8, RFC 7661); one that the receiver
/// has offered is not taken back.
void TestWindowUse(Checks &checks)
{
	TcpSender sender(Spec(1));
	sender.Send(kSecond);
	sender.Send(kSecond);
	sender.OnAck(Ack(2000), kSecond + 10 * kMs);
	EXPECT(sender.Window().cwnd == 10);
	TcpAck less = Ack(2000);
	less.window = 0;
	sender.OnAck(less, kSecond + 11 * kMs);
	EXPECT(SendAll(sender, kSecond + 12 * kMs) == 10);
}

/// RFC 8985 section 7.2: one probe at a time; then the RTO.
void TestOneProbe(Checks &checks)
{
	TcpSender sender(Spec(2));
	SendAll(sender, kSecond);
	sender.OnAck(Ack(2000), kSecond + 10 * kMs);
	SendAll(sender, kSecond + 10 * kMs);
	const TimePs probed = Fire(sender);
	EXPECT(sender.Counts().probes == 1);
	sender.OnAck(Ack(3000), probed + 10 * kMs); // not yet of the probe
	const TimePs at = sender.NextTimer();
	EXPECT(at - probed - 10 * kMs >= sender.Rtt().Rto());
	sender.OnTimer(at);
	EXPECT(sender.Counts().timeouts == 1);
}

/// RFC 2883: a block that lies within the next tells of what came twice, and of nothing new.
void TestDuplicateBlock(Checks &checks)
{
	for (const bool within : { false, true }) {
		TcpScoreboard board;
		for (int i = 0; i < 8; i++)
			board.OnSent(i * 1000, 1000, kSecond);
		TcpAck ack = Sacking(1000, within ? 4000 : 6000, within ? 5000 : 7000);
		ack.blocks[ack.block_count++] = { 3000, 5000 };
		const TcpNews news = board.OnAck(ack);
		EXPECT(news.duplicate == within && news.sacked == (within ? 2 : 3));
	}
}

/// RFC 7323 section 4.3: what leaves a hole does not set the time stamp that is echoed.
void TestEchoedStamp(Checks &checks)
{
	TcpReceiverSpec spec;
	spec.mss = 1000;
	TcpReceiver receiver(spec);
	receiver.OnSegment({ 0, 1000, 5 }, kMs);
	EXPECT(receiver.MakeAck().ts_ecr == 5);
	receiver.OnSegment({ 2000, 1000, 9 }, 2 * kMs);
	EXPECT(receiver.MakeAck().ts_ecr == 5);
	receiver.OnSegment({ 1000, 1000, 7 }, 3 * kMs);
	EXPECT(receiver.MakeAck().ts_ecr == 7);
}

/// As Linux: quick again after a pause, and after what came twice.
void TestQuickAgain(Checks &checks)
{
	for (const bool pause : { false, true }) {
		TcpReceiverSpec spec;
		spec.mss = 1000;
		spec.quick_acks = 1;
		TcpReceiver receiver(spec);
		EXPECT(receiver.OnSegment({ 0, 1000, 0 }, kMs));
		receiver.MakeAck();
		EXPECT(!receiver.OnSegment({ 1000, 1000, 0 }, 2 * kMs));
		receiver.MakeAck();
		const TimePs now = pause ? 300 * kMs : 3 * kMs;
		if (!pause) {
			receiver.OnSegment({ 1000, 1000, 0 }, now);
			receiver.MakeAck();
		}
		EXPECT(receiver.OnSegment({ 2000, 1000, 0 }, now));
	}
}

/// CUBIC of a path that it knows nothing of, at first and after a timeout: a segment for 20.
void TestCubicForgets(Checks &checks)
{
	for (const bool timeout : { false, true }) {
		const auto cubic = Registry<TcpCongestionKind>::Find("cubic")->make();
		TcpWindow window;
		window.cwnd = window.ssthresh = 100;
		if (timeout) {
			cubic->Reduced(window);
			cubic->OnTimeout();
		}
		for (int i = 0; i < 100; i++)
			cubic->OnProgress(window, { 1, 0, 0, kSecond + i * kMs / 10, 0 });
		EXPECT(window.cwnd == 105);
	}
}

/// Its fast convergence (RFC 9438 section 4.7): after a loss below the plateau the next one is at
/// 1.7 / 2 of the window, not where it was.
void TestCubicConverges(Checks &checks)
{
	const auto cubic = Registry<TcpCongestionKind>::Find("cubic")->make();
	const TimePs rtt = 200 * kMs;
	TcpWindow window;
	window.cwnd = window.ssthresh = 400;
	cubic->OnRtt(window, { 1, 0, 0, 0, rtt });
	cubic->Reduced(window);
	window.cwnd = 300;
	window.cwnd = window.ssthresh = cubic->Reduced(window);
	EXPECT(window.cwnd == 210);
	// K = cbrt((255 - 210) / 0.4) = 4.8 s; Reno's part is 210 + 9 / 17 x 24 by then.
	for (TimePs now = 0; now < 4800 * kMs; now += rtt) {
		const std::int64_t acks = window.cwnd / 2;
		for (std::int64_t i = 0; i < acks; i++)
			cubic->OnProgress(window, { 2, 0, 0, now + rtt * i / acks, 0 });
	}
	EXPECT(window.cwnd >= 250 && window.cwnd <= 258);
}

} // namespace

void TestTcpRules(Checks &checks)
{
	TestRtt(checks);
	TestTimeoutsInARow(checks);
	TestTimeoutsWithProgressBetween(checks);
	TestKarn(checks);
	TestRoundTripBehindAHole(checks);
	TestRackOfEachSegment(checks);
	TestReorderingWindow(checks);
	TestDuplicatesWithoutSack(checks);
	TestOneReduction(checks);
	TestWindowUse(checks);
	TestOneProbe(checks);
	TestDuplicateBlock(checks);
	TestEchoedStamp(checks);
	TestQuickAgain(checks);
	TestCubicForgets(checks);
	TestCubicConverges(checks);
}

} // namespace keepon::sim::test
