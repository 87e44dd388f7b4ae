# SPDX-License-Identifier: BSD-3-Clause
"""How long frames may be: an ordinary card's are longer than a slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from keepon.errors import ConfigError
from keepon.model.scenario import Scenario
from keepon.model.wire import FRAME_BYTES_MAX, FRAME_BYTES_MIN


class LongFlow(NamedTuple):
    """A stream or load whose frames are longer than any slot: how messages begin that are about
    their length, that, and its stations, the talker first.
    """

    key: str
    frame_bytes: int
    ends: list[str]


def long_flows(scenario: Scenario) -> Iterator[LongFlow]:
    """Those of a scenario."""
    flows = [
        ("stream", index, entry.id, entry.frame_bytes, [entry.talker, *entry.listeners])
        for index, entry in enumerate(scenario.stream)
    ] + [
        ("load", index, entry.id, entry.frame_bytes, [entry.talker, entry.listener])
        for index, entry in enumerate(scenario.load)
    ]
    for kind, index, name, frame_bytes, ends in flows:
        if frame_bytes > FRAME_BYTES_MAX:
            key = f'key `{kind}[{index}].frame_bytes` ({kind} "{name}") = {frame_bytes}'
            yield LongFlow(key, frame_bytes, ends)


def check(scenario: Scenario, source: str) -> None:
    """Refuse frames that a station with driver keepon can neither send nor receive.

    Raises:
        ConfigError: one sentence on the first such stream or load.
    """
    by_keepon = {"keepon"} | ({"under-test"} if "keepon" in scenario.drivers() else set())
    stations = {entry.name for entry in scenario.station if entry.driver in by_keepon}
    for flow in long_flows(scenario):
        if own := stations.intersection(flow.ends):
            raise ConfigError(
                f"{source}: {flow.key}: must be between {FRAME_BYTES_MIN} and {FRAME_BYTES_MAX},"
                " what slots and buffers of driver keepon hold, which station"
                f' "{min(own)}" has; send shorter frames, or take another driver there'
            )
