// SPDX-License-Identifier: BSD-3-Clause
// Clocks set by PTP, "ptp", which Simulation::SetSync() describes: the servo sees what becomes of
// them.
#include "keepon/sim/sync.hpp"

namespace keepon::sim
{

namespace
{

/// Set once, as by hand; the rest is PTP's.
void Keep(KeptClock &clock, bool)
{
	clock.Synchronise(true, kNever);
	clock.StepToStart();
}

const Registry<SyncKind>::Entry kEntry{ "ptp", { false, true, false, Keep } };

} // namespace

} // namespace keepon::sim
