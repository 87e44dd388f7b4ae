# SPDX-License-Identifier: BSD-3-Clause
"""Schedules without jitter by construction: ring slots by buddy allocation, then each class within
its slots.

A stream that starts every P slots uses one coset modulo gcd(P, N) of the ring. If these moduli
divide one another the ring is a tree, and a buddy allocation, largest cosets first, reaches the
density bound of bounds.py. If also the periods of each class divide one another, its streams fill
their slots without waste, and the bound is exact for zero jitter. Otherwise, and with jitter, the
construction is only sufficient. Nothing here grows with the cycle L: free time is kept as cosets.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from keepon.planner.partition.problem import UNOWNED, Problem, Stream, Witness


@dataclass(frozen=True)
class _Free:
    """Free cosets residue + step k modulo modulus, for begin <= k < modulus / step."""

    residue: int
    step: int
    modulus: int
    begin: int


def is_chain(numbers: set[int]) -> bool:
    """Whether each number divides the next greater one."""
    ordered = sorted(numbers)
    return all(b % a == 0 for a, b in itertools.pairwise(ordered))


def is_exact(problem: Problem) -> bool:
    """Whether a failure of `construct` proves that no schedule without jitter exists, given that
    the bounds hold.
    """
    chains = all(
        is_chain({stream.period_slots for stream in streams}) for streams in problem.members
    )
    return (
        problem.is_plain
        and chains
        and is_chain({problem.ring_gcd(stream) for stream in problem.streams})
    )


def _cosets_needed(problem: Problem, streams: tuple[Stream, ...], levels: list[int]) -> list[int]:
    """Number of new cosets of an owner at each level; it uses its cosets of smaller moduli
    first.
    """
    taken, before = 0, 1
    new = []
    for level in levels:
        load = sum((s.load for s in streams if problem.ring_gcd(s) <= level), Fraction(0))
        have = taken * (level // before)
        taken = max(have, math.ceil(level * load))
        new.append(taken - have)
        before = level
    return new


def _allocate(problem: Problem, levels: list[int]) -> list[list[tuple[int, int]]] | None:
    """Cosets (residue, modulus) of the ring by owner; None if the ring is too small."""
    needs = [_cosets_needed(problem, streams, levels) for streams in problem.members]
    free, before = [0], 1
    owned: list[list[tuple[int, int]]] = [[] for _ in problem.members]
    for position, level in enumerate(levels):
        free = [residue + before * part for residue in free for part in range(level // before)]
        before = level
        for owner, need in enumerate(needs):
            if need[position] > len(free):
                return None
            owned[owner] += [(residue, level) for residue in free[: need[position]]]
            free = free[need[position] :]
    return owned


def _pack(streams: tuple[Stream, ...], cosets: list[tuple[int, int]]) -> dict[int, int] | None:
    """Phase by stream index within the owned cosets; None if the order of periods leaves no place
    for a stream.
    """
    free = [_Free(residue, modulus, modulus, 0) for residue, modulus in cosets]
    phases: dict[int, int] = {}
    for stream in sorted(streams, key=lambda s: (s.period_slots, s.index)):
        period = stream.period_slots
        fits = [k for k, item in enumerate(free) if period % item.modulus == 0]
        if not fits:
            return None
        # The finest coset that fits leaves the coarse ones to streams that fit nowhere else.
        item = free.pop(max(fits, key=lambda k: (free[k].modulus, -k)))
        start = item.residue + item.step * item.begin
        phases[stream.index] = start
        if (item.begin + 1) * item.step < item.modulus:
            free.append(_Free(item.residue, item.step, item.modulus, item.begin + 1))
        if item.modulus < period:
            free.append(_Free(start, item.modulus, period, 1))
    return phases


def construct(problem: Problem) -> Witness | None:
    """A schedule without jitter, or None: none exists if is_exact(), else none was found. Plain
    problems only.
    """
    levels = sorted({problem.ring_gcd(stream) for stream in problem.streams})
    if not problem.is_plain or not is_chain(set(levels)):
        return None
    cosets = _allocate(problem, levels)
    if cosets is None:
        return None
    owners = [UNOWNED] * problem.ring_slots
    phases: dict[int, int] = {}
    for owner, mine in enumerate(cosets):
        packed = _pack(problem.members[owner], mine)
        if packed is None:
            return None
        phases |= packed
        for residue, modulus in mine:
            for slot in range(residue, problem.ring_slots, modulus):
                owners[slot] = owner
    if owners.count(UNOWNED) < problem.reserve_slots:
        return None
    return Witness(tuple(owners), tuple(phases[stream.index] for stream in problem.streams))
