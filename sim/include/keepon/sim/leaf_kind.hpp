// SPDX-License-Identifier: BSD-3-Clause
// What holds the frames of a transmit queue, each sort in a file of its own.
#pragma once

#include <memory>

#include "keepon/sim/qdisc.hpp"
#include "keepon/sim/qdisc_spec.hpp"
#include "keepon/sim/registry.hpp"

namespace keepon::sim
{

struct LeafSetup {
	QdiscHost &host;
	QdiscBelow &below;
	const LeafSpec &spec;
	Labeller *labeller; // of frames that have no time of their users; NULL: nobody labels them
	LeafTaker *taker;   // of what has a time; NULL: the leaf hands it on
};

/// A sort, by the name that stands in `kind`.
struct LeafKind {
	std::unique_ptr<Qdisc> (*make)(const LeafSetup &setup);
};

} // namespace keepon::sim
