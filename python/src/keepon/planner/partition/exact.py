# SPDX-License-Identifier: BSD-3-Clause
"""The whole problem as a CP-SAT model over the cycle L: booleans for phases, starts and owners.

For each owner: a stream has exactly one phase; each window of the chosen phase holds a start; a
time has at most one frame; a start needs its ring slots owned. Every model has the bounds of
bounds.py as rows: without them CP-SAT rarely decides infeasible problems. The model breaks
symmetries: all times may shift together, those of each owner by the ring, and equal streams are
ordered. A window may hold more than one start: the additional ones are not sent. A row that forbids
them makes the search ten to fifty times longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from keepon.planner.partition import bounds
from keepon.planner.partition.cpsat import Solved, solve
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import UNOWNED, Problem, Stream, Witness

LITERALS_MAX = 4_000_000
"""Most literals of one model, which keep it below 1 GB."""


def model_literals(problem: Problem, streams: Sequence[Stream]) -> int:
    """Number of literals for the windows, which are most of a model."""
    return sum(
        problem.cycle_slots * (stream.jitter_slots + 1 + stream.length_slots) for stream in streams
    )


def reference(problem: Problem, streams: Sequence[Stream]) -> Stream | None:
    """The stream whose phase is restricted to break the symmetry of its owner; None where windows
    fix the phases.
    """
    if any(stream.earliest_slot is not None for stream in streams) or not streams:
        return None
    return max(
        streams, key=lambda s: (s.period_slots // problem.ring_gcd(s), s.period_slots, -s.index)
    )


class OwnerModel:
    """Variables and constraints of one owner's streams in a model.

    Args:
        own: a literal per ring slot, true if owned; None where the slot cannot be owned.
        first_phases: phases allowed for the reference stream.
    """

    def __init__(
        self,
        model: cp_model.CpModel,
        problem: Problem,
        owner: int,
        own: Sequence[cp_model.IntVar | None],
        first_phases: range | None,
    ) -> None:
        self.model = model
        self.problem = problem
        self.streams = problem.members[owner]
        self.own = own
        self.usable = {slot for slot, literal in enumerate(own) if literal is not None}
        self.starts: list[dict[tuple[int, int], cp_model.IntVar]] = []
        self.phases: list[dict[int, cp_model.IntVar]] = []
        first = reference(problem, self.streams)
        for stream in self.streams:
            restricted = first_phases if stream is first else None
            self._add_stream(stream, stream.phases if restricted is None else restricted)
        self._exclude_overlaps()
        self._order_equals(first)

    def _key(self, stream: Stream, number: int, time: int) -> tuple[int, int]:
        """Key of the variable for a start at a time: neighbouring windows share a slot only if J =
        P.
        """
        return (time, number if stream.jitter_slots >= stream.period_slots else 0)

    def _start(
        self, stream: Stream, made: dict[tuple[int, int], cp_model.IntVar], key: tuple[int, int]
    ) -> bool:
        """Make the variable of a start if its ring slots can be owned."""
        if key in made:
            return True
        slots = {(key[0] + ahead) % self.problem.ring_slots for ahead in range(stream.length_slots)}
        if not slots <= self.usable:
            return False
        made[key] = self.model.new_bool_var("")
        for slot in slots:
            literal = self.own[slot]
            if literal is not None:
                self.model.add_implication(made[key], literal)
        return True

    def _add_stream(self, stream: Stream, phases: range) -> None:
        cycle, period = self.problem.cycle_slots, stream.period_slots
        count = cycle // period
        made: dict[tuple[int, int], cp_model.IntVar] = {}
        chosen: dict[int, cp_model.IntVar] = {}
        for phase in phases:
            windows = []
            for number in range(count):
                begin = phase + number * period
                keys = [
                    self._key(stream, number, time % cycle)
                    for time in range(begin, begin + stream.jitter_slots + 1)
                ]
                window = [key for key in keys if self._start(stream, made, key)]
                if not window:
                    break
                windows.append(window)
            else:
                chosen[phase] = self.model.new_bool_var("")
                for window in windows:
                    self.model.add_bool_or([made[key] for key in window]).only_enforce_if(
                        chosen[phase]
                    )
        self.model.add_exactly_one(list(chosen.values()))
        self.starts.append(made)
        self.phases.append(chosen)

    def _exclude_overlaps(self) -> None:
        busy: dict[int, list[cp_model.IntVar]] = {}
        for stream, made in zip(self.streams, self.starts, strict=True):
            for (time, _), literal in made.items():
                for ahead in range(stream.length_slots):
                    busy.setdefault((time + ahead) % self.problem.cycle_slots, []).append(literal)
        for literals in busy.values():
            if len(literals) > 1:
                self.model.add_at_most_one(literals)

    def _order_equals(self, first: Stream | None) -> None:
        def kind(place: int) -> tuple[int, ...]:
            s = self.streams[place]
            earliest = -1 if s.earliest_slot is None else s.earliest_slot
            return (s.period_slots, s.jitter_slots, s.length_slots, earliest, s.latest_slot or 0)

        places = sorted(
            (p for p in range(len(self.streams)) if self.streams[p] is not first),
            key=lambda p: (kind(p), p),
        )
        for a, b in itertools.pairwise(places):
            if kind(a) == kind(b):
                one, other = (
                    cp_model.LinearExpr.weighted_sum(
                        list(self.phases[p].values()), list(self.phases[p])
                    )
                    for p in (a, b)
                )
                self.model.add(one <= other)

    def schedule(self, solved: Solved) -> list[tuple[int, tuple[int, ...]]]:
        """Phase and starts of each stream of the owner in a solution."""
        value = solved.solver.boolean_value
        cycle = self.problem.cycle_slots
        found = []
        for stream, made, chosen in zip(self.streams, self.starts, self.phases, strict=True):
            phase = next(phase for phase, literal in chosen.items() if value(literal))
            starts = []
            for number in range(cycle // stream.period_slots):
                begin = phase + number * stream.period_slots
                times = (time % cycle for time in range(begin, begin + stream.jitter_slots + 1))
                keys = ((time, self._key(stream, number, time)) for time in times)
                starts.append(next(time for time, key in keys if key in made and value(made[key])))
            found.append((phase, tuple(starts)))
        return found


def _ownership(model: cp_model.CpModel, problem: Problem) -> list[cp_model.IntVar | None]:
    return [
        None if slot in problem.unowned else model.new_bool_var("")
        for slot in range(problem.ring_slots)
    ]


def _present(own: Sequence[cp_model.IntVar | None]) -> list[cp_model.IntVar]:
    return [literal for literal in own if literal is not None]


@dataclass(frozen=True)
class Minimum:
    """Ring slots that an owner needs by itself: at least `low`; exactly `low` if `exact`."""

    low: int
    exact: bool


def class_minimum(problem: Problem, owner: int, low: int, limits: Limits) -> Minimum:
    """The least number of ring slots for the streams of one owner alone.

    Args:
        low: a known bound.
    """
    streams = problem.members[owner]
    if len(streams) == 1 and problem.is_plain and streams[0].jitter_slots < streams[0].period_slots:
        # A single stream reaches its bound with slots (floor(J / g) + 1) g apart.
        return Minimum(low, True)
    model = cp_model.CpModel()
    own = _ownership(model, problem)
    first = reference(problem, streams)
    # The model has no other owner, so the ring may be shifted until the reference starts at 0.
    turned = problem.is_plain and first is not None
    OwnerModel(model, problem, owner, own, range(1) if turned else None)
    # Yes-or-no questions for each number are decided sooner than a minimisation.
    total = sum(_present(own))
    classes = ",".join(map(str, problem.owner_classes[owner]))
    enough = low
    model.add(total >= low)
    while enough <= problem.ownable_slots:
        asked = model.clone()
        asked.add(total <= enough)
        solved = solve(asked, limits, f"class {classes}: are {enough} slots enough?")
        if not solved.impossible:
            return Minimum(enough, solved.found)
        enough += 1
    return Minimum(enough, True)


def minima_proof(
    problem: Problem, limits: Limits
) -> tuple[dict[str, object] | None, list[bounds.SlotBound]]:
    """Compute class minima one after another until their sum exceeds the ring; return the proof, if
    any, and the sharpened bounds.
    """
    needed = [bounds.slots_needed(problem, owner) for owner in range(problem.owner_count)]
    smallest_first = sorted(
        range(problem.owner_count), key=lambda o: (model_literals(problem, problem.members[o]), o)
    )
    for position, owner in enumerate(smallest_first):
        if limits.over():
            break
        if (
            len(problem.members[owner]) == 0
            or model_literals(problem, problem.members[owner]) > LITERALS_MAX
        ):
            continue
        part = limits.share(1 / (len(smallest_first) - position))
        found = class_minimum(problem, owner, needed[owner].slots, part)
        if found.low > needed[owner].slots:
            needed[owner] = bounds.SlotBound(found.low, "search")
            proof = bounds.slots_proof(problem, needed, "class-minima")
            if proof is not None:
                return proof, needed
    return None, needed


@dataclass(frozen=True)
class Full:
    """Result of the whole model: a witness, or `impossible`, or neither within the limits."""

    witness: Witness | None
    impossible: bool


def solve_full(problem: Problem, needed: Sequence[bounds.SlotBound] | None, limits: Limits) -> Full:
    """All owners in one model.

    Args:
        needed: rows with the least slots of each owner; None: a model without these rows (for
            comparison).
    """
    model = cp_model.CpModel()
    owns = [_ownership(model, problem) for _ in range(problem.owner_count)]
    for slot in range(problem.ring_slots):
        literals = [own[slot] for own in owns]
        present = _present(literals)
        if len(present) > 1:
            model.add_at_most_one(present)
    if problem.ownable_slots < problem.ring_slots:
        model.add(
            sum(literal for own in owns for literal in _present(own)) <= problem.ownable_slots
        )
    if needed is not None:
        for own, bound in zip(owns, needed, strict=True):
            model.add(sum(_present(own)) >= bound.slots)
    parts = []
    turned = False
    for owner, own in enumerate(owns):
        first = reference(problem, problem.members[owner]) if problem.is_plain else None
        phases = None
        if first is not None:
            phases = range(problem.ring_gcd(first)) if turned else range(1)
            turned = True
        parts.append(OwnerModel(model, problem, owner, own, phases))
    solved = solve(model, limits, "all classes")
    if not solved.found:
        return Full(None, solved.impossible)
    owners = [UNOWNED] * problem.ring_slots
    for owner, own in enumerate(owns):
        for slot, literal in enumerate(own):
            if literal is not None and solved.solver.boolean_value(literal):
                owners[slot] = owner
    phases_of: dict[int, tuple[int, tuple[int, ...]]] = {}
    for owner, part in enumerate(parts):
        placed = part.schedule(solved)
        phases_of |= {
            s.index: found for s, found in zip(problem.members[owner], placed, strict=True)
        }
    return Full(
        Witness(
            tuple(owners),
            tuple(phases_of[s.index][0] for s in problem.streams),
            tuple(phases_of[s.index][1] for s in problem.streams),
        ),
        False,
    )
