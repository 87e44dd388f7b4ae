# SPDX-License-Identifier: BSD-3-Clause
"""Cyclic queuing and forwarding: from its arrival each frame is followed through stream gate and
port gate, and what may be in a buffer with it is sent one by one.

The planner adds up cycles; here nothing is known of a cycle but what the two gate lists open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from keepon.model.plan import PlannedFilter
from keepon.planner.checker.given import Given, Place, Window, node, places
from keepon.planner.checker.policing import longest_msdu
from keepon.planner.checker.replay import Gate
from keepon.planner.checker.spans import frame_ps
from keepon.planner.checker.steady import Steady
from keepon.planner.checker.streams import keeps_times
from keepon.planner.checker.unplanned import Unplanned

_GAP_AND_PREAMBLE_BYTES = 20


@dataclass(frozen=True)
class _Stay:
    """A frame's stay at a bridge, by the bridge's clock.

    Attributes:
        room_ps: from its arrivals to the edges of the interval of its stream gate.
        there_ps: when it is in its queue, at the latest.
        opens_ps, shuts_ps: its port gate.
    """

    window: Window
    room_ps: int
    there_ps: int
    opens_ps: int
    shuts_ps: int


class _WrongError(Exception):
    """What is wrong with a frame."""


def check(given: Given, steady: Steady, unplanned: Unplanned) -> list[str]:
    """What is wrong with bridges that have cycles, and with their streams."""
    found = [text for name in given.streams for text in _stream(given, steady, name)]
    stays: dict[Place, list[_Stay]] = {}
    for name, bridge in given.bridges.items():
        document = given.plan["bridges"].get(name, {"ports": {}})
        passing = sorted(
            s for s in given.streams if any(name in map(node, way) for way in given.ways(s))
        )
        if bridge.gates != "cqf" or not passing:
            if "cqf" in document:
                found.append(f"bridge {name} has cycles that nothing asks for")
            continue
        filters = document.get("stream_filters", [])
        if sorted(entry["stream"] for entry in filters) != passing:
            found.append(f"bridge {name} has not one stream filter for each stream")
            continue
        found += [text for entry in filters for text in _filter(given, name, entry)]
        if found:
            return found
        for window in (w for w in given.windows if w.place[0] == name):
            try:
                # Gates repeat after all buffers, and so does what is to be followed.
                for lap in range(bridge.cqf_buffers):
                    stay = _stay(given, steady, window, lap * window.period_ps)
                stays.setdefault(window.place, []).append(stay)
            except _WrongError as error:
                found.append(f"{window.stream} at bridge {name}: {error}")
    if found:
        return found
    for place, own in stays.items():
        found += [f"{' towards '.join(place)}: {text}" for text in _port(given, unplanned, own)]
    return found + list(_clock_errors(given, stays))


def _filter(given: Given, bridge: str, entry: PlannedFilter) -> Iterator[str]:
    if entry["max_sdu_bytes"] != (longest := longest_msdu(given, entry["stream"])):
        yield f"filter of {entry['stream']} at {bridge} takes not the {longest} octets it has"


def _stream(given: Given, steady: Steady, name: str) -> Iterator[str]:
    """By the clause: over h bridges of two buffers, from (h - 1) T to (h + 1) T; and the cable to
    the listener. A third buffer takes one more cycle at each bridge.
    """
    for way in given.ways(name):
        passed = [given.bridges[node(called)] for called in way[1:-1]]
        cyclic = [bridge for bridge in passed if bridge.gates == "cqf"]
        if not cyclic:
            continue
        cycle_ps = 1000 * int(cyclic[0].cqf_cycle_ns or 0)
        cycles = sum(bridge.cqf_buffers - 1 for bridge in cyclic)
        if cyclic != passed or given.cycle_ps(name) % cycle_ps:
            yield f"{name} leaves the cycles on its way"
            continue
        if not keeps_times(given, given.scenario.station_named(way[0])):
            yield f"{name} has a talker that keeps no times"
        last = places(way)[-1]
        more_ps = given.links[last][1] + given.gate_error_ps(last[0])
        for turn, release_ns in enumerate(given.releases_ns(name)):
            release_ps = 1000 * release_ns + given.start_ps(name, turn)
            early_ps, late_ps = steady.arrivals[name, turn, way[-1]]
            least_ps, most_ps = (cycles - 1) * cycle_ps, (cycles + 1) * cycle_ps
            if early_ps - release_ps + given.gate_error_ps(last[0]) < least_ps:
                yield f"{name} may arrive within {least_ps} ps, over {len(passed)} bridges"
            if late_ps - release_ps > most_ps + more_ps:
                yield f"{name} may arrive after {most_ps} ps, over {len(passed)} bridges"


def _stay(given: Given, steady: Steady, window: Window, moved_ps: int) -> _Stay:
    """Follow a frame through the gates, some periods later.

    Raises:
        _WrongError: they do not do what they should.
    """
    name, place = window.stream, window.place
    bridge, off_ps = given.bridges[place[0]], given.gate_error_ps(place[0])
    kept_ps = 1000 * bridge.processing_ns
    ready_ps = [at_ps + moved_ps for at_ps in steady.ready[name, window.turn, place]]
    early_ps, late_ps = (at_ps - kept_ps for at_ps in ready_ps)
    start_ps, end_ps, queue = _interval(given, window, early_ps - off_ps)
    if late_ps + off_ps >= end_ps:
        raise _WrongError("it may arrive in two cycles")
    opens_ps, shuts_ps = _opening(given, place, queue, start_ps + kept_ps)
    if opens_ps < end_ps + (kept_ps if bridge.cqf_buffers == 3 else 0):
        raise _WrongError("the gate of its buffer is open while it may come")
    if window.open_ps + moved_ps != max(opens_ps - off_ps, ready_ps[0]):
        raise _WrongError("its window does not begin as its gate opens")
    return _Stay(
        window, min(early_ps - start_ps, end_ps - late_ps - 1), ready_ps[1] + off_ps - moved_ps,
        opens_ps - moved_ps, shuts_ps - moved_ps,
    )  # fmt: skip


def _interval(given: Given, window: Window, at_ps: int) -> tuple[int, int, int]:
    """From when to when the entry of a stream gate lasts in which a frame arrives, and the queue
    that it gives the frame.
    """
    name, bridge = window.stream, given.bridges[window.place[0]]
    entry = _filters(given, window.place[0])[name]
    entries = entry.get("entries", [])
    if not entries or any(not each["open"] or "octets" in each for each in entries):
        raise _WrongError("its stream gate is not always open")
    ends_ps = [1000 * ns for ns in itertools.accumulate(each["ns"] for each in entries)]
    if ends_ps[-1] != _turn_ps(given, window.place):
        raise _WrongError("its stream gate does not repeat with the buffers")
    phase_ps = (at_ps - 1000 * entry["base_ns"]) % ends_ps[-1]
    index = next(number for number, end_ps in enumerate(ends_ps) if phase_ps < end_ps)
    end_ps = at_ps - phase_ps + ends_ps[index]
    priority = entries[index].get("priority", given.streams[name].priority)
    return end_ps - 1000 * entries[index]["ns"], end_ps, bridge.class_of(priority)


def _opening(given: Given, place: Place, queue: int, from_ps: int) -> tuple[int, int]:
    """From when to when the gate of a queue is open that is shut at `from_ps`."""
    port = given.ports(place[0])[place[1]]
    if "entries" not in port:
        raise _WrongError("its port has no gates")
    gate = Gate(port)
    if {gate.cycle_ps, 1000 * port["cycle_ns"]} != {_turn_ps(given, place)}:
        raise _WrongError("the gates of its port do not repeat with the buffers")
    is_open, opens_ps = gate.state(queue, from_ps)
    if is_open or opens_ps is None:
        raise _WrongError("the gate of its buffer is open while it may come")
    _, shuts_ps = gate.state(queue, opens_ps)
    assert shuts_ps is not None
    if (shuts_ps - opens_ps) * given.bridges[place[0]].cqf_buffers != _turn_ps(given, place):
        raise _WrongError("its gate is not open for a cycle")
    return opens_ps, shuts_ps


def _turn_ps(given: Given, place: Place) -> int:
    """Time in which each buffer of a port has had its turn."""
    bridge = given.bridges[place[0]]
    return 1000 * int(bridge.cqf_cycle_ns or 0) * bridge.cqf_buffers


def _filters(given: Given, bridge: str) -> dict[str, PlannedFilter]:
    own = given.plan["bridges"][bridge].get("stream_filters", [])
    return {entry["stream"]: entry for entry in own}


def _port(given: Given, unplanned: Unplanned, stays: list[_Stay]) -> Iterator[str]:
    """Whether each frame leaves in its window behind all that may be in its buffer."""
    for own in stays:
        window = own.window
        place = window.place
        byte_ps, off_ps = given.links[place][0], given.gate_error_ps(place[0])
        wait_ps = unplanned.wait_ps(place, given.queue(window.stream, place))
        together = [
            (
                other.there_ps + own.opens_ps - other.opens_ps,
                frame_ps(given, other.window.stream, place, 1) + _GAP_AND_PREAMBLE_BYTES * byte_ps,
            )
            for other in stays
            if other is not own and _meet(own, other)
        ]
        at_ps = max([own.opens_ps, own.there_ps, *(there_ps for there_ps, _ in together)]) + wait_ps
        for _, wire_ps in together:
            at_ps += wire_ps
        if at_ps > window.last_ps - off_ps:
            yield f"{window.stream} may leave at {at_ps} ps, after its window"
        end_ps = window.last_ps - off_ps + 8 * byte_ps + frame_ps(given, window.stream, place, 1)
        if end_ps > own.shuts_ps:
            yield f"{window.stream} may be on the wire at {end_ps} ps, after its gate"
        bridge = given.bridges[place[0]]
        if 1 + len(together) > bridge.queue_frames:
            yield f"a buffer has {1 + len(together)} frames"
        buffers = range(given.queue(window.stream, place) - bridge.cqf_buffers + 1, 8)
        others = {bridge.class_of(load.priority) for load, way in given.best_effort
                  if place in itertools.pairwise(way)}  # fmt: skip
        sync = given.scenario.sync
        if sync.by_ptp and bridge.class_of(sync.priority) <= given.queue(window.stream, place):
            others.add(bridge.class_of(sync.priority))
        if others & set(buffers):
            yield "best effort or PTP has the traffic class of a buffer, or one above"


def _meet(one: _Stay, other: _Stay) -> bool:
    """Whether two frames are ever in one buffer."""
    common_ps = math.gcd(one.window.period_ps, other.window.period_ps)
    return (one.opens_ps - other.opens_ps) % common_ps == 0


def _clock_errors(given: Given, stays: dict[Place, list[_Stay]]) -> Iterator[str]:
    """An error of a bridge's clock moves the edges of its cycles, and what it sends."""
    room_ps: dict[str, int] = {}

    def add(bridge: str, own_ps: int) -> None:
        room_ps[bridge] = min(room_ps.get(bridge, own_ps), own_ps)

    for (here, _), own in stays.items():
        for stay in own:
            add(here, stay.room_ps)
            for way in ([*map(node, way)] for way in given.ways(stay.window.stream)):
                before = way[way.index(here) - 1] if here in way else None
                if before in given.bridges:
                    more_ps = given.gate_error_ps(before) - given.gate_error_ps(here)
                    add(before, stay.room_ps + more_ps)
    for bridge, least_ps in room_ps.items():
        stated = given.plan["bridges"][bridge].get("cqf")
        entry = given.bridges[bridge]
        wanted = {
            "cycle_ns": entry.cqf_cycle_ns, "buffers": entry.cqf_buffers,
            "clock_error_ns": least_ps // 1000,
        }  # fmt: skip
        if stated != wanted:
            yield f"cycles of bridge {bridge} are {stated}, and should be {wanted}"
