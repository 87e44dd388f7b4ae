# SPDX-License-Identifier: BSD-3-Clause
"""Checks before any search: inputs that no network can satisfy, and proofs that no plan exists.

A proof names only the streams that it needs. It counts a stream on a wire only if every tree of the
stream includes the wire.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from keepon.errors import ConfigError
from keepon.model.wire import PREAMBLE_BYTES, PS_PER_NS, byte_time_ps, ceil_ns, wire_time_ps
from keepon.planner.network import police, unplanned_traffic
from keepon.planner.network.flows import Flow
from keepon.planner.network.grid import frames, on_grid
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import Claim, Occupancy
from keepon.planner.network.search import jitter_room_ps
from keepon.planner.network.trees import Tree
from keepon.planner.partition.limits import Limits

PROVING = "proofs of infeasibility were looked for"


@dataclass(frozen=True)
class Proof:
    """Why no plan exists: the violated constraint, a message, the streams in the proof, and the
    least deadline or jitter that the network can keep.
    """

    constraint: str
    message: str
    streams: list[str]
    least_ns: int | None = None

    def is_nearer(self, other: Proof) -> bool:
        """Whether the same limit is missed by less."""
        if self.least_ns is None or other.least_ns is None:
            return False
        same = (self.constraint, self.streams) == (other.constraint, other.streams)
        return same and self.least_ns < other.least_ns


class CapacityError(ConfigError):
    """Streams that exceed the capacity of a link."""

    def __init__(self, message: str, streams: list[str]) -> None:
        super().__init__(message)
        self.streams = streams


def refuse(ground: Ground, limits: Limits | None = None) -> None:
    """Refuse inputs that no network can satisfy.

    Raises:
        TimeUpError: the limits were reached.
        ConfigError: a deadline below the physical minimum, a jitter above the period, a link above
            its capacity, or unplanned frames in a stream's queue or above its priority.
    """
    limits = limits or Limits()
    for flow in ground.flows:
        limits.look("keys were checked")
        _refuse_stream(ground, flow)
    _refuse_free_gates(ground)
    police.refuse(ground)
    ground.cycles.refuse()
    _refuse_capacity(ground)
    unplanned_traffic.refuse(ground)


def physical_minimum_ns(ground: Ground, flow: Flow) -> int:
    """Least delay of a stream to its deadline's bit (first or last): transmission, processing and
    propagation on the shortest tree.
    """
    last_bytes = flow.stream.frame_bytes if flow.stream.deadline_at == "last_bit" else 0
    least_ps = math.inf
    for tree in flow.trees:
        at_ps: list[int] = []
        for leg in tree.legs:
            delay_ps = ground.topology.wires[leg.here, leg.there].propagation_ns * PS_PER_NS
            if leg.parent >= 0:
                before = tree.legs[leg.parent]
                delay_ps += at_ps[leg.parent] + ground.bridges[leg.here].processing_ns * PS_PER_NS
                delay_ps += flow.stream.frame_bytes * byte_time_ps(
                    ground.topology.wires[before.here, before.there].rate_bps
                )
                delay_ps += PREAMBLE_BYTES * byte_time_ps(
                    ground.topology.wires[leg.here, leg.there].rate_bps
                )
            at_ps.append(delay_ps)
        last_ps = max(
            at_ps[number]
            + last_bytes * byte_time_ps(ground.topology.wires[leg.here, leg.there].rate_bps)
            for number, leg in enumerate(tree.legs)
            if leg.there in tree.paths
        )
        least_ps = min(least_ps, last_ps)
    return ceil_ns(int(least_ps))


def _refuse_stream(ground: Ground, flow: Flow) -> None:
    stream = flow.stream
    if stream.jitter_ns is not None and stream.jitter_ns > stream.period_ns:
        raise ground.wrong(
            stream, "jitter_ns", str(stream.jitter_ns),
            f"must be between 0 and {stream.period_ns}, the period; lower it or leave it out",
        )  # fmt: skip
    if (
        stream.jitter_ns is not None
        and stream.turns > 1
        and stream.jitter_ns < (least_ns := _rate_jitter_ns(ground, flow))
    ):
        raise ground.wrong(
            stream, "jitter_ns", str(stream.jitter_ns),
            f"must be at least {least_ns}, as each frame leaves at its talker's first instant at or"
            " after its own of rate_hz; raise it or leave it out",
        )  # fmt: skip
    if stream.deadline_ns is not None:
        least_ns = physical_minimum_ns(ground, flow)
        if stream.deadline_ns < least_ns:
            raise ground.wrong(
                stream, "deadline_ns", str(stream.deadline_ns),
                f"must be at least {least_ns}, what its frames, the bridges' processing and the "
                "cables take, and more for slots and clocks; raise it or move the stations closer",
            )  # fmt: skip
        read_ns, stage = ground.read_ns(stream) or (0, "")
        if stream.deadline_ns < least_ns + read_ns:
            raise ground.wrong(
                stream, "deadline_ns", str(stream.deadline_ns),
                f"must be at least {least_ns + read_ns}, {stage}; raise it, use another"
                " guest.datapath, or state the stage's cap_ns",
            )  # fmt: skip


def _rate_jitter_ns(ground: Ground, flow: Flow) -> int:
    """Least jitter of a stream with rate_hz: talker's grid against exact instants, plus the spread
    without holds.
    """
    turns, cycle_ps = flow.stream.turns, flow.period_ps
    first_ps = on_grid(flow.station, flow.stream, 0)
    late = [turns * at_ps - own.turn * cycle_ps for own, at_ps in frames(flow, first_ps)]
    alone = ground.alone(flow, flow.trees[0])
    assert not isinstance(alone, int)
    return ceil_ns(-(-(max(late) - min(late)) // turns) + alone.spread_ps)


def _refuse_free_gates(ground: Ground) -> None:
    """Refuse gates with end-to-end PTP, which does not set the bridges' clocks that they follow."""
    if ground.scenario.sync.mode != "ptp":
        return
    passed = {
        leg.here
        for flow in ground.flows
        for tree in flow.trees
        for leg in tree.legs
        if leg.parent >= 0
    }
    for index, bridge in enumerate(ground.scenario.bridge):
        if bridge.name in passed and bridge.gates != "none":
            gates = f'"{bridge.gates}"' if isinstance(bridge.gates, str) else "a table"
            raise ConfigError(
                f'key `bridge[{index}].gates` (bridge "{bridge.name}") = {gates}:'
                ' must be "none" with sync.mode = "ptp", which does not set the clocks of bridges;'
                ' choose it, or sync.mode = "gptp"'
            )


def _refuse_capacity(ground: Ground) -> None:
    """Refuse a wire overloaded by the streams that have it on all their trees."""
    for (here, there), flows in forced_wires(ground).items():
        rate_bps = ground.topology.wires[here, there].rate_bps
        shares = [
            (_own_ps(flow, here, rate_bps) / (flow.stream.period_ns * PS_PER_NS), flow)
            for flow in flows
        ]
        if sum(share for share, _ in shares) <= 1:
            continue
        _, flow = max(shares, key=lambda entry: entry[0])
        total = sum(share for share, _ in shares)
        wrong = ground.wrong(
            flow.stream, "period_ns", str(flow.stream.period_ns),
            f'must leave the link "{here}" to "{there}" ({rate_bps} bit/s) room for its '
            f"{len(flows)} streams, which need {100 * total:.0f} % of it; lengthen periods, "
            "shorten frames or raise the link's rate_bps",
        )  # fmt: skip
        raise CapacityError(str(wrong), [flow.stream.id for flow in flows])


def _own_ps(flow: Flow, here: str, rate_bps: int) -> int:
    if here == flow.stream.talker:
        return flow.station.taken_ps(flow.stream)
    return wire_time_ps(flow.station.planned_frame_bytes(flow.stream), rate_bps)


def forced_wires(ground: Ground) -> dict[tuple[str, str], list[Flow]]:
    """Flows by the wires that are on all of their trees."""
    found: dict[tuple[str, str], list[Flow]] = {}
    for flow in ground.flows:
        common = set.intersection(
            *({(leg.here, leg.there) for leg in tree.legs} for tree in flow.trees)
        )
        for wire in sorted(common):
            found.setdefault(wire, []).append(flow)
    return found


def proof(ground: Ground, limits: Limits | None = None) -> Proof | None:
    """A proof that no plan exists, if one is quick to find.

    Raises:
        TimeUpError: the limits were reached before that.
    """
    limits = limits or Limits()
    return (
        _closed(ground, limits)
        or _wide(ground, limits)
        or _deadline(ground, limits)
        or _pairs(ground)
    )


def _closed(ground: Ground, limits: Limits) -> Proof | None:
    """An explicit gate list that never opens long enough for a stream, or whose cycle does not
    divide its period.
    """
    for flow in ground.flows:
        limits.look(PROVING)
        if all(ground.is_shut(flow, tree) for tree in flow.trees):
            listed = [
                f'"{leg.here}" towards "{leg.there}" (queue'
                f" {ground.queue(leg.here, flow.stream.priority)})"
                for leg in flow.trees[0].legs
                if ground.explicit(leg.here, leg.there) is not None
            ]
            return Proof(
                "gate-list",
                f'stream "{flow.stream.id}": the gate list of bridge {" or ".join(listed)} does not'
                " open its queue for it in every period",
                [flow.stream.id],
            )
    return None


def _wide(ground: Ground, limits: Limits) -> Proof | None:
    """A frame that on every tree may occupy a wire, or a queue exclusively, beyond its period: it
    would overlap the next frame. Also remove such trees from flows that have others.
    """
    for flow in ground.flows:
        limits.look(PROVING)
        if flow.stream.turns > 1:
            if (found := _close(ground, flow)) is not None:
                return found
            continue
        wide = {tree.number: claim for tree in flow.trees if (claim := _widest(ground, flow, tree))}
        if len(wide) == len(flow.trees):
            claim = wide[flow.trees[0].number]
            kind, here, there, *_ = claim.resource
            what = "the link" if kind == "wire" else "a queue of its own on the link"
            return Proof(
                "wire",
                f'stream "{flow.stream.id}": a frame may need {what} "{here}" to "{there}" for'
                f" {ceil_ns(flow.period_ps + claim.over_ps)} ns, with what may be sent before it,"
                f" and its period is {flow.period_ps // PS_PER_NS} ns",
                [flow.stream.id],
            )
        flow.trees[:] = [tree for tree in flow.trees if tree.number not in wide]
    return None


def _close(ground: Ground, flow: Flow) -> Proof | None:
    """Frames of a rate_hz that overlap on every tree, whenever the first is released: the others
    follow it at the same instants of the slot grid. Also remove such trees.
    """
    stream, close = flow.stream, dict[int, Claim]()
    for tree in flow.trees:
        alone, own = ground.alone(flow, tree), Occupancy()
        placed = [] if isinstance(alone, int) else frames(flow, alone.release_ps)
        for each, release_ps in placed:
            laid = ground.lay(each, tree, release_ps)
            claims = [] if isinstance(laid, int) else laid.claims
            met = next((claim for claim in claims if own.shift_ps(claim)), None)
            if met is not None:
                close.setdefault(tree.number, met)
                break
            own.add(flow.number, claims)
    if len(close) < len(flow.trees):
        flow.trees[:] = [tree for tree in flow.trees if tree.number not in close]
        return None
    claim = close[flow.trees[0].number]
    kind, here, there, *_ = claim.resource
    what = "the link" if kind == "wire" else "a queue of its own on the link"
    if kind == "slots":
        what, there = "a slot on the link", flow.trees[0].legs[0].there
    return Proof(
        "wire",
        f'stream "{stream.id}": frames of its rate overlap: one may need {what} "{here}" to'
        f' "{there}" for {ceil_ns(claim.end_ps - claim.start_ps)} ns, with what may be sent before'
        f" it, and they come {stream.period_ns} ns apart, less a slot at times",
        [stream.id],
    )


def _widest(ground: Ground, flow: Flow, tree: Tree) -> Claim | None:
    """The claim that most exceeds the period, whatever the release, if one does. Claims behind an
    explicit gate list depend on the release and do not count.
    """
    laid = ground.alone(flow, tree)
    if isinstance(laid, int):
        return None
    behind: set[tuple[str, ...]] = set()
    for leg in tree.legs:
        before = tree.legs[leg.parent] if leg.parent >= 0 else None
        is_behind = before is not None and (before.here, before.there) in behind
        if is_behind or ground.varies(leg.here, leg.there):
            behind.add((leg.here, leg.there))
    claims = [claim for claim in laid.claims if claim.resource[1:3] not in behind]
    widest = max(claims, key=lambda claim: claim.over_ps)
    return widest if widest.over_ps else None


def _deadline(ground: Ground, limits: Limits) -> Proof | None:
    """A stream whose bound exceeds its deadline or jitter on every tree, even alone and without
    holds.
    """
    for flow in ground.flows:
        stream = flow.stream
        if stream.deadline_ns is None and stream.jitter_ns is None:
            continue
        limits.look(PROVING)
        if not flow.station.bounded or any(
            ground.varies(leg.here, leg.there) for tree in flow.trees for leg in tree.legs
        ):
            continue
        alone = [ground.alone(flow, tree) for tree in flow.trees]
        placed = [entry for entry in alone if not isinstance(entry, int)]
        for constraint, limit_ns, least_ps in (
            ("deadline", stream.deadline_ns, min(map(ground.due_ps, placed))),
            ("jitter", stream.jitter_ns, min(entry.spread_ps for entry in placed)),
        ):
            if limit_ns is not None and ceil_ns(least_ps) > limit_ns:
                last_bit = stream.deadline_at == "last_bit"
                key = "last_bit_ns" if last_bit else "delay_ns"
                key = key if constraint == "deadline" else "jitter_ns"
                return Proof(
                    constraint,
                    f'stream "{stream.id}": its bound {key} = {ceil_ns(least_ps)} exceeds the'
                    f" {limit_ns} asked for even if nothing else is sent",
                    [stream.id],
                    ceil_ns(least_ps),
                )
    return None


def _pairs(ground: Ground) -> Proof | None:
    """Two streams whose jitter leaves no room to move, that share a wire on all trees and overlap
    for any releases.
    """
    for (here, there), flows in forced_wires(ground).items():
        rate_bps = ground.topology.wires[here, there].rate_bps
        strict = [flow for flow in flows if jitter_room_ps(ground, flow) < flow.station.grid_ps]
        taken_ps = {flow.number: _own_ps(flow, here, rate_bps) for flow in strict}
        by_period: dict[int, Flow] = {}
        for flow in sorted(strict, key=lambda entry: -taken_ps[entry.number]):
            for other in by_period.values():
                common_ps = math.gcd(flow.period_ps, other.period_ps)
                needed_ps = taken_ps[flow.number] + taken_ps[other.number]
                if needed_ps > common_ps:
                    return Proof(
                        "wire",
                        f'streams "{other.stream.id}" and "{flow.stream.id}" overlap on the link'
                        f' "{here}" to "{there}" for any offsets: the greatest common divisor of'
                        f" their periods is {common_ps // PS_PER_NS} ns, and their frames take"
                        f" {ceil_ns(needed_ps)} ns",
                        [other.stream.id, flow.stream.id],
                    )
            by_period.setdefault(flow.period_ps, flow)
    return None
