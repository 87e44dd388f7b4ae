// SPDX-License-Identifier: BSD-3-Clause
// Fault "poll-stall": no poll of a driver comes for a while.
#include "keepon/sim/fault.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

std::string Problem(const FaultTarget &target, const FaultSpec &spec)
{
	std::string problem = StationFaultProblem(target, spec);
	if (problem.empty())
		problem = PollsFaultProblem(target);
	return problem.empty() ? DurationFaultProblem(target, spec) : problem;
}

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	target.port->Tx().Polled()->StallPolls(target.world.now + spec.value_ns * kPsPerNs);
}

const Registry<FaultKind>::Entry kEntry{ "poll-stall", { Problem, ExpectFault, Strike } };

} // namespace

} // namespace keepon::sim
