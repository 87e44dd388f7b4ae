# SPDX-License-Identifier: BSD-3-Clause
"""All releases, routes and holds as one CP-SAT model: finds a plan, or proves that none exists.

Two periodic claims fit exactly if one follows the other modulo the greatest common divisor of their
periods. An integer variable for the number of laps between them makes this condition linear in
releases and holds. A proof covers one release per period, the trees considered, and holds as long
as deadline and period allow.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

from keepon.model.wire import PS_PER_NS
from keepon.planner.network import pairs
from keepon.planner.network.flows import Flow, Placement
from keepon.planner.network.grid import frames, on_grid
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import ALONE, Claim
from keepon.planner.network.search import longest_wait_ps
from keepon.planner.network.trees import Tree
from keepon.planner.partition import cpsat
from keepon.planner.partition.limits import Limits, TimeUpError

_LOOK_EVERY = 256
_MAKING = "the model of CP-SAT was made"


@dataclass(frozen=True)
class _Spot:
    """A claim on one tree: its spans for release 0 without holds, and the holds that move it.

    `last_wait`: number of the hold at the hop itself, which moves the departure from a queue but
    not the arrival.
    """

    flow: int
    tree: int
    claim: Claim
    waits: tuple[int, ...]
    last_wait: int | None


@dataclass
class Answer:
    """Placements by stream number if a plan was found; `impossible` if no plan exists."""

    placed: dict[int, list[Placement]] | None
    impossible: bool


class _Model:
    """The flows on their trees; `waiting` allows holds at bridges.

    Raises:
        TimeUpError: the limits were reached before the model was complete.
    """

    def __init__(
        self,
        ground: Ground,
        flows: list[Flow],
        kept: dict[int, list[Placement]],
        waiting: bool,
        limits: Limits,
    ) -> None:
        self.ground = ground
        self.waiting = waiting
        self.reach_ps: dict[tuple[int, int], tuple[int, int]] = {}
        self.can_wait = False
        self.model = cp_model.CpModel()
        self.release: dict[int, Any] = {}
        self.taken: dict[tuple[int, int], Any] = {}
        self.waits: dict[tuple[int, int], list[Any]] = {}
        self.spots: dict[tuple[str, ...], list[_Spot]] = {}
        for flow in flows:
            limits.look(_MAKING)
            self._add_flow(flow)
        for number, placements in kept.items():
            for placement in placements:
                for claim in placement.claims:
                    self.spots.setdefault(claim.resource, []).append(
                        _Spot(-1 - number, 0, claim, (), None)
                    )

    def pairs(self) -> list[tuple[_Spot, _Spot]]:
        return [
            (one, other)
            for spots in self.spots.values()
            for one, other in itertools.combinations(spots, 2)
            if one.flow != other.flow and (one.flow >= 0 or other.flow >= 0)
        ]

    def _add_flow(self, flow: Flow) -> None:
        model, number = self.model, flow.number
        first_ps = on_grid(flow.station, flow.stream, 0)
        step_ps = math.lcm(flow.station.grid_ps, PS_PER_NS)
        if flow.stream.offset_ns != "auto":
            first_ps = int(flow.stream.offset_ns) * PS_PER_NS
            count = 1
        else:
            count = max(1, -(-(flow.stream.period_ns * PS_PER_NS - first_ps) // step_ps))
        index = model.new_int_var(0, count - 1, f"release{number}")
        self.release[number] = first_ps + step_ps * index
        literals = [model.new_bool_var(f"tree{number}_{tree}") for tree in range(len(flow.trees))]
        model.add_exactly_one(literals)
        for tree_number, tree in enumerate(flow.trees):
            self.taken[number, tree_number] = literals[tree_number]
            self._add_tree(flow, tree_number, tree, first_ps)

    def _add_tree(self, flow: Flow, tree_number: int, tree: Tree, first_ps: int) -> None:
        model, number = self.model, flow.number
        alone = self.ground.lay(flow, tree, first_ps, None, None)
        assert not isinstance(alone, int)
        budget_ns = longest_wait_ps(self.ground, flow, tree) // PS_PER_NS
        self.can_wait |= budget_ns > 0
        if not self.waiting:
            budget_ns = 0
        last_ps = first_ps if flow.stream.offset_ns != "auto" else first_ps + flow.period_ps
        self.reach_ps[number, tree_number] = (first_ps, last_ps + budget_ns * PS_PER_NS)
        if self.ground.excess_ps(alone):
            model.add(self.taken[number, tree_number] == 0)
            return
        waits: list[Any] = []
        chains: dict[int, tuple[int, ...]] = {-1: ()}
        for leg_number, leg in enumerate(tree.legs):
            chain = chains[leg.parent] if leg.parent >= 0 else ()
            if leg.parent >= 0 and self.ground.is_gated(leg.here, leg.there) and budget_ns > 0:
                waits.append(
                    model.new_int_var(0, budget_ns, f"wait{number}_{tree_number}_{leg_number}")
                )
                chain = (*chain, len(waits) - 1)
            elif leg.parent >= 0:
                waits.append(model.new_constant(0))
            chains[leg_number] = chain
        self.waits[number, tree_number] = waits
        for leg_number, leg in enumerate(tree.legs):
            if leg.there in tree.paths and chains[leg_number]:
                model.add(sum(waits[wait] for wait in chains[leg_number]) <= budget_ns)
        laid = [self.ground.lay(own, tree, at_ps) for own, at_ps in frames(flow, first_ps)]
        claims = [claim for each in laid if not isinstance(each, int) for claim in each.claims]
        for leg_number, leg in enumerate(tree.legs):
            chain = chains[leg_number]
            for claim in claims:
                resource = claim.resource
                if resource[1:3] == (leg.here, leg.there) or (
                    resource[0] == "slots" and leg.parent < 0
                ):
                    own = (
                        resource[0] == "queue"
                        and chain
                        and self.ground.is_gated(leg.here, leg.there)
                    )
                    self.spots.setdefault(resource, []).append(
                        _Spot(
                            number,
                            tree_number,
                            claim.moved(-first_ps),
                            chain,
                            chain[-1] if own else None,
                        )
                    )

    def _times(self, spot: _Spot) -> tuple[Any, Any, Any, Any]:
        """Start and end of both spans as expressions: the release moves both spans, the hold at the
        hop only the departure.
        """
        if spot.flow < 0:
            claim = spot.claim
            return claim.start_ps, claim.end_ps, claim.start_2_ps, claim.end_2_ps
        waits = self.waits[spot.flow, spot.tree]
        base = self.release[spot.flow]
        full = base + PS_PER_NS * sum(waits[wait] for wait in spot.waits)
        if spot.last_wait is None:
            begin = full
        else:
            begin = base + PS_PER_NS * sum(
                waits[wait] for wait in spot.waits if wait != spot.last_wait
            )
        claim = spot.claim
        framed = (claim.start_ps, claim.end_ps) == (claim.start_2_ps, claim.end_2_ps)
        if spot.last_wait is not None and framed:  # isolation "frame": from arrival to departure
            return (
                begin + claim.start_ps,
                full + claim.end_ps,
                begin + claim.start_ps,
                full + claim.end_ps,
            )
        if spot.last_wait is not None:
            return (
                begin + claim.start_ps,
                begin + claim.end_ps,
                full + claim.start_2_ps,
                full + claim.end_2_ps,
            )
        return (
            full + claim.start_ps,
            full + claim.end_ps,
            full + claim.start_2_ps,
            full + claim.end_2_ps,
        )

    def _laps(self, one: _Spot, other: _Spot, common_ps: int) -> tuple[int, int]:
        """Least and greatest number of laps between two claims; tight limits speed up the
        search.
        """
        low_ps, high_ps = zip(
            *(self.reach_ps.get((spot.flow, spot.tree), (0, 0)) for spot in (one, other)),
            strict=True,
        )
        first, second = one.claim, other.claim
        ahead_ps = (
            high_ps[1]
            - low_ps[0]
            + max(second.start_ps - first.end_ps, second.start_2_ps - first.end_2_ps)
        )
        behind_ps = (
            low_ps[1]
            - high_ps[0]
            + min(second.end_ps - first.start_ps, second.end_2_ps - first.start_2_ps)
        )
        least = -(-(behind_ps - common_ps) // common_ps)
        return least, max(least, ahead_ps // common_ps)

    def separate(self, one: _Spot, other: _Spot) -> None:
        """Require that one claim precedes the other entirely, modulo the divisor of their periods,
        if both trees are chosen.
        """
        if one.claim.group != ALONE and one.claim.group == other.claim.group:
            return
        common_ps = math.gcd(one.claim.period_ps, other.claim.period_ps, one.claim.modulus_ps)
        model = self.model
        taken = [self.taken[spot.flow, spot.tree] for spot in (one, other) if spot.flow >= 0]
        spans = [spot.claim.end_ps - spot.claim.start_ps for spot in (one, other)]
        if sum(spans) > common_ps:
            model.add_bool_or([literal.negated() for literal in taken])
            return
        lap = model.new_int_var(*self._laps(one, other, common_ps), "")
        first, second = self._times(one), self._times(other)
        rows = [
            second[0] - first[1] - common_ps * lap >= 0,
            second[2] - first[3] - common_ps * lap >= 0,
            first[0] - second[1] + common_ps * lap + common_ps >= 0,
            first[2] - second[3] + common_ps * lap + common_ps >= 0,
        ]
        for row in rows if one.claim.resource[0] == "queue" else rows[::2]:
            model.add(row).only_enforce_if(taken)


def solve(
    ground: Ground, flows: list[Flow], kept: dict[int, list[Placement]], limits: Limits
) -> Answer | None:
    """Place `flows` beside the kept streams, or prove that no such placement exists.

    Try the shortest trees without holds first, where a plan is found soonest; then all trees; then
    holds.

    Returns:
        None if the model would be too large or the scenario has an explicit gate list, which the
        model cannot express; an answer with neither placements nor proof if the limits were
        reached.
    """
    if not pairs.fits(ground, flows, kept):
        return None
    answer: Answer | None = None
    many = any(len(flow.trees) > 1 for flow in flows)
    for share, only_shortest, waiting in (
        (0.3, True, False),
        (0.4, False, False),
        (1.0, False, True),
    ):
        if not only_shortest and not waiting and not many:
            continue
        own = [pairs.shortest(flow) for flow in flows] if only_shortest else flows
        if pairs.count(ground, own, kept) > pairs.PAIRS_MAX:
            continue
        part = limits.share(share)
        try:
            model = _Model(ground, own, kept, waiting, part)
            if waiting and not model.can_wait and answer is not None and answer.impossible:
                break
            apart = model.pairs()
            for number, (one, other) in enumerate(apart):
                if number % _LOOK_EVERY == 0:
                    part.look(_MAKING)
                model.separate(one, other)
        except TimeUpError:
            break  # the later models are larger
        what = (
            f"CP-SAT: {len(flows)} streams, {len(apart)} pairs{', with waits' if waiting else ''}"
        )
        solved = cpsat.solve(model.model, part, what)
        if solved.found:
            return Answer(_placed(ground, flows, model, solved), False)
        complete = (not only_shortest or not many) and (waiting or not model.can_wait)
        # Whole-ns releases do not reach all slots that start between two whole ns, so the model
        # proves nothing then.
        every_release = all(flow.station.grid_ps % PS_PER_NS == 0 for flow in flows)
        answer = Answer(None, solved.impossible and complete and every_release)
        if answer.impossible:
            break
    return answer


def _placed(
    ground: Ground, flows: list[Flow], model: _Model, solved: cpsat.Solved
) -> dict[int, list[Placement]]:
    placed: dict[int, list[Placement]] = {}
    for flow in flows:
        tree_number = next(
            number
            for number in range(len(flow.trees))
            if (flow.number, number) in model.taken
            and solved.solver.boolean_value(model.taken[flow.number, number])
        )
        release_ps = solved.solver.value(model.release[flow.number])
        waits = tuple(
            int(solved.solver.value(wait)) for wait in model.waits[flow.number, tree_number]
        )
        placed[flow.number] = []
        for own, at_ps in frames(flow, release_ps):
            placement = ground.lay(own, flow.trees[tree_number], at_ps, None, None, waits)
            assert not isinstance(placement, int)
            placed[flow.number].append(placement)
    return placed
