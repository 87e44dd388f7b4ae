# SPDX-License-Identifier: BSD-3-Clause
"""The problem without the cycle: only phases, conditions between pairs of streams, and cosets of
the ring.

A stream that starts at o + l P uses exactly the ring slots o + gcd(P, N) Z, and collides with
another stream of its owner depending only on their phases modulo gcd(P_a, P_b). So a schedule
without jitter is a set of phases with pairwise conditions, and L, which non-harmonic periods make
astronomically large, is not needed. A stream with jitter may have private ring slots and start at
the first of them after its release, which does not need L either. No object here is larger than the
ring or a period.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from keepon.planner.partition.cpsat import solve
from keepon.planner.partition.exact import Full
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import UNOWNED, Problem, Stream, Witness

PHASES_MAX = 1_000_000
"""Most phases of one stream to try."""
MODEL_LITERALS_MAX = 1_000_000


def phase_modulus(problem: Problem, stream: Stream) -> int:
    """The divisor of a stream's period modulo which the pairwise conditions determine its phase."""
    gcds = [
        math.gcd(stream.period_slots, other.period_slots)
        for other in problem.members[stream.owner]
        if other != stream
    ]
    return math.lcm(problem.ring_gcd(stream), *gcds)


def _candidates(problem: Problem, stream: Stream) -> range:
    phases = stream.phases
    return phases[: min(len(phases), phase_modulus(problem, stream), PHASES_MAX)]


class _Attempt:
    """One pass of first fit over the streams."""

    def __init__(self, problem: Problem, chance: random.Random | None) -> None:
        self.problem = problem
        self.chance = chance
        self.owners = np.full(problem.ring_slots, UNOWNED, dtype=np.int64)
        self.closed = np.zeros(problem.ring_slots, dtype=bool)
        self.closed[sorted(problem.unowned)] = True
        self.left = problem.ownable_slots
        self.phases: dict[int, int] = {}
        self.private: dict[int, tuple[int, ...]] = {}

    def place(self, stream: Stream) -> bool:
        """Place a stream with shared or private ring slots, whichever takes fewer new ones, shared
        on a tie; False if neither is possible.
        """
        shared, private = self._share(stream), self._separate(stream)
        if shared is not None and (private is None or shared[1] <= len(private[1])):
            g = self.problem.ring_gcd(stream)
            self.phases[stream.index], cost = shared
            for ahead in range(stream.length_slots):
                self.owners[(shared[0] + ahead) % g :: g] = stream.owner
            self.left -= cost
            return True
        if private is None:
            return False
        self.phases[stream.index], slots = private
        self.owners[list(slots)] = stream.owner
        self.closed[list(slots)] = True
        self.left -= len(slots)
        self.private[stream.index] = slots
        return True

    def _costs(self, stream: Stream) -> NDArray[np.int64]:
        """New ring slots by residue modulo gcd(P, N) of the phase; more than are left where the
        phase is impossible.
        """
        ring, g = self.problem.ring_slots, self.problem.ring_gcd(stream)
        new = self.owners == UNOWNED
        bad = self.closed | ~(new | (self.owners == stream.owner))
        costs: NDArray[np.int64]
        if stream.length_slots > g:
            # Frames longer than the spacing of the stream's slots cover the whole ring.
            return np.full(g, ring + 1 if bad.any() else new.sum(), dtype=np.int64)
        spread_new, spread_bad = np.zeros(ring, dtype=np.int64), np.zeros(ring, dtype=bool)
        for ahead in range(stream.length_slots):
            spread_new += np.roll(new, -ahead)
            spread_bad |= np.roll(bad, -ahead)
        costs = spread_new.reshape(-1, g).sum(axis=0)
        costs[spread_bad.reshape(-1, g).any(axis=0)] = ring + 1
        return costs

    def _share(self, stream: Stream) -> tuple[int, int] | None:
        """The phase without jitter, among the streams of the owner, that takes the fewest new ring
        slots, and these slots.
        """
        candidates = _candidates(self.problem, stream)
        first = candidates.start
        free = np.ones(len(candidates), dtype=bool)
        for other in self.problem.members[stream.owner]:
            if other.index not in self.phases or other.index in self.private:
                continue
            common = math.gcd(stream.period_slots, other.period_slots)
            if stream.length_slots + other.length_slots > common:
                return None
            for apart in range(1 - stream.length_slots, other.length_slots):
                free[(self.phases[other.index] + apart - first) % common :: common] = False
        g = self.problem.ring_gcd(stream)
        costs = np.resize(np.roll(self._costs(stream), -(first % g)), len(candidates))
        costs = np.where(free, costs, self.problem.ring_slots + 1)
        best = int(costs.min())
        if best > self.left:
            return None
        choices = np.flatnonzero(costs == best)
        pick = 0 if self.chance is None else self.chance.randrange(len(choices))
        return first + int(choices[pick]), best

    def _separate(self, stream: Stream) -> tuple[int, tuple[int, ...]] | None:
        """A phase and private ring slots, one for each window; only for one-slot frames with
        jitter.
        """
        jitter = min(stream.jitter_slots, stream.period_slots - 1)
        if stream.length_slots != 1 or jitter == 0:
            return None
        ring, g = self.problem.ring_slots, self.problem.ring_gcd(stream)
        free = (self.owners == UNOWNED) & ~self.closed
        best: tuple[int, tuple[int, ...]] | None = None
        for phase in stream.phases[:g]:
            chosen = _cover_circle(free, range(phase % g, ring, g), jitter)
            if (
                chosen is not None
                and len(chosen) <= self.left
                and (best is None or len(chosen) < len(best[1]))
            ):
                best = (phase, chosen)
        return best

    def witness(self) -> Witness:
        streams = self.problem.streams
        private = tuple(self.private.get(s.index) for s in streams) if self.private else None
        return Witness(
            tuple(int(o) for o in self.owners),
            tuple(self.phases[s.index] for s in streams),
            None,
            private,
        )


def _cover_circle(free: NDArray[np.bool_], visits: range, span: int) -> tuple[int, ...] | None:
    """Few free ring slots such that each visit has one within `span` slots after it, around the
    ring.
    """
    ring = len(free)
    free_twice = np.flatnonzero(np.concatenate([free, free]))
    chosen: list[int] = []
    last = -1
    for visit in visits:
        if last >= visit or (chosen and chosen[0] + ring <= visit + span):
            continue
        # The latest free slot that this visit reaches serves the most visits after it.
        place = int(np.searchsorted(free_twice, visit + span, side="right")) - 1
        if place < 0 or free_twice[place] < visit:
            return None
        last = int(free_twice[place])
        chosen.append(last)
    return tuple(sorted({slot % ring for slot in chosen}))


def first_fit(problem: Problem, attempts: int, limits: Limits) -> Witness | None:
    """First fit with seeded restarts; a stream that finds no place is placed earlier the next time.

    Sound for any jitter, complete for none: a failure proves nothing.
    """
    chance = random.Random(limits.seed)
    order = sorted(
        problem.streams, key=lambda s: (problem.ring_gcd(s), s.period_slots, s.owner, s.index)
    )
    for attempt in range(attempts):
        fit = _Attempt(problem, None if attempt == 0 else chance)
        stuck = None
        for stream in order:
            if limits.over():
                return None
            if not fit.place(stream):
                stuck = stream
                break
        if stuck is None:
            return fit.witness()
        order.remove(stuck)
        order.insert(0, stuck)
        limits.progress(
            f"first fit by pairs: attempt {attempt + 1}, {len(fit.phases)} of {len(order)} streams"
            " placed"
        )
    return None


def applies(problem: Problem) -> bool:
    """Whether the model of `solve_phases` is small enough."""
    sizes = [len(_candidates(problem, stream)) for stream in problem.streams]
    small = all(phase_modulus(problem, stream) <= PHASES_MAX for stream in problem.streams)
    pairs = sum(
        len(members) * sum(len(_candidates(problem, stream)) for stream in members)
        for members in problem.members
    )
    return small and sum(sizes) + pairs <= MODEL_LITERALS_MAX


def is_exact(problem: Problem) -> bool:
    """Whether an infeasible model proves an infeasible problem: only if no stream has jitter."""
    return all(stream.jitter_slots == 0 for stream in problem.streams)


def solve_phases(problem: Problem, needed: Sequence[int], limits: Limits) -> Full:
    """Schedules without jitter as a CP-SAT model of phases: exact if no stream has jitter, else
    sufficient.

    Args:
        needed: least ring slots of each owner.
    """
    model = cp_model.CpModel()
    ring = problem.ring_slots
    own = [[model.new_bool_var("") for _ in range(ring)] for _ in range(problem.owner_count)]
    for slot in range(ring):
        column = [row[slot] for row in own]
        model.add_at_most_one(column)
        if slot in problem.unowned:
            model.add(sum(column) == 0)
    for row, least in zip(own, needed, strict=True):
        model.add(sum(row) >= least)
    model.add(sum(literal for row in own for literal in row) <= problem.ownable_slots)
    chosen: dict[int, dict[int, cp_model.IntVar]] = {}
    for stream in problem.streams:
        phases = {phase: model.new_bool_var("") for phase in _candidates(problem, stream)}
        model.add_exactly_one(list(phases.values()))
        chosen[stream.index] = phases
        _link_ring(model, problem, stream, phases, own[stream.owner])
    for members in problem.members:
        for b, second in enumerate(members):
            for first in members[:b]:
                _keep_apart(model, first, second, chosen)
    solved = solve(model, limits, "phases by pairs")
    if not solved.found:
        return Full(None, solved.impossible and is_exact(problem))
    value = solved.solver.boolean_value
    phases_of = tuple(
        next(phase for phase, literal in chosen[s.index].items() if value(literal))
        for s in problem.streams
    )
    owners = [
        next((owner for owner, row in enumerate(own) if value(row[slot])), UNOWNED)
        for slot in range(ring)
    ]
    return Full(Witness(tuple(owners), phases_of), False)


def _link_ring(
    model: cp_model.CpModel,
    problem: Problem,
    stream: Stream,
    phases: dict[int, cp_model.IntVar],
    own: Sequence[cp_model.IntVar],
) -> None:
    g = problem.ring_gcd(stream)
    by_residue: dict[int, list[cp_model.IntVar]] = {}
    for phase, literal in phases.items():
        by_residue.setdefault(phase % g, []).append(literal)
    for residue, literals in by_residue.items():
        visits = model.new_bool_var("")
        for literal in literals:
            model.add_implication(literal, visits)
        slots = {
            (v + ahead) % len(own)
            for v in range(residue, len(own), g)
            for ahead in range(stream.length_slots)
        }
        for slot in sorted(slots):
            model.add_implication(visits, own[slot])


def _keep_apart(
    model: cp_model.CpModel,
    first: Stream,
    second: Stream,
    chosen: dict[int, dict[int, cp_model.IntVar]],
) -> None:
    """No two frames of one owner at a time: for each residue modulo the gcd at most one of two
    streams uses it.
    """
    common = math.gcd(first.period_slots, second.period_slots)
    busy: list[list[cp_model.IntVar]] = [[] for _ in range(common)]
    for stream in (first, second):
        there: dict[int, list[cp_model.IntVar]] = {}
        for phase, literal in chosen[stream.index].items():
            there.setdefault(phase % common, []).append(literal)
        for residue, literals in there.items():
            at = literals[0]
            if len(literals) > 1:
                at = model.new_bool_var("")
                for literal in literals:
                    model.add_implication(literal, at)
            for ahead in range(stream.length_slots):
                busy[(residue + ahead) % common].append(at)
    for literals in busy:
        if len(literals) > 1:
            model.add_at_most_one(literals)
