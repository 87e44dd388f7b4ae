# SPDX-License-Identifier: BSD-3-Clause
"""Frames longer than a slot: the number of slots that a port needs for one, found by trying, and
the resulting length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from keepon.model.plan import PlannedStation
from keepon.model.scenario import Station
from keepon.planner.checker.given import Given, Place

_LEAST_BYTES = 84
"""Length on the wire of the shortest frame, preamble and gap included."""
_MOST_SLOTS = 128
_PADDED_BYTES = 1518
_DRIFT_PPM = 200
_STORE_PS = 200_000
"""Time in which the driver writes one of several slots."""
_PTP_BYTES = {"gptp": 94, "ptp": 72}


@dataclass
class Runs:
    """A port's slots as its station and the plan have them.

    Attributes:
        whole_bytes: longest frame in one slot.
        spare_bytes: bytes of several slots to leave for trims.
        buffers: most buffers of a frame.
    """

    slot_bytes: int
    whole_bytes: int
    most_bytes: int
    spare_bytes: int
    buffers: int
    found: dict[int, tuple[int, int]] = field(default_factory=dict)

    def fit(self, frame_bytes: int) -> tuple[int, int]:
        """Consecutive slots and bytes on the wire of a frame; no slots: the frame cannot
        be sent.
        """
        if frame_bytes not in self.found:
            self.found[frame_bytes] = self._fit(frame_bytes)
        return self.found[frame_bytes]

    def _fit(self, frame_bytes: int) -> tuple[int, int]:
        if frame_bytes <= self.whole_bytes:
            return 1, self.slot_bytes
        if frame_bytes <= self.most_bytes:
            for slots in range(2, _MOST_SLOTS + 1):
                if (sent_bytes := self._split(frame_bytes, slots)) is not None:
                    buffers = slots if self._is_full(frame_bytes, slots) else slots - 1
                    if buffers <= self.buffers:
                        return slots, sent_bytes
                    break
            for slots in range(2, _MOST_SLOTS + 1):
                others_bytes = slots * (self.slot_bytes + 20) - frame_bytes - 20
                if others_bytes - self.spare_bytes >= (slots - 1) * _LEAST_BYTES:
                    return slots, frame_bytes
        return 0, frame_bytes

    def _is_full(self, frame_bytes: int, slots: int) -> bool:
        """Whether the rest of a frame's slots is too short for another frame."""
        left_bytes = slots * (self.slot_bytes + 20) - frame_bytes - 20
        return left_bytes < _LEAST_BYTES + self.spare_bytes

    def _split(self, frame_bytes: int, slots: int) -> int | None:
        """Length of a frame in the buffers of so many slots; None: it does not fit."""
        left_bytes = slots * (self.slot_bytes + 20) - frame_bytes - 20
        if left_bytes < self.spare_bytes:
            return None
        if not self._is_full(frame_bytes, slots):
            return frame_bytes
        padded_bytes = frame_bytes + left_bytes
        return padded_bytes if padded_bytes + self.spare_bytes <= _PADDED_BYTES else None

    @property
    def most_slots(self) -> int:
        """Slots of the longest frame."""
        return self.fit(self.most_bytes)[0] if self.most_bytes else 1

    def longest_bytes(self, frame_bytes: int) -> int:
        """Of all frames up to this length the greatest length on the wire."""
        return max(self.fit(length)[1] for length in range(64, max(frame_bytes, 64) + 1))

    def most_in(self, slots: int) -> int:
        """Longest frame in so many consecutive slots."""
        lengths = range(64, max(self.whole_bytes, self.most_bytes) + 1)
        return next((one for one in reversed(lengths) if 1 <= self.fit(one)[0] <= slots), 0)


_alike = lru_cache(64)(Runs)
"""Ports with slots alike share the lengths found."""


def of_port(given: Given, place: Place) -> Runs | None:
    """Slots of a station's port in the plan; None for a port without slots."""
    name = given.port_name(place)
    if name not in given.runs:
        planned = given.plan["stations"].get(name)
        station = given.scenario.station_named(place[0])
        slotted = planned is not None and "slot_bytes" in planned
        given.runs[name] = _of(station, planned) if planned is not None and slotted else None
    return given.runs[name]


def _of(station: Station, planned: PlannedStation) -> Runs:
    options, slot_bytes = station.keepon, planned["slot_bytes"]
    whole_bytes, spares = slot_bytes, [0]
    if options.mode == "phase-locked" and options.trim == "any":
        whole_bytes -= options.trim_down_bytes
        spares = list(range(1, min(options.trim_down_bytes, options.trim_up_bytes) + 1))
    buffers = station.nic.fragments_max if options.placeholder == "bad-fcs" else 1
    most_bytes = planned.get("frame_bytes_max", 0)
    for spare_bytes in spares:
        runs = _alike(slot_bytes, whole_bytes, most_bytes, spare_bytes, buffers)
        if _follows(runs):
            break
    return runs


def _follows(runs: Runs) -> bool:
    """Whether the spare bytes cover the drift of the crystals during the longest frame."""
    drifted = (runs.most_slots * (runs.slot_bytes + 20) + runs.spare_bytes) * _DRIFT_PPM
    return not runs.most_bytes or not runs.spare_bytes or drifted <= 10**6 * runs.spare_bytes


def check_port(given: Given, place: Place, document: PlannedStation) -> list[str]:
    """Check that the longest frame is the requested one and that its slots can be posted."""
    runs = of_port(given, place)
    assert runs is not None
    station = given.scenario.station_named(place[0])
    found = []
    if runs.most_bytes not in _asked_bytes(given, place, runs):
        found.append("frame_bytes_max is not what it sends, or not the one asked for")
    slots = runs.most_slots
    if slots == 1:
        return found
    stored = _STORE_PS * slots // document["slot_time_ps"]
    if not slots or not _follows(runs):
        found.append("trims, or 128 slots, do not do for the longest frame")
    elif slots + station.nic.prefetch_slots + 3 + stored > document["depth_slots"]:
        found.append("fewer slots are posted than the longest frame takes")
    elif document["depth_slots"] + 2 * (slots - 1) >= document["ring_slots"]:
        found.append("the ring has no room for the longest frame on both sides of what is posted")
    longest = {tc: runs.most_in(_row(document, int(tc))) for tc in document["classes"]}
    for tc, entry in document["classes"].items():
        if entry.get("frame_bytes_max") != longest[tc]:
            found.append(f"frame_bytes_max of class {tc} is not what its slots in a row carry")
    for name, own, frame_bytes in _unplanned(given, place):
        if frame_bytes > longest.get(str(own), frame_bytes):
            found.append(f"{name} has longer frames than slots of class {own} in a row carry")
    return found


def _row(document: PlannedStation, tc: int) -> int:
    """Consecutive slots of a class, across the end of the table."""
    row = bytes(mask >> tc & 1 for mask in document["allowed"]) * 2
    best = max(map(len, row.split(b"\0")))
    return _MOST_SLOTS if best == len(row) else min(best, _MOST_SLOTS)


def _unplanned(given: Given, place: Place) -> Iterator[tuple[str, int, int]]:
    """Best effort and PTP that leave by a port: name, class, longest frame."""
    for load, way in given.best_effort:
        if (way[0], way[1]) == place:
            yield f"load {load.id}", load.tc, load.frame_bytes
    if given.scenario.sync.by_ptp:
        yield "PTP", given.scenario.sync.tc, _PTP_BYTES[given.scenario.sync.mode]


def _asked_bytes(given: Given, place: Place, runs: Runs) -> range:
    """Allowed lengths of the longest frame in several slots: the stated length, or from the longest
    frame of the port to the room for best effort.
    """
    station = given.scenario.station_named(place[0])
    counted = any(
        other.name == place[1]
        and other.driver in ("keepon", "under-test")
        and other.keepon.clock == "dual"
        for other in given.scenario.station
    )
    if station.keepon.mode == "paper" or counted:
        return range(1)
    asked = station.keepon.frame_bytes_max
    if asked != "auto":
        longest = int(asked) if int(asked) > runs.whole_bytes else 0
        return range(longest, longest + 1)
    sent = [frame_bytes for _, _, frame_bytes in _unplanned(given, place)]
    sent += [
        entry.frame_bytes for entry in given.streams.values() if given.leaves[entry.id] == place
    ]
    longest = max(sent, default=0)
    needed = longest if longest > runs.whole_bytes else 0
    left = any(entry.slots == "rest" for entry in station.keepon.classes)
    return range(needed, 1522 + 1 if left and station.keepon.clock != "dual" else needed + 1)
