// SPDX-License-Identifier: BSD-3-Clause
// PAUSE frames (IEEE Std 802.3 annex 31B) that the MAC of a station obeys without telling the
// driver. Known to the wire from the start, so that a frame's departure can be computed when it is
// fetched; nothing else reads them ahead of time.
#pragma once

#include <algorithm>
#include <vector>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// No frame starts from at_ps (true time) on; the one on the wire is finished. The wire then stays
/// idle for idle_ps of the NIC's own time. A pause within another prolongs it if it ends later.
struct WirePause {
	TimePs at_ps;
	TimePs idle_ps;
};

/// Keeps \p pauses in order of time, equal times in order of insertion.
inline void InsertPause(std::vector<WirePause> &pauses, const WirePause &pause)
{
	const auto later = [](const WirePause &a, const WirePause &b) { return a.at_ps < b.at_ps; };
	pauses.insert(std::upper_bound(pauses.begin(), pauses.end(), pause, later), pause);
}

} // namespace keepon::sim
