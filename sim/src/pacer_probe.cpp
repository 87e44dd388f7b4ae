// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/pacer_probe.hpp"

#include <algorithm>
#include <cstdlib>

namespace keepon::sim
{

namespace
{

/// Distance of a PHC time from the nearest multiple of the slot time, in ps, rounded towards zero.
std::int64_t GridErrorPs(const kpn_time &t, std::uint64_t slot_ps)
{
	// All in 2^-32 ns; a slot time is a multiple of 1 ps = 2^32 / 1000 of these, so compare
	// 1000 times as much.
	const __int128 time = ((static_cast<__int128>(t.ns) << 32) + t.frac) * 1000;
	const __int128 slot = static_cast<__int128>(slot_ps) << 32;
	__int128 error = time % slot;
	if (error > slot / 2)
		error -= slot;
	return static_cast<std::int64_t>(error / (static_cast<__int128>(1) << 32));
}

} // namespace

void PacerProbe::MeasureBoundaries(ring_nic *nic, const kpn_clock *clock, std::uint64_t slot_ps,
				   std::uint64_t lock_seq, std::uint64_t nic_now, TimePs now)
{
	ring_nic_slot slot;
	ring_nic_advance(nic, nic_now);
	for (; ring_nic_latched(nic) > next_seq_; next_seq_++) {
		if (!ring_nic_find_slot(nic, next_seq_, &slot)) {
			boundaries_.skipped_slots++;
			continue;
		}
		if (slot.start_ps > nic_now)
			return;
		const std::int64_t error =
			std::llabs(GridErrorPs(kpn_clock_at(clock, slot.sent_ps), slot_ps));
		if (next_seq_ >= lock_seq) {
			boundaries_.locked_slots++;
			boundaries_.locked_max_ps = std::max(boundaries_.locked_max_ps, error);
			boundaries_.violations += error > spec_.boundary_bound_ps;
		} else {
			boundaries_.unlocked_slots++;
			boundaries_.unlocked_max_ps = std::max(boundaries_.unlocked_max_ps, error);
		}
		if (error > spec_.boundary_bound_ps && !boundaries_.steps.empty())
			boundaries_.steps.back().last_bad_ps =
				now - static_cast<TimePs>(nic_now - slot.start_ps);
	}
}

void PacerProbe::SampleHead(ring_nic *nic, const kpn_pacer *pacer, std::uint64_t cpu_ns,
			    std::uint64_t nic_now)
{
	const kpn_head head = kpn_pacer_head(pacer, cpu_ns);
	const ring_nic_position position = ring_nic_locate(nic, nic_now);

	if (heads_.samples >= spec_.head_samples_max)
		return;
	heads_.samples++;
	if (!head.valid) {
		heads_.invalid++;
		return;
	}
	const auto above_lower = static_cast<std::int64_t>(position.sent_ps - head.wire.lower_ps);
	const auto below_upper = static_cast<std::int64_t>(head.wire.upper_ps - position.sent_ps);
	heads_.violations += above_lower < 0 || below_upper < 0;
	heads_.behind_max_ps = std::max(heads_.behind_max_ps, -above_lower);
	heads_.ahead_max_ps = std::max(heads_.ahead_max_ps, -below_upper);
	heads_.seq_violations += position.seq > head.upper_seq;
	heads_.widths_ps.push_back(
		static_cast<std::int64_t>(head.wire.upper_ps - head.wire.lower_ps));
}

} // namespace keepon::sim
