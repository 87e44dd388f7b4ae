// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdlib>

#include "checks.hpp"
#include "tcp_channel.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr TimePs kSecond = 1'000'000'000'000;
constexpr TimePs kMs = 1'000'000'000;

TcpSenderSpec Spec(const char *congestion, int recovery, std::int64_t segments)
{
	TcpSenderSpec spec;
	spec.congestion = congestion;
	spec.sack = recovery > 0;
	spec.rack = recovery > 1;
	spec.mss = 1000;
	spec.transfer_bytes = segments * spec.mss - 300; // the last one is short
	return spec;
}

/// Whatever a channel does, all bytes arrive in order and are acknowledged.
void TestEveryPattern(Checks &checks)
{
	constexpr double losses[] = { 0, 0.003, 0.05, 0.3 };
	std::uint64_t seed = 1;
	for (const char *congestion : { "reno", "cubic" })
		for (int recovery = 0; recovery < 3; recovery++)
			for (const double loss : losses)
				for (int disorder = 0; disorder < 4; disorder++) {
					ChannelSpec channel;
					channel.loss = loss;
					channel.reordering = disorder & 1 ? 0.1 : 0;
					channel.duplication = disorder & 2 ? 0.05 : 0;
					channel.serial_ps = kMs / 8;
					const TcpSenderSpec spec = Spec(congestion, recovery, 400);
					TcpChannel tcp(checks, channel, spec, seed++);
					tcp.Run(20'000 * kSecond);
					EXPECT(tcp.Sender().Una() == spec.transfer_bytes);
					EXPECT(tcp.Receiver().Next() == spec.transfer_bytes);
					EXPECT(tcp.Sender().Pipe() == 0);
					EXPECT(tcp.Sender().NextTimer() == kNever);
					EXPECT(loss > 0 || disorder ||
					       tcp.Sender().Counts().retransmissions == 0);
				}
}

void TestRto(Checks &checks)
{
	TcpTimerSpec spec;
	spec.variance_ps_min = 0;
	spec.rto_ps_min = kSecond;
	spec.granularity_ps = 100 * kMs;
	TcpRtt rtt(spec);
	EXPECT(rtt.Rto() == kSecond && !rtt.HasSample());
	// RFC 6298 (2.2) and (2.3), with K x RTTVAR above G
	rtt.OnSample(800 * kMs, kSecond);
	EXPECT(rtt.Srtt() == 800 * kMs && rtt.Rto() == 800 * kMs + 4 * 400 * kMs);
	rtt.OnSample(400 * kMs, 2 * kSecond);
	EXPECT(rtt.Srtt() == 750 * kMs && rtt.Rto() == 750 * kMs + 4 * 400 * kMs);
	rtt.BackOff();
	EXPECT(rtt.Rto() == 2 * (750 + 1600) * kMs && rtt.Min() == 400 * kMs);
	for (int i = 0; i < 200; i++)
		rtt.OnSample(200 * kMs, 3 * kSecond);
	EXPECT(rtt.Rto() == kSecond); // (2.4)
	// A tick never comes early.
	EXPECT(TickOf(399 * kMs, 100 * kMs, 100 * kMs) == 500 * kMs);
	EXPECT(TickOf(400 * kMs, 101 * kMs, 100 * kMs) == 700 * kMs);
	EXPECT(TickOf(5, 7, 0) == 12);
}

/// One segment lost of many: found by three duplicates, sent again once, one reduction.
void TestOneLoss(Checks &checks)
{
	for (int recovery = 0; recovery < 3; recovery++) {
		TcpSender sender(Spec("reno", recovery, 1000));
		TcpReceiverSpec receiving;
		receiving.mss = 1000;
		receiving.sack = recovery > 0;
		TcpReceiver receiver(receiving);
		std::int64_t again = -1;
		TimePs now = kSecond;
		for (int i = 0; i < 10; i++)
			EXPECT(sender.Send(now)->seq == i * 1000);
		EXPECT(!sender.Send(now)); // the initial window
		now += 10 * kMs;
		for (int i = 0; i < 10; i++) {
			if (i == 4)
				continue;
			receiver.OnSegment({ i * 1000, 1000, kSecond }, now);
			sender.OnAck(receiver.MakeAck(), now);
			while (const auto segment = sender.Send(now))
				if (segment->seq < 10'000)
					again = segment->seq;
			EXPECT((again == 4000) == (i >= 7)); // the third duplicate is of number 7
		}
		EXPECT(sender.State() == TcpState::kRecovery);
		EXPECT(sender.Counts().recoveries == 1 && sender.Counts().retransmissions == 1);
		EXPECT(sender.Window().ssthresh == 7); // half of 10 + 4 of slow start
		receiver.OnSegment({ 4000, 1000, now }, now);
		sender.OnAck(receiver.MakeAck(), now + kMs);
		EXPECT(sender.Una() == 10'000 && sender.Counts().timeouts == 0);
	}
}

/// A segment for each one in slow start, one a window afterwards (RFC 5681 section 3.1).
void TestRenoGrowth(Checks &checks)
{
	const auto reno = Registry<TcpCongestionKind>::Find("reno")->make();
	TcpWindow window;
	window.cwnd = 10;
	window.ssthresh = 25;
	for (int i = 0; i < 7; i++)
		reno->OnProgress(window, { 2, 0, 0, 0, 0 });
	EXPECT(window.cwnd == 24);
	reno->OnProgress(window, { 2, 0, 0, 0, 0 });
	EXPECT(window.cwnd == 25 && !window.InSlowStart());
	double slow = 25;
	for (int i = 0; i < 4000; i++) {
		reno->OnProgress(window, { 2, 0, 0, 0, 0 });
		slow += 2 / std::floor(slow);
		EXPECT(std::fabs(static_cast<double>(window.cwnd) - slow) <= 2);
	}
	EXPECT(window.cwnd > 125 && reno->Reduced(window) == window.cwnd / 2);
	window.cwnd = 3;
	EXPECT(reno->Reduced(window) == 2);
}

/// The window is the greater of W_cubic and W_est, computed in floating point (RFC 9438).
void TestCubicGrowth(Checks &checks)
{
	for (const double rtt_s : { 0.2, 0.02 }) {
		const auto cubic = Registry<TcpCongestionKind>::Find("cubic")->make();
		const auto rtt = static_cast<TimePs>(rtt_s * 1e12);
		TcpWindow window;
		window.cwnd = 400;
		window.ssthresh = 300; // congestion avoidance
		cubic->OnRtt(window, { 1, 0, 0, 0, rtt });
		window.cwnd = window.ssthresh = cubic->Reduced(window);
		EXPECT(window.cwnd == 280);
		const double k = std::cbrt((400 - 280) / 0.4);
		double w_est = 280;
		TimePs now = 0;
		for (int round = 0; static_cast<double>(now) / 1e12 < 12; round++) {
			const std::int64_t acks = window.cwnd / 2;
			const double t = static_cast<double>(now) / 1e12;
			const double w_cubic = 400 + 0.4 * std::pow(t + rtt_s - k, 3);
			const double law = std::max(w_cubic, w_est);
			for (std::int64_t i = 0; i < acks; i++) {
				w_est += 9.0 / 17 * 2 / static_cast<double>(window.cwnd);
				cubic->OnProgress(window, { 2, 0, 0, now + rtt * i / acks, 0 });
			}
			now += rtt;
			if (round > 2)
				EXPECT(std::fabs(static_cast<double>(window.cwnd) - law) <
				       3 + 0.02 * law);
		}
		// fast convergence: the next plateau is below
		window.cwnd = 300;
		EXPECT(cubic->Reduced(window) == 210);
	}
}

/// HyStart ends slow start when round trips grow, before anything is lost.
void TestHyStart(Checks &checks)
{
	const auto cubic = Registry<TcpCongestionKind>::Find("cubic")->make();
	TcpWindow window;
	window.cwnd = 40;
	cubic->OnRtt(window, { 1, 1, 100, 0, 20 * kMs });
	for (int i = 0; i < 20; i++)
		cubic->OnRtt(window, { 1, 2, 100, 20 * kMs * i, 23 * kMs });
	EXPECT(window.InSlowStart()); // 4 ms at least
	for (int i = 0; i < 20; i++)
		cubic->OnRtt(window, { 1, 101, 200, kSecond + 20 * kMs * i, 25 * kMs });
	EXPECT(window.ssthresh == 40);
}

/// The last segment of a burst is lost: a probe finds it without the RTO (RFC 8985 section 7).
void TestTailLoss(Checks &checks)
{
	for (const bool rack : { true, false }) {
		TcpSenderSpec spec = Spec("reno", rack ? 2 : 1, 10);
		TcpSender sender(spec);
		TcpReceiverSpec receiving;
		receiving.mss = 1000;
		TcpReceiver receiver(receiving);
		TimePs now = kSecond;
		while (sender.Send(now))
			;
		now += 10 * kMs;
		for (int i = 0; i < 9; i++)
			receiver.OnSegment({ i * 1000, 1000, kSecond }, now);
		sender.OnAck(receiver.MakeAck(), now);
		EXPECT(!sender.Send(now));
		now = sender.NextTimer();
		sender.OnTimer(now);
		const auto last = sender.Send(now);
		EXPECT(last && last->seq == 9000);
		EXPECT(sender.Counts().probes == rack && sender.Counts().timeouts == !rack);
		// The RTO, SRTT + 200 ms, as 2 SRTT and the worst delayed ACK were later; at a tick.
		EXPECT(now >= kSecond + 220 * kMs && now <= kSecond + 228 * kMs);
		EXPECT(sender.Window().cwnd == (rack ? 19 : 1));
		EXPECT(sender.State() == (rack ? TcpState::kOpen : TcpState::kLoss));
	}
}

/// What a probe has repaired the window pays for (RFC 8985 section 7.4.2), unless it came twice.
void TestProbeAnswer(Checks &checks)
{
	for (const bool twice : { false, true }) {
		TcpSender sender(Spec("reno", 2, 1000));
		TcpAck ack;
		ack.window = 10'000; // nothing new may be sent: the probe repeats
		TimePs now = kSecond;
		while (sender.Send(now))
			;
		now += 10 * kMs;
		ack.ack = 8000;
		ack.window = 2000;
		sender.OnAck(ack, now);
		now = sender.NextTimer();
		sender.OnTimer(now);
		const auto probe = sender.Send(now);
		EXPECT(probe && probe->seq == 9000 && sender.Counts().probes == 1);
		const std::int64_t cwnd = sender.Window().cwnd;
		ack.ack = 10'000;
		ack.window = 100'000;
		if (twice)
			ack.blocks[ack.block_count++] = { 9000, 10'000 };
		sender.OnAck(ack, now + 10 * kMs);
		while (sender.Send(now + 10 * kMs))
			;
		ack.ack = 12'000;
		ack.block_count = 0;
		sender.OnAck(ack, now + 20 * kMs);
		EXPECT((sender.Window().ssthresh < cwnd) == !twice);
	}
}

/// Half as many go as arrive until the window is ssthresh; a lossy burst is made up for slowly.
void TestPrr(Checks &checks)
{
	TcpPrr prr;
	prr.Begin(20, 10);
	std::int64_t pipe = 19; // one lost
	std::int64_t sent = 0;
	for (int i = 0; i < 18; i++) {
		pipe--;
		std::int64_t may = prr.OnAck(1, pipe, false);
		for (; may > 0; may--, pipe++, sent++)
			prr.OnSent();
		EXPECT(i >= 16 || sent == (i + 2) / 2); // the window is reached by then
	}
	EXPECT(pipe == 10);
	prr.Begin(20, 10);
	pipe = 3; // sixteen lost at once
	EXPECT(prr.OnAck(1, pipe, false) == 1);
	EXPECT(prr.OnAck(1, pipe, true) == 3); // one that went unused, its own and one more
}

/// A retransmission that is lost, too, is found by what was sent after it, without the RTO.
void TestLostRetransmission(Checks &checks)
{
	for (const bool rack : { true, false }) {
		TcpSender sender(Spec("reno", rack ? 2 : 1, 1000));
		TcpReceiverSpec receiving;
		receiving.mss = 1000;
		TcpReceiver receiver(receiving);
		std::vector<TcpSegment> under_way;
		TimePs now = kSecond;
		for (int round = 0; round < 6; round++) {
			std::vector<TcpSegment> arriving;
			arriving.swap(under_way);
			for (const TcpSegment &segment : arriving) {
				if (segment.seq == 3000 && round < 3)
					continue;
				receiver.OnSegment(segment, now);
				sender.OnAck(receiver.MakeAck(), now);
				while (const auto next = sender.Send(now))
					under_way.push_back(*next);
			}
			while (const auto next = sender.Send(now))
				under_way.push_back(*next);
			now += 10 * kMs;
		}
		EXPECT((sender.Una() > 3000) == rack);
		EXPECT(sender.Counts().timeouts == 0);
		EXPECT(sender.Counts().recoveries == 1);
	}
}

/// Between two losses closer than 1/32 s Linux's CUBIC does not grow.
void TestCubicIsSlowAtFirst(Checks &checks)
{
	const auto cubic = Registry<TcpCongestionKind>::Find("cubic")->make();
	TcpWindow window;
	window.cwnd = 10;
	window.ssthresh = 5;
	cubic->OnRtt(window, { 1, 0, 0, 0, 2 * kMs });
	cubic->Reduced(window);
	window.cwnd = window.ssthresh = 12; // beyond the plateau: Reno's growth is what there is
	TimePs now = kSecond;
	for (; now < kSecond + 24 * kMs; now += kMs)
		cubic->OnProgress(window, { 2, 0, 0, now, 0 });
	EXPECT(window.cwnd == 12);
	for (; now < kSecond + 60 * kMs; now += kMs)
		cubic->OnProgress(window, { 2, 0, 0, now, 0 });
	EXPECT(window.cwnd > 13);
}

/// W_est takes 17 / 9 of a window for a segment: at cwnd 2 the fourth acknowledged, not the third.
void TestCubicFriendliness(Checks &checks)
{
	const auto cubic = Registry<TcpCongestionKind>::Find("cubic")->make();
	TcpWindow window;
	window.cwnd = window.ssthresh = 2;
	cubic->Reduced(window); // the plateau is where it is
	for (int acked = 1; acked <= 4; acked++) {
		cubic->OnProgress(window, { 1, 0, 0, kSecond + acked * 40 * kMs, 0 });
		EXPECT(window.cwnd == (acked < 4 ? 2 : 3));
	}
}

void TestDelayedAcks(Checks &checks)
{
	TcpReceiverSpec spec;
	spec.mss = 1000;
	spec.quick_acks = 1;
	TcpReceiver receiver(spec);
	EXPECT(receiver.OnSegment({ 0, 1000, 0 }, kMs)); // quickly
	receiver.MakeAck();
	EXPECT(!receiver.OnSegment({ 1000, 1000, 0 }, 2 * kMs));
	EXPECT(receiver.NextTimer() == 44 * kMs);
	EXPECT(receiver.OnSegment({ 2000, 1000, 0 }, 3 * kMs)); // the second
	EXPECT(receiver.MakeAck().ack == 3000 && receiver.NextTimer() == kNever);
	EXPECT(receiver.OnSegment({ 5000, 1000, 0 }, 4 * kMs));
	receiver.MakeAck();
	EXPECT(receiver.OnSegment({ 7000, 1000, 0 }, 4 * kMs));
	const TcpAck ack = receiver.MakeAck();
	EXPECT(ack.block_count == 2 && ack.blocks[0].left == 7000 && ack.blocks[1].left == 5000);
	EXPECT(receiver.OnSegment({ 3000, 1000, 0 }, 5 * kMs)); // beside a hole
	receiver.MakeAck();
	EXPECT(receiver.OnSegment({ 5000, 1000, 0 }, 5 * kMs)); // came twice (RFC 2883)
	const TcpAck twice = receiver.MakeAck();
	EXPECT(twice.ack == 4000 && twice.blocks[0].left == 5000 && twice.block_count == 3);
	EXPECT(receiver.Duplicates() == 1 && receiver.OutOfOrder() == 2);
}

/// What the host refuses was never sent: the same bytes come next, with a lower window, and not
/// before an ACK of what is under way.
void TestRefusedAmongOthers(Checks &checks)
{
	TcpSender sender(Spec("reno", 2, 1000));
	TcpReceiverSpec receiving;
	receiving.mss = 1000;
	TcpReceiver receiver(receiving);
	TimePs now = kSecond;
	for (int i = 0; i < 4; i++)
		receiver.OnSegment(*sender.Send(now), now + kMs);
	const TcpSegment refused = *sender.Send(now);
	sender.OnRefused(refused, now);
	EXPECT(sender.Nxt() == 4000 && sender.Pipe() == 4);
	EXPECT(sender.State() == TcpState::kReduced && sender.Window().ssthresh == 5);
	EXPECT(sender.Counts().refused == 1 && sender.Counts().retransmissions == 0);
	now += 2 * kMs;
	sender.OnAck(receiver.MakeAck(), now);
	EXPECT(sender.Send(now)->seq == refused.seq);
	EXPECT(sender.State() == TcpState::kReduced); // nothing sent since was acknowledged yet
	receiver.OnSegment({ 4000, 1000, now }, now + kMs);
	sender.OnAck(receiver.MakeAck(), now + kMs);
	EXPECT(sender.State() == TcpState::kOpen && sender.Window().cwnd == 5);
	EXPECT(sender.Counts().recoveries == 0 && sender.Counts().timeouts == 0);
}

/// With nothing under way only a timer helps: 200 ms at least, half a second if refused again.
void TestRefusedAlone(Checks &checks)
{
	TcpSender sender(Spec("cubic", 2, 1000));
	TcpReceiverSpec receiving;
	receiving.mss = 1000;
	TcpReceiver receiver(receiving);
	TimePs now = kSecond;
	for (int i = 0; i < 10; i++)
		receiver.OnSegment(*sender.Send(now), now);
	sender.OnAck(receiver.MakeAck(), now + kMs);
	now += kMs;
	sender.OnRefused(*sender.Send(now), now);
	EXPECT(sender.Pipe() == 0);
	for (int i = 0; i < 2; i++) {
		const TimePs waits = sender.NextTimer() - now;
		const TimePs least = i == 0 ? 200 * kMs : 500 * kMs;
		EXPECT(waits >= least && waits <= least + 10 * kMs); // whole ticks of 4 ms
		now = sender.NextTimer();
		sender.OnTimer(now);
		const auto again = sender.Send(now);
		EXPECT(again->seq == 10'000);
		if (i == 0)
			sender.OnRefused(*again, now);
	}
	EXPECT(sender.Counts().timeouts == 0 && sender.Counts().refused == 2);
	receiver.OnSegment({ 10'000, 1000, now }, now);
	sender.OnAck(receiver.MakeAck(), now + kMs);
	EXPECT(sender.Una() == 11'000);
}

/// A retransmission that is refused stays to be done, after half a second if a timer asked for it.
void TestRefusedRetransmission(Checks &checks)
{
	TcpSender sender(Spec("reno", 2, 1000));
	TimePs now = kSecond;
	sender.Send(now);
	sender.Send(now);
	while (sender.Counts().timeouts == 0) { // probes are lost as well
		now = sender.NextTimer();
		sender.OnTimer(now);
		if (sender.Counts().timeouts == 0)
			sender.Send(now);
	}
	const auto again = sender.Send(now);
	EXPECT(again->seq == 0);
	sender.OnRefused(*again, now);
	EXPECT(sender.NextTimer() >= now + 500 * kMs && sender.NextTimer() <= now + 510 * kMs);
	EXPECT(sender.Board().Again() == 0 && sender.Board().LostWaiting() > 0);
	EXPECT(sender.Send(now)->seq == 0);
}

/// Whatever is refused, all bytes arrive, and each segment that was is in the counts.
void TestRefusedAtRandom(Checks &checks)
{
	std::uint64_t seed = 1;
	for (const char *congestion : { "reno", "cubic" })
		for (const double refused : { 0.01, 0.3, 0.9 })
			for (const double loss : { 0.0, 0.05 }) {
				ChannelSpec channel;
				channel.loss = loss;
				channel.refused = refused;
				channel.serial_ps = kMs / 8;
				const TcpSenderSpec spec = Spec(congestion, 2, 200);
				TcpChannel tcp(checks, channel, spec, seed++);
				tcp.Run(20'000 * kSecond);
				EXPECT(tcp.Sender().Una() == spec.transfer_bytes);
				EXPECT(tcp.Sender().Pipe() == 0);
				EXPECT(tcp.Sender().Counts().refused > 0);
				EXPECT(tcp.Sender().NextTimer() == kNever);
			}
}

} // namespace

void TestTcp(Checks &checks)
{
	TestEveryPattern(checks);
	TestRto(checks);
	TestOneLoss(checks);
	TestRenoGrowth(checks);
	TestCubicGrowth(checks);
	TestHyStart(checks);
	TestTailLoss(checks);
	TestProbeAnswer(checks);
	TestPrr(checks);
	TestLostRetransmission(checks);
	TestCubicIsSlowAtFirst(checks);
	TestCubicFriendliness(checks);
	TestDelayedAcks(checks);
	TestRefusedAmongOthers(checks);
	TestRefusedAlone(checks);
	TestRefusedRetransmission(checks);
	TestRefusedAtRandom(checks);
}

} // namespace keepon::sim::test
