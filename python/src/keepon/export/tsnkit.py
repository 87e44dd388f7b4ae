# SPDX-License-Identifier: BSD-3-Clause
"""CSV files of tsnkit 0.3: stream.csv and topo.csv, and a schedule as NAME-GCL, -OFFSET, -ROUTE,
-QUEUE and -DELAY.csv.

Times are ns, sizes bytes incl. FCS. Nodes and streams are numbers there; ids.json, which tsnkit
ignores, keeps their names. A transmission starts with the first bit after the SFD, as tsnkit's
model knows neither preamble nor gap.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from keepon.errors import ConfigError
from keepon.export.dot import hops
from keepon.export.exported import Exported, Planned, filters_left_out
from keepon.model.cables import node_of
from keepon.model.scenario import Scenario, Stream
from keepon.model.topology import Topology
from keepon.model.wire import PS_PER_NS, byte_time_ps, ceil_ns

STREAM_COLUMNS = ("stream", "src", "dst", "size", "period", "deadline", "jitter")
TOPO_COLUMNS = ("link", "q_num", "rate", "t_proc", "t_prop")
SCHEDULE_COLUMNS = {
    "GCL": ("link", "queue", "start", "end", "cycle"),
    "OFFSET": ("stream", "frame", "offset"),
    "ROUTE": ("stream", "link"),
    "QUEUE": ("stream", "frame", "link", "queue"),
    "DELAY": ("stream", "frame", "delay"),
}
RATES_BPS = {1: 1_000_000_000, 10: 100_000_000, 100: 10_000_000}
"""tsnkit's `rate`: by how much slower than 1 Gb/s (1000, for 1 Mb/s, is below what links here may
have).
"""
BRIDGE_QUEUES = 8
STATION_QUEUES = 16
GRID_NS = 100
IDS_FILE = "ids.json"
IDS_SCHEMA = "keepon.tsnkit-ids/1"

_Rows = list[tuple[Any, ...]]
_CALCULATES = (
    "tsnkit 0.3 itself calculates with frames without preamble and gap, in steps of 100 ns (sizes"
    " in steps of 100 bytes), without jitter and t_prop, and takes rate 10 for ten times faster"
    " instead of slower"
)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV with a header; fields with commas are quoted."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


class _Numbers:
    """Numbers of nodes, linked stations first, then bridges, and of streams, each in file order
    from 0.
    """

    def __init__(self, scenario: Scenario, topology: Topology) -> None:
        linked = [name for name in topology.neighbours if topology.neighbours[name]]
        self.nodes = {name: number for number, name in enumerate(linked)}
        self.streams = {stream.id: number for number, stream in enumerate(scenario.stream)}

    def link(self, here: str, there: str) -> str:
        return f"({self.nodes[here]}, {self.nodes[there]})"

    def text(self, scenario: Scenario) -> str:
        return json.dumps(
            {"schema": IDS_SCHEMA, "scenario": scenario.name, "nodes": list(self.nodes),
            "streams": list(self.streams)},
            indent=1,
        ) + "\n"  # fmt: skip


def _refuse(scenario: Scenario, topology: Topology) -> None:
    """What tsnkit's files have no place for at all."""
    slower = {rate_bps: factor for factor, rate_bps in RATES_BPS.items()}
    for (here, there), wire in topology.wires.items():
        if there != node_of(there):
            raise ConfigError(
                f'option --format = "tsnkit": {here} and {node_of(there)} have several links:'
                " tsnkit knows a link by its two nodes; export another format"
            )
        if wire.rate_bps not in slower:
            raise ConfigError(
                f'option --format = "tsnkit": link {here} - {there} has rate_bps = {wire.rate_bps}:'
                " tsnkit knows "
                f"{', '.join(map(str, sorted(slower)))}; export another format"
            )
    for stream in scenario.stream:
        if stream.redundancy > 1:
            raise ConfigError(
                f'option --format = "tsnkit": stream "{stream.id}" has redundancy = 2: tsnkit knows'
                " no copies of frames; export another format"
            )
        if len(stream.listeners) != 1:
            raise ConfigError(
                f'option --format = "tsnkit": stream "{stream.id}" has {len(stream.listeners)}'
                " listeners: tsnkit knows one; make it a stream for each listener or export"
                " another format"
            )
    if not scenario.stream:
        raise ConfigError(
            'option --format = "tsnkit": the scenario has no streams; tsnkit reads no empty file'
        )


def _notes(scenario: Scenario, topology: Topology, planned: Planned) -> list[str]:
    """One sentence for each thing that is lost or changed."""
    notes = [
        (
            "not carried: drivers, hosts, clocks, slots, partitions and late policies of stations,"
            " gates of queues without streams, sync, bounds, duration, seed, advance_ns, PCP as"
            " distinct from queue"
        ),
        _CALCULATES,
    ]
    for what, entries in (("load", scenario.load), ("fault", scenario.fault)):
        if entries:
            notes.append(f"not carried: {len(entries)} [[{what}]]")
    open_ended = [
        stream.id
        for stream in scenario.stream
        if stream.deadline_ns is None or stream.jitter_ns is None
    ]
    longer = [
        s.id for s in scenario.stream if max(s.deadline_ns or 0, s.jitter_ns or 0) > s.period_ns
    ]
    off_grid = [
        name for name, entry in planned.plan["streams"].items() if entry["release_ns"] % GRID_NS
    ]
    rates = [stream.id for stream in scenario.stream if stream.turns > 1]
    for names, what in (
        (rates, "the period of a rate is rounded down to ns"),
        (open_ended, "a deadline or jitter that is not asked for becomes the period"),
        (
            longer,
            "a deadline or jitter above the period becomes the period, the most that tsnkit takes",
        ),
        (off_grid, f"offsets off the grid of {GRID_NS} ns, at which tsnkit's own simulator sends"),
    ):
        if names:
            notes.append(f"streams {', '.join(names)}: {what}")
    for bridge in scenario.bridge:
        if len(topology.neighbours[bridge.name]) == 1:
            notes.append(f"bridge {bridge.name}: has one link, so tsnkit takes it for a station")
    return notes


def _stream_row(numbers: _Numbers, stream: Stream) -> tuple[Any, ...]:
    period_ns = stream.period_ns
    return (
        numbers.streams[stream.id],
        numbers.nodes[stream.talker],
        f"[{numbers.nodes[stream.listeners[0]]}]",
        stream.frame_bytes,
        period_ns,
        min(stream.deadline_ns or period_ns, period_ns),
        min(period_ns if stream.jitter_ns is None else stream.jitter_ns, period_ns),
    )


def _window(link: str, queue: int, start_ns: int, length_ns: int, cycle_ns: int) -> _Rows:
    """A window of one cycle; over the end of the cycle it is two."""
    start_ns %= cycle_ns
    if length_ns >= cycle_ns:
        return [(link, queue, 0, cycle_ns, cycle_ns)]
    end_ns = start_ns + length_ns
    if end_ns <= cycle_ns:
        return [(link, queue, start_ns, end_ns, cycle_ns)]
    return [
        (link, queue, start_ns, cycle_ns, cycle_ns),
        (link, queue, 0, end_ns - cycle_ns, cycle_ns),
    ]


def _talker_windows(planned: Planned, topology: Topology, numbers: _Numbers) -> _Rows:
    """The frames of every talker's link: as stations have no gates, exactly their time on
    the wire.
    """
    rows: _Rows = []
    for stream in planned.scenario.stream:
        own = [other.cycle_ns for other in planned.scenario.stream if other.talker == stream.talker]
        cycle_ns = math.lcm(*own)
        peer = topology.neighbours[stream.talker][0]
        entry = planned.plan["streams"][stream.id]
        byte_ps = byte_time_ps(topology.wires[stream.talker, peer].rate_bps)
        length_ns = ceil_ns(entry["frame_bytes_on_wire"] * byte_ps)
        releases_ns = entry.get("turns_ns", [entry["release_ns"]])
        for number in range(cycle_ns // stream.cycle_ns * stream.turns):
            start_ns = stream.begin_ns(number) + releases_ns[number % len(releases_ns)]
            rows += _window(
                numbers.link(stream.talker, peer), stream.tc, start_ns, length_ns, cycle_ns
            )
    return rows


def _port_windows(planned: Planned, numbers: _Numbers) -> _Rows:
    """When a bridge's port lets which of the queues that have streams send; always, where it has no
    gates.
    """
    rows: _Rows = []
    for bridge, document in planned.plan["bridges"].items():
        for peer, port in document["ports"].items():
            link, queues = numbers.link(bridge, peer), sorted(set(port["queues"].values()))
            if "entries" not in port:
                cycle_ns = math.lcm(
                    *(s.cycle_ns for s in planned.scenario.stream if s.id in port["queues"])
                )
                rows += [(link, queue, 0, cycle_ns, cycle_ns) for queue in queues]
                continue
            at_ns = port["base_ns"]
            for gate in port["entries"]:
                for queue in queues:
                    if int(gate["gates"], 16) >> queue & 1:
                        rows += _window(link, queue, at_ns, gate["ns"], port["cycle_ns"])
                at_ns += gate["ns"]
    return rows


def _schedule(planned: Planned, topology: Topology, numbers: _Numbers) -> dict[str, _Rows]:
    rows: dict[str, _Rows] = {name: [] for name in SCHEDULE_COLUMNS}
    rows["GCL"] = sorted(
        _talker_windows(planned, topology, numbers) + _port_windows(planned, numbers)
    )
    bridges = {bridge.name: bridge for bridge in planned.scenario.bridge}
    for stream in planned.scenario.stream:
        number, entry = numbers.streams[stream.id], planned.plan["streams"][stream.id]
        rows["OFFSET"].append((number, 0, entry["release_ns"]))
        rows["DELAY"].append((number, 0, -(-entry["delay_planned_ps"] // PS_PER_NS)))
        for here, there in hops(stream, entry):
            link = numbers.link(here, there)
            queue = stream.tc
            if here != stream.talker:
                queue = bridges[here].class_of(stream.priority)
            rows["ROUTE"].append((number, link))
            rows["QUEUE"].append((number, 0, link, queue))
    return rows


def export(planned: Planned) -> Exported:
    """stream.csv, topo.csv, the five tables of the schedule, and ids.json.

    Raises:
        ConfigError: a stream has several listeners, or a link a rate that tsnkit does not know.
    """
    scenario = planned.scenario
    topology = Topology(scenario)
    _refuse(scenario, topology)
    numbers = _Numbers(scenario, topology)
    processing_ns = {bridge.name: bridge.processing_ns for bridge in scenario.bridge}
    slower = {rate_bps: factor for factor, rate_bps in RATES_BPS.items()}
    links = [
        (
            numbers.link(here, there),
            BRIDGE_QUEUES if here in topology.bridges else STATION_QUEUES,
            slower[wire.rate_bps], processing_ns.get(there, 0), wire.propagation_ns,
        )
        for (here, there), wire in topology.wires.items()
    ]  # fmt: skip
    files = {
        "stream.csv": table(
            STREAM_COLUMNS, (_stream_row(numbers, stream) for stream in scenario.stream)
        ),
        "topo.csv": table(TOPO_COLUMNS, links),
        IDS_FILE: numbers.text(scenario),
    }
    for name, rows in _schedule(planned, topology, numbers).items():
        files[f"{scenario.name}-{name}.csv"] = table(SCHEDULE_COLUMNS[name], rows)
    return Exported(files, [*_notes(scenario, topology, planned), *filters_left_out(planned)])
