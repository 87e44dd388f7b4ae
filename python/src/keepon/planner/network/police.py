# SPDX-License-Identifier: BSD-3-Clause
"""PSFP filters and gates of a plan (802.1Qci): a frame passes a bridge only when planned there, at
most as long as planned (IEEE Std 802.1Q-2022 clauses 8.6.5.3 and 8.6.5.4).
"""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.model.cables import node_of
from keepon.model.plan import PlannedFilter, PlannedGateInterval
from keepon.model.scenario import BRIDGE_CLOCK_ERROR_NS
from keepon.model.wire import PS_PER_NS, ceil_ns
from keepon.planner.network.cqf import last_bit_ps, longest_sdu_bytes
from keepon.planner.network.flows import Placement
from keepon.planner.network.ground import Ground
from keepon.planner.network.trees import Leg

_Span = tuple[int, int, int]
"""Start and end of an open gate, in ns, and its IntervalOctetMax."""


def refuse(ground: Ground) -> None:
    """Refuse gates of bridges that are not synchronised.

    Raises:
        ConfigError: names the bridge.
    """
    sync = ground.scenario.sync
    passed = {
        leg.here
        for flow in ground.flows
        for tree in flow.trees
        for leg in tree.legs[1:]
        if tree.second and leg.parent > 0
    }
    for index, bridge in enumerate(ground.scenario.bridge):
        if bridge.police != "none" and sync.mode in ("none", "ptp"):
            raise ConfigError(
                f'key `bridge[{index}].police` (bridge "{bridge.name}") = "{bridge.police}": must'
                f' be "none" with sync.mode = "{sync.mode}", which does not set the clocks of'
                ' bridges; choose it, or sync.mode = "gptp"'
            )
        if bridge.police == "all" and bridge.name in passed:
            raise ConfigError(
                f'key `bridge[{index}].police` (bridge "{bridge.name}") = "all": must be "edge"'
                " where copies of frames come by two ways (stream.redundancy); choose it"
            )


def filters(ground: Ground, bridge: str, placed: dict[str, list[Placement]]) -> list[PlannedFilter]:
    """Filters of a bridge, in the order of streams; those of talkers not `bounded` have no gate.

    With `police` "edge": of streams whose talker is linked to the bridge.
    """
    police, found = ground.bridges[bridge].police, []
    for name, placements in placed.items() if police != "none" else ():
        flow, tree = placements[0].flow, placements[0].tree
        into = next((leg for leg in tree.legs if node_of(leg.there) == bridge), None)
        if into is None or (police == "edge" and into.parent >= 0):
            continue
        station = flow.station
        octets = longest_sdu_bytes(ground, flow)
        entry: PlannedFilter = {"stream": name, "max_sdu_bytes": octets}
        spans = [_span(ground, placement, into, octets) for placement in placements]
        period_ns = flow.period_ps // PS_PER_NS
        if station.bounded and (intervals := _intervals(spans, period_ns)):
            entry["base_ns"], entry["entries"] = intervals
        found.append(entry)
    return found


def _span(ground: Ground, placed: Placement, into: Leg, octets: int) -> _Span:
    """When the last bit of a frame arrives at the end of a leg, by the bridge's clock."""
    scenario = ground.scenario
    early_ps, late_ps = last_bit_ps(ground, placed, into)
    clock_ps = 0
    if scenario.sync.mode == "gptp":
        clock_ps = (
            BRIDGE_CLOCK_ERROR_NS + scenario.asymmetry_error_ns(node_of(into.there))
        ) * PS_PER_NS
    return (
        (early_ps - clock_ps) // PS_PER_NS,
        ceil_ns(late_ps + clock_ps) + 1,
        octets,
    )


def _intervals(spans: list[_Span], period_ns: int) -> tuple[int, list[PlannedGateInterval]] | None:
    """Base time and entries of a gate that is open in these spans; None: it would never close."""
    merged = _merged(spans)
    if len(merged) > 1 and merged[-1][1] >= merged[0][0] + period_ns:
        start, end, octets = merged.pop()
        merged = _merged([(start - period_ns, end - period_ns, octets), *merged])
    if merged[-1][1] >= merged[0][0] + period_ns:
        return None
    entries: list[PlannedGateInterval] = []
    for (start, end, octets), (following, _, _) in zip(
        merged, [*merged[1:], (merged[0][0] + period_ns, 0, 0)], strict=True
    ):
        entries += [
            {"open": True, "ns": end - start, "octets": octets},
            {"open": False, "ns": following - end},
        ]
    return merged[0][0] % period_ns, entries


def _merged(spans: list[_Span]) -> list[_Span]:
    """Sorted, with spans that touch merged."""
    found: list[_Span] = []
    for start, end, octets in sorted(spans):
        if found and start <= found[-1][1]:
            first, until, before = found.pop()
            start, end, octets = first, max(until, end), before + octets
        found.append((start, end, octets))
    return found
