# SPDX-License-Identifier: BSD-3-Clause
"""Faults are held against the stations that they strike."""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.model.scenario import Fault, Scenario
from keepon.model.topology import Topology

_OF_STATIONS = ("poll-stall", "clock-step", "link-down", "late-submit", "wire-pause", "babble")
BABBLE_NS_MIN, BABBLE_NS_MAX = 1_000, 10_000_000_000


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
        if fault.kind == "babble":
            _check_babble(scenario, where, fault)
        driver = stations[name].driver
        drivers = scenario.drivers() if driver == "under-test" else [driver]
        if fault.kind == "poll-stall" and "keepon" not in drivers:
            raise ConfigError(
                f'{where}.kind` = "poll-stall": must be of a station with driver "keepon", as no'
                f' other driver polls, and "{name}" has {", ".join(drivers)}; name such a station,'
                " or another kind"
            )


def _check_babble(scenario: Scenario, where: str, fault: Fault) -> None:
    talkers = list(dict.fromkeys(stream.talker for stream in scenario.stream))
    if fault.node not in talkers:
        raise ConfigError(
            f'{where}.node` = "{fault.node}": must be the talker of a stream for babble, of which'
            f" it sends more; name one of {', '.join(talkers)}"
        )
    if not BABBLE_NS_MIN <= fault.value_ns <= BABBLE_NS_MAX:
        raise ConfigError(
            f"{where}.value_ns` = {fault.value_ns}: must be within {BABBLE_NS_MIN} to"
            f" {BABBLE_NS_MAX}; for babble it is the time from one frame too many to the next"
        )
