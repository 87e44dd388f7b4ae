// SPDX-License-Identifier: BSD-3-Clause
// The time of a station: which clock is set, by what, and what it stamps.
#include "keepon/sim/station.hpp"

#include <cmath>
#include <utility>

namespace keepon::sim
{

/// Which clock PTP sets: the transmitter's, or the system clock where it has none.
void Station::SettleClock(Port &port)
{
	phc_ = port.Tx().MakePhc();
	follows_ = phc_ != nullptr;
	if (follows_)
		system_clock_.Follow(*settled_);
	else
		port.Clock().Follow(*settled_);
	ptp_clock_ = follows_ ? phc_.get() : settled_.get();
}

void Station::SetStartOffset(std::int64_t offset_ns)
{
	if (follows_)
		settled_->Step(0, offset_ns);
	if (!ports_[0]->Tx().SetStartOffset(offset_ns))
		ptp_clock_->Step(0, offset_ns);
}

void Station::FollowPhc(bool stepped)
{
	if (!follows_)
		return;
	TimePs at = world_.now;
	const std::int64_t phc_ps = ptp_clock_->ReadNowPs(at);
	const std::int64_t cpu_ps = cpu_oscillator_.Local(at);
	if (followed_ && !stepped && cpu_ps > followed_cpu_ps_) {
		const double rate = static_cast<double>(phc_ps - followed_phc_ps_) /
				    static_cast<double>(cpu_ps - followed_cpu_ps_);
		settled_->AdjFine(at, std::llround((rate - 1.0) * 65536e6));
	}
	settled_->StepPs(at, phc_ps - settled_->ReadingPs(at));
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
	for (const auto &port : ports_) {
		port->Clock().Step(delta_ns);
		port->Tx().StepClock(delta_ns);
	}
}

/// What a unit beside the wire of \p port would stamp, by its clock.
std::int64_t Station::StampNs(Port &port, TimePs t)
{
	Oscillator &nic = port.NicOscillator();
	if (!ptp_clock_)
		return port.Clock().StampNs(t, spec_.stamp_resolution_ns, nic);
	const std::int64_t tick_ps = spec_.stamp_resolution_ns * kPsPerNs;
	const TimePs latched = nic.TrueOf(FloorDiv(nic.Local(t), tick_ps) * tick_ps);
	return world_.epoch_ns + FloorDiv(ptp_clock_->ReadingPs(latched) + kPsPerNs / 2, kPsPerNs);
}

} // namespace keepon::sim
