// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include "checks.hpp"
#include "keepon/sim/oscillator.hpp"

namespace keepon::sim::test
{

namespace
{

void CheckInverse(Checks &checks, Oscillator &oscillator, Rng &rng, TimePs span)
{
	TimePs last_t = 0;
	std::int64_t last_local = oscillator.Local(0);
	for (int i = 0; i < 20'000; i++) {
		const TimePs t = rng.Below(span);
		const std::int64_t local = oscillator.Local(t);
		// Never decreasing, whatever the order of questions.
		EXPECT((t >= last_t) == (local >= last_local) || local == last_local);
		const TimePs back = oscillator.TrueOf(local);
		EXPECT(back <= t && oscillator.Local(back) >= local);
		EXPECT(back == 0 || oscillator.Local(back - 1) < local);
		last_t = t;
		last_local = local;
	}
}

} // namespace

void TestOscillator(Checks &checks)
{
	constexpr TimePs kSecond = 1'000'000'000'000;
	Rng rng(3, "test", "oscillator");
	for (const double ppm : { -1000.0, -50.0, -0.001, 0.0, 0.001, 37.5, 1000.0 }) {
		Oscillator constant(ppm, 0, 0, rng);
		EXPECT(constant.IsConstant() && constant.IsIdentity() == (ppm == 0));
		// One hour: exact but for the resolution of the rate, 2^-48.
		const auto error =
			static_cast<double>(constant.Local(3600 * kSecond) - 3600 * kSecond) -
			ppm * 3600e6;
		EXPECT(std::abs(error) <= 15);
		CheckInverse(checks, constant, rng, 3600 * kSecond);
		Oscillator wandering(ppm, 500, 2000, Rng(5, "test", "wander"));
		CheckInverse(checks, wandering, rng, 30 * kSecond);
	}

	// The walk stays within its bound, changes no faster than stated, and does change.
	Oscillator walk(10, 1000, 300, Rng(9, "test", "walk"));
	std::vector<double> rates_ppb;
	constexpr TimePs kMs = kSecond / 1000;
	for (TimePs t = 0; t < 60 * kSecond; t += kMs)
		rates_ppb.push_back(static_cast<double>(walk.Local(t + kMs) - walk.Local(t) - kMs));
	double least = 1e9;
	double most = -1e9;
	for (std::size_t i = 0; i < rates_ppb.size(); i++) {
		least = std::min(least, rates_ppb[i]);
		most = std::max(most, rates_ppb[i]);
		EXPECT(i == 0 || std::abs(rates_ppb[i] - rates_ppb[i - 1]) <= 1 + 2);
	}
	EXPECT(least >= 10'000 - 300 - 2 && most <= 10'000 + 300 + 2);
	EXPECT(most - least > 20);
}

} // namespace keepon::sim::test
