# SPDX-License-Identifier: BSD-3-Clause
"""Whether ring, depth, trims and NIC have room for frames of several slots (has_room() of the
core).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable

from keepon.model.spans import SLOTS_MAX, Spans, is_followed
from keepon.model.wire import PS_PER_NS
from keepon.planner.parameters import asks, lead, polls, trims
from keepon.planner.parameters.asks import AskError
from keepon.planner.parameters.hardware import Nic
from keepon.planner.parameters.needs import Choice, Needs


def ahead_slots(spans: Spans, slot_ps: int, nic: Nic) -> int:
    """Slots that must be posted for the longest frame: its own slots, the slots that the NIC may
    have fetched, and the slots that pass while the frame is stored (has_room() of the core).
    """
    stores_ns = spans.slots_max * lead.SPAN_STORE_NS
    return spans.slots_max + nic.prefetch_slots + 3 + stores_ns * PS_PER_NS // slot_ps


def _shapes(needs: Needs, spans: Spans) -> list[int]:
    """Lengths of frames of several slots to check: first and last of each number of slots and
    buffers. Between them each descriptor grows or shrinks evenly.
    """
    low, high = spans.single_bytes, spans.frame_bytes_max
    lengths = sorted(size for size in needs.lengths(spans) if low < size <= high)
    found, at = list[int](), 0
    while at < len(lengths):
        shape = spans.of(lengths[at])[::2]
        end = bisect.bisect_right(lengths, shape, at, key=lambda size: spans.of(size)[::2])
        found += [lengths[at], lengths[end - 1]]
        at = end
    return found


def has_room(needs: Needs, choice: Choice) -> bool:
    """Whether ring, depth, trims and NIC have room for the longest frame (has_room() of the
    core).
    """
    spans, posting = choice.spans, choice.posting
    slots = spans.slots_max
    if slots == 1:
        return True
    if not 2 <= slots <= SLOTS_MAX or not is_followed(spans):
        return False
    reserved = needs.station.keepon.trim == "reserved"
    if reserved and slots >= trims.gap_slots(needs.station.keepon, spans.slot_bytes):
        return False
    long = _shapes(needs, spans)
    return (
        ahead_slots(spans, posting.slot_ps, needs.nic) <= posting.depth_slots
        and posting.depth_slots + 2 * (slots - 1) < choice.ring_slots
        and polls.is_accepted(posting, needs.nic)
        and all(
            polls.can_fetch_span(spans, size, posting.slot_ps_min, needs.rate_bps, needs.nic)
            for size in long
        )
    )


def none_left(needs: Needs, choice: Choice, other: Callable[[Needs], Choice]) -> AskError:
    """The refusal that says how long frames may be with these slots and ring.

    Args:
        other: the choice for other needs.
    """
    spans, key, value = choice.spans, *needs.longest_flow
    if needs.station.keepon.frame_bytes_max != "auto":
        key = f'station[{needs.index}].keepon.frame_bytes_max` (station "{needs.name}")'
        value = spans.frame_bytes_max

    def does(frame_bytes: int) -> bool:
        cut = needs.up_to(frame_bytes)
        return has_room(cut, other(cut))

    def message(short: int) -> str:
        taken = f"{spans.slots_max} slots" if spans.slots_max else "no number of slots"
        return (
            f"key `{key} = {value}: must be at most {-short}, as such a frame takes {taken} of"
            f" {spans.slot_bytes} bytes, of {SLOTS_MAX} at most, and a ring of"
            f" {choice.ring_slots}, what is posted of it, trims and a NIC that fetches a frame in"
            f" {needs.nic.fetch_ns} ns leave no room for it; shorten it, or choose a longer slot"
        )

    return AskError(message, asks.ROOM, lambda: -asks.most(spans.single_bytes, value, does))
