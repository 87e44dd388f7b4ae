// SPDX-License-Identifier: BSD-3-Clause
// Two TCP machines and what is between them, for tests: a channel that loses, delays, reorders and
// duplicates at random, and beside it a slow account of what each end may know, kept by single
// segments.
#pragma once

#include <map>
#include <set>
#include <string>

#include "checks.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/tcp_receiver.hpp"
#include "keepon/sim/tcp_sender.hpp"

namespace keepon::sim::test
{

struct ChannelSpec {
	double loss = 0;
	double duplication = 0;
	double reordering = 0; // share of segments that take up to twice as long
	TimePs delay_ps = 5'000'000'000;
	double refused = 0;   // of the sender's attempts, by its own host
	TimePs serial_ps = 0; // from one segment to the next, as on a wire
};

class TcpChannel
{
public:
	TcpChannel(Checks &checks, const ChannelSpec &spec, const TcpSenderSpec &sender,
		   std::uint64_t seed)
		: checks_(checks), spec_(spec), sender_spec_(sender), sender_(sender),
		  receiver_(Receiving(sender)), rng_(seed, "channel", "all")
	{
	}

	/// Runs until everything is acknowledged, nothing can happen or \p until is past.
	void Run(TimePs until);

	TcpSender &Sender() { return sender_; }
	const TcpReceiver &Receiver() const { return receiver_; }
	TimePs Now() const { return now_; }

private:
	struct Arrival {
		bool is_ack = false;
		TcpSegment segment;
		TcpAck ack;
	};

	static TcpReceiverSpec Receiving(const TcpSenderSpec &sender)
	{
		TcpReceiverSpec spec;
		spec.sack = sender.sack;
		spec.mss = sender.mss;
		spec.timers = sender.timers;
		return spec;
	}

	void Drain();
	void Put(const Arrival &arrival);
	void OnSegment(const TcpSegment &segment);
	void OnAck(const TcpAck &ack);
	void CheckAck(const TcpAck &ack, std::int64_t recent);
	void CheckBoard();
	void CheckWindow(const TcpWindow &before, TcpState state, std::int64_t una,
			 const TcpSenderCounts &counts, std::int64_t delivered);

	Checks &checks_;
	ChannelSpec spec_;
	TcpSenderSpec sender_spec_;
	TcpSender sender_;
	TcpReceiver receiver_;
	Rng rng_;
	TimePs now_ = 0;
	TimePs wire_free_ = 0;
	std::multimap<TimePs, Arrival> under_way_;
	// the slow account: left edges of segments
	std::set<std::int64_t> sent_;
	std::set<std::int64_t> arrived_;
	std::set<std::int64_t> reported_; // to the sender, by ACKs that came
	std::int64_t acked_ = 0;          // the highest SEG.ACK that came
};

} // namespace keepon::sim::test
