// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/station.hpp"

#include <algorithm>
#include <utility>

#include "keepon/sim/launchtime_transmitter.hpp"
#include "keepon/sim/payload.hpp"
#include "keepon/sim/standard_transmitter.hpp"

namespace keepon::sim
{

namespace
{
/// The PHC is set once the wire runs evenly.
constexpr TimePs kFirstSyncPs = 1'000'000'000;
constexpr std::int64_t kLookNs = 100'000'000;

std::int32_t At(const std::vector<std::int32_t> &values, FlowId flow)
{
	return flow < values.size() ? values[flow] : -1;
}

void Put(std::vector<std::int32_t> &values, FlowId flow, std::size_t value)
{
	if (values.size() <= flow)
		values.resize(flow + 1, -1);
	values[flow] = static_cast<std::int32_t>(value);
}
} // namespace

Station::Station(World &world, NodeId node, std::string name, const StationSpec &spec,
		 std::uint32_t end, std::uint64_t rate_bps)
	: world_(world), node_(node), name_(std::move(name)), spec_(spec), end_(end),
	  nic_oscillator_(spec.nic_ppm, spec.wander_ppb_per_s, spec.wander_ppb,
			  Rng(world.seed, name_, "nic oscillator")),
	  cpu_oscillator_(spec.cpu_ppm, spec.wander_ppb_per_s, spec.wander_ppb,
			  Rng(world.seed, name_, "cpu oscillator")),
	  clock_(world.epoch_ns, spec.sync,
		 spec.driver == Driver::kStandard ? cpu_oscillator_ : nic_oscillator_),
	  system_clock_(world.epoch_ns, spec.sync, cpu_oscillator_),
	  rx_(spec.rx, Rng(world.seed, name_, "rx")),
	  ptp_wakeup_(spec.wakeup, Rng(world.seed, name_, "ptp wakeup")),
	  ptp_stack_(spec.stack, Rng(world.seed, name_, "ptp stack")),
	  wakeup_(spec.wakeup, Rng(world.seed, name_, "wakeup")),
	  load_wakeup_(spec.wakeup, Rng(world.seed, name_, "load wakeup")),
	  stack_(spec.stack, Rng(world.seed, name_, "stack")),
	  driver_(spec.driver_stage, Rng(world.seed, name_, "driver")),
	  timer_(spec.timer, Rng(world.seed, name_, "timer")), pool_(KPN_FRAME_BYTES_MAX),
	  unknown_place_(world.Place(name_ + " unknown destination"))
{
	const std::uint32_t byte_time_ps = kpn_byte_time_ps(rate_bps);
	switch (spec.driver) {
	case Driver::kKeepon: {
		auto keepon = std::make_unique<KeeponTransmitter>(world, node, name_, spec_,
								  rate_bps, nic_oscillator_,
								  cpu_oscillator_, clock_, *this);
		keepon_ = keepon.get();
		transmitter_ = std::move(keepon);
		break;
	}
	case Driver::kStandard:
		transmitter_ = std::make_unique<StandardTransmitter>(
			world, name_, spec_, byte_time_ps, nic_oscillator_, *this);
		break;
	case Driver::kLaunchtime:
		transmitter_ = std::make_unique<LaunchtimeTransmitter>(
			world, name_, spec_, byte_time_ps, nic_oscillator_, clock_, *this);
		break;
	}
	if (spec.sync == SyncMode::kPtp)
		MakeClocks();
}

void Station::CountFramesOf(Station *peer, TimePs propagation_ps)
{
	if (!peer || !peer->Keepon())
		throw ValueError(
			"station " + name_ +
			": keepon.clock = \"dual\": there is no keepon station at the other end of its link, "
			"whose frames it could count; use \"interpolated\"");
	rx_ring_ = std::make_unique<RxRing>(world_, name_, spec_, *keepon_, *peer->Keepon(),
					    propagation_ps, cpu_oscillator_);
}

Counters Station::OfStages(std::int64_t (Latency::*count)() const) const
{
	const std::int64_t polls = (keepon_ ? (keepon_->PollLatency().*count)() : 0) +
				   (rx_ring_ ? (rx_ring_->PollLatency().*count)() : 0);
	return { { "wakeup",
		   (wakeup_.*count)() + (ptp_wakeup_.*count)() + (load_wakeup_.*count)() },
		 { "stack", (stack_.*count)() + (ptp_stack_.*count)() },
		 { "driver", (driver_.*count)() },
		 { "timer", (timer_.*count)() },
		 { "poll", polls },
		 { "rx", (rx_.*count)() } };
}

/// A frame without txtime, by the way all frames take.
void Station::SendPtpFrame(FlowId flow)
{
	TxFrame &frame = MakeFrame(flow, world_.flows[flow].submitted);
	world_.events.Push(world_.now + ptp_stack_.Draw(), driver_enter_, frame.index);
}

void Station::AddStream(FlowId flow, const StreamSpec &spec)
{
	talks_.push_back({ flow, spec_.release == ReleaseKind::kSleep ? 0 : spec.advance_ns });
}

void Station::AddLoad(FlowId flow, const LoadSpec &spec)
{
	Put(load_of_, flow, loads_.size());
	loads_.push_back({ flow, spec });
}

void Station::AddListener(FlowId flow, std::size_t listener)
{
	receptions_[world_.flows[flow].header.Address()].listener = listener;
}

void Station::AddReceiver(const FrameHeader &header, Receiver &receiver)
{
	receptions_[header.Address()].receiver = &receiver;
}

void Station::Start()
{
	transmitter_->Start();
	if (keepon_)
		world_.events.Push(world_.now + kFirstSyncPs, sync_);
	if (rx_ring_)
		rx_ring_->Start();
	for (std::size_t i = 0; i < talks_.size(); i++)
		BeginTalk(i);
	for (std::size_t i = 0; i < loads_.size(); i++) {
		loads_[i].start = loads_[i].last = loads_[i].spec.start_ns * kPsPerNs;
		world_.events.Push(loads_[i].start, load_, i);
	}
}

/// With PTP an application looks at its clock shortly before its first frame: what the clock reads
/// at the start says nothing of how it will read when it has been set.
void Station::BeginTalk(std::size_t index)
{
	const Flow &flow = world_.flows[talks_[index].flow];
	const TimePs look =
		(flow.TxTime(0) - talks_[index].ahead_ns - world_.epoch_ns - kLookNs) * kPsPerNs;
	if (spec_.sync != SyncMode::kPtp || look <= world_.now) {
		talks_[index].begun = true;
		ScheduleTalk(index, 0);
	} else {
		world_.events.Push(look, talk_, index);
	}
}

/// The application sleeps until txtime - advance by its clock; wake-up and stack follow. One thread
/// per stream: a frame never overtakes the one before it.
void Station::ScheduleTalk(std::size_t index, std::int64_t seq)
{
	Talk &talk = talks_[index];
	const Flow &flow = world_.flows[talk.flow];
	const TimePs due = SystemClock().TrueOf(flow.TxTime(seq) - talk.ahead_ns);
	const TimePs latency = wakeup_.Draw() + stack_.Draw();
	talk.last = std::max({ talk.last, due + latency, world_.now });
	world_.events.Push(talk.last, talk_, index);
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
	WritePayload(pool_.Data(frame), flow.frame_bytes, node_, flow.header, flow_id, seq);
	flow.submitted++;
	return frame;
}

void Station::OnTalk(TimePs, std::uint64_t index)
{
	if (!talks_[index].begun) {
		talks_[index].begun = true;
		ScheduleTalk(index, 0);
		return;
	}
	if (late_ps_ > 0) { // a fault: the frame that would be handed over now comes later
		talks_[index].last = world_.now + late_ps_;
		late_ps_ = 0;
		world_.events.Push(talks_[index].last, talk_, index);
		return;
	}
	const FlowId flow_id = talks_[index].flow;
	Flow &flow = world_.flows[flow_id];
	const std::int64_t seq = flow.records.Append();
	TxFrame &frame = MakeFrame(flow_id, seq);
	flow.records.submit_ps[static_cast<std::size_t>(seq)] = world_.now;
	frame.frame.txtime_ns = flow.TxTime(seq);
	if (spec_.release != ReleaseKind::kSleep)
		frame.frame.flags = KPN_FRAME_TXTIME;
	EnterRelease(frame);
	ScheduleTalk(index, seq + 1);
}

void Station::EnterRelease(TxFrame &frame)
{
	if (spec_.release != ReleaseKind::kEtf) {
		EnterDriver(frame);
		return;
	}
	etf_.Push(frame.frame.txtime_ns, frame.index);
	ServeEtf();
}

/// Hand on what is due, drop what is late (also what entered late), and set the timer for the next;
/// an armed timer is moved forward only.
void Station::ServeEtf()
{
	const std::int64_t now_ns = SystemClock().NowNs(world_.now);
	while (!etf_.Empty() && etf_.First().txtime_ns - spec_.etf_delta_ns <= now_ns) {
		TxFrame &frame = pool_[etf_.Pop()];
		if (frame.frame.txtime_ns < now_ns) {
			etf_drops_++;
			Finish(frame, KPN_VERDICT_LATE);
		} else {
			EnterDriver(frame);
		}
	}
	if (etf_.Empty())
		return;
	const TimePs due = SystemClock().TrueOf(etf_.First().txtime_ns - spec_.etf_delta_ns);
	if (due >= etf_timer_at_)
		return;
	etf_timer_at_ = due;
	world_.events.Push(std::max(due, world_.now) + timer_.Draw(), etf_event_,
			   static_cast<std::uint64_t>(due));
}

void Station::OnEtfTimer(TimePs, std::uint64_t due)
{
	if (static_cast<TimePs>(due) != etf_timer_at_)
		return;
	etf_timer_at_ = kNever;
	ServeEtf();
}

void Station::OnDriverEnter(TimePs, std::uint64_t frame)
{
	EnterDriver(pool_[static_cast<std::uint32_t>(frame)]);
}

void Station::OnSubmit(TimePs, std::uint64_t frame)
{
	Submit(pool_[static_cast<std::uint32_t>(frame)]);
}

void Station::EnterDriver(TxFrame &frame)
{
	const TimePs exit = std::max(world_.now + driver_.Draw(), driver_free_);
	driver_free_ = exit + spec_.occupancy_ns * kPsPerNs;
	if (exit == world_.now)
		Submit(frame);
	else
		world_.events.Push(exit, submit_, frame.index);
}

void Station::Submit(TxFrame &frame)
{
	Flow &flow = world_.flows[frame.flow];
	world_.trace.Add(TraceKind::kSubmit, node_, frame.flow, frame.seq, world_.now);
	if (flow.is_stream)
		flow.records.submit_ps[static_cast<std::size_t>(frame.seq)] = world_.now;
	if (flow.is_ptp)
		world_.ptp->OnSubmit(frame.flow, frame.seq, world_.now);
	const kpn_verdict verdict = transmitter_->Submit(frame);
	if (verdict != KPN_VERDICT_PENDING)
		Finish(frame, verdict);
}

void Station::OnOutcome(TxFrame &frame, kpn_verdict verdict)
{
	Finish(frame, verdict);
}

void Station::Finish(TxFrame &frame, kpn_verdict verdict)
{
	Flow &flow = world_.flows[frame.flow];
	flow.verdicts[verdict]++;
	world_.trace.Add(TraceKind::kOutcome, node_, frame.flow, frame.seq, world_.now);
	if (flow.is_stream) {
		const auto seq = static_cast<std::size_t>(frame.seq);
		flow.records.verdict[seq] = static_cast<std::int8_t>(verdict);
		flow.ghosts += kpn_verdict_is_sent(verdict) && flow.records.wire_ps[seq] < 0;
	}
	if (flow.is_ptp)
		world_.ptp->OnOutcome(frame.flow, frame.seq, verdict, frame.frame.start);
	const std::int32_t load = At(load_of_, frame.flow);
	if (load >= 0) {
		Load &state = loads_[static_cast<std::size_t>(load)];
		state.outstanding--;
		if (state.spec.saturate && !state.refill_pending) {
			state.refill_pending = true;
			world_.events.Push(world_.now, load_, static_cast<std::uint64_t>(load));
		}
	}
	pool_.Give(frame);
}

void Station::OnLoad(TimePs, std::uint64_t index)
{
	Load &load = loads_[index];
	if (load.spec.saturate) {
		load.refill_pending = false;
		// Frames refused at once end here too and would be made again: one window per call
		// at most.
		for (std::uint32_t i = 0;
		     i < load.spec.window_frames && load.outstanding < load.spec.window_frames;
		     i++) {
			load.outstanding++;
			EnterDriver(MakeFrame(load.flow, load.count++));
		}
		return;
	}
	load.outstanding++;
	TxFrame &frame = MakeFrame(load.flow, load.count++);
	// Its application sleeps between frames, as those of streams do.
	load.last = std::max(load.last, world_.now + load_wakeup_.Draw() + stack_.Draw());
	world_.events.Push(load.last, driver_enter_, frame.index);
	const auto bits_ps =
		static_cast<__int128>(load.count) * load.spec.frame_bytes * 8 * 1'000'000'000'000;
	world_.events.Push(load.start + static_cast<TimePs>(bits_ps / load.spec.rate_bps), load_,
			   index);
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
	if (flow.is_ptp)
		world_.ptp->OnWire(flow_id, header.seq, wire.sfd_ps, wire.complete_ps);
	world_.Send(end_, world_.packets.Add(packet), wire.sfd_ps, wire.complete_ps);
}

void Station::OnArrive(std::uint32_t index)
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
	Flow &flow = world_.flows[packet.flow];
	const std::size_t l = reception->listener;
	flow.delivered[l]++;
	flow.delivered_bytes += flow.frame_bytes;
	if (world_.InWindow(packet.sfd_ps))
		flow.window_delivered_bytes += flow.frame_bytes;
	flow.torn += packet.torn;
	flow.wrong_bytes += packet.wrong_bytes;
	world_.trace.Add(TraceKind::kDeliver, node_, packet.flow, packet.seq, packet.sfd_ps);
	if (!flow.is_stream)
		return;
	const auto seq = static_cast<std::size_t>(packet.seq);
	if (flow.records.arrival_ps[l][seq] >= 0)
		return;
	flow.records.arrival_ps[l][seq] = packet.sfd_ps;
	flow.records.stamp_ns[l][seq] = StampNs(packet.sfd_ps);
}

void Station::OnFault(const FaultSpec &fault)
{
	switch (fault.kind) {
	case FaultKind::kPollStall:
		keepon_->StallPolls(world_.now + fault.value_ns * kPsPerNs);
		break;
	case FaultKind::kClockStep:
		if (ptp_clock_) {
			ptp_clock_->Step(world_.now, fault.value_ns);
			break;
		}
		clock_.Step(fault.value_ns);
		if (keepon_)
			keepon_->StepPhc(fault.value_ns);
		break;
	case FaultKind::kRateStep: keepon_->SetRate(fault.value_ns); break;
	case FaultKind::kLateSubmit: late_ps_ = fault.value_ns * kPsPerNs; break;
	case FaultKind::kLinkDown:     // the link's affair
	case FaultKind::kWirePause:    // the transmitter knows of it beforehand
	case FaultKind::kLostSync:     // of the network around
	case FaultKind::kMasterChange: // likewise
		break;
	}
}

} // namespace keepon::sim
