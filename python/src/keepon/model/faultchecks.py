# SPDX-License-Identifier: BSD-3-Clause
"""Faults are held against the stations that they strike."""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology

_OF_STATIONS = ("poll-stall", "clock-step", "link-down", "late-submit", "wire-pause")


def check(scenario: Scenario, source: str) -> None:
    """Their nodes are known to be there.

    Raises:
        ConfigError: one sentence on the first that its node cannot have.
    """
    ports = Topology(scenario).ports if scenario.fault else {}
    stations = {station.name: station for station in scenario.station}
    for index, fault in enumerate(scenario.fault):
        if fault.kind not in _OF_STATIONS:
            continue
        where = f"{source}: key `fault[{index}]"
        name = ports[fault.node].station if fault.node in ports else fault.node
        if name not in stations:
            raise ConfigError(
                f'{where}.node` = "{fault.node}": must be a station for {fault.kind}, and this is a'
                f" bridge; name one of {', '.join(stations)}"
            )
        driver = stations[name].driver
        drivers = scenario.drivers() if driver == "under-test" else [driver]
        if fault.kind == "poll-stall" and "keepon" not in drivers:
            raise ConfigError(
                f'{where}.kind` = "poll-stall": must be of a station with driver "keepon", as no'
                f' other driver polls, and "{name}" has {", ".join(drivers)}; name such a station,'
                " or another kind"
            )
