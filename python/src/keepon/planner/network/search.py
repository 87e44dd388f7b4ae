# SPDX-License-Identifier: BSD-3-Clause
"""First fit with repair: place flows one after the other at the first release that fits; a flow
that fits nowhere displaces others.

A flow takes the first release with no hold at a bridge (its delay is then the least possible), on
the shortest route that has such a release; then one with holds at bridges; then, if its jitter
allows, a release of its own for each of its frames. A flow that still fits nowhere displaces the
flows that have been displaced least often, and the search places these again. Deterministic by
seed.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from keepon.model.scenario import Stream
from keepon.model.wire import PS_PER_NS, ceil_ns
from keepon.planner.network.behind import loose
from keepon.planner.network.flows import Flow, Placement, Step, moved, spread_ps
from keepon.planner.network.grid import frames, on_grid
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import NEVER, Claim, Obstacles, Occupancy
from keepon.planner.network.trees import Tree
from keepon.planner.partition.limits import Limits, TimeUpError


def settled(
    ground: Ground,
    steady: Placement,
    by_ps: int,
    obstacles: Obstacles,
    occupancy: Occupancy,
    wait_ps: int | None,
) -> Placement | int:
    """Place a flow at a later release, as `Ground.lay` does, for a flow that moves with its
    release.

    Args:
        ground: the network that the flow crosses.
        steady: the placement of the flow alone.
        by_ps: how much later than `steady` the release is.
        obstacles: what the claims of `steady` must not overlap.
        occupancy: the claims of all placed flows.
        wait_ps: the most that bridges may hold the flow in total; None: an eighth of its wire time
            at each bridge.

    Returns:
        the placement, or by how many ps the release must move later.
    """
    flow, tree = steady.flow, steady.tree
    legs = list(zip(tree.legs, ground.steps(flow, tree), strict=True))
    kept_ps: list[int] = []  # total hold up to each leg
    waits_ns: list[int] = []
    number = len(steady.claims) - sum(1 + step.gated for leg, step in legs if leg.parent >= 0)
    for own in range(number):
        if shift_ps := obstacles.shift_ps(own, by_ps):
            return shift_ps
    for leg, step in legs:
        if leg.parent < 0:
            kept_ps.append(0)
            continue
        at_ps = by_ps + kept_ps[leg.parent]
        own_ps = _wire_wait_ps(obstacles, number, at_ps, step, wait_ps)
        if own_ps < 0:
            return -own_ps
        number += 1
        if step.gated:
            queue = steady.claims[number]
            shift_ps = obstacles.shift_ps(number, at_ps)
            if own_ps:
                shift_ps = occupancy.shift_ps(_kept(queue, at_ps, own_ps))
            if shift_ps:
                return shift_ps
            number += 1
        if wait_ps is not None:
            wait_ps -= own_ps
        kept_ps.append(kept_ps[leg.parent] + own_ps)
        waits_ns.append(own_ps // PS_PER_NS)
    laid = ground.lay(flow, tree, steady.release_ps + by_ps, None, None, tuple(waits_ns))
    assert not isinstance(laid, int)
    return ground.excess_ps(laid) or laid


def _wire_wait_ps(
    obstacles: Obstacles, number: int, at_ps: int, step: Step, wait_ps: int | None
) -> int:
    """How long a bridge must hold a frame until its wire is free. Negative if it must not hold the
    frame that long: minus the ps by which the release must move later.
    """
    limit_ps = step.limit_ps if wait_ps is None else wait_ps
    own_ps = 0
    while shift_ps := obstacles.shift_ps(number, at_ps + own_ps):
        if not step.gated:
            return -shift_ps
        shift_ps = ceil_ns(shift_ps) * PS_PER_NS
        if own_ps + shift_ps > limit_ps:
            return -max(1, own_ps + shift_ps - limit_ps)
        own_ps += shift_ps
    return own_ps


def _kept(queue: Claim, by_ps: int, own_ps: int) -> Claim:
    """The queue claim of a frame that arrives `by_ps` later and is held for `own_ps`."""
    whole = (queue.start_ps, queue.end_ps) == (queue.start_2_ps, queue.end_2_ps)
    start_2_ps = queue.start_2_ps if whole else queue.start_2_ps + own_ps
    end_ps = queue.end_ps + own_ps if whole else queue.end_ps
    return Claim(
        queue.resource, queue.start_ps + by_ps, end_ps + by_ps,
        start_2_ps + by_ps, queue.end_2_ps + own_ps + by_ps,
        queue.period_ps, queue.group, queue.modulus_ps,
    )  # fmt: skip


STEPS_MAX = 20_000
TURNS_MAX = 16
_RELEASES_TRIED = 24
_DRIVEN_OUT_MAX = 12
_PROGRESS_EVERY = 16
_LOOK_EVERY = 64
LOOKING = "places were looked for"


@dataclass
class Search:
    """The placements found so far, by stream number; the search never displaces kept flows."""

    ground: Ground
    limits: Limits
    placed: dict[int, list[Placement]] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    occupancy: Occupancy = field(default_factory=Occupancy)
    tried: set[int] = field(default_factory=set)
    """Flows whose search for a place was completed."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.limits.seed)
        self._times_out: dict[int, int] = {}

    def again(self, limits: Limits, attempt: int) -> Search:
        """A new search with other random choices; kept flows stay placed."""
        other = Search(self.ground, replace(limits, seed=limits.seed + attempt), kept=self.kept)
        for number in sorted(self.kept):
            other.put(self.placed[number])
        return other

    def put(self, placements: list[Placement]) -> None:
        """Record the placements of a stream."""
        number = placements[0].flow.number
        self.placed[number] = placements
        for placement in placements:
            self.occupancy.add(number, placement.claims)

    def take(self, number: int) -> None:
        """Remove the placements of a stream."""
        del self.placed[number]
        self.occupancy.remove(number)

    def missing(self) -> list[Flow]:
        """Flows without a place, in file order."""
        return [flow for flow in self.ground.flows if flow.number not in self.placed]

    def run(self, first: set[int] | None = None, to_the_end: bool = True) -> bool:
        """Place all flows; False if some flow found no place within the limits. Placed flows stay
        placed.

        Args:
            first: numbers of the flows to place before the others.
            to_the_end: whether the search goes on after a flow that finds no place.
        """
        urgent = first or set()
        waiting = deque(
            sorted(self.missing(), key=lambda flow: (flow.number not in urgent, *_urgency(flow)))
        )
        repairs = 4 * len(waiting) + 64
        best = dict(self.placed)
        try:
            while waiting:
                self.limits.look(LOOKING)
                flow = waiting.popleft()
                found = self.fit(flow)
                self.tried.add(flow.number)
                if found is not None:
                    self.put(found)
                else:
                    repairs -= 1
                    driven = self._make_room(flow) if repairs > 0 else None
                    if driven is None and not to_the_end:
                        break
                    waiting.extendleft(reversed(driven or []))
                if len(self.placed) > len(best):
                    best = dict(self.placed)
                    if len(best) % _PROGRESS_EVERY == 0:
                        self.limits.progress(
                            f"first fit: {len(best)} of {len(self.ground.flows)} streams placed"
                        )
        except TimeUpError:
            for flow in self.missing():
                self.occupancy.remove(flow.number)  # claims of an interrupted search
        if len(self.placed) < len(best):
            self._restore(best)
        return len(self.placed) == len(self.ground.flows)

    def _restore(self, placed: dict[int, list[Placement]]) -> None:
        for number in list(self.placed):
            self.take(number)
        for placements in placed.values():
            self.put(placements)

    # -- one flow
    # ----------------------------------------------------------------------------------------------

    def fit(self, flow: Flow) -> list[Placement] | None:
        """The first placement that fits beside the placed flows; one that the host can hand over
        apart from its other frames comes first.
        """
        apart = [replace(flow, apart=True)] if flow.station.apart_ps else []
        for own in (*apart, flow):
            for waits in (False, True):
                for tree in flow.trees:
                    wait_ps = longest_wait_ps(self.ground, flow, tree) if waits else None
                    if wait_ps is None or wait_ps > 0:
                        found = self._first_release(own, tree, wait_ps)
                        if found is not None:
                            return found
        return self._by_turns(flow)

    def _first_release(self, flow: Flow, tree: Tree, wait_ps: int | None) -> list[Placement] | None:
        stream, station = flow.stream, flow.station
        if stream.turns > 1:
            return self._at_a_rate(flow, tree, wait_ps)
        if stream.offset_ns != "auto":
            release_ps = int(stream.offset_ns) * PS_PER_NS
            outcome = self.ground.lay(flow, tree, release_ps, self.occupancy, wait_ps)
            return None if isinstance(outcome, int) else [outcome]
        first_ps = on_grid(station, stream, 0)
        found = self._within(flow, tree, first_ps, flow.period_ps, wait_ps)
        return None if found is None else [found]

    def _at_a_rate(self, flow: Flow, tree: Tree, wait_ps: int | None) -> list[Placement] | None:
        """Every frame at the instant that follows from the first release, which moves later until
        all fit.
        """
        stream, period_ps = flow.stream, flow.stream.period_ns * PS_PER_NS
        release_ps, end_ps = on_grid(flow.station, stream, 0), period_ps
        if stream.offset_ns != "auto":
            release_ps, end_ps = int(stream.offset_ns) * PS_PER_NS, 0
        for _ in range(STEPS_MAX):
            found, later_ps = list[Placement](), 0
            for own, at_ps in frames(flow, release_ps):
                placement = self._within(own, tree, at_ps, at_ps + period_ps, wait_ps)
                later_ps = placement.release_ps - at_ps if placement else end_ps
                if placement is None or later_ps:
                    break
                found.append(placement)
                self.occupancy.add(flow.number, placement.claims)
            self.occupancy.remove(flow.number)
            if len(found) == stream.turns:
                most_ns = stream.jitter_ns
                fits = most_ns is None or spread_ps(found) <= most_ns * PS_PER_NS
                return found if fits else None
            release_ps = on_grid(flow.station, stream, release_ps + later_ps)
            if release_ps >= end_ps:
                return None
        return None

    def _within(
        self, flow: Flow, tree: Tree, start_ps: int, end_ps: int, wait_ps: int | None
    ) -> Placement | None:
        """The first placement with a release in [start_ps, end_ps) that fits; start_ps is on the
        grid.

        Raises:
            TimeUpError: the time limit is reached.
        """
        steady = self.ground.steady(flow, tree)
        if steady is None or self.ground.listed(flow):
            return self._within_laid_each(flow, tree, start_ps, end_ps, wait_ps)
        if self.ground.excess_ps(steady):
            return None
        obstacles = self.occupancy.obstacles(steady.claims)
        if obstacles.never:
            return None
        patience = [self.ground.patience_ps(flow, tree, claim, wait_ps) for claim in steady.claims]
        release_ps = start_ps
        for count in range(STEPS_MAX):
            if release_ps >= end_ps:
                return None
            if count % _LOOK_EVERY == 0:
                self.limits.look(LOOKING)
            by_ps = release_ps - steady.release_ps
            met = obstacles.met(by_ps)
            if met is None:
                return moved(steady, flow, by_ps)
            number, shift_ps = met
            if shift_ps > patience[number]:
                later_ps = max(1, shift_ps - patience[number])
            else:
                outcome = settled(self.ground, steady, by_ps, obstacles, self.occupancy, wait_ps)
                if not isinstance(outcome, int):
                    return replace(outcome, flow=flow)
                if outcome == NEVER:
                    return None
                later_ps = outcome
            release_ps = on_grid(flow.station, flow.stream, release_ps + later_ps)
        return None

    def _within_laid_each(
        self, flow: Flow, tree: Tree, start_ps: int, end_ps: int, wait_ps: int | None
    ) -> Placement | None:
        """As `_within`, for a flow whose placement depends on its release: lay it hop by hop for
        each release. Return the first placement that waits for no explicit gate list, else the one
        with the least delay.
        """
        release_ps, best = start_ps, None
        for count in range(STEPS_MAX):
            if release_ps >= end_ps:
                return best
            if count % _LOOK_EVERY == 0:
                self.limits.look(LOOKING)
            outcome = self.ground.lay(flow, tree, release_ps, self.occupancy, wait_ps)
            if outcome == NEVER:
                return best
            if not isinstance(outcome, int):
                if not (later_ps := self.ground.held_by_hand_ps(outcome)):
                    return outcome
                if best is None or outcome.delay_ps < best.delay_ps:
                    best = outcome
                outcome = later_ps
            release_ps = on_grid(flow.station, flow.stream, release_ps + outcome)
        return best

    # -- bounded jitter: one release for each of several frames
    # ----------------------------------------------------------------------------------------------

    def _by_turns(self, flow: Flow) -> list[Placement] | None:
        """Releases for each of `turns` frames; they differ by at most the stream's jitter."""
        room_ps = jitter_room_ps(self.ground, flow)
        stream = flow.stream
        if stream.offset_ns != "auto" or stream.turns > 1 or room_ps < flow.station.grid_ps:
            return None
        for turns in self._useful_turns(flow):
            for tree in flow.trees:
                found = self._turns_on(flow, tree, turns, room_ps)
                if found is not None:
                    return found
        return None

    def _useful_turns(self, flow: Flow) -> list[int]:
        """Numbers of frames after which the pattern of the other flows' periods repeats."""
        others = {
            placement.flow.period_ps
            for placements in self.placed.values()
            for placement in placements
        }
        counts = {math.lcm(flow.period_ps, period_ps) // flow.period_ps for period_ps in others}
        return sorted(count for count in counts if 1 < count <= TURNS_MAX)

    def _turns_on(self, flow: Flow, tree: Tree, turns: int, room_ps: int) -> list[Placement] | None:
        """Bridges hold no frame here, so the spread of the arrivals is that of the releases;
        explicit gate lists may increase it.
        """
        period_ps, jitter_ps = flow.period_ps, (flow.stream.jitter_ns or 0) * PS_PER_NS
        first = replace(flow, turns=turns)
        start_ps = on_grid(flow.station, flow.stream, 0)
        for _ in range(STEPS_MAX // turns):
            head = self._within(first, tree, start_ps, period_ps, 0)
            if head is None:
                return None
            found = [head]
            self.occupancy.add(flow.number, head.claims)
            for turn in range(1, turns):
                from_ps = on_grid(flow.station, flow.stream, head.release_ps + turn * period_ps)
                placement = self._within(
                    replace(first, turn=turn), tree, from_ps, from_ps + room_ps + 1, 0
                )
                if placement is None or spread_ps([*found, placement]) > jitter_ps:
                    break
                found.append(placement)
                self.occupancy.add(flow.number, placement.claims)
            self.occupancy.remove(flow.number)
            if len(found) == turns:
                return found
            start_ps = on_grid(flow.station, flow.stream, head.release_ps + 1)
        return None

    # -- repair
    # ----------------------------------------------------------------------------------------------

    def _make_room(self, flow: Flow) -> list[Flow] | None:
        """Place a flow where it displaces the fewest flows; return the displaced flows, or None if
        no place is possible.
        """
        chosen: tuple[int, list[Placement], set[int]] | None = None
        for tree in flow.trees:
            for release_ps in self._candidates(flow):
                laid = [
                    outcome
                    for own, at_ps in frames(flow, release_ps)
                    if not isinstance(outcome := self.ground.lay(own, tree, at_ps), int)
                    and self._holds_alone(outcome)
                    and not self.ground.barred_ps(own, at_ps)
                ]
                met = {
                    owner
                    for outcome in laid
                    for claim in outcome.claims
                    for owner in self.occupancy.met_by(claim)
                }
                if (
                    len(laid) < flow.stream.turns
                    or not met
                    or met & self.kept
                    or len(met) > _DRIVEN_OUT_MAX
                ):
                    continue
                cost = sum(1 + self._times_out.get(owner, 0) for owner in met)
                if chosen is None or cost < chosen[0]:
                    chosen = cost, laid, met
        if chosen is None:
            return None
        _, placements, met = chosen
        for owner in met:
            self._times_out[owner] = self._times_out.get(owner, 0) + 1
            self.take(owner)
        self.put(placements)
        met |= set(loose(self.ground, self.placed, self.occupancy))
        return sorted((self.ground.flows[owner] for owner in met), key=_urgency)

    def _holds_alone(self, placement: Placement) -> bool:
        """Whether a placement meets the stream's deadline, jitter and period. Behind explicit gate
        lists the answer depends on the release.
        """
        return not self.ground.excess_ps(placement) and not any(
            claim.over_ps for claim in placement.claims
        )

    def _candidates(self, flow: Flow) -> Iterable[int]:
        stream = flow.stream
        if stream.offset_ns != "auto":
            return [int(stream.offset_ns) * PS_PER_NS]
        period_ps = stream.period_ns * PS_PER_NS
        drawn = (self._random.randrange(period_ps) for _ in range(_RELEASES_TRIED))
        grid = (on_grid(flow.station, stream, at_ps) for at_ps in drawn)
        return [release_ps for release_ps in grid if release_ps < period_ps]


def _urgency(flow: Flow) -> tuple[int, int, int]:
    """Higher priority first, then fewer hops, then file order."""
    stream: Stream = flow.stream
    return (-stream.priority, max(len(path) for path in flow.trees[0].paths.values()), flow.number)


def longest_wait_ps(ground: Ground, flow: Flow, tree: Tree) -> int:
    """The most that bridges may hold a flow in total: what its deadline leaves, at most a
    period.
    """
    gated = any(ground.is_gated(leg.here, leg.there) for leg in tree.legs)
    if not gated or tree.second:
        return 0
    alone = ground.alone(flow, tree)
    if isinstance(alone, int):
        return 0
    longest_ps = flow.stream.period_ns * PS_PER_NS
    if flow.stream.deadline_ns is not None and flow.station.bounded:
        longest_ps = min(longest_ps, flow.stream.deadline_ns * PS_PER_NS - ground.due_ps(alone))
    return max(0, longest_ps)


def jitter_room_ps(ground: Ground, flow: Flow) -> int:
    """How far the releases of a stream's frames may differ within its jitter and deadline; 0 if the
    stream has no jitter.
    """
    if flow.stream.jitter_ns is None or ground.cycles.passed(flow.trees[0]):
        return 0
    alone = ground.alone(flow, flow.trees[0])
    if isinstance(alone, int):
        return 0
    room_ps = flow.stream.jitter_ns * PS_PER_NS - alone.spread_ps
    if flow.stream.deadline_ns is not None:
        room_ps = min(room_ps, flow.stream.deadline_ns * PS_PER_NS - ground.due_ps(alone))
    return max(0, room_ps)
