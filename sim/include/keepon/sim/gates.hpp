// SPDX-License-Identifier: BSD-3-Clause
// Transmission gates of one port (IEEE Std 802.1Q-2022 clauses 8.6.8.4, 8.6.9): when may a frame of
// a queue start so that it ends before its gate closes. Times are ps of the bridge's own clock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "keepon/sim/spec.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

class Gates
{
public:
	/// Open while the MAC is released: the operation of the entry is not Set-And-Hold-MAC.
	static constexpr int kRelease = 8;

	Gates() = default;

	/// \param base_ps  start of a cycle, by the bridge's clock, any sign; entries not empty,
	/// each ns > 0
	Gates(std::int64_t base_ps, const std::vector<GateEntry> &entries);

	/// Earliest time at or after \p now at which a transmission of \p duration fits; kNever if
	/// it fits no window.
	std::int64_t EarliestStart(int queue, std::int64_t now, std::int64_t duration) const;

	/// Latest time at which a transmission of \p duration fits that begins before the gate,
	/// which is open at \p now, closes; \p now if it is closed, kNever if it never closes.
	std::int64_t LastStart(int queue, std::int64_t now, std::int64_t duration) const;

	bool Any() const { return cycle_ps_ != 0; }

	std::int64_t CyclePs() const { return cycle_ps_; }
	/// Of each cycle.
	std::int64_t OpenPs(int queue) const;
	/// For how long the gate of \p queue has been open at \p now, since the cycle that begins
	/// at the base time; and the least time of such a length, with a gate that opens.
	std::int64_t OpenTime(int queue, std::int64_t now) const;
	std::int64_t TimeOfOpen(int queue, std::int64_t open) const;

private:
	struct Window {
		std::int64_t start;
		std::int64_t end; // beyond the cycle where the gate stays open into the next
	};

	/// Of \p window in [0, \p phase) of a cycle.
	std::int64_t OpenIn(const Window &window, std::int64_t phase) const;

	std::int64_t base_ps_ = 0;
	std::int64_t cycle_ps_ = 0;
	std::array<bool, kRelease + 1> always_{};
	std::array<std::vector<Window>, kRelease + 1> windows_;
};

} // namespace keepon::sim
