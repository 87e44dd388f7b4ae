# SPDX-License-Identifier: BSD-3-Clause
"""Consecutive slots of classes, and the longest frames that fit them: best effort sends no longer
frames where frames take several slots.
"""

from __future__ import annotations

import itertools

from keepon.errors import InfeasibleError
from keepon.model.scenario import KeeponOptions
from keepon.model.spans import SLOTS_MAX, Spans
from keepon.planner.parameters.needs import Needs


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


def check(needs: Needs, spans: Spans, allowed: list[int]) -> None:
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
