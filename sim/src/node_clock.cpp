// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/node_clock.hpp"

#include <algorithm>

namespace keepon::sim
{

const OscillatorClock::Law &OscillatorClock::LawAt(TimePs t) const
{
	if (laws_.back().from <= t)
		return laws_.back();
	const auto later = [](TimePs time, const Law &law) { return time < law.from; };
	const auto found = std::upper_bound(laws_.begin(), laws_.end(), t, later);
	return found == laws_.begin() ? laws_.front() : *(found - 1);
}

TimePs OscillatorClock::TrueOf(std::int64_t reading_ps)
{
	const Law &law = LawNow();
	const std::int64_t delta = reading_ps - law.reading;
	const double rate = static_cast<double>(law.rate) / 0x1p48;
	std::int64_t local =
		law.local + delta -
		static_cast<std::int64_t>(static_cast<double>(delta) * (rate / (1.0 + rate)));
	// The estimate in double is off by some ps at most; the law decides.
	while (ReadingOf(law, local) < reading_ps)
		local++;
	while (ReadingOf(law, local - 1) >= reading_ps)
		local--;
	return oscillator_.TrueOf(local);
}

void OscillatorClock::Put(const Law &law)
{
	if (laws_.back().from == law.from)
		laws_.back() = law;
	else
		laws_.push_back(law);
}

void OscillatorClock::AdjFine(TimePs now, std::int64_t scaled_ppm)
{
	const std::int64_t local = oscillator_.Local(now);
	scaled_ppm_ = ClampScaledPpm(scaled_ppm, RateLimitPpb());
	// scaled_ppm / (2^16 x 10^6) x 2^48, rounded down: 2^-48 of the rate is 3.6e-15.
	const auto rate =
		static_cast<std::int64_t>((static_cast<__int128>(scaled_ppm_) << 32) / 1'000'000);
	Put({ now, local, ReadingOf(LawNow(), local), rate });
}

void OscillatorClock::StepPs(TimePs now, std::int64_t delta_ps)
{
	const std::int64_t local = oscillator_.Local(now);
	Put({ now, local, ReadingOf(LawNow(), local) + delta_ps, LawNow().rate });
}

/// The counter of the stamp unit is read at the last tick before \p t; the driver hands on full
/// nanoseconds, rounded.
std::int64_t HardwareClock::Latch(TimePs t)
{
	const std::int64_t local = FloorDiv(oscillator_.Local(t), tick_ps_) * tick_ps_;
	return FloorDiv(ReadingOf(LawAt(t), local) + kPsPerNs / 2, kPsPerNs) * kPsPerNs;
}

} // namespace keepon::sim
