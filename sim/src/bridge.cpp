// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/bridge.hpp"

#include <algorithm>
#include <utility>

#include "keepon/sim/credit_shaper.hpp"

namespace keepon::sim
{

Bridge::Bridge(World &world, NodeId node, std::string name, const BridgeSpec &spec)
	: world_(world), node_(node), name_(std::move(name)), spec_(spec),
	  oscillator_(spec.ppm, spec.wander_ppb_per_s, spec.wander_ppb,
		      Rng(world.seed, name_, "oscillator")),
	  ingress_(world.Place(name_ + " unknown destination"))
{
	if (spec.software)
		software_ = std::make_unique<SoftwareForwarding>(
			world_, node_, name_, *spec.software, [this](std::uint32_t packet) {
				Process(packet, software_->Ingress(), world_.now);
			});
	for (IngressPipeline *ingress : { &ingress_, &Ingress() }) {
		for (std::size_t priority = 0; priority < spec_.queues.size(); priority++)
			ingress->SetQueue(static_cast<int>(priority),
					  static_cast<int>(spec_.queues[priority]));
	}
	if (spec.ptp)
		clock_ = std::make_unique<BridgeClock>(oscillator_, spec.stamp_resolution_ns);
}

std::uint32_t Bridge::AddPort(std::uint32_t end, NodeId peer, const std::string &peer_name)
{
	const auto number = static_cast<std::uint32_t>(ports_.size());
	EgressPort::Owner &owner = *this;
	Port &port = ports_.emplace_back(world_, owner, number,
					 Mac(oscillator_, world_.ends[end].byte_time_ps, 1));
	port.end = end;
	port.peer = peer;
	port.queue_place = world_.Place(name_ + " queue to " + peer_name);
	port.gate_place = world_.Place(name_ + " gate to " + peer_name);
	if (software_)
		software_->AddPort(peer_name);
	return number;
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
	ports_[port].egress.SetGates(
		Gates(FloorMod(base_ns - world_.epoch_ns, cycle_ns) * kPsPerNs, entries),
		oscillator_, clock_.get());
}

void Bridge::SetShaper(std::uint32_t port, int queue, std::int64_t idle_slope_bps)
{
	EgressPort &egress = ports_[port].egress;
	egress.SetSelection(queue, std::make_unique<CreditShaper>(egress, queue, idle_slope_bps));
}

void Bridge::SetPreemption(std::uint32_t port, const MacMerge &merge)
{
	ports_[port].egress.SetMerge(merge);
}

void Bridge::SetPsfp(const PsfpSpec &spec, const std::vector<std::vector<std::uint32_t>> &streams)
{
	auto psfp = std::make_unique<Psfp>(world_, name_, spec, streams, [this](TimePs t) {
		return clock_ ? clock_->ReadingPs(t) : oscillator_.Local(t);
	});
	psfp_ = psfp.get();
	Ingress().AddFilter(std::move(psfp));
}

Ats &Bridge::Schedulers()
{
	if (!ats_) {
		auto ats = std::make_unique<Ats>(world_, name_, oscillator_);
		ats_ = ats.get();
		Ingress().AddFilter(std::move(ats));
	}
	return *ats_;
}

Frer &Bridge::Redundancy()
{
	if (!frer_) {
		auto frer = std::make_unique<Frer>();
		frer_ = frer.get();
		Ingress().AddFilter(std::move(frer));
	}
	return *frer_;
}

void Bridge::OnArrive(std::uint32_t index)
{
	Process(index, ingress_, world_.now - spec_.processing_ns * kPsPerNs);
}

/// Inlined, as it is the whole of what most bridges do with a frame.
[[gnu::always_inline]] inline void Bridge::Process(std::uint32_t index, IngressPipeline &ingress,
						   TimePs received)
{
	const Packet arrived = world_.packets[index];
	const IngressPipeline::Decision decision = ingress.Decide(arrived, received);
	if (decision.receiver) {
		world_.packets.Free(index);
		decision.receiver->OnReceive(node_, arrived);
		return;
	}
	if (!decision.exits) {
		if (software_ && &ingress == &ingress_) {
			software_->OnFrame(arrived.port, index);
			return;
		}
		world_.Lose(node_, arrived.flow, arrived.seq, decision.place, arrived.listeners);
		world_.packets.Free(index);
		return;
	}
	const auto &exits = *decision.exits;
	std::uint32_t copies = 0;
	std::int64_t reached = 0;
	for (const IngressPipeline::Exit &exit : exits) {
		if (exit.port == arrived.port)
			continue; // a frame never goes back (clause 8.6.1)
		const std::uint32_t copy = copies++ == 0 ? index : world_.packets.Add(arrived);
		Packet &packet = world_.packets[copy];
		packet.listeners = exit.listeners;
		reached += exit.listeners;
		packet.header.drop_eligible = decision.drop_eligible;
		packet.header.sequence = decision.sequence;
		if (arrived.header.sequence < 0 && decision.sequence >= 0)
			packet.frame_bytes += kRtagBytes;
		else if (arrived.header.sequence >= 0 && decision.sequence < 0)
			packet.frame_bytes -= kRtagBytes;
		Enqueue(ports_[exit.port], decision.queue, copy, decision.wait);
	}
	if (copies == 0) {
		world_.Lose(node_, arrived.flow, arrived.seq,
			    world_.Place(name_ + " unknown destination"), arrived.listeners);
		world_.packets.Free(index);
	} else if (decision.sequence >= 0) {
		world_.flows[arrived.flow].split += reached - arrived.listeners;
	}
}

void Bridge::SendOwn(FlowId flow_id, std::int64_t seq, std::uint32_t port)
{
	Flow &flow = world_.flows[flow_id];
	Packet packet;
	packet.seq = seq;
	packet.header = flow.header;
	packet.flow = flow_id;
	packet.frame_bytes = flow.frame_bytes;
	packet.listeners = 1;
	// Once queued it is on its way: what ends it from now on is a loss, not a verdict.
	flow.on_wire++;
	flow.verdicts[KPN_VERDICT_BEST_EFFORT]++;
	world_.trace.Add(TraceKind::kSubmit, node_, flow_id, seq, world_.now);
	Enqueue(ports_[port], ingress_.QueueOf(flow.header), world_.packets.Add(packet));
}

void Bridge::OnClockSet()
{
	for (Port &port : ports_)
		port.egress.Serve();
}

void Bridge::Enqueue(Port &port, int queue, std::uint32_t packet, TimePs wait)
{
	const Packet &frame = world_.packets[packet];
	if (port.egress.WaitingIn(queue) >= spec_.queue_frames) {
		port.queue_drops++;
		world_.Lose(node_, frame.flow, frame.seq, port.queue_place, frame.listeners);
		world_.packets.Free(packet);
		return;
	}
	port.waiting_max = std::max(port.waiting_max, port.egress.Waiting() + 1);
	const TimePs eligible = port.egress.Sorts(queue) ? world_.now + wait : world_.now;
	port.egress.Enqueue(queue, { packet, eligible, frame.frame_bytes });
}

void Bridge::OnNeverFits(EgressPort &egress, const QueuedFrame &queued)
{
	Port &port = ports_[egress.Number()];
	const auto packet = static_cast<std::uint32_t>(queued.frame);
	const Packet &frame = world_.packets[packet];
	port.gate_drops++;
	world_.Lose(node_, frame.flow, frame.seq, port.gate_place, frame.listeners);
	world_.packets.Free(packet);
}

void Bridge::OnTransmit(EgressPort &egress, const QueuedFrame &queued, const Transmission &sent)
{
	Port &port = ports_[egress.Number()];
	const auto packet = static_cast<std::uint32_t>(queued.frame);
	const Packet &frame = world_.packets[packet];
	const TimePs sfd = egress.Wire().TrueOf(sent.Sfd());
	const TimePs last_bit = egress.Wire().TrueOf(sent.LastBit());

	port.forwarded++;
	port.forwarded_bytes += frame.frame_bytes;
	port.preemptions += sent.mpackets - 1;
	world_.packets[packet].mpackets = static_cast<std::uint16_t>(sent.mpackets);
	world_.trace.Add(TraceKind::kForward, node_, frame.flow, frame.seq, sfd);
	const Flow &flow = world_.flows[frame.flow];
	if (flow.talker == node_)
		flow.source->OnWire(frame.flow, frame.seq, sfd, last_bit);
	world_.Send(port.end, packet, sfd, last_bit);
}

} // namespace keepon::sim
