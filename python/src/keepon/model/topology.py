# SPDX-License-Identifier: BSD-3-Clause
"""The network as a graph: who is linked to whom, at which rate, and the shortest way between two
stations.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from keepon.model.scenario import Scenario, Stream


@dataclass(frozen=True)
class Wire:
    """One direction of a link."""

    rate_bps: int
    propagation_ns: int


class Topology:
    """Nodes and directed wires of a checked scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.bridges = {bridge.name for bridge in scenario.bridge}
        self.neighbours: dict[str, list[str]] = {}
        for name in (
            *(station.name for station in scenario.station),
            *(bridge.name for bridge in scenario.bridge),
        ):
            self.neighbours[name] = []
        self.wires: dict[tuple[str, str], Wire] = {}
        for link in scenario.link:
            rate_bps = link.rate_bps if link.rate_bps is not None else scenario.defaults.rate_bps
            shorter_ns = (
                link.propagation_ns
                if link.propagation_ns is not None
                else scenario.defaults.propagation_ns
            )
            first, second = link.ends
            for here, there, longer_ns in (
                (first, second, link.asymmetry_ns),
                (second, first, -link.asymmetry_ns),
            ):
                self.neighbours[here].append(there)
                self.wires[here, there] = Wire(rate_bps, shorter_ns + max(longer_ns, 0))

    def station_wire(self, station: str) -> Wire | None:
        """The wire a station sends on; None if it is not linked."""
        peers = self.neighbours[station]
        return self.wires[station, peers[0]] if peers else None

    def shortest(self, start: str, end: str) -> list[str]:
        """Nodes from start to end, both included; stations are not passed through. Ties: the link
        listed first.

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
            for peer in self.neighbours[node]:
                if peer not in before:
                    before[peer] = node
                    queue.append(peer)
        raise KeyError(f"{start} -> {end}")

    def paths(self, stream: Stream) -> dict[str, list[str]]:
        """Nodes from talker to each listener, both included."""
        paths: dict[str, list[str]] = {}
        for listener in stream.listeners:
            if stream.route == "auto" or listener != stream.listeners[0]:
                paths[listener] = self.shortest(stream.talker, listener)
            else:
                paths[listener] = [stream.talker, *stream.route, listener]
        return paths
