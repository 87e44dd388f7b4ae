# SPDX-License-Identifier: BSD-3-Clause
"""The result of a solver, and its form in an answer file. Data only: the solvers are in other
modules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from keepon.planner.partition.problem import Problem

FEASIBLE = "feasible"
INFEASIBLE = "proven_infeasible"
UNKNOWN = "unknown"
UNOWNED = -1
LISTED_INSTANCES_MAX = 100_000
"""Most frames in a cycle of which a witness lists every start; beyond it the witness has phases."""


@dataclass(frozen=True)
class Witness:
    """A schedule.

    Attributes:
        owners: owner of each ring slot, UNOWNED for none; length N.
        phase_slots: o of each stream.
        starts: starts of each stream modulo L in the order of its instances; None: each stream
            starts at o + l P, or at the first of its private slots from then on.
        private: the exclusive ring slots of each stream that has some; None for the other streams.
    """

    owners: tuple[int, ...]
    phase_slots: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...] | None = None
    private: tuple[tuple[int, ...] | None, ...] | None = None


@dataclass(frozen=True)
class Outcome:
    """The answer, the method that found it, and its evidence: a witness, a proof, or the best
    attempt.
    """

    answer: str
    method: str
    witness: Witness | None = None
    proof: dict[str, Any] | None = None
    best: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def _waits(ring_slots: int, private: tuple[int, ...]) -> list[int]:
    """Distance from each ring slot to the first private slot, 0 at a private slot."""
    waits = [0] * ring_slots
    following = min(private) + ring_slots
    for slot in range(ring_slots - 1, -1, -1):
        following = slot if slot in private else following
        waits[slot] = following - slot
    return waits


def listed_starts(problem: Problem, witness: Witness) -> list[list[int]]:
    """All starts of a witness, modulo L."""
    if witness.starts is not None:
        return [list(row) for row in witness.starts]
    cycle, ring = problem.cycle_slots, problem.ring_slots
    listed = []
    for stream, phase in zip(problem.streams, witness.phase_slots, strict=True):
        private = witness.private[stream.index] if witness.private is not None else None
        waits = [0] * ring if private is None else _waits(ring, private)
        releases = range(phase, phase + cycle, stream.period_slots)
        listed.append([(release + waits[release % ring]) % cycle for release in releases])
    return listed


def witness_json(problem: Problem, witness: Witness) -> dict[str, Any]:
    """The witness as in an answer file: every start if there are at most LISTED_INSTANCES_MAX, else
    phases.
    """
    lowest = [classes[0] for classes in problem.owner_classes]
    document: dict[str, Any] = {
        "cycle_slots": problem.cycle_slots,
        "owner_class_by_ring_slot": [
            lowest[owner] if owner != UNOWNED else UNOWNED for owner in witness.owners
        ],
    }
    if any(len(classes) > 1 for classes in problem.owner_classes):
        bits = [sum(1 << member for member in classes) for classes in problem.owner_classes]
        document["class_mask_by_ring_slot"] = [
            bits[owner] if owner != UNOWNED else 0 for owner in witness.owners
        ]
    if problem.instance_count <= LISTED_INSTANCES_MAX:
        document["tx_slot_by_flow"] = listed_starts(problem, witness)
    else:
        document["phase_slot_by_flow"] = list(witness.phase_slots)
        if witness.private is not None:
            rows = [None if slots is None else list(slots) for slots in witness.private]
            document["private_ring_slots_by_flow"] = rows
    return document
