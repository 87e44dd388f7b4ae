// SPDX-License-Identifier: BSD-3-Clause
// Test hooks: what the core believes, compared with the truth only a simulator has. Measures,
// decides nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "keepon/sim/core.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// Slot starts against the grid k x slot time in PHC time, measured from the true wire position and
/// the law in force.
struct BoundaryStatistics {
	std::int64_t locked_slots = 0;  // at or after the core's lock_seq
	std::int64_t locked_max_ps = 0; // greatest |error| of these
	std::int64_t violations = 0;    // of these, more than the bound given
	std::int64_t unlocked_slots = 0;
	std::int64_t unlocked_max_ps = 0;
	std::int64_t skipped_slots = 0; // forgotten by the NIC model before they were measured

	/// One step of the clock: when, and the start of the last slot after it that was off by
	/// more than the bound.
	struct Step {
		TimePs at_ps;
		TimePs last_bad_ps;
	};
	std::vector<Step> steps;
};

/// kpn_pacer_head() at random times against the true wire position.
struct HeadStatistics {
	std::int64_t samples = 0;
	std::int64_t invalid = 0;        // the core said it did not know
	std::int64_t violations = 0;     // the truth was outside the interval
	std::int64_t behind_max_ps = 0;  // by how much at most the wire was before its lower end
	std::int64_t ahead_max_ps = 0;   // and past its upper end
	std::int64_t seq_violations = 0; // the true slot was beyond upper_seq
	std::vector<std::int64_t> widths_ps;
};

class PacerProbe
{
public:
	explicit PacerProbe(const ProbeSpec &spec) : spec_(spec) {}

	const ProbeSpec &Spec() const { return spec_; }

	/// Measure every slot that started since the last call and not after \p nic_now. To be
	/// called before each change of the clock law, and often enough that the NIC model still
	/// remembers.
	void MeasureBoundaries(ring_nic *nic, const kpn_clock *clock, std::uint64_t slot_ps,
			       std::uint64_t lock_seq, std::uint64_t nic_now, TimePs now);
	void NoteStep(TimePs now) { boundaries_.steps.push_back({ now, now }); }

	void SampleHead(ring_nic *nic, const kpn_pacer *pacer, std::uint64_t cpu_ns,
			std::uint64_t nic_now);

	const BoundaryStatistics &Boundaries() const { return boundaries_; }
	const HeadStatistics &Heads() const { return heads_; }

private:
	ProbeSpec spec_;
	BoundaryStatistics boundaries_;
	HeadStatistics heads_;
	std::uint64_t next_seq_ = 0;
};

} // namespace keepon::sim
