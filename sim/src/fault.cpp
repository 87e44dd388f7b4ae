// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/fault.hpp"

#include "keepon/sim/station.hpp"

namespace keepon::sim
{

std::string StationFaultProblem(const FaultTarget &target, const FaultSpec &spec)
{
	if (!target.station)
		return "it is no station with a link";
	if (!target.port)
		return "port = " + std::to_string(spec.port) + " is not within 0 to " +
		       std::to_string(target.station->Ports() - 1);
	if (spec.at_ns < 0)
		return "at_ns = " + std::to_string(spec.at_ns) + " is negative";
	return "";
}

std::string DurationFaultProblem(const FaultTarget &target, const FaultSpec &spec)
{
	std::string problem = StationFaultProblem(target, spec);
	if (problem.empty() && spec.value_ns < 0)
		return "value_ns = " + std::to_string(spec.value_ns) + " is negative";
	return problem;
}

std::string PollsFaultProblem(const FaultTarget &target)
{
	return target.port->Tx().Polled() ? "" : "poll-stall and rate-step need driver keepon";
}

void ExpectFault(const FaultTarget &target, const FaultSpec &)
{
	target.station->ExpectFault();
}

} // namespace keepon::sim
