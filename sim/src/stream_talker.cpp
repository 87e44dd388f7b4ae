// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/stream_talker.hpp"

#include "keepon/sim/station_clock.hpp"
#include "keepon/sim/transmitter.hpp"

namespace keepon::sim
{

namespace
{
constexpr std::int64_t kLookNs = 100'000'000;
} // namespace

StreamTalker::StreamTalker(World &world, Host &host, FlowId flow, const StreamSpec &spec)
	: world_(world), host_(host), flow_(flow),
	  wakeup_(host.Stage(HostStage::kWakeup, "wakeup")),
	  stack_(host.Stage(HostStage::kStack, "stack")), thread_(host.Cpu(), CpuPriority::kFifo),
	  ahead_ns_(host.TakesTxtimes() ? spec.advance_ns : 0)
{
}

/// Where clocks are set, an application looks at its clock shortly before its first frame.
void StreamTalker::Start()
{
	const TimePs look =
		(world_.flows[flow_].TxTime(0) - ahead_ns_ - world_.epoch_ns - kLookNs) * kPsPerNs;
	if (!host_.ClockSettles() || look <= world_.now) {
		begun_ = true;
		Schedule(0);
	} else {
		world_.events.Push(look, timer_);
	}
}

/// Wake-up and stack follow the sleep. One thread per stream: a frame never overtakes the one
/// before it.
void StreamTalker::Schedule(std::int64_t seq)
{
	const TimePs due = host_.SystemClock().TrueOf(world_.flows[flow_].TxTime(seq) - ahead_ns_);
	const TimePs awake = due + host_.GuestBehind() + wakeup_.Draw();
	next_ = thread_.Run(awake, stack_.Draw(), timer_);
}

void StreamTalker::OnTimer(TimePs, std::uint64_t)
{
	if (!begun_) {
		begun_ = true;
		Schedule(0);
		return;
	}
	if (const TimePs late_ps = host_.TakeLateness(); late_ps > 0) {
		world_.events.Push(world_.now + late_ps, timer_);
		return;
	}
	Flow &flow = world_.flows[flow_];
	const std::int64_t seq = flow.records.Append();
	TxFrame &frame = host_.MakeFrame(flow_, seq);
	flow.records.submit_ps[static_cast<std::size_t>(seq)] = world_.now;
	frame.frame.txtime_ns = flow.TxTime(seq);
	if (host_.TakesTxtimes())
		frame.frame.flags = KPN_FRAME_TXTIME;
	Schedule(seq + 1);
	host_.Send(frame);
}

} // namespace keepon::sim
