// SPDX-License-Identifier: BSD-3-Clause
// How frames with a txtime leave a station that was given no qdiscs, each way in a file of its own.
#pragma once

#include <memory>

#include "keepon/sim/qdisc.hpp"
#include "keepon/sim/registry.hpp"
#include "keepon/sim/spec.hpp"

namespace keepon::sim
{

struct ReleaseSetup {
	QdiscHost &host;
	QdiscBelow &driver;
	const StationSpec &spec;
};

/// A way, by the name that stands in `release`.
struct ReleaseKind {
	/// Whether a frame may have a txtime; if not, it is sent when it comes.
	bool takes_txtimes;
	/// What frames with a txtime pass in front of the driver; NULL: nothing.
	std::unique_ptr<Qdisc> (*make)(const ReleaseSetup &setup);
};

} // namespace keepon::sim
