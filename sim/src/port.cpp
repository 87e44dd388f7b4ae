// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/port.hpp"

#include <algorithm>

#include "keepon/sim/payload.hpp"

namespace keepon::sim
{

namespace
{

StationSpec SpecOf(const PortSetup &setup)
{
	StationSpec spec = setup.spec;
	if (setup.number < spec.ports.size()) {
		const PortSpec &own = setup.spec.ports[setup.number];
		spec.nic = own.nic.value_or(spec.nic);
		spec.nic_ppm = own.nic_ppm.value_or(spec.nic_ppm);
		spec.keepon = own.keepon.value_or(spec.keepon);
		spec.qdisc = own.qdisc ? own.qdisc : spec.qdisc;
	}
	spec.ports.clear();
	return spec;
}

/// For the first port \p name itself: a station with another link draws what it drew before.
std::string OfPort(const std::string &name, std::uint32_t number)
{
	return number == 0 ? name : name + "." + std::to_string(number);
}

} // namespace

Port::Port(const PortSetup &setup)
	: world_(setup.world), node_(setup.node), number_(setup.number), end_(setup.end),
	  spec_(SpecOf(setup)), name_(OfPort(setup.name, setup.number)),
	  sync_(*Registry<SyncKind>::Find(spec_.sync)),
	  release_(*Registry<ReleaseKind>::Find(spec_.release)), host_(setup.host), cpu_(setup.cpu),
	  pool_(setup.pool), applications_(setup.applications),
	  nic_oscillator_(spec_.nic_ppm, spec_.wander_ppb_per_s, spec_.wander_ppb,
			  Rng(world_.seed, name_, "nic oscillator")),
	  clock_(world_.epoch_ns, sync_.free_running,
		 Registry<TransmitterKind>::Find(spec_.driver)->has_phc ? nic_oscillator_ :
									  setup.cpu_oscillator),
	  driver_(setup.stages.Of(HostStage::kDriver, OfPort("driver", number_).c_str())),
	  timer_(setup.stages.Of(HostStage::kTimer, OfPort("timer", number_).c_str())),
	  datapath_(spec_.guest.host < 0 ? nullptr :
					   &setup.stages.Of(HostStage::kDatapath,
							    OfPort("datapath", number_).c_str()))
{
	const TransmitterKind &kind = *Registry<TransmitterKind>::Find(spec_.driver);
	transmitter_ =
		kind.make({ world_, node_, number_, name_, spec_, setup.rate_bps, nic_oscillator_,
			    setup.cpu_oscillator, clock_, sync_, cpu_, *this });
	if (spec_.qdisc)
		qdiscs_ =
			std::make_unique<QdiscTree>(static_cast<QdiscHost &>(*this),
						    static_cast<QdiscBelow &>(*this), *spec_.qdisc);
	else if (release_.make)
		timed_ = release_.make({ *this, *this, spec_ });
}

void Port::Start()
{
	const auto other = [this](const Flow &flow) {
		return flow.talker == node_ && flow.port == number_ && !flow.is_stream;
	};
	if (release_.takes_txtimes && !qdiscs_ && !world_.capture.Wanted() &&
	    std::none_of(world_.flows.begin(), world_.flows.end(), other))
		transmitter_->OnlyTxtimes();
	transmitter_->Start();
	if (qdiscs_)
		qdiscs_->Start();
}

void Port::Send(TxFrame &frame)
{
	if (timed_)
		timed_->Enqueue(frame);
	else
		SendPlain(frame);
}

void Port::SetTimer(std::int64_t tai_ns, EventHandler &handler)
{
	const TimePs due = system_clock_->TrueOf(tai_ns) + host_.GuestBehind();
	const TimePs fires = std::max(due, world_.now) + timer_.Draw();
	const auto argument = static_cast<std::uint64_t>(tai_ns);
	if (etf_events_++ == 0 && UndisturbedUntil(fires))
		world_.Ahead(fires, [&] { handler.Handle(fires, argument); });
	else if (cpu_.Contended())
		tx_softirq_.Run(fires, 0, handler, argument);
	else
		world_.events.Push(fires, handler, argument);
}

void Port::OnSubmit(TimePs, std::uint64_t frame)
{
	leaving_--;
	Submit(pool_[static_cast<std::uint32_t>(frame)]);
}

void Port::SendPlain(TxFrame &frame)
{
	if (!qdiscs_) {
		ToDriver(frame);
		return;
	}
	entering_ = &frame;
	qdiscs_->Enqueue(frame);
	entering_ = nullptr;
}

/// What qdiscs hand on passes the driver one by one: in their order, whichever core does it.
void Port::HandOn(TxFrame &frame)
{
	in_flight_++;
	if (!cpu_.Contended() || !qdiscs_) {
		ToDriver(frame);
		return;
	}
	handed_.push_back(frame.index);
	if (!sending_)
		SendNext();
}

void Port::SendNext()
{
	sending_ = !handed_.empty();
	if (!sending_)
		return;
	const std::uint32_t frame = handed_.front();
	handed_.pop_front();
	cpu_.Continue(tx_softirq_, driver_.Draw(), handed_done_, frame);
}

/// Whoever sends goes on as long as there is something.
void Port::OnHandedDone(TimePs now, std::uint64_t frame)
{
	LeaveDriver(pool_[static_cast<std::uint32_t>(frame)], now);
	SendNext();
	if (!sending_)
		qdiscs_->Serve();
}

/// In its caller's context: a system call goes on, or a softirq sends.
void Port::ToDriver(TxFrame &frame)
{
	const TimePs cost_ps = driver_.Draw();
	if (cpu_.Contended())
		cpu_.Continue(tx_softirq_, cost_ps, driver_done_, frame.index);
	else
		LeaveDriver(frame, world_.now + cost_ps);
}

void Port::OnDriverDone(TimePs now, std::uint64_t frame)
{
	LeaveDriver(pool_[static_cast<std::uint32_t>(frame)], now);
}

void Port::LeaveDriver(TxFrame &frame, TimePs ready)
{
	if (datapath_) {
		Flow &flow = world_.flows[frame.flow];
		if (flow.is_stream)
			flow.records.queued_ps[static_cast<std::size_t>(frame.seq)] = ready;
		ready += datapath_->Draw();
	}
	const TimePs exit = std::max(ready, driver_free_);
	driver_free_ = exit + spec_.occupancy_ns * kPsPerNs;
	if (exit == world_.now && !world_.ahead) {
		Submit(frame);
	} else if (leaving_ == 0 && !world_.flows[frame.flow].source->HearsSubmit() &&
		   Certain(exit) && transmitter_->TakesAhead(exit)) {
		world_.Ahead(exit, [&] { Submit(frame); });
	} else {
		leaving_++;
		world_.events.Push(exit, submit_, frame.index);
	}
}

/// What this port does until \p at depends on nothing but itself, and nobody looks before.
bool Port::Certain(TimePs at) const
{
	return !faulty_ && !qdiscs_ && at <= world_.foreseen && !world_.capture.Wanted() &&
	       !cpu_.Contended();
}

/// No application does anything before \p at or when its clock is set.
bool Port::UndisturbedUntil(TimePs at) const
{
	const auto quiet = [at](const auto &one) { return one->QuietUntil() > at; };
	return Certain(at) && !sync_.settles &&
	       std::all_of(applications_.begin(), applications_.end(), quiet);
}

void Port::Submit(TxFrame &frame)
{
	Flow &flow = world_.flows[frame.flow];
	world_.trace.Add(TraceKind::kSubmit, node_, frame.flow, frame.seq, world_.now);
	if (flow.is_stream)
		flow.records.submit_ps[static_cast<std::size_t>(frame.seq)] = world_.now;
	flow.source->OnSubmit(frame.flow, frame.seq, world_.now);
	if (qdiscs_)
		in_flight_--;
	const kpn_verdict verdict = transmitter_->Submit(frame);
	if (verdict != KPN_VERDICT_PENDING)
		Finish(frame, verdict, world_.now);
}

void Port::OnOutcome(TxFrame &frame, kpn_verdict verdict, TimePs at)
{
	Finish(frame, verdict, at);
}

void Port::Finish(TxFrame &frame, kpn_verdict verdict, TimePs at)
{
	Flow &flow = world_.flows[frame.flow];
	flow.verdicts[verdict]++;
	world_.trace.Add(TraceKind::kOutcome, node_, frame.flow, frame.seq, at);
	if (flow.is_stream) {
		const auto seq = static_cast<std::size_t>(frame.seq);
		flow.records.verdict[seq] = static_cast<std::int8_t>(verdict);
		flow.ghosts += kpn_verdict_is_sent(verdict) && flow.records.wire_ps[seq] < 0;
	}
	flow.source->OnOutcome(frame, verdict);
	pool_.Give(frame);
}

void Port::OnWire(const WireFrame &wire)
{
	const PayloadHeader header = ReadPayload(wire.data);
	if (!IsTestFrame(header) || header.flow >= world_.flows.size() ||
	    world_.flows[header.flow].talker != node_ ||
	    world_.flows[header.flow].port != number_ ||
	    header.seq >= world_.flows[header.flow].submitted) {
		foreign_frames_++;
		return;
	}
	const FlowId flow_id = header.flow;
	Flow &flow = world_.flows[flow_id];
	Packet packet;
	packet.seq = header.seq;
	packet.header = HeaderOf(header);
	if (flow.tags)
		packet.header.sequence = static_cast<std::uint16_t>(header.seq);
	packet.flow = flow_id;
	packet.frame_bytes = wire.frame_bytes;
	packet.listeners = static_cast<std::uint16_t>(flow.listeners.size());
	packet.torn = wire.torn;
	packet.wrong_bytes =
		!CheckPayload(wire.data, node_, flow.header, flow.frame_bytes - KPN_FCS_BYTES,
			      wire.frame_bytes - KPN_FCS_BYTES);
	world_.trace.Add(TraceKind::kWire, node_, flow_id, header.seq, wire.sfd_ps);
	flow.on_wire++;
	if (world_.InWindow(wire.sfd_ps))
		flow.window_sent_bytes += flow.frame_bytes;
	if (flow.is_stream) {
		std::int64_t &wire_ps = flow.records.wire_ps[static_cast<std::size_t>(header.seq)];
		flow.duplicates += wire_ps >= 0;
		if (wire_ps < 0)
			wire_ps = wire.sfd_ps;
	}
	flow.source->OnWire(flow_id, header.seq, wire.sfd_ps, wire.complete_ps);
	world_.Send(end_, world_.packets.Add(packet), wire.sfd_ps, wire.complete_ps);
}

/// The NIC interrupts once for all frames that its softirq finds until there is none (NAPI).
void Port::OnArrive(std::uint32_t index)
{
	if (!cpu_.Contended()) {
		host_.Receive(*this, index);
		return;
	}
	rx_waiting_.push_back(index);
	if (rx_waiting_.size() == 1)
		rx_irq_.Run(world_.now, spec_.cpu.irq_ns * kPsPerNs, rx_interrupt_);
}

void Port::OnRxInterrupt(TimePs now, std::uint64_t)
{
	rx_softirq_.Run(now, spec_.cpu.softirq_ns * kPsPerNs, rx_done_);
}

void Port::OnRxDone(TimePs now, std::uint64_t)
{
	host_.Receive(*this, rx_waiting_.front());
	rx_waiting_.pop_front();
	if (!rx_waiting_.empty())
		rx_softirq_.Run(now, spec_.cpu.softirq_ns * kPsPerNs, rx_done_);
}

} // namespace keepon::sim
