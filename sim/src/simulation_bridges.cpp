// SPDX-License-Identifier: BSD-3-Clause
// What the bridges of a simulation do, before the start: gates, shapers, schedulers, preemption and
// policing, each checked.
#include <string>
#include <vector>

#include "keepon/sim/simulation.hpp"

namespace keepon::sim
{

std::uint32_t Simulation::PortOf(NodeId bridge, NodeId peer, const std::string &what) const
{
	CheckBuilding();
	const Node &node = NodeAt(bridge, "bridge");
	NodeAt(peer % kCable, "peer");
	if (!node.bridge)
		throw ValueError(what + " on " + Quoted(node.name) + ": it is no bridge");
	const int port = node.bridge->PortTo(peer);
	if (port < 0)
		throw ValueError(what + " of " + Quoted(node.name) + " towards " +
				 Quoted(Called(peer)) + ": there is no such link");
	return static_cast<std::uint32_t>(port);
}

void Simulation::SetGates(NodeId bridge, NodeId peer, std::int64_t base_ns,
			  const std::vector<GateEntry> &entries)
{
	const std::uint32_t port = PortOf(bridge, peer, "gates");
	const Node &node = nodes_[bridge];
	if (entries.empty() || entries.size() > 4096)
		throw ValueError("gates of " + Quoted(node.name) + ": " +
				 std::to_string(entries.size()) + " entries, not within 1 to 4096");
	std::int64_t cycle_ns = 0;
	for (const GateEntry &entry : entries) {
		if (entry.ns <= 0 || entry.ns > 100 * kNsPerS)
			throw ValueError("gates of " + Quoted(node.name) + ": interval " +
					 std::to_string(entry.ns) + " ns is not within 1 to 1e11");
		if (entry.mask > (GateEntry::kHold | 0xff))
			throw ValueError("gates of " + Quoted(node.name) + ": mask " +
					 std::to_string(entry.mask) + " is not within 0 to 511");
		cycle_ns += entry.ns;
	}
	if (cycle_ns > 100 * kNsPerS)
		throw ValueError("gates of " + Quoted(node.name) + ": cycle " +
				 std::to_string(cycle_ns) + " ns is above 1e11");
	if (base_ns < 0)
		throw ValueError("base_ns = " + std::to_string(base_ns) + " is negative");
	node.bridge->SetGates(port, base_ns, entries);
}

std::uint32_t Simulation::QueuedPortOf(NodeId bridge, NodeId peer, int queue) const
{
	const std::uint32_t port = PortOf(bridge, peer, "shaper");
	if (queue < 0 || queue >= EgressPort::kQueues)
		throw ValueError("shaper of " + Quoted(nodes_[bridge].name) + " towards " +
				 Quoted(Called(peer)) + ": queue " + std::to_string(queue) +
				 " is not within 0 to 7");
	return port;
}

void Simulation::SetShaper(NodeId bridge, NodeId peer, int queue, std::int64_t idle_slope_bps)
{
	nodes_[bridge].bridge->SetShaper(QueuedPortOf(bridge, peer, queue), queue, idle_slope_bps);
}

void Simulation::SetAsynchronous(NodeId bridge, NodeId peer, int queue)
{
	nodes_[bridge].bridge->SetAsynchronous(QueuedPortOf(bridge, peer, queue), queue);
}

void Simulation::AddScheduler(NodeId bridge, const AtsSpec &spec)
{
	CheckBuilding();
	const Node &node = NodeAt(bridge, "bridge");
	std::vector<std::uint32_t> streams;
	for (const FlowId flow : spec.flows) {
		if (!node.bridge || flow >= world_.flows.size())
			throw ValueError("scheduler at " + Quoted(node.name) +
					 ": it is no bridge, or flow " + std::to_string(flow) +
					 " does not exist");
		streams.push_back(node.bridge->Ingress().StreamOf(world_.flows[flow].header));
	}
	if (!streams.empty())
		node.bridge->Schedulers().Add(streams, spec);
}

void Simulation::SetPreemption(NodeId bridge, NodeId peer, std::int64_t queues,
			       std::int64_t min_fragment_bytes)
{
	const std::uint32_t port = PortOf(bridge, peer, "preemption");
	const Node &node = nodes_[bridge];
	if (queues < 1 || queues > 254)
		throw ValueError("preemption of " + Quoted(node.name) + ": preemptable queues " +
				 std::to_string(queues) +
				 " are not within 1 to 254: some, and not all");
	if (min_fragment_bytes < 64 || min_fragment_bytes > 256 || min_fragment_bytes % 64)
		throw ValueError("preemption of " + Quoted(node.name) +
				 ": min_fragment_bytes = " + std::to_string(min_fragment_bytes) +
				 " is not 64, 128, 192 or 256");
	node.bridge->SetPreemption(port, MacMerge(static_cast<std::uint32_t>(queues),
						  static_cast<std::uint32_t>(min_fragment_bytes)));
}

void Simulation::SetPsfp(NodeId bridge, const PsfpSpec &spec)
{
	CheckBuilding();
	const Node &node = NodeAt(bridge, "bridge");
	const auto refuse = [&](const std::string &problem) {
		throw ValueError("policing of " + Quoted(node.name) + ": " + problem);
	};
	if (!node.bridge)
		refuse("it is no bridge");
	if (node.bridge->Policing())
		refuse("it has one already");
	for (const StreamGateSpec &gate : spec.gates) {
		std::int64_t cycle_ns = 0;
		for (const StreamGateEntry &entry : gate.entries)
			cycle_ns += entry.ns;
		if (cycle_ns <= 0 || cycle_ns > 100 * kNsPerS)
			refuse("cycle " + std::to_string(cycle_ns) + " ns of stream gate " +
			       Quoted(gate.name) + " is not within 1 to 1e11");
	}
	std::vector<std::vector<std::uint32_t>> streams;
	for (const StreamFilterSpec &filter : spec.filters) {
		if (filter.gate >= static_cast<int>(spec.gates.size()) ||
		    filter.meter >= static_cast<int>(spec.meters.size()))
			refuse("a filter has gate " + std::to_string(filter.gate) + " and meter " +
			       std::to_string(filter.meter) + ", which there are not");
		auto &handles = streams.emplace_back();
		for (const FlowId flow : filter.flows) {
			if (flow >= world_.flows.size())
				refuse("flow " + std::to_string(flow) + " does not exist");
			handles.push_back(
				node.bridge->Ingress().StreamOf(world_.flows[flow].header));
		}
	}
	node.bridge->SetPsfp(spec, streams);
}

} // namespace keepon::sim
