// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/standard_transmitter.hpp"

#include <algorithm>

namespace keepon::sim
{

namespace
{

std::unique_ptr<Transmitter> Make(const TransmitterSetup &setup)
{
	return std::make_unique<StandardTransmitter>(setup);
}

const Registry<TransmitterKind>::Entry kEntry{ "standard", { Make, false } };

} // namespace

StandardTransmitter::StandardTransmitter(const TransmitterSetup &setup)
	: world_(setup.world), spec_(setup.spec.nic),
	  mac_(setup.nic_oscillator, kpn_byte_time_ps(setup.rate_bps),
	       kpn_byte_time_ps(setup.rate_bps)),
	  fetch_rng_(setup.world.seed, setup.name, "fetch"), sink_(setup.sink)
{
}

kpn_verdict StandardTransmitter::Submit(TxFrame &frame)
{
	if (frame.frame.frame_bytes > spec_.frame_bytes_max)
		return KPN_VERDICT_OVERSIZE;
	if (HasRoom()) {
		Post(frame);
		return KPN_VERDICT_PENDING;
	}
	ring_full_++;
	if (queue_.size() >= spec_.queue_frames)
		return KPN_VERDICT_NO_ROOM;
	queue_.push_back(&frame);
	return KPN_VERDICT_PENDING;
}

void StandardTransmitter::Post(TxFrame &frame)
{
	const TimePs fetch =
		(spec_.fetch_ns + fetch_rng_.Below(spec_.fetch_ns_max - spec_.fetch_ns + 1)) *
		kPsPerNs;
	ready_ = std::max(ready_, world_.now + fetch);
	const WireFrame sent = OnTheWire(frame, mac_.Send(frame.frame.frame_bytes, ready_), mac_);
	frames_++;
	frame_bytes_ += sent.frame_bytes;
	ring_.push_back({ &frame, sent.complete_ps });
	sink_.OnWire(sent);
	ScheduleReclaim();
}

void StandardTransmitter::ScheduleReclaim()
{
	if (ring_.empty())
		return;
	TimePs time = ring_.front().done + spec_.coalesce_ns * kPsPerNs;
	if (ring_.size() >= spec_.coalesce_frames)
		time = std::min(time, ring_[spec_.coalesce_frames - 1].done);
	if (time >= reclaim_at_)
		return;
	reclaim_at_ = time;
	world_.events.Push(time, reclaim_);
}

void StandardTransmitter::OnReclaim(TimePs time, std::uint64_t)
{
	if (time != reclaim_at_)
		return;
	reclaim_at_ = kNever;
	interrupts_++;
	while (!ring_.empty() && ring_.front().done <= time) {
		TxFrame &frame = *ring_.front().frame;
		ring_.pop_front();
		sink_.OnOutcome(frame, KPN_VERDICT_BEST_EFFORT, time);
	}
	while (!queue_.empty() && ring_.size() < spec_.ring_slots) {
		TxFrame &frame = *queue_.front();
		queue_.pop_front();
		Post(frame);
	}
	ScheduleReclaim();
}

Counters StandardTransmitter::NicCounters() const
{
	return { { "frames", frames_ },
		 { "frame_bytes", frame_bytes_ },
		 { "interrupts", interrupts_ },
		 { "ring_full", ring_full_ },
		 { "paused_ps", mac_.PausedPs() } };
}

} // namespace keepon::sim
