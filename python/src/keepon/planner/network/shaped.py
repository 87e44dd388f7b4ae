# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of streams of foreign talkers, of any period: total flow analysis, from port to port.

A frame of a class waits at a port while three kinds of others go, from the instant at which the
longest frame L of a lower class has begun, or the wire was idle: then nothing of a higher class
waits, and no shaper has credit. In a time T (rates in bits a second of the wire, C the port's)

    C T <= L + sum over shaped higher classes (slope T + most negative credit) + sum over others
           above (burst + rate T)

A class with a shaper has the credit idleSlope T at the end of the longest such time, and not more
(own frames in it only lower that), and sends idleSlope t - idleSlope T in any time t from an
instant on at which it was empty. One without sends what the others leave. The frames before a
frame are its class's bursts but itself; the bound is what they take.

Frames of a class with asynchronous traffic shaping leave their schedulers with the committed burst
and rate of their stream, whatever they waited before, and the class sends what the others leave. A
scheduler adds nothing to the longest time that frames of its group take through the class before
it, from one scheduler to the next: at the longest one's end each frame would be eligible.

Source: J. Specht and S. Samii, Urgency-Based Scheduler for Time-Sensitive Switched Ethernet
Networks, ECRTS 2016, and J.-Y. Le Boudec, A Theory of Traffic Regulators for Deterministic
Networks with Application to Interleaved Regulators, IEEE/ACM ToN 2018; that each committed rate
has to be above the one before by what crystals differ: L. Thomas and J.-Y. Le Boudec, On Time
Synchronization Issues in Time-Sensitive Networks with Regulators and Nonideal Clocks, 2020.

The bound of credit is that of J. A. R. De Azua and M. Boyer, Complete modelling of AVB in
Network Calculus Framework, RTNS 2014, and of L. Zhao et al., for any number of classes; the burst
of unshaped classes above is A. Mohammadpour et al., Latency and Backlog Bounds in Time-Sensitive
Networking with Credit Based Shapers and Asynchronous Traffic Shaping, ITC 30, 2018.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from keepon.errors import ConfigError
from keepon.model import foreign, software
from keepon.model.cables import hops
from keepon.model.plan import Draft, PlannedScheduler, PlannedStream, empty
from keepon.model.redundancy import RTAG_BYTES
from keepon.model.scenario import Scenario, Stream
from keepon.model.shaping import asynchronous, slopes
from keepon.model.topology import Topology
from keepon.model.wire import OVERHEAD_BYTES, PS_PER_NS, byte_time_ps, ceil_ns
from keepon.planner.network.blocking import MESSAGES_APART, ptp_messages
from keepon.planner.network.lengths import Lengths
from keepon.planner.stations import PTP_FRAME_BYTES_MAX

Port = tuple[str, str]
_PS = 10**12


class UnknownError(Exception):
    """Nothing bounds what a stream waits for; the text says why and what helps."""


@dataclass(frozen=True)
class _Curve:
    """Bits that come to a port: a burst, and a rate in bit/s."""

    burst: Fraction = Fraction(0)
    rate: Fraction = Fraction(0)

    def __add__(self, other: _Curve) -> _Curve:
        return _Curve(self.burst + other.burst, self.rate + other.rate)


class Shaped:
    """Waits of the streams of foreign talkers at all ports of bridges."""

    def __init__(self, scenario: Scenario, topology: Topology, document: Draft) -> None:
        self._scenario, self._topology, self._document = scenario, topology, document
        self._bridges = {bridge.name: bridge for bridge in scenario.bridge}
        self.lengths = Lengths(scenario)
        self._messages = ptp_messages(scenario, topology)
        self._streams = {stream.id: stream for _, stream in foreign.streams(scenario)}
        self._at: dict[Port, dict[str, list[Port]]] = {}
        """Streams by port, with the ports before it."""
        for stream in self._streams.values():
            for path in topology.paths(stream).values():
                ports = list(itertools.pairwise(path))
                for number, port in enumerate(ports[1:], 1):
                    self._at.setdefault(port, {})[stream.id] = ports[1:number]
        self._waits: dict[tuple[Port, str], int] = {}
        self._crowds: dict[tuple[Port, int], tuple[_Curve, Fraction]] = {}
        self._asked: set[tuple[Port, str]] = set()

    def has_credit(self, port: Port, queue: int) -> bool:
        return queue in slopes(self._bridges[port[0]], port[1])

    def has_schedulers(self, port: Port, queue: int) -> bool:
        return queue in asynchronous(self._bridges[port[0]], port[1])

    def _before(self, port: Port, name: str) -> Port | None:
        """The port before, if schedulers before it and here see the frames of a stream."""
        before = self._at[port][name][-1:]
        both = [*before, port] if before else []
        sees = bool(both) and all(self.has_schedulers(one, self._queue(one, name)) for one in both)
        return before[0] if sees else None

    def _queue(self, port: Port, name: str) -> int:
        return self._bridges[port[0]].class_of(self._streams[name].priority)

    def wait_ps(self, port: Port, name: str) -> int:
        """The longest wait of a stream's frame, in its queue whole and eligible, until it begins to
        leave, and at a scheduler behind the link, or at the first of all.

        Raises:
            UnknownError: there is no bound.
            ConfigError: a shaped class has more to send than its slope.
        """
        key = (port, name)
        if key not in self._waits:
            if key in self._asked:
                raise UnknownError(
                    "streams of its class wait for each other in a circle of bridges; part them"
                )
            self._asked.add(key)
            try:
                self._waits[key] = self._until_eligible_ps(port, name) + self._first_ps(port, name)
            finally:
                self._asked.discard(key)
        return self._waits[key]

    def _until_eligible_ps(self, port: Port, name: str) -> int:
        """As wait_ps(): its own wait, or that of another of its group at the next bridge, until
        that one is there.
        """
        if not self.has_schedulers(port, self._queue(port, name)):
            return self._wait_ps(port, name)
        group = {
            each for after, streams in self._at.items() for each in streams
            if after[0] == port[1] and self._before(after, each) == port
            and self._queue(port, each) == self._queue(port, name)
        }  # fmt: skip
        if name not in group:
            return self._wait_ps(port, name)
        slower = 1 + Fraction(self.lengths.rate_ppb(port[0]).more, 10**9)
        taken_ps = {
            self._wait_ps(port, each) + self._frame_ps(port, each) * slower for each in group
        }
        return math.ceil(max(taken_ps)) - self._frame_ps(port, name)

    def _frame_ps(self, port: Port, name: str) -> int:
        rate_bps = self._topology.wires[port].rate_bps
        return self._streams[name].frame_bytes * byte_time_ps(rate_bps)

    def _first_ps(self, port: Port, name: str) -> int:
        """How long the first scheduler may keep a frame, and those behind it: NICs begin frames
        with bytes of their clock, which jitter and wire do not have.
        """
        first = self.has_schedulers(port, self._queue(port, name))
        if not first or self._before(port, name) is not None:
            return 0
        talkers = {stream.talker for stream in self._streams.values()}
        ports = [port for talker in talkers for port in self._topology.ports_of(talker)]
        return byte_time_ps(min(own.wire.rate_bps for own in ports))

    def _wait_ps(self, port: Port, name: str) -> int:
        queue = self._queue(port, name)
        if port[0] in software.bridges(self._scenario):
            raise UnknownError("software forwards on its way, at no known time")
        if "entries" in self._document["bridges"][port[0]]["ports"].get(port[1], {}):
            raise UnknownError("gates shut on its way; no bound is known with both")
        slower = Fraction(10**9, 10**9 + self.lengths.rate_ppb(port[0]).more)
        rate = self._topology.wires[port].rate_bps * slower
        idle = {
            own: slope * slower for own, slope in slopes(self._bridges[port[0]], port[1]).items()
        }
        lengths = self._longest(port)
        below = max((bits for other, bits in lengths.items() if other < queue), default=0)
        own, above = _Curve(), _Curve(Fraction(below))
        for other, bits in lengths.items():
            if other > queue and other in idle:
                above += _Curve((rate - idle[other]) / rate * bits, idle[other])
        for other, curve in self._curves(port, queue):
            if other == queue:
                own += curve
            elif other not in idle:
                above += curve
        left, frame = rate - above.rate, self._bits(self._streams[name].frame_bytes)
        if queue in idle:
            if own.rate > idle[queue]:
                raise ConfigError(self._too_slow(port, queue, math.ceil(own.rate / slower)))
            if idle[queue] > left:
                raise UnknownError(f'what goes before it fills the link to "{port[1]}"')
            serves, lead = idle[queue], above.burst / left
        elif own.rate < left:
            serves, lead = left, above.burst / left
        else:
            raise UnknownError(f'what is sent fills the link to "{port[1]}"')
        self._crowds[port, queue] = own, own.burst / serves + lead
        return math.ceil(((own.burst - frame) / serves + lead) * _PS)

    def refuse_crowd(self, port: Port, queue: int) -> None:
        """Refuse a queue that may have more frames, as short as any, than it holds; eligible or not
        yet.

        Raises:
            UnknownError: it may.
        """
        bridge = self._bridges[port[0]]
        names = [name for name in self._at[port] if self._queue(port, name) == queue]
        (own, time), kept_ns = self._crowds[port, queue], 0
        if self.has_schedulers(port, queue):
            kept_ns = max(self.scheduler(port, name)["max_residence_ns"] for name in names)
        bits = own.burst + own.rate * (time + Fraction(kept_ns, 10**9))
        needed = math.ceil(
            bits / min(self._bits(self._streams[name].frame_bytes) for name in names)
        )
        if needed > bridge.queue_frames:
            raise UnknownError(
                f"{needed} frames may wait at once in queue {queue} towards"
                f' "{port[1]}"; raise queue_frames of bridge "{bridge.name}" to {needed}'
            )

    @staticmethod
    def _bits(frame_bytes: int) -> int:
        return 8 * (frame_bytes + OVERHEAD_BYTES)

    def _sent_bytes(self, station: str, peer: str, frame_bytes: int) -> int:
        """The greatest length of frames up to this one as a station's driver sends them: padded to
        a slot, which may be trimmed.
        """
        own = self._document["stations"][self._topology.port_to(station, peer).name]
        if "slot_bytes" not in own:
            return frame_bytes
        padded = max(own["slot_bytes"], own.get("frame_bytes_max", 0), frame_bytes)
        return padded + self._scenario.station_named(station).keepon.trim_up_bytes

    def _message_bytes(self) -> int:
        if self._scenario.sync.mode == "gptp":
            return PTP_FRAME_BYTES_MAX
        ports = self._topology.ports.values()
        sent = [self._sent_bytes(port.station, port.peer, 0) for port in ports]
        return max([PTP_FRAME_BYTES_MAX, *sent])

    def _scheduled(self, port: Port) -> list[tuple[Stream, int, Fraction]]:
        """Streams with windows at a port: bits of a frame, and what share of its period it may be
        off.
        """
        found = []
        for stream in self._scenario.stream:
            planned = self._document["streams"].get(stream.id)
            for window in [] if planned is None else planned["windows"]:
                if (window["bridge"], window["peer"]) == port:
                    own = self._scenario.station_named(stream.talker).keepon.trim_up_bytes
                    own += RTAG_BYTES if stream.redundancy > 1 else 0
                    bits = self._bits(planned["frame_bytes_on_wire"] + own) if planned else 0
                    off = Fraction(window["last_ps"] - window["open_ps"], stream.cycle_ns * 1000)
                    found.append((stream, bits, off))
        return found

    def _longest(self, port: Port) -> dict[int, int]:
        """Bits of the longest frame by class."""
        bridge, found = self._bridges[port[0]], dict[int, int]()

        def add(priority: int, bits: int) -> None:
            own = bridge.class_of(priority)
            found[own] = max(found.get(own, 0), bits)

        for _, load, path in self._topology.best_effort:
            if port in itertools.pairwise(path):
                sent = self._sent_bytes(load.talker, path[1], load.frame_bytes)
                add(load.priority, self._bits(sent))
        for name in self._at.get(port, {}):
            add(self._streams[name].priority, self._bits(self._streams[name].frame_bytes))
        for stream, bits, _ in self._scheduled(port):
            add(stream.priority, bits)
        if self._messages[port]:
            add(self._scenario.sync.priority, self._bits(self._message_bytes()))
        return found

    def _curves(self, port: Port, queue: int) -> list[tuple[int, _Curve]]:
        """What comes to a port in classes from `queue` on, by class."""
        bridge, found = self._bridges[port[0]], list[tuple[int, _Curve]]()
        for _, load, path in self._topology.best_effort:
            own = bridge.class_of(load.priority)
            is_before = own == queue or (own > queue and not self.has_credit(port, own))
            if is_before and port in itertools.pairwise(path):
                raise UnknownError(
                    f'load "{load.id}" has its traffic class or a higher one on the link'
                    f' "{port[0]}" to "{port[1]}"; give the load a lower priority'
                )
        for stream, bits, off in self._scheduled(port):
            own = bridge.class_of(stream.priority)
            if own == queue and (self.has_credit(port, own) or self.has_schedulers(port, own)):
                raise UnknownError(
                    f'stream "{stream.id}", which its talker sends at instants of the plan, has its'
                    " shaped class; give one of them another priority"
                )
            if own >= queue and self._document["streams"][stream.id]["bounds"]["delay_ns"] is None:
                raise UnknownError(
                    f'stream "{stream.id}" goes before it or beside it, and its talker keeps no'
                    " times; give it a lower priority"
                )
            rate = Fraction(bits * 10**9, stream.cycle_ns)
            found.append((own, _Curve(bits * (1 + off), rate)))
        for name, before in self._at.get(port, {}).items():
            own = self._queue(port, name)
            if self.has_schedulers(port, own):
                found.append((own, self._eligible(port, name)))
            elif own == queue or (own > queue and not self.has_credit(port, own)):
                found.append((own, self._come(name, before)))
        if self._messages[port]:
            sync = self._scenario.sync
            bits = self._messages[port] * self._bits(self._message_bytes())
            apart_ms = Fraction(min(sync.interval_ms, sync.delay_interval_ms), MESSAGES_APART)
            curve = _Curve(Fraction(bits), bits * 1000 / apart_ms)
            found.append((bridge.class_of(sync.priority), curve))
        return [(own, curve) for own, curve in found if own >= queue]

    def _come(self, name: str, before: list[Port]) -> _Curve:
        late_ps = sum(self.wait_ps(earlier, name) for earlier in before)
        return self._sent(name, late_ps + self.early_ps(name))

    def _committed(self, port: Port, name: str) -> tuple[int, int]:
        """Rate and burst in bytes of a stream's scheduler at the bridge of a port: the first one
        lets all frames go at once, however they come, each of the others what the one before does.
        """
        before = self._before(port, name)
        if before is None:
            needed = self._come(name, self._at[port][name])
        else:
            needed = self._eligible(before, name)
        slower = 1 + Fraction(self.lengths.rate_ppb(port[0]).more, 10**9)
        return math.ceil(needed.rate * slower), math.ceil(needed.burst / 8)

    def _eligible(self, port: Port, name: str) -> _Curve:
        """What the scheduler before a port lets go at most, in network time."""
        (cir_bps, cbs_bytes), faster = self._committed(port, name), self.lengths.rate_ppb(port[0])
        return _Curve(Fraction(8 * cbs_bytes), Fraction(cir_bps * 10**9, 10**9 - faster.less))

    def scheduler(self, port: Port, name: str) -> PlannedScheduler:
        """A stream's scheduler at the bridge of a port. It keeps no frame of the plan longer than
        the greatest difference of times since the one before.
        """
        cir_bps, cbs_bytes = self._committed(port, name)
        kept_ps = Fraction(self._first_ps(port, name))
        if (before := self._before(port, name)) is not None:
            faster = Fraction(self.lengths.rate_ppb(before[0]).less, 10**9)
            kept_ps = self.wait_ps(before, name) + self._frame_ps(before, name) * faster
            kept_ps /= 1 - Fraction(self.lengths.rate_ppb(port[0]).less, 10**9)
        return {
            "stream": name, "cir_bps": cir_bps, "cbs_bytes": cbs_bytes,
            "max_residence_ns": ceil_ns(math.ceil(kept_ps)) + 1,
        }  # fmt: skip

    def _period_ns(self, name: str) -> int:
        """No longer than the time between two frames at the talker, jitter left out."""
        stream = self._streams[name]
        drifts = self._scenario.station_named(stream.talker).clock_ppm != 0
        return foreign.sent_period_ns(self._scenario, stream) - drifts

    def _sent(self, name: str, jitter_ps: int) -> _Curve:
        """n frames come in no less than n - 1 periods but the jitter."""
        bits, period_ns = self._bits(self._streams[name].frame_bytes), self._period_ns(name)
        return _Curve(
            bits * (1 + Fraction(jitter_ps, period_ns * PS_PER_NS)),
            Fraction(bits * 10**9, period_ns),
        )

    def early_ps(self, name: str) -> int:
        """By how much frames leave their talker at other times than a period apart: its own jitter,
        and what they wait for each other there.
        """
        talker = self._streams[name].talker
        station = self._scenario.station_named(talker)
        jitter_ps = station.jitter_ns * PS_PER_NS
        if any(load.talker == talker for _, load, _ in self._topology.best_effort):
            raise UnknownError(
                f'its talker "{talker}" sends best effort before it; give that another station'
            )
        bits = sum(
            (self._sent(each.id, jitter_ps).burst for each in self._streams.values()
             if each.talker == talker),
            -Fraction(self._bits(self._streams[name].frame_bytes)),
        )  # fmt: skip
        (port,) = self._topology.ports_of(talker)
        slower = 1 + Fraction(self.lengths.rate_ppb(talker).more, 10**9)
        return jitter_ps + math.ceil(bits * _PS * slower / port.wire.rate_bps)

    def _too_slow(self, port: Port, queue: int, needed_bps: int) -> str:
        for index, bridge in enumerate(self._scenario.bridge):
            for place, shaper in enumerate(bridge.shaper):
                if (
                    bridge.name == port[0]
                    and bridge.class_of(shaper.priority) == queue
                    and shaper.shapes(port[1])
                ):
                    return (
                        f"key `bridge[{index}].shaper[{place}].idle_slope_bps` (bridge"
                        f' "{bridge.name}") = {shaper.idle_slope_bps}: must be at least'
                        f" {needed_bps}, what the streams of traffic class {queue} take of the link"
                        f' to "{port[1]}" with preambles and gaps; raise it'
                    )
        raise AssertionError("a class without a shaper has no slope")


def add(scenario: Scenario, topology: Topology, document: Draft) -> Draft:
    """A plan whose streams of foreign talkers have their bounds, where no gate shuts on their ways;
    without one if a bound is beyond a deadline.

    Raises:
        ConfigError: a stream in a shaped class can have none, streams fill a link, or gates leave a
            shaper too little.
    """
    _refuse_shut(scenario, topology, document)
    if not foreign.streams(scenario):
        return document
    shaped = Shaped(scenario, topology, document)
    bridges = {bridge.name: bridge for bridge in scenario.bridge}
    for index, stream in enumerate(scenario.stream):
        entry = document["streams"][stream.id]
        ways = [[stream.talker, *route, end] for end, route in entry["routes"].items()]
        ports = {port for way in ways for port in hops(way)[1:]}
        wrong = f'key `stream[{index}].priority` (stream "{stream.id}") = {stream.priority}:'
        queues = {port: bridges[port[0]].class_of(stream.priority) for port in sorted(ports)}
        by_time = [port for port, own in queues.items() if shaped.has_schedulers(port, own)]
        through = by_time + [port for port, own in queues.items() if shaped.has_credit(port, own)]
        if scenario.station_named(stream.talker).driver != foreign.DRIVER:
            if through:
                raise ConfigError(
                    f'{wrong} its traffic class has a shaper on the link "{through[0][0]}" to'
                    f' "{through[0][1]}", and its frames are sent at instants of the plan; choose'
                    f' another, or driver "{foreign.DRIVER}"'
                )
            continue
        try:
            _bound(shaped, stream, entry, ways, queues)
            for bridge, port in {port[0]: port for port in by_time}.items():
                schedulers = document["bridges"][bridge].setdefault("schedulers", [])
                schedulers.append(shaped.scheduler(port, stream.id))
        except UnknownError as error:
            if by_time or (through and "gates shut" not in str(error)):
                raise ConfigError(f"{wrong} it has a shaper, and no bound: {error}") from error
            if "fills the link" in str(error):
                raise ConfigError(
                    f'key `stream[{index}].period_ns` (stream "{stream.id}") ='
                    f" {stream.period_ns}: {error}; lengthen periods, shorten frames, or raise the"
                    " link's rate_bps"
                ) from error
            continue
        due_ns = entry["bounds"]["delay_ns"] or 0
        if stream.deadline_at == "last_bit":
            bytes_ps = [byte_time_ps(topology.wires[way[-2], way[-1]].rate_bps) for way in ways]
            due_ns += ceil_ns(stream.frame_bytes * max(bytes_ps))
        if stream.deadline_ns is not None and due_ns > stream.deadline_ns:
            return _late(scenario, stream, due_ns)
    return document


def _refuse_shut(scenario: Scenario, topology: Topology, document: Draft) -> None:
    """Refuse slopes that a class cannot have while its gate is open (operIdleSlope)."""
    for index, bridge in enumerate(scenario.bridge):
        for peer, port in document["bridges"][bridge.name]["ports"].items():
            entries = port.get("entries", [])
            cycle_ns = sum(entry["ns"] for entry in entries)
            for place, shaper in enumerate(bridge.shaper):
                queue = bridge.class_of(shaper.priority)
                open_ns = sum(e["ns"] for e in entries if int(e["gates"], 16) >> queue & 1)
                most = topology.wires[bridge.name, peer].rate_bps * open_ns
                slope_bps = shaper.idle_slope_bps if shaper.shapes(peer) else None
                if slope_bps is not None and slope_bps * cycle_ns > most:
                    raise ConfigError(
                        f"key `bridge[{index}].shaper[{place}].idle_slope_bps` (bridge"
                        f' "{bridge.name}") = {slope_bps}: must be at most'
                        f' {most // cycle_ns}, as its gate towards "{peer}" is open for {open_ns}'
                        f" of {cycle_ns} ns; lower it, or open the gate for longer"
                    )


def _late(scenario: Scenario, stream: Stream, due_ns: int) -> Draft:
    document = empty(scenario.name, "infeasible", "analytic-bound")
    document["why"] = {
        "constraint": "deadline",
        "message": f'stream "{stream.id}": its bound {due_ns} ns exceeds the {stream.deadline_ns}'
        " asked for, by what shapers and classes from its own on let go before it",
        "streams": [stream.id],
        "nearest_change": f"raise deadline_ns to {due_ns}, its priority, or its class's idle slope",
    }
    return document


def _bound(
    shaped: Shaped, stream: Stream, entry: PlannedStream, ways: list[list[str]],
    queues: dict[Port, int],
) -> None:  # fmt: skip
    """Write what a stream waits into its part of the plan."""
    waits_ps = [
        sum(shaped.wait_ps(port, stream.id) for port in itertools.pairwise(way[1:])) for way in ways
    ]
    for port, queue in queues.items():
        shaped.refuse_crowd(port, queue)
    terms, alone_ps = entry["terms"], entry["delay_planned_ps"]
    slowest = max(shaped.lengths.rate_ppb(node).more for way in ways for node in way[:-1])
    terms["clock_ps"] = -(-(terms["frame_ps"] + terms["preamble_ps"]) * slowest // 10**9)
    terms["blocked_ps"] = max(waits_ps)
    entry["delay_planned_ps"] = alone_ps + terms["clock_ps"] + terms["blocked_ps"]
    # A run takes the instant at which a frame leaves in whole ns.
    entry["bounds"]["delay_ns"] = -(-entry["delay_planned_ps"] // PS_PER_NS) + 1
