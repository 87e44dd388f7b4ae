# SPDX-License-Identifier: BSD-3-Clause
"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from keepon.model.plan import Plan, PlannedStation
from keepon.model.result import Result
from keepon.model.wire import TAGGED_HEADER_BYTES
from keepon.report.grids import Grid
from keepon.report.origin import clocks as host_clocks
from keepon.report.origin import instants
from keepon.report.page import (
    COLUMNS,
    PUBLISHED_DRIVERS,
    PUBLISHED_NAMES,
    DelayRow,
    clock_rows,
    comparison,
)

CLOCKS_MAX = 3
"""Rows for each driver."""


def delays(result: Result, width: int | None) -> list[Table]:
    """Mean, P99 and max delay per stream and driver in us, beside the published ones; clocks, if
    PTP set any; on target host who stamped frames, and the stations' clocks.

    Returns:
        one table, or one per driver where `width` columns, if there is a limit, are too few for it,
        and those of clocks and stamps.
    """
    synchronised = clocks(result)
    found = _delay_tables(result, width) + ([synchronised] if synchronised is not None else [])
    return found + [_of_grid(grid) for grid in (instants(result), host_clocks(result)) if grid.rows]


def _of_grid(grid: Grid) -> Table:
    """A table of the page on the terminal."""
    table = Table(title=escape(grid.caption), title_justify="left")
    for column in grid.columns:
        table.add_column(
            escape(column.title), justify="right" if column.kind == "number" else "left"
        )
    for row in grid.rows:
        table.add_row(*(escape(cell.text) for cell in row))
    return table


def _table(
    title: str, words: Iterable[str], numbers: Iterable[str], more: Iterable[str] = ()
) -> Table:
    """With columns of words, of numbers and again of words."""
    table = Table(*words, title=title or None, title_justify="left")
    for column in numbers:
        table.add_column(column, justify="right")
    for column in more:
        table.add_column(column)
    return table


def _delay_tables(result: Result, width: int | None) -> list[Table]:
    drivers = [run["driver"] for run in result["runs"]]
    rows = comparison(result)
    whole = _delay_table(rows, drivers, PUBLISHED_DRIVERS)
    if width is None or len(drivers) == 1 or Console(width=1000).measure(whole).maximum <= width:
        return [whole]
    return [
        _delay_table(rows, [driver], tuple(name for name in PUBLISHED_DRIVERS if name == driver))
        for driver in drivers
    ]


def _delay_table(
    rows: list[DelayRow],
    drivers: list[str],
    published_drivers: tuple[str, ...],
) -> Table:
    with_published = any(row["published"] for row in rows) and bool(published_drivers)
    table = Table()
    table.add_column("stream")
    for driver in drivers:
        for column in COLUMNS:
            table.add_column(f"{driver}\n{column}", justify="right", no_wrap=True)
        table.add_column(f"{driver}\nmissing", justify="right", no_wrap=True)
        for column in ("deadline", "bounds"):
            table.add_column(f"{driver}\n{column}", no_wrap=True)
    for driver in published_drivers if with_published else ():
        for column in COLUMNS:
            table.add_column(
                f"{PUBLISHED_NAMES[driver]}*\n{column}", justify="right", style="dim", no_wrap=True
            )
    for row in rows:
        cells = [row["stream"]]
        for driver in drivers:
            own = row["runs"][driver]
            style = "" if own["met"] else "[red]"
            values = (
                own["mean"], own["p99"], own["max"], own["missing"], own["by_deadline"],
                own["by_bounds"],
            )  # fmt: skip
            cells.extend(f"{style}{value}" for value in values)
        if with_published and row["published"]:
            cells.extend(
                f"{row['published'][name][column]:.1f}"
                for name in published_drivers
                for column in COLUMNS
            )
        elif with_published:
            cells.extend(["-"] * len(COLUMNS) * len(published_drivers))
        table.add_row(*cells)
    return table


def delay_notes(result: Result) -> list[str]:
    """What the columns with an asterisk are."""
    rows = comparison(result)
    if not any(row["published"] for row in rows):
        return []
    absent = ", ".join(row["stream"] for row in rows if row["note"] == "not published")
    return [
        "* published: keepon.table1, whose delays end with the frame's last bit (1.6 us later than"
        f" ours); {absent}: not published"
    ]


def clocks(result: Result) -> Table | None:
    """Offset of clocks that PTP set, in us, of each driver those that are farthest off; None if
    there is none.
    """
    rows = clock_rows(result)
    if not rows:
        return None
    shown = []
    for run in result["runs"]:
        own = [row for row in rows if row["driver"] == run["driver"]]
        shown += sorted(own, key=lambda row: row["max"] != "-" and -float(row["max"]))[:CLOCKS_MAX]
    quantities = ("mean", "stddev", "p99.9", "rms", "max")
    columns = [*(f"{name} us" for name in quantities), "locked after s"]
    table = _table("", ["driver", "node", "clock"], columns)
    if len(shown) < len(rows):
        table.caption = f"and {len(rows) - len(shown)} clocks no farther off, which the report has"
    for row in shown:
        lock = "-" if row["lock_s"] is None else f"{row['lock_s']:.2f}"
        numbers = [row[key] for key in ("mean", "stddev", "p999", "rms", "max")]
        table.add_row(row["driver"], row["node"], row["source"], *numbers, lock)
    return table


def plan_table(plan: Plan) -> Table:
    """Release and bounds per stream."""
    keys = ("release_error_ns", "delay_min_ns", "delay_ns", "jitter_ns", "data_age_ns")
    names = ("release error ns", "earliest ns", "delay ns", "jitter ns", "data age ns")
    table = _table("", ["stream", "route"], ["release ns", *names])
    for name, entry in plan["streams"].items():
        found = [entry["bounds"].get(key) for key in keys]
        bounds = ["-" if value is None else str(value) for value in found]
        table.add_row(name, " ".join(entry["route"]) or "direct", str(entry["release_ns"]), *bounds)
    return table


def rationale(plan: Plan, of: str | None = None) -> list[Table]:
    """Why every station, or that one, has the parameters it has; stations with the same reasons in
    one table.
    """
    alike: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for name, station in plan["stations"].items():
        found = station.get("rationale", [])
        if not _is_of(name, of):
            continue
        rows = tuple((row["rule"], row["quantity"], row["why"]) for row in found)
        if rows:
            alike.setdefault(rows, []).append(name)
    tables = []
    for rows, names in alike.items():
        title = escape(f"{', '.join(names)}: why these parameters")
        table = Table("rule", "quantity", "why", title=title, title_justify="left")
        for row in rows:
            table.add_row(*map(escape, row))
        tables.append(table)
    return tables


def everything(plan: Plan) -> list[Table]:
    """All that the first screen leaves out: releases and bounds, what stations and bridges get, the
    terms of every delay bound, and why.
    """
    return [
        plan_table(plan), *stations(plan), *gate_lists(plan), *delay_terms(plan), *rationale(plan)
    ]  # fmt: skip


def _is_of(port: str, station: str | None) -> bool:
    return station in (None, port, port.rpartition(".")[0])


def stations(plan: Plan, of: str | None = None) -> list[Table]:
    """Slots and partitions, of one station or all."""
    several = any("frame_bytes_max" in entry for entry in plan["stations"].values())
    numbers = ["slot bytes", "slot us", "ring", "partition", "batch", "depth"]
    numbers += ["best effort Mb/s", "payload share", "poll budget us"]
    words = ["slots by class", *(["MTU by class"] if several else [])]
    table = _table("stations", ["station", "driver"], numbers, words)
    for own, entry in plan["stations"].items():
        if not _is_of(own, of):
            continue
        name = f"{own} (to {entry['peer']})" if "peer" in entry else own
        if "allowed" not in entry:
            if entry["streams"]:
                table.add_row(name, entry["driver"], *["-"] * (len(numbers) + len(words)))
            continue
        headroom = entry["headroom"]
        table.add_row(
            name, entry["driver"], str(entry["slot_bytes"]), f"{entry['slot_time_ps'] / 1e6:.15g}",
            *(str(entry[key]) for key in ("ring_slots", "partition_slots", "batch_slots",
            "depth_slots")),
            f"{headroom['best_effort_bps'] / 1e6:.1f}", f"{headroom['payload_efficiency']:.3f}",
            f"{headroom['poll_budget_ns'] / 1e3:.15g}", _slots_by_class(entry["allowed"]),
            *([_mtu_by_class(entry)] if several else []),
        )  # fmt: skip
    return [table] if table.row_count else []


def gate_lists(plan: Plan) -> list[Table]:
    """What ports of bridges get."""
    numbers = ("cycle us", "entries", "shortest ns")
    table = _table("gate lists", ["bridge", "towards"], numbers, ["streams by queue"])
    for bridge, planned_bridge in plan["bridges"].items():
        for peer, port in planned_bridge["ports"].items():
            queues = [
                f"{queue}: {list(port['queues'].values()).count(queue)}"
                for queue in sorted(set(port["queues"].values()))
            ]
            gates = ["-"] * len(numbers)
            if "entries" in port:
                shortest_ns = min(entry["ns"] for entry in port["entries"])
                gates = [
                    f"{port['cycle_ns'] / 1e3:.15g}", str(len(port["entries"])), str(shortest_ns)
                ]  # fmt: skip
            table.add_row(bridge, peer, *gates, ", ".join(queues))
    return [table] if table.row_count else []


def delay_terms(plan: Plan) -> list[Table]:
    """What each delay bound is made of."""
    names = {
        "frame_ps": "frames", "processing_ps": "processing", "propagation_ps": "cables",
        "preamble_ps": "preambles",
        "quantum_ps": "quantum", "clock_ps": "clock",
        "held_ps": "gates", "blocked_ps": "frames in flight",
    }  # fmt: skip
    table = _table("delay, at most, ns", ["stream"], [*names.values(), "sum"])
    for name, stream in plan["streams"].items():
        known = cast(Mapping[str, int], stream["terms"])
        parts = [known.get(key, 0) for key in names]
        if stream["bounds"]["delay_ns"] is None:
            table.add_row(name, *["-"] * (len(parts) + 1))
        else:
            table.add_row(name, *(f"{part / 1e3:.15g}" for part in (*parts, sum(parts))))
    return [table] if table.row_count else []


def _mtu_by_class(station: PlannedStation) -> str:
    """MTU of each class, with room for a tag, where frames take several slots."""
    longest = {
        tc: entry["frame_bytes_max"]
        for tc, entry in station["classes"].items()
        if entry.get("frame_bytes_max")
    }
    return ", ".join(f"{tc}: {count - TAGGED_HEADER_BYTES}" for tc, count in longest.items()) or "-"


def _slots_by_class(allowed: list[int]) -> str:
    """How many partition slots each set of classes has: "0: 12, 7: 488"."""
    counts: dict[int, int] = {}
    for mask in allowed:
        counts[mask] = counts.get(mask, 0) + 1
    parts = []
    for mask, count in sorted(counts.items()):
        classes = "+".join(str(tc) for tc in range(16) if mask >> tc & 1) or "none"
        parts.append(f"{classes}: {count}")
    return ", ".join(parts)
