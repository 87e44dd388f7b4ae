// SPDX-License-Identifier: BSD-3-Clause
// Fault "cpu-stall": firmware has all cores of a host.
#include "keepon/sim/fault.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

std::string Problem(const FaultTarget &target, const FaultSpec &spec)
{
	const std::string problem = StationFaultProblem(target, spec);
	if (problem.empty() && !target.station->Cpu().Contended())
		return "cpu-stall needs cores to contend for";
	return problem.empty() ? DurationFaultProblem(target, spec) : problem;
}

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	target.station->StallCores(spec.value_ns * kPsPerNs);
}

const Registry<FaultKind>::Entry kEntry{ "cpu-stall", { Problem, ExpectFault, Strike } };

} // namespace

} // namespace keepon::sim
