# SPDX-License-Identifier: BSD-3-Clause
"""Checks, before the network is planned, whether the classes of one station can own separate slots
that hold every stream.

This is the partition problem of section A.7 (keepon.planner.partition) with the jitter that streams
allow; classes with slots "rest" share their slots, and listed slots keep their owners. A proof that
nothing fits is final: the network leaves a stream less freedom, never more.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from keepon.model.scenario import KeeponOptions, Stream
from keepon.model.spans import Spans
from keepon.model.wire import PS_PER_NS
from keepon.planner.partition import bounds, closed
from keepon.planner.partition import problem as answers
from keepon.planner.partition.limits import Limits, WorkClock
from keepon.planner.partition.problem import Problem
from keepon.planner.partition.problem import Stream as Row

SEARCH_S = 0.1
"""Seconds of a WorkClock for one slot and partition period that neither bounds nor construction
decide.

Work, not wall time: a station gets the same partition on a machine under load.
"""

FEASIBLE, INFEASIBLE, UNDECIDED = "feasible", "infeasible", "undecided"


@dataclass(frozen=True)
class Verdict:
    """Whether the classes fit, the method, and if not the proof of keepon.planner.partition.bounds.

    Attributes:
        streams: ids of the streams in the proof; empty unless infeasible.
    """

    answer: str
    method: str
    proof: dict[str, Any] = field(default_factory=dict)
    streams: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """One station with a slot time and a partition period.

    Attributes:
        streams: streams of the station; every period is a multiple of the slot time.
        phase_ps: txtimes relative to slot starts.
        reserve_slots: partition slots to leave to classes with slots "rest" that send best effort.
        spans: slots of a frame, by its length; None: one slot each.
    """

    streams: tuple[Stream, ...]
    options: KeeponOptions
    slot_ps: int
    phase_ps: int
    partition_slots: int
    reserve_slots: int = 0
    spans: Spans | None = None

    def slots_of(self, stream: Stream) -> int:
        """Consecutive slots of a frame."""
        return 1 if self.spans is None else self.spans.of(stream.frame_bytes).slots

    @property
    def load(self) -> Fraction:
        """Share of all slots that the streams need."""
        return sum(
            (
                Fraction(self.slots_of(stream) * self.slot_ps, stream.period_ns * PS_PER_NS)
                for stream in self.streams
            ),
            Fraction(0),
        )

    @property
    def holds_all_periods(self) -> bool:
        """Whether the partition is a multiple of all periods, so that every owned slot is used."""
        periods = (stream.cycle_ns * PS_PER_NS // self.slot_ps for stream in self.streams)
        return all(self.partition_slots % period == 0 for period in periods)


def _owners(options: KeeponOptions, streams: tuple[Stream, ...]) -> tuple[tuple[int, ...], ...]:
    used = {stream.tc for stream in streams}
    rest = tuple(sorted(entry.tc for entry in options.classes if entry.slots == "rest"))
    return (*((rest,) if used & set(rest) else ()), *((tc,) for tc in sorted(used - set(rest))))


def _row(question: Question, stream: Stream, turn: int, index: int, owner: int) -> Row:
    """A stream, or one frame of the cycle of a rate."""
    period = stream.cycle_ns * PS_PER_NS // question.slot_ps
    length = question.slots_of(stream)
    if stream.offset_ns != "auto":
        # The nearest slot, as in the planner, which checks whether the offset is on the grid.
        at_ps = int(stream.offset_ns) * PS_PER_NS - question.phase_ps + question.slot_ps // 2
        begin = -(-stream.begin_ns(turn) * PS_PER_NS // question.slot_ps)
        place = (at_ps // question.slot_ps + begin) % period
        return Row(index, owner, stream.tc, period, 0, length, place, place)
    jitter = min(period, (stream.jitter_ns or 0) * PS_PER_NS // question.slot_ps)
    return Row(index, owner, stream.tc, period, jitter, length)


def _frames(streams: tuple[Stream, ...]) -> list[tuple[Stream, int]]:
    return [(stream, turn) for stream in streams for turn in range(stream.turns)]


def _problem(
    question: Question, streams: tuple[Stream, ...], unowned: frozenset[int], reserve_slots: int
) -> Problem:
    owners = _owners(question.options, streams)
    owner_of = {tc: owner for owner, members in enumerate(owners) for tc in members}
    rows = tuple(
        _row(question, stream, turn, index, owner_of[stream.tc])
        for index, (stream, turn) in enumerate(_frames(streams))
    )
    return Problem("station", question.partition_slots, owners, rows, reserve_slots, unowned)


def _parts(question: Question) -> list[tuple[tuple[Stream, ...], Problem]]:
    """Streams of classes with listed slots, class by class, then all other streams: their slots are
    disjoint.
    """
    listed = {
        entry.tc: {slot for slot in entry.slots if slot < question.partition_slots}
        for entry in question.options.classes
        if isinstance(entry.slots, list)
    }
    every = frozenset(range(question.partition_slots)) if listed else frozenset()
    parts = []
    for tc, slots in listed.items():
        others = frozenset().union(*(theirs for other, theirs in listed.items() if other != tc))
        streams = tuple(stream for stream in question.streams if stream.tc == tc)
        if streams:
            parts.append((streams, _problem(question, streams, every - slots | others, 0)))
    taken = frozenset().union(*listed.values()) if listed else frozenset()
    streams = tuple(stream for stream in question.streams if stream.tc not in listed)
    if streams:
        reserve_slots = question.reserve_slots + len(taken) if question.reserve_slots else 0
        parts.append((streams, _problem(question, streams, taken, reserve_slots)))
    return parts


def _decide(problem: Problem, search_s: float) -> Verdict:
    proof = bounds.disproof(problem)
    if proof is not None:
        return Verdict(INFEASIBLE, "bound", proof)
    if closed.construct(problem) is not None:
        return Verdict(FEASIBLE, "construction")
    if search_s <= 0:
        return Verdict(UNDECIDED, "not searched")
    # CP-SAT takes a second to load, which most stations need not spend.
    from keepon.planner.partition import solve

    outcome = solve.decide(problem, Limits(search_s, clock=WorkClock()))
    named = {answers.FEASIBLE: FEASIBLE, answers.INFEASIBLE: INFEASIBLE, answers.UNKNOWN: UNDECIDED}
    return Verdict(named[outcome.answer], outcome.method, outcome.proof or {})


def decide(question: Question, search_s: float = SEARCH_S) -> Verdict:
    """Whether every stream can have its slots; the first part of the station that cannot decides.

    Args:
        search_s: seconds of a WorkClock for a search where bounds and construction do not decide;
            0: no search.
    """
    by_hand = {
        slot
        for entry in question.options.classes
        if isinstance(entry.slots, list)
        for slot in entry.slots
    }
    there = question.partition_slots - sum(1 for slot in by_hand if slot < question.partition_slots)
    if question.reserve_slots > there:
        proof = {
            "bound": "reserve",
            "needed_slots": question.reserve_slots,
            "available_slots": there,
        }
        return Verdict(INFEASIBLE, "bound", proof, tuple(stream.id for stream in question.streams))
    worst = Verdict(FEASIBLE, "no stream")
    for streams, problem in _parts(question):
        verdict = _decide(problem, search_s)
        if verdict.answer == INFEASIBLE:
            return Verdict(
                INFEASIBLE, verdict.method, verdict.proof,
                tuple(stream.id for stream, _ in _frames(streams)),
            )  # fmt: skip
        if worst.answer != UNDECIDED:
            worst = verdict
    return worst


def conflicting(question: Question, verdict: Verdict) -> tuple[str, ...]:
    """A minimal set of streams for which the proof holds; all of the verdict's streams if the proof
    is no bound.
    """
    if verdict.method != "bound":
        return tuple(dict.fromkeys(verdict.streams))
    if verdict.proof.get("bound") == "crossing":
        flows = set(verdict.proof["flows"])
        return tuple(dict.fromkeys(verdict.streams[index] for index in sorted(flows)))
    kept = tuple(stream for stream in question.streams if stream.id in set(verdict.streams))
    step = max(1, len(kept) // 2)
    while step:
        position = 0
        while position < len(kept):
            fewer = kept[:position] + kept[position + step :]
            if fewer and _is_disproved(question, fewer):
                kept = fewer
            else:
                position += step
        step //= 2
    return tuple(stream.id for stream in kept)


def _is_disproved(question: Question, streams: tuple[Stream, ...]) -> bool:
    return decide(dataclasses.replace(question, streams=streams), 0).answer == INFEASIBLE


def shares_of_proof(proof: dict[str, Any]) -> str:
    """The violated bound, in words."""
    if proof.get("bound") == "crossing":
        return (
            "two of its streams meet sooner or later, whatever their releases (modulo"
            f" {proof['modulus']} slots)"
        )
    if proof.get("bound") == "reserve":
        return (
            f"{proof['needed_slots']} slots must stay without a class and"
            f" {proof['available_slots']} are left"
        )
    rows = ", ".join(
        f"{'classes' if len(row['classes']) > 1 else 'class'}"
        f" {' and '.join(map(str, row['classes']))}: {row['slots']}"
        for row in proof.get("slots_by_class", [])
    )
    if not rows:
        return "an exhaustive search found no partition"
    return (
        f"its classes need at least {proof['needed_slots']} slots of the partition ({rows}) and "
        f"{proof['available_slots']} are there"
    )


def best_effort_share(rates: list[tuple[int, int, int]], slot_ps: int) -> Fraction:
    """Share of all slots that loads of (rate_bps, frame_bytes, slots of a frame) need."""
    return sum(
        (
            Fraction(rate_bps * slot_ps * slots, 8 * frame_bytes * 10**12)
            for rate_bps, frame_bytes, slots in rates
        ),
        Fraction(0),
    )


def reserve_slots(share: Fraction, messages: bool, partition_slots: int) -> int:
    """Partition slots to leave for best effort, at least one for PTP messages; fewer than all."""
    wanted = max(math.ceil(share * partition_slots), 1 if messages else 0)
    return min(wanted, max(0, partition_slots - 1))
