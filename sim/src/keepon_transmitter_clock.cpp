// SPDX-License-Identifier: BSD-3-Clause
// The clocks of a station with the core: its CPU's counter, the law that the core keeps, the PHC.
#include "keepon/sim/keepon_transmitter.hpp"

#include <algorithm>
#include <cmath>

#include "keepon/sim/dual_clock.hpp"

namespace keepon::sim
{

namespace
{

/// A CPU counter does not start at 0: nothing may rely on it.
constexpr std::uint64_t kCpuStartNs = 5'000'000'000;

bool SameLaw(const kpn_clock &a, const kpn_clock &b)
{
	return a.anchor_ps == b.anchor_ps && a.anchor.ns == b.anchor.ns &&
	       a.anchor.frac == b.anchor.frac && a.mult == b.mult;
}

} // namespace

void KeeponTransmitter::OnLinked(Transmitter *peer, TimePs propagation_ps)
{
	if (!spec_.keepon.Dual())
		return;
	auto *keepon = dynamic_cast<KeeponTransmitter *>(peer);
	if (!keepon)
		throw ValueError(
			"station " + name_ +
			": keepon.clock = \"dual\": there is no keepon station at the other end of its link, "
			"whose frames it could count; use \"interpolated\"");
	if (keepon->config_.frame_bytes_max > keepon->SingleBytes())
		throw ValueError(
			"station " + name_ +
			": keepon.clock = \"dual\": the station at the other end of its link sends frames "
			"of several slots, which cannot be counted as slots; use \"interpolated\", or leave out "
			"frame_bytes_max there");
	rx_ring_ = std::make_unique<RxRing>(world_, name_, spec_, *this, *keepon, propagation_ps,
					    cpu_oscillator_, cpu_);
}

RxRing *KeeponTransmitter::Rx()
{
	return static_cast<RxRing *>(rx_ring_.get());
}

std::uint64_t KeeponTransmitter::CpuNsAt(TimePs t)
{
	const std::uint64_t ns =
		kCpuStartNs + static_cast<std::uint64_t>(cpu_oscillator_.Local(t)) / kPsPerNs;
	return cpu_tick_ns_ == 1 ? ns : ns - ns % cpu_tick_ns_;
}

std::uint64_t KeeponTransmitter::CpuNsNow(TimePs t)
{
	now_ = std::max(now_, t);
	return CpuNsAt(now_);
}

std::int64_t KeeponTransmitter::SinceEpochPs(kpn_time time) const
{
	return (time.ns - clock_.EpochNs()) * kPsPerNs +
	       static_cast<std::int64_t>(static_cast<std::uint64_t>(time.frac) * kPsPerNs >> 32);
}

std::int64_t KeeponTransmitter::PhcErrorPs()
{
	const kpn_time phc =
		kpn_clock_at(kpn_pacer_clock(pacer_), ring_nic_locate(nic_, NicNow()).sent_ps);
	return SinceEpochPs(phc) - clock_.ReadingPs(now_);
}

void KeeponTransmitter::StepPhc(std::int64_t delta_ns)
{
	now_ = std::max(now_, world_.now);
	if (probe_.Spec().boundaries) {
		probe_.MeasureBoundaries(nic_, kpn_pacer_clock(pacer_), slot_ps_, State().lock_seq,
					 NicNow(), now_);
		probe_.NoteStep(now_);
	}
	if (dual_ ? kpn_dual_adjtime(dual_, delta_ns) : kpn_pacer_adjtime(pacer_, delta_ns))
		throw ValueError("clock step of " + std::to_string(delta_ns) +
				 " ns would make the time of day negative");
	AfterChange();
	ScheduleWake();
}

void KeeponTransmitter::SetRate(std::int64_t ppb)
{
	AdjFine(FloorDiv(ppb * 65536, 1000));
}

void KeeponTransmitter::AdjFine(std::int64_t scaled_ppm)
{
	now_ = std::max(now_, world_.now);
	if (probe_.Spec().boundaries)
		probe_.MeasureBoundaries(nic_, kpn_pacer_clock(pacer_), slot_ps_, State().lock_seq,
					 NicNow(), now_);
	// A servo keeps to the clock's max_adj.
	const std::int64_t limit = kpn_pacer_scaled_ppm_max(pacer_);
	scaled_ppm = std::clamp(scaled_ppm, -limit, limit);
	if (dual_)
		kpn_dual_adjfine(dual_, scaled_ppm);
	else
		kpn_pacer_adjfine(pacer_, scaled_ppm);
	AfterChange();
	ScheduleWake();
}

void KeeponTransmitter::KeepHistory()
{
	keep_history_ = true;
	NoteLaw();
}

/// To be called whenever the law or the wire's lag may have changed.
void KeeponTransmitter::NoteLaw()
{
	if (!keep_history_)
		return;
	const kpn_clock &law = *kpn_pacer_clock(pacer_);
	const ring_nic_counters &counters = *ring_nic_read_counters(nic_);
	const std::uint64_t idle_ps = counters.idle_ps + counters.paused_ps;
	if (!past_.empty() && past_.back().idle_ps == idle_ps && SameLaw(past_.back().law, law))
		return;
	const std::uint64_t nic_now = NicNow();
	const std::uint64_t sent_ps = ring_nic_locate(nic_, nic_now).sent_ps;
	const PastLaw entry{ now_, static_cast<std::int64_t>(nic_now - sent_ps), idle_ps, law };
	if (!past_.empty() && past_.back().from == now_)
		past_.back() = entry;
	else
		past_.push_back(entry);
}

std::int64_t KeeponTransmitter::PhcPs(TimePs t)
{
	const auto later = [](TimePs time, const PastLaw &past) { return time < past.from; };
	auto found = std::upper_bound(past_.begin(), past_.end(), t, later);
	if (found != past_.begin())
		--found;
	const std::int64_t sent_ps = nic_oscillator_.Local(t) - found->behind_ps;
	return SinceEpochPs(kpn_clock_at(&found->law, static_cast<std::uint64_t>(sent_ps)));
}

std::int64_t KeeponTransmitter::GetTimePs(TimePs *at)
{
	now_ = std::max(now_, world_.now);
	if (at)
		*at = now_;
	const std::uint64_t cpu_ns = CpuNsAt(now_);
	return SinceEpochPs(dual_ ? kpn_dual_gettime(dual_, cpu_ns) :
				    kpn_pacer_gettime(pacer_, cpu_ns));
}

const char *KeeponTransmitter::ClockName() const
{
	if (dual_)
		return dual_->merge == KPN_MERGE_PUBLISHED ? "dual, published merge" : "dual";
	return config_.clock_read == KPN_CLOCK_COUNTER ? "counter" : "interpolated";
}

void KeeponTransmitter::Synchronise(bool step, TimePs until)
{
	now_ = std::max(now_, world_.now);
	if (step) {
		if (until == kNever) {
			StepPhc(-FloorDiv(PhcErrorPs() + kPsPerNs / 2, kPsPerNs));
			return;
		}
	}
	// The rate for which PHC and clock meet at the next synchronisation, known exactly to an
	// ideal servo.
	const std::int64_t error_ps = step ? 0 : PhcErrorPs();
	const std::int64_t wire_ps = nic_oscillator_.Local(until) - nic_oscillator_.Local(now_);
	const std::int64_t clock_ps = clock_.ReadingPs(until) - clock_.ReadingPs(now_) - error_ps;
	const double offset =
		static_cast<double>(clock_ps - wire_ps) / static_cast<double>(wire_ps);
	if (probe_.Spec().boundaries)
		probe_.MeasureBoundaries(nic_, kpn_pacer_clock(pacer_), slot_ps_, State().lock_seq,
					 NicNow(), now_);
	const std::int64_t limit = kpn_pacer_scaled_ppm_max(pacer_);
	kpn_pacer_adjfine(pacer_,
			  std::clamp<std::int64_t>(std::llround(offset * 65536e6), -limit, limit));
	AfterChange();
	if (step)
		StepPhc(-FloorDiv(PhcErrorPs() + kPsPerNs / 2, kPsPerNs));
	ScheduleWake();
}

std::optional<KeeponTransmitter::RateInterval> KeeponTransmitter::RateKnown()
{
	constexpr std::uint64_t kAheadNsMin = 1000;
	const std::uint64_t cpu_ns = CpuNsAt(now_);
	const kpn_head now = kpn_pacer_head(pacer_, cpu_ns);
	// Beyond the tail there is nothing to be sent, and the interval ends.
	const std::uint64_t ahead_ns = (State().tail_seq - now.upper_seq) * slot_ps_ / kPsPerNs / 2;
	if (!now.valid || ahead_ns < kAheadNsMin)
		return std::nullopt;
	const kpn_head later = kpn_pacer_head(pacer_, cpu_ns + ahead_ns);
	// All four bounds are rounded outwards to a picosecond.
	const std::uint64_t before_ps = now.wire.upper_ps - now.wire.lower_ps;
	const std::uint64_t after_ps = later.wire.upper_ps - later.wire.lower_ps + 2;
	return RateInterval{
		static_cast<double>(kpn_pacer_rate(pacer_)) * 1e6 /
			static_cast<double>(std::uint64_t{ 1 } << KPN_RATE_SHIFT),
		static_cast<double>(after_ps - before_ps) * 1e6 / static_cast<double>(ahead_ns) / 2,
	};
}

kpn_bounds KeeponTransmitter::Bounds(std::uint32_t rate_ppb, std::uint32_t rate_change_ppb) const
{
	return kpn_pacer_bounds(pacer_, rate_ppb, rate_change_ppb);
}

std::unique_ptr<NodeClock> KeeponTransmitter::MakePhc()
{
	KeepHistory();
	if (spec_.keepon.Dual())
		return std::make_unique<DualClock>(*this);
	return std::make_unique<KeeponClock>(*this);
}

/// The core's clock is set once the wire runs.
bool KeeponTransmitter::SetStartOffset(std::int64_t offset_ns)
{
	start_offset_ns_ = offset_ns;
	return true;
}

/// After a disturbance.
void KeeponTransmitter::SyncAgain()
{
	if (!sync_kind_.restores || !synchronised_once_ || sync_pending_)
		return;
	KeepAgain();
}

bool KeeponTransmitter::RateIsConstant() const
{
	return nic_oscillator_.IsIdentity();
}

TimePs KeeponTransmitter::KeepAgain()
{
	sync_pending_ = true;
	sync_at_ = world_.now + spec_.sync_interval_ns * kPsPerNs;
	world_.events.Push(sync_at_, sync_);
	return sync_at_;
}

void KeeponTransmitter::OnSync(TimePs, std::uint64_t)
{
	const bool step = !synchronised_once_ || !State().synchronised;
	synchronised_once_ = true;
	sync_pending_ = false;
	sync_at_ = kNever;
	sync_kind_.keep(*this, step);
}

} // namespace keepon::sim
