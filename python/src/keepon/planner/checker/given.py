# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of the checker: links, releases and routes as scenario and plan state them, in ps of
network time.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from keepon.model.plan import Draft, PlannedPort, PlannedStation, PlannedStream
from keepon.model.scenario import Load, Scenario, Stream

if TYPE_CHECKING:
    from keepon.planner.checker.runs import Runs

Place = tuple[str, str]
_BRIDGE_CLOCK_NS = 90
"""Stated clock error of bridges that follow gPTP."""


def byte_ps(rate_bps: int) -> int:
    """Time of one byte on the wire."""
    return 8 * 10**12 // rate_bps


@dataclass(frozen=True)
class Window:
    """A stream's window on a wire out of a bridge: transmission starts within [open, last], every
    period.
    """

    stream: str
    turn: int
    place: Place
    open_ps: int
    last_ps: int
    length_ps: int
    period_ps: int


def node(called: str) -> str:
    """A node as the scenario names it, without the number of the link that leads to it."""
    return called.split("#", maxsplit=1)[0]


def places(way: list[str]) -> list[Place]:
    """The ports that send a frame along a way."""
    return list(zip(map(node, way[:-1]), way[1:], strict=True))


def cycle_of(windows: list[Window], list_ps: int = 1) -> tuple[int, int]:
    """The time in ps after which windows and gate list of a wire repeat, and the number of frames
    in it.
    """
    cycle_ps = math.lcm(list_ps, *(window.period_ps for window in windows))
    return cycle_ps, sum(cycle_ps // window.period_ps for window in windows)


class Given:
    """A scenario, its plan, and what follows directly from them."""

    def __init__(self, scenario: Scenario, plan: Draft) -> None:
        self.scenario = scenario
        self.plan = plan
        self.streams: dict[str, Stream] = {stream.id: stream for stream in scenario.stream}
        self.bridges = {bridge.name: bridge for bridge in scenario.bridge}
        self.links: dict[Place, tuple[int, int]] = {}
        self.spans_ps: dict[tuple[str, Place, int], int] = {}
        self.runs: dict[str, Runs | None] = {}
        self.peers: dict[str, list[str]] = {}
        among: Counter[tuple[str, ...]] = Counter()
        for link in scenario.link:
            rate_bps = scenario.defaults.rate_bps if link.rate_bps is None else link.rate_bps
            delay_ns = (
                scenario.defaults.propagation_ns
                if link.propagation_ns is None
                else link.propagation_ns
            )
            among[tuple(sorted(link.ends))] += 1
            number = among[tuple(sorted(link.ends))]
            for (here, there), longer_ns in (
                (link.ends, link.asymmetry_ns),
                (link.ends[::-1], -link.asymmetry_ns),
            ):
                called = there if number == 1 else f"{there}#{number}"
                self.peers.setdefault(here, []).append(called)
                self.links[here, called] = (
                    byte_ps(rate_bps),
                    1000 * (delay_ns + max(0, longer_ns)),
                )

        self.station_ports: dict[str, Place] = {
            self.port_name((station.name, peer)): (station.name, peer)
            for station in scenario.station
            for peer in self.peers.get(station.name, [])
        }

    def port_name(self, place: Place) -> str:
        """The plan's name for a station's end of a link: the station, with the number of the link
        if the station has several.
        """
        station, peer = place
        peers = self.peers[station]
        return station if len(peers) == 1 else f"{station}.{peers.index(peer)}"

    @cached_property
    def leaves(self) -> dict[str, Place]:
        """The port by which each stream leaves its station: the first link of the stated route, or
        of the shortest route, to its first listener.
        """
        found = {}
        for name, stream in self.streams.items():
            peers = self.peers[stream.talker]
            if len(peers) == 1:
                found[name] = (stream.talker, peers[0])
                continue
            first = [*stream.route, stream.listeners[0]] if stream.route != "auto" else None
            way = first or self.shortest(stream.talker, stream.listeners[0])[1:]
            found[name] = (stream.talker, way[0])
        return found

    @cached_property
    def best_effort(self) -> list[tuple[Load, list[str]]]:
        """Loads and ACKs with their routes; ACKs return on the route of the segments."""
        found = []
        for load in self.scenario.load:
            way = self.shortest(load.talker, load.listener)
            found.append((load, way))
            found += [(back, way[::-1]) for back in load.answers()]
        return found

    def queue(self, name: str, place: Place) -> int:
        """The queue of a stream's frames at a bridge's port."""
        return self.bridges[place[0]].class_of(self.streams[name].priority)

    def planned_at(self, name: str) -> PlannedStation:
        """The plan's entry of the port by which a stream leaves."""
        return self.plan["stations"][self.port_name(self.leaves[name])]

    def entry(self, name: str) -> PlannedStream:
        """The plan's entry of a stream."""
        return self.plan["streams"][name]

    def ports(self, bridge: str) -> dict[str, PlannedPort]:
        """The plan's entry of a bridge; empty if it has none."""
        entry = self.plan["bridges"].get(bridge)
        return {} if entry is None else entry["ports"]

    def releases_ns(self, name: str) -> list[int]:
        """Releases of a stream's frames in turn, each from the start of its own period."""
        entry = self.entry(name)
        return entry.get("turns_ns", [entry["release_ns"]])

    @cached_property
    def periods_ns(self) -> dict[str, Fraction]:
        """The exact time between two frames of each stream."""
        return {
            name: Fraction(stream.period_ns)
            if stream.rate_hz is None
            else 10**9 / Fraction(stream.rate_hz)
            for name, stream in self.streams.items()
        }

    def start_ps(self, name: str, number: int) -> int:
        """Start of the period of a frame: a whole ns."""
        period_ns = self.periods_ns[name]
        return 1000 * (number * period_ns.numerator // period_ns.denominator)

    def cycle_ps(self, name: str) -> int:
        """Time of as many frames as have releases of their own."""
        return self.start_ps(name, len(self.releases_ns(name)))

    def together(self, place: Place) -> list[str]:
        """Streams that leave a bridge by this port, and all streams that share a port with one of
        them directly or indirectly: no other stream influences them.
        """
        ports: dict[str, set[Place]] = {}
        for window in self.windows:
            ports.setdefault(window.stream, set()).add(window.place)
        found, met = set[str](), {place}
        while more := {name for name in ports if name not in found and ports[name] & met}:
            found |= more
            met = met.union(*(ports[name] for name in more))
        return [name for name in self.streams if name in found]

    def ways(self, name: str) -> list[list[str]]:
        """Nodes from the talker to each listener, both included; of a stream with two ways both."""
        talker, entry = self.streams[name].talker, self.entry(name)
        ways = [[talker, *route, listener] for listener, route in entry["routes"].items()]
        if "second_route" in entry:
            ways.append([talker, *entry["second_route"], ways[0][-1]])
        return ways

    def joint(self, name: str) -> str | None:
        """The node at which copies of a stream's frames end: the one where its two ways meet."""
        if self.streams[name].redundancy == 1:
            return None
        one, other = (way[-2:] for way in self.ways(name))
        return node(one[0]) if node(one[0]) == node(other[0]) else one[1]

    def tagged_bytes(self, name: str, place: Place) -> int:
        """What an R-tag adds to a stream's frames as their talker sends them: it is there from the
        one who puts it in to the joint.
        """
        stream, joint = self.streams[name], self.joint(name)
        if joint is None:
            return 0
        by_talker = stream.frer.tagged_by == "talker"
        begins, ends = place[0] == stream.talker, place[0] == joint
        return 6 * ((by_talker or not begins) and not ends) - 6 * by_talker

    @cached_property
    def following(self) -> dict[tuple[str, str], list[str]]:
        """The nodes to which a node forwards a stream's frame, by stream and node."""
        found: dict[tuple[str, str], list[str]] = {}
        for name in self.streams:
            for way in self.ways(name):
                for here, there in places(way):
                    peers = found.setdefault((name, here), [])
                    if there not in peers:
                        peers.append(there)
        return found

    def is_cyclic(self, place: Place) -> bool:
        """Whether frames of a cycle leave a port together, in no known order."""
        return place[0] in self.bridges and self.bridges[place[0]].gates == "cqf"

    @cached_property
    def by_place(self) -> dict[Place, list[Window]]:
        """Windows by port."""
        found: dict[Place, list[Window]] = {}
        for window in self.windows:
            found.setdefault(window.place, []).append(window)
        return found

    def list_ps(self, place: Place) -> int:
        """Length of the gate list of a bridge's port; 1 if it has none, as 1 divides any time."""
        entries = self.ports(place[0])[place[1]].get("entries", [])
        return sum(1000 * entry["ns"] for entry in entries) or 1

    @cached_property
    def windows(self) -> list[Window]:
        """All windows of the plan."""
        return [
            Window(
                name, entry.get("turn", 0), (entry["bridge"], entry["peer"]), entry["open_ps"],
                entry["last_ps"],
                entry["length_ps"], self.cycle_ps(name),
            )
            for name in self.streams
            for entry in self.entry(name)["windows"]
        ]  # fmt: skip

    def gate_error_ps(self, bridge: str) -> int:
        """Greatest error of the clock that opens a bridge's gates: the stated error and that of
        asymmetric links.
        """
        return 0 if self.bridges[bridge].gates == "none" else self.clock_error_ps(bridge)

    def clock_error_ps(self, bridge: str) -> int:
        """Greatest error of a bridge's clock, either way."""
        if self.scenario.sync.mode != "gptp":
            return 0
        return 1000 * (_BRIDGE_CLOCK_NS + self.scenario.asymmetry_error_ns(bridge))

    def shortest(self, start: str, end: str) -> list[str]:
        """The route of best effort: the fewest links, and of equal routes the one whose link is
        listed first.
        """
        before = {start: start}
        queue = deque([start])
        while queue and end not in before:
            node = queue.popleft()
            for peer in self.peers.get(node, []) if node == start or node in self.bridges else []:
                if peer not in before:
                    before[peer] = node
                    queue.append(peer)
        way = [end]
        while way[-1] != start:
            way.append(before[way[-1]])
        return way[::-1]
