# SPDX-License-Identifier: BSD-3-Clause
"""How long frames may be: an ordinary card's are longer than a slot."""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.model.scenario import Scenario
from keepon.model.wire import FRAME_BYTES_MAX, FRAME_BYTES_MIN


def check(scenario: Scenario, source: str) -> None:
    """Refuse frames that a station with driver keepon can neither send nor receive.

    Raises:
        ConfigError: one sentence on the first such stream or load.
    """
    by_keepon = {"keepon"} | ({"under-test"} if "keepon" in scenario.drivers() else set())
    stations = {entry.name for entry in scenario.station if entry.driver in by_keepon}
    flows = [
        (f"stream[{index}]", f'stream "{entry.id}"', [entry.talker, *entry.listeners], entry)
        for index, entry in enumerate(scenario.stream)
    ] + [
        (f"load[{index}]", f'load "{entry.id}"', [entry.talker, entry.listener], entry)
        for index, entry in enumerate(scenario.load)
    ]
    for key, what, ends, entry in flows:
        if entry.frame_bytes > FRAME_BYTES_MAX and (own := stations.intersection(ends)):
            raise ConfigError(
                f"{source}: key `{key}.frame_bytes` ({what}) = {entry.frame_bytes}: must be between"
                f" {FRAME_BYTES_MIN} and {FRAME_BYTES_MAX}, what slots and buffers of driver keepon"
                f' hold, which station "{min(own)}" has; send shorter frames, or take another'
                " driver there"
            )
