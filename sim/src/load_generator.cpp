// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/load_generator.hpp"

#include "keepon/sim/transmitter.hpp"

namespace keepon::sim
{

PacedLoad::PacedLoad(World &world, Host &host, FlowId flow, const LoadSpec &spec)
	: world_(world), host_(host), flow_(flow), spec_(spec),
	  wakeup_(host.Stage(HostStage::kWakeup, "load wakeup")),
	  stack_(host.Stage(HostStage::kStack, "stack")), thread_(host.Cpu(), CpuPriority::kNormal),
	  start_(spec.start_ns * kPsPerNs)
{
}

void PacedLoad::OnTimer(TimePs, std::uint64_t)
{
	TxFrame &frame = host_.MakeFrame(flow_, count_++);
	const TimePs awake = world_.now + wakeup_.Draw();
	thread_.Run(awake, stack_.Draw(), host_.DriverEntry(), frame.index);
	const auto bits_ps =
		static_cast<__int128>(count_) * spec_.frame_bytes * 8 * 1'000'000'000'000;
	world_.events.Push(start_ + static_cast<TimePs>(bits_ps / spec_.rate_bps), timer_);
}

SaturatingLoad::SaturatingLoad(World &world, Host &host, FlowId flow, const LoadSpec &spec)
	: world_(world), host_(host), flow_(flow), start_(spec.start_ns * kPsPerNs),
	  window_frames_(spec.window_frames)
{
}

void SaturatingLoad::OnOutcome(const TxFrame &, kpn_verdict)
{
	outstanding_--;
	if (refill_pending_)
		return;
	refill_pending_ = true;
	world_.events.Push(world_.now, refill_);
}

/// Frames refused at once end here too and would be made again: one window per call at most.
void SaturatingLoad::OnRefill(TimePs, std::uint64_t)
{
	refill_pending_ = false;
	for (std::uint32_t i = 0; i < window_frames_ && outstanding_ < window_frames_; i++) {
		outstanding_++;
		host_.SendPlain(host_.MakeFrame(flow_, count_++));
	}
}

} // namespace keepon::sim
