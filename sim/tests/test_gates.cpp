// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "checks.hpp"
#include "keepon/sim/gates.hpp"
#include "keepon/sim/rng.hpp"

namespace keepon::sim::test
{

namespace
{

/// Gate state by the list itself, one nanosecond at a time.
bool IsOpen(const std::vector<GateEntry> &entries, std::int64_t base_ns, int queue, std::int64_t ns)
{
	std::int64_t cycle_ns = 0;
	for (const GateEntry &entry : entries)
		cycle_ns += entry.ns;
	if (cycle_ns == 0)
		return false;
	std::int64_t phase = FloorMod(ns - base_ns, cycle_ns);
	for (const GateEntry &entry : entries) {
		if (phase < entry.ns)
			return entry.mask >> queue & 1;
		phase -= entry.ns;
	}
	return false;
}

std::int64_t SlowStart(const std::vector<GateEntry> &entries, std::int64_t base_ns, int queue,
		       std::int64_t now_ns, std::int64_t duration_ns)
{
	std::int64_t open_since = now_ns;
	for (std::int64_t ns = now_ns; ns < now_ns + 1000; ns++) {
		if (ns - open_since >= duration_ns)
			return open_since * kPsPerNs;
		if (!IsOpen(entries, base_ns, queue, ns))
			open_since = ns + 1;
	}
	return kNever;
}

} // namespace

void TestGates(Checks &checks)
{
	Rng rng(4, "test", "gates");
	for (int round = 0; round < 3000; round++) {
		std::vector<GateEntry> entries;
		for (std::int64_t i = 0; i <= rng.Below(5); i++)
			entries.push_back(
				{ static_cast<std::uint32_t>(rng.Below(256)), 1 + rng.Below(30) });
		const std::int64_t base_ns = rng.Below(500) - 250;
		const Gates gates(base_ns * kPsPerNs, entries);
		for (int i = 0; i < 10; i++) {
			const int queue = static_cast<int>(rng.Below(8));
			const std::int64_t now_ns = rng.Below(400);
			const std::int64_t duration_ns = 1 + rng.Below(40);
			std::int64_t expected =
				SlowStart(entries, base_ns, queue, now_ns, duration_ns);
			const std::int64_t start = gates.EarliestStart(queue, now_ns * kPsPerNs,
								       duration_ns * kPsPerNs);
			EXPECT(start == expected);
		}
	}
	EXPECT(Gates().EarliestStart(3, 77, 1'000'000) == 77);
}

} // namespace keepon::sim::test
