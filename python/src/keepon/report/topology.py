# SPDX-License-Identifier: BSD-3-Clause
"""The network as a picture: bridges in layers from top to bottom, stations beside theirs, and every
stream along the links it takes.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from keepon.model import cables
from keepon.model.names import ranged
from keepon.model.plan import Plan, ways_of
from keepon.model.scenario import Scenario
from keepon.report import screen
from keepon.report.grids import WIDTHS
from keepon.report.html import environment
from keepon.report.panels import STYLES
from keepon.report.screen import Use

BOX_WIDTH, BOX_HEIGHT = 150, 38
_BRIDGE_WIDTH = 84
_AISLE = 64
_BESIDE = 140
"""Between stations and bridges: room for what is written at a cable."""
_ROW = 48
_LANE = 3.4
_APART = 24.0
"""Between links of the same two bridges; what is written at them is thrice as wide."""
LANES_MAX = 14
"""Streams on one link that are drawn side by side; of more, only their number."""


_SIZES, _LARGER_SIZES = (13.0, 10.5), (14.0, 12.0)
"""Of letters of a box's lines: style.css, on wide pages and on narrow ones."""
_EDGES = 6
_NARROW, _WIDE = frozenset("fijlrtI.,-_'| "), frozenset("mwMW@%")


def _width_em(text: str) -> float:
    """Not less than what a text takes in fonts that browsers have; DejaVu Sans is a wide one."""
    return sum(
        0.5 if letter in _NARROW else 1.0 if letter in _WIDE else 0.79 if letter.isupper() else 0.65
        for letter in text
    )


def _cut(text: str, room_em: float) -> str:
    if _width_em(text) <= room_em:
        return text
    widths = itertools.accumulate(map(_width_em, text), initial=_width_em("…") + 0.35)
    return text[: sum(width <= room_em for width in widths) - 1] + "…"


@dataclass(frozen=True)
class Box:
    """A node: its middle, its size and what is written in it."""

    name: str
    x: float
    y: float
    width: float
    lines: tuple[str, str]
    title: str
    bridge: bool

    @property
    def shown(self) -> list[tuple[str, bool]]:
        """The lines, cut where they would leave the box, as the whole is in its title; and whether
        one has no room for the larger letters of narrow pages.
        """
        room = self.width - _EDGES
        cut = [_cut(line, room / size) for line, size in zip(self.lines, _SIZES, strict=True)]
        larger = zip(cut, _LARGER_SIZES, strict=True)
        return [(line, _width_em(line) * size > room) for line, size in larger]


@dataclass(frozen=True)
class Segment:
    """A part of a stream's way: a line and an arrow head in its middle."""

    line: str
    arrow: str


@dataclass(frozen=True)
class Way:
    """A stream in the picture."""

    stream: str
    style: int
    dashed: bool
    description: str
    segments: list[Segment]


@dataclass(frozen=True)
class Link:
    """A cable: its ends in the picture, and what is written where, in red if `over`."""

    x1: float
    y1: float
    x2: float
    y2: float
    x: float
    y: float
    text: str
    title: str
    over: bool


@dataclass
class Picture:
    """All of it."""

    width: float
    height: float
    boxes: list[Box] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    lanes: bool = True

    @property
    def description(self) -> str:
        bridges = sum(box.bridge for box in self.boxes)
        return (
            f"{len(self.boxes) - bridges} stations, {bridges} bridges, {len(self.links)} links,"
            f" {len(self.ways)} streams"
        )


def _layers(bridges: list[str], near: dict[str, list[str]]) -> list[list[str]]:
    """Bridges by their distance from one that lies at an end; parts without a link below each
    other.
    """
    layers: list[list[str]] = []
    left = list(bridges)
    while left:
        end = _by_distance(_by_distance([left[0]], near)[-1][-1:], near)
        layers += end
        reached = set(itertools.chain.from_iterable(end))
        left = [name for name in left if name not in reached]
    return layers


def _by_distance(start: list[str], near: dict[str, list[str]]) -> list[list[str]]:
    """Bridges by their distance from the first."""
    distance = {start[0]: 0}
    queue = deque(start)
    while queue:
        node = queue.popleft()
        for peer in near[node]:
            if peer in near and peer not in distance:
                distance[peer] = distance[node] + 1
                queue.append(peer)
    found: list[list[str]] = [[] for _ in range(max(distance.values()) + 1)]
    for name, steps in distance.items():
        found[steps].append(name)
    return found


def _placed(effective: dict[str, Any]) -> tuple[dict[str, tuple[float, float]], float, float]:
    """Where every node's middle lies, and the size of the picture."""
    bridges = [bridge["name"] for bridge in effective.get("bridge", [])]
    near: dict[str, list[str]] = {name: [] for name in bridges}
    home: dict[str, str] = {}
    for link in effective["link"]:
        first, second = link["ends"]
        for here, there in ((first, second), (second, first)):
            if here in near:
                near[here].append(there)
            else:
                home[here] = there
    stations = [station["name"] for station in effective["station"]]
    layers = _layers(bridges, near)
    widest = max((len(layer) for layer in layers), default=0)
    core = max(1, widest) * _BRIDGE_WIDTH + max(0, widest - 1) * _AISLE
    width = 2 * (BOX_WIDTH + _BESIDE) + core
    places: dict[str, tuple[float, float]] = {}
    top = 10.0
    for layer in layers:
        sides: tuple[list[str], list[str]] = ([], [])
        for number, bridge in enumerate(layer):
            own = [name for name in stations if home.get(name) == bridge]
            if len(layer) == 1:
                half = -(-len(own) // 2)
                sides[0].extend(own[:half])
                sides[1].extend(own[half:])
            else:
                sides[number >= len(layer) / 2].extend(own)
        rows = max(1, *map(len, sides))
        for side, x in zip(sides, (BOX_WIDTH / 2, width - BOX_WIDTH / 2), strict=True):
            for row, name in enumerate(side):
                offset = (rows - len(side)) / 2
                places[name] = (x, top + (row + offset + 0.5) * _ROW)
        for number, bridge in enumerate(layer):
            beside = (number - (len(layer) - 1) / 2) * (_BRIDGE_WIDTH + _AISLE)
            places[bridge] = (width / 2 + beside, top + rows * _ROW / 2)
        top += rows * _ROW + 20
    free = [name for name in stations if name not in places]
    for number, name in enumerate(free):
        x = BOX_WIDTH / 2 if number % 2 == 0 else width - BOX_WIDTH / 2
        places[name] = (x, top + (number // 2 + 0.5) * _ROW)
    return places, width, top + -(-len(free) // 2) * _ROW


def _rate(rate_bps: int) -> str:
    return f"{rate_bps / 1e9:.15g} Gb/s" if rate_bps >= 10**9 else f"{rate_bps / 1e6:.15g} Mb/s"


def hops(talker: str, routes: list[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    """The directed links a stream passes, each once."""
    ways = ([talker, *route, listener] for listener, route in routes)
    return list(dict.fromkeys(hop for way in ways for hop in cables.hops(way)))


def _link(hop: cables.Hop) -> cables.Hop:
    """One name of both directions."""
    return min(hop, cables.back(hop))


def _beside(hop: cables.Hop) -> float:
    """How far a link is drawn beside the first of the same two nodes, seen from the one whose name
    comes first.
    """
    number = int(hop[1].partition("#")[2] or 1)
    return _APART * (number // 2) * (1 if number % 2 == 0 else -1)


def _seen(box: Box, dx: float, dy: float) -> float:
    """Which share of a line from the middle of a box to another lies within the box."""
    shares = [size / 2 / abs(d) for size, d in ((box.width, dx), (BOX_HEIGHT, dy)) if d]
    return min(shares, default=0.0)


def _segment(here: Box, there: Box, beside: float, lane: float) -> Segment:
    """A line beside the cable, and its arrow head where it is seen, `lane` (0 to 1) of that."""
    dx, dy = there.x - here.x, there.y - here.y
    first, last = _seen(here, dx, dy), 1 - _seen(there, dx, dy)
    along = first + (last - first) * (0.25 + 0.5 * lane)
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    nx, ny = -uy * beside, ux * beside
    x, y = here.x + dx * along + nx, here.y + dy * along + ny
    tip, wing = 4.0, 2.6
    head = (
        f"M{x + ux * tip:.1f} {y + uy * tip:.1f}L{x - uy * wing:.1f} {y + ux * wing:.1f}"
        f"L{x + uy * wing:.1f} {y - ux * wing:.1f}Z"
    )
    line = f"M{here.x + nx:.1f} {here.y + ny:.1f}L{there.x + nx:.1f} {there.y + ny:.1f}"
    return Segment(line, head)


def drawn(effective: dict[str, Any], plan: Plan | None, used: Iterable[Use] = ()) -> Picture:
    """The network of a scenario, with the routes of its plan, and what is used of its links."""
    places, width, height = _placed(effective)
    routed = effective["stream"] if plan is not None else []
    routes = {} if plan is None else {name: ways_of(it) for name, it in plan["streams"].items()}
    ways = {stream["id"]: hops(stream["talker"], routes[stream["id"]]) for stream in routed}
    on_link: dict[cables.Hop, list[str]] = {}
    for name, passed in ways.items():
        for hop in passed:
            users = on_link.setdefault(_link(hop), [])
            if name not in users:
                users.append(name)
    picture = Picture(width, height)
    picture.lanes = max(map(len, on_link.values()), default=0) <= LANES_MAX
    _add_boxes(picture, effective, places)
    boxes = {box.name: box for box in picture.boxes}
    for number, stream in enumerate(routed):
        name = stream["id"]
        segments = []
        for hop in ways[name]:
            here, there = map(cables.node_of, hop)
            users = on_link[_link(hop)]
            lane = users.index(name)
            beside = (lane - (len(users) - 1) / 2) * _LANE if picture.lanes else 0.0
            beside += _beside(hop)
            share = (lane + 0.5) / len(users)
            # A lane is the same seen from either end of the cable.
            segments.append(
                _segment(boxes[here], boxes[there], beside, share)
                if here < there
                else _segment(boxes[here], boxes[there], -beside, 1 - share)
            )
        description = ", ".join(
            " → ".join([stream["talker"], *route, listener]) for listener, route in routes[name]
        )
        picture.ways.append(
            Way(name, number % STYLES, number // STYLES % 2 == 1, description, segments)
        )
    _add_links(picture, effective, boxes, on_link, {(use.here, use.there): use for use in used})
    return picture


def _add_boxes(
    picture: Picture, effective: dict[str, Any], places: dict[str, tuple[float, float]]
) -> None:
    for station in effective["station"]:
        name = station["name"]
        sent = [stream["id"] for stream in effective["stream"] if stream["talker"] == name]
        got = sum(name in stream["listeners"] for stream in effective["stream"])
        sent += [load["id"] for load in effective.get("load", []) if load["talker"] == name]
        words = f"sends {ranged(sent)}"
        second = words if sent else f"gets {got} stream{'s' * (got != 1)}" if got else "no streams"
        title = f"{name}: {station['driver']}, {second}"
        picture.boxes.append(Box(name, *places[name], BOX_WIDTH, (name, second), title, False))
    for bridge in effective.get("bridge", []):
        name = bridge["name"]
        delay = f"{bridge['processing_ns'] / 1000:.15g} µs"
        picture.boxes.append(
            Box(name, *places[name], _BRIDGE_WIDTH, (name, delay), f"{name}: {delay}", True)
        )


def _add_links(
    picture: Picture,
    effective: dict[str, Any],
    boxes: dict[str, Box],
    on_link: dict[cables.Hop, list[str]],
    used: dict[tuple[str, str], Use],
) -> None:
    ways = cables.directions(link["ends"] for link in effective["link"])
    for link, both in zip(effective["link"], ways, strict=True):
        first, second = link["ends"]
        users = on_link.get(_link(both[0]), [])
        rate_bps = link.get("rate_bps") or effective["defaults"]["rate_bps"]
        own = [used[way] for way in both if way in used]
        full = f", {max(use.share for use in own):.1%}" if own else ""
        full += " + rest" * any(use.takes_rest for use in own)
        count = "" if picture.lanes or not users else f"{len(users)}: "
        here, there = boxes[first], boxes[second]
        dx, dy = there.x - here.x, there.y - here.y
        beside = _beside(both[0]) * (1 if first < second else -1) / (math.hypot(dx, dy) or 1.0)
        nx, ny = -dy * beside, dx * beside
        middle = (1 + _seen(here, dx, dy) - _seen(there, dx, dy)) / 2
        lines = [f"{first} – {both[0][1]}: {_rate(rate_bps)}"]
        lines += [
            f"{use.here} → {use.there}: streams {use.streams_bps / rate_bps:.1%}, best effort"
            f" {use.best_effort_bps / rate_bps:.1%}" + " and what is left" * use.takes_rest
            for use in own
        ]
        lines += [ranged(users)] * bool(users)
        picture.links.append(
            Link(
                here.x + nx,
                here.y + ny,
                there.x + nx,
                there.y + ny,
                here.x + dx * middle + 3 * nx,
                here.y + dy * middle + ny,
                f"{count}{_rate(rate_bps)}{full}",
                "\n".join(lines),
                any(use.over for use in own),
            )
        )


_FONT = 'svg { font-family: "DejaVu Sans", sans-serif; background: #ffffff }'


def picture_svg(scenario: Scenario, plan: Plan | None) -> str:
    """Without a plan nodes, cables, rates and what stations send; with it routes and use of links,
    too. On light paper: few programs but browsers know the variables of style.css.
    """
    used = () if plan is None else screen.uses(scenario, plan)
    picture = drawn(scenario.effective(), plan, used)
    template = environment().get_template("macros.html.j2")
    drawing = str(template.make_module().drawing(picture)).strip()  # type: ignore[attr-defined]
    style = environment().get_template("style.css.j2").render(widths=WIDTHS)
    colours = dict(re.findall(r"(--\w+): (#\w+)", style.partition("@media")[0]))
    rules = "\n".join(re.findall(r"(?m)^\.(?:network|s0) .*$", style))
    flat = re.sub(r"var\((--\w+)\)", lambda found: colours[found[1]], rules)
    tag, _, rest = drawing.partition(">")
    size = f'xmlns="http://www.w3.org/2000/svg" width="{picture.width + 4:.0f}"'
    return f"{tag} {size}>\n<style>{_FONT}\n{flat}</style>{rest}\n"
