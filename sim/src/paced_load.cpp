// SPDX-License-Identifier: BSD-3-Clause
// The load "udp": frames at a rate.
#include "keepon/sim/load.hpp"
#include "keepon/sim/transmitter.hpp"

namespace keepon::sim
{

namespace
{

/// A thread that sleeps between frames, as those of streams do.
class PacedLoad final : public Application
{
public:
	explicit PacedLoad(const LoadSetup &setup);

	void Start() override { world_.events.Push(start_, timer_); }
	bool HearsSubmit() const override { return false; }

private:
	void OnTimer(TimePs, std::uint64_t);

	World &world_;
	Host &host_;
	FlowId flow_;
	LoadSpec spec_;
	Latency &wakeup_;
	Latency &stack_;
	HostCpu::Thread thread_;
	TimePs start_;
	std::int64_t count_ = 0; // frames made
	MemberEvent<&PacedLoad::OnTimer> timer_{ *this };
};

PacedLoad::PacedLoad(const LoadSetup &setup)
	: world_(setup.world), host_(setup.host), flow_(setup.flow), spec_(setup.spec),
	  wakeup_(host_.Stage(HostStage::kWakeup, "load wakeup")),
	  stack_(host_.Stage(HostStage::kStack, "stack")),
	  thread_(host_.Cpu(), CpuPriority::kNormal), start_(spec_.start_ns * kPsPerNs)
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

std::unique_ptr<Application> Make(const LoadSetup &setup)
{
	return std::make_unique<PacedLoad>(setup);
}

std::string Problem(const LoadSpec &spec)
{
	if (spec.rate_bps > 0 && spec.rate_bps <= 100'000'000'000)
		return "";
	return "rate_bps = " + std::to_string(spec.rate_bps) + " is not within 1 to 100000000000";
}

const Registry<LoadKind>::Entry kEntry{ "udp", { Make, Problem } };

} // namespace

} // namespace keepon::sim
