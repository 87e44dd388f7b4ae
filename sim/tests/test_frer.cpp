// SPDX-License-Identifier: BSD-3-Clause
// Sequence recovery by hand: IEEE Std 802.1CB-2017 clauses 7.4.3.4, 7.4.3.5 and 7.4.4.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "keepon/sim/frer.hpp"

namespace keepon::sim::test
{

namespace
{

using Fate = SequenceRecovery::Fate;
constexpr Fate kPassed = Fate::kPassed;
constexpr Fate kDuplicate = Fate::kDuplicate;
constexpr Fate kRogue = Fate::kRogue;

struct Frame {
	std::uint16_t sequence;
	Fate fate;
	std::int64_t at_ns = 0;
};

void Take(Checks &checks, SequenceRecovery &recovery, const std::vector<Frame> &frames)
{
	for (const Frame &frame : frames)
		EXPECT(recovery.Take(frame.sequence, frame.at_ns * kPsPerNs) == frame.fate);
}

RecoverySpec Spec(std::int64_t history_length)
{
	RecoverySpec spec;
	spec.history_length = history_length;
	return spec;
}

void TestVector(Checks &checks)
{
	SequenceRecovery recovery(Spec(4), false);
	// Any number at first. 1 comes before 0, over the end of 16 bits; 65533 is four behind 1, and
	// 5 four ahead: both are out of the window. 8 is four ahead of 4, 7 is not.
	Take(checks, recovery,
	     { { 65534, kPassed },
	       { 65534, kDuplicate },
	       { 65535, kPassed },
	       { 1, kPassed },
	       { 0, kPassed },
	       { 0, kDuplicate },
	       { 65533, kRogue },
	       { 5, kRogue },
	       { 4, kPassed },
	       { 8, kRogue },
	       { 7, kPassed } });
	const SequenceRecovery::Counters &count = recovery.CountersAt(0);
	EXPECT(count.passed == 6 && count.discarded == 5 && count.rogue == 3);
	// 1, 4 and 7 skip some, 0 is late. 7 pushes 1, 2 and 3 out, of which 1 was there.
	EXPECT(count.out_of_order == 4 && count.lost == 2 && count.resets == 1);
}

/// All frames by one way, then all by the other; and copy by copy over the end of 16 bits.
void TestBurstsAndWrap(Checks &checks)
{
	for (const int length : { 10, 9 }) {
		SequenceRecovery recovery(Spec(length), false);
		for (std::uint16_t i = 0; i < 10; i++)
			EXPECT(recovery.Take(i, 0) == kPassed);
		for (std::uint16_t i = 0; i < 10; i++)
			EXPECT(recovery.Take(i, 0) ==
			       (length == 9 && i == 0 ? kRogue : kDuplicate));
	}
	SequenceRecovery recovery(Spec(2), false);
	bool right = true;
	for (int i = 0; i < 70'000; i++) {
		const auto sequence = static_cast<std::uint16_t>(i);
		right = right && recovery.Take(sequence, 0) == kPassed &&
			recovery.Take(sequence, 0) == kDuplicate;
	}
	EXPECT(right && recovery.CountersAt(0).lost == 0);
}

/// Both copies of each number come up to `spread` numbers late, whichever first and past newer
/// ones, and some of one way not at all: each number passes once.
void TestAnyOrder(Checks &checks)
{
	std::mt19937 random(1);
	for (const int spread : { 2, 8, 31 }) {
		std::vector<std::pair<int, std::uint16_t>> arrivals;
		for (int i = 0; i < 140'000; i++) {
			const auto sequence = static_cast<std::uint16_t>(i);
			for (int copy = i / 100 % 2; copy < 2; copy++)
				arrivals.emplace_back(
					i + static_cast<int>(random() %
							     (static_cast<unsigned>(spread) + 1)),
					sequence);
		}
		std::stable_sort(arrivals.begin(), arrivals.end(),
				 [](const auto &a, const auto &b) { return a.first < b.first; });
		// The newest number is `spread` ahead of one that comes last.
		SequenceRecovery recovery(Spec(spread + 1), false);
		for (const auto &[at, sequence] : arrivals)
			recovery.Take(sequence, 0);
		const SequenceRecovery::Counters &count = recovery.CountersAt(0);
		EXPECT(count.passed == 140'000 && count.discarded == 70'000);
		EXPECT(count.rogue == 0 && count.lost == 0 && count.out_of_order > 1000);
	}
}

void TestReset(Checks &checks)
{
	RecoverySpec spec = Spec(4);
	spec.reset_ns = 1000;
	// 1000 ns after the last frame that passed; in individual recovery after the last frame.
	SequenceRecovery whole(spec, false);
	Take(checks, whole,
	     { { 100, kPassed, 0 },
	       { 100, kDuplicate, 999 },
	       { 100, kPassed, 1000 },
	       { 900, kRogue, 1999 },
	       { 900, kPassed, 2000 } });
	EXPECT(whole.CountersAt(2999 * kPsPerNs).resets == 3);
	EXPECT(whole.CountersAt(3000 * kPsPerNs).resets == 4);
	// What came before the reset is not missed: 900 has nothing before it.
	Take(checks, whole, { { 7, kPassed, 3000 }, { 8, kPassed, 3001 }, { 11, kPassed, 3002 } });
	EXPECT(whole.CountersAt(3002 * kPsPerNs).lost == 0);
	SequenceRecovery individual(spec, true);
	Take(checks, individual,
	     { { 100, kPassed, 0 },
	       { 100, kDuplicate, 999 },
	       { 100, kDuplicate, 1998 },
	       { 100, kPassed, 2998 } });
}

void TestMatch(Checks &checks)
{
	RecoverySpec spec;
	spec.match = true;
	SequenceRecovery recovery(spec, false);
	// It knows the last number alone, so that an older copy passes.
	Take(checks, recovery,
	     { { 5, kPassed },
	       { 5, kDuplicate },
	       { 6, kPassed },
	       { 5, kPassed },
	       { 65535, kPassed },
	       { 0, kPassed },
	       { 0, kDuplicate } });
	const SequenceRecovery::Counters &count = recovery.CountersAt(0);
	EXPECT(count.passed == 5 && count.discarded == 2 && count.out_of_order == 2);
}

/// A frame each 10 ns, twice until 100 ns and by one way from then on; tests at 100, 200, 300 ns,
/// a reset at 250.
void TestLatentErrors(Checks &checks)
{
	// At 100 ns 10 passed and 10 were discarded; at 200 ns 20 and 10, 10 off; at 250 ns 25 and 10
	// are the new base 15; at 300 ns 30 and 10, 5 off.
	const std::vector<std::pair<std::int64_t, std::int64_t>> errors{
		{ 0, 2 }, { 4, 2 }, { 5, 1 }, { 9, 1 }, { 10, 0 }
	};
	for (const auto &[difference, wanted] : errors) {
		RecoverySpec spec = Spec(2);
		spec.latent_period_ns = 100;
		spec.latent_reset_ns = 250;
		spec.latent_difference = difference;
		SequenceRecovery recovery(spec, false);
		for (std::uint16_t i = 0; i < 30; i++) {
			recovery.Take(i, i * 10 * kPsPerNs);
			if (i < 10)
				recovery.Take(i, i * 10 * kPsPerNs);
		}
		EXPECT(recovery.CountersAt(300 * kPsPerNs).latent_errors == wanted);
	}
}

} // namespace

void TestFrer(Checks &checks)
{
	TestVector(checks);
	TestBurstsAndWrap(checks);
	TestAnyOrder(checks);
	TestReset(checks);
	TestMatch(checks);
	TestLatentErrors(checks);
}

} // namespace keepon::sim::test
