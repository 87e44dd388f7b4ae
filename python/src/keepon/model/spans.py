# SPDX-License-Identifier: BSD-3-Clause
"""How many slots in a row a frame takes and how long it is on the wire; what the core does is in
docs/model.md ("Frames longer than a slot").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from keepon.model.plan import PlannedStation
from keepon.model.scenario import KeeponOptions, Station
from keepon.model.wire import FRAME_BYTES_MIN, OVERHEAD_BYTES

SLOTS_MAX = 128
"""No frame takes more (KPN_SPAN_SLOTS_MAX of the core)."""
DRIFT_PPB = 200_000
"""Stated bound of CPU against NIC clock (the core's default)."""
SHORTEST_BYTES = FRAME_BYTES_MIN + OVERHEAD_BYTES
"""Wire bytes of the shortest placeholder."""
PADDED_BYTES_MAX = 1518
"""A frame of several slots is padded to so many bytes at most."""


class Span(NamedTuple):
    """What a frame takes: slots in a row, 0 if it cannot be sent; bytes on the wire with FCS and
    padding; buffers that it stands in.
    """

    slots: int
    frame_bytes: int
    buffers: int


@dataclass(frozen=True)
class Spans:
    """Slots of one length and the frames they carry.

    Attributes:
        slot_bytes: length of a slot's frame, FCS included.
        single_bytes: longest frame that takes one slot.
        frame_bytes_max: longest frame; 0: none takes several slots.
        keep_bytes: by so much all slots of a frame together can be trimmed.
        fragments_max: buffers that a frame may have.
    """

    slot_bytes: int
    single_bytes: int
    frame_bytes_max: int = 0
    keep_bytes: int = 0
    fragments_max: int = 1

    def of(self, frame_bytes: int) -> Span:
        """What a frame of this length takes; a longer one never takes fewer slots."""
        if frame_bytes <= self.single_bytes:
            return Span(1, self.slot_bytes, 1)
        if frame_bytes > self.frame_bytes_max:
            return Span(0, frame_bytes, 0)
        return _span(self, frame_bytes)

    @property
    def slots_max(self) -> int:
        """Slots of the longest frame; 0: it cannot be sent."""
        return self.of(self.frame_bytes_max).slots if self.frame_bytes_max else 1

    @property
    def wire_bytes(self) -> int:
        """Of a slot, preamble and gap included."""
        return self.slot_bytes + OVERHEAD_BYTES

    def row_bytes(self, frame_bytes: int) -> int:
        """Length of one frame as long as all slots that a frame of this length takes."""
        return self.of(frame_bytes).slots * self.wire_bytes - OVERHEAD_BYTES

    def descriptors(self, frame_bytes: int) -> list[int]:
        """Wire bytes of each descriptor of a frame of several slots."""
        slots, sent_bytes, buffers = self.of(frame_bytes)
        left_bytes = slots * self.wire_bytes - sent_bytes - OVERHEAD_BYTES
        if buffers == 1:
            others = [SHORTEST_BYTES] * (slots - 2)
            return [sent_bytes + OVERHEAD_BYTES, *others, left_bytes - sum(others)]
        if buffers == slots:
            return [self.wire_bytes] * slots
        return [*[self.wire_bytes] * (slots - 2), 2 * self.wire_bytes - left_bytes, left_bytes]

    def longest_on_wire(self, frame_bytes: int) -> int:
        """Of all frames up to this length the longest on the wire; not always that of the longest
        frame, as others are padded.
        """
        return _longest_on_wire(self, frame_bytes)

    def longest_in(self, slots: int) -> int:
        """Longest frame that takes so many slots at most."""
        low, high = self.single_bytes, max(self.single_bytes, self.frame_bytes_max)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if 1 <= self.of(middle).slots <= slots else (low, middle - 1)
        return low


@cache
def _span(spans: Spans, frame_bytes: int) -> Span:
    slot_bytes, wire_bytes = spans.wire_bytes, frame_bytes + OVERHEAD_BYTES
    slots = max(2, -(-(wire_bytes + spans.keep_bytes) // slot_bytes))
    rest_bytes = slots * slot_bytes - wire_bytes
    placeholder_bytes = SHORTEST_BYTES + spans.keep_bytes
    if (
        rest_bytes < placeholder_bytes
        and frame_bytes + rest_bytes + spans.keep_bytes > PADDED_BYTES_MAX
    ):
        slots, rest_bytes = slots + 1, rest_bytes + slot_bytes
    is_padded = rest_bytes < placeholder_bytes
    buffers = slots if is_padded else slots - 1
    if buffers <= spans.fragments_max:
        return Span(slots, frame_bytes + rest_bytes if is_padded else frame_bytes, buffers)
    if slot_bytes <= SHORTEST_BYTES:
        return Span(0, frame_bytes, 0)
    # One descriptor as long as the frame, the others as short as may be.
    needed_bytes = wire_bytes - SHORTEST_BYTES + spans.keep_bytes
    return Span(max(2, -(-needed_bytes // (slot_bytes - SHORTEST_BYTES))), frame_bytes, 1)


@cache
def _longest_on_wire(spans: Spans, frame_bytes: int) -> int:
    lengths = range(max(spans.single_bytes, FRAME_BYTES_MIN), frame_bytes + 1)
    return max((spans.of(length).frame_bytes for length in lengths), default=spans.slot_bytes)


def spans_of(station: Station, slot_bytes: int, frame_bytes_max: int) -> Spans:
    """Of a station's port with slots of this length.

    Args:
        frame_bytes_max: longest frame; where one slot has room for it, none takes several.
    """
    options = station.keepon
    trimmed = options.mode == "phase-locked" and options.trim == "any"
    single_bytes = slot_bytes - (options.trim_down_bytes if trimmed else 0)
    if options.mode == "paper" or frame_bytes_max <= single_bytes:
        return Spans(slot_bytes, single_bytes)
    # A mixture of old and new fragments must have a bad FCS, as placeholders then have.
    fragments = station.nic.fragments_max if options.placeholder == "bad-fcs" else 1
    spans = Spans(slot_bytes, single_bytes, frame_bytes_max, 0, fragments)
    return _with_kept(spans, options) if trimmed else spans


def _with_kept(spans: Spans, options: KeeponOptions) -> Spans:
    """With what a trim of all slots of a frame needs: as much as the grid drifts away meanwhile."""
    most_bytes = min(options.trim_down_bytes, options.trim_up_bytes)
    for keep_bytes in range(1, most_bytes + 1):
        spans = replace(spans, keep_bytes=keep_bytes)
        if is_followed(spans):
            break
    return spans


def is_followed(spans: Spans) -> bool:
    """Whether trims follow the stated drift over the slots of the longest frame."""
    wire_bytes = spans.slots_max * spans.wire_bytes + spans.keep_bytes
    return not spans.keep_bytes or spans.keep_bytes * 10**9 >= wire_bytes * DRIFT_PPB


def planned_spans(station: Station, planned: PlannedStation) -> Spans:
    """Of a port as it stands in a plan."""
    return spans_of(station, planned["slot_bytes"], planned.get("frame_bytes_max", 0))
