// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <vector>

#include "checks.hpp"
#include "keepon/sim/node_clock.hpp"

namespace keepon::sim::test
{

namespace
{
constexpr TimePs kMs = 1'000'000'000;
constexpr TimePs kSecond = 1000 * kMs;
} // namespace

void TestNodeClock(Checks &checks)
{
	Rng rng(11, "test", "node clock");
	for (const double wander : { 0.0, 500.0 }) {
		Oscillator oscillator(35, wander, 2000, Rng(4, "test", "crystal"));
		OscillatorClock clock(oscillator);
		std::vector<std::int64_t> early;
		std::int64_t last = clock.ReadingPs(0);
		for (int i = 0; i < 2000; i++) {
			const TimePs now = i * kMs;
			// Slewed at random rates up to the limit, the clock never goes back and is
			// continuous where it is set.
			const std::int64_t before = clock.ReadingPs(now);
			clock.AdjFine(now, rng.Below(131'072'001) - 65'536'000);
			EXPECT(clock.ReadingPs(now) == before && before >= last);
			for (TimePs t = now; t < now + kMs; t += kMs / 7) {
				const std::int64_t reading = clock.ReadingPs(t);
				EXPECT(reading >= last);
				last = reading;
				const TimePs back = clock.TrueOf(reading);
				EXPECT(back <= t && clock.ReadingPs(back) >= reading);
			}
			early.push_back(clock.ReadingPs(now));
		}
		// What it read in the past it has read for ever.
		for (std::size_t i = 0; i < early.size(); i++)
			EXPECT(clock.ReadingPs(static_cast<TimePs>(i) * kMs) == early[i]);
		const std::int64_t reading = clock.ReadingPs(3 * kSecond);
		clock.Step(3 * kSecond, -1234);
		EXPECT(clock.ReadingPs(3 * kSecond) == reading - 1'234'000);
		clock.AdjFine(3 * kSecond, INT64_MAX / 2);
		EXPECT(clock.ScaledPpm() == 1000 * 65536);
	}

	// A rate of 1 ppm is 1 us in a second, to the resolution of the rate.
	Oscillator ideal(0, 0, 0, Rng(1, "test", "ideal"));
	OscillatorClock clock(ideal);
	clock.AdjFine(0, 65536);
	EXPECT(std::abs(clock.ReadingPs(kSecond) - kSecond - 1'000'000) <= 1);

	// Hardware latches the last tick of its own oscillator, a bridge too, and software reads
	// when it looks.
	HardwareClock nic(ideal, 8);
	EXPECT(nic.RxStampPs(1'007'999, 5'000'000) == 1'000'000 &&
	       nic.TxStampPs(1'008'000, 5'000'000) == 1'008'000);
	EXPECT(std::abs(clock.RxStampPs(0, 2'000'000) - 2'000'002) <= 1);
	BridgeClock bridge(ideal, 8);
	bridge.AdjFine(0, 65536);
	bridge.Step(0, 500);
	EXPECT(bridge.RxStampPs(1'007'999, 0) == 1'000'000);
	EXPECT(std::abs(bridge.ReadingOfStampPs(1'000'000) - 1'500'001) <= 1);
	EXPECT(std::abs(bridge.RateOfStamps() - 1.000001) < 1e-12);
}

} // namespace keepon::sim::test
