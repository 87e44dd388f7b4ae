// SPDX-License-Identifier: BSD-3-Clause
// Fault "wire-pause": PAUSE frames hold a station's wire. Its transmitter knows beforehand.
#include "keepon/sim/fault.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

constexpr std::int64_t kPauseNsMax =
	1000 * kNsPerS; // 33.5 ms at 1 Gb/s with one PAUSE frame; peers renew it

std::string Problem(const FaultTarget &target, const FaultSpec &spec)
{
	std::string problem = DurationFaultProblem(target, spec);
	if (problem.empty() && spec.value_ns > kPauseNsMax)
		return "wire-pause of " + std::to_string(spec.value_ns) +
		       " ns is not within 0 to " + std::to_string(kPauseNsMax);
	return problem;
}

void Announce(const FaultTarget &target, const FaultSpec &spec)
{
	target.port->Tx().AddPause({ spec.at_ns * kPsPerNs, spec.value_ns * kPsPerNs });
}

const Registry<FaultKind>::Entry kEntry{ "wire-pause", { Problem, Announce, nullptr } };

} // namespace

} // namespace keepon::sim
