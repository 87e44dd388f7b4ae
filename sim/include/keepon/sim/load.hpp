// SPDX-License-Identifier: BSD-3-Clause
// Applications that send best effort to one listener, each kind in a file of its own.
#pragma once

#include <memory>
#include <string>

#include "keepon/sim/application.hpp"
#include "keepon/sim/registry.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

struct LoadSetup {
	World &world;
	Host &host;
	FlowId flow;
	const LoadSpec &spec;
};

/// A sort of load, by the name that stands in `kind`.
struct LoadKind {
	std::unique_ptr<Application> (*make)(const LoadSetup &setup);
	/// What is wrong with the values, empty: nothing.
	std::string (*problem)(const LoadSpec &spec);
};

} // namespace keepon::sim
