# SPDX-License-Identifier: BSD-3-Clause
"""A first scenario to change: a line, a ring or a star of bridges with a controller and devices."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

LINE, RING, STAR = "line", "ring", "star"
SHAPES = (LINE, RING, STAR)
STATIONS_MAX = 64
BRIDGES_MAX = 16
RING_BRIDGES_MIN = 3
_DEADLINE_NS_PER_BRIDGE = 25_000
_LOAD_BYTES = 180


def starter(shape: str, name: str, stations: int, bridges: int, file: str) -> str:
    """The text of a scenario in which a controller and every device send to each other.

    Args:
        shape: one of SHAPES; of a star's bridges the first is in the middle.
        stations: 2 to STATIONS_MAX, the first is the controller; on the bridges in turn.
        bridges: 1 to BRIDGES_MAX; a ring has RING_BRIDGES_MIN or more.
        file: how the text calls its file.
    """
    nodes = ["controller", *(f"device{n}" for n in range(1, stations))]
    switches = [f"br{n}" for n in range(1, bridges + 1)]
    # With several bridges that of a star's middle has none but bridges.
    outer = switches[1:] if shape == STAR and bridges > 1 else switches
    homes = [outer[n % len(outer)] for n in range(stations)]
    streams = [
        stream
        for device in nodes[1:]
        for stream in (
            {"id": f"set-{device}", "talker": nodes[0], "listener": device},
            {"id": f"get-{device}", "talker": device, "listener": nodes[0]},
        )
    ]
    environment = Environment(
        loader=PackageLoader("keepon.model", "templates"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    of_bridges = f"{bridges} bridge{'s' if bridges > 1 else ''}"
    return environment.get_template("starter.toml.j2").render(
        schema=(Path(__file__).parent / "schemas" / "scenario.schema.json").as_uri(),
        text=f"A {shape} of {of_bridges} with a controller and {stations - 1} devices.",
        file=file,
        name=name,
        stations=nodes,
        bridges=switches,
        links=[*_between(shape, switches), *zip(nodes, homes, strict=True)],
        streams=streams,
        deadline_ns=100_000 + _DEADLINE_NS_PER_BRIDGE * bridges,
        load_bytes=_LOAD_BYTES,
    )


def _between(shape: str, switches: list[str]) -> list[tuple[str, str]]:
    """The cables from bridge to bridge."""
    if shape == STAR:
        return [(switches[0], other) for other in switches[1:]]
    line = list(pairwise(switches))
    return [*line, (switches[-1], switches[0])] if shape == RING else line
