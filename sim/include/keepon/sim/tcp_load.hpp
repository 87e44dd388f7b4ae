// SPDX-License-Identifier: BSD-3-Clause
// A TCP connection as two applications: one sends data as fast as TCP lets it and gets ACKs, the
// other gets data and sends ACKs. The machines are tcp_sender.hpp and tcp_receiver.hpp; here they
// get frames, timers and the host's time. What a frame stands for is kept beside it, as its bytes
// are those of a test frame. The connection is established when it starts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "keepon/sim/application.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/tcp_receiver.hpp"
#include "keepon/sim/tcp_sender.hpp"
#include "keepon/sim/transmitter.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// What the last frames of a flow stand for, by their numbers.
template <class Letter>
class TcpLetters
{
public:
	std::int64_t Put(const Letter &letter)
	{
		letters_.push_back(letter);
		return next_++;
	}

	/// NULL if it was taken already, or is older than anything that can be under way. Frames of
	/// a flow may overtake each other, but not kKept of them.
	const Letter *Take(std::int64_t seq)
	{
		while (next_ - static_cast<std::int64_t>(letters_.size()) < seq - kKept)
			letters_.pop_front();
		const std::int64_t first = next_ - static_cast<std::int64_t>(letters_.size());
		return seq < first || seq >= next_ ?
			       nullptr :
			       &letters_[static_cast<std::size_t>(seq - first)];
	}

private:
	static constexpr std::int64_t kKept = 4096;

	std::deque<Letter> letters_;
	std::int64_t next_ = 0;
};

/// A machine's timer in the simulation: set to another time as often as one likes.
class TcpTimer
{
public:
	TcpTimer(World &world, EventHandler &handler) : world_(world), handler_(handler) {}

	/// kNever: not at all. What is past is now.
	void Set(TimePs due)
	{
		due_ = std::max(due, world_.now);
		if (due_ >= at_)
			return;
		at_ = due_;
		world_.events.Push(due_, handler_);
	}
	/// An event of it has come: whether the timer has gone off.
	bool Elapsed()
	{
		if (at_ != world_.now)
			return false; // one that was set earlier since
		at_ = kNever;
		const bool elapsed = due_ <= world_.now;
		if (!elapsed && due_ != kNever)
			Set(due_);
		return elapsed;
	}

private:
	World &world_;
	EventHandler &handler_;
	TimePs due_ = kNever;
	TimePs at_ = kNever; // the earliest event that is pushed
};

/// What the kernel's part of TCP takes on a host: from a frame received to TCP, from TCP to the
/// driver, each in order; its softirq contends for the host's cores. The one place that knows.
class TcpHost
{
public:
	TcpHost(World &world, Host &host)
		: world_(world), host_(host), rx_(host.Stage(HostStage::kRx, "tcp rx")),
		  stack_(host.Stage(HostStage::kStack, "tcp stack")),
		  softirq_(host.Cpu(), CpuPriority::kSoftIrq)
	{
	}

	/// When what is received now comes to TCP.
	TimePs Received() { return in_ = std::max(in_, world_.now + rx_.Draw()); }
	void Send(FlowId flow, std::int64_t seq)
	{
		TxFrame &frame = host_.MakeFrame(flow, seq);
		const TimePs cost = stack_.Draw();
		sent_ += cost > 0;
		if (sent_ == 0 && !host_.Cpu().Contended())
			host_.SendPlain(frame);
		else
			softirq_.Run(world_.now, cost, host_.DriverEntry(), frame.index);
	}
	bool Refuses(FlowId flow) const { return host_.Refuses(flow); }
	/// The same where frames are refused: \p through is handled in place of the driver's entry,
	/// and hands the frame on with Enter().
	void Send(FlowId flow, std::int64_t seq, EventHandler &through)
	{
		TxFrame &frame = host_.MakeFrame(flow, seq);
		softirq_.Run(world_.now, stack_.Draw(), through, frame.index);
	}
	void Enter(std::uint64_t frame) { host_.DriverEntry().Handle(world_.now, frame); }

private:
	World &world_;
	Host &host_;
	Latency &rx_;
	Latency &stack_;
	HostCpu::Thread softirq_;
	TimePs in_ = 0;
	std::int64_t sent_ = 0; // with a cost: from then on all go the same way, in order
};

/// The window over time, thinned out: at most kPoints of it, at equal distances.
class TcpSeries
{
public:
	static constexpr std::size_t kPoints = 1024;

	struct Point {
		TimePs at;
		std::int64_t cwnd;
		std::int64_t ssthresh; // INT64_MAX: none yet
	};

	void Add(TimePs now, const TcpWindow &window)
	{
		if (now < next_)
			return;
		if (points_.size() == kPoints)
			Thin();
		points_.push_back({ now, window.cwnd, window.ssthresh });
		next_ = now + step_;
	}
	const std::vector<Point> &Points() const { return points_; }

private:
	void Thin()
	{
		for (std::size_t i = 0; i < kPoints / 2; i++)
			points_[i] = points_[2 * i];
		points_.resize(kPoints / 2);
		step_ *= 2;
	}

	std::vector<Point> points_;
	TimePs step_ = kPsPerNs * 1'000'000;
	TimePs next_ = 0;
};

class TcpListener;

class TcpTalker final : public Application, public Receiver
{
public:
	/// \param flow  of its data
	TcpTalker(World &world, Host &host, FlowId flow, const LoadSpec &spec);

	void Answers(TcpListener &listener) { listener_ = &listener; }
	const TcpSegment *Take(std::int64_t seq) { return sent_.Take(seq); }
	const TcpSender &Machine() const { return sender_; }
	const TcpSeries &Series() const { return series_; }

	void Start() override { world_.events.Push(start_, timer_event_); }
	void OnOutcome(const TxFrame &frame, kpn_verdict verdict) override;
	void OnReceive(NodeId node, const Packet &packet) override;

private:
	void OnTimer(TimePs, std::uint64_t);
	void OnAck(TimePs, std::uint64_t);
	void OnRoom(TimePs, std::uint64_t);
	void OnThrough(TimePs, std::uint64_t frame);
	void Handle(std::int64_t seq);
	void Drain();
	void SetTimer();
	bool Throttled() const;

	World &world_;
	TcpHost host_;
	FlowId flow_;
	TimePs start_;
	TcpSender sender_;
	TcpListener *listener_ = nullptr;
	TcpLetters<TcpSegment> sent_;
	TcpSeries series_;
	std::int64_t with_driver_ = 0; // frames that have not ended
	bool throttled_ = false;
	std::optional<TcpSegment> passing_; // through the stack, where frames are refused
	bool refused_ = false;              // it was
	MemberEvent<&TcpTalker::OnThrough> through_event_{ *this };
	MemberEvent<&TcpTalker::OnTimer> timer_event_{ *this };
	MemberEvent<&TcpTalker::OnAck> ack_event_{ *this };
	MemberEvent<&TcpTalker::OnRoom> room_event_{ *this };
	TcpTimer timer_;
};

class TcpListener final : public Application, public Receiver
{
public:
	/// \param flow  of its ACKs
	TcpListener(World &world, Host &host, FlowId flow, const LoadSpec &spec, TcpTalker &talker);

	const TcpAck *Take(std::int64_t seq) { return sent_.Take(seq); }
	const TcpReceiver &Machine() const { return receiver_; }
	/// Bytes that came to the application in the window of the run.
	std::int64_t WindowBytes() const { return window_bytes_; }

	void OnReceive(NodeId node, const Packet &packet) override;

private:
	void OnTimer(TimePs, std::uint64_t);
	void OnSegment(TimePs, std::uint64_t);
	void Handle(std::int64_t seq);
	void Answer();

	World &world_;
	TcpHost host_;
	FlowId flow_;
	TcpReceiver receiver_;
	TcpTalker &talker_;
	TcpLetters<TcpAck> sent_;
	std::int64_t window_bytes_ = 0;
	MemberEvent<&TcpListener::OnTimer> timer_event_{ *this };
	MemberEvent<&TcpListener::OnSegment> segment_event_{ *this };
	TcpTimer timer_;
};

} // namespace keepon::sim
