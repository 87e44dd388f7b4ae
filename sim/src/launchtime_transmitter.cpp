// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/launchtime_transmitter.hpp"

#include <algorithm>

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
	  stamp_resolution_ns_(setup.spec.stamp_resolution_ns),
	  settles_(setup.spec.sync == SyncMode::kPtp),
	  fetch_rng_(setup.world.seed, setup.name, "fetch"), sink_(setup.sink)
{
}

std::unique_ptr<NodeClock> LaunchtimeTransmitter::MakePhc()
{
	auto clock = std::make_unique<HardwareClock>(oscillator_, stamp_resolution_ns_);
	clock_.Follow(*clock);
	return clock;
}

kpn_verdict LaunchtimeTransmitter::Submit(TxFrame &frame)
{
	if (frame.frame.frame_bytes > spec_.frame_bytes_max)
		return KPN_VERDICT_OVERSIZE;
	if (!HasRoom(QueueOf(frame), world_.now))
		return KPN_VERDICT_NO_ROOM;
	Post(frame);
	return KPN_VERDICT_PENDING;
}

/// Until then its ring only gets emptier; but if its clock is set, launch times move, and what waits
/// has its turn before.
bool LaunchtimeTransmitter::TakesAhead(TimePs)
{
	return !settles_ && port_.Waiting() == 0;
}

bool LaunchtimeTransmitter::HasRoom(int queue, TimePs at)
{
	while (!begun_.Empty() && begun_.Front() <= at)
		begun_.Pop();
	return port_.WaitingIn(queue) + begun_.Count() < spec_.ring_slots;
}

void LaunchtimeTransmitter::Post(TxFrame &frame)
{
	const int queue = QueueOf(frame);
	const TimePs fetch =
		(spec_.fetch_ns + fetch_rng_.Below(spec_.fetch_ns_max - spec_.fetch_ns + 1)) *
		kPsPerNs;
	TimePs &ready = queue == kLaunches ? launch_ready_ : other_ready_;
	ready = std::max(ready, world_.now + fetch);
	TimePs eligible = ready;
	frame.launch_ps = kNever;
	if (queue == kLaunches) {
		const std::int64_t preamble_ns = CeilDiv(
			std::int64_t{ KPN_PREAMBLE_BYTES } * port_.Wire().ByteTimePs(), kPsPerNs);
		const std::int64_t match_ns =
			CeilDiv(frame.frame.txtime_ns - preamble_ns, kComparatorNs) * kComparatorNs;
		frame.launch_ps = clock_.TrueOf(match_ns);
		eligible = std::max(ready, frame.launch_ps);
		late_launches_ += ready > frame.launch_ps;
	}
	const TimePs begin = std::max(eligible, port_.Wire().FreeAt());
	if (!alone_ || port_.Waiting() > 0 || begin > world_.foreseen) {
		port_.Enqueue(queue, { reinterpret_cast<std::uintptr_t>(&frame), eligible,
				       frame.frame.frame_bytes });
		return;
	}
	begun_.Push(begin);
	Sent(frame, port_.Wire().Send(frame.frame.frame_bytes, begin), begin);
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
	return { { "frames", frames_ },
		 { "frame_bytes", frame_bytes_ },
		 { "late_launches", late_launches_ },
		 { "paused_ps", port_.Wire().PausedPs() } };
}

} // namespace keepon::sim
