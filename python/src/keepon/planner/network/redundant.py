# SPDX-License-Identifier: BSD-3-Clause
"""Two ways of a stream (FRER, IEEE Std 802.1CB-2017): disjoint in links and bridges, with as few
links as such ways can have together (Suurballe), and what its recovery must know of them.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from keepon.errors import ConfigError
from keepon.model.cables import hops, node_of
from keepon.model.redundancy import RTAG_BYTES
from keepon.model.scenario import Stream
from keepon.model.topology import Topology
from keepon.model.wire import PS_PER_NS, ceil_ns, preamble_time_ps
from keepon.planner.network.flows import Placement
from keepon.planner.network.trees import Leg, Tree

if TYPE_CHECKING:
    from keepon.planner.network.ports import Ports

_Side = tuple[str, int]
"""A node where frames come in, 0, and where they leave, 1: between the two it carries one way. What
another calls it (`model/cables.py`) is where frames of that link come in."""
_Edge = tuple[_Side, _Side]
_Way = tuple[str, ...]


def _meets(topology: Topology, stream: Stream) -> bool:
    """Whether both ways come to one bridge, as the listener has one link."""
    return len(topology.neighbours[stream.listeners[0]]) == 1


def tag_bytes(topology: Topology, stream: Stream, here: str, there: str) -> int:
    """How much longer than at its talker a frame is on a wire, by its R-tag."""
    if stream.redundancy == 1:
        return 0
    has_tag = there != stream.listeners[0] or not _meets(topology, stream)
    if stream.frer.tagged_by == "talker":
        return 0 if has_tag else -RTAG_BYTES
    return RTAG_BYTES if has_tag and here != stream.talker else 0


def tree(ground: Ports, stream: Stream) -> Tree:
    """Both ways of a stream.

    Raises:
        ConfigError: there are none, which names the bridge or link that all ways pass; or a key of
            the stream contradicts them.
    """
    topology, listener = ground.topology, stream.listeners[0]
    if not ground.station_of(stream).bounded:
        raise _wrong(
            ground, stream, f'talker "{stream.talker}" keeps no times; give it a driver that does'
        )
    first = topology.port_of(stream).peer
    last = topology.neighbours[listener][0] if _meets(topology, stream) else listener
    if first not in topology.bridges or last == first:
        raise _wrong(ground, stream, f'its frames pass "{first}" alone; link them by more bridges')
    ways = _ways(ground, stream, first, last)
    ends = () if last == listener else (listener,)
    whole = [(stream.talker, *way, *ends) for way in ways]
    legs = [Leg(stream.talker, first, -1)]
    before = []
    for way in ways:
        for number, (here, there) in enumerate(hops(way)):
            legs.append(Leg(here, there, len(legs) - 1 if number else 0))
        before.append(len(legs) - 1)
    if ends:
        legs.append(Leg(last, listener, *before))
    return Tree({listener: whole[0]}, tuple(legs), second=whole[1])


def _wrong(ground: Ports, stream: Stream, why: str) -> ConfigError:
    return ground.wrong(stream, "redundancy", "2", f"must be 1: {why}")


def _ways(ground: Ports, stream: Stream, first: str, last: str) -> list[_Way]:
    """From the first bridge to where the ways meet, the shorter first; a stated route first."""
    capacity: dict[_Edge, int] = {}
    for here, there in ground.topology.wires:
        node = node_of(there)
        if here in ground.bridges and (node in ground.bridges or node == last):
            capacity[(here, 1), (there, 0)] = 1
            if node != there:
                capacity[(there, 0), (node, 0)] = 2
    capacity |= {((name, 0), (name, 1)): 1 for name in ground.bridges}
    start, end = (first, 1), (last, 0)
    if stream.route != "auto":
        stated = (*stream.route, *(() if last == node_of(stream.route[-1]) else (last,)))
        capacity |= dict.fromkeys(_edges(stated), 0)
        other = _shortest(capacity, start, end)
        if other is None:
            raise ground.wrong(
                stream, "route", str(stream.route), "leaves no second way without its links and"
                ' bridges; choose another, or "auto"',
            )  # fmt: skip
        edges = itertools.pairwise(other)
        return [stated, (first, *(enters for (_, side), (enters, _) in edges if side))]
    residual = dict(capacity)
    for _ in range(2):
        path = _shortest(residual, start, end)
        if path is None:
            raise _wrong(ground, stream, _cut(capacity, residual, first, last, start))
        for edge in itertools.pairwise(path):
            residual[edge] -= 1
            residual[edge[::-1]] = residual.get(edge[::-1], 0) + 1
    used = [edge for edge, most in capacity.items() if residual[edge] < most]
    found = []
    for leaves, enters in used:
        if leaves == start:
            way = [first, enters[0]]
            while (node := node_of(way[-1])) != last:
                way.append(next(after[0] for at, after in used if at == (node, 1)))
            found.append(tuple(way))
    return sorted(found, key=len)


def _edges(way: _Way) -> list[_Edge]:
    """What a way uses up: its links, and the bridges between its ends."""
    links: list[_Edge] = [((here, 1), (there, 0)) for here, there in hops(way)]
    return [*(((name, 0), (name, 1)) for name in map(node_of, way[1:-1])), *links]


def _shortest(left: dict[_Edge, int], start: _Side, end: _Side) -> list[_Side] | None:
    """The path of the fewest links where there is capacity (Bellman-Ford): going back along the
    first way takes its links away again.
    """
    cost, before = {start: 0}, dict[_Side, _Side]()
    changed = True
    while changed:
        changed = False
        for (here, there), room in left.items():
            if room <= 0 or here not in cost or there == start:
                continue
            link = (node_of(here[0]) != node_of(there[0])) * (1 if here[1] else -1)
            if cost[here] + link < cost.get(there, math.inf):
                cost[there], before[there] = cost[here] + link, here
                changed = True
    if end not in cost:
        return None
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]


def _cut(
    capacity: dict[_Edge, int], residual: dict[_Edge, int], first: str, last: str, start: _Side
) -> str:
    """The bridge or link that every way passes, the first one."""
    reached = {start}
    while (
        more := {there for (here, there), room in residual.items() if room > 0 and here in reached}
        - reached
    ):
        reached |= more
    here, there = next(
        edge for edge in capacity if edge[0] in reached and edge[1] not in reached
        and capacity[edge]
    )  # fmt: skip
    is_bridge = here[0] == there[0]
    what = f'bridge "{here[0]}"' if is_bridge else f'the link "{here[0]}" to "{there[0]}"'
    return f'all ways from "{first}" to "{last}" pass {what}; link a second way round it'


def check(ground: Ports, placements: list[Placement]) -> None:
    """Refuse a recovery that would take copies for new frames, or for rogue ones.

    Raises:
        ConfigError: names the key.
    """
    stream = placements[0].flow.stream
    options, spans = stream.frer, [_complete_ps(ground, each) for each in placements]
    behind_ps = max(late for _, late in spans) - min(early for early, _ in spans)
    newer = behind_ps // (stream.period_ns * PS_PER_NS)
    is_match, behind_ns = options.algorithm == "match", ceil_ns(behind_ps)
    for key, value, is_wrong, must in (
        ("algorithm", '"match"', is_match and newer > 0, 'be "vector"'),
        (
            "history_length", options.history_length,
            not is_match and newer + 1 >= options.history_length, f"be above {newer + 1}",
        ),
        ("reset_ns", options.reset_ns, options.reset_ns <= behind_ns, f"be above {behind_ns}"),
    ):  # fmt: skip
        if is_wrong:
            raise ground.wrong(
                stream, f"frer.{key}", str(value),
                f"must {must}, as a copy may come {behind_ns} ns after the first one",
            )  # fmt: skip


def _complete_ps(ground: Ports, placed: Placement) -> tuple[int, int]:
    """When the first copy can be complete where the ways meet, and the last one, from the start of
    the frame's period.
    """
    tree, begin_ps = placed.tree, placed.flow.stream.begin_ns(placed.flow.turn) * PS_PER_NS
    last = tree.legs[-1]
    numbers = [last.parent, last.other]
    if last.other < 0:
        numbers = [number for number, leg in enumerate(tree.legs) if leg.there in tree.paths]
    early, late = [], []
    for number in numbers:
        leg, hop = tree.legs[number], placed.hops[number - 1]
        wire = ground.topology.wires[leg.here, leg.there]
        least_ps, most_ps = ground.frame_ps(placed.flow, leg.here, leg.there)
        way_ps = preamble_time_ps(wire.rate_bps) + wire.propagation_ns * PS_PER_NS - begin_ps
        early.append(hop.early_ps + way_ps + least_ps)
        late.append(hop.late_ps + way_ps + most_ps)
    return min(early), max(late)


def slowest(ground: Ports, placed: Placement, listener: str) -> tuple[str, ...]:
    """The path by which frames come last to a listener."""
    tree = placed.tree
    if not tree.second:
        return tree.paths[listener]
    own = {(hop.bridge, hop.peer): hop for hop in placed.hops}

    def late_ps(path: tuple[str, ...]) -> int:
        here, there = hops(path)[-2 if tree.legs[-1].other >= 0 else -1]
        wire = ground.topology.wires[here, there]
        way_ps = preamble_time_ps(wire.rate_bps) + wire.propagation_ns * PS_PER_NS
        if there != listener:
            way_ps += ground.frame_ps(placed.flow, here, there)[1]
        return own[here, there].late_ps + way_ps

    return max((tree.paths[listener], tree.second), key=late_ps)
