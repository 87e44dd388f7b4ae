// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <vector>

#include "checks.hpp"
#include "keepon/sim/latency.hpp"

namespace keepon::sim::test
{

namespace
{

std::vector<double> Draws(const LatencySpec &spec, std::size_t count)
{
	Latency latency(spec, Rng(6, "test", "latency"));
	std::vector<double> ns;
	for (std::size_t i = 0; i < count; i++)
		ns.push_back(static_cast<double>(latency.Draw()) / kPsPerNs);
	std::sort(ns.begin(), ns.end());
	return ns;
}

bool Near(double value, double expected, double relative)
{
	return std::abs(value - expected) <= relative * expected;
}

} // namespace

void TestLatency(Checks &checks)
{
	constexpr std::size_t kCount = 400'000;
	EXPECT(Draws({ .base_ns = 5, .median_ns = 7 }, 3) == std::vector<double>({ 12, 12, 12 }));

	// Quantiles of a lognormal: median x exp(sigma z).
	const std::vector<double> body =
		Draws({ .base_ns = 0, .median_ns = 1000, .sigma = 0.5 }, kCount);
	EXPECT(Near(body[kCount / 2], 1000, 0.01));
	EXPECT(Near(body[kCount * 8413 / 10000], 1000 * std::exp(0.5), 0.01));
	EXPECT(Near(body[kCount * 1587 / 10000], 1000 * std::exp(-0.5), 0.01));
	EXPECT(Near(body[kCount * 9987 / 10000], 1000 * std::exp(0.5 * 3.0115), 0.03));
	EXPECT(body.back() > 1000 * std::exp(0.5 * 3.9)); // beyond the table's last cell

	// What is above the limit is left out, not moved to it: the rest keeps its shape.
	const std::vector<double> limited =
		Draws({ .median_ns = 1000, .sigma = 0.5, .limit_ns = 2000 }, kCount);
	const double below = std::erfc(-std::log(2.0) / 0.5 * M_SQRT1_2) / 2;
	const auto low = std::upper_bound(limited.begin(), limited.end(), 1000.0);
	EXPECT(Near(static_cast<double>(low - limited.begin()) / kCount, 0.5 / below, 0.01));
	EXPECT(limited.back() <= 2000 && limited.back() > 1998);
	const auto top = std::upper_bound(limited.begin(), limited.end(), 1999.0);
	EXPECT(limited.end() - top < static_cast<std::ptrdiff_t>(kCount) / 1000);

	Latency counted({ .tail_probability = 0.5, .tail_mean_ns = 5 }, Rng(6, "test", "counted"));
	for (int i = 0; i < 1000; i++)
		counted.Draw();
	EXPECT(counted.Draws() == 1000 && counted.Tails() > 400 && counted.Tails() < 600);

	// One draw in a hundred has an exponential tail; the cap holds.
	const std::vector<double> tail = Draws(
		{ .base_ns = 10, .tail_probability = 0.01, .tail_mean_ns = 5000, .cap_ns = 20'000 },
		kCount);
	const auto slow = std::upper_bound(tail.begin(), tail.end(), 10.0);
	EXPECT(Near(static_cast<double>(tail.end() - slow), static_cast<double>(kCount) * 0.01,
		    0.06));
	EXPECT(Near(*(slow + (tail.end() - slow) / 2), 10 + 5000 * std::log(2), 0.06));
	EXPECT(tail.back() == 20'000 && tail.front() == 10);
}

} // namespace keepon::sim::test
