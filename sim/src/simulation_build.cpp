// SPDX-License-Identifier: BSD-3-Clause
// Simulation before the start: nodes, links, streams, loads and faults, each checked;
// simulation_bridges.cpp has what bridges do with them.
#include "keepon/sim/simulation.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "keepon/sim/leaf_kind.hpp"
#include "keepon/sim/load.hpp"
#include "keepon/sim/release_kind.hpp"
#include "keepon/sim/stream_talker.hpp"
#include "keepon/sim/sync.hpp"

namespace keepon::sim
{

namespace
{

constexpr std::size_t kNodesMax = 4096;

template <class Kind>
void CheckKind(const std::string &station, const char *key, const std::string &value)
{
	if (!Registry<Kind>::Find(value))
		throw ValueError("station " + Quoted(station) + ": " + key + " = " + Quoted(value) +
				 " is not one of " + Registry<Kind>::Names());
}

/// Checks what must fit together, and fills in what follows.
void Complete(const std::string &station, std::optional<QdiscSpec> &qdisc)
{
	if (!qdisc)
		return;
	const auto refuse = [&](const std::string &problem) {
		throw ValueError("station " + Quoted(station) + ": qdisc: " + problem);
	};
	for (const LeafSpec &leaf : qdisc->leaves) {
		CheckKind<LeafKind>(station, "kind of a qdisc", leaf.kind);
		if (leaf.rate_bps && !kpn_byte_time_ps(leaf.rate_bps))
			refuse("rate_bps = " + std::to_string(leaf.rate_bps) +
			       " is not 0 or the rate of an Ethernet");
	}
	if (qdisc->queue_of_class.size() != KPN_CLASS_COUNT)
		refuse("queues has not 16 entries, the queue of each class");
	if (!qdisc->taprio)
		return;
	TaprioSpec &taprio = *qdisc->taprio;
	std::int64_t total_ns = 0;
	for (const GateWindow &window : taprio.windows)
		total_ns += window.ns;
	taprio.cycle_ns = taprio.cycle_ns ? taprio.cycle_ns : total_ns;
	if (taprio.windows.empty() || taprio.cycle_ns < total_ns)
		refuse("cycle_ns = " + std::to_string(taprio.cycle_ns) + " is not within " +
		       std::to_string(std::max<std::int64_t>(total_ns, 1)) + " to 2^61");
}

void Complete(const std::string &station, NicSpec &nic)
{
	const auto complete = [&](const char *key, std::int64_t &value, std::int64_t min,
				  std::int64_t otherwise) {
		if (value < 0)
			value = std::max(min, otherwise);
		if (value < min)
			throw ValueError("station " + Quoted(station) + ": nic: " + key + " = " +
					 std::to_string(value) + " is below " +
					 std::to_string(min));
	};
	complete("index_lag_ns_max", nic.index_lag_ns_max, nic.index_lag_ns_min, 0);
	complete("rx_lag_ns_max", nic.rx_lag_ns_max, nic.rx_lag_ns_min, 500);
	complete("fetch_ns_max", nic.fetch_ns_max, nic.fetch_ns, 0);
	complete("restart_ns", nic.restart_ns, nic.fetch_ns, 2000);
	complete("restart_ns_max", nic.restart_ns_max, nic.restart_ns, 0);
}

} // namespace

void Simulation::CheckBuilding() const
{
	if (started_)
		throw ValueError(
			"the simulation has started: build the network before the first run()");
}

void Simulation::CheckNew(const std::string &name) const
{
	CheckBuilding();
	if (name.empty())
		throw ValueError("name is empty: every node needs one");
	if (nodes_.size() >= kNodesMax)
		throw ValueError("more than " + std::to_string(kNodesMax) + " nodes");
	for (const Node &node : nodes_) {
		if (node.name == name)
			throw ValueError("name = " + Quoted(name) +
					 " is taken: node names are unique");
	}
}

const Simulation::Node &Simulation::NodeAt(NodeId node, const char *key) const
{
	if (node >= nodes_.size())
		throw ValueError(std::string(key) + " = " + std::to_string(node) +
				 " is no node: there are " + std::to_string(nodes_.size()));
	return nodes_[node];
}

NodeId Simulation::AddStation(const std::string &name, StationSpec spec)
{
	CheckNew(name);
	CheckKind<TransmitterKind>(name, "driver", spec.driver);
	CheckKind<ReleaseKind>(name, "release", spec.release);
	CheckKind<SyncKind>(name, "sync", spec.sync);
	Complete(name, spec.qdisc);
	Complete(name, spec.nic);
	for (PortSpec &port : spec.ports) {
		Complete(name, port.qdisc);
		if (port.nic)
			Complete(name, *port.nic);
	}
	Node &node = nodes_.emplace_back();
	node.name = name;
	node.station_spec = std::move(spec);
	return static_cast<NodeId>(nodes_.size() - 1);
}

/// A guest's are those of its host.
std::shared_ptr<HostCpu> Simulation::CpuOf(NodeId node)
{
	const StationSpec &spec = *nodes_[node].station_spec;
	const bool guest = spec.guest.host >= 0;
	const NodeId host = guest ? static_cast<NodeId>(spec.guest.host) : node;
	if (host >= nodes_.size() || !nodes_[host].station_spec)
		throw ValueError("host = " + std::to_string(host) + " of station " +
				 Quoted(nodes_[node].name) + " is no station");
	auto &cpu = nodes_[host].cpu;
	if (!cpu)
		cpu = std::make_shared<HostCpu>(world_.events, world_.now,
						nodes_[host].station_spec->cpu.cores);
	return cpu;
}

NodeId Simulation::AddBridge(const std::string &name, const BridgeSpec &spec)
{
	CheckNew(name);
	const auto id = static_cast<NodeId>(nodes_.size());
	auto bridge = std::make_unique<Bridge>(world_, id, name, spec);
	Node &node = nodes_.emplace_back();
	node.name = name;
	node.bridge = std::move(bridge);
	return id;
}

void Simulation::AddLink(NodeId a, NodeId b, std::int64_t rate_bps, std::int64_t propagation_ns,
			 std::int64_t asymmetry_ns)
{
	CheckBuilding();
	if (ptp_)
		throw ValueError("set_sync() was called: add all links before it");
	NodeAt(a, "link end a");
	NodeAt(b, "link end b");
	if (a == b)
		throw ValueError("link of " + Quoted(nodes_[a].name) +
				 " with itself: a link has two ends");
	NodeId before = 0; // links that the two have
	while (Linked(a, b + before * kCable))
		before++;
	if (before >= (nodes_[a].bridge && nodes_[b].bridge ? kCablesMax : 1))
		throw ValueError("link of " + Quoted(nodes_[a].name) + " and " +
				 Quoted(nodes_[b].name) + " exists already");
	before *= kCable;
	const std::uint32_t byte_time_ps =
		rate_bps > 0 ? kpn_byte_time_ps(static_cast<std::uint64_t>(rate_bps)) : 0;
	if (!byte_time_ps)
		throw ValueError("rate_bps = " + std::to_string(rate_bps) +
				 " is no Ethernet rate: 10000000 to 100000000000, dividing 8e12");
	if (propagation_ns < 0 || propagation_ns > 10'000'000)
		throw ValueError("propagation_ns = " + std::to_string(propagation_ns) +
				 " is not within 0 to 10000000");
	if (asymmetry_ns < -10'000'000 || asymmetry_ns > 10'000'000)
		throw ValueError("asymmetry_ns = " + std::to_string(asymmetry_ns) +
				 " is not within -10000000 to 10000000");
	const NodeId ids[2] = { a, b };
	const auto first = static_cast<std::uint32_t>(world_.ends.size());
	const std::uint32_t place =
		world_.Place("link " + nodes_[a].name + " - " + Called(b + before));
	for (int i = 0; i < 2; i++) {
		LinkEnd end;
		end.node = ids[i];
		end.called = ids[i] + before;
		if (nodes_[ids[i]].station)
			end.port = nodes_[ids[i]].station->Ports();
		end.peer = first + 1 - static_cast<std::uint32_t>(i);
		end.byte_time_ps = byte_time_ps;
		const std::int64_t longer_ns =
			std::max<std::int64_t>(i == 0 ? asymmetry_ns : -asymmetry_ns, 0);
		end.propagation_ps = (propagation_ns + longer_ns) * kPsPerNs;
		end.cut_place = place;
		if (nodes_[ids[i]].bridge)
			end.receive_ps = nodes_[ids[i]].bridge->Spec().processing_ns * kPsPerNs;
		world_.ends.push_back(end);
	}
	std::unique_ptr<Station> made[2]; // of those whose first link this is
	std::unique_ptr<Port> ports[2];
	try {
		for (std::uint32_t i = 0; i < 2; i++) {
			const Node &node = nodes_[ids[i]];
			if (!node.station_spec)
				continue;
			if (!node.station)
				made[i] = std::make_unique<Station>(world_, ids[i], node.name,
								    *node.station_spec,
								    CpuOf(ids[i]));
			Station &station = made[i] ? *made[i] : *node.station;
			ports[i] =
				station.MakePort(first + i, static_cast<std::uint64_t>(rate_bps));
		}
		for (std::uint32_t i = 0; i < 2; i++) {
			Port *peer = ports[1 - i].get();
			if (ports[i])
				ports[i]->Tx().OnLinked(peer ? &peer->Tx() : nullptr,
							world_.ends[first + 1 - i].propagation_ps);
		}
	} catch (...) {
		world_.ends.resize(first);
		throw;
	}
	for (std::uint32_t i = 0; i < 2; i++) {
		Node &node = nodes_[ids[i]];
		if (made[i])
			node.station = std::move(made[i]);
		if (ports[i])
			node.station->AddPort(std::move(ports[i]));
		else
			world_.ends[first + i].port = node.bridge->AddPort(
				first + i, ids[1 - i] + before, Called(ids[1 - i] + before));
		world_.ends[first + i].onlooker = node.station.get();
	}
}

void Simulation::SetLoss(NodeId a, NodeId b, double probability)
{
	CheckBuilding();
	if (!(probability >= 0 && probability <= 1))
		throw ValueError("loss_probability = " + std::to_string(probability) +
				 " is not within 0 to 1");
	NodeAt(a, "link end a");
	NodeAt(b % kCable, "link end b");
	if (!Linked(a, b))
		throw ValueError("loss between " + Quoted(nodes_[a].name) + " and " +
				 Quoted(Called(b)) + ": there is no such link");
	const std::uint32_t place =
		world_.Place("lossy link " + nodes_[a].name + " - " + Called(b));
	for (LinkEnd &end : world_.ends) {
		const LinkEnd &peer = world_.ends[end.peer];
		if ((end.node != a || peer.called != b) && (end.called != b || peer.node != a))
			continue;
		end.loss = probability;
		end.loss_place = place;
		end.loss_rng.emplace(world_.seed, nodes_[end.node].name,
				     "loss from " + Called(peer.called));
	}
}

bool Simulation::Linked(NodeId a, NodeId b) const
{
	return std::any_of(world_.ends.begin(), world_.ends.end(), [&](const LinkEnd &end) {
		return end.node == a && world_.ends[end.peer].called == b;
	});
}

std::string Simulation::Called(NodeId id) const
{
	const std::string &name = nodes_[id % kCable].name;
	return id < kCable ? name : name + "#" + std::to_string(id / kCable + 1);
}

void Simulation::CheckRoute(const std::string &what, NodeId talker,
			    const std::vector<NodeId> &route, NodeId listener) const
{
	NodeAt(listener, "listener");
	if (!nodes_[listener].station_spec)
		throw ValueError(what + ": listener " + Quoted(nodes_[listener].name) +
				 " is no station");
	if (listener == talker)
		throw ValueError(what + ": talker and listener are both " +
				 Quoted(nodes_[talker].name));
	NodeId at = talker;
	for (std::size_t i = 0; i <= route.size(); i++) {
		const NodeId by = i < route.size() ? route[i] : listener;
		const NodeId next = by % kCable;
		NodeAt(next, "route");
		if (i < route.size() && !nodes_[next].bridge)
			throw ValueError(what + ": route goes through " +
					 Quoted(nodes_[next].name) + ", which is no bridge");
		if (i < route.size() &&
		    std::any_of(route.begin() + static_cast<std::ptrdiff_t>(i) + 1, route.end(),
				[&](NodeId other) { return other % kCable == next; }))
			throw ValueError(what + ": route goes through " +
					 Quoted(nodes_[next].name) + " twice");
		if (!Linked(at, by))
			throw ValueError(what + ": there is no link from " +
					 Quoted(nodes_[at].name) + " to " + Quoted(Called(by)));
		at = next;
	}
}

/// The port of \p talker, a station, that its frames leave by.
std::uint32_t Simulation::PortTowards(NodeId talker, const std::vector<NodeId> &route,
				      NodeId listener) const
{
	const NodeId next = route.empty() ? listener : route[0];
	std::uint32_t port = 0;
	while (true) {
		const LinkEnd &end = world_.ends[nodes_[talker].station->PortAt(port).End()];
		if (world_.ends[end.peer].node == next)
			return port;
		port++;
	}
}

void Simulation::CheckTalker(const std::string &what, NodeId talker,
			     std::uint32_t frame_bytes) const
{
	const Node &node = NodeAt(talker, "talker");
	if (!node.station_spec)
		throw ValueError(what + ": talker " + Quoted(node.name) + " is no station");
	if (!node.station)
		throw ValueError(what + ": talker " + Quoted(node.name) + " has no link");
	if (frame_bytes < KPN_FRAME_BYTES_MIN || frame_bytes > kFrameBytesMax)
		throw ValueError(what + ": frame_bytes = " + std::to_string(frame_bytes) +
				 " is not within 64 to " + std::to_string(kFrameBytesMax));
}

void Simulation::Route(FlowId flow, const std::vector<NodeId> &route, NodeId listener)
{
	for (std::size_t i = 0; i < route.size(); i++) {
		Bridge &bridge = *nodes_[route[i] % kCable].bridge;
		const NodeId next = i + 1 < route.size() ? route[i + 1] : listener;
		bridge.Ingress().AddRoute(world_.flows[flow].header,
					  static_cast<std::uint32_t>(bridge.PortTo(next)));
	}
	Flow &added = world_.flows[flow];
	nodes_[listener].station->AddListener(flow, added.listeners.size());
	added.listeners.push_back(listener);
	added.delivered.push_back(0);
	if (added.is_stream) {
		added.records.arrival_ps.emplace_back();
		added.records.stamp_ns.emplace_back();
		if (nodes_[listener].station->Delivers())
			for (auto *columns : { &added.records.handed_ps, &added.records.read_ps })
				columns->resize(added.listeners.size());
	}
}

FlowId Simulation::NewFlow(Flow flow, int queue)
{
	const auto id = static_cast<FlowId>(world_.flows.size());
	flow.header = HeaderOfFlow(id, queue);
	nodes_[flow.talker].station->FitFrames(flow.frame_bytes);
	world_.flows.push_back(std::move(flow));
	return id;
}

FlowId Simulation::AddStream(StreamSpec spec)
{
	const std::string what = "stream " + Quoted(spec.id);
	CheckBuilding();
	CheckTalker(what, spec.talker, spec.frame_bytes);
	if (spec.listeners.empty())
		throw ValueError(what + ": listeners is empty");
	if (spec.routes.empty())
		spec.routes.resize(spec.listeners.size());
	if (spec.routes.size() != spec.listeners.size())
		throw ValueError(what + ": " + std::to_string(spec.routes.size()) + " routes for " +
				 std::to_string(spec.listeners.size()) +
				 " listeners; give one each");
	for (std::size_t i = 0; i < spec.listeners.size(); i++) {
		CheckRoute(what, spec.talker, spec.routes[i], spec.listeners[i]);
		if (std::count(spec.listeners.begin(), spec.listeners.end(), spec.listeners[i]) > 1)
			throw ValueError(what + ": a listener is named twice");
		if (PortTowards(spec.talker, spec.routes[i], spec.listeners[i]) !=
		    PortTowards(spec.talker, spec.routes[0], spec.listeners[0]))
			throw ValueError(what + ": the ways to listeners " +
					 Quoted(nodes_[spec.listeners[0]].name) + " and " +
					 Quoted(nodes_[spec.listeners[i]].name) +
					 " leave by different ports, and a frame leaves by one: "
					 "give a stream for each");
	}
	if (spec.period_ns <= 0)
		throw ValueError(what + ": period_ns = " + std::to_string(spec.period_ns) +
				 " is not above 0");
	if (spec.offset_ns < 0 || spec.offset_ns >= spec.period_ns)
		throw ValueError(what + ": offset_ns = " + std::to_string(spec.offset_ns) +
				 " is not within 0 to period_ns - 1 = " +
				 std::to_string(spec.period_ns - 1));
	const auto apart = static_cast<std::int64_t>(spec.turns_ns.size());
	if (spec.cycle_ns > 0 && (apart == 0 || spec.cycle_ns / apart != spec.period_ns))
		throw ValueError(what + ": cycle_ns = " + std::to_string(spec.cycle_ns) +
				 " is not that of " + std::to_string(apart) +
				 " turns of period_ns = " + std::to_string(spec.period_ns));
	if (!spec.turns_ns.empty() && spec.turns_ns[0] != spec.offset_ns)
		throw ValueError(what + ": turns_ns[0] = " + std::to_string(spec.turns_ns[0]) +
				 " is not offset_ns = " + std::to_string(spec.offset_ns));
	for (const std::int64_t turn_ns : spec.turns_ns)
		if (turn_ns < 0 || turn_ns >= 2 * spec.period_ns)
			throw ValueError(what + ": turns_ns = " + std::to_string(turn_ns) +
					 " is not within 0 to 2 period_ns - 1 = " +
					 std::to_string(2 * spec.period_ns - 1));
	if (spec.advance_ns < 0 || spec.advance_ns > spec.start_ns)
		throw ValueError(what + ": advance_ns = " + std::to_string(spec.advance_ns) +
				 " is not within 0 to start_ns = " + std::to_string(spec.start_ns));

	Flow flow;
	flow.id = spec.id;
	flow.kind = FlowKind::kStream;
	flow.is_stream = true;
	flow.records.guest = nodes_[spec.talker].station_spec->guest.host >= 0;
	flow.talker = spec.talker;
	flow.port = PortTowards(spec.talker, spec.routes[0], spec.listeners[0]);
	flow.frame_bytes = spec.frame_bytes;
	flow.tc = static_cast<std::uint8_t>(spec.tc);
	const std::vector<std::int64_t> turns_ns =
		spec.turns_ns.empty() ? std::vector{ spec.offset_ns } : spec.turns_ns;
	const auto turns = static_cast<std::int64_t>(turns_ns.size());
	flow.cycle_ns = spec.cycle_ns > 0 ? spec.cycle_ns : turns * spec.period_ns;
	const auto begin_ns = [turns, cycle_ns = flow.cycle_ns](std::int64_t frame) {
		return frame / turns * cycle_ns + frame % turns * cycle_ns / turns;
	};
	// Frames are counted from the origin of network time, so that a plan means the same frame
	// whenever it starts.
	const std::int64_t from_ns = world_.epoch_ns + spec.start_ns - spec.offset_ns;
	std::int64_t first = from_ns / flow.cycle_ns * turns;
	while (begin_ns(first) < from_ns)
		first++;
	flow.first_txtime_ns = begin_ns(first) + spec.offset_ns;
	flow.turns_ns.clear();
	for (std::int64_t frame = first; frame < first + turns; frame++)
		flow.turns_ns.push_back(begin_ns(frame) - flow.first_txtime_ns +
					turns_ns[static_cast<std::size_t>(frame % turns)]);
	const FlowId id = NewFlow(std::move(flow), spec.queue);
	for (std::size_t i = 0; i < spec.listeners.size(); i++)
		Route(id, spec.routes[i], spec.listeners[i]);
	Station &talker = *nodes_[spec.talker].station;
	SetSource(id,
		  talker.AddApplication(std::make_unique<StreamTalker>(world_, talker, id, spec)));
	return id;
}

Flow &Simulation::RedundantAt(FlowId stream)
{
	CheckBuilding();
	if (stream >= world_.flows.size() || !world_.flows[stream].is_stream)
		throw ValueError("stream = " + std::to_string(stream) + " does not exist");
	Flow &flow = world_.flows[stream];
	if (flow.listeners.size() > 1)
		throw ValueError("stream " + Quoted(flow.id) +
				 ": several ways lead to one listener: give a stream for each");
	return flow;
}

void Simulation::AddWay(FlowId stream, const std::vector<NodeId> &route)
{
	Flow &flow = RedundantAt(stream);
	const std::string what = "stream " + Quoted(flow.id);
	CheckRoute(what, flow.talker, route, flow.listeners[0]);
	if (PortTowards(flow.talker, route, flow.listeners[0]) != flow.port)
		throw ValueError(what + ": its ways leave its talker by different ports");
	for (std::size_t i = 0; i < route.size(); i++) {
		Bridge &bridge = *nodes_[route[i] % kCable].bridge;
		const NodeId next = i + 1 < route.size() ? route[i + 1] : flow.listeners[0];
		bridge.Ingress().AddWay(flow.header,
					static_cast<std::uint32_t>(bridge.PortTo(next)));
	}
	flow.redundant = true;
}

void Simulation::SetGeneration(NodeId node, FlowId stream)
{
	Flow &flow = RedundantAt(stream);
	const Node &where = NodeAt(node, "node");
	if (where.bridge) {
		Bridge &bridge = *where.bridge;
		bridge.Redundancy().Generate(bridge.Ingress().StreamOf(flow.header));
	} else if (node == flow.talker) {
		flow.tags = true;
	} else {
		throw ValueError("stream " + Quoted(flow.id) + ": " + Quoted(where.name) +
				 " is neither a bridge nor its talker");
	}
}

void Simulation::SetRecovery(NodeId node, const RecoverySpec &spec)
{
	const Flow &flow = RedundantAt(spec.stream);
	const Node &where = NodeAt(node, "node");
	StreamRecovery recovery(world_, where.name, spec);
	if (where.bridge) {
		Bridge &bridge = *where.bridge;
		bridge.Redundancy().Recover(bridge.Ingress().StreamOf(flow.header),
					    std::move(recovery));
	} else if (node == flow.listeners[0]) {
		where.station->SetRecovery(flow.header, std::move(recovery));
	} else {
		throw ValueError("stream " + Quoted(flow.id) + ": " + Quoted(where.name) +
				 " is neither a bridge nor its listener");
	}
}

FlowId Simulation::AddFlow(const FlowSpec &spec)
{
	const std::string what = "flow " + Quoted(spec.id);
	CheckBuilding();
	CheckTalker(what, spec.talker, spec.frame_bytes);
	CheckRoute(what, spec.talker, spec.route, spec.listener);

	Flow flow;
	flow.id = spec.id;
	flow.talker = spec.talker;
	flow.port = PortTowards(spec.talker, spec.route, spec.listener);
	flow.frame_bytes = spec.frame_bytes;
	flow.tc = static_cast<std::uint8_t>(spec.tc);
	const FlowId id = NewFlow(std::move(flow), spec.queue);
	Route(id, spec.route, spec.listener);
	return id;
}

void Simulation::SetReceiver(FlowId flow, Receiver &receiver)
{
	for (const NodeId listener : world_.flows[flow].listeners)
		nodes_[listener].station->AddReceiver(world_.flows[flow].header, receiver);
}

FlowId Simulation::AddLoad(const LoadSpec &spec)
{
	const std::string what = "load " + Quoted(spec.id);
	CheckBuilding();
	CheckTalker(what, spec.talker, spec.frame_bytes);
	CheckRoute(what, spec.talker, spec.route, spec.listener);
	if (spec.kind == "tcp")
		return AddTcp(spec);
	const LoadKind *kind = Registry<LoadKind>::Find(spec.kind);
	if (!kind)
		throw ValueError(what + ": kind = " + Quoted(spec.kind) + " is not one of " +
				 Registry<LoadKind>::Names() + " \"tcp\"");
	const std::string problem = kind->problem(spec);
	if (!problem.empty())
		throw ValueError(what + ": " + problem);

	const FlowId id = AddFlow({ spec.id, spec.talker, spec.listener, spec.route,
				    spec.frame_bytes, spec.tc, spec.queue });
	Station &talker = *nodes_[spec.talker].station;
	SetSource(id, talker.AddApplication(kind->make({ world_, talker, id, spec })));
	return id;
}

void Simulation::SetSync(const PtpSpec &spec)
{
	CheckBuilding();
	if (ptp_)
		throw ValueError("set_sync() was called before: a network has one synchronisation");
	std::vector<PtpNetwork::Member> members;
	for (const Node &node : nodes_)
		members.push_back({ node.name, node.station.get(), node.bridge.get() });
	ptp_ = std::make_unique<PtpNetwork>(world_, spec, std::move(members));
}

FaultTarget Simulation::TargetOf(const FaultSpec &spec)
{
	Station *station = nodes_[spec.node].station.get();
	Port *port =
		station && spec.port < station->Ports() ? &station->PortAt(spec.port) : nullptr;
	return { world_, spec.node, station, port, nodes_[spec.node].bridge.get(), ptp_.get() };
}

void Simulation::AddFault(const FaultSpec &spec)
{
	CheckBuilding();
	const std::string what = "fault on " + Quoted(NodeAt(spec.node, "fault node").name) + ": ";
	const FaultKind *kind = Registry<FaultKind>::Find(spec.kind);
	if (!kind)
		throw ValueError(what + "kind = " + Quoted(spec.kind) + " is not one of " +
				 Registry<FaultKind>::Names());
	if (spec.at_ns < 0 || spec.at_ns > 4'000'000'000'000'000)
		throw ValueError(what + "at_ns = " + std::to_string(spec.at_ns) +
				 " is not within 0 to 4e15");
	if (std::abs(spec.value_ns / kNsPerS) > 1'000'000)
		throw ValueError(what + "value_ns = " + std::to_string(spec.value_ns) +
				 " is not within -1e15 to 1e15");
	const FaultTarget target = TargetOf(spec);
	const std::string problem = kind->problem(target, spec);
	if (!problem.empty())
		throw ValueError(what + problem);
	if (kind->announce)
		kind->announce(target, spec);
	if (kind->strike)
		faults_.push_back(spec);
}

void Simulation::SetWindow(std::int64_t start_ns, std::int64_t end_ns)
{
	CheckBuilding();
	if (start_ns < 0 || end_ns <= start_ns ||
	    end_ns > std::numeric_limits<std::int64_t>::max() / kPsPerNs / 2)
		throw ValueError("window = " + std::to_string(start_ns) + " to " +
				 std::to_string(end_ns) +
				 " ns: must begin at 0 or later and end after it, by 4.6e15");
	world_.window_start = start_ns * kPsPerNs;
	world_.window_end = end_ns * kPsPerNs;
}

void Simulation::SetCapture(std::int64_t start_ns, std::int64_t end_ns, std::int64_t limit)
{
	CheckBuilding();
	if (start_ns < 0 || end_ns <= start_ns ||
	    end_ns > std::numeric_limits<std::int64_t>::max() / kPsPerNs / 2 || limit < 0)
		throw ValueError("capture of " + std::to_string(limit) + " frames from " +
				 std::to_string(start_ns) + " to " + std::to_string(end_ns) +
				 " ns: must begin at 0 or later and end after it, by 4.6e15, and"
				 " have a limit of 0 or more");
	std::vector<bool> stations;
	for (const Node &node : nodes_)
		stations.push_back(node.station != nullptr);
	world_.capture.Set(start_ns * kPsPerNs, end_ns * kPsPerNs, static_cast<std::size_t>(limit),
			   stations);
}

} // namespace keepon::sim
