// SPDX-License-Identifier: BSD-3-Clause
// Fault "clock-step": the clock of a station is shifted.
#include "keepon/sim/fault.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	target.station->StepClock(spec.value_ns);
}

const Registry<FaultKind>::Entry kEntry{ "clock-step",
					 { StationFaultProblem, ExpectFault, Strike } };

} // namespace

} // namespace keepon::sim
