# SPDX-License-Identifier: BSD-3-Clause
"""Ring, batch and depth of a station for one slot size, and their refusals (KeepON paper section
A.10, second step).

The batch is the largest power of two for which Eq. 4 is within the stated clock error, a batch and
the way to the driver are within every stream's advance, and polls keep the wire busy (G11, G14).
Stated values are kept.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction

from keepon.errors import ConfigError
from keepon.model.hosts import etf_delta_key
from keepon.model.spans import Spans
from keepon.model.wire import OVERHEAD_BYTES, PS_PER_NS, byte_time_ps, wire_time_ps
from keepon.planner.parameters import asks, lead, polls, room, synchronisation
from keepon.planner.parameters.asks import AskError
from keepon.planner.parameters.needs import POLL_NS, Choice, Needs
from keepon.planner.parameters.polls import Posting

RING_SLOTS_MIN = 32
RING_SLOTS_MAX = 1024
WHOLE_RING_SLOTS_MAX = 256
"""Ring of a port that no advance limits, on a NIC without fragments: that of a Raspberry Pi 4."""
BATCH_SLOTS_MAX = 512
PAPER_RING_SLOTS = 32
PAPER_BATCH_SLOTS = 16


def _power_of_two(number: int, up: bool) -> int:
    power = 1 << max(number, 1).bit_length() - 1
    return power * 2 if up and power < number else power


def _ring_slots(needs: Needs, spans: Spans, slot_ps: int) -> int:
    """Ring slots: enough for frames handed over early, or for the posted slots of a port without
    streams, with a quarter to spare; class queues hold back frames that come earlier. With frames
    of several slots also enough for the longest, and for the slots of two that the tail must not
    divide.
    """
    stated = needs.station.keepon.ring_slots
    if stated != "auto":
        return int(stated)
    if needs.paper:
        return PAPER_RING_SLOTS
    covered = -(-5 * max(needs.advances_ns) * PS_PER_NS // (4 * slot_ps))
    if spans.frame_bytes_max:
        # Room so that the tail does not divide a frame that is handed over late.
        kept = room.ahead_slots(spans, slot_ps, needs.nic) + 4 * spans.slots_max
        covered = max(covered, kept)
    few = needs.posts_long and needs.station.nic.fragments_max == 1
    most = WHOLE_RING_SLOTS_MAX if few else RING_SLOTS_MAX
    return min(max(_power_of_two(covered, up=True), RING_SLOTS_MIN), most)


def _depth_slots(needs: Needs, spans: Spans, batch_slots: int, ring_slots: int) -> int:
    """Depth: in paper mode the batch, else the ring less the slots for a late completion, or for
    two of the longest frames.
    """
    stated = needs.station.keepon.depth_slots
    if stated != "auto":
        return int(stated)
    left_slots = max(8, ring_slots // 8, 2 * (spans.slots_max - 1) + 1)
    return batch_slots if needs.paper else max(batch_slots, ring_slots - left_slots)


def choice_for(needs: Needs, slot_bytes: int, batch_slots: int) -> Choice:
    """Everything that follows from slot and batch, unchecked."""
    options, spans = needs.station.keepon, needs.spans(slot_bytes)
    slot_ps = wire_time_ps(spans.slot_bytes, needs.rate_bps)
    ring_slots = _ring_slots(needs, spans, slot_ps)
    depth_slots = _depth_slots(needs, spans, batch_slots, ring_slots)
    if options.poll_overhead_ns == "auto":
        overhead_ns = polls.auto_overhead_ns(batch_slots, depth_slots, slot_ps)
    else:
        overhead_ns = int(options.poll_overhead_ns)
    trim_ps = 0 if needs.paper else options.trim_down_bytes * byte_time_ps(needs.rate_bps)
    posting = Posting(
        slot_ps, slot_ps - trim_ps, batch_slots, depth_slots, overhead_ns, not needs.paper,
        max(spans.slots_max, 1), needs.shares_slots,
    )  # fmt: skip
    trim_up_bytes = 0 if needs.paper else options.trim_up_bytes
    lead_ns = lead.lead_time_ns(posting, needs.rate_bps, trim_up_bytes, needs.nic)
    longest = max((spans.of(stream.frame_bytes).slots for _, stream in needs.streams), default=1)
    if longest > 1:
        lead_ns += lead.tail_ns(posting, longest, lead_ns, needs.host, needs.nic)
    return Choice(
        spans,
        ring_slots,
        posting,
        lead_ns,
        synchronisation.error_ns(
            needs.scenario, needs.station, posting, needs.nic, needs.master_ns
        ),
    )


def _limits(needs: Needs, choices: list[Choice]) -> list[tuple[str, Callable[[Choice], bool]]]:
    """Conditions on a batch, the most important first, each with the sentence for a batch that it
    limits.
    """
    way_ns = needs.way.usual_ns if needs.way is not None else 0
    advance_ns = min(needs.advances_ns)

    def in_time(choice: Choice) -> bool:
        if needs.posts_long:
            return choice.posting.batch_ns <= POLL_NS
        return max(choice.posting.batch_ns, choice.lead_ns) + way_ns <= advance_ns

    def accurate(choice: Choice) -> bool:
        # Where no batch is accurate enough, the accuracy of the smallest suffices.
        return is_accurate(needs, choice) or granularity_ns(needs, choice) == granularity_ns(
            needs, choices[-1]
        )

    not_in_time = f"more would not be within the advance of {advance_ns} ns"
    if needs.posts_long:
        not_in_time = f"more would be polled less than once in {POLL_NS} ns"
    accuracy = f"Eq. 4 would exceed the clock error of {needs.budget_ns} ns"
    if needs.scenario.sync.grandmaster == needs.station.name:
        accuracy = "Eq. 4 would exceed the clock error stated for stations that follow this one"
    return [
        (
            "polls could not sustain more",
            lambda choice: _sleeps(choice.posting) and is_sustained(needs, choice),
        ),
        (not_in_time, in_time),
        (accuracy, accurate),
    ]


def least_slot_bytes(needs: Needs) -> int:
    """Shortest slot for which the NIC fetches frames as fast as they leave, at the longest downward
    trim.
    """
    trim_bytes = 0 if needs.paper else needs.station.keepon.trim_down_bytes
    wire_bytes = -(
        -needs.nic.fetch_ns * PS_PER_NS // (needs.nic.prefetch_slots * byte_time_ps(needs.rate_bps))
    )
    return wire_bytes + trim_bytes - OVERHEAD_BYTES


def is_accurate(needs: Needs, choice: Choice) -> bool:
    """Whether slot and batch keep the clock error within the stated one (G3)."""
    return needs.room_ns is None or granularity_ns(needs, choice) / 2 <= needs.room_ns


def granularity_ns(needs: Needs, choice: Choice) -> Fraction:
    """Uncertainty of a reading of the station's clock."""
    return synchronisation.granularity_ns(needs.station.keepon.clock, choice.posting, needs.nic)


def _sleeps(posting: Posting) -> bool:
    """Whether a batch lasts longer than the time kept free in an interval."""
    return 1000 * posting.poll_overhead_ns < posting.batch_slots * posting.slot_ps


def is_sustained(needs: Needs, choice: Choice) -> bool:
    """Whether the wire keeps running if polls are as late as usual (G14)."""
    return polls.slack_ns(choice.posting, needs.nic) >= needs.host.poll_late_usual_ns


def _auto_batch(needs: Needs, slot_bytes: int) -> Choice:
    """The largest batch within all limits; if there is none, the smallest within the most important
    limits.
    """
    spans = needs.spans(slot_bytes)
    ring_slots = _ring_slots(needs, spans, wire_time_ps(slot_bytes, needs.rate_bps))
    most = min(ring_slots // 2, PAPER_BATCH_SLOTS if needs.paper else BATCH_SLOTS_MAX)
    most = max(1, min(most, ring_slots - 2 * spans.slots_max))
    if needs.station.keepon.depth_slots != "auto":
        most = max(1, min(most, int(needs.station.keepon.depth_slots)))
    sizes = [1 << power for power in range(_power_of_two(most, up=False).bit_length() - 1, -1, -1)]
    choices = [choice_for(needs, slot_bytes, size) for size in sizes]
    limits = _limits(needs, choices)
    for count in range(len(limits), 0, -1):
        fitting = [
            choice for choice in choices if all(holds(choice) for _, holds in limits[:count])
        ]
        if not fitting:
            continue
        best = fitting[0] if count == len(limits) else fitting[-1]
        larger = choices[: choices.index(best)]
        failed = [name for name, holds in limits if larger and not holds(larger[-1])]
        most_reason = (
            f"the paper's {PAPER_BATCH_SLOTS} are no more"
            if needs.paper
            else f"half of a ring of {ring_slots}"
        )
        return dataclasses.replace(best, limited_by=failed[0] if failed else most_reason)
    return next((choice for choice in reversed(choices) if _sleeps(choice.posting)), choices[0])


def _posted(needs: Needs, slot_bytes: int) -> Choice:
    """The stated batch, or the best one, unchecked."""
    stated = needs.station.keepon.batch_slots
    if stated == "auto":
        return _auto_batch(needs, slot_bytes)
    return choice_for(needs, slot_bytes, int(stated))


def choose(needs: Needs, slot_bytes: int) -> Choice:
    """Ring, batch and depth for a slot size.

    Raises:
        ConfigError: values of the scenario contradict each other, or polls cannot sustain them.
    """
    choice = _posted(needs, slot_bytes)
    posting = choice.posting
    if not posting.batch_slots <= posting.depth_slots <= choice.ring_slots - 1:
        key, value, low, high = (
            "depth_slots",
            posting.depth_slots,
            posting.batch_slots,
            choice.ring_slots - 1,
        )
        if posting.batch_slots > high:
            key, value, low = "batch_slots", posting.batch_slots, 1
        raise needs.wrong(
            key,
            value,
            f"must be between {low} and {high} (batch_slots = {posting.batch_slots}, ring_slots = "
            f'{choice.ring_slots}); change one of them or set it to "auto"',
            asks.BATCH if key == "batch_slots" else asks.DEPTH,
            value - high if value > high else low - value,
        )
    if not _sleeps(posting):
        most_ns = (posting.batch_slots * posting.slot_ps - 1) // 1000
        raise needs.wrong(
            "poll_overhead_ns",
            posting.poll_overhead_ns,
            f"must be between 0 and {most_ns}, as a batch of {posting.batch_slots} slots is on the"
            f' wire for {most_ns + 1} ns; lower it or set it to "auto"',
            asks.OVERHEAD,
            -most_ns,
        )
    if not polls.can_fetch(posting.slot_ps_min, needs.nic):
        raise needs.wrong(
            "slot_bytes",
            choice.slot_bytes,
            f"must be at least {least_slot_bytes(needs)}, as the NIC takes {needs.nic.fetch_ns} ns"
            f" to fetch a frame and has {needs.nic.prefetch_slots} fetched ahead; choose a longer"
            " slot or a slower link",
            asks.FETCH,
        )
    if not room.has_room(needs, choice):
        raise room.none_left(needs, choice, lambda cut: _posted(cut, slot_bytes))
    if not is_sustained(needs, choice):
        raise _unsustained(needs, choice)
    return choice


def _overheads_ns(needs: Needs, posting: Posting) -> range:
    """Values of poll_overhead_ns with which a usual poll is in time and the core accepts the
    depth.
    """

    def with_overhead(overhead_ns: int) -> Posting:
        return dataclasses.replace(posting, poll_overhead_ns=overhead_ns)

    def in_time(overhead_ns: int) -> bool:
        return (
            polls.slack_ns(with_overhead(overhead_ns), needs.nic) >= needs.host.poll_late_usual_ns
        )

    def refused(overhead_ns: int) -> bool:
        return not polls.is_accepted(with_overhead(overhead_ns), needs.nic)

    every = range(posting.poll_overhead_ns, posting.batch_ns)
    return every[
        bisect.bisect_left(every, x=True, key=in_time) : bisect.bisect_left(
            every, x=True, key=refused
        )
    ]


def _unsustained(needs: Needs, choice: Choice) -> AskError:
    """Refusal G14: the wire runs dry between two polls. It names a value that the scenario states,
    the overhead first.
    """
    options, posting = needs.station.keepon, choice.posting
    short_ns = needs.host.poll_late_usual_ns - polls.slack_ns(posting, needs.nic)
    why = (
        f"with slots of {posting.slot_ps / PS_PER_NS:.15g} ns, a batch of {posting.batch_slots} and"
        f" a depth of {posting.depth_slots} a usual poll comes {short_ns} ns too late to keep the"
        " wire busy"
    )
    overheads_ns = _overheads_ns(needs, posting) if options.poll_overhead_ns != "auto" else range(0)
    if overheads_ns:
        low, high = overheads_ns[0], overheads_ns[-1]
        return needs.wrong(
            "poll_overhead_ns",
            posting.poll_overhead_ns,
            f'must be between {low} and {high}, as {why}; raise it or set it to "auto"',
            asks.POLLS,
            low,
        )
    sizes = [
        size
        for size in range(posting.batch_slots, choice.ring_slots)
        if _sustains(needs, choice, size)
    ]
    key = "batch_slots" if needs.paper or options.depth_slots == "auto" else "depth_slots"
    value = posting.batch_slots if key == "batch_slots" else posting.depth_slots
    if sizes:
        return needs.wrong(
            key,
            value,
            f'must be between {sizes[0]} and {sizes[-1]}, as {why}; choose one of these or "auto"',
            asks.POLLS,
            sizes[0],
        )
    return needs.wrong(
        "slot_bytes",
        choice.slot_bytes,
        f"must be more than {choice.slot_bytes}, as {why}, whatever the {key}; choose a longer"
        " slot, a larger ring_slots or a slower link",
        asks.POLLS,
        -choice.slot_bytes,
    )


def _sustains(needs: Needs, choice: Choice, size: int) -> bool:
    """Whether this batch in paper mode, else this depth, is enough."""
    options = needs.station.keepon
    if needs.paper:
        depth = size if options.depth_slots == "auto" else max(size, choice.posting.depth_slots)
        batch = size
    else:
        depth, batch = size, choice.posting.batch_slots
        if options.depth_slots == "auto":
            batch, depth = size, _depth_slots(needs, choice.spans, size, choice.ring_slots)
    if depth > choice.ring_slots - 1:
        return False
    slot_ps = choice.posting.slot_ps
    overhead_ns = options.poll_overhead_ns
    kept_ns = (
        polls.auto_overhead_ns(batch, depth, slot_ps) if overhead_ns == "auto" else int(overhead_ns)
    )
    other = dataclasses.replace(
        choice.posting, batch_slots=batch, depth_slots=depth, poll_overhead_ns=kept_ns
    )
    return polls.slack_ns(other, needs.nic) >= needs.host.poll_late_usual_ns


def check_advances(needs: Needs, choice: Choice) -> None:
    """Check that every stream is handed over early enough, and not earlier than a queue can hold
    it.

    Raises:
        ConfigError: one sentence on the first stream that would always be late, or refused as too
            early.
    """
    if needs.way is None:
        return
    way, options = needs.way, needs.station.keepon
    least_ns = lead.least_advance_ns(choice.lead_ns, way)
    slot_ns = choice.posting.slot_ps / PS_PER_NS
    slots = lead.lead_slots(choice.posting)
    why = (
        f'station "{needs.name}" needs a frame {choice.lead_ns} ns before its txtime'
        f" ({slots} slots of {slot_ns:.15g} ns that can no longer be changed, and what a poll"
        " leaves open)"
    )
    remedy = "choose a faster link"
    if needs.paper:
        remedy = "choose shorter slots, a smaller batch or a faster link"
    elif options.slot_bytes != "auto":
        remedy = "choose shorter slots or a faster link"
    if way.limit_ns is not None and way.limit_ns - way.limited_ns < choice.lead_ns:
        raise AskError(
            f"{etf_delta_key(needs.index, needs.station, needs.name)}: must be "
            f"between {choice.lead_ns + way.limited_ns} and 1000000000, as {why} and its host"
            " takes "
            f"{way.limited_ns} ns from its timer to the driver; raise it, or {remedy}",
            asks.TIMER,
            choice.lead_ns,
        )
    # Without a queue, frames further ahead than the ring, less the age of the last poll, are
    # refused.
    window_ns = (
        int((choice.ring_slots - choice.posting.span_slots) * slot_ns)
        - polls.interval_ns(choice.posting, needs.nic)
        - needs.host.poll_late_usual_ns
    )
    most_ns = 10**9 if options.prebuffer_frames else window_ns
    for check, (index, stream) in enumerate(needs.streams, asks.STREAMS):
        if least_ns <= stream.advance_ns <= most_ns:
            continue
        if most_ns < least_ns:
            raise needs.wrong(
                "ring_slots",
                choice.ring_slots,
                f'must be more, as stream "{stream.id}" is handed over at least {least_ns} ns ahead'
                f" ({why}), and so many slots of {slot_ns:.15g} ns hold no frame for longer than"
                f" {max(0, most_ns)} ns; enlarge it, let frames be held back by prebuffer_frames,"
                f" or {remedy}",
                check,
                least_ns - most_ns,
            )
        key = (
            f'key `stream[{index}].advance_ns` (stream "{stream.id}") = {stream.advance_ns}:'
            " must be "
        )
        if stream.advance_ns < least_ns:
            raise AskError(
                f"{key}at least {least_ns}, as {why} and its host takes {way.usual_ns} ns to bring"
                f" it there; raise it, or {remedy}",
                check,
                least_ns,
            )
        raise AskError(
            f"{key}at most {most_ns}, as a ring of {choice.ring_slots} slots of {slot_ns:.15g} ns"
            " holds no frame for longer; lower it, enlarge ring_slots, or let frames be held back"
            " by prebuffer_frames",
            check,
            -most_ns,
        )
    if options.prebuffer_frames:
        _check_held(needs, way, window_ns)
        return
    for _, stream in needs.streams:
        if (slots := choice.spans.of(stream.frame_bytes).slots) > 1:
            raise needs.wrong(
                "prebuffer_frames",
                0,
                f'must be between 1 and 65536, as stream "{stream.id}" takes {slots} slots a frame,'
                " which waits until all of them can be posted; raise it, or choose a longer slot",
                asks.TOGETHER,
            )


def _check_held(needs: Needs, way: lead.HandOver, window_ns: int) -> None:
    """Check that every class can hold back the frames that come before the ring reaches their
    slots.

    Raises:
        ConfigError: it cannot; with the queue that it needs, and the stream that needs most of it.
    """
    most = needs.station.keepon.prebuffer_frames
    held: dict[int, dict[str, int]] = {}
    for _, stream in needs.streams:
        ahead_ns = stream.advance_ns if way.limit_ns is None else way.limit_ns
        waits_ns = min(ahead_ns, stream.advance_ns) - window_ns
        if waits_ns >= 0:
            held.setdefault(stream.tc, {})[stream.id] = waits_ns // stream.period_ns + 1
    for tc, frames in sorted(held.items()):
        if (needed := sum(frames.values())) <= most:
            continue
        busiest = max(frames, key=lambda name: frames[name])
        raise needs.wrong(
            "prebuffer_frames",
            most,
            f"must be between {needed} and 65536, as class {tc} holds back so many frames at once,"
            f' {frames[busiest]} of them of stream "{busiest}"; raise it, or lower advance_ns',
            asks.TOGETHER,
            needed,
        )


def check_accuracy(needs: Needs, choice: Choice) -> None:
    """Check that a talker can keep its stated clock error (G3).

    The error of stamps depends on the servo: the trial and every run check it.

    Raises:
        ConfigError: the granularities of both clocks alone exceed the stated error by Eq. 4.
    """
    if not needs.streams or needs.budget_ns is None or needs.room_ns is None:
        return
    own_ns = granularity_ns(needs, choice)
    if (own_ns + (needs.master_ns or 0)) / 2 <= needs.budget_ns:
        return
    least_ns = math.ceil(needs.budget_ns - needs.room_ns + own_ns / 2)
    stated = needs.station.clock_error_ns
    read = "counter" if needs.paper else needs.station.keepon.clock
    master = (
        f", that of the grandmaster {round(needs.master_ns)} ns"
        if needs.master_ns is not None
        else ""
    )
    smaller = (
        "shorter slots or a smaller batch_slots"
        if choice.posting.batch_slots > 1
        else "shorter slots"
    )
    remedy = smaller
    if needs.master_ns is not None and needs.master_ns > own_ns:
        remedy = (
            f'a smaller batch_slots or shorter slots of station "{needs.scenario.sync.grandmaster}"'
        )
    elif read == "counter" and not needs.paper:
        remedy = f'keepon.clock = "interpolated" or {smaller}'
    value = f'"auto" ({needs.budget_ns})' if stated == "auto" else stated
    raise ConfigError(
        f'key `station[{needs.index}].clock_error_ns` (station "{needs.name}") = {value}:'
        f' must be between {least_ns} and 1000000000, as its clock, read as "{read}", has a'
        f" granularity of {round(own_ns)} ns{master} (Eq. 4, with half of what stamps of received"
        f" frames vary); state that, or choose {remedy}"
    )
