// SPDX-License-Identifier: BSD-3-Clause
// What all components share: events, trace, flows, packets under way and the links between nodes.
// No component sees another one through it; they meet at link ends and events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keepon/sim/capture.hpp"
#include "keepon/sim/core.hpp"
#include "keepon/sim/event_queue.hpp"
#include "keepon/sim/fifo.hpp"
#include "keepon/sim/flow.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/trace.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// A frame between two nodes. sfd_ps: its reference plane at the receiving end of the link it is
/// on.
struct Packet {
	std::int64_t seq = 0;
	TimePs sfd_ps = 0;
	FrameHeader header; // as it is on the wire, torn or not
	// For accounting; nobody on the way looks at it.
	FlowId flow = 0;
	std::uint32_t frame_bytes = 0; // on the wire, padding to the slot included
	std::uint16_t listeners = 0;   // still to be reached by this copy
	std::uint16_t mpackets = 1;    // on the link it is on: each can be lost
	bool torn = false;
	bool wrong_bytes = false;
	std::uint16_t port = 0; // of the bridge or listener that it came in by
};

/// Packets by index; freed ones are used again, so a steady network allocates nothing.
class PacketPool
{
public:
	std::uint32_t Add(const Packet &packet)
	{
		if (free_.empty()) {
			packets_.push_back(packet);
			return static_cast<std::uint32_t>(packets_.size() - 1);
		}
		const std::uint32_t index = free_.back();
		free_.pop_back();
		packets_[index] = packet;
		return index;
	}

	Packet &operator[](std::uint32_t index) { return packets_[index]; }
	void Free(std::uint32_t index) { free_.push_back(index); }
	std::size_t InUse() const { return packets_.size() - free_.size(); }

	/// Deliveries that packets under way can still make, by flow. Counted from the packets
	/// themselves, so that it can be held against the counters of flows.
	std::vector<std::int64_t> UnderWay(std::size_t flows) const
	{
		std::vector<bool> used(packets_.size(), true);
		for (const std::uint32_t index : free_)
			used[index] = false;
		std::vector<std::int64_t> count(flows);
		for (std::size_t i = 0; i < packets_.size(); i++) {
			if (used[i])
				count[packets_[i].flow] += packets_[i].listeners;
		}
		return count;
	}

private:
	std::vector<Packet> packets_;
	std::vector<std::uint32_t> free_;
};

/// A node whose frames are only counted when they arrive, all or some of them.
class Onlooker
{
public:
	/// Whether nothing but accounts and records changes when a frame with \p header arrives.
	virtual bool OnlyCounts(const FrameHeader &header) = 0;

protected:
	~Onlooker() = default;
};

/// A frame that arrives without an event, when its port is read.
struct Arrival {
	TimePs at = 0;
	std::uint32_t packet = 0;
};

/// One end of a link: where frames for its node arrive, and what it takes to send to the other end.
struct LinkEnd {
	NodeId node = 0;
	NodeId called = 0;      // what its peer calls the node (kCable)
	std::uint32_t port = 0; // of its node
	std::uint32_t peer = 0; // index of the other end
	std::uint32_t byte_time_ps = 0;
	TimePs propagation_ps = 0;
	TimePs receive_ps =
		0; // from a complete frame at the node to its handling there (bridge: processing)
	TimePs down_ps =
		kNever; // last interruption of the link: frames on it between these times are cut
	TimePs up_ps = kNever;
	std::uint32_t cut_place = 0;
	std::int64_t frames = 0;      // good ones that arrived here
	Onlooker *onlooker = nullptr; // NULL: every arrival is an event
	Fifo<Arrival> quiet;          // arrivals without one, in order of time as on any wire
	std::uint32_t loss_place = 0;
	double loss = 0; // probability that a frame does not arrive here
	std::optional<Rng> loss_rng;
};

struct World {
	std::uint64_t seed = 0;
	std::int64_t epoch_ns = 0;
	TimePs now = 0;
	bool ahead = false;  // within Ahead(): others have not done yet what they do until now
	TimePs foreseen = 0; // nobody looks before; what is done ahead of time is done until then
	TimePs window_start = 0; // rates are measured in [start, end)
	TimePs window_end = kNever;
	EventQueue events;
	Trace trace;
	Capture capture;
	PacketPool packets;
	std::vector<Flow> flows;
	std::vector<LinkEnd> ends;
	std::vector<std::string> places;  // where frames can be lost
	EventHandler *arrivals = nullptr; // of packets at link ends, see Arrival()

	std::uint32_t Place(const std::string &name)
	{
		for (std::uint32_t i = 0; i < places.size(); i++) {
			if (places[i] == name)
				return i;
		}
		places.push_back(name);
		return static_cast<std::uint32_t>(places.size() - 1);
	}

	/// Do now what will come to pass at \p at, not in the past.
	template <class What>
	void Ahead(TimePs at, What what)
	{
		const TimePs before = std::exchange(now, at);
		const bool was_ahead = std::exchange(ahead, true);
		what();
		now = before;
		ahead = was_ahead;
	}

	bool InWindow(TimePs t) const { return t >= window_start && t < window_end; }

	/// \p count deliveries of a frame of \p flow ended at \p place.
	void Lose(NodeId node, FlowId flow, std::int64_t seq, std::uint32_t place,
		  std::int64_t count)
	{
		auto &lost = flows[flow].lost;
		if (lost.size() <= place)
			lost.resize(place + 1);
		lost[place] += count;
		trace.Add(TraceKind::kLose, node, flow, seq, now);
	}

	/// \p packet came to the listener of its flow that is number \p listener.
	void Deliver(NodeId node, const Packet &packet, std::size_t listener)
	{
		Flow &flow = flows[packet.flow];
		flow.delivered[listener]++;
		flow.delivered_bytes += flow.frame_bytes;
		if (InWindow(packet.sfd_ps))
			flow.window_delivered_bytes += flow.frame_bytes;
		flow.torn += packet.torn;
		flow.wrong_bytes += packet.wrong_bytes;
		trace.Add(TraceKind::kDeliver, node, packet.flow, packet.seq, packet.sfd_ps);
	}

	/// Put a packet on the wire at \p end. \p sfd_ps, \p complete_ps: reference plane and last
	/// bit at the sender.
	void Send(std::uint32_t end, std::uint32_t packet, TimePs sfd_ps, TimePs complete_ps)
	{
		const LinkEnd &from = ends[end];
		LinkEnd &to = ends[from.peer];
		const Packet &frame = packets[packet];
		capture.Add({ sfd_ps, frame.seq, frame.flow, from.node, frame.frame_bytes, true });
		packets[packet].sfd_ps = sfd_ps + from.propagation_ps;
		const TimePs at = complete_ps + from.propagation_ps + to.receive_ps;
		// What is captured stands in the order of events. Of packets that arrive at one
		// instant that at the link end made last is the first.
		if (to.onlooker && !capture.Wanted() && to.onlooker->OnlyCounts(frame.header))
			to.quiet.Push({ at, packet });
		else
			events.PushRanked(at, *arrivals, std::uint64_t{ from.peer } << 32 | packet,
					  ~from.peer);
	}
};

} // namespace keepon::sim
