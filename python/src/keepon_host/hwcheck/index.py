# SPDX-License-Identifier: BSD-3-Clause
"""When the index of a ring moves: the range its driver states, and which event it tells of.

Its readings say only when it moved, and how long after a doorbell. When the wire began nobody sees:
with the doorbell at the earliest; at the latest as the driver says, or as the peer's stamps of
arrived frames say, if that is earlier. Which event it is that frames tell that were written beside
the index: a slot that it has not passed can still be written if it tells of fetching, and the slot
it stands at is on the wire if it tells of what has left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from keepon_host.hwcheck.records import Records
from keepon_host.hwcheck.wire import Peer, Wire, finding, passed

LEFT, FETCHED = "when a frame has left", "when a frame is fetched"
LOST_MIN = 2
"""Frames in the slot at the index that must have been lost: one may be lost on its way."""
SHARP_NS = 3_000
"""A reading may be so old, if half a slot is less than that."""


@dataclass(frozen=True)
class Begun:
    """How long after its doorbell the wire began at most, and who says so."""

    within_ns: int
    by: str


@dataclass(frozen=True)
class Passing:
    """How long before its event the index moved, if the wire began with its doorbell: within
    `least_ns` to `most_ns` for every reading; at one it was certainly below `low_ns`, at one above
    `high_ns`. `pace_ns`: what the pace is not known to makes that much of it, at most.
    """

    least_ns: int
    most_ns: int
    low_ns: int
    high_ns: int
    pace_ns: int


def find_begun(records: Records, wire: Wire, peer: Peer | None) -> Begun:
    """The end of no slot is later than the peer's stamp of its frame."""
    said = Begun(records.caps["restart_ns_max"], "the driver")
    if peer is None:
        return said
    begun_ns, first = records.begun
    latest = [
        peer.arrived_ns[number]
        - begun_ns
        - (slot - first + 1) * wire.slot_ns * (1 - wire.pace_within_ppm * 1e-6)
        for number, (_, _, slot, _) in enumerate(records.trials)
        if number in peer.arrived_ns
    ]
    # before the doorbell: those are stamps of another clock
    if not latest or min(latest) < 0:
        return said
    return min(said, Begun(math.ceil(min(latest)), peer.name), key=lambda begun: begun.within_ns)


def find_passing(records: Records, wire: Wire) -> Passing:
    """The index moved at most `since` before a reading, and not before the one that came before.
    Event k is the first bit of slot k, or the end of the one before.
    """
    done, slot_ns = bool(records.caps["index_counts_done"]), wire.slot_ns
    rows = passed(records)
    sharp = [row for row in rows if row[1] <= max(slot_ns / 2, SHARP_NS)] or rows
    tick_ns = records.caps["cpu_tick_ns"]
    least, most, low, high, pace = [], [], [], [], []
    for at_ns, since_ns, slots, before in sharp:
        late = (slots if done else slots - 1) * slot_ns - at_ns
        early = (before + (1 if done else 0)) * slot_ns - at_ns + since_ns
        unsure = abs(at_ns) * wire.pace_within_ppm * 1e-6
        least.append(early - since_ns)
        most.append(late + since_ns)
        low.append(early + unsure + tick_ns)
        high.append(late - unsure - tick_ns)
        pace.append(unsure)
    return Passing(
        math.floor(min(least)),
        math.ceil(max(most)),
        math.ceil(min(low)),
        math.floor(max(high)),
        math.ceil(max(pace)),
    )


def find_kind(records: Records, peer: Peer | None) -> str | None:
    """What the index tells of, by frames written into the slot it stood at; None: they do not say.

    One that arrived was not on the wire, so the index tells of fetching. If all are lost though the
    index did not move meanwhile, what it stands at had been taken.
    """
    if peer is None or not peer.numbers:
        return None
    at_index = [
        (number in peer.numbers, after == index)
        for number, (_, index, slot, after) in enumerate(records.trials)
        if slot == index
    ]
    if any(arrived for arrived, _ in at_index):
        return FETCHED
    return LEFT if sum(still for _, still in at_index) >= LOST_MIN else None


def _range(records: Records, passing: Passing, begun: Begun) -> dict[str, Any]:
    """Certain is: the wire did not begin before its doorbell, nor later than `begun`."""
    caps = records.caps
    least, most = caps["index_to_wire_ns_min"], caps["index_to_wire_ns_max"]
    event = "the end" if caps["index_counts_done"] else "the start"
    holds = (
        passing.high_ns <= most
        and passing.low_ns + begun.within_ns >= least
        # whenever it began
        and passing.high_ns - passing.low_ns <= most - least
    )
    measured = (
        f"{passing.least_ns} to {passing.most_ns} ns before it, if the wire began with its"
        f" doorbell; {begun.within_ns} ns later at most, by {begun.by}; pace makes"
        f" {passing.pace_ns} ns of it"
    )
    return finding("index to wire", f"{least} to {most} ns before {event}", measured, holds)


def _moves(
    records: Records, wire: Wire, begun: Begun, kind: str | None, ahead: float
) -> dict[str, Any]:
    """Of a range that is longer than a slot and has both events, either kind may be said. Readings
    alone show an index of fetched frames only if the wire cannot have begun half a slot late, and
    of slots shorter than the lag that is said they are enough.
    """
    caps = records.caps
    done = bool(caps["index_counts_done"])
    either = not done and caps["index_to_wire_ns_min"] <= -wire.slot_ns
    said = f"{FETCHED}, or later until it has left" if either else LEFT if done else FETCHED
    if ahead >= 0.5:  # with the doorbell the wire began at the earliest, so this is certain
        measured = f"{FETCHED}, {ahead:.1f} slots before it has left"
        return finding("index moves", said, measured, not done)
    if kind is None:
        shown = begun.within_ns < wire.slot_ns / 2 or -wire.slot_ns >= caps["index_to_wire_ns_min"]
        return finding("index moves", said, LEFT, True if either or (done and shown) else None)
    measured = (
        f"{kind}: the frame in the slot it stands at {'is lost' if kind == LEFT else 'arrives'}"
    )
    return finding("index moves", said, measured, either or kind == (LEFT if done else FETCHED))


def judge_index(
    records: Records, wire: Wire, peer: Peer | None
) -> tuple[list[dict[str, Any]], tuple[int, int], float]:
    """Findings; how long before the event it announces the index moves; and by how many slots it is
    ahead of their end.
    """
    rows = passed(records)
    sharp = [row for row in rows if row[1] <= max(wire.slot_ns / 2, SHARP_NS)] or rows
    shortest_ns = wire.slot_ns * (1 - wire.pace_within_ppm * 1e-6)
    ahead = max(slots * shortest_ns - at_ns for at_ns, _, slots, _ in sharp) / wire.slot_ns
    passing = find_passing(records, wire)
    begun = find_begun(records, wire, peer)
    found = [
        _range(records, passing, begun),
        _moves(records, wire, begun, find_kind(records, peer), ahead),
    ]
    return found, (passing.least_ns, passing.most_ns), max(ahead, 0.0)
