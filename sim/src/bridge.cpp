// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/bridge.hpp"

#include <algorithm>
#include <utility>

namespace keepon::sim
{

void PacketFifo::Grow()
{
	std::vector<std::uint32_t> larger(items_.size() * 2);
	for (std::size_t i = 0; i < count_; i++)
		larger[i] = items_[(first_ + i) & (items_.size() - 1)];
	items_ = std::move(larger);
	first_ = 0;
}

Bridge::Bridge(World &world, NodeId node, std::string name, const BridgeSpec &spec)
	: world_(world), node_(node), name_(std::move(name)), spec_(spec),
	  oscillator_(spec.ppm, spec.wander_ppb_per_s, spec.wander_ppb,
		      Rng(world.seed, name_, "oscillator"))
{
	if (spec.ptp)
		clock_ = std::make_unique<BridgeClock>(oscillator_, spec.stamp_resolution_ns);
}

std::uint32_t Bridge::AddPort(std::uint32_t end, NodeId peer, const std::string &peer_name)
{
	Port port;
	port.end = end;
	port.peer = peer;
	port.queue_place = world_.Place(name_ + " queue to " + peer_name);
	port.gate_place = world_.Place(name_ + " gate to " + peer_name);
	ports_.push_back(std::move(port));
	return static_cast<std::uint32_t>(ports_.size() - 1);
}

int Bridge::PortTo(NodeId peer) const
{
	for (std::size_t i = 0; i < ports_.size(); i++) {
		if (ports_[i].peer == peer)
			return static_cast<int>(i);
	}
	return -1;
}

void Bridge::SetGates(std::uint32_t port, std::int64_t base_ns,
		      const std::vector<GateEntry> &entries)
{
	std::int64_t cycle_ns = 0;
	for (const GateEntry &entry : entries)
		cycle_ns += entry.ns;
	if (cycle_ns <= 0)
		throw ValueError(name_ + ": a gate list needs a cycle longer than 0");
	ports_[port].gates =
		Gates(FloorMod(base_ns - world_.epoch_ns, cycle_ns) * kPsPerNs, entries);
}

void Bridge::AddRoute(FlowId flow, std::uint32_t port)
{
	if (exits_.size() <= flow)
		exits_.resize(flow + 1);
	for (Exit &exit : exits_[flow]) {
		if (exit.port == port) {
			exit.listeners++;
			return;
		}
	}
	exits_[flow].push_back({ static_cast<std::uint16_t>(port), 1 });
}

void Bridge::OnArrive(std::uint32_t packet)
{
	const Packet arrived = world_.packets[packet];
	const auto &exits = exits_[arrived.flow];
	for (std::size_t i = 0; i < exits.size(); i++) {
		const std::uint32_t copy = i == 0 ? packet : world_.packets.Add(arrived);
		world_.packets[copy].listeners = exits[i].listeners;
		Enqueue(ports_[exits[i].port], copy);
	}
}

void Bridge::SendOwn(FlowId flow_id, std::int64_t seq, std::uint32_t port)
{
	Flow &flow = world_.flows[flow_id];
	Packet packet;
	packet.seq = seq;
	packet.flow = flow_id;
	packet.frame_bytes = flow.frame_bytes;
	packet.listeners = 1;
	// Once queued it is on its way: what ends it from now on is a loss, not a verdict.
	flow.on_wire++;
	flow.verdicts[KPN_VERDICT_BEST_EFFORT]++;
	world_.trace.Add(TraceKind::kSubmit, node_, flow_id, seq, world_.now);
	Enqueue(ports_[port], world_.packets.Add(packet));
}

void Bridge::OnClockSet()
{
	for (Port &port : ports_) {
		if (port.waiting)
			Service(port);
	}
}

void Bridge::Enqueue(Port &port, std::uint32_t packet)
{
	const Packet &frame = world_.packets[packet];
	PacketFifo &queue = port.queues[world_.flows[frame.flow].queue];
	if (queue.Count() >= spec_.queue_frames) {
		port.queue_drops++;
		world_.Lose(node_, frame.flow, frame.seq, port.queue_place, frame.listeners);
		world_.packets.Free(packet);
		return;
	}
	queue.Push(packet);
	port.waiting++;
	port.waiting_max = std::max(port.waiting_max, port.waiting);
	Service(port);
}

void Bridge::Schedule(Port &port, TimePs time)
{
	if (time >= port.service_at)
		return;
	port.service_at = time;
	world_.events.Push(time, service_, static_cast<std::uint64_t>(&port - ports_.data()));
}

void Bridge::OnService(TimePs time, std::uint64_t port)
{
	if (ports_[port].service_at != time)
		return; // an earlier one was scheduled since and has done the work
	ports_[port].service_at = kNever;
	Service(ports_[port]);
}

void Bridge::Service(Port &port)
{
	const TimePs now = world_.now;
	if (port.waiting == 0)
		return;
	if (now < port.busy_until) {
		Schedule(port, port.busy_until);
		return;
	}
	const std::uint32_t byte_time_ps = world_.ends[port.end].byte_time_ps;
	const std::int64_t local = GateTime(now);
	std::int64_t earliest = kNever;
	for (int q = 7; q >= 0; q--) {
		PacketFifo &queue = port.queues[q];
		while (!queue.Empty()) {
			const Packet &frame = world_.packets[queue.Front()];
			const std::int64_t duration =
				static_cast<std::int64_t>(KPN_PREAMBLE_BYTES + frame.frame_bytes) *
				byte_time_ps;
			const std::int64_t start = port.gates.EarliestStart(q, local, duration);
			if (start == local) {
				port.waiting--;
				Transmit(port, queue.Pop());
				return;
			}
			if (start != kNever) {
				earliest = std::min(earliest, start);
				break;
			}
			/*
			 * No window of its gate is long enough: it would block its queue for ever.
			 */
			port.gate_drops++;
			world_.Lose(node_, frame.flow, frame.seq, port.gate_place, frame.listeners);
			port.waiting--;
			world_.packets.Free(queue.Pop());
		}
	}
	if (earliest != kNever)
		Schedule(port, std::max(TrueOfGate(earliest), now + 1));
}

void Bridge::Transmit(Port &port, std::uint32_t packet)
{
	const Packet &frame = world_.packets[packet];
	const TimePs now = world_.now;
	const std::int64_t byte_time_ps = world_.ends[port.end].byte_time_ps;
	const std::int64_t local = oscillator_.Local(now);
	const TimePs sfd = oscillator_.TrueOf(local + KPN_PREAMBLE_BYTES * byte_time_ps);
	const std::int64_t last_bit =
		local + (KPN_PREAMBLE_BYTES + frame.frame_bytes) * byte_time_ps;

	port.busy_until = oscillator_.TrueOf(last_bit + KPN_GAP_BYTES * byte_time_ps);
	port.forwarded++;
	port.forwarded_bytes += frame.frame_bytes;
	world_.trace.Add(TraceKind::kForward, node_, frame.flow, frame.seq, sfd);
	if (world_.flows[frame.flow].is_ptp && world_.flows[frame.flow].talker == node_)
		world_.ptp->OnWire(frame.flow, frame.seq, sfd, oscillator_.TrueOf(last_bit));
	world_.Send(port.end, packet, sfd, oscillator_.TrueOf(last_bit));
	if (port.waiting)
		Schedule(port, port.busy_until);
}

} // namespace keepon::sim
