# SPDX-License-Identifier: BSD-3-Clause
"""Decides one problem: bounds, closed form, first fit by pairs, greedy, then CP-SAT, the cheapest
first.

Three answers: feasible with a witness, infeasible with a proof or after an exhaustive search,
unknown within limits.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from keepon.planner.partition import bounds, closed, exact, greedy, pairwise
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import (
    FEASIBLE,
    INFEASIBLE,
    UNKNOWN,
    UNOWNED,
    Outcome,
    Problem,
    Witness,
)

QUICK_ATTEMPTS = 4
GREEDY_ATTEMPTS = 64
FIRST_FIT_ATTEMPTS = 64


def _feasible(problem: Problem, method: str, witness: Witness) -> Outcome:
    return Outcome(FEASIBLE, method, witness=_trimmed(problem, witness))


def _trimmed(problem: Problem, witness: Witness) -> Witness:
    """The witness without owned slots that no frame uses: best effort can use them."""
    if witness.starts is None:
        return witness
    ring = problem.ring_slots
    used = {
        (start + ahead) % ring
        for stream, starts in zip(problem.streams, witness.starts, strict=True)
        for start in starts
        for ahead in range(stream.length_slots)
    }
    owners = tuple(owner if slot in used else UNOWNED for slot, owner in enumerate(witness.owners))
    return dataclasses.replace(witness, owners=owners)


def cycle_is_small(problem: Problem) -> bool:
    """Whether the cycle L is short enough to represent slot by slot."""
    return (
        problem.cycle_slots <= greedy.CYCLE_SLOTS_MAX
        and problem.instance_count <= 4 * greedy.CYCLE_SLOTS_MAX
    )


def decide(problem: Problem, limits: Limits) -> Outcome:
    """The answer to one problem.

    Args:
        limits: time, seed and workers; without a time limit and with one worker the answer repeats
            exactly.
    """
    begin = time.perf_counter()
    outcome = _quick(problem, limits) or _search(problem, limits)
    return dataclasses.replace(outcome, seconds=time.perf_counter() - begin)


def _quick(problem: Problem, limits: Limits) -> Outcome | None:
    """The methods that take milliseconds and do not use the cycle."""
    proof = bounds.disproof(problem)
    if proof is not None:
        return Outcome(INFEASIBLE, "analytic-bound", proof=proof)
    witness = closed.construct(problem)
    if witness is not None:
        return _feasible(problem, "zero-jitter-closed-form", witness)
    witness = pairwise.first_fit(problem, QUICK_ATTEMPTS, limits)
    return None if witness is None else _feasible(problem, "first-fit-pairs", witness)


def _search(problem: Problem, limits: Limits) -> Outcome:
    best: dict[str, Any] = {"streams": len(problem.streams)}
    if pairwise.is_exact(problem) and pairwise.applies(problem):
        return _search_phases(problem, limits, best)
    if cycle_is_small(problem):
        return _search_cycle(problem, limits, best)
    witness = pairwise.first_fit(problem, FIRST_FIT_ATTEMPTS, limits.share(0.5))
    if witness is not None:
        return _feasible(problem, "first-fit-pairs", witness)
    if pairwise.applies(problem):
        return _search_phases(problem, limits, best)
    return Outcome(UNKNOWN, "cycle-too-long", best=best)


def _search_phases(problem: Problem, limits: Limits, best: dict[str, Any]) -> Outcome:
    needed = [bounds.slots_needed(problem, owner).slots for owner in range(problem.owner_count)]
    full = pairwise.solve_phases(problem, needed, limits)
    if full.witness is not None:
        return _feasible(problem, "cp-sat-phases", full.witness)
    best["slots_needed_at_least"] = sum(needed)
    return Outcome(INFEASIBLE if full.impossible else UNKNOWN, "cp-sat-phases", best=best)


def _search_cycle(problem: Problem, limits: Limits, best: dict[str, Any]) -> Outcome:
    attempts = greedy.Greedy(problem, limits.seed)
    limits.progress("greedy")
    witness = attempts.solve(GREEDY_ATTEMPTS, limits.share(0.5).over)
    if witness is not None:
        return _feasible(problem, "jitter-greedy", witness)
    best["streams_placed"] = attempts.placed_most
    limits.progress(f"greedy: {attempts.placed_most} of {len(problem.streams)} streams placed")
    proof, needed = exact.minima_proof(problem, limits.share(0.5))
    if proof is not None:
        return Outcome(INFEASIBLE, "class-minima", proof=proof)
    best["slots_needed_at_least"] = sum(bound.slots for bound in needed)
    if exact.model_literals(problem, problem.streams) > exact.LITERALS_MAX:
        return Outcome(UNKNOWN, "model-too-large", best=best)
    full = exact.solve_full(problem, needed, limits)
    if full.witness is not None:
        return _feasible(problem, "cp-sat-full", full.witness)
    return Outcome(INFEASIBLE if full.impossible else UNKNOWN, "cp-sat-full", best=best)
