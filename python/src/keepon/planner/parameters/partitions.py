# SPDX-License-Identifier: BSD-3-Clause
"""Slot size and partition period of a station, chosen together (KeepON paper section A.10; G8 to
G10, E15).

The search tries slot sizes from the shortest, and for each the partition periods from the least
wasteful; it takes the first pair that isolation.py does not rule out, and leaves slots for best
effort if it can.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from keepon.errors import ConfigError, InfeasibleError
from keepon.model.scenario import Stream
from keepon.model.wire import PS_PER_NS, preamble_time_ps, wire_time_ps
from keepon.planner.parameters import isolation, slots, trims
from keepon.planner.parameters.isolation import FEASIBLE, INFEASIBLE, Question, Verdict
from keepon.planner.parameters.needs import Needs

PERIODS_MAX = 12
"""Partition periods tried for one slot size."""
SEARCHES_MAX = 3
"""Pairs searched in total where neither a bound nor a construction decides; then the network
planner decides.
"""


@dataclass(frozen=True)
class Chosen:
    """A slot size with a partition period.

    Attributes:
        verdict: isolation verdict; None in paper mode, where slots are not on the schedule's grid.
        tried: pairs ruled out before, (slot_bytes, partition_slots).
        sizes: all possible slot sizes.
        reserve_slots: slots left to best effort, PTP and trims; best_effort_met: whether they are
            as many as the loads need.
    """

    slot_bytes: int
    partition_slots: int
    verdict: Verdict | None
    tried: tuple[tuple[int, int], ...] = ()
    sizes: tuple[int, ...] = ()
    reserve_slots: int = 0
    best_effort_met: bool = True


def check_best_effort(needs: Needs) -> None:
    """Check that loads and PTP messages have slots: a class with slots "auto" has only those of its
    streams.

    Raises:
        ConfigError: one sentence on the first load, or the class of PTP, that could never be sent.
    """
    station = needs.station
    if needs.paper and station.keepon.partition_slots == "auto":
        return
    scheduled = {stream.tc for _, stream in needs.streams}
    kinds = {entry.tc: entry.slots for entry in station.keepon.classes}
    known = ", ".join(map(str, kinds))
    for index, load in needs.loads:
        if load.tc not in kinds:
            raise ConfigError(
                f'key `load[{index}].tc` (load "{load.id}") = {load.tc}: must be one of the classes'
                f' of station "{station.name}" ({known}); add it to station.keepon.classes'
            )
    wanted = {load.tc: f'load "{load.id}"' for _, load in needs.loads}
    if needs.scenario.sync.by_ptp:
        wanted.setdefault(needs.scenario.sync.tc, "PTP (sync.tc)")
    for number, entry in enumerate(station.keepon.classes):
        if entry.tc in wanted and entry.slots == "auto" and entry.tc not in scheduled:
            raise needs.wrong(
                f"classes[{number}].slots",
                '"auto"',
                f'must be "rest" or a list of slots, as class {entry.tc} of {wanted[entry.tc]} has'
                ' no stream whose slots it could use; set it to "rest"',
            )


def _questions(
    needs: Needs, slot_bytes: int, ring_slots: int, with_best_effort: bool
) -> list[Question]:
    """The partition periods of one slot size, in order."""
    options = needs.station.keepon
    slot_ps = wire_time_ps(slot_bytes, needs.rate_bps)
    streams = tuple(stream for _, stream in needs.streams)
    if options.partition_slots != "auto":
        periods = [int(options.partition_slots)]
    else:
        periods = slots.partition_periods(
            [
                stream.cycle_ns * PS_PER_NS // slot_ps
                for stream in streams
                for _ in range(stream.turns)
            ]
        )
        # A table that repeats sooner than trims must come would spend more slots on them.
        apart = trims.gap_slots(options, slot_bytes) if options.trim == "reserved" else 1
        periods = [period * max(1, apart // period) for period in periods]
    return [
        Question(
            streams,
            options,
            slot_ps,
            preamble_time_ps(needs.rate_bps),
            period,
            _reserve(needs, slot_bytes, slot_ps, period, with_best_effort),
            needs.spans(slot_bytes),
        )
        for period in periods[:PERIODS_MAX]
    ]


def _reserve(
    needs: Needs, slot_bytes: int, slot_ps: int, partition_slots: int, with_best_effort: bool
) -> int:
    """Slots for trims and, if requested, for loads and PTP in classes with slots "rest"."""
    kept = trims.reserve(needs.station.keepon, slot_bytes, partition_slots)
    if not with_best_effort:
        return kept
    rest = {entry.tc for entry in needs.station.keepon.classes if entry.slots == "rest"}
    own = [load for _, load in needs.loads if load.tc in rest]
    # A load without a rate needs no reserve: it takes the slots that are left.
    spans = needs.spans(slot_bytes)
    rates = [
        (load.rate_bps, load.frame_bytes, spans.of(load.frame_bytes).slots)
        for load in own
        if load.kind == "udp"
    ]
    messages = bool(own) or (needs.scenario.sync.by_ptp and needs.scenario.sync.tc in rest)
    share = isolation.best_effort_share(rates, slot_ps)
    return kept + isolation.reserve_slots(share, messages, partition_slots)


def _each(_size: int) -> bool:
    return True


def choose(
    needs: Needs, sizes: list[int], ring_slots: int, serves: Callable[[int], bool] = _each
) -> Chosen:
    """The first slot size and partition period that isolation does not rule out.

    Args:
        sizes: slot sizes to try, in order.
        ring_slots: ring for the first size; in paper mode the partition repeats with the ring.
        serves: whether a size is usable; at least one is.

    Raises:
        InfeasibleError: all are ruled out; with the bound, the streams and a change that was
            checked.
    """
    options = needs.station.keepon
    if needs.paper:
        stated = options.partition_slots
        return Chosen(
            sizes[0], ring_slots if stated == "auto" else int(stated), None, sizes=tuple(sizes)
        )
    tried: list[tuple[int, int]] = []
    refused: tuple[Question, Verdict, int] | None = None
    for with_best_effort in (True, False):
        undecided: Chosen | None = None
        searches = SEARCHES_MAX
        tried.clear()
        for slot_bytes in filter(serves, sizes):
            for question in _questions(needs, slot_bytes, ring_slots, with_best_effort):
                searched = searches and not question.holds_all_periods
                verdict = isolation.decide(question, isolation.SEARCH_S if searched else 0)
                searches -= bool(searched) and verdict.method not in (
                    "bound",
                    "construction",
                    "no stream",
                )
                found = Chosen(
                    slot_bytes,
                    question.partition_slots,
                    verdict,
                    tuple(tried),
                    tuple(sizes),
                    question.reserve_slots,
                    with_best_effort,
                )
                if verdict.answer == FEASIBLE:
                    return found
                if verdict.answer == INFEASIBLE:
                    refused = refused or (question, verdict, slot_bytes)
                    tried.append((slot_bytes, question.partition_slots))
                elif question.holds_all_periods:
                    # No other pair has more room (slots.py): the planner finds out what fits here.
                    return found
                elif undecided is None:
                    undecided = found
        if undecided is not None:
            return undecided
    assert refused is not None  # there is at least one pair, and each has one of the three results
    question, verdict, slot_bytes = refused
    if question.load > 1:
        # The wire is too slow whatever the ownership; the network planner says so for any talker.
        return Chosen(slot_bytes, question.partition_slots, verdict, tuple(tried), tuple(sizes))
    raise _infeasible(needs, question, slot_bytes, len(tried))


def _infeasible(needs: Needs, question: Question, slot_bytes: int, count: int) -> InfeasibleError:
    plain = dataclasses.replace(
        question,
        reserve_slots=trims.reserve(question.options, slot_bytes, question.partition_slots),
    )
    verdict = isolation.decide(plain)
    streams = isolation.conflicting(plain, verdict)
    least = dataclasses.replace(
        plain, streams=tuple(stream for stream in plain.streams if stream.id in set(streams))
    )
    shown = isolation.decide(least)
    shares = isolation.shares_of_proof(shown.proof or verdict.proof)
    pairs = (
        f"; none of {count} pairs of slot size and partition period will do" if count > 1 else ""
    )
    return InfeasibleError(
        f'station "{needs.name}": with slots of {slot_bytes} bytes'
        f" ({question.slot_ps / PS_PER_NS:.15g} ns) and a "
        f"partition of {question.partition_slots} slots {shares}; streams "
        f"{', '.join(streams)}{pairs}",
        "partition",
        list(streams),
        partial(_nearest_change, needs, plain, streams),
    )


def _nearest_change(needs: Needs, question: Question, streams: tuple[str, ...]) -> str:
    """The first single change with which isolation is no longer ruled out; each was tried."""
    options, slot_ps = question.options, question.slot_ps
    hyper = slots.partition_periods(
        [stream.cycle_ns * PS_PER_NS // slot_ps for stream in question.streams]
    )
    if options.partition_slots != "auto":
        for period in hyper[:PERIODS_MAX]:
            if _fits(dataclasses.replace(question, partition_slots=period)):
                return (
                    f'set partition_slots of station "{needs.station.name}" to {period} or "auto"'
                )
    if any(stream.offset_ns != "auto" for stream in question.streams):
        loose = tuple(
            stream.model_copy(update={"offset_ns": "auto"}) for stream in question.streams
        )
        if _fits(dataclasses.replace(question, streams=loose)):
            return 'set offset_ns of its streams to "auto"'
    if any(isinstance(entry.slots, list) for entry in options.classes):
        classes = [
            entry.model_copy(update={"slots": "auto"}) if isinstance(entry.slots, list) else entry
            for entry in options.classes
        ]
        opened = options.model_copy(update={"classes": classes})
        if _fits(dataclasses.replace(question, options=opened)):
            return (
                f'list other slots for the classes of station "{needs.station.name}", or set them'
                ' to "auto"'
            )
    one = tuple(
        stream.model_copy(update={"tc": question.streams[0].tc}) for stream in question.streams
    )
    if _fits(dataclasses.replace(question, streams=one)):
        return f"give its streams one class, for example tc = {question.streams[0].tc}"
    for name in streams:
        longer = tuple(
            _doubled(stream) if stream.id == name else stream for stream in question.streams
        )
        if _fits(dataclasses.replace(question, streams=longer)):
            found = next(stream for stream in question.streams if stream.id == name)
            return f'lengthen period_ns of "{name}" from {found.period_ns} to {2 * found.period_ns}'
    for name in streams:
        fewer = tuple(stream for stream in question.streams if stream.id != name)
        if _fits(dataclasses.replace(question, streams=fewer)):
            return f'remove stream "{name}"'
    return (
        "none of the single changes tried helps; remove or lengthen the periods of several of these"
        " streams"
    )


def _fits(question: Question) -> bool:
    return isolation.decide(question).answer == FEASIBLE


def _doubled(stream: Stream) -> Stream:
    return stream.model_copy(update={"period_ns": 2 * stream.period_ns, "rate_hz": None})
