// SPDX-License-Identifier: BSD-3-Clause
// Stream gates and flow meters by hand: IEEE Std 802.1Q-2022 clauses 8.6.5.4 and 8.6.5.5, MEF 10.3
// clause 12.1, and net/sched/act_gate.c.
#include "checks.hpp"
#include "keepon/sim/psfp.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr std::int64_t kUs = 1000 * kPsPerNs;
constexpr std::int64_t kEpochNs = 1'700'000'000'000'000'000;

/// Open for 10 us and 3000 octets with priority 6, then shut for 10 us; at 5 us a cycle begins.
StreamGate Gate(bool as_linux, bool invalid_rx = false, bool exceeded = false)
{
	StreamGateSpec spec;
	spec.base_ns = kEpochNs + 5'000;
	spec.entries = { { true, 10'000, 6, 3000 }, { false, 10'000 } };
	spec.close_on_invalid_rx = invalid_rx;
	spec.close_on_octets_exceeded = exceeded;
	return StreamGate(spec, kEpochNs, as_linux);
}

bool Passes(StreamGate &gate, std::int64_t time, std::int64_t octets)
{
	int priority = 0;
	return gate.Passes(time, octets, priority);
}

void TestGate(Checks &checks)
{
	StreamGate gate = Gate(false);
	// The cycle before the base time: shut until 5 us.
	EXPECT(!Passes(gate, 5 * kUs - 1, 100) && Passes(gate, 5 * kUs, 1000));
	// What does not pass uses up nothing.
	EXPECT(!Passes(gate, 6 * kUs, 2001) && Passes(gate, 6 * kUs, 2000));
	EXPECT(!Passes(gate, 15 * kUs - 1, 1) && !Passes(gate, 15 * kUs, 0));
	EXPECT(Passes(gate, 25 * kUs, 3000));
	int priority = 2;
	EXPECT(gate.Passes(45 * kUs, 1, priority) && priority == 6);
}

void TestGateShutForGood(Checks &checks)
{
	StreamGate by_octets = Gate(false, false, true);
	EXPECT(!Passes(by_octets, 20 * kUs, 1) && Passes(by_octets, 25 * kUs, 1));
	EXPECT(!Passes(by_octets, 26 * kUs, 3000) && !Passes(by_octets, 27 * kUs, 1));
	EXPECT(!Passes(by_octets, 45 * kUs, 1));
	StreamGate by_rx = Gate(false, true, false);
	EXPECT(Passes(by_rx, 25 * kUs, 1) && !Passes(by_rx, 26 * kUs, 3000));
	EXPECT(Passes(by_rx, 45 * kUs, 1) && !Passes(by_rx, 40 * kUs, 1));
	EXPECT(!Passes(by_rx, 45 * kUs, 1));
}

void TestGateOfLinux(Checks &checks)
{
	StreamGate gate = Gate(true, true, true);
	// Open and without a limit until its base time.
	EXPECT(Passes(gate, 0, 9000) && Passes(gate, 5 * kUs - 1, 9000));
	// What it drops counts.
	EXPECT(Passes(gate, 5 * kUs, 1000) && !Passes(gate, 6 * kUs, 2001));
	EXPECT(!Passes(gate, 6 * kUs, 1) && !Passes(gate, 20 * kUs, 1));
	int priority = 2;
	EXPECT(gate.Passes(25 * kUs, 3000, priority) && priority == 2);
}

using Color = FlowMeter::Color;

/// 8 Mb/s, a byte a microsecond, into each bucket.
FlowMeterSpec Profile(std::int64_t cbs, std::int64_t ebs)
{
	FlowMeterSpec spec;
	spec.cir_bps = 8'000'000;
	spec.eir_bps = 8'000'000;
	spec.cbs_bytes = cbs;
	spec.ebs_bytes = ebs;
	return spec;
}

void TestMeter(Checks &checks)
{
	FlowMeter meter(Profile(1500, 1000));
	EXPECT(meter.Meter(0, 1000, false) == Color::kGreen);
	EXPECT(meter.Meter(0, 1000, false) == Color::kYellow);
	// 500 left; 499 us later a byte lacks, of which a red frame uses none.
	EXPECT(meter.Meter(499 * kUs, 1000, false) == Color::kRed);
	EXPECT(meter.Meter(500 * kUs, 1000, false) == Color::kGreen);
	EXPECT(meter.Meter(500 * kUs, 500, false) == Color::kYellow);
	// However long nothing comes, the buckets hold no more.
	EXPECT(meter.Meter(1'000'000 * kUs, 1500, false) == Color::kGreen);
	EXPECT(meter.Meter(1'000'000 * kUs, 1001, false) == Color::kRed);
	EXPECT(meter.Meter(1'000'000 * kUs, 1000, false) == Color::kYellow);
}

void TestMeterOptions(Checks &checks)
{
	FlowMeterSpec aware = Profile(1500, 1000);
	aware.color_aware = true;
	FlowMeter by_color(aware);
	EXPECT(by_color.Meter(0, 1000, true) == Color::kYellow);
	EXPECT(by_color.Meter(0, 1, true) == Color::kRed);
	EXPECT(by_color.Meter(0, 1500, false) == Color::kGreen);

	FlowMeterSpec coupled = Profile(1000, 1000);
	coupled.eir_bps = 0;
	for (const bool coupling : { false, true }) {
		coupled.coupling = coupling;
		FlowMeter meter(coupled);
		EXPECT(meter.Meter(0, 1000, false) == Color::kGreen);
		EXPECT(meter.Meter(0, 1000, false) == Color::kYellow);
		// After 1500 us the committed bucket is full, and 500 bytes did not fit.
		EXPECT(meter.Meter(1500 * kUs, 1000, false) == Color::kGreen);
		EXPECT(meter.Meter(1500 * kUs, 500, false) ==
		       (coupling ? Color::kYellow : Color::kRed));
	}

	FlowMeterSpec red = Profile(1000, 0);
	red.mark_all_red = true;
	FlowMeter for_good(red);
	EXPECT(for_good.Meter(0, 1001, false) == Color::kRed);
	EXPECT(for_good.Meter(1'000'000 * kUs, 1, false) == Color::kRed);
}

} // namespace

void TestPsfp(Checks &checks)
{
	TestGate(checks);
	TestGateShutForGood(checks);
	TestGateOfLinux(checks);
	TestMeter(checks);
	TestMeterOptions(checks);
}

} // namespace keepon::sim::test
