# SPDX-License-Identifier: BSD-3-Clause
"""Windows of a talker's own gates: its taprio drops a frame whose txtime is outside those of its
class, so that "auto" takes a release within one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from keepon.model.hosts import host_of
from keepon.model.launchtime import in_nic_ns
from keepon.model.qdiscs import stations as qdiscs
from keepon.model.qdiscs.tree import Etf, Taprio
from keepon.model.scenario import Stream
from keepon.model.wire import PS_PER_NS, byte_time_ps, preamble_time_ps
from keepon.planner.stations import StationPlan

_PHASES_MAX = 1_024
"""Of a cycle that the frames of a stream come to; what has more is left to the trial."""


@dataclass(frozen=True)
class TalkerWindows:
    """Phases of the cycle, first and last in ps, at which a stream's frame may be released."""

    spans_ps: tuple[tuple[int, int], ...]
    cycle_ps: int

    def later_ps(self, release_ps: int, period_ps: int) -> int:
        """By how much later a release that repeats must be at least; 0 if every turn of it is
        within a window.
        """
        step_ps = math.gcd(period_ps, self.cycle_ps)
        for turn in range(self.cycle_ps // step_ps):
            phase_ps = (release_ps + turn * step_ps) % self.cycle_ps
            later_ps = min(
                0 if first_ps <= at_ps <= last_ps else (first_ps - phase_ps) % self.cycle_ps
                for first_ps, last_ps in self.spans_ps
                for at_ps in (phase_ps, phase_ps + self.cycle_ps)
            )
            if later_ps:
                return later_ps
        return 0


def of(stream: Stream, station: StationPlan, tail_scale: float) -> TalkerWindows | None:
    """None: the talker has no gates of its own, the release is given by hand, or its class has no
    windows for all frames of the stream; what becomes of those is seen in the trial.
    """
    tree = qdiscs.tree_of(station.station)
    if tree is None or not isinstance(tree.root, Taprio) or stream.offset_ns != "auto":
        return None
    afters_ns = [0]
    if qdiscs.by_timers(tree) and isinstance(leaf := qdiscs.leaf_of(tree, stream.tc), Etf):
        afters_ns = _after_gate_ns(station, leaf, tail_scale)
    frame_ps = station.planned_frame_bytes(stream) * byte_time_ps(station.wire.rate_bps)
    preamble_ps = preamble_time_ps(station.wire.rate_bps)
    for after_ns in afters_ns:
        found = _windows(tree.root, stream.tc, preamble_ps + after_ns * PS_PER_NS, frame_ps)
        if _has_release(found, stream.period_ns * PS_PER_NS):
            return found
    return None


def _after_gate_ns(station: StationPlan, etf: Etf, tail_scale: float) -> list[int]:
    """From the start of a window to the first txtime that can be kept, as the CPU's timer opens the
    gate and etf drops a frame whose time has passed: at worst, usually, and at best.
    """
    own = station.station
    stages, _ = host_of(own.host, station.planned_driver, tail_scale)
    behind_ns = 0
    if station.is_slotted:
        behind_ns = stages["driver"].worst_ns + station.lead_time_ns
    elif station.planned_driver == "launchtime" and etf.offload:
        behind_ns = stages["driver"].worst_ns + in_nic_ns(own)
    return [stages["timer"].worst_ns + behind_ns, stages["timer"].usual_ns + behind_ns, 0]


def _windows(root: Taprio, tc: int, after_ps: int, frame_ps: int) -> TalkerWindows:
    """Those of a class, from `after_ps` behind their starts."""
    cycle_ps = (root.cycle_ns or sum(ns for _, ns in root.entries)) * PS_PER_NS
    spans_ps, start_ps = list[tuple[int, int]](), root.base_ns * PS_PER_NS % cycle_ps
    for mask, ns in root.entries:
        # behind the very start, as Linux has it, and so that what begins a preamble sooner fits
        first_ps = start_ps + after_ps + PS_PER_NS
        last_ps = start_ps + ns * PS_PER_NS - frame_ps
        if mask >> tc & 1 and first_ps <= last_ps:
            spans_ps.append((first_ps, last_ps))
        start_ps += ns * PS_PER_NS
    return TalkerWindows(tuple(spans_ps), cycle_ps)


def _has_release(windows: TalkerWindows, period_ps: int) -> bool:
    if (
        not windows.spans_ps
        or windows.cycle_ps // math.gcd(period_ps, windows.cycle_ps) > _PHASES_MAX
    ):
        return False
    release_ps = 0
    while release_ps < period_ps:
        later_ps = windows.later_ps(release_ps, period_ps)
        if not later_ps:
            return True
        release_ps += later_ps
    return False
