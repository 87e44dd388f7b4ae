# SPDX-License-Identifier: BSD-3-Clause
"""Room for best-effort frames of MTU 1500, which a link of keepon.ko has by default, where the room
costs the station's own frames no slot and no warning.
"""

from __future__ import annotations

import dataclasses
import itertools
from contextlib import suppress
from fractions import Fraction

from keepon.errors import ConfigError, InfeasibleError
from keepon.model.plan import Reason
from keepon.model.scenario import KeeponOptions
from keepon.model.spans import SLOTS_MAX, Spans, spans_of
from keepon.model.wire import FRAME_BYTES_MAX, PS_PER_NS, TAGGED_HEADER_BYTES, wire_time_ps
from keepon.planner.parameters import partitions, polls, posting, room
from keepon.planner.parameters.isolation import FEASIBLE
from keepon.planner.parameters.needs import Choice, Needs
from keepon.planner.parameters.partitions import Chosen

MTU = FRAME_BYTES_MAX - TAGGED_HEADER_BYTES
LISTENER_SLOT_BYTES = 605
"""Slot length of ports that send nothing of their own, where shorter slots have no room: the
default of a link on a card without fragments.
"""


def class_of(options: KeeponOptions) -> int | None:
    """The class with slots "rest", to which station scripts map everything but streams; None: there
    is none.
    """
    return next((entry.tc for entry in reversed(options.classes) if entry.slots == "rest"), None)


def choose(needs: Needs, choice: Choice, chosen: Chosen) -> tuple[Choice, Chosen]:
    """The slots and partition chosen for the streams, with as much room as possible; or longer
    slots that hold every frame whole, if only they have room for MTU 1500 in a row.
    """
    if not _may_have_room(needs):
        return choice, chosen
    wide = _with_room(needs, choice)
    if _has_row(needs, wide.spans) or choice.posting.span_slots > 1:
        return wide, chosen
    others = chosen.sizes
    if not needs.streams:
        is_free = needs.station.keepon.slot_bytes == "auto" and not needs.loads
        others = (LISTENER_SLOT_BYTES,) if is_free else ()
    longer = (_longest(needs, size) for size in others if size > choice.slot_bytes)
    spans = next((spans for spans in longer if _has_row(needs, spans)), None)
    other = spans and _tried(needs, choice, spans.slot_bytes, FRAME_BYTES_MAX)
    if other:
        with suppress(InfeasibleError):
            found = partitions.choose(needs, [other.slot_bytes], other.ring_slots)
            is_found = found.verdict is not None and found.verdict.answer == FEASIBLE
            if is_found and found.best_effort_met:
                return other, dataclasses.replace(found, sizes=chosen.sizes)
    return wide, chosen


def _may_have_room(needs: Needs) -> bool:
    options = needs.station.keepon
    counts = needs.paper or needs.counted or options.clock == "dual"
    return not counts and options.frame_bytes_max == "auto" and class_of(options) is not None


def _longest(needs: Needs, slot_bytes: int) -> Spans:
    return spans_of(needs.station, slot_bytes, FRAME_BYTES_MAX)


def _has_row(needs: Needs, spans: Spans) -> bool:
    """Whether the shortest period has consecutive slots for MTU 1500 if the streams' slots are
    adjacent.
    """
    slot_ps = wire_time_ps(spans.slot_bytes, needs.rate_bps)
    taken = [
        (spans.of(stream.frame_bytes).slots, stream.period_ns * PS_PER_NS)
        for _, stream in needs.streams
    ]
    load = sum(Fraction(slots * slot_ps, period_ps) for slots, period_ps in taken)
    least = min((period_ps // slot_ps for _, period_ps in taken), default=SLOTS_MAX)
    return 1 <= spans.of(FRAME_BYTES_MAX).slots <= least * (1 - load)


def _with_room(needs: Needs, choice: Choice) -> Choice:
    """The same slots with room for the longest possible frames."""
    longest = _longest(needs, choice.slot_bytes)
    best, low = choice, choice.spans.slots_max - 1
    high = middle = min(longest.slots_max or SLOTS_MAX, SLOTS_MAX)
    while low < high:
        found = _tried(needs, choice, choice.slot_bytes, longest.longest_in(middle))
        if found is not None:
            best, low = found, middle
        else:
            high = middle - 1
        middle = (low + high + 1) // 2
    return best


def _tried(needs: Needs, choice: Choice, slot_bytes: int, frame_bytes: int) -> Choice | None:
    """Slots with room for frames of this length; None: they would cost more than `choice`."""
    asked = dataclasses.replace(needs, beside_bytes=frame_bytes)
    stated = needs.station.keepon.batch_slots
    least = posting.choice_for(asked, slot_bytes, 1 if stated == "auto" else int(stated))
    own = [needs.message_bytes or 0, *(stream.frame_bytes for _, stream in needs.streams)]
    own += [load.frame_bytes for _, load in needs.loads]
    longer = any(least.spans.of(size).slots != choice.spans.of(size).slots for size in own)
    if longer or not room.has_room(asked, least):
        return None
    try:
        wide = posting.choose(asked, slot_bytes)
        posting.check_advances(asked, wide)
        posting.check_accuracy(asked, wide)
    except ConfigError:
        return None
    spare_ns = min(needs.advances_ns) - (needs.way.worst_ns if needs.way is not None else 0)
    before_ns, after_ns = (polls.slack_ns(one.posting, needs.nic) for one in (choice, wide))
    read_ns, coarse_ns = (posting.granularity_ns(needs, one) for one in (choice, wide))
    # The plans of stations that follow rely on the granularity of the grandmaster's stamps.
    leads = needs.scenario.sync.grandmaster == needs.station.name and needs.room_ns is not None
    is_worse = (
        posting.is_accurate(needs, choice) > posting.is_accurate(needs, wide)
        or (leads and coarse_ns > read_ns)
        or choice.lead_ns <= spare_ns < wide.lead_ns
        or after_ns < needs.host.poll_late_worst_ns <= before_ns
    )
    return None if is_worse else wide


def reason(needs: Needs, choice: Choice, allowed: list[int]) -> list[Reason]:
    """The MTU left to best effort; if it is below 1500, what limits it and what would raise it."""
    if (tc := class_of(needs.station.keepon)) is None:
        return []
    spans, row_slots = choice.spans, longest_row(allowed, tc)
    frame_bytes = spans.longest_in(row_slots) if row_slots else 0
    mtu = max(0, frame_bytes - TAGGED_HEADER_BYTES)
    if mtu >= MTU:
        slots = spans.of(frame_bytes).slots
        why = f"its longest frames take {slots} of at most {row_slots} slots in a row"
    elif frame_bytes < max(spans.single_bytes, spans.frame_bytes_max):
        why = (
            f"of slots in a row streams leave {row_slots}; longer slot_bytes or periods, or"
            " offset_ns side by side, raise it"
        )
    elif not _may_have_room(needs):
        why = 'frame_bytes_max, mode "paper" or clock "dual" has it so; longer slot_bytes raise it'
    else:
        why = (
            "ring, depth, trims, NIC, advances, polls, clocks or deadlines have room for no more;"
            " longer slot_bytes, more ring_slots or longer advance_ns raise it"
        )
    return [{"rule": "G8", "quantity": f"MTU {mtu} left to best effort, class {tc}", "why": why}]


def longest_row(allowed: list[int], tc: int) -> int:
    """Consecutive slots of a class in a table that repeats; SLOTS_MAX at most."""
    own = [mask >> tc & 1 for mask in allowed]
    if all(own):
        return SLOTS_MAX
    first = own.index(0)
    rows = itertools.groupby(own[first:] + own[:first])
    return min(SLOTS_MAX, max((len(list(row)) for is_own, row in rows if is_own), default=0))


def longest_frames(options: KeeponOptions, spans: Spans, allowed: list[int]) -> dict[int, int]:
    """Longest frame of each class with FCS; 0 for a class without slots."""
    rows = {entry.tc: longest_row(allowed, entry.tc) for entry in options.classes}
    return {tc: spans.longest_in(slots) if slots else 0 for tc, slots in rows.items()}


def check_rows(needs: Needs, spans: Spans, allowed: list[int]) -> None:
    """Check that every load, and PTP messages, have enough consecutive slots.

    Raises:
        InfeasibleError: the first load, or PTP, without enough.
    """
    longest = longest_frames(needs.station.keepon, spans, allowed)
    wanted = [(f'load "{load.id}"', load.tc, load.frame_bytes) for _, load in needs.loads]
    if (message_bytes := needs.message_bytes) is not None:
        wanted.append(("PTP", needs.scenario.sync.tc, message_bytes))
    for name, tc, frame_bytes in wanted:
        if (found := longest.get(tc, frame_bytes)) < frame_bytes:
            shorter = f"shorten the frames to {found} bytes, " if found else ""
            raise InfeasibleError(
                f'station "{needs.name}": {name} of class {tc} has frames of {frame_bytes} bytes,'
                f" which take {spans.of(frame_bytes).slots} slots of {spans.slot_bytes} bytes in a"
                f" row, and as streams lie the longest row of the class has"
                f" {longest_row(allowed, tc)} slots, room for frames of {found} bytes",
                "row",
                [stream.id for _, stream in needs.streams],
                f"{shorter}state longer keepon.slot_bytes, or leave the class longer rows by fewer"
                " streams, longer periods or offset_ns side by side",
            )
