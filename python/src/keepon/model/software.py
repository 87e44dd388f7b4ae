# SPDX-License-Identifier: BSD-3-Clause
"""Bridges that forward in software: what does not go with them."""

from __future__ import annotations

import itertools

from keepon.errors import ConfigError
from keepon.model.cables import node_of
from keepon.model.scenario import Bridge, Scenario
from keepon.model.topology import Topology

HARDWARE = "hardware"


def bridges(scenario: Scenario) -> set[str]:
    """Names of the bridges that forward in software."""
    return {bridge.name for bridge in scenario.bridge if bridge.forwarding != HARDWARE}


def _keys(bridge: Bridge) -> dict[str, bool]:
    """Keys that promise what software does not keep, and whether the bridge has them."""
    return {
        "gates": bridge.gates not in ("auto", "none"),
        "police": bridge.police != "none",
        "stream_filter": bool(bridge.stream_filter),
        "shaper": bool(bridge.shaper),
        "preemptable": bridge.preemptable is not None,
    }


def check(scenario: Scenario, source: str) -> None:
    """Refuse what needs frames at known times behind a bridge that has none.

    Raises:
        ConfigError: one sentence on the first.
    """
    theirs = bridges(scenario)
    for index, bridge in enumerate(scenario.bridge):
        where = f'{source}: key `bridge[{index}].KEY` (bridge "{bridge.name}"):'
        if bridge.forwarding == HARDWARE and bridge.software is not None:
            raise ConfigError(
                f'{where.replace("KEY", "software")} goes with forwarding "bridge", "xdp" or'
                ' "af-xdp" only; state one, or leave the table out'
            )
        for key, is_there in _keys(bridge).items():
            if is_there and (bridge.name in theirs or (key == "shaper" and theirs)):
                raise ConfigError(
                    f"{where.replace('KEY', key)} does not go with"
                    f" {', '.join(sorted(theirs))}, where software forwards frames at no known"
                    ' time; leave it out, or set forwarding = "hardware"'
                )
    if not theirs:
        return
    if scenario.sync.mode == "gptp":
        raise ConfigError(
            f'{source}: key `sync.mode` = "gptp": does not go with {", ".join(sorted(theirs))},'
            ' which forwards in software and stamps no messages; use "ptp" or "ideal"'
        )
    topology = Topology(scenario)
    for index, stream in enumerate(scenario.stream):
        where = f'{source}: key `stream[{index}].KEY` (stream "{stream.id}") ='
        if stream.redundancy > 1:
            raise ConfigError(
                f"{where.replace('KEY', 'redundancy')} {stream.redundancy}: must be 1 in a network"
                f" with {', '.join(sorted(theirs))}, which forwards in software"
            )
        passed = theirs & set(map(node_of, itertools.chain(*topology.paths(stream).values())))
        if passed and scenario.station_named(stream.talker).driver != "foreign":
            raise ConfigError(
                f'{where.replace("KEY", "talker")} "{stream.talker}": must be of driver "foreign",'
                f" of whose streams nothing is promised, as the way leads over"
                f" {', '.join(sorted(passed))}, where software forwards frames at no known time;"
                " change its driver, or state a route around it"
            )
