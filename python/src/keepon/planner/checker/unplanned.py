# SPDX-License-Identifier: BSD-3-Clause
"""Best effort and PTP at ports without gates and with gate lists of any kind: the most that they
can delay a planned frame.

docs/planning.md ("Ports without gates") has the derivation. This module plays the worst case, where
the planner has a formula: a best-effort frame has just begun, one message of every kind is there,
and they leave in order of queues. With a gate list it plays the case for every entry in which the
frame's gate is open.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache, cached_property

from keepon.planner.checker import interruptions
from keepon.planner.checker.given import Given, Place, Window, node
from keepon.planner.checker.runs import of_port
from keepon.planner.checker.spans import frame_ps, span_ps, trim_bytes

_SENT_BYTES = 72
"""Longest end-to-end PTP message that a station sends."""
_PTP_BYTES = 128
_OVERHEAD_BYTES = 20
_GAP_BYTES = 12
_Entries = list[tuple[int, int]]
"""Entries of a gate list: mask of open gates, and duration in ps."""


class Unplanned:
    """PTP messages and best effort by port, and the delays that they cause."""

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
        # Where a stream's gate is open, HOLD has the wire free of preemptable frames.
        shut = ~sum(1 << queue for queue in interruptions.queues(self._given, place))
        entries = [
            (int(entry["gates"], 16) & shut, 1000 * entry["ns"]) for entry in port["entries"]
        ]
        return [entry for entry in entries if entry[1]] or None

    def _slot_bytes(self, leaf: Place, frame_bytes: int) -> int:
        """Longest wire length of frames up to `frame_bytes` in the slots of a station's port; 0 if
        it has no slots.
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
                    bridge = self._given.bridges[place[0]]
                    queue, most = bridge.class_of(load.priority), longest
                    if queue in interruptions.queues(self._given, place):
                        most = interruptions.longest_bytes(
                            longest - _OVERHEAD_BYTES, bridge.min_fragment_bytes
                        )
                    self._in_flight[place].append((queue, span_ps(self._given, place, most, 1)))

    def longest_ps(self, place: Place) -> int:
        """The longest best-effort frame at a bridge's port, gap included."""
        return max((length_ps for _, length_ps in self._in_flight[place]), default=0)

    def lengths_at(self, place: Place) -> list[tuple[int, int]]:
        """Class and wire time of what may pass a port: loads, streams of foreign talkers."""
        return self._in_flight[place]

    def messages_at(self, place: Place) -> list[tuple[int, int, int]]:
        """Class, wire time and least distance of each kind of PTP message at a port."""
        length_ps = span_ps(self._given, place, self._ptp_bytes + _OVERHEAD_BYTES, 1)
        apart_ps = min(self._sync.interval_ms, self._sync.delay_interval_ms) * 10**9 // 2
        return [(self._ptp(place), length_ps, apart_ps) for _ in self._messages[place]]

    def _ptp(self, place: Place) -> int:
        """The queue of PTP messages at a port."""
        return self._given.bridges[place[0]].class_of(self._sync.priority)

    def _way(self, start: str, end: str) -> list[Place]:
        """Links from one node to another; empty if they are not connected."""
        try:
            return list(itertools.pairwise(self._given.shortest(start, end)))
        except KeyError:
            return []

    def _add_messages(self) -> None:
        """Add the messages that pass each port, one of every kind, domain and sender."""
        stations = [station.name for station in self._given.scenario.station]
        masters = {
            (0, str(self._sync.grandmaster)),
            *((entry.domain, entry.grandmaster) for entry in self._sync.domains),
        }
        masters |= {
            (0, fault.node) for fault in self._given.scenario.fault if fault.kind == "master-change"
        }
        for place, messages in self._messages.items():
            there = node(place[1])
            if self._sync.mode == "gptp":
                messages += ["pdelay-req", "pdelay-resp", "pdelay-resp-follow-up"]
                # The last link of a node's route from a grandmaster delivers its Sync; the sender
                # of that link forwards it.
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
        """Whether best effort, or PTP that gathers behind a gate, may precede a frame of `queue`:
        it is in the same or a higher queue whose gate opens with the frame's.
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
        """PTP messages that may be in a queue of a bridge's port at once."""
        return len(self._messages[place]) if queue == self._ptp(place) else 0

    @cached_property
    def _ptp_bytes(self) -> int:
        """Length of a PTP frame: bridges without a clock forward frames of stations as they are,
        and slotted stations send none shorter than a slot.
        """
        if self._sync.mode == "gptp":
            return _PTP_BYTES
        leaves = self._given.station_ports.values()
        return max(_PTP_BYTES, *(self._slot_bytes(leaf, _SENT_BYTES) for leaf in leaves), 0)

    def _wait_ps(self, place: Place, queue: int) -> int:
        """The wait of a frame that arrives just after the longest frame of a lower queue has begun,
        or as its own gate opens.
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
        """What remains of the gap at the start of the first of these entries, behind a frame that
        ended as its gate closed while the planned frame's gate was closed.
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
        """Whether unplanned frames may pass these gates."""
        queues = [queue for queue, _ in self._in_flight[place]]
        if self._messages[place]:
            queues.append(self._ptp(place))
        return any(mask >> queue & 1 for queue in queues)

    def _played_ps(self, place: Place, queue: int, mask: int, gap_ps: int) -> int:
        """As `_wait_ps`, with these gates open and `gap_ps` left of a gap."""
        ptp_ps = span_ps(self._given, place, self._ptp_bytes + _OVERHEAD_BYTES, 1)
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
    """Check that best effort has a lower queue where it may precede planned frames, and that PTP
    has time at every port without gates.
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
    """Whether a port without gates has time for all PTP messages beside its planned frames between
    two messages of a kind.

    Windows of a port do not overlap, so within an interval planned frames take at most their share
    of its windows, plus one frame at either end. Half the shortest message interval is the least
    time between two messages.
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
