# SPDX-License-Identifier: BSD-3-Clause
"""How much longer or shorter than planned a frame is on a wire, because of trimmed slots and
crystal errors.

A frame in a trimmed slot is itself longer or shorter, and stays so behind every bridge
(docs/planning.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from keepon.model.scenario import Bridge, Scenario, Station
from keepon.planner.stations import StationPlan

TRIM_STEP_BYTES = 1
"""Greatest trim of a slot on the grid: its drift is far less than a byte."""
WANDER_PPB = 1_000
"""Greatest change of the rate of a crystal that wanders."""


@dataclass(frozen=True)
class Reach:
    """How much shorter and how much longer, in bytes or parts per billion; both at least 0."""

    less: int
    more: int


def _crystal_ppb(node: Station | Bridge) -> tuple[int, int]:
    rate_ppb, wander_ppb = round(1000 * node.clock_ppm), WANDER_PPB if node.wander_ppb_per_s else 0
    return rate_ppb - wander_ppb, rate_ppb + wander_ppb


class Lengths:
    """Least and greatest transmission times in ps of network time."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._bridges = {bridge.name: bridge for bridge in scenario.bridge}
        self._nodes: dict[str, Station | Bridge] = {
            station.name: station for station in scenario.station
        }
        self._nodes |= self._bridges
        self._known: dict[str, Reach] = {}

    def rate_ppb(self, name: str) -> Reach:
        """How much shorter and longer in network time an interval is that a node's crystal
        measures.
        """
        if name not in self._known:
            self._known[name] = self._rate_ppb(name)
        return self._known[name]

    def _rate_ppb(self, name: str) -> Reach:
        sync = self._scenario.sync
        if sync.mode == "none" or (sync.mode == "ideal" and name in self._bridges):
            return Reach(0, 0)
        low_ppb, high_ppb = _crystal_ppb(self._nodes[name])
        masters = {str(sync.grandmaster)} if sync.by_ptp else set()
        masters |= {
            fault.node
            for fault in self._scenario.fault
            if sync.by_ptp and fault.kind == "master-change"
        }
        if masters == {name}:
            return Reach(0, 0)
        references = [
            _crystal_ppb(self._nodes[master]) for master in masters if master != name
        ] or [(0, 0)]
        slower_ppb = max(highest for _, highest in references) - low_ppb
        faster_ppb = high_ppb - min(lowest for lowest, _ in references)
        return Reach(max(0, faster_ppb), max(0, slower_ppb))

    def trim_bytes(self, plan: StationPlan) -> Reach:
        """How much shorter and longer trims make a frame; a station whose crystal is fast lengthens
        slots.
        """
        options = plan.station.keepon
        if not plan.is_slotted or plan.mode != "phase-locked" or options.trim != "any":
            return Reach(0, 0)
        # After a frame of many slots one trim corrects the drift of all of them.
        step = (
            TRIM_STEP_BYTES if plan.spans is None else max(TRIM_STEP_BYTES, plan.spans.keep_bytes)
        )
        less, more = min(step, options.trim_down_bytes), min(step, options.trim_up_bytes)
        if self._scenario.sync.by_ptp:
            return Reach(less, more)
        rate = self.rate_ppb(plan.station.name)
        return Reach(less if rate.more else 0, more if rate.less else 0)

    def span_ps(
        self, plan: StationPlan, sender: str, wire_bytes: int, byte_ps: int
    ) -> tuple[int, int]:
        """Least and greatest time in which a node sends `wire_bytes` of a frame of a station."""
        trims, rate = self.trim_bytes(plan), self.rate_ppb(sender)
        least_ps, most_ps = (wire_bytes - trims.less) * byte_ps, (wire_bytes + trims.more) * byte_ps
        return least_ps - -(-least_ps * rate.less // 10**9), self.longest_ps(sender, most_ps)

    def longest_ps(self, sender: str, time_ps: int) -> int:
        """Greatest length in network time of an interval that a node's crystal measures."""
        return time_ps + -(-time_ps * self.rate_ppb(sender).more // 10**9)
