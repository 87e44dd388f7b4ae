# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of streams of foreign talkers where bridges shape, by busy periods: frames are counted one
by one, where the planner has bursts and rates.

All times are of the wire: a frame takes its own time, a shaper's credit is the time that its class
may send, and grows with its share of the rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from keepon.model.plan import Draft
from keepon.model.scenario import Stream
from keepon.planner.checker.given import Given, Place
from keepon.planner.checker.spans import frame_ps, span_ps
from keepon.planner.checker.streams import sum_ps
from keepon.planner.checker.unplanned import Unplanned

_OVERHEAD_BYTES = 20
_STEPS_MAX = 1_000
_ALL = Fraction(1)
_Debts = tuple[tuple[Fraction, int], ...]
"""Shaped classes above: their share of the rate, and their longest frame, after which they lack
most.
"""


@dataclass(frozen=True)
class _Comer:
    """Frames that come to a port: of a queue, by turns, each so long on its wire."""

    queue: int
    length_ps: int
    period_ps: Fraction
    jitter_ps: Fraction

    def within(self, time_ps: Fraction) -> int:
        """The most of them in a time, its ends included."""
        return (time_ps + self.jitter_ps) // self.period_ps + 1

    def next_after(self, time_ps: Fraction) -> Fraction:
        """When there may be one more."""
        return self.within(time_ps) * self.period_ps - self.jitter_ps


def _settled(base_ps: Fraction, above: tuple[_Comer, ...], debts: _Debts) -> Fraction | None:
    """The least time in which the wire sends `base_ps`, and all that may come from above in
    this very time.
    """
    rest = 1 - sum((share for share, _ in debts), Fraction(0))
    if rest <= 0:
        return None
    base_ps += sum((1 - share) * length for share, length in debts)
    time_ps = base_ps / rest
    for _ in range(_STEPS_MAX):
        came_ps = sum(each.length_ps * each.within(time_ps) for each in above)
        sent_ps = (base_ps + came_ps) / rest
        if sent_ps == time_ps:
            return time_ps
        time_ps = sent_ps
    return None


@lru_cache(1_000)
def _longest(
    own: tuple[_Comer, ...], frame_ps: int, lead_ps: Fraction, share: Fraction = _ALL,
    above: tuple[_Comer, ...] = (), debts: _Debts = (),
) -> Fraction | None:  # fmt: skip
    """The longest time from the arrival of a frame of `own` until it begins, `frame_ps` long,
    where they have this share of the rate, `lead_ps` goes before them, and what is above.
    """
    if sum((each.length_ps / each.period_ps for each in own), Fraction(0)) > share:
        return None
    burst_ps = sum(each.length_ps * (1 + each.jitter_ps / each.period_ps) for each in own)
    rest = 1 - sum((part for part, _ in debts), Fraction(0))
    rest -= sum((each.length_ps / each.period_ps for each in above), Fraction(0))
    worst, at_ps = Fraction(0), Fraction(0)
    for _ in range(_STEPS_MAX):
        came_ps = sum(each.length_ps * each.within(at_ps) for each in own)
        starts_ps = _settled((came_ps - frame_ps) / share + lead_ps, above, debts)
        end_ps = _settled(came_ps / share + lead_ps, above, debts)
        if starts_ps is None or end_ps is None:
            return None
        worst = max(worst, starts_ps - at_ps)
        at_ps = min(each.next_after(at_ps) for each in own)
        if at_ps > end_ps:
            return worst
    # With no rate to spare it may be busy for ever: then bursts and rates are a bound.
    if rest <= 0:
        return None
    lead_ps += sum((1 - part) * length for part, length in debts)
    lead_ps += sum(each.length_ps * (1 + each.jitter_ps / each.period_ps) for each in above)
    return ((burst_ps - frame_ps) / share + lead_ps) / rest


class Shapes:
    """The waits of all streams of foreign talkers at all ports, as far as there is a bound."""

    def __init__(self, given: Given, unplanned: Unplanned, streams: list[Stream]) -> None:
        self._given, self._unplanned = given, unplanned
        self._streams = {stream.id: stream for stream in streams}
        self._early_ps = cache(self._at_talker_ps)
        self.ways = {
            stream.id: [given.shortest(stream.talker, end) for end in stream.listeners]
            for stream in streams
        }
        self._ports = {
            (place, name): [*itertools.pairwise(way[1:])][:number]
            for name, ways in self.ways.items()
            for way in ways
            for number, place in enumerate(itertools.pairwise(way[1:]))
        }
        self.waits: dict[tuple[Place, str], Fraction | None] = dict.fromkeys(
            self._ports, Fraction(0)
        )
        # What a port does to a stream shows behind it: as many rounds as ports settle it.
        for _ in range(len(self._ports) + 1):
            found = {key: self._wait_ps(*key) for key in self._ports}
            if found == self.waits:
                break
            self.waits = found
        else:
            self.waits = dict.fromkeys(self._ports)

    def share(self, place: Place) -> dict[int, Fraction]:
        """The shaped classes of a port, and what share of its rate each has."""
        bridge, found = self._given.bridges[place[0]], {}
        for shaper in bridge.shaper:
            if not shaper.ports or place[1] in shaper.ports:
                rate_bps = Fraction(8 * 10**12, self._given.links[place][0])
                found[bridge.class_of(shaper.priority)] = shaper.idle_slope_bps / rate_bps
        return found

    def _queue(self, place: Place, name: str) -> int:
        return self._given.bridges[place[0]].class_of(self._streams[name].priority)

    def _comer(self, place: Place, name: str) -> _Comer | None:
        """A stream at a port; None: nothing is known of its jitter there."""
        stream = self._streams[name]
        early_ps = self._early_ps(name)
        waits = [self.waits[before, name] for before in self._ports[place, name]]
        known = [wait for wait in waits if wait is not None]
        if early_ps is None or len(known) < len(waits):
            return None
        length_ps = span_ps(self._given, place, stream.frame_bytes + _OVERHEAD_BYTES, 1)
        jitter_ps = early_ps + sum(known, Fraction(0))
        return _Comer(self._queue(place, name), length_ps, self._period_ps(stream), jitter_ps)

    def _period_ps(self, stream: Stream) -> Fraction:
        talker = self._given.scenario.station_named(stream.talker)
        return 1000 * stream.period_ns / (1 + Fraction(talker.clock_ppm) / 10**6)

    def _at_talker_ps(self, name: str) -> Fraction | None:
        """By how much frames leave their talker at other times than by turns."""
        given, stream, way = self._given, self._streams[name], self.ways[name][0]
        place = (way[0], way[1])
        jitter_ps = Fraction(1000 * given.scenario.station_named(stream.talker).jitter_ns)
        if any(ways[0] == stream.talker for ways in self._best_effort()):
            return None
        own = [
            _Comer(
                0, span_ps(given, place, each.frame_bytes + _OVERHEAD_BYTES, 1),
                self._period_ps(each), jitter_ps,
            )
            for each in self._streams.values() if each.talker == stream.talker
        ]  # fmt: skip
        length_ps = span_ps(given, place, stream.frame_bytes + _OVERHEAD_BYTES, 1)
        waits = _longest(tuple(own), length_ps, Fraction(0))
        return None if waits is None else jitter_ps + waits

    def _best_effort(self) -> Iterator[list[str]]:
        """Ways of loads, without the streams that the others take for such."""
        for load, way in self._given.best_effort:
            if load.id not in self._streams:
                yield way

    def _above_by_loads(self, place: Place, queue: int, shaped: dict[int, Fraction]) -> bool:
        given = self._given
        return any(
            place in itertools.pairwise(way) and load.id not in self._streams
            and (own := given.bridges[place[0]].class_of(load.priority)) >= queue
            and (own == queue or own not in shaped)
            for load, way in given.best_effort
        )  # fmt: skip

    def _comers(self, place: Place, queue: int) -> list[_Comer | None]:
        """What comes to a port, but loads, and of streams like these those of `queue` and above."""
        given = self._given
        found = [
            self._comer(place, name)
            for port, name in self._ports
            if port == place and self._queue(place, name) >= queue
        ]
        for window in given.by_place.get(place, []):
            length_ps = frame_ps(given, window.stream, place, 1)
            length_ps += span_ps(given, place, _OVERHEAD_BYTES, 1)
            own = given.queue(window.stream, place)
            off_ps = Fraction(window.last_ps - window.open_ps)
            found.append(_Comer(own, length_ps, Fraction(window.period_ps), off_ps))
        found += [
            _Comer(own, length_ps, Fraction(apart_ps), Fraction(0))
            for own, length_ps, apart_ps in self._unplanned.messages_at(place)
        ]
        return found

    def _wait_ps(self, place: Place, name: str) -> Fraction | None:
        """The longest wait of a stream's frame; None: no bound is known."""
        queue, shaped = self._queue(place, name), self.share(place)
        port = self._given.ports(place[0]).get(place[1])
        if (port is not None and "entries" in port) or self._above_by_loads(place, queue, shaped):
            return None
        comers = self._comers(place, queue)
        known = [each for each in comers if each is not None and each.queue >= queue]
        if None in comers:
            return None
        below = [length for other, length in self._unplanned.lengths_at(place) if other < queue]
        below += [each.length_ps for each in comers if each is not None and each.queue < queue]
        lead_ps = Fraction(max(below, default=0))
        higher = tuple(each for each in known if each.queue > queue and each.queue not in shaped)
        own = tuple(each for each in known if each.queue == queue)
        lengths: dict[int, int] = {}
        for other, length_ps in self._unplanned.lengths_at(place):
            if other > queue and other in shaped:
                lengths[other] = max(lengths.get(other, 0), length_ps)
        debts = tuple((shaped[other], length_ps) for other, length_ps in lengths.items())
        frame_bytes = self._streams[name].frame_bytes
        own_ps = span_ps(self._given, place, frame_bytes + _OVERHEAD_BYTES, 1)
        if queue not in shaped:
            return _longest(own, own_ps, lead_ps, above=higher, debts=debts)
        if shaped[queue] + sum(share for share, _ in debts) > 1:
            return None
        # The credit of its class is at most what comes in the longest time that others take.
        held_ps = _settled(lead_ps, higher, debts)
        return None if held_ps is None else _longest(own, own_ps, held_ps, shaped[queue])

    def crowded(self, plan: Draft) -> Iterator[str]:
        """Queues in which more frames of streams with a bound may wait than they hold."""
        for place in dict.fromkeys(place for place, _ in self._ports):
            bridge, ports = self._given.bridges[place[0]], self._ports
            longest = dict[int, Fraction]()
            for port, name in ports:
                wait, own = self.waits[port, name], self._queue(place, name)
                if port == place and wait is not None:
                    longest[own] = max(longest.get(own, Fraction(0)), wait)
            for own, wait in longest.items():
                comers = self._comers(place, own)
                count = sum(each.within(wait) for each in comers if each and each.queue == own)
                names = [name for port, name in ports if port == place]
                sure = any(plan["streams"][name]["bounds"]["delay_ns"] for name in names)
                if sure and count > bridge.queue_frames:
                    yield f"{count} frames may be in queue {own} of {place[0]} towards {place[1]}"


def check(given: Given, unplanned: Unplanned, plan: Draft, streams: list[Stream]) -> list[str]:
    """Check what a plan promises of these streams, and that no other stream is shaped."""
    if not any(bridge.shaper for bridge in given.scenario.bridge):
        return []
    shapes = Shapes(given, unplanned, streams)
    found = [
        f"{window.stream} has its instants and a shaper on its way from {window.place[0]}"
        for window in given.windows
        if given.queue(window.stream, window.place) in shapes.share(window.place)
    ]
    found += shapes.crowded(plan)
    for stream in streams:
        entry = plan["streams"][stream.id]
        bound_ns = entry["bounds"]["delay_ns"]
        if bound_ns is None:
            continue
        late_ps = Fraction(0)
        for way in shapes.ways[stream.id]:
            waits = [shapes.waits[place, stream.id] for place in itertools.pairwise(way[1:])]
            known = [wait for wait in waits if wait is not None]
            if len(known) < len(waits):
                found.append(f"{stream.id}: no bound is shown")
                continue
            late_ps = max(late_ps, _alone_ps(given, stream, way) + sum(known, Fraction(0)))
        planned_ps = entry["delay_planned_ps"]
        if late_ps > planned_ps or planned_ps + 1000 > bound_ns * 1000:
            found.append(f"{stream.id}: a frame may take {float(late_ps) / 1000:.3f} ns")
        if stream.deadline_ns is not None and bound_ns > stream.deadline_ns:
            found.append(f"{stream.id} misses its deadline")
        if sum_ps(entry["terms"]) != planned_ps:
            found.append(f"{stream.id}: the terms of its delay are not the delay")
    return found


def _alone_ps(given: Given, stream: Stream, way: list[str]) -> int:
    """The delay of a frame that waits for nothing, with the slowest crystals."""
    at_ps = 0
    for place in itertools.pairwise(way):
        at_ps += given.links[place][1]
        if place[0] in given.bridges:
            at_ps += span_ps(given, place, 8, 1)
        if place[1] in given.bridges:
            at_ps += span_ps(given, place, stream.frame_bytes, 1)
            at_ps += 1000 * given.bridges[place[1]].processing_ns
    return at_ps
