// SPDX-License-Identifier: BSD-3-Clause
// The whole: owns nodes, links and flows, checks what is said about them, and runs events in order.
// No statics: any number of simulations live side by side, and equal seeds give equal traces.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keepon/sim/bridge.hpp"
#include "keepon/sim/fault.hpp"
#include "keepon/sim/ptp_network.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/station.hpp"
#include "keepon/sim/tcp_load.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// Both ends of a load of kind tcp, and the flow of its ACKs.
struct TcpConnection {
	const TcpTalker *talker;
	const TcpListener *listener;
	FlowId acks;
};

class Simulation
{
public:
	Simulation(std::uint64_t seed, std::int64_t epoch_ns);
	Simulation(const Simulation &) = delete;
	Simulation &operator=(const Simulation &) = delete;

	// Each throws ValueError and then has changed nothing. Only before the first Run().
	NodeId AddStation(const std::string &name, StationSpec spec);
	NodeId AddBridge(const std::string &name, const BridgeSpec &spec);
	/// \param asymmetry_ns  by how much longer the way from \p a to \p b is than back, any sign
	void AddLink(NodeId a, NodeId b, std::int64_t rate_bps, std::int64_t propagation_ns,
		     std::int64_t asymmetry_ns = 0);
	/// Each frame between \p a and \p b, either way, is lost with \p probability, by a draw of
	/// its own.
	void SetLoss(NodeId a, NodeId b, double probability);
	void SetGates(NodeId bridge, NodeId peer, std::int64_t base_ns,
		      const std::vector<GateEntry> &entries);
	/// Credit-based shaper of a queue of a bridge's port; after its gates.
	void SetShaper(NodeId bridge, NodeId peer, int queue, std::int64_t idle_slope_bps);
	/// Policing of a bridge; after all streams and loads, once a bridge.
	/// A queue of a bridge's port sends by eligibility time (ATS).
	void SetAsynchronous(NodeId bridge, NodeId peer, int queue);
	/// ATS scheduler of a stream at a bridge, behind its filters.
	void AddScheduler(NodeId bridge, const AtsSpec &spec);
	void SetPsfp(NodeId bridge, const PsfpSpec &spec);
	/// Another way of a stream to its one listener; copies go by all.
	void AddWay(FlowId stream, const std::vector<NodeId> &route);
	/// \p node, a bridge or the stream's talker, puts an R-tag into its frames. Those of a talker
	/// have it in their length.
	void SetGeneration(NodeId node, FlowId stream);
	/// A bridge, or the listener, drops copies of frames that it has had.
	void SetRecovery(NodeId node, const RecoverySpec &spec);
	FlowId AddStream(StreamSpec spec);
	FlowId AddLoad(const LoadSpec &spec);
	/// Frames of an application, which is to be named by SetSource() before the start. They are
	/// counted where they arrive, and handed on if SetReceiver() names a receiver.
	FlowId AddFlow(const FlowSpec &spec);
	void SetSource(FlowId flow, Application &source) { world_.flows[flow].source = &source; }
	/// Whoever gets the frames calls World::Deliver() himself, or not.
	void SetReceiver(FlowId flow, Receiver &receiver);
	World &Shared() { return world_; }
	void AddFault(const FaultSpec &spec);
	/// Frames of \p queues, a bit for each, are preemptable at the port of a bridge.
	void SetPreemption(NodeId bridge, NodeId peer, std::int64_t queues,
			   std::int64_t min_fragment_bytes);
	/// Count bytes of loads in [start, end) of true time apart.
	void SetWindow(std::int64_t start_ns, std::int64_t end_ns);
	/// Keep what stations' wires see in [start, end) of true time, \p limit frames at most.
	void SetCapture(std::int64_t start_ns, std::int64_t end_ns, std::int64_t limit);
	/// Synchronise by PTP; after all links, once.
	void SetSync(const PtpSpec &spec);

	/// Handle every event up to and including \p until_ns. \p breathe is called every some
	/// thousand events and may throw; the simulation can be read and continued afterwards.
	void Run(std::int64_t until_ns, const std::function<void()> &breathe);

	std::int64_t NowNs() const { return world_.now / kPsPerNs; }
	const World &State() const { return world_; }
	const Flow &FlowAt(FlowId flow, bool stream) const;
	/// NULL if \p flow is no load of kind tcp.
	const TcpConnection *TcpOf(FlowId flow) const;
	/// Frames of \p flow that its talker still has.
	std::int64_t PendingOf(FlowId flow) const;
	Station &StationAt(NodeId node);
	const Bridge &BridgeAt(NodeId node) const;
	/// Network time at true time \p t, in ps since the epoch: true time itself unless PTP has a
	/// grandmaster.
	std::int64_t NetworkPs(TimePs t) { return ptp_ ? ptp_->NetworkPs(t) : t; }
	/// NULL without SetSync().
	PtpNetwork *Ptp() { return ptp_.get(); }
	/// Placeholders that ended at the link end \p end: those its peer has fetched so far.
	std::int64_t PlaceholdersAt(std::uint32_t end) const;

private:
	struct Node {
		std::string name;
		std::optional<StationSpec> station_spec;
		std::shared_ptr<HostCpu> cpu;     // of a station, and of its guests
		std::unique_ptr<Station> station; // once it is linked
		std::unique_ptr<Bridge> bridge;
	};

	const Node &NodeAt(NodeId node, const char *key) const;
	std::shared_ptr<HostCpu> CpuOf(NodeId node);
	void CheckNew(const std::string &name) const;
	void CheckBuilding() const;
	/// Whether \p a has a link to what it calls \p b.
	bool Linked(NodeId a, NodeId b) const;
	/// Name of what a node calls \p id.
	std::string Called(NodeId id) const;
	/// Port of \p bridge towards \p peer; refused for \p what where there is none.
	std::uint32_t PortOf(NodeId bridge, NodeId peer, const std::string &what) const;
	std::uint32_t QueuedPortOf(NodeId bridge, NodeId peer, int queue) const;
	void CheckRoute(const std::string &what, NodeId talker, const std::vector<NodeId> &route,
			NodeId listener) const;
	std::uint32_t PortTowards(NodeId talker, const std::vector<NodeId> &route,
				  NodeId listener) const;
	void CheckTalker(const std::string &what, NodeId talker, std::uint32_t frame_bytes) const;
	/// A stream that may have several ways.
	Flow &RedundantAt(FlowId stream);
	FlowId AddTcp(const LoadSpec &spec);
	FlowId NewFlow(Flow flow, int queue);
	void Route(FlowId flow, const std::vector<NodeId> &route, NodeId listener);
	void Start();
	/// \param arrival  link end in the upper half, packet in the lower
	void OnArrive(TimePs, std::uint64_t arrival);
	/// Frames that have arrived before \p end, and of which there are no events.
	void Settle(TimePs end);
	void Arrive(std::uint32_t end, std::uint32_t packet);
	FaultTarget TargetOf(const FaultSpec &spec);
	void OnFault(TimePs, std::uint64_t fault);

	World world_;
	std::vector<Node> nodes_;
	std::unique_ptr<PtpNetwork> ptp_;
	std::vector<FaultSpec> faults_;
	std::map<FlowId, TcpConnection> tcp_;
	MemberEvent<&Simulation::OnArrive> arrive_{ *this };
	MemberEvent<&Simulation::OnFault> fault_{ *this };
	bool started_ = false;
};

} // namespace keepon::sim
