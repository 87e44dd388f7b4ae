# SPDX-License-Identifier: BSD-3-Clause
"""Slot size, ring, partition period, batch and depth of one station, and how exactly its driver releases frames.

The order follows KeepON paper section A.10: slot first, then batch. Stations "under-test" are planned as keepon, and
their frames at their padded length, so that every driver is compared with the same plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from keepon.errors import ConfigError
from keepon.scenario import Scenario, Station, Stream
from keepon.slotting import misfit
from keepon.topology import Wire
from keepon.wire import (
    FRAME_BYTES_MAX,
    FRAME_BYTES_MIN,
    OVERHEAD_BYTES,
    PS_PER_NS,
    byte_time_ps,
    preamble_time_ps,
    wire_time_ps,
)

PARTITION_SLOTS_MAX = 65_536
RING_SLOTS_MAX = 1024
PAPER_RING_SLOTS = 32
PAPER_BATCH_SLOTS = 16
LAUNCH_QUANTUM_PS = 32_000
"""i210: the comparator ignores the lower five bits of the nanoseconds (keepon.granularity)."""
CLOCK_ROUNDING_PS = 1_000
"""Between a whole-nanosecond txtime and the core's grid."""


@dataclass(frozen=True)
class StationPlan:
    """What is fixed about a talker before its streams are placed. Times in ps, lengths incl. FCS."""

    station: Station
    planned_driver: str
    wire: Wire
    mode: str
    slot_bytes: int
    slot_ps: int
    ring_slots: int
    partition_slots: int
    batch_slots: int
    depth_slots: int
    poll_overhead_ns: int
    grid_ps: int
    phase_ps: int
    error_low_ps: int
    error_high_ps: int
    bounded: bool

    @property
    def is_slotted(self) -> bool:
        return self.planned_driver == "keepon"

    def rounding(self, tc: int) -> str:
        """How a txtime off the grid is placed: "up" or "floor"."""
        return next((entry.round for entry in self.station.keepon.classes if entry.tc == tc), "up")

    def planned_frame_bytes(self, stream: Stream) -> int:
        """Length on the wire: keepon pads to the slot."""
        return self.slot_bytes if self.is_slotted else stream.frame_bytes


def planned_driver(station: Station) -> str:
    """Driver the plan assumes."""
    return "keepon" if station.driver == "under-test" else station.driver


def _slot_bytes(scenario: Scenario, station: Station, streams: list[Stream], wire: Wire) -> int:
    options = station.keepon
    if options.slot_bytes != "auto":
        return int(options.slot_bytes)
    loads = [load.frame_bytes for load in scenario.load if load.talker == station.name]
    largest = max([stream.frame_bytes for stream in streams] + loads, default=FRAME_BYTES_MIN)
    if options.mode == "paper":
        return largest
    least = largest + (options.trim_down_bytes if options.trim == "any" else 0)
    lengths = range(max(least, FRAME_BYTES_MIN), FRAME_BYTES_MAX + 1)
    common_ps = 0
    fitting = least
    for stream in streams:
        common_ps = math.gcd(common_ps, stream.period_ns * PS_PER_NS)
        fits = [length for length in lengths if common_ps % wire_time_ps(length, wire.rate_bps) == 0]
        if not fits:
            raise _no_slot_time(scenario, stream, common_ps, byte_time_ps(wire.rate_bps) * (least + OVERHEAD_BYTES))
        fitting = fits[0]
    return fitting


def _no_slot_time(scenario: Scenario, stream: Stream, common_ps: int, shortest_ps: int) -> ConfigError:
    """The first stream with which no slot time divides all periods of its station."""
    return ConfigError(
        f'key `stream[{scenario.stream.index(stream)}].period_ns` (stream "{stream.id}") = {stream.period_ns}: must be '
        f"a multiple of a slot time of at least {shortest_ps / PS_PER_NS:g} ns that divides all periods of station "
        f'"{stream.talker}" (common divisor {common_ps // PS_PER_NS} ns); choose such a period, or slot_bytes and mode '
        '"paper"'
    )


def _partition_slots(station: Station, streams: list[Stream], slot_ps: int, ring_slots: int) -> int:
    options = station.keepon
    if options.partition_slots != "auto":
        return int(options.partition_slots)
    if options.mode == "paper":
        return ring_slots
    if not streams:
        return 1
    counts = [stream.period_ns * PS_PER_NS // slot_ps for stream in streams]
    hyper_slots = math.lcm(*counts)
    return hyper_slots if hyper_slots <= PARTITION_SLOTS_MAX else math.gcd(*counts)


def _power_of_two(number: int, up: bool) -> int:
    power = 1 << max(number, 1).bit_length() - 1
    return power * 2 if up and power < number else power


def choose(scenario: Scenario, station: Station, wire: Wire) -> StationPlan:
    """Parameters of a talker.

    Raises:
        ConfigError: no slot time fits the periods, or explicit values contradict each other.
    """
    streams = [stream for stream in scenario.stream if stream.talker == station.name]
    driver = planned_driver(station)
    options = station.keepon
    preamble_ps = preamble_time_ps(wire.rate_bps)
    clock_ps = scenario.clock_error_ns(station, driver) * PS_PER_NS
    if driver != "keepon":
        launch = driver == "launchtime"
        return StationPlan(
            station=station, planned_driver=driver, wire=wire, mode=driver,
            slot_bytes=0, slot_ps=0, ring_slots=0, partition_slots=0, batch_slots=0, depth_slots=0, poll_overhead_ns=0,
            grid_ps=LAUNCH_QUANTUM_PS if launch else PS_PER_NS, phase_ps=0,
            error_low_ps=-clock_ps, error_high_ps=(LAUNCH_QUANTUM_PS if launch else 0) + clock_ps,
            bounded=launch and scenario.sync.mode != "none",
        )  # fmt: skip
    paper = options.mode == "paper"
    for stream in streams:
        if wrong := misfit(scenario, scenario.stream.index(stream)):
            path, _, owner = wrong[0].partition(" ")
            raise ConfigError(f"key `{path}` {owner} = {wrong[1]}: {wrong[2]}")
    slot_bytes = _slot_bytes(scenario, station, streams, wire)
    slot_ps = wire_time_ps(slot_bytes, wire.rate_bps)
    advances_ps = [stream.advance_ns * PS_PER_NS for stream in streams] or [100_000 * PS_PER_NS]
    covered = -(-5 * max(advances_ps) // (4 * slot_ps))
    ring_slots = PAPER_RING_SLOTS if paper else min(max(_power_of_two(covered, up=True), 32), RING_SLOTS_MAX)
    if options.ring_slots != "auto":
        ring_slots = int(options.ring_slots)
    batch_slots = PAPER_BATCH_SLOTS if paper else _power_of_two(2 * min(advances_ps) // (3 * slot_ps), up=False)
    batch_slots = min(batch_slots, ring_slots // 2, 512)
    if options.batch_slots != "auto":
        batch_slots = int(options.batch_slots)
    depth_slots = batch_slots if paper else max(batch_slots, ring_slots - max(8, ring_slots // 8))
    if options.depth_slots != "auto":
        depth_slots = int(options.depth_slots)
    if not batch_slots <= depth_slots <= ring_slots - 1:
        key, value, low, high = "depth_slots", depth_slots, batch_slots, ring_slots - 1
        if batch_slots > high:
            key, value, low = "batch_slots", batch_slots, 1
        raise ConfigError(
            f'key `station[{scenario.station.index(station)}].keepon.{key}` (station "{station.name}") = {value}: must '
            f"be between {low} and {high} (batch_slots = {batch_slots}, ring_slots = {ring_slots}); change one of them "
            'or set it to "auto"'
        )
    # With depth = batch a poll must come before the batch is sent: twice per batch leaves half of it for a late poll.
    poll_overhead_ns = batch_slots * slot_ps // PS_PER_NS // 2 if depth_slots < 2 * batch_slots else 0
    if options.poll_overhead_ns != "auto":
        poll_overhead_ns = int(options.poll_overhead_ns)
    half_quantum_ps = byte_time_ps(wire.rate_bps) // 2 + CLOCK_ROUNDING_PS
    return StationPlan(
        station=station, planned_driver=driver, wire=wire, mode=options.mode,
        slot_bytes=slot_bytes, slot_ps=slot_ps, ring_slots=ring_slots,
        partition_slots=_partition_slots(station, streams, slot_ps, ring_slots),
        batch_slots=batch_slots, depth_slots=depth_slots, poll_overhead_ns=poll_overhead_ns,
        grid_ps=slot_ps if not paper else PS_PER_NS,
        phase_ps=preamble_ps if not paper else 0,
        error_low_ps=(preamble_ps - slot_ps if paper else -half_quantum_ps) - clock_ps,
        error_high_ps=(preamble_ps if paper else half_quantum_ps) + clock_ps,
        bounded=scenario.sync.mode != "none",
    )  # fmt: skip


def headroom(plan: StationPlan, streams: list[Stream], allowed: list[int]) -> dict[str, Any]:
    """What is left: best-effort rate, efficiency, time a poll may be late, slots that can be trimmed."""
    taken = sum(1 for mask in allowed if mask and not mask & _rest_mask(plan.station))
    free_share = 1 - taken / len(allowed)
    options = plan.station.keepon
    payload_bytes = plan.slot_bytes - (
        options.trim_down_bytes if plan.mode == "phase-locked" and options.trim == "any" else 0
    )
    used = sum(stream.frame_bytes / stream.period_ns for stream in streams)
    paid = sum((plan.slot_bytes + OVERHEAD_BYTES) / stream.period_ns for stream in streams)
    return {
        "best_effort_bps": int(payload_bytes * 8 * 10**12 * free_share / plan.slot_ps),
        "payload_efficiency": round(used / paid, 6) if paid else 0.0,
        "poll_budget_ns": (plan.depth_slots - 1) * plan.slot_ps // PS_PER_NS,
        "trim_slots": len(allowed) if options.trim == "any" else sum(1 for mask in allowed if mask == 0),
    }


def _rest_mask(station: Station) -> int:
    return sum(1 << entry.tc for entry in station.keepon.classes if entry.slots == "rest")


def masks(plan: StationPlan, used: dict[str, tuple[Stream, list[int]]]) -> list[int]:
    """Class mask per partition slot.

    Args:
        plan: the station.
        used: stream and its partition slots, by stream id.
    """
    allowed = [0] * plan.partition_slots
    classes = plan.station.keepon.classes
    if plan.mode == "paper" and plan.station.keepon.partition_slots == "auto":
        # Free-running slots drift against the schedule: ownership cannot follow it, so every slot is open.
        return [sum(1 << entry.tc for entry in classes)] * plan.partition_slots
    for entry in classes:
        if isinstance(entry.slots, list):
            for slot in entry.slots:
                if slot < plan.partition_slots:
                    allowed[slot] |= 1 << entry.tc
    listed = {entry.tc for entry in classes if isinstance(entry.slots, list) or entry.slots == "rest"}
    for stream, slots in used.values():
        for slot in slots:
            if stream.tc not in listed:
                allowed[slot] |= 1 << stream.tc
    rest = _rest_mask(plan.station)
    scheduled_rest = {slot for stream, slots in used.values() if rest >> stream.tc & 1 for slot in slots}
    return [mask or rest if slot not in scheduled_rest else mask | rest for slot, mask in enumerate(allowed)]
