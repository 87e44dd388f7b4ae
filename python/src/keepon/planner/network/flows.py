# SPDX-License-Identifier: BSD-3-Clause
"""Flows, and the placement of each: route, release and windows. Times are network time in ps,
exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from keepon.model.gates import Window
from keepon.model.scenario import Stream
from keepon.model.wire import PS_PER_NS
from keepon.planner.network.gatelimits import ANY, Grid
from keepon.planner.network.occupancy import Claim
from keepon.planner.network.trees import Tree
from keepon.planner.stations import StationPlan


@dataclass(frozen=True)
class Flow:
    """One stream, or every `turns`-th frame of it starting with frame `turn`, and its possible
    trees. `apart`: its host needs it at a distance from its other frames.
    """

    number: int
    stream: Stream
    station: StationPlan
    trees: list[Tree]
    turn: int = 0
    turns: int = 1
    apart: bool = False

    @property
    def period_ps(self) -> int:
        """The period of a release."""
        return self.stream.cycle_ns * PS_PER_NS * self.turns // self.stream.turns


@dataclass(frozen=True)
class Step:
    """Constants of a flow on one leg of a tree, independent of the release; times in ps.

    Attributes:
        wire, queue: resources that the flow claims; `queue_number` is the queue at a bridge's port.
        after_ps: least and greatest time from the reference plane of the previous leg until the
            frame may leave.
        least_ps, length_ps: least wire time with preamble and gap; greatest wire time, in whole ns.
        gated: whether the planner makes the gate list of this port; `margin_ps` is for its clock
            error.
        blocked_ps: longest time that unplanned frames can block the frame.
        preamble_ps, delay_ps: from the start of the preamble to the reference plane; from there to
            the other end of the cable.
        limit_ps: longest hold at this bridge that makes windows consecutive.
        exact: whether the transmission is exactly as long as the claim and begins exactly when an
            explicit gate opens: the gate's clock has no error and no unplanned frame can block.
        guard_ps: time after a window that is longer than its frame, in which the gate closes.
        grid: where gates of the port may change.
        other_after_ps: as after_ps, from the previous leg on the second way.
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
    grid: Grid = ANY
    other_after_ps: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Hop:
    """One bridge on a frame's route: the transmission (preamble) starts within [early_ps, late_ps].

    `waits_ps`: deliberate hold; `blocked_ps`: longest wait for a frame in transmission where no
    gate protects the flow.
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
    """A flow with its release (at the reference plane) and the resulting hops, arrivals
    and claims.
    """

    flow: Flow
    tree: Tree
    release_ps: int
    first: Window
    hops: list[Hop] = field(default_factory=list)
    arrivals: dict[str, tuple[int, int]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    @property
    def delay_ps(self) -> int:
        """Greatest delay from the release to any listener."""
        return max(late_ps for _, late_ps in self.arrivals.values()) - self.release_ps

    @property
    def least_delay_ps(self) -> int:
        """Least delay from the release to any listener."""
        return min(early_ps for early_ps, _ in self.arrivals.values()) - self.release_ps

    @property
    def spread_ps(self) -> int:
        """Greatest difference of two frames' delays at one listener."""
        return spread_ps([self])

    @property
    def waits_ns(self) -> tuple[int, ...]:
        """Deliberate hold of the flow at each hop."""
        return tuple(hop.waits_ps // PS_PER_NS for hop in self.hops)


def spread_ps(placements: list[Placement]) -> int:
    """Greatest difference of two frames' delays at one listener, each from the start of the frame's
    period; `placements`: of the stream's frames in turn.
    """
    stream = placements[0].flow.stream
    turns, cycle_ps = stream.turns, stream.cycle_ns * PS_PER_NS
    worst = 0  # in ps / turns, as the period of a rate is no whole number of ps
    for listener in placements[0].arrivals:
        ends = [placement.arrivals[listener] for placement in placements]
        early = min(turns * early - turn * cycle_ps for turn, (early, _) in enumerate(ends))
        late = max(turns * late - turn * cycle_ps for turn, (_, late) in enumerate(ends))
        worst = max(worst, late - early)
    return -(-worst // turns)


def moved(placement: Placement, flow: Flow, by_ps: int) -> Placement:
    """The placement of `flow`, equal to the placed one but released `by_ps` later."""
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
