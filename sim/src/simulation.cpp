// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/simulation.hpp"

#include <algorithm>
#include <limits>

namespace keepon::sim
{

namespace
{

/// Events between two calls of `breathe`: about a millisecond.
constexpr std::uint32_t kBreathEvents = 8192;

} // namespace

Simulation::Simulation(std::uint64_t seed, std::int64_t epoch_ns)
{
	if (epoch_ns < 0 || epoch_ns > 4'000'000'000 * kNsPerS)
		throw ValueError("epoch_ns = " + std::to_string(epoch_ns) +
				 " is not within 0 to 4e18");
	world_.seed = seed;
	world_.epoch_ns = epoch_ns;
	world_.arrivals = &arrive_;
}

void Simulation::Start()
{
	for (const Node &node : nodes_) {
		const bool ptp = (node.station && node.station->Clock()) ||
				 (node.bridge && node.bridge->Clock());
		if (ptp && !ptp_)
			throw ValueError(
				Quoted(node.name) +
				": sync \"ptp\" needs a grandmaster: call set_sync() first");
	}
	for (const Flow &flow : world_.flows) {
		if (!flow.source)
			throw ValueError("flow " + Quoted(flow.id) +
					 ": nobody makes its frames: call SetSource() first");
	}
	started_ = true;
	if (ptp_)
		ptp_->Start();
	for (const Node &node : nodes_) {
		if (node.station)
			node.station->Start();
	}
	for (std::size_t i = 0; i < faults_.size(); i++)
		world_.events.Push(faults_[i].at_ns * kPsPerNs, fault_, i);
}

void Simulation::Run(std::int64_t until_ns, const std::function<void()> &breathe)
{
	if (until_ns < NowNs() ||
	    until_ns > std::numeric_limits<std::int64_t>::max() / kPsPerNs / 2)
		throw ValueError("until_ns = " + std::to_string(until_ns) +
				 " is not within now_ns = " + std::to_string(NowNs()) +
				 " to 4.6e15");
	const TimePs until = until_ns * kPsPerNs;
	world_.foreseen = until;
	for (const Node &node : nodes_) {
		for (std::uint32_t port = 0; node.station && port < node.station->Ports(); port++)
			node.station->PortAt(port).Tx().Foresee(until);
	}
	if (!started_)
		Start();
	std::uint32_t left = kBreathEvents;
	while (!world_.events.Empty() && world_.events.Top().time <= until) {
		const Event event = world_.events.Pop();
		world_.now = event.time;
		event.handler->Handle(event.time, event.argument);
		if (--left == 0) {
			left = kBreathEvents;
			Settle(world_.now);
			breathe();
		}
	}
	world_.now = until;
	Settle(until + 1);
}

void Simulation::OnArrive(TimePs, std::uint64_t arrival)
{
	Arrive(static_cast<std::uint32_t>(arrival >> 32), static_cast<std::uint32_t>(arrival));
}

void Simulation::Settle(TimePs until)
{
	const TimePs now = world_.now;
	for (std::uint32_t end = 0; end < world_.ends.size(); end++) {
		Fifo<Arrival> &quiet = world_.ends[end].quiet;
		while (!quiet.Empty() && quiet.Front().at < until) {
			const Arrival arrival = quiet.Pop();
			world_.now = arrival.at;
			Arrive(end, arrival.packet);
		}
	}
	world_.now = now;
}

void Simulation::Arrive(std::uint32_t end_index, std::uint32_t index)
{
	LinkEnd &end = world_.ends[end_index];
	Packet &packet = world_.packets[index];
	packet.port = static_cast<std::uint16_t>(end.port);
	const TimePs sent = packet.sfd_ps - world_.ends[end.peer].propagation_ps;
	const TimePs complete = world_.now - end.receive_ps;
	Node &node = nodes_[end.node];
	if (sent < end.up_ps && complete > end.down_ps) {
		world_.Lose(end.node, packet.flow, packet.seq, end.cut_place, packet.listeners);
		world_.packets.Free(index);
		return;
	}
	bool is_lost = false;
	for (int left = packet.mpackets; end.loss > 0 && left > 0 && !is_lost; left--)
		is_lost = end.loss_rng->Unit() < end.loss;
	if (is_lost) {
		world_.Lose(end.node, packet.flow, packet.seq, end.loss_place, packet.listeners);
		world_.packets.Free(index);
		return;
	}
	end.frames++;
	world_.capture.Add(
		{ packet.sfd_ps, packet.seq, packet.flow, end.node, packet.frame_bytes, false });
	if (node.bridge)
		node.bridge->OnArrive(index);
	else
		node.station->PortAt(end.port).OnArrive(index);
}

void Simulation::OnFault(TimePs, std::uint64_t index)
{
	const FaultSpec &fault = faults_[index];
	Settle(world_.now + 1); // what has arrived did so without it
	Registry<FaultKind>::Find(fault.kind)->strike(TargetOf(fault), fault);
}

const Flow &Simulation::FlowAt(FlowId flow, bool stream) const
{
	const FlowKind kind = stream ? FlowKind::kStream : FlowKind::kLoad;
	if (flow >= world_.flows.size() || world_.flows[flow].kind != kind)
		throw ValueError(std::string(stream ? "stream" : "load") + " = " +
				 std::to_string(flow) + " does not exist");
	return world_.flows[flow];
}

const TcpConnection *Simulation::TcpOf(FlowId flow) const
{
	const auto found = tcp_.find(flow);
	return found == tcp_.end() ? nullptr : &found->second;
}

std::int64_t Simulation::PendingOf(FlowId flow) const
{
	const Node &talker = nodes_[world_.flows[flow].talker];
	return talker.station ? talker.station->PendingOf(flow) : 0; // bridges send at once
}

Station &Simulation::StationAt(NodeId node)
{
	if (!NodeAt(node, "station").station)
		throw ValueError("node " + Quoted(nodes_[node].name) +
				 " is no station with a link");
	return *nodes_[node].station;
}

const Bridge &Simulation::BridgeAt(NodeId node) const
{
	if (!NodeAt(node, "bridge").bridge)
		throw ValueError("node " + Quoted(nodes_[node].name) + " is no bridge");
	return *nodes_[node].bridge;
}

std::int64_t Simulation::PlaceholdersAt(std::uint32_t end) const
{
	const LinkEnd &peer = world_.ends[world_.ends[end].peer];
	const Node &node = nodes_[peer.node];
	return node.station ? node.station->PortAt(peer.port).Tx().Placeholders() : 0;
}

} // namespace keepon::sim
