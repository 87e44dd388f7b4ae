# SPDX-License-Identifier: BSD-3-Clause
"""Slots, releases, gates and windows of a plan over a span of network time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from keepon.model.plan import Plan, PlannedPort, PlannedStation
from keepon.model.result import Result
from keepon.model.topology import port_names
from keepon.report.panels import STYLES, Axis

ROWS_MAX = 90
BLOCKS_MAX = 1500
"""Of one row; what lies closer together is drawn as one."""
NAMES_MAX = 40
_PERIODS_MAX = 4
_OVERHEAD_BYTES = 20


@dataclass(frozen=True)
class Block:
    """A stretch of time in a row: [start, end) in ns, its height from the top (0 to 10)."""

    start: float
    end: float
    top: float
    height: float
    kind: str
    style: int
    title: str
    name: str = ""


@dataclass
class Row:
    """One line of the chart."""

    label: str
    below: str
    blocks: list[Block] = field(default_factory=list)

    @property
    def named(self) -> list[Block]:
        """Blocks with a name to be written in them, unless they are too many to be read."""
        found = [block for block in self.blocks if block.name]
        return found if len(found) <= NAMES_MAX else []


@dataclass
class Chart:
    """All of it."""

    span_ns: int
    shown_ns: tuple[float, float]
    axis: Axis
    rows: list[Row]
    left_out: int
    notes: list[str]

    @property
    def description(self) -> str:
        return "; ".join(f"{row.label}: {row.below}" for row in self.rows[:12])


def span_ns(result: Result) -> int:
    """Time after which everything repeats, or the longest period where that is far longer."""
    periods = [stream["period_ns"] for stream in result["effective"]["stream"]]
    longest, repeats = max(periods, default=1_000_000), math.lcm(*periods or [1_000_000])
    return repeats if repeats <= _PERIODS_MAX * longest else longest


def _merged(
    stretches: Iterable[tuple[float, float]], closest: float
) -> Iterator[tuple[float, float]]:
    """Stretches in order, those that are closer than `closest` as one."""
    current: tuple[float, float] | None = None
    for start, end in stretches:
        if current is not None and start - current[1] <= closest:
            current = (current[0], max(current[1], end))
            continue
        if current is not None:
            yield current
        current = (start, end)
    if current is not None:
        yield current


def _repeated(
    stretches: list[tuple[float, float]], every: float, span: float
) -> Iterator[tuple[float, float]]:
    """The same again and again from 0 on, cut to [0, span)."""
    for turn in range(-1, math.ceil(span / every)):
        for start, end in stretches:
            low, high = max(0.0, start + turn * every), min(span, end + turn * every)
            if low < high:
                yield low, high


def _runs(flags: list[bool], length: float) -> list[tuple[float, float]]:
    """Stretches of slots of which something is true."""
    found, since = [], None
    for number, flag in enumerate([*flags, False]):
        if flag and since is None:
            since = number
        elif not flag and since is not None:
            found.append((since * length, number * length))
            since = None
    return found


def _closest(count: int, span: float) -> float:
    return span / BLOCKS_MAX if count > BLOCKS_MAX else 0.0


def _counted(streams: int) -> str:
    return f"{streams} stream{'s' * (streams != 1)}"


def _slots(station: PlannedStation, span: int) -> Iterator[Block]:
    """Slots by the classes that own them, those of streams darker than the others."""
    slot_ns = station["slot_time_ps"] / 1000
    allowed = station["allowed"]
    every = len(allowed) * slot_ns
    classes = sorted({tc for mask in set(allowed) for tc in range(16) if mask >> tc & 1})
    streams = {entry["tc"] for entry in station["streams"].values()}
    for number, tc in enumerate(classes):
        runs = _runs([bool(mask >> tc & 1) for mask in allowed], slot_ns)
        closest = _closest(len(runs) * math.ceil(span / every), span)
        owned = sum(mask >> tc & 1 for mask in allowed)
        whose = "streams" if tc in streams else "best effort"
        title = f"class {tc} ({whose}): {owned} of {len(allowed)} slots"
        height = 5 / len(classes)
        for start, end in _merged(sorted(_repeated(runs, every, span)), closest):
            kind = "slot" if tc in streams else "open"
            yield Block(start, end, 5 + number * height, height * 0.9, kind, 0, title)


def _rates_bps(result: Result) -> dict[str, int]:
    """Rate of the link of each port of a station, by the port's name."""
    effective = result["effective"]
    found: dict[str, list[int]] = {}
    for link in effective["link"]:
        for node in link["ends"]:
            rate_bps = link.get("rate_bps") or effective["defaults"]["rate_bps"]
            found.setdefault(node, []).append(rate_bps)
    return {
        port: rate_bps
        for node, rates_bps in found.items()
        for port, rate_bps in zip(port_names(node, len(rates_bps)), rates_bps, strict=True)
    }


def _station_row(result: Result, plan: Plan, name: str, span: int) -> Row:
    station = plan["stations"][name]
    rate_bps = _rates_bps(result)[name]
    row = Row(name, f"{station['driver']}, {_counted(len(station['streams']))}")
    order = [stream["id"] for stream in result["effective"]["stream"]]
    periods = {stream["id"]: stream["period_ns"] for stream in result["effective"]["stream"]}
    for stream in station["streams"]:
        entry = plan["streams"][stream]
        length_ns = (entry["frame_bytes_on_wire"] + _OVERHEAD_BYTES) * 8e9 / rate_bps
        releases = entry.get("turns_ns", [entry["release_ns"]])
        every = periods[stream] * len(releases)
        runs = [
            (release + turn * periods[stream], release + turn * periods[stream] + length_ns)
            for turn, release in enumerate(releases)
        ]
        times = math.ceil(span / every) * len(runs)
        for start, end in _merged(_repeated(runs, every, span), _closest(times, span)):
            title = f"{stream} leaves {name} at {start / 1000:.15g} µs"
            style = order.index(stream) % STYLES
            row.blocks.append(Block(start, end, 0, 4.5, "frame", style, title, stream))
    if "allowed" in station and "slot_time_ps" in station:
        slot_us = f"{station['slot_time_ps'] / 1e6:.15g}"
        row.below = f"{len(station['allowed'])} slots of {slot_us} µs, then again"
        row.blocks += _slots(station, span)
    return row


def _gates(port: PlannedPort, queue: int, span: int) -> list[tuple[float, float]]:
    """When a queue's gate is open."""
    if "entries" not in port:
        return [(0, span)]
    at, opened = float(port["base_ns"] % port["cycle_ns"]), []
    for entry in port["entries"]:
        if int(entry["gates"], 16) >> queue & 1:
            opened.append((at, at + entry["ns"]))
        at += entry["ns"]
    stretches = sorted(_repeated(opened, port["cycle_ns"], span))
    return list(_merged(stretches, _closest(len(stretches), span)))


def _port_rows(result: Result, plan: Plan, bridge: str, peer: str, span: int) -> Iterator[Row]:
    port = plan["bridges"][bridge]["ports"][peer]
    order = [stream["id"] for stream in result["effective"]["stream"]]
    periods = {stream["id"]: stream["period_ns"] for stream in result["effective"]["stream"]}
    for queue in sorted(set(port["queues"].values()), reverse=True):
        users = [stream for stream, own in port["queues"].items() if own == queue]
        what = "gate" if "entries" in port else "always open"
        row = Row(f"{bridge} → {peer}", f"queue {queue}, {what}, {_counted(len(users))}")
        for start, end in _gates(port, queue, span):
            title = f"queue {queue} open from {start / 1000:.15g} to {end / 1000:.15g} µs"
            row.blocks.append(Block(start, end, 6, 4, "open", 0, title))
        for stream in users:
            windows = [
                (window["open_ps"] / 1000, (window["open_ps"] + window["length_ps"]) / 1000)
                for window in plan["streams"][stream]["windows"]
                if (window["bridge"], window["peer"]) == (bridge, peer)
            ]
            every = periods[stream] * len(plan["streams"][stream].get("turns_ns", [0]))
            times = len(windows) * math.ceil(span / every)
            # A window may lie in a later period than the release.
            within = [(a - a // every * every, b - a // every * every) for a, b in windows]
            for start, end in _merged(_repeated(within, every, span), _closest(times, span)):
                during = f"from {start / 1000:.15g} to {end / 1000:.15g} µs"
                title = f"{stream} leaves {bridge} to {peer} {during}"
                style = order.index(stream) % STYLES
                row.blocks.append(Block(start, end, 0, 5.5, "frame", style, title, stream))
        yield row


def _busy(rows: list[Row], span: int) -> tuple[float, float]:
    """The part in which frames leave, if it is small; else all."""
    frames = [block for row in rows for block in row.blocks if block.kind == "frame"]
    low = min((block.start for block in frames), default=0)
    high = max((block.end for block in frames), default=span)
    edge = 0.05 * (high - low)
    if high - low > span / 2:
        return 0, span
    return max(0.0, low - edge), min(float(span), high + edge)


def chart(result: Result, plan: Plan) -> Chart:
    """Talkers first, then the ports that streams leave bridges by, a row for each queue."""
    span = span_ns(result)
    rows = [
        _station_row(result, plan, name, span)
        for name, station in plan["stations"].items()
        if station["streams"]
    ]
    for bridge, entry in plan["bridges"].items():
        for peer in entry["ports"]:
            rows += _port_rows(result, plan, bridge, peer, span)
    notes = []
    periods = [stream["period_ns"] for stream in result["effective"]["stream"]]
    if periods and math.lcm(*periods) > span:
        notes.append("The longest period is shown; all of it repeats only after a longer time.")
    if any(len(row.blocks) >= BLOCKS_MAX for row in rows):
        notes.append("Where a row has too many blocks, neighbours are drawn as one.")
    low, high = _busy(rows, span)
    if (low, high) != (0, span):
        notes.append(
            f"No frame leaves before or after what is shown; all of it is {span / 1000:.15g} µs."
        )
    axis = Axis("network time, µs", low, high, scale=0.001)
    return Chart(span, (low, high), axis, rows[:ROWS_MAX], max(0, len(rows) - ROWS_MAX), notes)
