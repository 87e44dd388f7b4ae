// SPDX-License-Identifier: BSD-3-Clause
// Clocks "ideal": network time, true by construction.
#include "keepon/sim/sync.hpp"

namespace keepon::sim
{

namespace
{

/// Oscillators that keep their rate need it once.
void Keep(KeptClock &clock, bool step)
{
	if (!clock.RateIsConstant())
		clock.Synchronise(step, clock.KeepAgain());
	else if (step)
		clock.Synchronise(true, kNever);
}

const Registry<SyncKind>::Entry kEntry{ "ideal", { false, false, true, Keep } };

} // namespace

} // namespace keepon::sim
