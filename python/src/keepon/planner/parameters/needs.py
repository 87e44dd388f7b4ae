# SPDX-License-Identifier: BSD-3-Clause
"""What a port of a station must send, and the parameters chosen for one slot size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from keepon.model.scenario import Load, Scenario, Station, Stream
from keepon.model.spans import Spans, spans_of
from keepon.model.wire import FRAME_BYTES_MAX, FRAME_BYTES_MIN, PTP_MESSAGE_BYTES
from keepon.planner.parameters import lead
from keepon.planner.parameters.asks import AskError
from keepon.planner.parameters.hardware import Host, Nic, nic_for
from keepon.planner.parameters.polls import Posting

POSTED_NS = 2_560_000
"""How long posted slots last where no `advance_ns` limits them, as in keepon.ko by default."""
POLL_NS = 1_000_000
"""The longest batch there, also as in keepon.ko: senders get their buffers back at the next
poll.
"""
ADVANCE_NS = 100_000
"""Assumed advance in mode "paper", where best effort waits for batches, and with clock "dual"."""


@dataclass(frozen=True)
class Needs:
    """A port of a station, its traffic, NIC and host.

    Attributes:
        name: name of the port; that of the station if it has one port.
        index: index of the station in the scenario.
        streams, loads: traffic that leaves by the port, with its index in the scenario.
        beside: streams of the station's other ports, which pass the same host.
        way: the way of frames to the driver; None: without txtime.
        budget_ns: allowed clock error (station.clock_error_ns); None where PTP does not set the
            clock.
        master_ns: granularity of the grandmaster's stamps, if the grandmaster is another station
            with slots.
        counted: whether the neighbour, with clock "dual", counts the slots; frames then take one
            slot each.
        room_ns: allowed half of the granularity of this station's clock; None: any.
        beside_bytes: longest frame to leave room for, beside the port's own frames.
        sizes: slot lengths to try, in order; empty: all possible ones.
    """

    scenario: Scenario
    station: Station
    name: str
    index: int
    rate_bps: int
    streams: tuple[tuple[int, Stream], ...]
    loads: tuple[tuple[int, Load], ...]
    beside: tuple[Stream, ...]
    host: Host
    way: lead.HandOver | None
    budget_ns: int | None
    master_ns: Fraction | None = None
    room_ns: Fraction | None = None
    counted: bool = False
    beside_bytes: int = 0
    sizes: tuple[int, ...] = ()

    @cached_property
    def nic(self) -> Nic:
        return nic_for(self.station)

    @property
    def paper(self) -> bool:
        return self.station.keepon.mode == "paper"

    @property
    def message_bytes(self) -> int | None:
        """Longest PTP message; None where PTP does not set the clocks."""
        sync = self.scenario.sync
        return PTP_MESSAGE_BYTES[sync.mode] if sync.by_ptp else None

    @property
    def longest_flow(self) -> tuple[str, int]:
        """The longest frame that leaves here: the start of messages about it, and its length."""
        found = [
            (f'stream[{index}].frame_bytes` (stream "{stream.id}")', stream.frame_bytes)
            for index, stream in self.streams
        ]
        found += [
            (f'load[{index}].frame_bytes` (load "{load.id}")', load.frame_bytes)
            for index, load in self.loads
        ]
        if self.message_bytes is not None:
            found.append(("sync.mode`", self.message_bytes))
        return max(found, key=lambda flow: flow[1], default=("", FRAME_BYTES_MIN))

    def lengths(self, spans: Spans) -> Iterable[int]:
        """Lengths of frames that may leave here and take several slots."""
        every = [load.kind == "tcp" for _, load in self.loads]
        if any(every) or self.beside_bytes or self.station.keepon.frame_bytes_max != "auto":
            return range(spans.single_bytes + 1, spans.frame_bytes_max + 1)
        found = {stream.frame_bytes for _, stream in self.streams}
        return found | {load.frame_bytes for _, load in self.loads} | {self.message_bytes or 0}

    def spans(self, slot_bytes: int) -> Spans:
        """Slots of a frame, by its length, for this slot length; the longest frame is the stated
        one or the longest that leaves here.
        """
        options, longest = self.station.keepon, self.longest_flow[1]
        single = spans_of(self.station, slot_bytes, 0).single_bytes
        stated = options.frame_bytes_max
        if stated == "auto":
            is_long = longest > single and not self.counted
            stated = max(longest if is_long else 0, self.beside_bytes)
        return spans_of(self.station, slot_bytes, min(int(stated), FRAME_BYTES_MAX))

    @property
    def shares_slots(self) -> bool:
        """Whether frames of another class may use slots of a stream's class."""
        kinds = {entry.tc: entry.slots for entry in self.station.keepon.classes}
        listed = Counter(slot for kind in kinds.values() if isinstance(kind, list) for slot in kind)
        own = [kinds.get(stream.tc) for _, stream in self.streams]
        return "rest" in own or any(
            isinstance(kind, list) and any(listed[slot] > 1 for slot in kind) for kind in own
        )

    @property
    def posts_long(self) -> bool:
        """Whether the port posts slots for as long as keepon.ko does by default; mode "paper" and
        clock "dual" post fewer, as in keepon.ko.
        """
        return not (self.streams or self.paper or self.station.keepon.clock == "dual")

    @property
    def advances_ns(self) -> list[int]:
        assumed_ns = POSTED_NS if self.posts_long else ADVANCE_NS
        return [stream.advance_ns for _, stream in self.streams] or [assumed_ns]

    def up_to(self, frame_bytes: int) -> Needs:
        """The port with no frame longer than that, sent or stated."""
        station, options = self.station, self.station.keepon
        if options.frame_bytes_max != "auto":
            stated = min(int(options.frame_bytes_max), frame_bytes)
            options = options.model_copy(update={"frame_bytes_max": stated})
            station = station.model_copy(update={"keepon": options})
        return replace(
            self,
            station=station,
            streams=tuple((index, _cut(stream, frame_bytes)) for index, stream in self.streams),
            loads=tuple((index, _cut(load, frame_bytes)) for index, load in self.loads),
        )

    def wrong(
        self, key: str, value: object, expectation: str, check: int = 0, short: int = 0
    ) -> AskError:
        """The refusal of a key of this station's keepon table."""
        return AskError(
            f'key `station[{self.index}].keepon.{key}` (station "{self.name}") = {value}:'
            f" {expectation}",
            check,
            short,
        )


_Flow = TypeVar("_Flow", Stream, Load)


def _cut(flow: _Flow, frame_bytes: int) -> _Flow:
    return flow.model_copy(update={"frame_bytes": min(flow.frame_bytes, frame_bytes)})


@dataclass(frozen=True)
class Choice:
    """Ring and posting for one slot size, and the resulting times in ns.

    Attributes:
        limited_by: what limits the batch, in words; empty if the scenario states the batch.
        sync_error_ns: Eq. 4; None where PTP does not set the clock.
    """

    spans: Spans
    ring_slots: int
    posting: Posting
    lead_ns: int
    sync_error_ns: int | None
    limited_by: str = ""

    @property
    def slot_bytes(self) -> int:
        return self.spans.slot_bytes
