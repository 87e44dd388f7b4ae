# SPDX-License-Identifier: BSD-3-Clause
"""Best effort that a talker's host, or its wire, cannot take beside the streams of a plan."""

from __future__ import annotations

from typing import Any

from keepon.model.hosts import host_of
from keepon.model.plan import Plan
from keepon.model.result import RunResult
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.model.wire import ceil_ns, wire_time_ps

BUSY = "of which station"
"""Part of what frames have waited for, in `unsent` of a trial."""


def busy_with(scenario: Scenario, plan: Plan, document: RunResult, port: str) -> str:
    """What frames of streams have waited for at a port, as `unsent` says it: the best effort with
    most frames there, and how much of it its station takes.
    """
    topology = Topology(scenario)
    place, planned = topology.ports[port], plan["stations"][port]
    host = scenario.station_named(place.station).host
    stage = host_of(host, planned["driver"], 0.0)[0]["driver"]
    offered: list[tuple[int, str]] = []
    for index, load in topology.loads[port]:
        flow: Any = document["loads"][load.id]
        is_own = load is scenario.load[index]
        frame_bytes = max(load.frame_bytes, planned.get("slot_bytes", 0))
        wire_ns = ceil_ns(wire_time_ps(frame_bytes, place.wire.rate_bps))
        # So long does one frame keep the driver, or the wire, from the next.
        frame_ns = max(round(stage.mean_ns), wire_ns)
        told = (
            f'behind {"" if is_own else "ACKs of "}{load.kind} load "{load.id}", {BUSY}'
            f" {place.station} takes at most one frame in {frame_ns} ns"
            f" ({load.frame_bytes * 8 * 10**9 // frame_ns} bit/s)"
        )
        offered.append(((flow if is_own else flow["acks"])["submitted"], told))
    return max(offered)[1]


def remedy(waited_for: str, raised: str) -> str:
    """What helps against what `busy_with` says; `raised`: keys that give frames more time."""
    if " udp load " in waited_for:
        return "send less of it or longer frames, or send it from another station"
    # They take what is left to them at any rate, as much at once as a queue or a window holds.
    return f"send it from another station, or raise {raised}"
