// SPDX-License-Identifier: BSD-3-Clause
// Fault "link-down": a link loses what is on it, either way.
#include "keepon/sim/bridge.hpp"
#include "keepon/sim/fault.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

std::string Problem(const FaultTarget &target, const FaultSpec &spec)
{
	if (!target.bridge)
		return DurationFaultProblem(target, spec);
	if (target.bridge->PortTo(spec.port) < 0)
		return "port = " + std::to_string(spec.port) + " is no neighbour of the bridge";
	return spec.value_ns < 0 ? "value_ns = " + std::to_string(spec.value_ns) + " is negative" :
				   "";
}

void Announce(const FaultTarget &target, const FaultSpec &spec)
{
	if (target.station)
		ExpectFault(target, spec);
}

std::uint32_t EndOf(const FaultTarget &target, const FaultSpec &spec)
{
	if (!target.bridge)
		return target.port->End();
	return target.bridge->Ports()[target.bridge->PortTo(spec.port)].end;
}

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	World &world = target.world;
	const std::uint32_t end = EndOf(target, spec);
	for (const std::uint32_t one : { end, world.ends[end].peer }) {
		world.ends[one].down_ps = world.now;
		world.ends[one].up_ps = world.now + spec.value_ns * kPsPerNs;
	}
}

const Registry<FaultKind>::Entry kEntry{ "link-down", { Problem, Announce, Strike } };

} // namespace

} // namespace keepon::sim
