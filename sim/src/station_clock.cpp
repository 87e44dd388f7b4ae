// SPDX-License-Identifier: BSD-3-Clause
// The time of a station: which clock is set, by what, and what it stamps.
#include "keepon/sim/station.hpp"

#include <cmath>
#include <utility>

namespace keepon::sim
{

/// Which clock PTP sets: the PHC of a launch-time NIC, the core's, or the system clock where there
/// is none.
void Station::MakeClocks()
{
	if (spec_.driver == Driver::kStandard) {
		auto clock = std::make_unique<OscillatorClock>(cpu_oscillator_);
		clock_.Follow(*clock);
		ptp_clock_ = std::move(clock);
		return;
	}
	system_ = std::make_unique<OscillatorClock>(cpu_oscillator_);
	system_clock_.Follow(*system_);
	if (keepon_) {
		keepon_->KeepHistory();
		if (spec_.keepon.merge)
			ptp_clock_ = std::make_unique<DualClock>(*keepon_, rx_ring_);
		else
			ptp_clock_ = std::make_unique<KeeponClock>(*keepon_);
		return;
	}
	auto clock = std::make_unique<HardwareClock>(nic_oscillator_, spec_.stamp_resolution_ns);
	clock_.Follow(*clock);
	ptp_clock_ = std::move(clock);
}

void Station::SetStartOffset(std::int64_t offset_ns)
{
	start_offset_ns_ = offset_ns;
	if (system_)
		system_->Step(0, offset_ns);
	if (!keepon_) // the core's is set once the wire runs
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

void Station::OnDisturbed()
{
	disturbances_++;
	if (spec_.sync != SyncMode::kIdeal || !synchronised_once_ || sync_pending_)
		return; // "ptp": the servo sees what became of the clock
	sync_pending_ = true;
	world_.events.Push(world_.now + spec_.sync_interval_ns * kPsPerNs, sync_);
}

/// Ideal synchronisation: true by construction, not a result. Oscillators that keep their rate need
/// it once.
void Station::OnSync(TimePs, std::uint64_t)
{
	const bool step = !synchronised_once_ || !keepon_->State().synchronised;
	synchronised_once_ = true;
	sync_pending_ = false;
	if (spec_.sync == SyncMode::kPtp) { // set once, as by hand; the rest is PTP's
		keepon_->Synchronise(true, kNever);
		keepon_->StepPhc(start_offset_ns_);
		return;
	}
	if (spec_.sync == SyncMode::kNone || nic_oscillator_.IsIdentity()) {
		if (step)
			keepon_->Synchronise(true, kNever);
		return;
	}
	const TimePs next = world_.now + spec_.sync_interval_ns * kPsPerNs;
	sync_pending_ = true;
	keepon_->Synchronise(step, next);
	world_.events.Push(next, sync_);
}

} // namespace keepon::sim
