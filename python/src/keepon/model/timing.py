# SPDX-License-Identifier: BSD-3-Clause
"""When a run, its streams and what is measured begin and end."""

from __future__ import annotations

import math

from keepon.model import cqf
from keepon.model.plan import Plan
from keepon.model.scenario import Load, Scenario, Station
from keepon.model.spans import planned_spans
from keepon.model.topology import Port, Topology
from keepon.model.wire import OVERHEAD_BYTES, PS_PER_NS

EPOCH_NS = 1_700_000_000_000_000_000
EPOCH_MAX_NS = 4_000_000_000_000_000_000
"""The simulator's greatest."""
START_NS = 10_000_000


def talk_start_ns(scenario: Scenario, plan: Plan) -> int:
    """When streams begin, from the start of the run.

    Frames sent before all has settled would miss their windows in gated bridges, and a window that
    fits one frame a cycle never catches up. So with PTP half of the warm-up is left to the clocks,
    and drivers that trim slots have the time that those need onto the grid.
    """
    settled_ns = round(scenario.warmup_s * 1e9) // 2 if scenario.sync.by_ptp else 0
    topology = Topology(scenario)
    locked_ns = [
        _lock_ns(scenario.station_named(port.station), port, plan, topology.loads[port.name])
        for port in topology.ports.values()
    ]
    return max(START_NS, settled_ns, *locked_ns, *(stream.advance_ns for stream in scenario.stream))


def _lock_ns(station: Station, port: Port, plan: Plan, loads: list[tuple[int, Load]]) -> int:
    """Until slots are on the grid, at most: what is posted, and then half a slot by trims, less
    what the crystal undoes of them (docs/model.md). Loads of several slots a frame leave one short
    trim to each. 0: no slot is trimmed.
    """
    planned = plan["stations"].get(port.name)
    if planned is None or planned.get("mode") != "phase-locked":
        return 0
    slot_bytes, slot_ps = planned["slot_bytes"] + OVERHEAD_BYTES, planned["slot_time_ps"]
    apart = -(-planned["partition_slots"] // max(1, planned["headroom"]["trim_slots"]))
    trimmed = station.keepon
    ways = [count for count in (trimmed.trim_down_bytes, trimmed.trim_up_bytes) if count]
    least_bytes, spans = 1.0, planned_spans(station, planned)
    if spans.keep_bytes and any(spans.of(load.frame_bytes).slots > 1 for _, load in loads):
        apart, ways, least_bytes = spans.slots_max, [spans.keep_bytes] * len(ways), 0.1
    undone_bytes = abs(station.clock_ppm) * 1e-6 * slot_bytes * apart
    trims = math.ceil(slot_bytes / len(ways) / max(least_bytes, min(ways) - undone_bytes))
    return (planned["depth_slots"] + trims * apart) * slot_ps // PS_PER_NS


def epoch_ns_for(scenario: Scenario) -> int:
    """Network time of the start: a multiple of every period, so that cycles begin with the run; 0
    where all others are out of range.
    """
    cycle_ns = math.lcm(
        *(stream.cycle_ns for stream in scenario.stream),
        *(bridge.cqf_buffers * cqf.cycle_ns(bridge) for bridge in cqf.bridges(scenario)),
    )
    epoch_ns = -(-EPOCH_NS // cycle_ns) * cycle_ns
    return epoch_ns if epoch_ns <= EPOCH_MAX_NS else 0


def measured_ns(scenario: Scenario) -> tuple[int, int]:
    """Start and end of what is measured, ns from the start."""
    start_ns = round(scenario.warmup_s * 1e9)
    return start_ns, start_ns + round(scenario.duration_s * 1e9)
