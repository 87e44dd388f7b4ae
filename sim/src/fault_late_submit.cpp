// SPDX-License-Identifier: BSD-3-Clause
// Fault "late-submit": the next frame of a stream comes late to its station.
#include "keepon/sim/fault.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	target.station->DelayNextFrame(spec.value_ns * kPsPerNs);
}

const Registry<FaultKind>::Entry kEntry{ "late-submit",
					 { DurationFaultProblem, ExpectFault, Strike } };

} // namespace

} // namespace keepon::sim
