// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous traffic shaping by hand: IEEE Std 802.1Q-2022 clauses 8.6.11.3 and 8.6.8.5.
#include "checks.hpp"
#include "keepon/sim/ats.hpp"
#include "sender.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr std::int64_t kUs = 1000 * kPsPerNs;

/// One byte in a us, at most 300 at once.
struct Scheduled {
	std::int64_t group = 0;
	AtsScheduler scheduler;

	explicit Scheduled(std::int64_t max_residence_us = 1000)
		: scheduler({ {}, 8'000'000, 300, 1000 * max_residence_us, 0 })
	{
	}
	/// In us; -1: discarded.
	std::int64_t Process(std::int64_t time_us, std::int64_t octets)
	{
		const auto found = scheduler.Process(time_us * kUs, octets, group);
		return found ? *found / kUs : -1;
	}
};

/// BucketEmptyTime is -300 us at first, and 100 us later with each frame; bucketFullTime is 300 us
/// after it.
void TestBucket(Checks &checks)
{
	Scheduled one;
	for (const std::int64_t eligible : { 0, 0, 0, 100, 200 })
		EXPECT(one.Process(0, 100) == eligible);
	// Full again from 500 us on.
	for (const std::int64_t eligible : { 1000, 1000, 1000, 1100 })
		EXPECT(one.Process(1000, 100) == eligible);
	EXPECT(one.Process(1150, 50) == 1150 && one.Process(1150, 10) == 1160);
}

/// A frame of 400 is eligible 100 us behind the instant at which the bucket is full; BucketEmptyTime
/// is 100 + 100 - 0 us then.
void TestLongerThanBurst(Checks &checks)
{
	Scheduled one;
	EXPECT(one.Process(0, 400) == 100 && one.Process(0, 100) == 300);
}

/// Bytes of 8/7 us each: instants are rounded up, and none adds to the next one.
void TestExact(Checks &checks)
{
	AtsScheduler scheduler({ {}, 7'000'000, 1, 1'000'000, 0 });
	std::int64_t group = 0;
	for (std::int64_t n = 0; n <= 7'000; n++) {
		const std::int64_t late = n > 300 ? (n - 300) * 8 * kUs / 7 : 0;
		EXPECT(scheduler.Process(late, 1, group) == (n * 8 * kUs + 6) / 7);
	}
}

/// What would be eligible more than 150 us after its arrival is discarded and changes nothing.
void TestResidence(Checks &checks)
{
	Scheduled one(150);
	for (const std::int64_t eligible : { 0, 0, 0, 100, -1, -1 })
		EXPECT(one.Process(0, 100) == eligible);
	EXPECT(one.Process(49, 100) == -1 && one.Process(50, 100) == 200);
}

/// A stream waits for those before it that have its GroupEligibilityTime, and for no others.
void TestGroup(Checks &checks)
{
	Scheduled first;
	Scheduled second;
	EXPECT(first.Process(0, 300) == 0 && first.Process(0, 250) == 250);
	second.group = first.group;
	EXPECT(second.Process(10, 100) == 250 && second.Process(260, 200) == 260);
	// 200 of 300 were left at 250 us, and 10 more came.
	EXPECT(second.Process(260, 110) == 360);
}

void TestSelection(Checks &checks)
{
	Sender one;
	one.port.SortByEligibility(5);
	one.Put(5, 1, 5 * kUs);
	one.Put(5, 2, 2 * kUs);
	one.Put(5, 3, 5 * kUs);
	one.Put(0, 4);
	one.Put(4, 5, 5 * kUs);
	one.RunUntil(3 * kUs);
	one.Put(5, 6, 4 * kUs);
	one.RunUntil(10 * kUs);
	EXPECT(one.Is(0, 4, 0) && one.Is(1, 2, 2 * kUs) && one.Is(2, 6, 4 * kUs));
	EXPECT(one.Is(3, 1, 5 * kUs) && one.Is(4, 3, 5 * kUs + kPitchPs) && one.sent[5].frame == 5);
	// Queues that do not sort keep the order in which frames came.
	Sender other;
	other.Put(5, 1, 5 * kUs);
	other.Put(5, 2, 2 * kUs);
	other.RunUntil(10 * kUs);
	EXPECT(other.Is(0, 1, 5 * kUs));
}

} // namespace

void TestAts(Checks &checks)
{
	TestBucket(checks);
	TestLongerThanBurst(checks);
	TestExact(checks);
	TestResidence(checks);
	TestGroup(checks);
	TestSelection(checks);
}

} // namespace keepon::sim::test
