// SPDX-License-Identifier: BSD-3-Clause
// Fault "rate-step": the rate of a driver's clock is set, value_ns in ppb.
#include <cstdlib>

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
	if (problem.empty() && std::abs(spec.value_ns) > KPN_ADJ_PPB_MAX)
		return "rate-step of " + std::to_string(spec.value_ns) + " ppb is not within +-" +
		       std::to_string(KPN_ADJ_PPB_MAX);
	return problem;
}

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	target.port->Tx().Polled()->SetRate(spec.value_ns);
}

const Registry<FaultKind>::Entry kEntry{ "rate-step", { Problem, ExpectFault, Strike } };

} // namespace

} // namespace keepon::sim
