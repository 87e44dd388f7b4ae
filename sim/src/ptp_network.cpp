// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/ptp_network.hpp"

#include <algorithm>

#include "keepon/sim/bridge.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

/// Wires of keepon stations run evenly by then, and their PHCs are set.
constexpr TimePs kStartPs = 2'000'000'000;
/// First requests for delays are spread over this, first Syncs follow.
constexpr TimePs kSpreadPs = 20'000'000'000;
/// Messages of one flow that can be under way at once.
constexpr std::size_t kLetters = 256;

bool IsEvent(PtpKind kind)
{
	return kind == PtpKind::kSync || kind == PtpKind::kDelayReq ||
	       kind == PtpKind::kPdelayReq || kind == PtpKind::kPdelayResp;
}

} // namespace

PtpNetwork::PtpNetwork(World &world, const PtpSpec &spec, std::vector<Member> members)
	: world_(world), spec_(spec), members_(std::move(members)), software_(members_.size()),
	  links_(members_.size()), nodes_(members_.size()), records_(members_.size()),
	  lost_until_(members_.size(), 0), rng_(world.seed, "ptp", "phases")
{
	Check();
	FindLinks();
	for (NodeId node = 0; node < members_.size(); node++) {
		if (members_[node].bridge && !spec_.gptp)
			continue; // a plain bridge, which forwards and knows nothing
		nodes_[node] =
			std::make_unique<PtpNode>(*this, node, ClockOf(node), spec_,
						  static_cast<std::uint32_t>(links_[node].size()));
		records_[node].domain_ps.resize(spec_.domains.size() - 1);
		if (Host *host = members_[node].station)
			software_[node] = { &host->Stage(HostStage::kWakeup, "ptp wakeup"),
					    &host->Stage(HostStage::kStack, "ptp stack"),
					    &host->Stage(HostStage::kRx, "rx"),
					    std::make_unique<HostCpu::Thread>(host->Cpu(),
									      CpuPriority::kFifo) };
	}
	first_flow_ = end_flow_ = static_cast<FlowId>(world_.flows.size());
	fault_place_ = world_.Place("lost-sync fault");
	if (spec_.gptp) {
		MakeLinkFlows();
	} else {
		for (const PtpDomainSpec &domain : spec_.domains)
			MakeEndToEndFlows(domain.grandmaster);
		for (const MasterChange &change : spec_.changes)
			MakeEndToEndFlows(change.node);
	}
	for (std::size_t i = 0; i < spec_.domains.size(); i++)
		SetRoles(i);
	reigns_.push_back({ 0, spec_.domains[0].grandmaster });
}

NodeClock &PtpNetwork::ClockOf(NodeId node)
{
	return members_[node].station ? *members_[node].station->Clock() :
					*members_[node].bridge->Clock();
}

std::uint32_t PtpNetwork::Keep(const Action &action)
{
	std::uint32_t at;
	if (free_actions_.empty()) {
		at = static_cast<std::uint32_t>(actions_.size());
		actions_.push_back(action);
	} else {
		at = free_actions_.back();
		free_actions_.pop_back();
		actions_[at] = action;
	}
	return at;
}

void PtpNetwork::Push(TimePs time, const Action &action)
{
	world_.events.Push(time, action_, Keep(action));
}

/// It comes late by its wake-up, and needs a core; what it does with it takes no time.
void PtpNetwork::Wake(TimePs due, const Action &action)
{
	const Software &software = software_[action.node];
	const TimePs awake = due + (software.wakeup ? software.wakeup->Draw() : 0);
	if (software.thread && members_[action.node].station->Cpu().Contended())
		software.thread->Run(awake, 0, action_, Keep(action));
	else
		Push(awake, action);
}

void PtpNetwork::PushTimer(ActionKind kind, NodeId node, std::uint32_t index, TimePs due)
{
	Action action(kind, node, index);
	action.due = due;
	Wake(due, action);
}

void PtpNetwork::Start()
{
	for (NodeId node = 0; node < members_.size(); node++) {
		if (!nodes_[node])
			continue;
		const std::int64_t range = spec_.start_offset_ns;
		const std::int64_t offset =
			node == reigns_[0].node ? 0 : rng_.Below(2 * range + 1) - range;
		if (members_[node].station)
			members_[node].station->SetStartOffset(offset);
		else
			nodes_[node]->Clock().Step(0, offset);
		if (spec_.gptp) {
			for (std::uint32_t port = 0; port < links_[node].size(); port++)
				PushTimer(ActionKind::kPdelayTimer, node, port,
					  kStartPs + rng_.Below(kSpreadPs));
		} else {
			for (std::uint32_t i = 0; i < spec_.domains.size(); i++)
				PushTimer(ActionKind::kDelayTimer, node, i,
					  kStartPs + kSpreadPs + rng_.Below(kSpreadPs));
		}
		Push(spec_.sample_ns * kPsPerNs, Action(ActionKind::kSample, node));
	}
	for (std::uint32_t i = 0; i < spec_.domains.size(); i++)
		PushTimer(ActionKind::kSyncTimer, spec_.domains[i].grandmaster, i,
			  kStartPs + kSpreadPs + rng_.Below(kSpreadPs));
	for (std::uint32_t i = 0; i < spec_.changes.size(); i++)
		Push(spec_.changes[i].at_ns * kPsPerNs,
		     Action(ActionKind::kChange, spec_.changes[i].node));
}

void PtpNetwork::OnAction(TimePs, std::uint64_t index)
{
	const Action action = actions_[index];
	free_actions_.push_back(static_cast<std::uint32_t>(index));
	Handle(action);
}

void PtpNetwork::Handle(const Action &action)
{
	const NodeId id = action.node;
	PtpNode &node = *nodes_[id];
	switch (action.kind) {
	case ActionKind::kSyncTimer:
		if (spec_.domains[action.index].grandmaster != id)
			return; // another one took over
		node.OnSyncTimer(action.index);
		if (action.index == 0)
			OnClockSet(id, false);
		PushTimer(action.kind, id, action.index, action.due + spec_.interval_ns * kPsPerNs);
		return;
	case ActionKind::kPdelayTimer:
		node.OnPdelayTimer(action.index);
		PushTimer(action.kind, id, action.index,
			  action.due + spec_.delay_interval_ns * kPsPerNs);
		return;
	case ActionKind::kDelayTimer:
		node.OnDelayTimer(action.index);
		PushTimer(action.kind, id, action.index,
			  action.due + spec_.delay_interval_ns * kPsPerNs);
		return;
	case ActionKind::kBridgeSend: {
		Put(action.flow, action.body);
		members_[id].bridge->SendOwn(action.flow, world_.flows[action.flow].submitted++,
					     ChannelOf(action.flow).port);
		return;
	}
	case ActionKind::kStamp: {
		const std::int64_t stamp =
			action.stamped ? action.stamp_ps :
					 node.Clock().TxStampPs(action.sfd, action.handed);
		const std::int64_t egress =
			members_[id].station ? members_[id].station->EgressPs() : 0;
		node.OnSent(action.index, action.body, stamp + egress);
		return;
	}
	case ActionKind::kSeen: Seen(action); return;
	case ActionKind::kHandle:
		node.OnMessage(action.index, action.body, action.stamp_ps);
		return;
	case ActionKind::kSample:
		Sample(id);
		Push(world_.now + spec_.sample_ns * kPsPerNs, action);
		return;
	case ActionKind::kChange: ChangeMaster(id); return;
	}
}

void PtpNetwork::SendPtp(NodeId node, std::uint32_t port, const PtpBody &body)
{
	std::uint32_t key = port;
	if (body.kind == PtpKind::kDelayReq) {
		for (const PtpDomainSpec &domain : spec_.domains) {
			if (domain.domain == body.domain)
				key = domain.grandmaster;
		}
	} else if (body.kind == PtpKind::kDelayResp) {
		key = body.requester;
	} else if (!spec_.gptp) {
		key = node;
	}
	const FlowId flow = flow_of_.at({ body.kind, node, key });
	if (members_[node].bridge) {
		Action action(ActionKind::kBridgeSend, node, port);
		action.flow = flow;
		action.body = body;
		Push(world_.now + members_[node].bridge->Spec().ptp_turnaround_ns * kPsPerNs,
		     action);
		return;
	}
	Put(flow, body);
	// A frame without txtime, by the way all frames take.
	Host &host = *members_[node].station;
	const TxFrame &frame = host.MakeFrame(flow, world_.flows[flow].submitted);
	host.Cpu().Continue(*software_[node].thread, software_[node].stack->Draw(),
			    host.DriverEntry(), frame.index);
}

void PtpNetwork::Put(FlowId flow, const PtpBody &body)
{
	Channel &channel = ChannelOf(flow);
	Letter letter;
	letter.body = body;
	channel.letters.push_back(letter);
	if (channel.letters.size() > kLetters) {
		channel.letters.pop_front();
		channel.first_seq++;
	}
}

PtpNetwork::Letter *PtpNetwork::LetterOf(FlowId flow, std::int64_t seq)
{
	Channel &channel = ChannelOf(flow);
	const std::int64_t at = seq - channel.first_seq;
	if (at < 0 || at >= static_cast<std::int64_t>(channel.letters.size()))
		return nullptr;
	return &channel.letters[static_cast<std::size_t>(at)];
}

void PtpNetwork::OnSubmit(FlowId flow, std::int64_t seq, TimePs at)
{
	Letter *letter = LetterOf(flow, seq);
	const Channel &channel = ChannelOf(flow);
	const NodeId talker = world_.flows[flow].talker;
	if (!letter)
		return;
	letter->handed = at;
	NodeClock &clock = nodes_[talker]->Clock();
	if (clock.TxStampSource() != NodeClock::TxSource::kDriver || !IsEvent(channel.kind))
		return;
	Action action(ActionKind::kStamp, talker, channel.port);
	action.body = letter->body;
	action.stamp_ps = clock.TxStampPs(at, at);
	action.stamped = true;
	Wake(at, action);
}

void PtpNetwork::OnWire(FlowId flow, std::int64_t seq, TimePs sfd, TimePs complete)
{
	const Letter *letter = LetterOf(flow, seq);
	const Channel &channel = ChannelOf(flow);
	const NodeId talker = world_.flows[flow].talker;
	if (!letter || !IsEvent(channel.kind) ||
	    nodes_[talker]->Clock().TxStampSource() != NodeClock::TxSource::kWire)
		return;
	Action action(ActionKind::kStamp, talker, channel.port);
	action.body = letter->body;
	action.sfd = sfd;
	action.handed = letter->handed;
	Wake(std::max(complete, world_.now), action);
}

void PtpNetwork::OnOutcome(const TxFrame &frame, kpn_verdict verdict)
{
	const FlowId flow = frame.flow;
	const kpn_time start = frame.frame.start;
	const Letter *letter = LetterOf(flow, frame.seq);
	const Channel &channel = ChannelOf(flow);
	const NodeId talker = world_.flows[flow].talker;
	if (!IsEvent(channel.kind))
		return;
	if (!letter || !kpn_verdict_is_sent(verdict)) {
		unstamped_++;
		return;
	}
	if (nodes_[talker]->Clock().TxStampSource() != NodeClock::TxSource::kOutcome)
		return;
	Action action(ActionKind::kStamp, talker, channel.port);
	action.body = letter->body;
	action.stamp_ps =
		(start.ns - world_.epoch_ns) * kPsPerNs; // the kernel's stamps are full nanoseconds
	action.stamped = true;
	Wake(world_.now, action);
}

void PtpNetwork::OnReceive(NodeId node, const Packet &packet)
{
	Flow &flow = world_.flows[packet.flow];
	const Channel &channel = ChannelOf(packet.flow);
	const auto found = std::find(flow.listeners.begin(), flow.listeners.end(), node);
	const auto listener = static_cast<std::size_t>(found - flow.listeners.begin());
	const bool sync = channel.kind == PtpKind::kSync || channel.kind == PtpKind::kFollowUp;
	if (sync && world_.now < lost_until_[node]) {
		world_.Lose(node, packet.flow, packet.seq, fault_place_, 1);
		return;
	}
	flow.delivered[listener]++;
	flow.delivered_bytes += flow.frame_bytes;
	flow.torn += packet.torn;
	flow.wrong_bytes += packet.wrong_bytes;
	world_.trace.Add(TraceKind::kDeliver, node, packet.flow, packet.seq, packet.sfd_ps);
	const Letter *letter = LetterOf(packet.flow, packet.seq);
	if (!letter || packet.wrong_bytes) // the FCS is good, but it is no message any more
		return;
	Action action(ActionKind::kSeen, node, channel.listener_ports[listener]);
	action.body = letter->body;
	action.sfd = packet.sfd_ps;
	if (members_[node].station)
		Push(world_.now + software_[node].rx->Draw(), action);
	else
		Seen(action);
}

void PtpNetwork::Seen(Action action)
{
	Station *station = members_[action.node].station;
	action.stamp_ps = nodes_[action.node]->Clock().RxStampPs(action.sfd, world_.now) -
			  (station ? station->IngressPs() : 0);
	action.kind = ActionKind::kHandle;
	if (station)
		Wake(world_.now, action);
	else
		Handle(action);
}

void PtpNetwork::OnClockSet(NodeId node, bool stepped)
{
	if (members_[node].station)
		members_[node].station->FollowPhc(stepped);
	else
		members_[node].bridge->OnClockSet();
}

void PtpNetwork::ChangeMaster(NodeId node)
{
	const NodeId before = spec_.domains[0].grandmaster;
	if (before == node)
		return;
	spec_.domains[0].grandmaster = node;
	reigns_.push_back({ world_.now, node });
	SetRoles(0);
	PushTimer(ActionKind::kSyncTimer, node, 0, world_.now);
}

std::int64_t PtpNetwork::NetworkPs(TimePs t)
{
	std::size_t at = reigns_.size() - 1;
	while (at > 0 && reigns_[at].from > t)
		at--;
	return nodes_[reigns_[at].node]->Clock().ReadingPs(t);
}

void PtpNetwork::Sample(NodeId id)
{
	Record &record = records_[id];
	NodeClock &clock = nodes_[id]->Clock();
	const TimePs now = world_.now;
	record.at_ps.push_back(now);
	record.offset_ps.push_back(clock.ReadingPs(now) - NetworkPs(now));
	TimePs read_at = now;
	const std::int64_t read = clock.ReadNowPs(read_at);
	record.read_offset_ps.push_back(read - NetworkPs(read_at));
	record.read_at_ps.push_back(read_at);
	record.scaled_ppm.push_back(clock.ScaledPpm());
	for (std::size_t i = 1; i < spec_.domains.size(); i++) {
		NodeClock &master = nodes_[spec_.domains[i].grandmaster]->Clock();
		const VirtualClock &own = nodes_[id]->VirtualOf(i);
		std::int64_t error = INT64_MIN; // not known yet, or the grandmaster itself
		if (own.valid)
			error = own.At(clock.CounterPs(now)) - master.CounterPs(now);
		record.domain_ps[i - 1].push_back(error);
	}
}

} // namespace keepon::sim
