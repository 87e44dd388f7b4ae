# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a result's page that are made for it: streams with their margins, loads, stations,
PTP's frames, routes, windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import Any

from keepon.model import outcomes
from keepon.model.plan import Plan, ways_of
from keepon.model.result import PortResult, Result, RunResult, StationResult, StreamResult
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.report import origin
from keepon.report.grids import ROWS_MAX, Cell, Column, Grid, cells
from keepon.report.screen import mtu_of_ports
from keepon.report.verdict import SIGNS

_QUANTILES = ("min", "mean", "p50", "p99", "p999", "p9999", "max")


def us(value_ns: float | None) -> str:
    """Nanoseconds as microseconds with three decimals, "-" if there is no value."""
    return "-" if value_ns is None else f"{value_ns / 1000:.3f}"


def shown_outcome(entry: StreamResult) -> Cell:
    """An outcome by a sign and a word."""
    return Cell(
        f"{SIGNS[entry['outcome']]} {entry['outcome']}", bad=entry["outcome"] != outcomes.MET
    )


def left_ns(entry: StreamResult, key: str) -> float | None:
    """What the worst frame left of the deadline or bound; below zero if it was exceeded."""
    check = entry["bound_check"].get(key)
    worst = None if check is None else check["worst_ns"] or entry["delay_ns"]["max"]
    return None if check is None or worst is None else check["bound_ns"] - worst


def _share(used: float | None) -> str:
    """In %; what is not all of it does not look like it, and less than nothing is none."""
    if used is None:
        return "-"
    return f"{used if used >= 1 else min(max(used, 0.0), 0.999):.1%}"


def _used(entry: StreamResult) -> Cell:
    """How much of the deadline, or of the bound where there is none, the worst frame used: from, to
    where that may be off.
    """
    checks, worst = entry["bound_check"], entry["delay_ns"]["max"]
    key = outcomes.DEADLINE if outcomes.DEADLINE in checks else "delay_ns"
    left = left_ns(entry, key)
    limit = checks[key]["bound_ns"] if key in checks else None
    used = (limit - left) / limit if limit and left is not None else None
    late = left is not None and left < -origin.off_ns(entry)
    off_ns = origin.off_ns(entry)
    if used is None or worst is None or not limit or not off_ns:
        return Cell(_share(used), bad=late, share=None if used is None else max(used, 0.0))
    least, most = (worst - off_ns) / limit, (worst + off_ns) / limit
    return Cell(f"{_share(least)} to {_share(most)}", bad=late, share=max(most, 0.0))


def _within(value_ns: float | None, off_ns: float) -> str:
    """In us, with how far it may be off."""
    return us(value_ns) + (f" ± {us(off_ns)}" if off_ns and value_ns is not None else "")


def worst_first(result: Result) -> list[dict[str, Any]]:
    """Streams as the scenario has them; if they are too many for a table, those first that have
    the least margin in the judged run.
    """
    found: list[dict[str, Any]] = result["effective"]["stream"]
    if len(found) <= ROWS_MAX or not result["runs"]:
        return found
    judged = result["runs"][0]["streams"]
    return sorted(found, key=lambda stream: tightness(judged[stream["id"]]))


def tightness(entry: StreamResult) -> float:
    """What is left of the nearer of deadline and bound; less than any where frames are missing or
    nothing says how much there is.
    """
    found = [left for key in outcomes.LATEST if (left := left_ns(entry, key)) is not None]
    return min(found, default=float("-inf")) if not entry["missing"] else float("-inf")


def streams(result: Result, plan: Plan, plotted: Container[str]) -> Grid:
    """Every stream in the judged run: its margin to the deadline, and beside it the bound; those
    that are plotted link there.
    """
    grid = Grid(
        "Every stream in the judged run: margin to the deadline, bound",
        [
            Column("stream", "text"), Column("margin to the deadline, µs"),
            Column("worst delay, µs"), Column("deadline, µs"), Column("of the deadline used"),
            Column("bound, µs"), Column("left of the bound, µs"), Column("from, to", "words"),
            Column("period, µs"), Column("frames due"), Column("missing"),
            Column("outcome", "text"),
        ],
    )  # fmt: skip
    if not result["runs"]:
        return grid
    run = result["runs"][0]
    for stream in worst_first(result):
        name = stream["id"]
        entry, bounds = run["streams"][name], plan["streams"][name]["bounds"]
        worst, off_ns = entry["delay_ns"]["max"], origin.off_ns(entry)
        lefts = [left_ns(entry, key) for key in (outcomes.DEADLINE, "delay_ns")]
        margin, own = (
            Cell(_within(left, off_ns), bad=left is not None and left < -off_ns) for left in lefts
        )
        grid.rows.append(
            [
                Cell(name, link=f"#stream-{name}" if name in plotted else ""),
                margin,
                Cell(_within(worst, off_ns), bad=margin.bad or own.bad),
                Cell(us(stream.get("deadline_ns"))),
                _used(entry),
                Cell(us(bounds["delay_ns"])),
                own,
                Cell(f"{stream['talker']} → {', '.join(stream['listeners'])}"),
                Cell(f"{stream['period_ns'] / 1000:.15g}"),
                Cell(str(entry["due"]), bad=not entry["due"]),
                Cell(str(entry["missing"]), bad=bool(entry["missing"])),
                shown_outcome(entry),
            ]
        )
    return grid


def distributions(result: Result) -> Grid:
    """Quantiles of the delay, a row for each stream and run."""
    grid = Grid(
        "Quantiles of the delay, µs",
        [Column("stream", "text"), Column("run", "text")]
        + [Column(f"{name}, µs") for name in _QUANTILES]
        + [Column("standard deviation, µs"), Column("deliveries")],
    )
    for stream in result["effective"]["stream"]:
        for run in result["runs"]:
            delay = run["streams"][stream["id"]]["delay_ns"]
            values = [us(delay[key]) for key in _QUANTILES]  # type: ignore[literal-required]
            grid.rows.append(
                cells(stream["id"], run["driver"], *values, us(delay["stddev"]), delay["count"])
            )
    return grid


def routes(result: Result, plan: Plan) -> Grid:
    """What the picture of the network shows, in words."""
    grid = Grid(
        "Routes",
        [
            Column("stream", "text"), Column("route", "words"), Column("priority"),
            Column("frame, bytes"), Column("on the wire, bytes"), Column("release, ns", "words"),
        ],
    )  # fmt: skip
    for stream in result["effective"]["stream"]:
        entry = plan["streams"][stream["id"]]
        ways = [
            " → ".join([stream["talker"], *route, listener]) for listener, route in ways_of(entry)
        ]
        releases = entry.get("turns_ns", [entry["release_ns"]])
        grid.rows.append(
            cells(
                stream["id"], ", ".join(ways), stream["priority"], stream["frame_bytes"],
                entry["frame_bytes_on_wire"], ", ".join(map(str, releases)),
            )
        )  # fmt: skip
    return grid


def windows(result: Result, plan: Plan) -> Grid:
    """When frames leave their talkers and bridges: the chart of slots and gates in numbers."""
    grid = Grid(
        "Releases and windows",
        [
            Column("stream", "text"), Column("leaves", "text"), Column("towards", "text"),
            Column("earliest, ns"), Column("latest, ns"), Column("until, ns"),
        ],
    )  # fmt: skip
    for stream in result["effective"]["stream"]:
        entry = plan["streams"][stream["id"]]
        early_ns = entry["release_ns"] + entry["release_early_ps"] / 1000
        late_ns = entry["release_ns"] + entry["release_late_ps"] / 1000
        grid.rows.append(
            cells(stream["id"], stream["talker"], "-", f"{early_ns:.3f}", f"{late_ns:.3f}", None)
        )
        for window in entry["windows"]:
            grid.rows.append(
                cells(
                    stream["id"],
                    window["bridge"],
                    window["peer"],
                    f"{window['open_ps'] / 1000:.3f}",
                    f"{window['last_ps'] / 1000:.3f}",
                    f"{(window['open_ps'] + window['length_ps']) / 1000:.3f}",
                )
            )
    return grid


def loads(result: Result) -> Grid:
    """Best effort: what was asked for, what arrived."""
    grid = Grid(
        "Loads",
        [
            Column("run", "text"), Column("load", "text"), Column("from, to", "words"),
            Column("kind", "text"), Column("asked for, Mb/s"), Column("arrived, Mb/s"),
            Column("lost", "words"),
        ],
    )  # fmt: skip
    asked = {load["id"]: load for load in result["effective"].get("load", [])}
    for run in result["runs"]:
        for name, entry in run["loads"].items():
            load = asked.get(name, {})
            rate = load.get("rate_bps")
            lost = entry.get("lost", 0)
            losses = (
                ", ".join(f"{k}: {v}" for k, v in lost.items()) if isinstance(lost, dict) else lost
            )
            goodput = entry.get("goodput_bps")
            grid.rows.append(
                cells(
                    run["driver"], name,
                    f"{load.get('talker', '?')} → {load.get('listener', '?')}",
                    load.get("kind", "?"),
                    "as much as fits" if rate is None or load.get("kind") in ("saturate", "tcp")
                    else f"{rate / 1e6:.1f}",
                    None if goodput is None else f"{goodput / 1e6:.3f}", losses or "none",
                )
            )  # fmt: skip
    return grid


def _ports(run: RunResult) -> Iterator[tuple[str, StationResult | PortResult]]:
    """Stations of a run; of those with several ports, the ports."""
    for name, entry in run["stations"].items():
        yield from entry.get("ports", {name: entry}).items()


def stations(result: Result) -> Grid:
    """Talkers and what their wires carried."""
    grid = Grid(
        "Stations",
        [
            Column("run", "text"), Column("station", "text"), Column("best effort sent, Mb/s"),
            Column("slots"), Column("placeholders"), Column("underruns"),
            Column("suspected underruns"),
        ],
    )  # fmt: skip
    for run in result["runs"]:
        for name, entry in _ports(run):
            rate = entry.get("best_effort_bps")
            slots = entry.get("slots_total", 0)
            if not slots and not rate:
                continue
            underruns = entry.get("underruns", 0)
            row = cells(
                run["driver"], name, None if rate is None else f"{rate / 1e6:.3f}", slots,
                entry.get("placeholders"),
            )  # fmt: skip
            row += [
                Cell(str(underruns), bad=bool(underruns)),
                *cells(entry.get("suspected_underruns", 0)),
            ]
            grid.rows.append(row)
    return grid


def ptp_frames(result: Result) -> Grid:
    """PTP's frames by kind of message."""
    keys = ("submitted", "on_wire", "pending", "delivered", "in_flight", "refused")
    grid = Grid(
        "PTP's frames",
        [Column("run", "text"), Column("message", "text")]
        + [Column(key.replace("_", " ")) for key in keys]
        + [Column("lost", "words")],
    )
    for run in result["runs"]:
        for kind, entry in run.get("ptp_frames", {}).items():
            lost = ", ".join(f"{place}: {count}" for place, count in entry.get("lost", {}).items())
            values = [entry.get(key, 0) for key in keys]
            grid.rows.append(cells(run["driver"], kind, *values, lost or "none"))
    return grid


def drivers_of(entries: list[str]) -> str:
    """ "station (driver)" entries shown as the number of stations per driver."""
    counts = Counter(entry.rpartition(" (")[2].rstrip(")") for entry in entries)
    return ", ".join(f"{count} x {driver}" for driver, count in counts.items())


def calibrated(result: Result) -> Grid:
    """Parameters taken from publications."""
    return Grid(
        "Calibrated",
        [
            Column("parameter", "words"), Column("value"), Column("source", "words"),
            Column("used by", "words"),
        ],
        [
            cells(
                entry["parameter"], entry["value"], entry["source_id"],
                drivers_of(entry.get("stations", [])) or None,
            )
            for entry in result["calibrated"]
        ],
    )  # fmt: skip


def chosen(result: Result) -> Grid:
    """Parameters that nobody has published, or that the scenario sets."""
    return Grid(
        "Chosen",
        [
            Column("parameter", "words"), Column("value"), Column("why", "words"),
            Column("used by", "words"),
        ],
        [
            cells(
                entry["parameter"], entry["value"], entry["why"],
                drivers_of(entry.get("stations", [])) or None,
            )
            for entry in result["chosen"]
        ],
    )  # fmt: skip


def planned_stations(scenario: Scenario, plan: Plan) -> Grid:
    """MTU of every port of a station; of those with slots, slots, rings and what polls take of a
    CPU.
    """
    keys = ("slot_bytes", "ring_slots", "partition_slots", "batch_slots", "depth_slots")
    grid = Grid(
        "Stations as planned",
        [Column("station", "text"), Column("planned as", "words"), Column("MTU", "words")]
        + [Column("CPU"), Column("slot time, ns")]
        + [Column(key.replace("_", " ")) for key in keys],
    )
    ports = Topology(scenario).ports
    for name, mtu in mtu_of_ports(scenario, plan).items():
        station: Any = plan["stations"].get(name, {})
        if "slot_bytes" in station:
            share = station["headroom"].get("cpu_share")
            cpu = None if share is None else f"{share:.1%}"
            values = [cpu, f"{station['slot_time_ps'] / 1000:.15g}", *(station[k] for k in keys)]
            how = f"{station['driver']}, {station['mode']}"
        else:
            own = scenario.station_named(ports[name].station)
            values, how = [None] * (2 + len(keys)), station.get("driver", own.driver)
        grid.rows.append(cells(name, how, mtu, *values))
    return grid
