# SPDX-License-Identifier: BSD-3-Clause
"""The network as a Graphviz picture: nodes, links with rate and delay, and every stream's route in
its colour.

Language: the DOT grammar of graphviz.org/doc/info/lang.html; every name and text is a quoted
string.
"""

from __future__ import annotations

from collections.abc import Iterator

from keepon.export.exported import Exported, Planned
from keepon.model import cables
from keepon.model.plan import PlannedStream, ways_of
from keepon.model.scenario import Stream
from keepon.model.topology import Topology

_UNITS = ((1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1_000, "kb/s"))


def quoted(text: str) -> str:
    """A DOT string; a backslash stays one and a line break becomes \\n.

    >>> quoted('a "b"')
    '"a \\\\"b\\\\""'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _attributes(**values: str) -> str:
    return "[" + ", ".join(f"{name}={quoted(value)}" for name, value in values.items()) + "]"


def rate(rate_bps: int) -> str:
    """A rate in its largest unit.

    >>> rate(1_000_000_000), rate(2_500_000_000), rate(100_000_000)
    ('1 Gb/s', '2.5 Gb/s', '100 Mb/s')
    """
    for unit_bps, name in _UNITS:
        if rate_bps >= unit_bps:
            return f"{rate_bps / unit_bps:.15g} {name}"
    return f"{rate_bps} b/s"


def _colour(number: int, count: int) -> str:
    """Hues as far apart as there are streams, dark enough for white paper (hue saturation
    value).
    """
    return f"{number / count:.3f} 0.9 0.7"


def _links(planned: Planned, topology: Topology) -> Iterator[str]:
    ways = cables.directions(link.ends for link in planned.scenario.link)
    for link, both in zip(planned.scenario.link, ways, strict=True):
        there, back = (topology.wires[hop] for hop in both)
        delay = f"{there.propagation_ns}" + (
            "" if there.propagation_ns == back.propagation_ns else f"/{back.propagation_ns}"
        )
        label = f"{rate(there.rate_bps)}\n{delay} ns"
        style = _attributes(dir="none", color="gray50", penwidth="2", label=label)
        yield f"\t{quoted(link.ends[0])} -> {quoted(link.ends[1])} {style};"


def hops(stream: Stream, entry: PlannedStream) -> list[tuple[str, str]]:
    """The directed links a stream passes, each once, as planned."""
    paths = ([stream.talker, *route, listener] for listener, route in ways_of(entry))
    return list(dict.fromkeys(hop for path in paths for hop in cables.hops(path)))


def _stream(planned: Planned, number: int, stream: Stream) -> Iterator[str]:
    entry = planned.plan["streams"][stream.id]
    colour = _colour(number, len(planned.scenario.stream))
    bound_ns = entry["bounds"]["delay_ns"]
    bound = "no bound" if bound_ns is None else f"delay at most {bound_ns} ns"
    tooltip = f"{stream.id}: every {stream.period_ns} ns at {entry['release_ns']} ns, {bound}"
    for position, (here, there) in enumerate(hops(stream, entry)):
        label = {"label": stream.id} if position == 0 else {}
        style = _attributes(
            color=colour, fontcolor=colour, constraint="false", tooltip=tooltip, **label
        )
        yield f"\t{quoted(here)} -> {quoted(cables.node_of(there))} {style};"


def export(planned: Planned) -> Exported:
    """SCENARIO.dot: stations are boxes, bridges ellipses, gray lines links, coloured arrows
    streams.
    """
    scenario = planned.scenario
    topology = Topology(scenario)
    lines = [
        f"digraph {quoted(scenario.name)} {{",
        f"\tgraph {_attributes(rankdir='LR', fontname='sans-serif', label=scenario.name)};",
        f"\tnode {_attributes(fontname='sans-serif')};",
        f"\tedge {_attributes(fontname='sans-serif', fontsize='10')};",
    ]
    for station in scenario.station:
        document = planned.plan["stations"].get(station.name)
        driver = station.driver if document is None else document["driver"]
        label = f"{station.name}\n{driver}"
        lines.append(f"\t{quoted(station.name)} {_attributes(shape='box', label=label)};")
    for bridge in scenario.bridge:
        label = f"{bridge.name}\n{bridge.processing_ns} ns"
        lines.append(f"\t{quoted(bridge.name)} {_attributes(shape='ellipse', label=label)};")
    lines += _links(planned, topology)
    for number, stream in enumerate(scenario.stream):
        lines += _stream(planned, number, stream)
    return Exported({f"{scenario.name}.dot": "\n".join([*lines, "}"]) + "\n"})
