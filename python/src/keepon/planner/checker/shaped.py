# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of streams of foreign talkers, by busy periods: frames are counted one
by one, where the planner has bursts and rates.

All times are of the wire: a frame takes its own time, a shaper's credit is the time that its class
may send, and grows with its share of the rate.

Frames come to a class with asynchronous traffic shaping as the schedulers of the plan let them go:
so many at once, and then by turns. What frames of a group take to the next bridge at most is the
longest of them: a schedule in which each took this long would keep the order and all turns, and
schedulers there keep no frame longer than any such schedule.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from keepon.model.plan import Draft
from keepon.model.scenario import Stream
from keepon.planner.checker import foreign
from keepon.planner.checker.given import Given, Place, node
from keepon.planner.checker.spans import clock_ps, frame_ps, span_ps
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
        self.early_ps = cache(self._at_talker_ps)
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
        self._schedulers = {
            (name, entry["stream"]): entry
            for name, bridge in given.plan["bridges"].items()
            for entry in bridge.get("schedulers", [])
        }
        self.waits: dict[tuple[Place, str], Fraction | None] = dict.fromkeys(
            self._ports, Fraction(0)
        )
        # What a port does to a stream shows behind it: as many rounds as ports settle it.
        for _ in range(len(self._ports) + 1):
            found = {key: self._wait_ps(*key) for key in self._ports}
            found = {key: self._with_group_ps(key, found) for key in found}
            if found == self.waits:
                break
            self.waits = found
        else:
            self.waits = dict.fromkeys(self._ports)

    def share(self, place: Place) -> dict[int, Fraction]:
        """The shaped classes of a port, and what share of its rate each has."""
        rate_bps = Fraction(8 * 10**12, self._given.links[place][0])
        slopes = self._slopes(place).items()
        return {own: slope_bps / rate_bps for own, slope_bps in slopes if slope_bps is not None}

    def _slopes(self, place: Place) -> dict[int, int | None]:
        """The shaped classes of a port; None: by eligibility times."""
        bridge = self._given.bridges[place[0]]
        return {
            bridge.class_of(shaper.priority): shaper.idle_slope_bps
            for shaper in bridge.shaper
            if not shaper.ports or node(place[1]) in shaper.ports
        }

    def classes(self, place: Place) -> set[int]:
        """The shaped classes of a port, of either kind."""
        return set(self._slopes(place))

    def sorts(self, place: Place, name: str) -> bool:
        """Whether frames of a stream leave by their eligibility times."""
        return self._slopes(place).get(self._queue(place, name), 0) is None

    def _groups(self, place: Place) -> list[str]:
        """Streams that come from the schedulers before a port to those behind it."""
        return [
            name for (after, name), ports in self._ports.items()
            if ports and ports[-1] == place and self.sorts(place, name) and self.sorts(after, name)
        ]  # fmt: skip

    def _with_group_ps(
        self, key: tuple[Place, str], waits: dict[tuple[Place, str], Fraction | None]
    ) -> Fraction | None:
        """What a frame waits at a port, and at the scheduler behind it."""
        (place, name), taken = key, waits[key]
        group = [one for one in self._groups(place) if self._queue(place, one) == self._queue(*key)]
        if name in group:
            known = [
                wait + span_ps(self._given, place, self._streams[one].frame_bytes, 1)
                for one in group if (wait := waits[place, one]) is not None
            ]  # fmt: skip
            taken = max(known) - self._alone_ps(place, name) if len(known) == len(group) else None
        return None if taken is None else taken + self._first_ps(place, name)

    def _first_ps(self, place: Place, name: str) -> int:
        """What the first scheduler keeps of a frame, or of one before it: at talkers frames begin
        with a byte.
        """
        before = self._ports[place, name][-1:]
        if not self.sorts(place, name) or (before and self.sorts(before[0], name)):
            return 0
        return max(self._given.links[way[0], way[1]][0] for way, *_ in self.ways.values())

    def _alone_ps(self, place: Place, name: str) -> int:
        return self._given.links[place][0] * self._streams[name].frame_bytes

    def _lets_go(self, place: Place, name: str) -> _Comer | None:
        """What a scheduler lets go at most: a burst, then frames by turns."""
        entry, own_bytes = self._schedulers.get((place[0], name)), self._bytes(name)
        if entry is None:
            return None
        length_ps = span_ps(self._given, place, own_bytes, 1)
        turn_ps = self._turn_ps(place[0], name, -1)
        more = Fraction(entry["cbs_bytes"], own_bytes) - 1
        return _Comer(self._queue(place, name), length_ps, turn_ps, more * turn_ps)

    def _bytes(self, name: str) -> int:
        return self._streams[name].frame_bytes + _OVERHEAD_BYTES

    def _turn_ps(self, bridge: str, name: str, side: int) -> Fraction:
        rate_bps = self._schedulers[bridge, name]["cir_bps"]
        return clock_ps(
            self._given, bridge, Fraction(self._bytes(name) * 8 * 10**12, rate_bps), side
        )

    def held_up(self) -> Iterator[str]:
        """Schedulers that are not there, or hold frames for longer than is known, or than frames
        may wait.
        """
        wanted = {(place[0], name): place for place, name in self._ports if self.sorts(place, name)}
        for name, stream in self._schedulers.keys() ^ wanted.keys():
            yield f"{stream} has a scheduler at {name} or none, and should not"
        for (bridge, name), place in wanted.items():
            entry, ports = self._schedulers.get((bridge, name)), self._ports[place, name]
            if entry is None:
                continue
            comer = self._arrives(place, name)
            kept_ps = Fraction(self._first_ps(place, name))
            if ports and self.sorts(ports[-1], name):
                fastest_ps = span_ps(self._given, ports[-1], self._streams[name].frame_bytes, -1)
                comer = self._lets_go(ports[-1], name)
                kept_ps = self._alone_ps(ports[-1], name) + (
                    self.waits[ports[-1], name] or Fraction(0)
                )
                kept_ps -= fastest_ps
            burst = Fraction(entry["cbs_bytes"], self._bytes(name))
            if (
                comer is None
                or self._turn_ps(bridge, name, 1) > comer.period_ps
                or burst < 1 + comer.jitter_ps / comer.period_ps
            ):
                yield f"{name}: its scheduler at {bridge} may keep frames longer than is known"
            residence_ps = Fraction(1000 * entry["max_residence_ns"])
            if clock_ps(self._given, bridge, residence_ps, -1) < kept_ps:
                yield f"{name}: its scheduler at {bridge} may discard frames"

    def _queue(self, place: Place, name: str) -> int:
        return self._given.bridges[place[0]].class_of(self._streams[name].priority)

    def _comer(self, place: Place, name: str) -> _Comer | None:
        """A stream at a port; None: nothing is known of its jitter there."""
        return (self._lets_go if self.sorts(place, name) else self._arrives)(place, name)

    def _arrives(self, place: Place, name: str) -> _Comer | None:
        stream = self._streams[name]
        early_ps = self.early_ps(name)
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
            _Comer(0, length_ps, self._period_ps(each), jitter_ps)
            for each, length_ps in self._of_talker(stream, place)
        ]
        length_ps = span_ps(given, place, stream.frame_bytes + _OVERHEAD_BYTES, 1)
        waits = _longest(tuple(own), length_ps, Fraction(0))
        return None if waits is None else jitter_ps + waits

    def _of_talker(self, stream: Stream, place: Place) -> Iterator[tuple[Stream, int]]:
        for each in self._streams.values():
            if each.talker == stream.talker:
                yield each, span_ps(self._given, place, each.frame_bytes + _OVERHEAD_BYTES, 1)

    def turn_ps(self, stream: Stream) -> int:
        """What a frame of each stream of its talker takes on the talker's link together."""
        way = self.ways[stream.id][0]
        return sum(length_ps for _, length_ps in self._of_talker(stream, (way[0], way[1])))

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
        if self._given.bridges[place[0]].forwarding != "hardware":
            return None
        if (port is not None and "entries" in port) or self._above_by_loads(place, queue, shaped):
            return None
        windows = self._given.by_place.get(place, [])
        beside = [each.stream for each in windows if self._given.queue(each.stream, place) >= queue]
        if any(self._given.entry(each)["bounds"]["delay_ns"] is None for each in beside):
            return None  # whose frames come when their talker's host has time
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
                kept_ns = [
                    self._schedulers[place[0], name]["max_residence_ns"]
                    for port, name in ports
                    if port == place and self._queue(place, name) == own and self.sorts(place, name)
                ]
                wait += 1000 * max(kept_ns, default=0)
                comers = self._comers(place, own)
                count = sum(each.within(wait) for each in comers if each and each.queue == own)
                names = [name for port, name in ports if port == place]
                sure = any(plan["streams"][name]["bounds"]["delay_ns"] for name in names)
                if sure and count > bridge.queue_frames:
                    yield f"{count} frames may be in queue {own} of {place[0]} towards {place[1]}"


def check(given: Given, unplanned: Unplanned, plan: Draft, streams: list[Stream]) -> list[str]:
    """Check what a plan promises of these streams, and that no other stream is shaped."""
    shapes = Shapes(given, unplanned, streams)
    found = [
        f"{window.stream} has its instants and a shaper on its way from {window.place[0]}"
        for window in given.windows
        if given.queue(window.stream, window.place) in shapes.classes(window.place)
    ]
    if found := [*found, *shapes.held_up()]:
        return found
    found += shapes.crowded(plan)
    for stream in streams:
        early_ps, turn_ps = shapes.early_ps(stream.id), shapes.turn_ps(stream)
        texts = foreign.filters(given, plan, stream, early_ps, turn_ps)
        found += [f"{stream.id}: {text}" for text in texts]
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
