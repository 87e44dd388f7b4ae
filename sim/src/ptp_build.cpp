// SPDX-License-Identifier: BSD-3-Clause
// PtpNetwork before the start: what is wrong, who is whose neighbour, flows for frames, trees from
// grandmasters.
#include <algorithm>
#include <cstdint>
#include <deque>

#include "keepon/sim/bridge.hpp"
#include "keepon/sim/ptp_network.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

void PtpNetwork::Check() const
{
	const auto master = [&](NodeId node, const std::string &what) {
		if (node >= members_.size() || (!members_[node].station && !members_[node].bridge))
			throw ValueError(what + " = " + std::to_string(node) +
					 " is no linked node");
		if (!spec_.gptp && !members_[node].station)
			throw ValueError(
				what + " = " + Quoted(members_[node].name) +
				" is a bridge: with \"ptp\" bridges are plain, name a station");
		if (!spec_.gptp && members_[node].station->Ports() > 1)
			throw ValueError(
				what + " = " + Quoted(members_[node].name) + " has " +
				std::to_string(members_[node].station->Ports()) +
				" links: with \"ptp\" its Sync leaves by one, name a station"
				" with one link or use \"gptp\"");
	};
	if (spec_.domains.empty() || spec_.domains[0].domain != 0)
		throw ValueError(
			"domains: the first must be domain 0, which disciplines the clocks");
	for (std::size_t i = 0; i < spec_.domains.size(); i++) {
		master(spec_.domains[i].grandmaster, "grandmaster");
		for (std::size_t k = 0; k < i; k++) {
			if (spec_.domains[k].domain == spec_.domains[i].domain)
				throw ValueError(
					"domains: " + std::to_string(spec_.domains[i].domain) +
					" is named twice");
		}
	}
	if (!Registry<ServoKind>::Find(spec_.servo.kind))
		throw ValueError("sync servo: kind = " + Quoted(spec_.servo.kind) +
				 " is not one of " + Registry<ServoKind>::Names());
	for (const MasterChange &change : spec_.changes)
		master(change.node, "master-change node");
	for (const Member &member : members_) {
		const bool clock = (member.station && member.station->Clock()) ||
				   (member.bridge && member.bridge->Clock());
		const bool needed = member.station || (member.bridge && spec_.gptp);
		if (needed && !clock)
			throw ValueError(Quoted(member.name) +
					 ": sync must be \"ptp\" where the network has PTP");
		if (!member.station)
			continue;
		std::uint32_t room = UINT32_MAX;
		for (std::uint32_t port = 0; port < member.station->Ports(); port++)
			room = std::min(room, member.station->PortAt(port).Tx().FrameBytesMax());
		const std::uint32_t longest = PtpFrameBytes(
			spec_.gptp ? PtpKind::kFollowUp : PtpKind::kDelayResp, spec_.gptp);
		if (room < longest)
			throw ValueError(
				"station " + Quoted(member.name) + ": keepon.slot_bytes = " +
				std::to_string(
					member.station->Spec().keepon.slot_bytes.value_or(0)) +
				" leaves " + std::to_string(room) +
				" bytes for a frame, PTP needs " + std::to_string(longest));
	}
}

void PtpNetwork::FindLinks()
{
	for (std::uint32_t end = 0; end < world_.ends.size(); end++) {
		const LinkEnd &here = world_.ends[end];
		links_[here.node].push_back({ end, world_.ends[here.peer].node, 0 });
	}
	for (std::vector<Link> &links : links_) {
		for (Link &link : links) {
			const auto &back = links_[link.peer];
			while (back[link.peer_port].end != world_.ends[link.end].peer)
				link.peer_port++;
		}
	}
}

FlowId PtpNetwork::AddFlow(PtpKind kind, NodeId talker, std::uint32_t key, std::uint32_t port)
{
	Flow flow;
	flow.id = std::string("ptp ") + PtpKindName(kind) + " of " + members_[talker].name +
		  " port " + std::to_string(port);
	flow.kind = FlowKind::kPtp;
	flow.source = this;
	flow.talker = talker;
	flow.port = port; // links are in the order of ports
	flow.frame_bytes = PtpFrameBytes(kind, spec_.gptp);
	flow.tc = static_cast<std::uint8_t>(spec_.tc);
	flow.header =
		spec_.gptp ? HeaderOfNeighbour(spec_.queue) : HeaderOfFlow(end_flow_, spec_.queue);
	world_.flows.push_back(std::move(flow));
	Channel channel;
	channel.kind = kind;
	channel.port = port;
	channels_.push_back(std::move(channel));
	flow_of_[{ kind, talker, key }] = end_flow_;
	return end_flow_++;
}

void PtpNetwork::AddListener(FlowId flow, NodeId listener, std::uint32_t port)
{
	const FrameHeader &header = world_.flows[flow].header;
	if (members_[listener].station)
		members_[listener].station->AddReceiver(header, *this);
	else
		members_[listener].bridge->Ingress().AddReceiver(header, *this);
	world_.flows[flow].listeners.push_back(listener);
	world_.flows[flow].delivered.push_back(0);
	channels_[flow - first_flow_].listener_ports.push_back(port);
}

void PtpNetwork::MakeLinkFlows()
{
	constexpr PtpKind kinds[] = { PtpKind::kSync, PtpKind::kFollowUp, PtpKind::kPdelayReq,
				      PtpKind::kPdelayResp, PtpKind::kPdelayRespFollowUp };
	for (NodeId node = 0; node < members_.size(); node++) {
		for (std::uint32_t port = 0; port < links_[node].size(); port++) {
			for (const PtpKind kind : kinds)
				AddListener(AddFlow(kind, node, port, port),
					    links_[node][port].peer, links_[node][port].peer_port);
		}
	}
}

std::vector<int> PtpNetwork::PortsTowards(NodeId root) const
{
	std::vector<int> ports(members_.size(), -1);
	std::vector<bool> seen(members_.size(), false);
	std::deque<NodeId> queue = { root };
	seen[root] = true;
	while (!queue.empty()) {
		const NodeId node = queue.front();
		queue.pop_front();
		if (node != root && !members_[node].bridge)
			continue; // nothing passes through a station
		for (const Link &link : links_[node]) {
			if (seen[link.peer])
				continue;
			seen[link.peer] = true;
			ports[link.peer] = static_cast<int>(link.peer_port);
			queue.push_back(link.peer);
		}
	}
	return ports;
}

/// Through the bridges between, along the shortest way from \p listener back to the talker.
void PtpNetwork::RouteTo(FlowId flow, NodeId listener)
{
	const NodeId talker = world_.flows[flow].talker;
	const std::vector<int> towards = PortsTowards(talker);
	if (towards[listener] < 0)
		return; // cut off: it never hears of PTP
	for (NodeId node = listener; node != talker;) {
		const Link &link = links_[node][static_cast<std::size_t>(towards[node])];
		if (link.peer == talker)
			world_.flows[flow].port = link.peer_port;
		else
			members_[link.peer].bridge->Ingress().AddRoute(world_.flows[flow].header,
								       link.peer_port);
		node = link.peer;
	}
	AddListener(flow, listener, 0);
}

void PtpNetwork::MakeEndToEndFlows(NodeId grandmaster)
{
	if (flow_of_.count({ PtpKind::kSync, grandmaster, grandmaster }))
		return;
	const FlowId sync = AddFlow(PtpKind::kSync, grandmaster, grandmaster, 0);
	const FlowId follow_up = AddFlow(PtpKind::kFollowUp, grandmaster, grandmaster, 0);
	for (NodeId node = 0; node < members_.size(); node++) {
		if (!members_[node].station || node == grandmaster)
			continue;
		RouteTo(sync, node);
		RouteTo(follow_up, node);
		RouteTo(AddFlow(PtpKind::kDelayReq, node, grandmaster, 0), grandmaster);
		RouteTo(AddFlow(PtpKind::kDelayResp, grandmaster, node, 0), node);
	}
}

/// External port configuration (IEEE Std 802.1AS-2020 clause 10.3.1): the tree of shortest ways
/// from the grandmaster.
void PtpNetwork::SetRoles(std::size_t index)
{
	const NodeId root = spec_.domains[index].grandmaster;
	const std::vector<int> towards = PortsTowards(root);
	for (NodeId node = 0; node < members_.size(); node++) {
		if (!nodes_[node])
			continue;
		std::vector<std::uint32_t> masters;
		if (spec_.gptp) {
			for (std::uint32_t port = 0; port < links_[node].size(); port++) {
				const Link &link = links_[node][port];
				const bool child =
					link.peer != root &&
					towards[link.peer] == static_cast<int>(link.peer_port);
				const bool passes = node == root ||
						    (members_[node].bridge && towards[node] >= 0);
				if (child && passes)
					masters.push_back(port);
			}
		} else if (node == root) {
			masters.push_back(0);
		}
		const int slave = node == root      ? -1 :
				  towards[node] < 0 ? -1 :
				  spec_.gptp        ? towards[node] :
						      0;
		nodes_[node]->SetRole(index, root, slave, masters);
	}
}

} // namespace keepon::sim
