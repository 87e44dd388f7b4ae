// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "checks.hpp"
#include "keepon/sim/event_queue.hpp"
#include "keepon/sim/rng.hpp"

namespace keepon::sim::test
{

/// Random pushes and pops against an ordered map; many equal times.
void TestEventQueue(Checks &checks)
{
	Rng rng(1, "test", "event queue");
	EventQueue queue;
	std::map<std::pair<TimePs, std::uint64_t>, std::uint64_t> expected;
	TimePs now = 0;
	for (std::uint64_t i = 0; i < 200'000; i++) {
		if (expected.size() < 3 || (rng.Below(2) && expected.size() < 1000)) {
			const TimePs time = now + rng.Below(50);
			expected[{ time, queue.Pushed() }] = i;
			queue.Push(time, EventKind::kPoll, 7, i);
			continue;
		}
		const Event event = queue.Pop();
		EXPECT(event.time == expected.begin()->first.first &&
		       event.argument == expected.begin()->second);
		EXPECT(event.time >= now);
		now = event.time;
		expected.erase(expected.begin());
	}
	while (!queue.Empty()) {
		EXPECT(queue.Pop().argument == expected.begin()->second);
		expected.erase(expected.begin());
	}
	EXPECT(expected.empty());
}

} // namespace keepon::sim::test
