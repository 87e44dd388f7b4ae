# SPDX-License-Identifier: BSD-3-Clause
"""No two frames overlap on a wire, and no frame in a queue can take the window of another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from keepon.model.scenario import HostTable, Station
from keepon.planner.checker.given import Given, Place, Window, cycle_of
from keepon.planner.checker.replay import Replay
from keepon.planner.checker.spans import frame_ps

FRAMES_MAX = 500_000
"""Most frames of a port until its windows repeat that are compared one by one."""
_DRIVER_NS, _STACK_NS = 11_000, 5_000
"""Median of a stage of the hosts that are modelled, "ideal" aside (keepon.fig10a; chosen)."""


def _of_talkers(given: Given) -> list[Window]:
    """Windows on the talkers' own wires. Slots of one ring do not overlap whatever the
    clock does.
    """
    found = []
    for name in given.streams:
        entry, releases = given.entry(name), given.releases_ns(name)
        place = given.leaves[name]
        byte_ps = given.links[place][0]
        planned = given.planned_at(name)
        slotted = "slot_bytes" in planned
        low_ps, high_ps = (
            (0, 0) if slotted else (entry["release_early_ps"], entry["release_late_ps"])
        )
        for turn, release_ns in enumerate(releases):
            start_ps = 1000 * release_ns + given.start_ps(name, turn) - 8 * byte_ps
            wire_ps = (entry["frame_bytes_on_wire"] + 20) * byte_ps
            if slotted:  # all slots of the frame, padding included
                wire_ps = entry.get("frame_slots", 1) * planned["slot_time_ps"]
            found.append(
                Window(
                    name, turn, place, start_ps + low_ps, start_ps + high_ps,
                    wire_ps + high_ps - low_ps,
                    given.cycle_ps(name),
                )
            )  # fmt: skip
    return found


def _by_place(given: Given) -> dict[Place, list[Window]]:
    found: dict[Place, list[Window]] = {}
    for window in (*given.windows, *_of_talkers(given)):
        found.setdefault(window.place, []).append(window)
    return found


def _check_length(given: Given) -> list[str]:
    found = []
    for window in given.windows:
        wire_ps = (
            frame_ps(given, window.stream, window.place, 1) + 20 * given.links[window.place][0]
        )
        if window.length_ps < window.last_ps - window.open_ps + wire_ps:
            found.append(
                f"window of {window.stream} at {window.place[0]} is shorter than its frame"
            )
    return found


def check_wires(given: Given, look: Callable[[], None]) -> list[str]:
    """Turns of one wire never meet until all of it repeats; `look` at the clock may end it."""
    found = _check_length(given)
    for place, windows in _by_place(given).items():
        look()
        if given.is_cyclic(place):
            continue
        found += [
            f"windows of {one} and {other} meet on {place[0]} -> {place[1]}"
            for one, other in _that_meet(windows)
        ]
    return found + _check_hosts(given)


def _check_hosts(given: Given) -> list[str]:
    """Where releases are said to be apart, no frame comes to the driver while the host is at work
    on another.
    """
    found, by_host = [], dict[str, list[Window]]()
    for name, stream in given.streams.items():
        apart_ns = given.planned_at(name).get("apart_ns")
        if apart_ns is None:
            continue
        if apart_ns < (least_ns := _work_ns(given.scenario.station_named(stream.talker))):
            found.append(f"{stream.talker} needs {least_ns} ns for a frame, and has {apart_ns}")
        for turn, release_ns in enumerate(given.releases_ns(name)):
            at_ps = 1000 * release_ns + given.start_ps(name, turn)
            by_host.setdefault(stream.talker, []).append(
                Window(
                    name, turn, (stream.talker, ""), at_ps, at_ps, 1000 * apart_ns,
                    given.cycle_ps(name),
                )
            )  # fmt: skip
    return found + [
        f"{one} and {other} come to the driver of {host} at once"
        for host, windows in by_host.items()
        for one, other in _that_meet(windows)
    ]


def _work_ns(station: Station) -> int:
    """What the host usually does for a frame: the driver takes one after the other, and cores share
    driver and stack.
    """
    table = station.host if isinstance(station.host, HostTable) else HostTable(base=station.host)
    works = []
    for stage, usual_ns in ((table.driver, _DRIVER_NS), (table.stack, _STACK_NS)):
        base_ns, median_ns = (stage.base_ns, stage.median_ns) if stage else (None, None)
        own_ns = 0 if table.base == "ideal" else usual_ns
        works.append((base_ns or 0) + (own_ns if median_ns is None else median_ns))
    return max(works[0], -(-sum(works) // table.cores) if table.cores else 0)


def _that_meet(windows: list[Window]) -> Iterator[tuple[str, str]]:
    cycle_ps, frames = cycle_of(windows)
    return _meeting(windows, cycle_ps) if frames <= FRAMES_MAX else _by_divisors(windows)


def _meeting(windows: list[Window], cycle_ps: int) -> Iterator[tuple[str, str]]:
    """Pairs of neighbours on a circle of which one starts before the other ends."""
    rows = np.array(
        [
            (window.open_ps, window.length_ps, window.period_ps, number)
            for number, window in enumerate(windows)
        ],
        dtype=np.int64,
    )
    laps = cycle_ps // rows[:, 2]
    rows = np.repeat(rows, laps, axis=0)
    lap = np.arange(len(rows)) - np.repeat(np.cumsum(laps) - laps, laps)
    start_ps = (rows[:, 0] + lap * rows[:, 2]) % cycle_ps
    order = np.lexsort((rows[:, 1], start_ps))
    start_ps, rows = start_ps[order], rows[order]
    meets = np.append(start_ps[1:], start_ps[0] + cycle_ps) < start_ps + rows[:, 1]
    one = [windows[number].stream for number in rows[meets, 3].tolist()]
    other = [windows[number].stream for number in np.roll(rows[:, 3], -1)[meets].tolist()]
    return zip(one, other, strict=True)


def _by_divisors(windows: list[Window]) -> Iterator[tuple[str, str]]:
    """As `_meeting`, by greatest common divisors, for more frames than FRAMES_MAX."""
    open_ps, length_ps, period_ps = (
        np.array([getattr(window, key) for window in windows], dtype=np.int64)
        for key in ("open_ps", "length_ps", "period_ps")
    )
    for number, one in enumerate(windows):
        if one.length_ps > one.period_ps:
            yield one.stream, one.stream
        common_ps = np.gcd(period_ps[:number], one.period_ps)
        apart_ps = (one.open_ps - open_ps[:number]) % common_ps
        meets = (apart_ps < length_ps[:number]) | (common_ps - apart_ps < one.length_ps)
        for other in np.flatnonzero(meets).tolist():
            yield one.stream, windows[other].stream


def check_talkers_without_bounds(given: Given) -> list[str]:
    """Frames of a talker that keeps no time may take any window of their queue, so no stream there
    has a bound.
    """
    by_queue: dict[tuple[Place, int], set[str]] = {}
    for window in given.windows:
        queue = given.queue(window.stream, window.place)
        by_queue.setdefault((window.place, queue), set()).add(window.stream)
    found = []
    for (place, queue), names in by_queue.items():
        free = sorted(name for name in names if given.entry(name)["bounds"]["delay_ns"] is None)
        if free and len(free) < len(names):
            found.append(
                f"{min(names - set(free))} has a bound beside {free[0]} without one in queue"
                f" {queue} of {place[0]} towards {place[1]}"
            )
    return found


def check_isolation(given: Given, early: Replay, late: Replay) -> list[str]:
    """Frames of one gated queue: alone in it from arrival to departure ("frame"), or arriving in
    the order of their windows.

    The check uses earliest arrivals and latest departures, so that it holds for every release
    error.
    """
    found: list[str] = []
    by_queue: dict[tuple[Place, int], list[tuple[int, int, int, int, str]]] = {}
    for window in given.windows:
        if window.stream not in early.looked_at:
            continue
        if "entries" not in given.plan["bridges"][window.place[0]]["ports"][window.place[1]]:
            continue
        turns = len(given.releases_ns(window.stream))
        for number in early.numbers(window.stream):
            if number % turns != window.turn:
                continue
            key = (window.stream, window.place, number)
            moved_ps = number // turns * given.cycle_ps(window.stream)
            # Onto one cycle: a frame of this cycle may leave in the next one, after other frames of
            # the next.
            lap_ps = (moved_ps + window.open_ps) // early.hyper_ps * early.hyper_ps
            moved_ps -= lap_ps
            entry = (
                moved_ps + window.open_ps,
                moved_ps + window.open_ps + window.length_ps,
                early.ready[key] - lap_ps,
                late.ready[key] - lap_ps,
                window.stream,
            )
            queue = given.queue(window.stream, window.place)
            by_queue.setdefault((window.place, queue), []).append(entry)
    for (place, queue), frames in by_queue.items():
        frames.sort()
        first = frames[0]
        later = early.hyper_ps
        again = (first[0] + later, first[1] + later, first[2] + later, first[3] + later, first[4])
        around = [*frames, again]
        for one, other in itertools.pairwise(around):
            clear_ps = one[1] if given.scenario.planner.isolation == "frame" else one[3] + 1
            if other[2] < clear_ps:
                found.append(
                    f"{other[4]} is in queue {queue} of {place[0]} towards {place[1]} beside"
                    f" {one[4]}"
                )
    return found
