// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "checks.hpp"
#include "keepon/sim/event_queue.hpp"
#include "keepon/sim/rng.hpp"

namespace keepon::sim::test
{

namespace
{

/// Notes what it is called with.
struct Listener {
	TimePs time = kNever;
	std::uint64_t argument = 0;
	std::uint64_t calls = 0;

	void OnTick(TimePs at, std::uint64_t value)
	{
		time = at;
		argument = value;
		calls++;
	}
	MemberEvent<&Listener::OnTick> tick{ *this };
};

} // namespace

/// Random pushes and pops against an ordered map; many equal times, some with ranks.
void TestEventQueue(Checks &checks)
{
	Rng rng(1, "test", "event queue");
	EventQueue queue;
	std::map<std::pair<TimePs, std::uint64_t>, std::uint64_t> expected;
	TimePs now = 0;
	Listener listener;
	for (std::uint64_t i = 0; i < 200'000; i++) {
		if (expected.size() < 3 || (rng.Below(2) && expected.size() < 1000)) {
			const TimePs time = now + rng.Below(50);
			if (rng.Below(3) == 0) {
				const auto rank = static_cast<std::uint32_t>(rng.Next());
				if (expected.emplace(std::pair(time, rank), i).second)
					queue.PushRanked(time, listener.tick, i, rank);
				continue;
			}
			expected[{ time, (std::uint64_t{ 1 } << 40) + queue.Pushed() }] = i;
			queue.Push(time, listener.tick, i);
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

	Listener other;
	queue.Push(3, listener.tick, 4);
	queue.Push(2, other.tick, 5);
	for (int i = 0; i < 2; i++) {
		const Event event = queue.Pop();
		event.handler->Handle(event.time, event.argument);
	}
	EXPECT(listener.calls == 1 && listener.time == 3 && listener.argument == 4);
	EXPECT(other.calls == 1 && other.time == 2 && other.argument == 5);
}

} // namespace keepon::sim::test
