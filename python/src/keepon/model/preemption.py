# SPDX-License-Identifier: BSD-3-Clause
"""Frame preemption of bridges: where it is in effect, and what its keys must fit.

IEEE Std 802.1Q-2022 clause 6.7.2 (802.1Qbu was the amendment) and IEEE Std 802.3-2022 clause 99
(802.3br).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from keepon.model.cables import Hop, directions, node_of
from keepon.model.wire import GAP_BYTES, PREAMBLE_BYTES

if TYPE_CHECKING:
    from keepon.model.scenario import Bridge, Scenario

HOLD = 0x100
"""Beside the gates of an entry: its operation is Set-And-Hold-MAC."""
FRAGMENTS_BYTES = (64, 128, 192, 256)
"""Least mPackets, mCRC included, by addFragSize."""
_MCRC_BYTES = 4
_LAST_BYTES_MIN = 64


def queues_of(bridge: Bridge) -> int:
    """A bit for each queue whose frames are preemptable."""
    queues = 0
    for priority in bridge.preemptable or []:
        queues |= 1 << bridge.class_of(priority)
    return queues


def wait_bytes(bridge: Bridge) -> int:
    """The most of a preemptable frame that an express one waits for, from the preamble to the end
    of the gap: what is one byte too short to become two mPackets.

    It can be cut when the part sent has the least length with its mCRC, and 64 bytes are left.
    """
    uncut_bytes = bridge.min_fragment_bytes - _MCRC_BYTES + _LAST_BYTES_MIN - 1
    return PREAMBLE_BYTES + uncut_bytes + GAP_BYTES


def ports(scenario: Scenario) -> dict[Hop, Bridge]:
    """Ports whose bridge preempts, for both ends of the link can."""
    own = {bridge.name: bridge for bridge in scenario.bridge if bridge.preemptable}
    able = {*own, *(station.name for station in scenario.station if station.preemption)}
    ways = itertools.chain.from_iterable(directions(link.ends for link in scenario.link))
    return {way: own[way[0]] for way in ways if way[0] in own and node_of(way[1]) in able}


def wrong(scenario: Scenario, index: int) -> tuple[str, Any, str] | None:
    """Key, value and expectation of what a bridge's keys of preemption do not fit."""
    bridge = scenario.bridge[index]
    if bridge.min_fragment_bytes not in FRAGMENTS_BYTES:
        key, said = (
            "min_fragment_bytes",
            "must be 64, 128, 192 or 256; choose one (addFragSize 0 to 3)",
        )
        return f"bridge[{index}].{key}", bridge.min_fragment_bytes, said
    if bridge.preemptable is None or (misfit := _misfit(scenario, bridge)) is None:
        return None
    return f"bridge[{index}].preemptable", bridge.preemptable, misfit


def _misfit(scenario: Scenario, bridge: Bridge) -> str | None:
    """Why a bridge cannot have these preemptable priorities."""
    given = bridge.preemptable or []
    if not given:
        return "every queue is express then; list priorities of best effort, or leave it out"
    classes = {bridge.class_of(priority) for priority in given}
    for priority in range(8):
        if priority not in given and (tc := bridge.class_of(priority)) in classes:
            return (
                f"must list all priorities of a traffic class or none, and {priority} has class"
                f" {tc}, too; list it, leave out the others of that class, or state more queues"
            )
    if len(given) == 8:
        return "no queue is express then; leave out the priorities of streams"
    express = {stream.priority: f'stream "{stream.id}"' for stream in scenario.stream}
    if scenario.sync.by_ptp:
        express[scenario.sync.priority] = "PTP"
    for priority in given:
        if priority in express:
            return (
                f"must not list {priority}, the priority of {express[priority]}, as only express"
                " frames have bounds; leave it out, or choose another priority there"
            )
    if bridge.shaper:
        return "is not for a bridge with shapers; leave out one of the two"
    if bridge.gates not in ("auto", "none"):
        return (
            'needs gates = "auto" or "none", as other gate lists have no HOLD; leave out one of'
            " the two"
        )
    if not any(here == bridge.name for here, _ in ports(scenario)):
        return (
            "no neighbour can put fragments together; set preemption = true at stations whose card"
            " can, preemptable at bridges, or leave it out"
        )
    return None
