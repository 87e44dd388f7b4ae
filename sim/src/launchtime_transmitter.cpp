// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/launchtime_transmitter.hpp"

#include <algorithm>

#include "keepon/sim/sync.hpp"

namespace keepon::sim
{

namespace
{

std::unique_ptr<Transmitter> Make(const TransmitterSetup &setup)
{
	return std::make_unique<LaunchtimeTransmitter>(setup);
}

const Registry<TransmitterKind>::Entry kEntry{ "launchtime", { Make, true } };

} // namespace

LaunchtimeTransmitter::LaunchtimeTransmitter(const TransmitterSetup &setup)
	: world_(setup.world), spec_(setup.spec.nic),
	  port_(setup.world.events, setup.world.now, *this, 0,
		Mac(setup.nic_oscillator, kpn_byte_time_ps(setup.rate_bps),
		    kpn_byte_time_ps(setup.rate_bps))),
	  clock_(setup.clock), oscillator_(setup.nic_oscillator),
	  stamp_resolution_ns_(setup.spec.stamp_resolution_ns), settles_(setup.sync.settles),
	  fetch_rng_(setup.world.seed, setup.name, "fetch"), sink_(setup.sink)
{
	if (setup.spec.qdisc && setup.spec.qdisc->taprio && setup.spec.qdisc->taprio->offload)
		MakeGates(setup);
}

/// Gates of classes become those of their queues. A cycle that is longer than all windows ends with
/// the last of them.
void LaunchtimeTransmitter::MakeGates(const TransmitterSetup &setup)
{
	const TaprioSpec &taprio = *setup.spec.qdisc->taprio;
	queue_of_class_ = setup.spec.qdisc->queue_of_class;
	std::vector<GateEntry> entries;
	std::int64_t total_ns = 0;
	for (const GateWindow &window : taprio.windows) {
		GateEntry &entry = entries.emplace_back(GateEntry{ 0, window.ns });
		for (std::size_t tc = 0; tc < queue_of_class_.size(); tc++)
			entry.mask |= (window.classes >> tc & 1) << queue_of_class_[tc];
		total_ns += window.ns;
	}
	entries.back().ns += taprio.cycle_ns - total_ns;
	for (const std::uint32_t queue : queue_of_class_) {
		if (queue >= EgressPort::kQueues)
			throw ValueError(
				"qdisc: a NIC with gates has 8 queues, and a class has queue " +
				std::to_string(queue));
	}
	// A multiple of the cycle does not matter; before the epoch they have the same phase.
	const std::int64_t base_ns = FloorMod(taprio.base_ns - clock_.EpochNs(), taprio.cycle_ns);
	gates_ = Gates(base_ns * kPsPerNs, entries);
	for (int queue = 0; queue < EgressPort::kQueues; queue++)
		port_.SetSelection(queue,
				   std::make_unique<Gate>(gates_, queue, clock_, port_.Wire()));
}

TimePs LaunchtimeTransmitter::Gate::EligibleAt(const QueuedFrame &head, TimePs now)
{
	const std::int64_t duration =
		std::int64_t{ KPN_PREAMBLE_BYTES + head.frame_bytes } * mac_.ByteTimePs();
	const std::int64_t local = clock_.ReadingPs(now);
	const std::int64_t start = gates_.EarliestStart(queue_, local, duration);
	if (start == local || start == kNever)
		return start == local ? now : kNever;
	// The clock says whole nanoseconds: the first at which the gate is open.
	return std::max(clock_.TrueOf(clock_.EpochNs() + CeilDiv(start, kPsPerNs)), now);
}

/// Whether any window of its gate is long enough for \p frame; it would block its ring for ever.
bool LaunchtimeTransmitter::Fits(int queue, const TxFrame &frame) const
{
	const std::int64_t duration = std::int64_t{ KPN_PREAMBLE_BYTES + frame.frame.frame_bytes } *
				      port_.Wire().ByteTimePs();
	return gates_.EarliestStart(queue, 0, duration) != kNever;
}

int LaunchtimeTransmitter::QueueOf(const TxFrame &frame) const
{
	if (gates_.Any())
		return static_cast<int>(queue_of_class_[frame.frame.tc]);
	return frame.launch_ps == kNever ? kOthers : kLaunches;
}

std::unique_ptr<NodeClock> LaunchtimeTransmitter::MakePhc()
{
	auto clock = std::make_unique<HardwareClock>(oscillator_, stamp_resolution_ns_);
	clock_.Follow(*clock);
	return clock;
}

/// When the PHC shows the comparator's multiple that brings the reference plane to the txtime.
TimePs LaunchtimeTransmitter::LaunchOf(const TxFrame &frame)
{
	const std::int64_t preamble_ns =
		CeilDiv(std::int64_t{ KPN_PREAMBLE_BYTES } * port_.Wire().ByteTimePs(), kPsPerNs);
	const std::int64_t match_ns =
		CeilDiv(frame.frame.txtime_ns - preamble_ns, kComparatorNs) * kComparatorNs;
	return clock_.TrueOf(match_ns);
}

kpn_verdict LaunchtimeTransmitter::Submit(TxFrame &frame)
{
	if (frame.frame.frame_bytes > spec_.frame_bytes_max)
		return KPN_VERDICT_OVERSIZE;
	frame.launch_ps = kNever;
	if (!(frame.frame.flags & KPN_FRAME_TXTIME))
		return Post(frame);
	frame.launch_ps = LaunchOf(frame);
	if (frame.launch_ps <= world_.now + kHorizonPs)
		return Post(frame);
	if (deferred_.size() >= spec_.queue_frames)
		return KPN_VERDICT_NO_ROOM;
	deferrals_++;
	deferred_.emplace(frame.launch_ps, &frame);
	world_.events.Push(frame.launch_ps - kHorizonPs, horizon_);
	return KPN_VERDICT_PENDING;
}

/// Until then its ring only gets emptier; but if its clock is set, launch times move, and what waits
/// has its turn before.
bool LaunchtimeTransmitter::TakesAhead(TimePs)
{
	return !settles_ && port_.Waiting() == 0 && deferred_.empty();
}

bool LaunchtimeTransmitter::HasRoomFor(const TxFrame &frame, std::size_t coming)
{
	const bool launches = frame.frame.flags & KPN_FRAME_TXTIME;
	const int queue = gates_.Any() ? static_cast<int>(queue_of_class_[frame.frame.tc]) :
			  launches     ? kLaunches :
					 kOthers;
	return HasRoom(queue, world_.now, coming);
}

bool LaunchtimeTransmitter::HasRoom(int queue, TimePs at, std::size_t coming)
{
	while (!begun_.Empty() && begun_.Front() <= at)
		begun_.Pop();
	return port_.WaitingIn(queue) + begun_.Count() + coming < spec_.ring_slots;
}

void LaunchtimeTransmitter::OnHorizon(TimePs time, std::uint64_t)
{
	while (!deferred_.empty() && deferred_.begin()->first - kHorizonPs <= time) {
		TxFrame &frame = *deferred_.begin()->second;
		deferred_.erase(deferred_.begin());
		frame.launch_ps = LaunchOf(frame); // its clock may have been set meanwhile
		const kpn_verdict verdict = Post(frame);
		if (verdict != KPN_VERDICT_PENDING)
			sink_.OnOutcome(frame, verdict, world_.now);
	}
}

kpn_verdict LaunchtimeTransmitter::Post(TxFrame &frame)
{
	const int queue = QueueOf(frame);
	Ring &ring = rings_[static_cast<std::size_t>(queue)];
	const bool launches = frame.launch_ps != kNever;
	if (!HasRoom(queue, world_.now))
		return KPN_VERDICT_NO_ROOM;
	if (gates_.Any() && !Fits(queue, frame))
		return KPN_VERDICT_NOT_ALLOWED;
	if (launches && frame.frame.txtime_ns < ring.last_txtime_ns) {
		out_of_order_++;
		return KPN_VERDICT_LATE;
	}
	const TimePs fetch =
		(spec_.fetch_ns + fetch_rng_.Below(spec_.fetch_ns_max - spec_.fetch_ns + 1)) *
		kPsPerNs;
	ring.ready = std::max(ring.ready, world_.now + fetch);
	TimePs eligible = ring.ready;
	if (launches) {
		ring.last_txtime_ns = frame.frame.txtime_ns;
		eligible = std::max(ring.ready, frame.launch_ps);
		late_launches_ += ring.ready > frame.launch_ps;
	}
	const TimePs begin = std::max(eligible, port_.Wire().FreeAt());
	if (!alone_ || gates_.Any() || port_.Waiting() > 0 || !deferred_.empty() ||
	    begin > world_.foreseen) {
		port_.Enqueue(queue, { reinterpret_cast<std::uintptr_t>(&frame), eligible,
				       frame.frame.frame_bytes });
		return KPN_VERDICT_PENDING;
	}
	begun_.Push(begin);
	Sent(frame, port_.Wire().Send(frame.frame.frame_bytes, begin), begin);
	return KPN_VERDICT_PENDING;
}

void LaunchtimeTransmitter::OnTransmit(EgressPort &, const QueuedFrame &queued,
				       const Transmission &sent)
{
	Sent(*reinterpret_cast<TxFrame *>(static_cast<std::uintptr_t>(queued.frame)), sent,
	     world_.now);
}

/// \p frame leaves the ring at \p begin.
void LaunchtimeTransmitter::Sent(TxFrame &frame, const Transmission &sent, TimePs begin)
{
	Mac &mac = port_.Wire();

	frames_++;
	frame_bytes_ += sent.frame_bytes;
	sink_.OnWire(OnTheWire(frame, sent, mac));
	kpn_verdict verdict = KPN_VERDICT_BEST_EFFORT;
	if (frame.launch_ps != kNever) // within one byte of the comparator's match it is on time
		verdict = mac.TrueOf(sent.start) - frame.launch_ps <= mac.ByteTimePs() ?
				  KPN_VERDICT_ON_TIME :
				  KPN_VERDICT_MOVED;
	sink_.OnOutcome(frame, verdict, begin);
}

Counters LaunchtimeTransmitter::NicCounters() const
{
	Counters counters{ { "frames", frames_ },
			   { "frame_bytes", frame_bytes_ },
			   { "late_launches", late_launches_ },
			   { "paused_ps", port_.Wire().PausedPs() } };
	// What few runs have is not said by the others.
	if (deferrals_)
		counters.emplace_back("deferrals", deferrals_);
	if (out_of_order_)
		counters.emplace_back("out_of_order", out_of_order_);
	return counters;
}

} // namespace keepon::sim
