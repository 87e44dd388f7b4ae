# SPDX-License-Identifier: BSD-3-Clause
"""The network as a graph: who is linked to whom, at which rate, the shortest way between two
stations, and the ports of stations with what leaves by each.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

from keepon.errors import ConfigError
from keepon.model.cables import Hop, directions
from keepon.model.scenario import Load, Scenario, Stream


@dataclass(frozen=True)
class Wire:
    """One direction of a link."""

    rate_bps: int
    propagation_ns: int


@dataclass(frozen=True)
class Port:
    """A station's end of a link.

    Attributes:
        name: the station's; where it has several links `.0`, `.1` ... behind it, in their order.
        station, peer: whose it is, and who is at the other end.
        wire: what it sends on.
    """

    name: str
    station: str
    peer: str
    wire: Wire


def port_names(station: str, links: int) -> list[str]:
    """What the ports of a station with so many links are called."""
    return [station] if links == 1 else [f"{station}.{number}" for number in range(links)]


class Topology:
    """Nodes and directed wires of a checked scenario.

    Neighbours are what a node calls them (`model/cables.py`), keys the names of nodes.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.bridges = {bridge.name for bridge in scenario.bridge}
        self.neighbours: dict[str, list[str]] = {}
        for name in (
            *(station.name for station in scenario.station),
            *(bridge.name for bridge in scenario.bridge),
        ):
            self.neighbours[name] = []
        self.wires: dict[Hop, Wire] = {}
        ways = directions(link.ends for link in scenario.link)
        for link, (there, back) in zip(scenario.link, ways, strict=True):
            rate_bps = link.rate_bps if link.rate_bps is not None else scenario.defaults.rate_bps
            shorter_ns = (
                link.propagation_ns
                if link.propagation_ns is not None
                else scenario.defaults.propagation_ns
            )
            for hop, longer_ns in ((there, link.asymmetry_ns), (back, -link.asymmetry_ns)):
                self.neighbours[hop[0]].append(hop[1])
                self.wires[hop] = Wire(rate_bps, shorter_ns + max(longer_ns, 0))

    @cached_property
    def ports(self) -> dict[str, Port]:
        """All ports of stations by name, stations in their order."""
        found = {}
        for station in self._scenario.station:
            peers = self.neighbours[station.name]
            for name, peer in zip(port_names(station.name, len(peers)), peers, strict=True):
                found[name] = Port(name, station.name, peer, self.wires[station.name, peer])
        return found

    def ports_of(self, station: str) -> list[Port]:
        """The ports of a station, in the order of its links; none if it is not linked."""
        peers = self.neighbours[station]
        return [self.ports[name] for name in port_names(station, len(peers))] if peers else []

    def port_to(self, station: str, peer: str) -> Port:
        """A station's port by who is at the other end of its link."""
        return self.ports_of(station)[self.neighbours[station].index(peer)]

    def reaches(self, port: Port, listeners: list[str]) -> bool:
        """Whether a port leads to all of them."""
        try:
            for listener in listeners:
                self.shortest(port.station, listener, port.peer)
        except KeyError:
            return False
        return True

    def port_of(self, stream: Stream) -> Port:
        """The port a stream leaves by: its way to the first listener begins there."""
        first, *others = self.ports_of(stream.talker)
        return self.port_to(stream.talker, self._first_path(stream)[1]) if others else first

    @cached_property
    def streams(self) -> dict[str, list[tuple[int, Stream]]]:
        """Streams by the name of the port they leave by, each with its place in the file."""
        found: dict[str, list[tuple[int, Stream]]] = {name: [] for name in self.ports}
        for index, stream in enumerate(self._scenario.stream):
            found[self.port_of(stream).name].append((index, stream))
        return found

    @cached_property
    def loads(self) -> dict[str, list[tuple[int, Load]]]:
        """Best effort by the name of the port it leaves by, each with the place of its load in the
        file.
        """
        found: dict[str, list[tuple[int, Load]]] = {name: [] for name in self.ports}
        for index, load, path in self.best_effort:
            found[self.port_to(load.talker, path[1]).name].append((index, load))
        return found

    @cached_property
    def best_effort(self) -> list[tuple[int, Load, list[str]]]:
        """Loads and what answers them, each with the place of the load in the file and with its
        way: ACKs go back where the segments came.
        """
        ways = [self.shortest(load.talker, load.listener) for load in self._scenario.load]
        return [
            (index, load, ways[index] if load is self._scenario.load[index] else ways[index][::-1])
            for index, load in self._scenario.best_effort()
        ]

    def shortest(self, start: str, end: str, peer: str | None = None) -> list[str]:
        """Nodes from start to end, both included; stations are not passed through. Ties: the link
        listed first. `peer`: the node that it goes to first.

        Raises:
            KeyError: there is no way.
        """
        before: dict[str, str | None] = {start: None}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            if node == end:
                path = [node]
                while (previous := before[path[-1]]) is not None:
                    path.append(previous)
                return path[::-1]
            if node != start and node not in self.bridges:
                continue
            for other in self.neighbours[node]:
                if other not in before and (node != start or peer in (None, other)):
                    before[other] = node
                    queue.append(other)
        raise KeyError(f"{start} -> {end}")

    def _first_path(self, stream: Stream) -> list[str]:
        """Nodes from talker to the first listener, both included."""
        if stream.route == "auto":
            return self.shortest(stream.talker, stream.listeners[0])
        return [stream.talker, *stream.route, stream.listeners[0]]

    def paths(self, stream: Stream) -> dict[str, list[str]]:
        """Nodes from talker to each listener, both included; all begin at one port of the talker,
        that of the way to the first listener.

        Raises:
            KeyError: that port leads to some listener by no way.
        """
        first, *others = stream.listeners
        paths = {first: self._first_path(stream)}
        for listener in others:
            paths[listener] = self.shortest(stream.talker, listener, paths[first][1])
        return paths


def check_single_ports(scenario: Scenario, who: str, source: str = "") -> None:
    """Refuse a scenario with a station of several ports, for those who know stations of one.

    Args:
        scenario: a checked one.
        who: they, in words.
        source: the scenario's file, if the caller's caller does not name it.

    Raises:
        ConfigError: one sentence on the first such station.
    """
    for index, station in enumerate(scenario.station):
        links = sum(station.name in link.ends for link in scenario.link)
        if links > 1:
            raise ConfigError(
                f"{source}{': ' if source else ''}key `station[{index}].name` ="
                f' "{station.name}": has {links} links, and {who} knows stations of one port'
                " only; give it one link, to a bridge, or use keepon run --target sim"
            )
