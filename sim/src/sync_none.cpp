// SPDX-License-Identifier: BSD-3-Clause
// Clocks that nobody sets, "none": agreed at the start, then each its own oscillator.
#include "keepon/sim/sync.hpp"

namespace keepon::sim
{

namespace
{

void Keep(KeptClock &clock, bool step)
{
	if (step)
		clock.Synchronise(true, kNever);
}

const Registry<SyncKind>::Entry kEntry{ "none", { true, false, false, Keep } };

} // namespace

} // namespace keepon::sim
