// SPDX-License-Identifier: BSD-3-Clause
// Fault "lost-sync": no Sync gets into a node for a while.
#include "keepon/sim/fault.hpp"
#include "keepon/sim/ptp_network.hpp"

namespace keepon::sim
{

namespace
{

std::string Problem(const FaultTarget &target, const FaultSpec &spec)
{
	if (!target.ptp || !target.ptp->TakesPart(target.node))
		return "lost-sync needs a node that PTP synchronises";
	if (spec.at_ns < 0 || spec.value_ns < 0)
		return "lost-sync at " + std::to_string(spec.at_ns) + " ns for " +
		       std::to_string(spec.value_ns) + " ns: neither is negative";
	return "";
}

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	target.ptp->LoseSync(target.node, target.world.now + spec.value_ns * kPsPerNs);
}

const Registry<FaultKind>::Entry kEntry{ "lost-sync", { Problem, nullptr, Strike } };

} // namespace

} // namespace keepon::sim
