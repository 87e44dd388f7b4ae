# SPDX-License-Identifier: BSD-3-Clause
"""What the partition planner is compared with: Z3 in the published encoding, Z3 with booleans,
CP-SAT alone.

Each takes a problem and a cap in seconds and returns its answer; the time it takes includes making
its model.
"""

from __future__ import annotations

import itertools
import time

import z3
from keepon.planner.partition import bounds, exact
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import FEASIBLE, INFEASIBLE, UNKNOWN, Problem


def _asked(solver: z3.Solver, begin: float, cap_s: float) -> str:
    """Let Z3 decide in what is left of the cap after the model was made."""
    left_ms = int(1000 * (cap_s - (time.monotonic() - begin)))
    if left_ms <= 0:
        return UNKNOWN
    solver.set("timeout", left_ms)
    solver.set("random_seed", 1)
    found = solver.check()
    return FEASIBLE if found == z3.sat else INFEASIBLE if found == z3.unsat else UNKNOWN


def z3_published(problem: Problem, cap_s: float) -> str:
    """KeepON paper section A.7 as written: times over one hyperperiod, an owner per ring slot, Eq.
    1, 2 and 3.

    Transmission times are real numbers in slots, s = floor(t) mod N; Eq. 2 is taken over all pairs
    with its two absolute values, Eq. 3 over all pairs of one application. The first instance of a
    flow starts within its first period, without which times were unbounded. "sat" here is not yet a
    schedule: ownership is not checked beyond one hyperperiod.
    """
    begin = time.monotonic()
    solver = z3.Solver()
    owner = z3.Function("owner", z3.IntSort(), z3.IntSort())
    times: dict[int, list[list[z3.ArithRef]]] = {}
    for stream in problem.streams:
        count = problem.hyperperiod_slots // stream.period_slots
        sent = [z3.Real(f"t_{stream.index}_{number}") for number in range(count)]
        solver.add(sent[0] >= 0, sent[0] < stream.period_slots)
        for start in sent:
            solver.add(start >= 0, owner(z3.ToInt(start) % problem.ring_slots) == stream.owner)
        for a, b in itertools.combinations(range(count), 2):
            off = z3.Abs(sent[a] - sent[b]) - (b - a) * stream.period_slots
            solver.add(z3.Abs(off) <= stream.jitter_slots)
        times.setdefault(stream.owner, []).append(sent)
    for flows in times.values():
        for first, second in itertools.combinations(flows, 2):
            solver.add([a != b for a in first for b in second])
        if time.monotonic() - begin > cap_s:
            return UNKNOWN
    return _asked(solver, begin, cap_s)


def z3_boolean(problem: Problem, cap_s: float) -> str:
    """The model of keepon.planner.partition.exact in Z3: booleans for phases, starts and owners
    over the cycle L.
    """
    begin = time.monotonic()
    solver = z3.Solver()
    ring, cycle = problem.ring_slots, problem.cycle_slots
    own = [
        [z3.Bool(f"own_{owner}_{slot}") for slot in range(ring)]
        for owner in range(problem.owner_count)
    ]
    for slot in range(ring):
        solver.add(z3.AtMost(*(row[slot] for row in own), 1))
    for owner, row in enumerate(own):
        solver.add(z3.AtLeast(*row, bounds.slots_needed(problem, owner).slots))
    busy: dict[tuple[int, int], list[z3.BoolRef]] = {}
    for stream in problem.streams:
        starts = [z3.Bool(f"y_{stream.index}_{slot}") for slot in range(cycle)]
        phases = [z3.Bool(f"x_{stream.index}_{phase}") for phase in stream.phases]
        solver.add(z3.Or(phases), z3.AtMost(*phases, 1))
        for slot, start in enumerate(starts):
            solver.add(z3.Implies(start, own[stream.owner][slot % ring]))
            busy.setdefault((stream.owner, slot), []).append(start)
        for phase, chosen in zip(stream.phases, phases, strict=True):
            for release in range(phase, phase + cycle, stream.period_slots):
                window = [
                    starts[(release + wait) % cycle] for wait in range(stream.jitter_slots + 1)
                ]
                solver.add(z3.Implies(chosen, z3.Or(window)))
    for literals in busy.values():
        if len(literals) > 1:
            solver.add(z3.AtMost(*literals, 1))
    return _asked(solver, begin, cap_s)


def cpsat_alone(problem: Problem, cap_s: float) -> str:
    """The whole CP-SAT model with its bound rows, and nothing before it."""
    needed = [bounds.slots_needed(problem, owner) for owner in range(problem.owner_count)]
    full = exact.solve_full(problem, needed, Limits(time.monotonic() + cap_s))
    return FEASIBLE if full.witness is not None else INFEASIBLE if full.impossible else UNKNOWN
