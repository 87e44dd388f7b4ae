# SPDX-License-Identifier: BSD-3-Clause
"""Instants at which a station can release frames, and the slots that contain them."""

from __future__ import annotations

import math
from dataclasses import replace

from keepon.model.scenario import Stream
from keepon.model.wire import PS_PER_NS, ceil_ns
from keepon.planner.network.flows import Flow
from keepon.planner.stations import StationPlan


def on_grid(station: StationPlan, stream: Stream, at_ps: int) -> int:
    """First whole-ns txtime, at or after `at_ps`, of an instant that the driver can meet.

    At rates whose slots never start on a whole ns (a byte of 0.8 ns: 10 Gb/s) it is the txtime that
    rounds to the intended slot: the last whole ns before its start, or the first after its start
    where the class rounds down.
    """
    grid_ps, phase_ps = station.grid_ps, station.phase_ps
    release_ps = ceil_ns(at_ps) * PS_PER_NS
    release_ps += -(release_ps - phase_ps) % grid_ps
    if phase_ps % math.gcd(grid_ps, PS_PER_NS) == 0:
        while release_ps % PS_PER_NS:
            release_ps += grid_ps
        return release_ps
    down = station.rounding(stream.tc) == "floor"
    return (ceil_ns(release_ps) if down else release_ps // PS_PER_NS) * PS_PER_NS


def frames(flow: Flow, release_ps: int) -> list[tuple[Flow, int]]:
    """The frames of a rate's cycle, each with its release: the first instant that the driver can
    meet at or after its own. Of other streams there is one, as it is.
    """
    stream = flow.stream
    if stream.turns == 1:
        return [(flow, release_ps)]
    return [
        (
            replace(flow, turn=turn),
            on_grid(flow.station, stream, release_ps + stream.begin_ns(turn) * PS_PER_NS),
        )
        for turn in range(stream.turns)
    ]


def slot_of(station: StationPlan, release_ps: int) -> int:
    """Number of the slot of a release, from the origin of time; the nearest slot, because a
    whole-ns release may miss its start.
    """
    return (release_ps - station.phase_ps + station.slot_ps // 2) // station.slot_ps


def partition_slots(
    station: StationPlan, stream: Stream, period_ps: int, release_ps: int
) -> list[int]:
    """Partition indices of all slots of all instances of a flow of a phase-locked station."""
    # slot + n x step modulo the partition, for all n, are the indices congruent to slot modulo
    # gcd(step, partition).
    slots = station.partition_slots
    apart = math.gcd(period_ps // station.slot_ps, slots)
    starts = range(slot_of(station, release_ps) % apart, slots, apart)
    ahead = range(station.slots_of(stream))
    return sorted({(start + more) % slots for start in starts for more in ahead})
