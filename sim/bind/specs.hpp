// SPDX-License-Identifier: BSD-3-Clause
// From Python dicts to the specifications of sim/spec.hpp.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "keepon/sim/ptp_spec.hpp"
#include "keepon/sim/spec.hpp"

namespace keepon::sim::bind
{

StationSpec ReadStation(const std::string &name, nanobind::dict spec);
BridgeSpec ReadBridge(const std::string &name, nanobind::dict spec);
StreamSpec ReadStream(nanobind::dict spec);
LoadSpec ReadLoad(nanobind::dict spec);
PtpSpec ReadSync(nanobind::dict spec);
FaultSpec ReadFault(const std::string &kind, std::int64_t node, std::int64_t at_ns,
		    std::int64_t value_ns, std::int64_t port);

} // namespace keepon::sim::bind
