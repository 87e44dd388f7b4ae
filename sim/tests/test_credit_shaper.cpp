// SPDX-License-Identifier: BSD-3-Clause
// The credit-based shaper by hand: IEEE Std 802.1Q-2022 clause 8.6.8.2. A frame takes 960 bits of
// the wire with preamble and gap, 960 ns.
#include <memory>

#include "checks.hpp"
#include "keepon/sim/credit_shaper.hpp"
#include "sender.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr TimePs kNs = kPsPerNs;

struct Shaped : Sender {
	explicit Shaped(std::int64_t idle_slope_mbps) { Shape(5, idle_slope_mbps); }
	void Shape(int queue, std::int64_t idle_slope_mbps)
	{
		port.SetSelection(queue, std::make_unique<CreditShaper>(
						 port, queue, idle_slope_mbps * 1'000'000));
	}
	void PutAt(TimePs at, int queue, std::uint64_t frame)
	{
		RunUntil(at);
		Put(queue, frame, at);
	}
};

/// A frame costs 720 bits, which 250 Mb/s bring back in 2880 ns: every fourth place on the wire.
void TestRate(Checks &checks)
{
	Shaped one(250);
	for (const std::uint64_t frame : { 1, 2 })
		one.Put(5, frame);
	// Empty from 3840 ns on with -720 bits at 4800: half of them are back after 1440 ns.
	one.PutAt(6240 * kNs, 5, 3);
	EXPECT(one.Is(0, 1, 0) && one.Is(1, 2, 3840 * kNs) && one.sent.size() == 2);
	// 0 is the most that an empty queue has.
	one.PutAt(100'000 * kNs, 5, 4);
	one.Put(5, 5);
	one.RunUntil(200'000 * kNs);
	EXPECT(one.Is(2, 3, 7680 * kNs) && one.Is(3, 4, 100'000 * kNs));
	EXPECT(one.Is(4, 5, 103'840 * kNs));
}

/// Behind a frame of a lower queue credit is 240 bits, and -480 behind the next one.
void TestBlocked(Checks &checks)
{
	Shaped one(250);
	one.Put(0, 1);
	for (const std::uint64_t frame : { 2, 3 })
		one.Put(5, frame);
	one.Put(0, 4);
	one.RunUntil(10'000 * kNs);
	EXPECT(one.Is(1, 2, 960 * kNs) && one.Is(2, 4, 1920 * kNs) && one.Is(3, 3, 3840 * kNs));
}

/// 864 bits behind the lower frame, 768 as the queue is empty: none are left. Of a frame that comes
/// while the last one is sent they are.
void TestReset(Checks &checks)
{
	for (const TimePs again : { 1000 * kNs, 3000 * kNs }) {
		Shaped one(900);
		one.Put(0, 1);
		one.Put(5, 2);
		one.PutAt(again, 5, 3);
		one.Put(5, 4);
		one.RunUntil(10'000 * kNs);
		const bool kept = again < 1920 * kNs;
		const TimePs first = kept ? 1920 * kNs : again;
		// 96 bits take 320/3 ns.
		EXPECT(one.Is(2, 3, first));
		EXPECT(one.Is(3, 4, first + 960 * kNs + (kept ? 0 : 106'667)));
	}
}

/// A higher shaped class sends as long as it has credit, and the lower one gathers some.
void TestTwoClasses(Checks &checks)
{
	Shaped one(250);
	one.Shape(4, 500);
	one.Put(0, 1);
	for (const std::uint64_t frame : { 10, 11 })
		one.Put(5, frame);
	for (const std::uint64_t frame : { 20, 21, 22 })
		one.Put(4, frame);
	one.RunUntil(20'000 * kNs);
	// Queue 4: 480 at 960 ns, 960 at 1920, 480 at 2880, 0 at 3840. Queue 5: 240, -480, and 0 at
	// 3840, where it goes first; then 480 of queue 4 are left at 4800.
	EXPECT(one.Is(1, 10, 960 * kNs) && one.Is(2, 20, 1920 * kNs) && one.Is(3, 21, 2880 * kNs));
	EXPECT(one.Is(4, 11, 3840 * kNs) && one.Is(5, 22, 4800 * kNs));
}

/// Open for half of 9600 ns: 500 Mb/s while it is open bring back the 480 bits in 960 ns.
void TestShut(Checks &checks)
{
	Shaped one(1000);
	one.port.SetGates(Gates(0, { { 0x20, 4800 }, { 0x01, 4800 } }), one.oscillator, nullptr);
	one.Shape(5, 250);
	for (const std::uint64_t frame : { 1, 2, 3, 4, 5 })
		one.Put(5, frame);
	one.RunUntil(20'000 * kNs);
	EXPECT(one.Is(1, 2, 1920 * kNs) && one.Is(2, 3, 3840 * kNs) && one.Is(3, 4, 10'560 * kNs));
	EXPECT(one.Is(4, 5, 12'480 * kNs));
	bool refused = false;
	try {
		one.Shape(5, 501);
	} catch (const ValueError &) {
		refused = true;
	}
	EXPECT(refused);
}

/// Over the edge of the cycle: open from 8 to 14 of 10 us.
void TestOpenTime(Checks &checks)
{
	const Gates gates(3000 * kNs, { { 1, 4000 }, { 0, 4000 }, { 1, 2000 } });
	EXPECT(gates.OpenPs(0) == 6000 * kNs && gates.OpenTime(0, 3000 * kNs) == 0);
	EXPECT(gates.OpenTime(0, 5000 * kNs) == 2000 * kNs);
	EXPECT(gates.OpenTime(0, 11'500 * kNs) == 4500 * kNs);
	EXPECT(gates.OpenTime(0, 14'000 * kNs) == 7000 * kNs);
	EXPECT(gates.TimeOfOpen(0, 4000 * kNs) == 7000 * kNs);
	EXPECT(gates.TimeOfOpen(0, 4001 * kNs) == 11'001 * kNs);
	EXPECT(gates.TimeOfOpen(0, 7000 * kNs) == 14'000 * kNs);
	EXPECT(gates.TimeOfOpen(0, 0) == 3000 * kNs);
}

} // namespace

void TestCreditShaper(Checks &checks)
{
	TestRate(checks);
	TestBlocked(checks);
	TestReset(checks);
	TestTwoClasses(checks);
	TestShut(checks);
	TestOpenTime(checks);
}

} // namespace keepon::sim::test
