// SPDX-License-Identifier: BSD-3-Clause
// What a simulation knows, as Python dicts and numpy arrays.
#pragma once

#include <nanobind/nanobind.h>

#include "keepon/sim/simulation.hpp"

namespace keepon::sim::bind
{

/// Throws ValueError if there is none of that number, or it has another driver.
KeeponTransmitter &KeeponAt(Simulation &simulation, NodeId node, std::uint32_t port);
nanobind::dict FramesOf(const Flow &flow);
/// Counts of a stream or load.
nanobind::dict FlowSummary(const Simulation &simulation, FlowId flow);
nanobind::dict StationSummary(Simulation &simulation, NodeId node);
nanobind::dict BridgeSummary(const Simulation &simulation, NodeId node);
nanobind::dict ClockSummary(Simulation &simulation, NodeId node);
nanobind::dict CaptureSummary(const Simulation &simulation);
nanobind::list PtpFlows(Simulation &simulation);
nanobind::dict BoundarySummary(Simulation &simulation, NodeId node, std::uint32_t port);
nanobind::dict HeadSummary(Simulation &simulation, NodeId node, std::uint32_t port);

} // namespace keepon::sim::bind
