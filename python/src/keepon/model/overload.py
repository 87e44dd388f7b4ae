# SPDX-License-Identifier: BSD-3-Clause
"""Best effort that its talker's host, or its wire, cannot take: how much it takes, and what is said
of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from keepon.model.hosts import host_of
from keepon.model.plan import LoadKind, Plan, PlannedStation
from keepon.model.result import RunResult, Takes
from keepon.model.scenario import Load, Scenario
from keepon.model.spans import planned_spans
from keepon.model.topology import Port, Topology
from keepon.model.wire import ceil_ns, wire_time_ps


class Busy(NamedTuple):
    """What frames of streams have waited for at a port, as `unsent` of a trial says it, and the
    kind of that load.
    """

    sentence: str
    kind: LoadKind


def takes(
    scenario: Scenario, port: Port, load: Load, driver: str, planned: PlannedStation
) -> Takes:
    """How much of a load, at most, a station takes by a port if nothing else leaves there.

    Args:
        driver: of the station.
        planned: what the plan has of the port; frames longer than its slots in a row are refused.
    """
    station = scenario.station_named(port.station)
    # A bought device has its own host, of which nothing is known but what leaves it.
    is_foreign = driver == "foreign"
    host = ("ideal", "standard") if is_foreign else (station.host, driver)
    stage = host_of(*host, 0.0)[0]["driver"]
    wire_ps = wire_time_ps(load.frame_bytes, port.wire.rate_bps)
    is_refused = False
    if driver == "keepon" and "slot_time_ps" in planned:
        slots = planned_spans(station, planned).of(load.frame_bytes).slots
        wire_ps = slots * planned["slot_time_ps"]
        entry = planned["classes"].get(str(load.tc))
        longest = load.frame_bytes if entry is None else entry.get("frame_bytes_max", math.inf)
        is_refused = not slots or longest < load.frame_bytes
    wire_ns = ceil_ns(wire_ps)
    # So long does one frame keep the driver, or the wire, from the next.
    frame_ns = max(round(stage.mean_ns), wire_ns, 1)
    rate_bps = 0 if is_refused else load.frame_bytes * 8 * 10**9 // frame_ns
    return {"station": port.station, "frame_ns": frame_ns, "rate_bps": rate_bps}


def rate_sentence(most: Takes) -> str:
    """How much a station takes, as a part of a sentence."""
    if not most["rate_bps"]:
        return (
            f"station {most['station']} takes none: they are longer than the slots of its class in"
            " a row (oversize)"
        )
    return (
        f"station {most['station']} takes at most one frame in {most['frame_ns']} ns"
        f" ({most['rate_bps']} bit/s)"
    )


def busy_with(scenario: Scenario, plan: Plan, document: RunResult, port: str) -> Busy:
    """What frames of streams have waited for at a port: the best effort with most frames there, and
    how much of it its station takes.
    """
    topology, planned = Topology(scenario), plan["stations"][port]
    offered: list[tuple[int, Busy]] = []
    for index, load in topology.loads[port]:
        flow: Any = document["loads"][load.id]
        is_own = load is scenario.load[index]
        most = takes(scenario, topology.ports[port], load, planned["driver"], planned)
        behind = (
            f'behind {"" if is_own else "ACKs of "}{load.kind} load "{load.id}", of which'
            f" {rate_sentence(most)}"
        )
        count = (flow if is_own else flow["acks"])["submitted"]
        offered.append((count, Busy(behind, load.kind)))
    return max(offered)[1]


def remedy(kind: LoadKind, raised: str) -> str:
    """What helps against a load that streams wait for; `raised`: keys that give frames more
    time.
    """
    if kind == "udp":
        return "send less of it or longer frames, or send it from another station"
    # They take what is left to them at any rate, as much at once as a queue or a window holds.
    return f"send it from another station, or raise {raised}"
