# SPDX-License-Identifier: BSD-3-Clause
"""Shows port by port that frames always leave in their windows, without following them through the
network.

Suppose that every frame leaves every bridge in its window. Then the arrivals at each port are
known, and each port is checked alone: with these arrivals, does it send every frame in its window?
If all ports do, no frame can be the first to miss its window, because arrivals depend only on
earlier departures. Three quick conditions are sufficient:

- frames of a queue arrive in the order of their windows, no two at once,
- the window of a frame is the earliest instant at which the frame is there, the frame before it in
  its queue has left, and its gate stays open for all of it,
- no two transmissions overlap.

Each frame then leaves as soon as its queue and gate allow, and the wire is free at that instant.
Where the conditions fail a frame may still be in time, behind a frame of another queue:
`keepon.planner.checker.replay` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keepon.model.plan import PlannedPort
from keepon.planner.checker.given import Given, Place, Window, cycle_of, places
from keepon.planner.checker.queues import FRAMES_MAX
from keepon.planner.checker.spans import frame_ps
from keepon.planner.checker.unplanned import Unplanned

_Times = NDArray[np.int64]
_OPENINGS_LOOKED_AT = 4
_SIDES = (-1, 1)


@dataclass(frozen=True)
class _Frames:
    """Frames of one port until all repeat, as columns, in the order of their windows; sides:
    earliest and latest.
    """

    stream: NDArray[np.int64]
    queue: NDArray[np.int64]
    starts_ps: tuple[_Times, _Times]
    ready_ps: tuple[_Times, _Times]
    wires_ps: tuple[_Times, _Times]
    end_ps: _Times

    def of(self, queue: int) -> _Frames:
        """The frames of one queue."""
        own = self.queue == queue

        def part(sides: tuple[_Times, _Times]) -> tuple[_Times, _Times]:
            return sides[0][own], sides[1][own]

        return _Frames(
            self.stream[own], self.queue[own], part(self.starts_ps), part(self.ready_ps),
            part(self.wires_ps), self.end_ps[own],
        )  # fmt: skip


def _both(one: tuple[int, int] | None, other: tuple[int, int]) -> tuple[int, int]:
    """When a frame may be there that comes by one of two ways."""
    return other if one is None else (min(one[0], other[0]), max(one[1], other[1]))


class Steady:
    """When frames reach bridges and listeners if they leave every bridge in their windows.

    Attributes:
        ready: earliest and latest time in ps of the first frame, by stream, turn and port.
        arrivals: the same by stream, turn and listener.
        copies: the same of each way at the joint of two, by stream and turn; ready to go on, or
            complete.
    """

    def __init__(self, given: Given, unplanned: Unplanned) -> None:
        self._given = given
        self._unplanned = unplanned
        self._windows = {
            (window.stream, window.turn, window.place): window for window in given.windows
        }
        self.ready: dict[tuple[str, int, Place], tuple[int, int]] = {}
        self.arrivals: dict[tuple[str, int, str], tuple[int, int]] = {}
        self.copies: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for name in given.streams:
            for turn, release_ns in enumerate(given.releases_ns(name)):
                self._follow(name, turn, 1000 * release_ns + given.start_ps(name, turn))

    def _follow(self, name: str, turn: int, base_ps: int) -> None:
        given, entry = self._given, self._given.entry(name)
        for way in given.ways(name):
            reach = (base_ps + entry["release_early_ps"], base_ps + entry["release_late_ps"])
            before: Place | None = None
            for place in places(way):
                byte_ps, delay_ps = given.links[place]
                if before is not None:
                    kept_ps = 1000 * given.bridges[place[0]].processing_ns
                    ready = tuple(
                        at_ps + kept_ps + frame_ps(given, name, before, side)
                        for at_ps, side in zip(reach, _SIDES, strict=True)
                    )
                    if place[0] == given.joint(name):
                        self.copies.setdefault((name, turn), []).append((ready[0], ready[1]))
                    self.ready[name, turn, place] = _both(
                        self.ready.get((name, turn, place)), (ready[0], ready[1])
                    )
                    window = self._windows[name, turn, place]
                    reach = (window.open_ps + 8 * byte_ps, window.last_ps + 8 * byte_ps)
                reach = (reach[0] + delay_ps, reach[1] + delay_ps)
                before = place
            if way[-1] == given.joint(name):
                wires = (frame_ps(given, name, places(way)[-1], side) for side in _SIDES)
                ends = tuple(at_ps + wire_ps for at_ps, wire_ps in zip(reach, wires, strict=True))
                self.copies.setdefault((name, turn), []).append((ends[0], ends[1]))
            self.arrivals[name, turn, way[-1]] = _both(
                self.arrivals.get((name, turn, way[-1])), reach
            )

    def unclear(self, look: Callable[[], None]) -> Iterator[Place]:
        """Ports that are not shown to send every frame in its window with the requested isolation,
        given that no two windows of a wire overlap.
        """
        for place, windows in self._given.by_place.items():
            look()
            if self._given.is_cyclic(place):
                continue
            port = self._given.plan["bridges"][place[0]]["ports"][place[1]]
            if not (
                self._gated(place, windows, port)
                if "entries" in port
                else all(self._at_once(window) for window in windows)
            ):
                yield place

    def crowded(self) -> Iterator[str]:
        """Queues that a frame may find full if all frames leave in their windows.

        Frames leave a queue in order of arrival, so a frame finds room if the frame `queue_frames`
        before it has certainly begun its transmission. At a port without gates, or with isolation
        "frame", no planned frame is ahead of it.
        """
        in_order = self._given.scenario.planner.isolation != "frame"
        for place, windows in self._given.by_place.items():
            if self._given.is_cyclic(place):
                continue
            port = self._given.plan["bridges"][place[0]]["ports"][place[1]]
            cycle_ps, count = cycle_of(windows, self._given.list_ps(place))
            waits = in_order and "entries" in port and count <= FRAMES_MAX
            for queue in sorted(set(port["queues"].values())):
                room = self._given.bridges[place[0]].queue_frames
                room -= self._unplanned.beside(place, queue)
                full = room < 1
                if waits and not full:
                    own = self._frames(place, windows, cycle_ps).of(queue)
                    behind = np.arange(len(own.queue)) + room
                    laps = behind // len(own.queue)
                    comes_ps = own.ready_ps[0][behind % len(own.queue)] + laps * cycle_ps
                    full = bool((comes_ps <= own.starts_ps[1]).any())
                if full:
                    yield f"queue {queue} of {place[0]} towards {place[1]} may be full"

    def _at_once(self, window: Window) -> bool:
        """Whether a port without gates sends a frame on arrival, at the latest after unplanned
        frames: no two windows of its wire overlap (`check_wires`).
        """
        ready_ps = self.ready[window.stream, window.turn, window.place]
        wait_ps = self._unplanned.wait_ps(window.place, self._given.streams[window.stream].priority)
        return (window.open_ps, window.last_ps) == (ready_ps[0], ready_ps[1] + wait_ps)

    def _frames(self, place: Place, windows: list[Window], cycle_ps: int) -> _Frames:
        given = self._given
        number = {name: index for index, name in enumerate(given.streams)}
        rows = np.array(
            [
                (
                    number[window.stream], given.queue(window.stream, place), window.open_ps,
                    window.last_ps,
                    *self.ready[window.stream, window.turn, place],
                    *(frame_ps(given, window.stream, place, side) for side in _SIDES),
                    window.open_ps + window.length_ps, window.period_ps,
                )
                for window in windows
            ],
            dtype=np.int64,
        )  # fmt: skip
        laps = cycle_ps // rows[:, 9]
        rows = np.repeat(rows, laps, axis=0)
        lap = np.arange(len(rows)) - np.repeat(np.cumsum(laps) - laps, laps)
        moved_ps = lap * rows[:, 9]
        # Onto one cycle: a frame of this cycle may leave in the next one, after other frames of the
        # next.
        moved_ps -= (rows[:, 2] + moved_ps) // cycle_ps * cycle_ps
        for column in (2, 3, 4, 5, 8):
            rows[:, column] += moved_ps
        rows = rows[np.argsort(rows[:, 2], kind="stable")]
        return _Frames(
            rows[:, 0], rows[:, 1], (rows[:, 2], rows[:, 3]), (rows[:, 4], rows[:, 5]),
            (rows[:, 6], rows[:, 7]),
            rows[:, 8],
        )  # fmt: skip

    def _apart(self, frames: _Frames, byte_ps: int, cycle_ps: int, side: int) -> bool:
        """Whether no two transmissions overlap, gaps included."""
        starts_ps, wires_ps = frames.starts_ps[side], frames.wires_ps[side]
        following_ps = np.append(starts_ps[1:], starts_ps[:1] + cycle_ps)
        return bool((starts_ps + wires_ps + 20 * byte_ps <= following_ps).all())

    def _gated(self, place: Place, windows: list[Window], port: PlannedPort) -> bool:
        cycle_ps, count = cycle_of(windows, self._given.list_ps(place))
        if count > FRAMES_MAX:
            return False
        frames, byte_ps = self._frames(place, windows, cycle_ps), self._given.links[place][0]
        if not all(self._apart(frames, byte_ps, cycle_ps, side) for side in (0, 1)):
            return False
        off_ps = self._given.gate_error_ps(place[0])
        gate = _Openings(port)
        for queue in np.unique(frames.queue).tolist():
            own = frames.of(queue)
            if not self._alone(own, cycle_ps):
                return False
            for side in (0, 1):
                starts_ps, ready_ps, wires_ps = (
                    own.starts_ps[side],
                    own.ready_ps[side],
                    own.wires_ps[side],
                )
                left_ps = np.roll(starts_ps + wires_ps + 20 * byte_ps, 1)
                left_ps[0] -= cycle_ps
                later_ps = off_ps if side else -off_ps
                there_ps = np.maximum(ready_ps, left_ps) - later_ps
                # and, at its latest, an unplanned frame has just begun
                wait_ps = self._unplanned.wait_ps(place, queue) if side else 0
                earliest_ps = gate.earliest(queue, there_ps, wires_ps + 8 * byte_ps + wait_ps)
                if earliest_ps is None or (earliest_ps + wait_ps + later_ps != starts_ps).any():
                    return False
        return True

    def _alone(self, own: _Frames, cycle_ps: int) -> bool:
        """Whether frames of one queue meet `check_isolation` of queues.py, and no two arrive at
        once.
        """
        whole = self._given.scenario.planner.isolation == "frame"
        clear_ps = own.end_ps if whole else own.ready_ps[1] + 1
        following_ps = np.append(own.ready_ps[0][1:], own.ready_ps[0][0] + cycle_ps)
        return bool((following_ps >= clear_ps).all())


class _Openings:
    """A gate list as columns: when queues are open in its cycle, by an exact clock."""

    def __init__(self, port: PlannedPort) -> None:
        lengths_ps = np.array([1000 * entry["ns"] for entry in port["entries"]], dtype=np.int64)
        self._edges_ps = np.cumsum(lengths_ps) - lengths_ps
        self._masks = np.array(
            [int(entry["gates"], 16) for entry in port["entries"]], dtype=np.int64
        )
        self._cycle_ps = int(lengths_ps.sum())
        # An instant of TAI has more ps than 64 bits.
        self._base_ps = 1000 * port["base_ns"] % self._cycle_ps

    def earliest(self, queue: int, from_ps: _Times, need_ps: _Times) -> _Times | None:
        """First instants at which a queue's gate stays open long enough; None if the computation
        would be slow.
        """
        is_open = (self._masks >> queue & 1).astype(bool)
        was_open = np.roll(is_open, 1)
        opens, closes = self._edges_ps[is_open & ~was_open], self._edges_ps[was_open & ~is_open]
        if not len(opens):
            return from_ps if is_open[0] else None
        if closes[0] < opens[0]:  # open over the end of the cycle
            closes = np.append(closes[1:], closes[0] + self._cycle_ps)
        laps = np.repeat(np.array([-1, 0, 1], dtype=np.int64) * self._cycle_ps, len(opens))
        opens, closes = np.tile(opens, 3) + laps, np.tile(closes, 3) + laps
        phase_ps = (from_ps - self._base_ps) % self._cycle_ps
        opening = np.searchsorted(closes, phase_ps, side="right")
        for _ in range(_OPENINGS_LOOKED_AT):
            if (opening >= len(opens)).any():
                return None
            at_ps = np.maximum(phase_ps, opens[opening])
            short = at_ps + need_ps > closes[opening]
            if not short.any():
                earliest_ps: _Times = from_ps - phase_ps + at_ps
                return earliest_ps
            opening = opening + short
        return None
