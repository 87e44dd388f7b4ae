// SPDX-License-Identifier: BSD-3-Clause
// The time of a station: which clock is set, by what, and what it stamps.
#include "keepon/sim/station.hpp"

#include <cmath>
#include <utility>

namespace keepon::sim
{

/// Which clock PTP sets: the transmitter's, or the system clock where it has none.
void Station::MakeClocks(bool has_phc)
{
	auto system = std::make_unique<OscillatorClock>(cpu_oscillator_);
	if (!has_phc) {
		clock_.Follow(*system);
		ptp_clock_ = std::move(system);
		return;
	}
	system_clock_.Follow(*system);
	system_ = std::move(system);
	ptp_clock_ = transmitter_->MakePhc();
}

void Station::SetStartOffset(std::int64_t offset_ns)
{
	if (system_)
		system_->Step(0, offset_ns);
	if (!transmitter_->SetStartOffset(offset_ns))
		ptp_clock_->Step(0, offset_ns);
}

void Station::FollowPhc(bool stepped)
{
	if (!system_)
		return;
	TimePs at = world_.now;
	const std::int64_t phc_ps = ptp_clock_->ReadNowPs(at);
	const std::int64_t cpu_ps = cpu_oscillator_.Local(at);
	if (followed_ && !stepped && cpu_ps > followed_cpu_ps_) {
		const double rate = static_cast<double>(phc_ps - followed_phc_ps_) /
				    static_cast<double>(cpu_ps - followed_cpu_ps_);
		system_->AdjFine(at, std::llround((rate - 1.0) * 65536e6));
	}
	system_->StepPs(at, phc_ps - system_->ReadingPs(at));
	followed_ = true;
	followed_phc_ps_ = phc_ps;
	followed_cpu_ps_ = cpu_ps;
}

void Station::StepClock(std::int64_t delta_ns)
{
	if (ptp_clock_) {
		ptp_clock_->Step(world_.now, delta_ns);
		return;
	}
	clock_.Step(delta_ns);
	transmitter_->StepClock(delta_ns);
}

/// What a unit beside the wire would stamp, by the station's clock.
std::int64_t Station::StampNs(TimePs t)
{
	if (!ptp_clock_)
		return clock_.StampNs(t, spec_.stamp_resolution_ns, nic_oscillator_);
	const std::int64_t tick_ps = spec_.stamp_resolution_ns * kPsPerNs;
	const TimePs latched =
		nic_oscillator_.TrueOf(FloorDiv(nic_oscillator_.Local(t), tick_ps) * tick_ps);
	return world_.epoch_ns + FloorDiv(ptp_clock_->ReadingPs(latched) + kPsPerNs / 2, kPsPerNs);
}

} // namespace keepon::sim
