# SPDX-License-Identifier: BSD-3-Clause
"""Sends every frame of three hyperperiods of some streams through FIFO queues, strict priority and
gates, at one end of the release error.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from keepon.model.plan import PlannedPort
from keepon.planner.checker.given import Given, Place, cycle_of, node
from keepon.planner.checker.spans import frame_ps
from keepon.planner.checker.unplanned import Unplanned

_LAPS = 3
_LOOK_EVERY = 1_024
_NEVER_PS = 10**18  # a release may be before the origin of time


class Gate:
    """Gate list of one port as the instants at which each queue's gate changes."""

    def __init__(self, port: PlannedPort, later_ps: int = 0) -> None:
        self.edges_ps: list[int] = []
        self.masks: list[int] = []
        at_ps = 0
        for entry in port["entries"]:
            self.edges_ps.append(at_ps)
            self.masks.append(int(entry["gates"], 16))
            at_ps += 1000 * entry["ns"]
        self.base_ps = 1000 * port["base_ns"] + later_ps
        self.cycle_ps = at_ps
        self._changes: dict[int, list[int]] = {}

    def mask_at(self, at_ps: int) -> int:
        """Mask of the gates open at an instant."""
        return self.masks[
            bisect.bisect_right(self.edges_ps, (at_ps - self.base_ps) % self.cycle_ps) - 1
        ]

    def state(self, queue: int, at_ps: int) -> tuple[bool, int | None]:
        """Whether the queue's gate is open at an instant, and when it changes next (None:
        never).
        """
        changes = self._changes_of(queue)
        is_open = bool(self.mask_at(at_ps) >> queue & 1)
        if not changes:
            return is_open, None
        phase_ps = (at_ps - self.base_ps) % self.cycle_ps
        index = bisect.bisect_right(changes, phase_ps)
        edge_ps = changes[index] if index < len(changes) else changes[0] + self.cycle_ps
        return is_open, at_ps + edge_ps - phase_ps

    def _changes_of(self, queue: int) -> list[int]:
        if queue not in self._changes:
            bits = [mask >> queue & 1 for mask in self.masks]
            self._changes[queue] = [
                edge
                for number, edge in enumerate(self.edges_ps)
                if bits[number] != bits[number - 1]
            ]
        return self._changes[queue]


@dataclass
class _Port:
    gate: Gate | None
    byte_ps: int
    busy_until_ps: int = -_NEVER_PS
    kept: dict[str, int] = field(default_factory=dict)  # end of unplanned frames, by blocked stream
    queues: dict[int, deque[tuple[str, int]]] = field(default_factory=dict)


class Replay:
    """Times in ps of the frames of `numbers`; their streams share no port with other streams.

    `frames`: frames sent in `hyper_ps`, counted at every port. `ready`: a frame is complete in a
    queue; `starts`: its transmission starts; `arrivals`: it reaches a listener.
    """

    def __init__(self, given: Given, unplanned: Unplanned, names: list[str], late: bool) -> None:
        self._given = given
        self._unplanned = unplanned
        self._late = late
        side = 1 if late else -1
        self._ports = {
            (bridge, peer): _Port(
                Gate(port, side * given.gate_error_ps(bridge)) if "entries" in port else None,
                given.links[bridge, peer][0],
            )
            for bridge, entry in given.plan["bridges"].items()
            for peer, port in entry["ports"].items()
        }
        self._side = side
        self._events: list[tuple[int, int, str, Any]] = []
        self._count = 0
        self._copied: set[tuple[str, int]] = set()
        windows = [window for window in given.windows if window.stream in names]
        lists_ps = (given.list_ps(window.place) for window in windows)
        self.hyper_ps, self.frames = cycle_of(windows, math.lcm(*lists_ps))
        self._end_ps = (_LAPS + 1) * self.hyper_ps
        self.looked_at = {name: self.numbers(name) for name in names}
        self.ready: dict[tuple[str, Place, int], int] = {}
        self.starts: dict[tuple[str, Place, int], int] = {}
        self.arrivals: dict[tuple[str, str, int], int] = {}

    def numbers(self, name: str) -> range:
        """Frames of the middle hyperperiod; the hyperperiods before and after it load the wires,
        too.
        """
        turns = len(self._given.releases_ns(name))
        per_lap = self.hyper_ps // self._given.cycle_ps(name) * turns
        return range(per_lap, 2 * per_lap)

    def run(self, look: Callable[[], None]) -> None:
        """Send all frames and serve the ports until none is left; `look` may raise to end the
        replay.
        """
        given = self._given
        for name in self.looked_at:
            stream = given.streams[name]
            releases = given.releases_ns(name)
            entry = given.entry(name)
            error_ps = entry["release_late_ps"] if self._late else entry["release_early_ps"]
            for number in range(_LAPS * len(self.numbers(name))):
                at_ps = given.start_ps(name, number) + error_ps
                at_ps += 1000 * releases[number % len(releases)]
                for there in given.following[name, stream.talker]:
                    self._arrive(name, number, (stream.talker, there), at_ps)
        while self._events:
            if self._count % _LOOK_EVERY == 0:
                look()
            at_ps, _, kind, payload = heapq.heappop(self._events)
            if kind == "ready":
                name, number, place = payload
                if place[0] == given.joint(name) and self._ends(name, number):
                    continue
                queue = given.queue(name, place)
                self._ports[place].queues.setdefault(queue, deque()).append((name, number))
                self._serve(place, at_ps)
            else:
                self._serve(payload, at_ps)

    def _push(self, at_ps: int, kind: str, payload: Any) -> None:
        heapq.heappush(self._events, (at_ps, self._count, kind, payload))
        self._count += 1

    def _arrive(self, name: str, number: int, place: Place, reference_ps: int) -> None:
        """A frame leaves a port: it passes the reference plane."""
        there = node(place[1])
        at_ps = reference_ps + self._given.links[place][1]
        bridge = self._given.bridges.get(there)
        if bridge is None:
            if number in self.looked_at[name]:
                so_far_ps = self.arrivals.get((name, there, number), at_ps)
                self.arrivals[name, there, number] = self._copy(at_ps, so_far_ps)
            return
        ready_ps = (
            at_ps + frame_ps(self._given, name, place, self._side) + 1000 * bridge.processing_ns
        )
        for peer in self._given.following.get((name, there), []):
            if number in self.looked_at[name]:
                so_far_ps = self.ready.get((name, (there, peer), number), ready_ps)
                self.ready[name, (there, peer), number] = self._copy(ready_ps, so_far_ps)
            place = (there, peer)
            wait_ps = 0 if self._ports[place].gate else self._wait_ps(name, place)
            self._push(ready_ps + wait_ps, "ready", (name, number, place))

    def _ends(self, name: str, number: int) -> bool:
        """Whether a frame at the joint of two ways is the copy that ends there: the second one, or
        the first one as if it were lost.
        """
        is_second = (name, number) in self._copied
        self._copied.add((name, number))
        return is_second != self._late

    def _copy(self, one_ps: int, other_ps: int) -> int:
        return max(one_ps, other_ps) if self._late else min(one_ps, other_ps)

    def _wait_ps(self, name: str, place: Place) -> int:
        """The wait for unplanned frames, at the later end of the release error."""
        queue = self._given.queue(name, place)
        return self._unplanned.wait_ps(place, queue) if self._late else 0

    def _is_kept(self, port: _Port, place: Place, name: str, at_ps: int) -> bool:
        """Whether an unplanned frame has begun just before this one, at a gate; then the port is
        busy until it ends.
        """
        if port.gate is None or port.kept.get(name) == at_ps:
            return False
        wait_ps = self._wait_ps(name, place)
        if not wait_ps:
            return False
        port.kept[name] = port.busy_until_ps = at_ps + wait_ps
        self._push(at_ps + wait_ps, "serve", place)
        return True

    def _serve(self, place: Place, at_ps: int) -> None:
        port = self._ports[place]
        if at_ps < port.busy_until_ps:
            return
        wake_ps: int | None = None
        for queue in sorted(
            (number for number, frames in port.queues.items() if frames), reverse=True
        ):
            name, number = port.queues[queue][0]
            length_ps = frame_ps(self._given, name, place, self._side)
            is_open, change_ps = (
                (True, None) if port.gate is None else port.gate.state(queue, at_ps)
            )
            if is_open and (change_ps is None or at_ps + length_ps + 8 * port.byte_ps <= change_ps):
                if self._is_kept(port, place, name, at_ps):
                    return
                port.queues[queue].popleft()
                port.busy_until_ps = at_ps + length_ps + 20 * port.byte_ps
                if number in self.looked_at[name]:
                    self.starts[name, place, number] = at_ps
                self._arrive(name, number, place, at_ps + 8 * port.byte_ps)
                self._push(port.busy_until_ps, "serve", place)
                return
            if change_ps is not None and (wake_ps is None or change_ps < wake_ps):
                wake_ps = change_ps
        if wake_ps is not None and wake_ps < self._end_ps:
            self._push(wake_ps, "serve", place)
