# SPDX-License-Identifier: BSD-3-Clause
"""Stations whose link goes through the driver that their card has (docs/nics.md)."""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.model.scenario import Scenario

LEAD_NS = 3_000_000
"""Most that such a link has handed over to the driver ahead of the wire."""


def check(scenario: Scenario, source: str) -> None:
    """Refuse what such a link cannot do.

    Raises:
        ConfigError: one sentence on the first key.
    """
    generic = set()
    for index, station in enumerate(scenario.station):
        if station.driver not in ("keepon", "under-test") or station.keepon.backend == "native":
            continue
        generic.add(station.name)
        if station.keepon.clock == "dual":
            raise ConfigError(
                f'{source}: key `station[{index}].keepon.clock` (station "{station.name}") ='
                ' "dual": must be "interpolated" or "counter" with backend = "generic", which has'
                ' no receive ring; choose one, or backend = "native"'
            )
    for index, stream in enumerate(scenario.stream):
        if stream.talker in generic and stream.advance_ns < LEAD_NS:
            raise ConfigError(
                f'{source}: key `stream[{index}].advance_ns` (stream "{stream.id}") ='
                f' {stream.advance_ns}: must be at least {LEAD_NS} with backend = "generic" of'
                f' talker "{stream.talker}", whose slots are with the card\'s driver so long before'
                ' they leave; raise it, or take backend = "native"'
            )
