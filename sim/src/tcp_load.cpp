// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/tcp_load.hpp"

#include <algorithm>

namespace keepon::sim
{

namespace
{

/// TCP small queues (Linux, since 3.6): what driver and qdisc may have of a connection is what its
/// pacing rate sends in a millisecond, two buffers of two segments (tcp_min_tso_segs) at least.
/// That rate is the window's a round trip, doubled in slow start, by a fifth more otherwise.
constexpr std::int64_t kQueuedMin = 4;
constexpr TimePs kQueuedPs = kNsPerS * kPsPerNs / 1024;

TcpSenderSpec SenderOf(const LoadSpec &load)
{
	TcpSenderSpec spec;
	spec.congestion = load.congestion;
	spec.mss = load.frame_bytes - kTcpHeaderBytes;
	return spec;
}

TcpReceiverSpec ReceiverOf(const LoadSpec &load)
{
	TcpReceiverSpec spec;
	spec.mss = load.frame_bytes - kTcpHeaderBytes;
	return spec;
}

} // namespace

TcpTalker::TcpTalker(World &world, Host &host, FlowId flow, const LoadSpec &spec)
	: world_(world), host_(world, host), flow_(flow), start_(spec.start_ns * kPsPerNs),
	  sender_(SenderOf(spec)), timer_(world, timer_event_)
{
}

bool TcpTalker::Throttled() const
{
	const TimePs srtt = sender_.Rtt().Srtt();
	if (srtt == 0)
		return false;
	const TcpWindow &window = sender_.Window();
	const std::int64_t tenths = window.cwnd < window.ssthresh / 2 ? 20 : 12;
	const auto rate_limit =
		static_cast<std::int64_t>(static_cast<__int128>(window.cwnd) * tenths * kQueuedPs /
					  (10 * static_cast<__int128>(srtt)));
	return with_driver_ >= std::max(rate_limit, kQueuedMin);
}

/// Where frames are refused, the next is not asked for before it is known what came of the last.
void TcpTalker::Drain()
{
	while (!passing_) {
		throttled_ = Throttled();
		if (throttled_)
			break;
		const std::optional<TcpSegment> segment = sender_.Send(world_.now);
		if (!segment)
			break;
		with_driver_++;
		const std::int64_t seq = sent_.Put(*segment);
		if (host_.Refuses(flow_)) {
			passing_ = segment;
			host_.Send(flow_, seq, through_event_);
		} else {
			host_.Send(flow_, seq);
		}
	}
	SetTimer();
}

void TcpTalker::SetTimer()
{
	series_.Add(world_.now, sender_.Window());
	timer_.Set(sender_.NextTimer());
}

void TcpTalker::OnThrough(TimePs, std::uint64_t frame)
{
	refused_ = false;
	host_.Enter(frame);
	const TcpSegment segment = *passing_;
	passing_.reset();
	if (!refused_) {
		Drain();
		return;
	}
	sender_.OnRefused(segment, world_.now);
	SetTimer();
}

/// The first one is the start.
void TcpTalker::OnTimer(TimePs, std::uint64_t)
{
	const bool begins = sender_.Nxt() == 0;
	if (!begins && !timer_.Elapsed())
		return;
	if (!begins)
		sender_.OnTimer(world_.now);
	Drain();
}

void TcpTalker::OnOutcome(const TxFrame &frame, kpn_verdict)
{
	with_driver_--;
	refused_ |= frame.refused;
	if (!throttled_)
		return;
	throttled_ = false;
	world_.events.Push(world_.now, room_event_);
}

void TcpTalker::OnRoom(TimePs, std::uint64_t)
{
	Drain();
}

void TcpTalker::OnReceive(NodeId node, const Packet &packet)
{
	world_.Deliver(node, packet, 0);
	const TimePs at = host_.Received();
	if (at == world_.now)
		Handle(packet.seq);
	else
		world_.events.Push(at, ack_event_, static_cast<std::uint64_t>(packet.seq));
}

void TcpTalker::OnAck(TimePs, std::uint64_t seq)
{
	Handle(static_cast<std::int64_t>(seq));
}

void TcpTalker::Handle(std::int64_t seq)
{
	const TcpAck *ack = listener_->Take(seq);
	if (!ack)
		return;
	sender_.OnAck(*ack, world_.now);
	Drain();
}

TcpListener::TcpListener(World &world, Host &host, FlowId flow, const LoadSpec &spec,
			 TcpTalker &talker)
	: world_(world), host_(world, host), flow_(flow), receiver_(ReceiverOf(spec)),
	  talker_(talker), timer_(world, timer_event_)
{
}

void TcpListener::OnReceive(NodeId node, const Packet &packet)
{
	world_.Deliver(node, packet, 0);
	const TimePs at = host_.Received();
	if (at == world_.now)
		Handle(packet.seq);
	else
		world_.events.Push(at, segment_event_, static_cast<std::uint64_t>(packet.seq));
}

void TcpListener::OnSegment(TimePs, std::uint64_t seq)
{
	Handle(static_cast<std::int64_t>(seq));
}

void TcpListener::Handle(std::int64_t seq)
{
	const TcpSegment *segment = talker_.Take(seq);
	if (!segment)
		return;
	const std::int64_t before = receiver_.Next();
	const bool now = receiver_.OnSegment(*segment, world_.now);
	if (world_.InWindow(world_.now))
		window_bytes_ += receiver_.Next() - before;
	if (now)
		Answer();
	timer_.Set(receiver_.NextTimer());
}

void TcpListener::Answer()
{
	host_.Send(flow_, sent_.Put(receiver_.MakeAck()));
}

void TcpListener::OnTimer(TimePs, std::uint64_t)
{
	if (!timer_.Elapsed())
		return;
	Answer();
	timer_.Set(receiver_.NextTimer());
}

} // namespace keepon::sim
