# SPDX-License-Identifier: BSD-3-Clause
"""A first scenario to change: a line, a ring, a star or a tree of bridges with stations, which send
what a table says, or what a controller and its devices send to each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

LINE, RING, STAR, TREE = "line", "ring", "star", "tree"
SHAPES = (LINE, RING, STAR, TREE)
STATIONS_MAX = 64
BRIDGES_MAX = 16
RING_BRIDGES_MIN = 3
_DEADLINE_NS_PER_BRIDGE = 25_000
_LOAD_BYTES = 180
_ADVANCE_NS = 400_000


def starter(shape: str, name: str, stations: int, bridges: int, file: str, rate: str) -> str:
    """The text of a scenario in which a controller and every device send to each other.

    Args:
        shape: one of SHAPES.
        stations: 2 to STATIONS_MAX, the first is the controller.
        bridges: 1 to BRIDGES_MAX; a ring has RING_BRIDGES_MIN or more.
        file: how the text calls its file.
        rate: of every link, with a unit.
    """
    nodes = ["controller", *(f"device{n}" for n in range(1, stations))]
    streams = [
        {
            "id": f"{word}-{device}", "talker": talker, "listeners": [listener],
            "period_ns": "1 ms", "frame_bytes": 200,
            "deadline_ns": 100_000 + _DEADLINE_NS_PER_BRIDGE * bridges,
        }
        for device in nodes[1:]
        for word, talker, listener in (("set", nodes[0], device), ("get", device, nodes[0]))
    ]  # fmt: skip
    load = {
        "id": "files", "talker": nodes[0], "listener": nodes[-1], "rate_bps": "50 Mb/s",
        "frame_bytes": _LOAD_BYTES,
    }  # fmt: skip
    what = f"with a controller and {stations - 1} devices"
    return of_streams(shape, name, nodes, bridges, {}, streams, file, rate, what, [load])


def of_streams(
    shape: str,
    name: str,
    nodes: Sequence[str],
    bridges: int,
    homes: Mapping[str, str],
    streams: Sequence[Mapping[str, Any]],
    file: str,
    rate: str,
    what: str,
    loads: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The text of a scenario with these streams and loads, keys and values of each.

    Args:
        nodes: the stations, on the bridges in turn; of a star's bridges not on the first, which is
            in the middle, of a tree's on those without others below them.
        homes: bridges of some of them.
        what: what is said of the stations.
    """
    switches = bridge_names(bridges)
    outer = _outer(shape, switches)
    environment = Environment(
        loader=PackageLoader("keepon.model", "templates"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    of_bridges = f"{bridges} bridge{'s' if bridges > 1 else ''}"
    ends = [(node, homes.get(node, outer[n % len(outer)])) for n, node in enumerate(nodes)]
    return environment.get_template("starter.toml.j2").render(
        schema=(Path(__file__).parent / "schemas" / "scenario.schema.json").as_uri(),
        text=f"A {shape} of {of_bridges} {what}.",
        file=file,
        name=name,
        rate=rate,
        stations=nodes,
        bridges=switches,
        links=[*_between(shape, switches), *ends],
        streams=[
            {key: _toml(value) for key, value in {**stream, "advance_ns": _ADVANCE_NS}.items()}
            for stream in streams
        ],
        loads=[{key: _toml(value) for key, value in load.items()} for load in loads],
    )


def bridge_names(count: int) -> list[str]:
    return [f"br{n}" for n in range(1, count + 1)]


def _toml(value: Any) -> str:
    return f"{value:_}" if isinstance(value, int) else json.dumps(value, ensure_ascii=False)


def _outer(shape: str, switches: list[str]) -> list[str]:
    """Bridges that stations are on unless one says otherwise."""
    if shape == STAR:
        return switches[1:] or switches
    # A tree's bridge number n has 2n and 2n + 1 below it.
    return switches[len(switches) // 2 :] if shape == TREE else switches


def _between(shape: str, switches: list[str]) -> list[tuple[str, str]]:
    """The cables from bridge to bridge."""
    if shape == STAR:
        return [(switches[0], other) for other in switches[1:]]
    if shape == TREE:
        return [(switches[n // 2 - 1], switches[n - 1]) for n in range(2, len(switches) + 1)]
    line = list(pairwise(switches))
    return [*line, (switches[-1], switches[0])] if shape == RING else line
