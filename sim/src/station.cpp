// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/station.hpp"

#include <algorithm>
#include <utility>

#include "keepon/sim/payload.hpp"

namespace keepon::sim
{

Station::Station(World &world, NodeId node, std::string name, const StationSpec &spec,
		 std::uint32_t end, std::uint64_t rate_bps)
	: world_(world), node_(node), name_(std::move(name)), spec_(spec),
	  sync_(*Registry<SyncKind>::Find(spec.sync)),
	  release_(*Registry<ReleaseKind>::Find(spec.release)), end_(end),
	  nic_oscillator_(spec.nic_ppm, spec.wander_ppb_per_s, spec.wander_ppb,
			  Rng(world.seed, name_, "nic oscillator")),
	  cpu_oscillator_(spec.cpu_ppm, spec.wander_ppb_per_s, spec.wander_ppb,
			  Rng(world.seed, name_, "cpu oscillator")),
	  clock_(world.epoch_ns, sync_.free_running,
		 Registry<TransmitterKind>::Find(spec.driver)->has_phc ? nic_oscillator_ :
									 cpu_oscillator_),
	  system_clock_(world.epoch_ns, sync_.free_running, cpu_oscillator_),
	  stages_(world.seed, name_, spec_), cpu_(world.events, world.now, spec.cpu.cores),
	  driver_(stages_.Of(HostStage::kDriver, "driver")),
	  timer_(stages_.Of(HostStage::kTimer, "timer")), pool_(KPN_FRAME_BYTES_MAX),
	  unknown_place_(world.Place(name_ + " unknown destination"))
{
	for (std::uint32_t i = 0; i < spec.cpu.cores; i++)
		stalls_.emplace_back(cpu_, CpuPriority::kHardIrq);
	const TransmitterKind &kind = *Registry<TransmitterKind>::Find(spec.driver);
	transmitter_ = kind.make({ world, node, name_, spec_, rate_bps, nic_oscillator_,
				   cpu_oscillator_, clock_, sync_, cpu_, *this });
	if (spec.qdisc)
		qdiscs_ =
			std::make_unique<QdiscTree>(static_cast<QdiscHost &>(*this),
						    static_cast<QdiscBelow &>(*this), *spec_.qdisc);
	else if (release_.make)
		timed_ = release_.make({ *this, *this, spec_ });
	if (sync_.settles)
		MakeClocks(kind.has_phc);
}

Counters Station::OfStages(std::int64_t (Latency::*count)() const) const
{
	return { { "wakeup", stages_.Sum(HostStage::kWakeup, count) },
		 { "stack", stages_.Sum(HostStage::kStack, count) },
		 { "driver", stages_.Sum(HostStage::kDriver, count) },
		 { "timer", stages_.Sum(HostStage::kTimer, count) },
		 { "poll", transmitter_->OfPolls(count) },
		 { "rx", stages_.Sum(HostStage::kRx, count) } };
}

Application &Station::AddApplication(std::unique_ptr<Application> application)
{
	return *applications_.emplace_back(std::move(application));
}

void Station::AddListener(FlowId flow, std::size_t listener)
{
	receptions_[world_.flows[flow].header.Address()].listener = listener;
}

void Station::AddReceiver(const FrameHeader &header, Receiver &receiver)
{
	receptions_[header.Address()].receiver = &receiver;
	receives_ = true;
}

bool Station::OnlyCounts(const FrameHeader &header)
{
	if (cpu_.Contended())
		return false;
	const Reception *reception = receives_ ? receptions_.Find(header.Address()) : nullptr;
	return !reception || !reception->receiver;
}

void Station::Start()
{
	const auto other = [this](const Flow &flow) {
		return flow.talker == node_ && !flow.is_stream;
	};
	if (TakesTxtimes() && !qdiscs_ && !world_.capture.Wanted() &&
	    std::none_of(world_.flows.begin(), world_.flows.end(), other))
		transmitter_->OnlyTxtimes();
	transmitter_->Start();
	if (qdiscs_)
		qdiscs_->Start();
	for (const auto &application : applications_)
		application->Start();
}

TxFrame &Station::MakeFrame(FlowId flow_id, std::int64_t seq)
{
	Flow &flow = world_.flows[flow_id];
	TxFrame &frame = pool_.Take();
	frame.flow = flow_id;
	frame.seq = seq;
	frame.frame.frame_bytes = static_cast<u16>(flow.frame_bytes);
	frame.frame.tc = flow.tc;
	frame.frame.flags = 0;
	frame.frame.txtime_ns = 0;
	frame.assisted = false;
	frame.refused = false;
	WritePayload(pool_.Data(frame), flow.frame_bytes, node_, flow.header, flow_id, seq);
	flow.submitted++;
	return frame;
}

void Station::Send(TxFrame &frame)
{
	if (timed_)
		timed_->Enqueue(frame);
	else
		SendPlain(frame);
}

void Station::SetTimer(std::int64_t tai_ns, EventHandler &handler)
{
	const TimePs fires = std::max(SystemClock().TrueOf(tai_ns), world_.now) + timer_.Draw();
	const auto argument = static_cast<std::uint64_t>(tai_ns);
	if (etf_events_++ == 0 && UndisturbedUntil(fires))
		world_.Ahead(fires, [&] { handler.Handle(fires, argument); });
	else if (cpu_.Contended())
		tx_softirq_.Run(fires, 0, handler, argument);
	else
		world_.events.Push(fires, handler, argument);
}

void Station::OnDriverEnter(TimePs, std::uint64_t frame)
{
	SendPlain(pool_[static_cast<std::uint32_t>(frame)]);
}

void Station::OnSubmit(TimePs, std::uint64_t frame)
{
	leaving_--;
	Submit(pool_[static_cast<std::uint32_t>(frame)]);
}

void Station::SendPlain(TxFrame &frame)
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
void Station::HandOn(TxFrame &frame)
{
	if (!cpu_.Contended() || !qdiscs_) {
		ToDriver(frame);
		return;
	}
	handed_.push_back(frame.index);
	if (!sending_)
		SendNext();
}

void Station::SendNext()
{
	sending_ = !handed_.empty();
	if (!sending_)
		return;
	const std::uint32_t frame = handed_.front();
	handed_.pop_front();
	cpu_.Continue(tx_softirq_, driver_.Draw(), handed_done_, frame);
}

/// Whoever sends goes on as long as there is something.
void Station::OnHandedDone(TimePs now, std::uint64_t frame)
{
	LeaveDriver(pool_[static_cast<std::uint32_t>(frame)], now);
	SendNext();
	if (!sending_)
		qdiscs_->Serve();
}

/// By whoever does it: a system call goes on, or a softirq sends.
void Station::ToDriver(TxFrame &frame)
{
	const TimePs cost_ps = driver_.Draw();
	if (cpu_.Contended())
		cpu_.Continue(tx_softirq_, cost_ps, driver_done_, frame.index);
	else
		LeaveDriver(frame, world_.now + cost_ps);
}

void Station::OnDriverDone(TimePs now, std::uint64_t frame)
{
	LeaveDriver(pool_[static_cast<std::uint32_t>(frame)], now);
}

void Station::LeaveDriver(TxFrame &frame, TimePs ready)
{
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

/// What this station does until \p at depends on nothing but itself, and nobody looks before.
bool Station::Certain(TimePs at) const
{
	return !faulty_ && !qdiscs_ && at <= world_.foreseen && !world_.capture.Wanted() &&
	       !cpu_.Contended();
}

/// None of its applications does anything before \p at or when its clock is set.
bool Station::UndisturbedUntil(TimePs at) const
{
	const auto quiet = [at](const auto &one) { return one->QuietUntil() > at; };
	return Certain(at) && !sync_.settles &&
	       std::all_of(applications_.begin(), applications_.end(), quiet);
}

void Station::Submit(TxFrame &frame)
{
	Flow &flow = world_.flows[frame.flow];
	world_.trace.Add(TraceKind::kSubmit, node_, frame.flow, frame.seq, world_.now);
	if (flow.is_stream)
		flow.records.submit_ps[static_cast<std::size_t>(frame.seq)] = world_.now;
	flow.source->OnSubmit(frame.flow, frame.seq, world_.now);
	const kpn_verdict verdict = transmitter_->Submit(frame);
	if (verdict != KPN_VERDICT_PENDING)
		Finish(frame, verdict, world_.now);
}

void Station::OnOutcome(TxFrame &frame, kpn_verdict verdict, TimePs at)
{
	Finish(frame, verdict, at);
}

void Station::Finish(TxFrame &frame, kpn_verdict verdict, TimePs at)
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

void Station::OnWire(const WireFrame &wire)
{
	const PayloadHeader header = ReadPayload(wire.data);
	if (!IsTestFrame(header) || header.flow >= world_.flows.size() ||
	    world_.flows[header.flow].talker != node_ ||
	    header.seq >= world_.flows[header.flow].submitted) {
		foreign_frames_++;
		return;
	}
	const FlowId flow_id = header.flow;
	Flow &flow = world_.flows[flow_id];
	Packet packet;
	packet.seq = header.seq;
	packet.header = HeaderOf(header);
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
void Station::OnArrive(std::uint32_t index)
{
	if (!cpu_.Contended()) {
		Receive(index);
		return;
	}
	rx_waiting_.push_back(index);
	if (rx_waiting_.size() == 1)
		rx_irq_.Run(world_.now, spec_.cpu.irq_ns * kPsPerNs, rx_interrupt_);
}

void Station::OnRxInterrupt(TimePs now, std::uint64_t)
{
	rx_softirq_.Run(now, spec_.cpu.softirq_ns * kPsPerNs, rx_done_);
}

void Station::OnRxDone(TimePs now, std::uint64_t)
{
	Receive(rx_waiting_.front());
	rx_waiting_.pop_front();
	if (!rx_waiting_.empty())
		rx_softirq_.Run(now, spec_.cpu.softirq_ns * kPsPerNs, rx_done_);
}

void Station::Receive(std::uint32_t index)
{
	const Packet packet = world_.packets[index];
	world_.packets.Free(index);
	const Reception *reception = receptions_.Find(packet.header.Address());
	if (!reception) {
		world_.Lose(node_, packet.flow, packet.seq, unknown_place_, packet.listeners);
		return;
	}
	if (reception->receiver) {
		reception->receiver->OnReceive(node_, packet);
		return;
	}
	const std::size_t l = reception->listener;
	world_.Deliver(node_, packet, l);
	Flow &flow = world_.flows[packet.flow];
	if (!flow.is_stream)
		return;
	const auto seq = static_cast<std::size_t>(packet.seq);
	if (flow.records.arrival_ps[l][seq] >= 0)
		return;
	flow.records.arrival_ps[l][seq] = packet.sfd_ps;
	flow.records.stamp_ns[l][seq] = StampNs(packet.sfd_ps);
}

void Station::StallCores(TimePs duration)
{
	for (HostCpu::Thread &core : stalls_)
		core.Run(world_.now, duration, stalled_);
}

} // namespace keepon::sim
