# SPDX-License-Identifier: BSD-3-Clause
"""Windows of a talker's taprio: it drops a frame whose txtime is outside the windows of its class,
so "auto" chooses a release inside one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from keepon.errors import ConfigError
from keepon.model.hosts import host_of
from keepon.model.launchtime import in_nic_ns
from keepon.model.qdiscs import stations as qdiscs
from keepon.model.qdiscs.tree import Etf, Taprio
from keepon.model.scenario import Scenario, Stream
from keepon.model.wire import PS_PER_NS, byte_time_ps, ceil_ns, preamble_time_ps
from keepon.planner.stations import StationPlan

_PHASES_MAX = 1_024
"""Most phases of the cycle at which frames of a stream arrive; the trial checks cycles with more.
"""


@dataclass(frozen=True)
class TalkerWindows:
    """Phases of the cycle, first and last in ps, at which a stream's frame may be released."""

    spans_ps: tuple[tuple[int, int], ...]
    cycle_ps: int

    def later_ps(self, release_ps: int, period_ps: int) -> int:
        """By how much later a periodic release must be at least so that every instance is inside a
        window; 0 if it is.
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


def of(
    scenario: Scenario, stream: Stream, station: StationPlan, together: int
) -> TalkerWindows | None:
    """The windows of a stream; None: the talker has no gates, the scenario states the release, or
    no release of this period is always in a window (the trial shows the effect).

    Args:
        together: number of streams of the class that leave by the port.

    Raises:
        ConfigError: one sentence; the windows are too short.
    """
    tree = qdiscs.tree_of(station.station)
    if tree is None or not isinstance(tree.root, Taprio) or stream.offset_ns != "auto":
        return None
    behind = _Behind(0, 0, 0)
    if qdiscs.by_timers(tree) and isinstance(leaf := qdiscs.leaf_of(tree, stream.tc), Etf):
        behind = _behind_gate(scenario, station, leaf)
    byte_ps = byte_time_ps(station.wire.rate_bps)
    frame_ps = station.planned_frame_bytes(stream) * byte_ps
    preamble_ps = preamble_time_ps(station.wire.rate_bps)
    period_ps = stream.cycle_ns * PS_PER_NS
    driver_ns = (together - 1) * behind.driver_ns
    usual_ns = behind.usual_ns + behind.driver_ns
    for after_ns in (
        behind.worst_ns + behind.driver_ns + driver_ns,
        usual_ns + driver_ns,
        usual_ns,
    ):
        found = _windows(tree.root, stream.tc, preamble_ps + after_ns * PS_PER_NS, frame_ps)
        if _has_release(found, period_ps, station.grid_ps, station.phase_ps):
            return found
    if not _has_release(_windows(tree.root, stream.tc, 0, 0), period_ps, 1, 0):
        return None
    grid_ps = station.slot_ps or station.grid_ps
    least_ns = ceil_ns(preamble_ps + frame_ps + grid_ps) + usual_ns - 1
    index = [entry.name for entry in scenario.station].index(station.port.station)
    late = f", usually up to {usual_ns} ns late behind its gate" if usual_ns else ""
    raise ConfigError(
        f'key `station[{index}].qdisc` (station "{station.name}"): no window of class {stream.tc}'
        f" is long enough for stream {stream.id}, whose frames take"
        f" {ceil_ns(preamble_ps + frame_ps)} ns on the wire{late}, at times that are multiples of"
        f" {ceil_ns(grid_ps)} ns; make one longer than {least_ns} ns"
    )


class _Behind(NamedTuple):
    """Time from the start of a window to the first txtime that can be met, in ns: usual and worst,
    plus `driver_ns` for each frame that waits.
    """

    usual_ns: int
    worst_ns: int
    driver_ns: int


def _behind_gate(scenario: Scenario, station: StationPlan, etf: Etf) -> _Behind:
    """Offsets of `_Behind`: the CPU's timer opens the gate, and etf drops a frame whose time has
    passed.
    """
    own = station.station
    stages, _ = host_of(own.host, station.planned_driver, scenario.host_tail_scale)
    timer, driver_ns, ahead_ns = stages["timer"], 0, 0
    if station.is_slotted:
        driver_ns, ahead_ns = stages["driver"].worst_ns, station.lead_time_ns
    elif station.planned_driver == "launchtime" and etf.offload:
        driver_ns, ahead_ns = stages["driver"].worst_ns, in_nic_ns(own)
    return _Behind(timer.usual_ns + ahead_ns, timer.worst_ns + ahead_ns, driver_ns)


def _windows(root: Taprio, tc: int, after_ps: int, frame_ps: int) -> TalkerWindows:
    """Windows of a class, which begin `after_ps` later than its gate opens."""
    cycle_ps = (root.cycle_ns or sum(ns for _, ns in root.entries)) * PS_PER_NS
    spans_ps, start_ps = list[tuple[int, int]](), root.base_ns * PS_PER_NS % cycle_ps
    for mask, ns in root.entries:
        # strictly after the start, as in Linux, and so that a frame whose preamble begins sooner
        # fits
        first_ps = start_ps + after_ps + PS_PER_NS
        last_ps = start_ps + ns * PS_PER_NS - frame_ps
        if mask >> tc & 1 and first_ps <= last_ps:
            spans_ps.append((first_ps, last_ps))
        start_ps += ns * PS_PER_NS
    return TalkerWindows(tuple(spans_ps), cycle_ps)


def _has_release(windows: TalkerWindows, period_ps: int, grid_ps: int, phase_ps: int) -> bool:
    """Whether a release on the station's grid is always in a window."""
    if (
        not windows.spans_ps
        or windows.cycle_ps // math.gcd(period_ps, windows.cycle_ps) > _PHASES_MAX
    ):
        return False
    release_ps = phase_ps
    while release_ps < period_ps:
        later_ps = windows.later_ps(release_ps, period_ps)
        if not later_ps:
            return True
        release_ps += -(-later_ps // grid_ps) * grid_ps
    return False
