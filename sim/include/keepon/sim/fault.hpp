// SPDX-License-Identifier: BSD-3-Clause
// What may go wrong at a node, each sort in a file of its own.
#pragma once

#include <string>

#include "keepon/sim/registry.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class Port;
class PtpNetwork;
class Bridge;
class Station;

/// The node it happens to, and what a fault can get at.
struct FaultTarget {
	World &world;
	NodeId node;
	Station *station; // NULL: a bridge, or not linked
	Port *port;       // that the fault names; NULL: it has none of that number
	Bridge *bridge;   // NULL: a station
	PtpNetwork *ptp;  // NULL: clocks are not set by PTP
};

/// A sort of fault, by the name that stands in `kind`.
struct FaultKind {
	/// What is wrong with the values or the node, empty: nothing.
	std::string (*problem)(const FaultTarget &target, const FaultSpec &spec);
	/// Called before the start; NULL: nothing to do. A station without a call of
	/// Station::ExpectFault() may have done ahead of time what the fault would change.
	void (*announce)(const FaultTarget &target, const FaultSpec &spec);
	/// At its time, when everything that arrived before has been seen to; NULL: nothing happens
	/// then.
	void (*strike)(const FaultTarget &target, const FaultSpec &spec);
};

/// Of those that happen to a station: no station, no such port, or the time.
std::string StationFaultProblem(const FaultTarget &target, const FaultSpec &spec);
/// Of those with a duration.
std::string DurationFaultProblem(const FaultTarget &target, const FaultSpec &spec);
/// Of those that happen to a driver that polls, with a station. \return empty: it does
std::string PollsFaultProblem(const FaultTarget &target);
void ExpectFault(const FaultTarget &target, const FaultSpec &spec);

} // namespace keepon::sim
