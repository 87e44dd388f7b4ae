# SPDX-License-Identifier: BSD-3-Clause
"""What is placed: flows, and where and when a placed one is. Times are network time in
ps, exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from keepon.model.gates import Window
from keepon.model.scenario import Stream
from keepon.model.wire import PS_PER_NS
from keepon.planner.network.occupancy import Claim
from keepon.planner.network.trees import Tree
from keepon.planner.stations import StationPlan


@dataclass(frozen=True)
class Flow:
    """One stream, or every `turns`-th frame of it from number `turn` on, with the trees it may
    take.
    """

    number: int
    stream: Stream
    station: StationPlan
    trees: list[Tree]
    turn: int = 0
    turns: int = 1

    @property
    def period_ps(self) -> int:
        """Time after which the same release comes again."""
        return self.stream.period_ns * PS_PER_NS * self.turns


@dataclass(frozen=True)
class Step:
    """What one leg of a tree takes of a flow, whenever it is released; times in ps.

    Attributes:
        wire, queue: what it claims; `queue_number` of a bridge's port.
        after_ps: at least and at most, from the reference plane of the leg before until it may
            leave.
        least_ps, length_ps: on the wire with preamble and gap; at its longest, in whole ns.
        gated: whether the planner makes the gate list here; `margin_ps` for its clock.
        blocked_ps: what frames of no plan may keep it.
        preamble_ps, delay_ps: to the reference plane, and on to the other end of the cable.
        limit_ps: how long it may be kept here for windows to become consecutive.
        exact: whether its transmission is as long as its claim, and begins when a gate by hand that
            no other clock moves, and no frame of no plan, lets it.
        guard_ps: to be left behind a window that is longer than its frame, for the gate to close.
    """

    wire: tuple[str, str, str]
    queue: tuple[str, str, str, str]
    queue_number: int
    after_ps: tuple[int, int]
    least_ps: int
    length_ps: int
    gated: bool
    margin_ps: int
    blocked_ps: int
    preamble_ps: int
    delay_ps: int
    limit_ps: int
    guard_ps: int
    exact: bool


@dataclass(frozen=True)
class Hop:
    """A frame leaves a bridge: its transmission starts (preamble) within [early_ps, late_ps].

    `waits_ps`: what it is kept on purpose; `blocked_ps`: what a frame in flight may keep it where
    no gate protects it.
    """

    bridge: str
    peer: str
    early_ps: int
    late_ps: int
    held_ps: int
    waits_ps: int
    blocked_ps: int
    window: Window


@dataclass
class Placement:
    """A flow with its release (reference plane) and what follows from it."""

    flow: Flow
    tree: Tree
    release_ps: int
    first: Window
    hops: list[Hop] = field(default_factory=list)
    arrivals: dict[str, tuple[int, int]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    @property
    def delay_ps(self) -> int:
        """From release to the last listener at the latest."""
        return max(late_ps for _, late_ps in self.arrivals.values()) - self.release_ps

    @property
    def least_delay_ps(self) -> int:
        """From release to the first listener at the earliest."""
        return min(early_ps for early_ps, _ in self.arrivals.values()) - self.release_ps

    @property
    def spread_ps(self) -> int:
        """How far apart two frames' delays can be at one listener."""
        return spread_ps([self])

    @property
    def waits_ns(self) -> tuple[int, ...]:
        """What the flow is kept at each hop on purpose."""
        return tuple(hop.waits_ps // PS_PER_NS for hop in self.hops)


def spread_ps(placements: list[Placement]) -> int:
    """How far apart two frames of a stream can be at one listener, each from the start of its own
    period on; `placements`: of its frames in turn.
    """
    period_ps = placements[0].flow.stream.period_ns * PS_PER_NS
    worst_ps = 0
    for listener in placements[0].arrivals:
        ends = [placement.arrivals[listener] for placement in placements]
        early_ps = min(early - turn * period_ps for turn, (early, _) in enumerate(ends))
        late_ps = max(late - turn * period_ps for turn, (_, late) in enumerate(ends))
        worst_ps = max(worst_ps, late_ps - early_ps)
    return worst_ps


def moved(placement: Placement, flow: Flow, by_ps: int) -> Placement:
    """The placement of an equal flow released later by this."""
    return Placement(
        flow, placement.tree, placement.release_ps + by_ps, placement.first.moved(by_ps),
        [
            replace(
                hop, early_ps=hop.early_ps + by_ps, late_ps=hop.late_ps + by_ps,
                window=hop.window.moved(by_ps)
            )
            for hop in placement.hops
        ],
        {name: (early_ps + by_ps, late_ps + by_ps) for name, (early_ps,
        late_ps) in placement.arrivals.items()},
        [claim.moved(by_ps) for claim in placement.claims],
    )  # fmt: skip
