// SPDX-License-Identifier: BSD-3-Clause
// PTP's way through the simulated network: flows for its frames, trees from the grandmasters, the
// latency of the software that handles them, stamps, and network time - what the grandmaster's
// clock reads. Exists only with sync "ptp" or "gptp".
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "keepon/sim/application.hpp"
#include "keepon/sim/ptp_node.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class Bridge;
class Station;

class PtpNetwork final : public PtpTransport, public Application, public Receiver
{
public:
	/// A node and what it is; one of the two.
	struct Member {
		std::string name;
		Station *station = nullptr;
		Bridge *bridge = nullptr;
	};

	/// What one sampled clock did. Times in ps; offsets are exact reading minus network time.
	struct Record {
		std::vector<std::int64_t> at_ps;
		std::vector<std::int64_t> offset_ps;
		std::vector<std::int64_t>
			read_offset_ps; // the same of what software gets that asks then
		std::vector<std::int64_t>
			read_at_ps; // when it has it: a poll under way has to end first
		std::vector<std::int64_t> scaled_ppm; // rate set
		std::vector<std::vector<std::int64_t>>
			domain_ps; // per further domain: virtual clock minus its grandmaster's
	};

	/// Checks \p spec against the network and makes the flows. Throws ValueError and then has
	/// changed nothing.
	PtpNetwork(World &world, const PtpSpec &spec, std::vector<Member> members);
	PtpNetwork(const PtpNetwork &) = delete;
	PtpNetwork &operator=(const PtpNetwork &) = delete;
	~PtpNetwork() override = default;

	void Start() override;
	/// A frame of PTP has arrived completely at \p node, which is one of its listeners.
	void OnReceive(NodeId node, const Packet &packet) override;
	/// From now until \p until no Sync or follow-up gets into \p node.
	void LoseSync(NodeId node, TimePs until) { lost_until_[node] = until; }

	void OnSubmit(FlowId flow, std::int64_t seq, TimePs at) override;
	void OnWire(FlowId flow, std::int64_t seq, TimePs sfd, TimePs complete) override;
	void OnOutcome(const TxFrame &frame, kpn_verdict verdict) override;

	void SendPtp(NodeId node, std::uint32_t port, const PtpBody &body) override;
	TimePs Now() const override { return world_.now; }
	void OnClockSet(NodeId node, bool stepped) override;

	/// Whether \p node takes part: has a clock that PTP sets or distributes.
	bool TakesPart(NodeId node) const
	{
		return node < nodes_.size() && nodes_[node] != nullptr;
	}
	PtpNode &NodeAt(NodeId node) { return *nodes_[node]; }
	const Record &RecordOf(NodeId node) const { return records_[node]; }
	/// Network time at \p t in ps since the epoch: the clock of the grandmaster of
	/// domain 0 at that time.
	std::int64_t NetworkPs(TimePs t);
	const PtpSpec &Spec() const { return spec_; }
	FlowId FirstFlow() const { return first_flow_; }
	FlowId EndFlow() const { return end_flow_; }
	PtpKind KindOf(FlowId flow) const { return channels_[flow - first_flow_].kind; }
	/// Event messages that got no TX stamp: they were refused or not sent.
	std::int64_t Unstamped() const { return unstamped_; }

private:
	enum class ActionKind {
		kSyncTimer,
		kPdelayTimer,
		kDelayTimer,
		kBridgeSend,
		kStamp,
		kSeen,
		kHandle,
		kSample,
		kChange
	};

	/// What is to happen at an event. Timers: \p index is a port or domain, \p due when it was
	/// to fire.
	struct Action {
		Action(ActionKind what, NodeId where, std::uint32_t which = 0)
			: kind(what), node(where), index(which)
		{
		}

		ActionKind kind;
		NodeId node;
		std::uint32_t index;
		FlowId flow = 0;
		PtpBody body;
		std::int64_t stamp_ps = 0;
		bool stamped = false;
		TimePs due = 0;
		TimePs sfd = 0;
		TimePs handed = 0;
	};

	/// A message under way, and when its driver had it.
	struct Letter {
		PtpBody body;
		TimePs handed = 0;
	};

	/// A flow: messages of one kind from one port; the last ones, as long as they may be under
	/// way.
	struct Channel {
		PtpKind kind;
		std::uint32_t port;
		std::vector<std::uint32_t> listener_ports; // in order of the flow's listeners
		std::deque<Letter> letters;
		std::int64_t first_seq = 0;
	};

	struct Link {
		std::uint32_t end;
		NodeId peer;
		std::uint32_t peer_port;
	};

	/// What a message goes through at a station; NULL at bridges.
	struct Software {
		Latency *wakeup = nullptr;
		Latency *stack = nullptr;
		Latency *rx = nullptr;
		std::unique_ptr<HostCpu::Thread> thread;
	};

	struct Reign {
		TimePs from;
		NodeId node;
	};

	/// Kind, talker, and its port (gPTP) or the node it speaks to (end to end; the talker
	/// itself: all).
	using ChannelKey = std::tuple<PtpKind, NodeId, std::uint32_t>;

	void Check() const;
	NodeClock &ClockOf(NodeId node);
	void FindLinks();
	FlowId AddFlow(PtpKind kind, NodeId talker, std::uint32_t key, std::uint32_t port);
	void AddListener(FlowId flow, NodeId listener, std::uint32_t port);
	void RouteTo(FlowId flow, NodeId listener);
	void MakeLinkFlows();
	void MakeEndToEndFlows(NodeId grandmaster);
	/// Port of every node towards \p root by the shortest way, ties by the link named first;
	/// -1: the root or cut off.
	std::vector<int> PortsTowards(NodeId root) const;
	void SetRoles(std::size_t domain);
	Channel &ChannelOf(FlowId flow) { return channels_[flow - first_flow_]; }
	void Put(FlowId flow, const PtpBody &body);
	Letter *LetterOf(FlowId flow, std::int64_t seq);
	std::uint32_t Keep(const Action &action);
	void Push(TimePs time, const Action &action);
	/// Software of \p action's node wakes up for it.
	void Wake(TimePs due, const Action &action);
	void PushTimer(ActionKind kind, NodeId node, std::uint32_t index, TimePs due);
	void OnAction(TimePs, std::uint64_t action);
	void Handle(const Action &action);
	void Seen(Action action);
	void Sample(NodeId node);
	void ChangeMaster(NodeId node);

	World &world_;
	PtpSpec spec_;
	std::vector<Member> members_;
	std::vector<Software> software_;       // by node
	std::vector<std::vector<Link>> links_; // by node, in order of its ports
	std::vector<std::unique_ptr<PtpNode>> nodes_;
	std::vector<Record> records_;
	std::vector<TimePs> lost_until_;
	FlowId first_flow_ = 0;
	FlowId end_flow_ = 0;
	std::vector<Channel> channels_;
	std::map<ChannelKey, FlowId> flow_of_;
	std::vector<Action> actions_;
	std::vector<std::uint32_t> free_actions_;
	std::vector<Reign> reigns_;
	std::uint32_t fault_place_ = 0;
	std::int64_t unstamped_ = 0;
	Rng rng_;
	MemberEvent<&PtpNetwork::OnAction> action_{ *this };
};

} // namespace keepon::sim
