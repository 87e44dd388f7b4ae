# SPDX-License-Identifier: BSD-3-Clause
"""Possible routes of a stream: the shortest paths to each listener, joined to trees that reach
every node once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from keepon.model.cables import Hop, hops, node_of
from keepon.model.scenario import Stream
from keepon.model.topology import Port, Topology

_WAYS_TRIED = 64


@dataclass(frozen=True)
class Leg:
    """One wire of a tree, `there` as `here` calls it (`model/cables.py`).

    `parent` is the number of the previous leg, -1 for the talker's own wire; `other` that of the
    previous leg on the second way, where two ways meet, else -1.
    """

    here: str
    there: str
    parent: int
    other: int = -1


@dataclass(frozen=True)
class Tree:
    """Paths from a talker to all listeners: the nodes by listener, both ends included, and the
    wires, each after its parent.

    `number`: index among the stream's trees. `second`: another path to the one listener, on which
    copies go; empty: there is none.
    """

    paths: dict[str, tuple[str, ...]]
    legs: tuple[Leg, ...]
    number: int = 0
    second: tuple[str, ...] = ()


def _tree(paths: dict[str, tuple[str, ...]]) -> Tree | None:
    """The tree of these paths; None if two paths reach a node by different links."""
    reached: dict[str, int] = {}
    legs: list[Leg] = []
    for path in paths.values():
        for here, there in hops(path):
            node = node_of(there)
            if node in reached:
                leg = legs[reached[node]]
                if (leg.here, leg.there) != (here, there):
                    return None
                continue
            reached[node] = len(legs)
            legs.append(Leg(here, there, reached.get(here, -1)))
    # Parents first, so that a loop over the legs knows when a frame arrives.
    depth = [0] * len(legs)
    for number, leg in enumerate(legs):
        depth[number] = 0 if leg.parent < 0 else depth[leg.parent] + 1
    order = sorted(range(len(legs)), key=lambda number: depth[number])
    place = {number: position for position, number in enumerate(order)}
    sorted_legs = tuple(
        Leg(legs[number].here, legs[number].there, place.get(legs[number].parent, -1))
        for number in order
    )
    return Tree(paths, sorted_legs)


def conflicting_way(paths: dict[str, list[str]]) -> str | None:
    """A node that paths of one stream reach from two sides; None if the paths make a tree."""
    before: dict[str, Hop] = {}
    for path in paths.values():
        for hop in hops(path):
            if before.setdefault(node_of(hop[1]), hop) != hop:
                return node_of(hop[1])
    return None


class Routes:
    """Candidate trees of streams, by number of wires; the first is that of `Topology.paths`."""

    def __init__(self, topology: Topology, most: int) -> None:
        self._topology = topology
        self._most = most
        self._graph: Any = None
        self._known: dict[tuple[str, str], list[tuple[str, ...]]] = {}

    def of(self, stream: Stream) -> list[Tree]:
        """At most `most` trees of a stream, the shortest first; a stated route is the only one. All
        begin at the port by which the stream leaves.
        """
        first = {name: tuple(path) for name, path in self._topology.paths(stream).items()}
        trees = [tree for tree in [_tree(first)] if tree is not None]
        if self._most > 1:
            port = self._topology.port_of(stream)
            choices = [
                [first[name]]
                if stream.route != "auto" and name == stream.listeners[0]
                else self._ways(port, name)
                for name in stream.listeners
            ]
            combined = itertools.islice(itertools.product(*choices), _WAYS_TRIED)
            for ways in sorted(combined, key=lambda ways: sum(len(way) for way in ways)):
                paths = dict(zip(stream.listeners, ways, strict=True))
                tree = _tree(paths)
                if tree is not None and paths != first:
                    trees.append(tree)
        return [replace(tree, number=number) for number, tree in enumerate(trees[: self._most])]

    def _ways(self, port: Port, listener: str) -> list[tuple[str, ...]]:
        key = (port.name, listener)
        if key not in self._known:
            self._known[key] = list(itertools.islice(self._all_ways(port, listener), self._most))
        return self._known[key]

    def _all_ways(self, port: Port, listener: str) -> Iterator[tuple[str, ...]]:
        # networkx takes a tenth of a second to load, which commands that plan nothing should not
        # spend.
        import networkx

        if self._graph is None:
            self._graph = networkx.Graph()
            self._graph.add_nodes_from(self._topology.bridges)
            wires = self._topology.wires
            self._graph.add_edges_from((a, b) for a, b in wires if {a, b} <= self._topology.bridges)
        talker, start, ends = port.station, port.peer, self._topology.neighbours[listener]
        if listener == start:
            yield (talker, listener)
        for end in ends:
            if (
                start in self._topology.bridges
                and end in self._topology.bridges
                and networkx.has_path(self._graph, start, end)
            ):
                for way in networkx.shortest_simple_paths(self._graph, start, end):
                    for called in itertools.product(*map(self._links, way, way[1:])):
                        yield (talker, start, *called, listener)

    def _links(self, here: str, there: str) -> list[str]:
        """What a node calls a neighbour, by each link to it."""
        return [name for name in self._topology.neighbours[here] if node_of(name) == there]
