# SPDX-License-Identifier: BSD-3-Clause
"""Frames that a plan does not know, at ports without gates and with gate lists of any kind: the
worst they can do to one that it does know.

The argument is in docs/planning.md ("Ports without gates"). Here the worst case is played: best
effort has just begun to be sent, one message of every kind is there, and they leave by queue;
the planner has a formula instead. With a gate list that is played for every entry in which the
frame's gate is open.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

from keepon.planner.checker.given import Given, Place, Window
from keepon.planner.checker.runs import of_port
from keepon.planner.checker.spans import frame_ps, span_ps, trim_bytes

_SENT_BYTES = 72
"""Of end-to-end PTP's messages the longest that a station sends."""
_PTP_BYTES = 128
_OVERHEAD_BYTES = 20
_GAP_BYTES = 12
_Entries = list[tuple[int, int]]
"""Of a gate list: mask of open gates, and for how many ps."""


class Unplanned:
    """Messages of PTP and best effort by port, and what they do."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._sync = given.scenario.sync
        self._ports: dict[Place, _Entries | None] = {
            place: self._entries(place) for place in given.links if place[0] in given.bridges
        }
        self._in_flight: dict[Place, list[tuple[int, int]]] = {place: [] for place in self._ports}
        self._messages: dict[Place, list[str]] = {place: [] for place in self._ports}
        self._add_loads()
        if self._sync.by_ptp:
            self._add_messages()
        self.wait_ps = cache(self._wait_ps)

    def _entries(self, place: Place) -> _Entries | None:
        """The gate list of a port in the plan; None: all gates are open."""
        port = self._given.ports(place[0]).get(place[1])
        if port is None or "entries" not in port:
            return None
        entries = [(int(entry["gates"], 16), 1000 * entry["ns"]) for entry in port["entries"]]
        return [entry for entry in entries if entry[1]] or None

    def _slot_bytes(self, leaf: Place, frame_bytes: int) -> int:
        """How long frames of up to so many bytes are in the slots of a station's port; 0 if it has
        none.
        """
        own = of_port(self._given, leaf)
        return 0 if own is None else own.longest_bytes(frame_bytes) + trim_bytes(
            self._given, leaf, 1
        )  # fmt: skip

    def _add_loads(self) -> None:
        for load, way in self._given.best_effort:
            leaf = (way[0], way[1])
            trim = trim_bytes(self._given, leaf, 1)
            longest = max(load.frame_bytes + trim, self._slot_bytes(leaf, load.frame_bytes))
            longest += _OVERHEAD_BYTES
            for place in itertools.pairwise(way):
                if place in self._ports:
                    queue = self._given.bridges[place[0]].class_of(load.priority)
                    self._in_flight[place].append((queue, span_ps(self._given, place, longest, 1)))

    def _ptp(self, place: Place) -> int:
        """The queue of PTP's messages at a port."""
        return self._given.bridges[place[0]].class_of(self._sync.priority)

    def _way(self, start: str, end: str) -> list[Place]:
        """Links from one node to another; none if they are not connected."""
        try:
            return list(itertools.pairwise(self._given.shortest(start, end)))
        except KeyError:
            return []

    def _add_messages(self) -> None:
        """One of every kind that passes a port, named after kind, domain and sender."""
        stations = [station.name for station in self._given.scenario.station]
        masters = {
            (0, str(self._sync.grandmaster)),
            *((entry.domain, entry.grandmaster) for entry in self._sync.domains),
        }
        masters |= {
            (0, fault.node) for fault in self._given.scenario.fault if fault.kind == "master-change"
        }
        for place, messages in self._messages.items():
            there = place[1]
            if self._sync.mode == "gptp":
                messages += ["pdelay-req", "pdelay-resp", "pdelay-resp-follow-up"]
                # A node hears a grandmaster by the last link of its way; that link's sender passes
                # Sync on.
                hearing = [
                    reign
                    for reign in masters
                    if there != reign[1] and self._way(reign[1], there)[-1:] == [place]
                ]
                messages += [
                    f"{kind} {reign}" for reign in hearing for kind in ("sync", "follow-up")
                ]
                continue
            for reign in masters:
                others = [name for name in stations if name != reign[1]]
                down = [name for name in others if place in self._way(reign[1], name)]
                messages += [f"{kind} {reign}" for kind in ("sync", "follow-up") if down]
                messages += [f"delay-resp {reign} {name}" for name in down]
                messages += [
                    f"delay-req {reign} {name}"
                    for name in others
                    if place in self._way(name, reign[1])
                ]

    def goes_before(self, place: Place, queue: int) -> bool:
        """Whether best effort, or PTP that gathers behind a gate, is in the queue of frames or in a
        higher one where it may go with them.
        """
        entries = self._ports[place]
        urgent = [other for other, _ in self._in_flight[place] if other >= queue]
        if entries is None:
            return bool(urgent)
        ptp = self._ptp(place)
        is_shut = any(not mask >> ptp & 1 for mask, _ in entries)
        if self._messages[place] and ptp >= queue and is_shut:
            urgent.append(ptp)
        return any(
            mask >> queue & 1 and mask >> other & 1 for mask, _ in entries for other in urgent
        )

    def beside(self, place: Place, queue: int) -> int:
        """Messages of PTP that may be in a queue of a bridge's port at once."""
        return len(self._messages[place]) if queue == self._ptp(place) else 0

    def _ptp_bytes(self) -> int:
        """Bridges without a clock pass on what stations send, and stations with slots send nothing
        shorter.
        """
        if self._sync.mode == "gptp":
            return _PTP_BYTES
        leaves = self._given.station_ports.values()
        return max(_PTP_BYTES, *(self._slot_bytes(leaf, _SENT_BYTES) for leaf in leaves), 0)

    def _wait_ps(self, place: Place, queue: int) -> int:
        """When a frame of this queue begins that comes just after the longest of a lower queue has
        begun, or as its gate opens.
        """
        if place not in self._ports:
            return 0
        entries = self._ports[place]
        if entries is None:
            return self._played_ps(place, queue, -1, 0)
        worst_ps = 0
        for index, (mask, _) in enumerate(entries):
            if mask >> queue & 1:
                gap_ps = self._gap_ps(place, queue, entries[index:] + entries[:index])
                worst_ps = max(worst_ps, self._played_ps(place, queue, mask, gap_ps))
        return worst_ps

    def _gap_ps(self, place: Place, queue: int, entries: _Entries) -> int:
        """What is left of the gap behind a frame that ended as its gate shut, where the first of
        these entries begins and the frame's own gate was shut.
        """
        mask, left_ps = entries[0][0], _GAP_BYTES * self._given.links[place][0]
        if entries[-1][0] >> queue & 1:
            return 0
        for before, length_ps in reversed(entries):
            if left_ps <= 0:
                break
            if self._passes(place, before & ~mask):
                return left_ps
            left_ps -= length_ps
        return 0

    def _passes(self, place: Place, mask: int) -> bool:
        """Whether anything unplanned may pass by these gates."""
        queues = [queue for queue, _ in self._in_flight[place]]
        if self._messages[place]:
            queues.append(self._ptp(place))
        return any(mask >> queue & 1 for queue in queues)

    def _played_ps(self, place: Place, queue: int, mask: int, gap_ps: int) -> int:
        """The same with these gates open, at first a gap behind a frame."""
        ptp_ps = span_ps(self._given, place, self._ptp_bytes() + _OVERHEAD_BYTES, 1)
        lower = [
            wire_ps
            for other, wire_ps in self._in_flight[place]
            if other < queue and mask >> other & 1
        ]
        ptp = self._ptp(place)
        waiting = list(self._messages[place]) if mask >> ptp & 1 else []
        if waiting and ptp < queue:
            lower.append(ptp_ps)
            waiting = []
        at_ps = max([*lower, gap_ps])
        while waiting:
            waiting.pop()
            at_ps += ptp_ps
        return at_ps


def check_unplanned(given: Given, unplanned: Unplanned) -> list[str]:
    """Best effort goes last where it may go with planned frames, and PTP has time at every port
    without gates.
    """
    found = []
    for place in sorted({window.place for window in given.windows}):
        own = [window for window in given.windows if window.place == place]
        queues = {given.queue(window.stream, place) for window in own}
        if any(unplanned.goes_before(place, queue) for queue in sorted(queues)):
            found.append(
                f"best effort goes before planned frames from {place[0]} towards {place[1]}"
            )
        elif given.bridges[place[0]].gates != "none":
            continue
        elif not _leaves_time(given, unplanned, place, own):
            found.append(f"planned frames may leave {place[0]} towards {place[1]} no time for PTP")
    return found


def _leaves_time(given: Given, unplanned: Unplanned, place: Place, own: list[Window]) -> bool:
    """Between two messages of a kind every port without gates has time for all of them beside its
    planned frames.

    Windows of a port do not meet, so planned frames have at most their share of windows that lie
    within a stretch, and one frame at either end. Half the shortest interval is the least between
    two messages.
    """
    sync = given.scenario.sync
    queues = [given.queue(window.stream, place) for window in own]
    waits_ps = [unplanned.wait_ps(place, queue) for queue in queues]
    if not sync.by_ptp or not any(waits_ps):
        return True
    if min(queues) > given.bridges[place[0]].class_of(sync.priority):
        return True
    stretch_ps = min(sync.interval_ms, sync.delay_interval_ms) * 10**9 // 2
    wires_ps = [
        frame_ps(given, window.stream, place, 1) + 20 * given.links[place][0] for window in own
    ]
    share = max(
        Fraction(wire_ps, window.length_ps) for wire_ps, window in zip(wires_ps, own, strict=True)
    )
    needed_ps = share * stretch_ps + 2 * max(wires_ps) + max(waits_ps)
    return bool(needed_ps <= stretch_ps)
