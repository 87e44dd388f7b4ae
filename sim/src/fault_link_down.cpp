// SPDX-License-Identifier: BSD-3-Clause
// Fault "link-down": the link of a station loses what is on it, either way.
#include "keepon/sim/fault.hpp"
#include "keepon/sim/station.hpp"

namespace keepon::sim
{

namespace
{

void Strike(const FaultTarget &target, const FaultSpec &spec)
{
	World &world = target.world;
	const std::uint32_t end = target.port->End();
	for (const std::uint32_t one : { end, world.ends[end].peer }) {
		world.ends[one].down_ps = world.now;
		world.ends[one].up_ps = world.now + spec.value_ns * kPsPerNs;
	}
}

const Registry<FaultKind>::Entry kEntry{ "link-down",
					 { DurationFaultProblem, ExpectFault, Strike } };

} // namespace

} // namespace keepon::sim
