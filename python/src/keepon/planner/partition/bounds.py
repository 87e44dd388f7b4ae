# SPDX-License-Identifier: BSD-3-Clause
"""Necessary conditions in closed form: if one fails, no partition exists, and the condition is the
proof.

All are exact arithmetic on N, P, J and greatest common divisors; nothing grows with the cycle L.
Each function has its derivation. check.py computes the same claims by its own code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from keepon.planner.partition.problem import Problem, Stream


@dataclass(frozen=True)
class SlotBound:
    """At least `slots` ring slots for an owner, and the reason.

    Attributes:
        because: load, reach (of `flow`), density (modulo `modulus`), beside (`flow` next to
            `other`) or search.
        saturating: flows that fill ring slots of their own; the reason covers the other flows, and
            the slots of these add to it.
    """

    slots: int
    because: str
    flow: int | None = None
    other: int | None = None
    modulus: int | None = None
    saturating: tuple[int, ...] = ()


def load_bound(problem: Problem, streams: Iterable[Stream]) -> SlotBound:
    """Each owned ring slot carries one slot per ring cycle at most: ceil(N sum of e_j / P_j)."""
    return SlotBound(
        math.ceil(problem.ring_slots * sum((s.load for s in streams), Fraction(0))), "load"
    )


def reach_bound(problem: Problem, stream: Stream) -> SlotBound:
    """What one stream needs by itself.

    Over L its windows begin at all N / g ring slots of a coset modulo g = gcd(P, N). A start slot
    lies in the windows that begin at most J before it: floor(J / g) + 1 of them. Frames of e slots
    need e - 1 slots more: a set of k starts around a ring covers at least min(N, k + e - 1) slots.
    """
    g = problem.ring_gcd(stream)
    starts = -(-(problem.ring_slots // g) // (stream.jitter_slots // g + 1))
    return SlotBound(
        min(problem.ring_slots, starts + stream.length_slots - 1), "reach", flow=stream.index
    )


def density_bounds(problem: Problem, streams: Iterable[Stream]) -> list[SlotBound]:
    """What the streams without jitter need together, for each modulus g that one of them has.

    A stream with gcd(P, N) dividing g uses whole cosets modulo g of the ring. If such streams use k
    residues modulo g, the share k / g of the time must hold their load: k >= ceil(g sum e_j / P_j),
    where a residue is N / g ring slots.
    """
    still = [stream for stream in streams if stream.jitter_slots == 0]
    loads: dict[int, Fraction] = {}
    for stream in still:
        g = problem.ring_gcd(stream)
        loads[g] = loads.get(g, Fraction(0)) + stream.load
    return [
        SlotBound(
            problem.ring_slots
            // g
            * math.ceil(g * sum(load for other, load in loads.items() if g % other == 0)),
            "density",
            modulus=g,
        )
        for g in sorted(loads)
    ]


def beside_bound(problem: Problem, first: Stream, second: Stream) -> SlotBound:
    """What a stream needs next to a stream whose period P_a divides N.

    The windows of `first` (P_a divides N, frames of one slot, J_a < P_a) stay at N / P_a disjoint
    places of the ring, and in each pass of the ring one of its frames takes one slot of each place.
    So each place holds an owned slot, and two of them if `second` ever uses one there. Of the N / g
    windows of `second` around the ring at most floor((J_a + J_b) / g) + 1 overlap one place of
    `first`, and no more contain any one slot elsewhere: N / g divided by that number, rounded up,
    is the number of additional slots.
    """
    g = problem.ring_gcd(second)
    served = (first.jitter_slots + second.jitter_slots) // g + 1
    slots = problem.ring_slots // first.period_slots + -(-(problem.ring_slots // g) // served)
    return SlotBound(slots, "beside", flow=second.index, other=first.index)


def _beside_bounds(problem: Problem, streams: Iterable[Stream]) -> list[SlotBound]:
    kinds: dict[tuple[int, int], list[Stream]] = {}
    for stream in streams:
        kinds.setdefault((stream.period_slots, stream.jitter_slots), []).append(stream)
    found = []
    for (period, jitter), alike in kinds.items():
        first = next((s for s in alike if s.length_slots == 1 and jitter < period), None)
        if first is None or problem.ring_slots % period:
            continue
        for others in kinds.values():
            second = next((s for s in others if s is not first), None)
            if second is not None:
                found.append(beside_bound(problem, first, second))
    return found


def is_saturating(problem: Problem, stream: Stream) -> bool:
    """Whether a stream takes the same ring slots in every pass, so that no other stream can use
    them.
    """
    return stream.jitter_slots == 0 and problem.ring_slots % stream.period_slots == 0


def slots_needed(problem: Problem, owner: int) -> SlotBound:
    """The strongest bound on the ring slots of one owner."""
    streams = problem.members[owner]
    saturating = tuple(stream.index for stream in streams if is_saturating(problem, stream))
    filled = sum(
        s.length_slots * (problem.ring_slots // s.period_slots)
        for s in streams
        if s.index in saturating
    )
    rest = [stream for stream in streams if stream.index not in saturating]
    bounds = _bounds(problem, streams)
    bounds += [
        replace(b, slots=b.slots + filled, saturating=saturating)
        for b in _bounds(problem, rest)
        if saturating
    ]
    return max(bounds, key=lambda bound: bound.slots)


def _bounds(problem: Problem, streams: Sequence[Stream]) -> list[SlotBound]:
    bounds = [load_bound(problem, streams), *density_bounds(problem, streams)]
    bounds += [reach_bound(problem, stream) for stream in streams]
    return bounds + _beside_bounds(problem, streams)


def crossing(problem: Problem) -> dict[str, Any] | None:
    """Two streams without jitter that must collide: their starts differ by every multiple of a gcd
    at some time.

    Frames of one owner overlap in time unless (o_a - o_b) mod gcd(P_a, P_b) leaves room for both;
    frames of two owners share a ring slot unless the same holds modulo gcd(P_a, P_b, N). Neither is
    possible with e_a + e_b above the gcd.
    """
    seen: dict[tuple[int, int, int], Stream] = {}
    for stream in problem.streams:
        if stream.jitter_slots:
            continue
        for other in seen.values():
            common = math.gcd(stream.period_slots, other.period_slots)
            if other.owner != stream.owner:
                common = math.gcd(common, problem.ring_slots)
            if stream.length_slots + other.length_slots > common:
                return {
                    "bound": "crossing",
                    "flows": [other.index, stream.index],
                    "modulus": common,
                }
        seen.setdefault((stream.owner, stream.period_slots, stream.length_slots), stream)
    return None


def slots_proof(
    problem: Problem, needed: list[SlotBound], name: str = "slots-per-class"
) -> dict[str, Any] | None:
    """The proof that owners need more slots than may be owned; None if they do not."""
    total = sum(bound.slots for bound in needed)
    if total <= problem.ownable_slots:
        return None
    rows = []
    for classes, bound in zip(problem.owner_classes, needed, strict=True):
        row: dict[str, Any] = {
            "classes": list(classes),
            "slots": bound.slots,
            "because": bound.because,
        }
        named = {"flow": bound.flow, "other": bound.other, "modulus": bound.modulus}
        row |= {key: value for key, value in named.items() if value is not None}
        if bound.saturating:
            row["saturating_flows"] = list(bound.saturating)
        rows.append(row)
    return {
        "bound": name,
        "slots_by_class": rows,
        "needed_slots": total,
        "available_slots": problem.ownable_slots,
    }


def disproof(problem: Problem) -> dict[str, Any] | None:
    """A proof that no partition exists, if one of the bounds gives it."""
    needed = [slots_needed(problem, owner) for owner in range(problem.owner_count)]
    return slots_proof(problem, needed) or crossing(problem)
