# SPDX-License-Identifier: BSD-3-Clause
"""The report of a result folder: one HTML file that needs nothing else."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Final, TypedDict

import tomli_w

from keepon.model import examples, loading, outcomes, published
from keepon.model.plan import Plan
from keepon.model.result import BoundCheck, BridgeResult, Clock, Result, StationResult, StreamResult
from keepon.report import delayplots, gantt, origin, screen, sections, topology, verdict
from keepon.report.grids import WIDTHS, Cell, Column, Grid
from keepon.report.html import environment
from keepon.report.panels import Panel
from keepon.report.sections import us as microseconds

CASE_STUDY: Final = "habitat"
_SAME: Final = {"stream": "id", "bridge": "name", "link": "ends", "load": "id", "fault": "kind"}
"""What makes the experiment, and what tells its entries apart."""
_NO_FIGURE: Final = ("deadline_ns",)
"""What may be another: no delay depends on it."""
PUBLISHED_DRIVERS = ("keepon", "standard")
PUBLISHED_NAMES = {"keepon": "KeepON", "standard": "GENET"}
COLUMNS = ("mean", "p99", "max")


PLOTTED_STREAMS_MAX = 48
"""A page with more would be too large; those with the least margin are shown."""


class DelayCells(TypedDict):
    """One driver's delay of a stream, in us, how far it may be off in ns, and its outcome; `met`:
    of a peer, by its deadline.
    """

    mean: str
    p99: str
    max: str
    uncertainty_ns: float
    outcome: str
    by_deadline: str
    by_bounds: str
    met: bool
    due: int
    missing: int


class DelayRow(TypedDict):
    """One stream: cells by driver, and what is published of it in us, by driver and column."""

    stream: str
    runs: dict[str, DelayCells]
    published: dict[str, dict[str, float]] | None
    note: str


class BoundCell(TypedDict):
    """A value, and whether it is to be marked."""

    text: str | int
    bad: bool


class BoundRow(TypedDict):
    """One stream: what its plan promises, and the worst of each run."""

    stream: str
    release_ns: int
    bounds: list[str | int]
    runs: list[list[BoundCell]]


class ClockRow(TypedDict):
    """One node in one run; offsets in us."""

    driver: str
    node: str
    source: str
    stamps: str
    mean: str
    stddev: str
    rms: str
    p999: str
    max: str
    lock_s: float | None
    lock_bound_ns: int
    steps: int
    received: int
    lost: int


@functools.cache
def _published() -> dict[str, Any]:
    """The case study as this version has it, with all defaults."""
    return loading.load(examples.path(CASE_STUDY)).effective()


def is_case_study(effective: dict[str, Any]) -> bool:
    """Whether figures of the published case study may stand beside a result: the scenario has its
    streams, bridges, links with their rates, loads and faults; name, duration, seed, drivers and
    hosts may be others.
    """
    ours = _published()
    defaults = ours["defaults"]
    return _is_same(effective["defaults"], defaults, {}) and all(
        _are_same(effective.get(kind, []), ours[kind], key, defaults) for kind, key in _SAME.items()
    )


def _are_same(
    theirs: list[dict[str, Any]], ours: list[dict[str, Any]], key: str, defaults: dict[str, Any]
) -> bool:
    """Whether all entries agree, in whatever order."""
    if len(theirs) != len(ours):
        return False
    theirs, ours = (sorted(some, key=lambda entry: str(entry[key])) for some in (theirs, ours))
    return all(_is_same(their, own, defaults) for their, own in zip(theirs, ours, strict=True))


def _is_same(their: dict[str, Any], own: dict[str, Any], defaults: dict[str, Any]) -> bool:
    """Whether an entry agrees in all keys it has: results of earlier versions lack some."""
    return all(
        value == own.get(name, defaults.get(name))
        for name, value in their.items()
        if name not in _NO_FIGURE
    )


def comparison(result: Result) -> list[DelayRow]:
    """Rows of the table per stream: mean, P99 and max of the delay per driver, beside Table 1 where
    it has them.

    Published values are put beside results of the case study only; `note` is "not published" for
    the streams the paper could not measure (J9).
    """
    habitat = is_case_study(result["effective"])
    table = published.table1() if habitat else {}
    unmeasured = set(published.load()["table1"]["not_published"]) if habitat else set()
    rows: list[DelayRow] = []
    for stream in result["effective"]["stream"]:
        name = stream["id"]
        values: dict[str, DelayCells] = {}
        for run in result["runs"]:
            delay = run["streams"][name]["delay_ns"]
            values[run["driver"]] = {
                "mean": microseconds(delay["mean"]),
                "p99": microseconds(delay["p99"]),
                "max": microseconds(delay["max"]),
                "uncertainty_ns": origin.off_ns(run["streams"][name]),
                "outcome": run["streams"][name]["outcome"],
                "by_deadline": _side(run["streams"][name], "by_deadline"),
                "by_bounds": _side(run["streams"][name], "by_bounds"),
                "met": verdict.of_stream(name, run, result) == outcomes.MET,
                "due": run["streams"][name]["due"],
                "missing": run["streams"][name]["missing"],
            }
        note = (
            ""
            if not habitat or name in table
            else "not published"
            if name in unmeasured
            else "not in the table"
        )
        rows.append({"stream": name, "runs": values, "published": table.get(name), "note": note})
    return rows


def _side(entry: StreamResult, side: outcomes.Side) -> str:
    """An outcome, "-" where there is nothing that it could be of."""
    return entry[side] if any(map(outcomes.SIDES[side], entry["bound_check"])) else "-"


BOUND_KEYS: Final = ("release_error_ns", "delay_min_ns", "delay_ns", "jitter_ns")
RUN_TITLES = {
    "release_error_ns": "release error, ns",
    "delay_min_ns": "earliest, ns",
    "delay_ns": "latest, ns",
    "jitter_ns": "jitter, ns",
    "deadline_ns": "against deadline, ns",
    "talker_clock_ns": "talker's clock, ns",
    "clocks_ns": "talker's and listeners' clocks apart, ns",
}


def checked_keys(result: Result) -> list[str]:
    """Bounds that any run was checked against: all of them, for each can make a stream missed."""
    found = {
        key
        for run in result["runs"]
        for stream in run["streams"].values()
        for key in stream["bound_check"]
    }
    return [key for key in RUN_TITLES if key in found] + sorted(found - set(RUN_TITLES))


def bound_rows(result: Result, plan: Plan) -> list[BoundRow]:
    """Rows of the table of bounds: what the plan promises of a stream, and the worst of
    each run, with the bound it was checked against where that is not the plan's.
    """
    rows: list[BoundRow] = []
    keys = checked_keys(result)
    for stream in result["effective"]["stream"]:
        entry = plan["streams"][stream["id"]]
        runs: list[list[BoundCell]] = []
        for run in result["runs"]:
            found = run["streams"][stream["id"]]
            promised_ns = {**entry["bounds"], "deadline_ns": stream.get("deadline_ns")}
            cells = [
                _bound_cell(key, found["bound_check"].get(key), promised_ns.get(key))
                for key in keys
            ]
            cells += [{"text": found["due"], "bad": not found["due"]}]
            cells += [{"text": found["missing"], "bad": bool(found["missing"])}]
            runs.append(cells)
        bounds = entry["bounds"]
        promised = [*(bounds.get(key) for key in BOUND_KEYS), stream.get("deadline_ns")]
        rows.append(
            {
                "stream": stream["id"],
                "release_ns": entry["release_ns"],
                "bounds": ["-" if bound_ns is None else bound_ns for bound_ns in promised],
                "runs": runs,
            }
        )
    return rows


def _bound_cell(key: str, check: BoundCheck | None, promised_ns: object) -> BoundCell:
    """The worst of a run, how far it may be off, and the bound it was checked against where that is
    another than the plan's: a frame that is not padded may be there earlier.
    """
    if check is None:
        return {"text": "-", "bad": False}
    if check["worst_ns"] is None:
        return {"text": "not checked", "bad": True}
    off_ns = check.get("uncertainty_ns")
    text = origin.ns(check["worst_ns"]) + (f" ± {origin.ns(off_ns)}" if off_ns else "")
    if check["bound_ns"] != promised_ns:
        text += f" (bound {origin.ns(check['bound_ns'])})"
    if origin.is_forgiven(key, check):
        text += ", forgiven"
    if check["outcome"] == outcomes.NOTHING_CHECKED:
        text += ", not checked"
    return {"text": text, "bad": check["outcome"] == outcomes.MISSED}


def clock_rows(result: Result) -> list[ClockRow]:
    """Per run and node whose clock PTP set: source, stamps, offset in us, time to lock, steps,
    Syncs received and lost.

    p999 and max are of |offset|.
    """
    rows: list[ClockRow] = []
    for run in result["runs"]:
        nodes: list[tuple[str, StationResult | BridgeResult]] = [
            *run["stations"].items(),
            *run["bridges"].items(),
        ]
        for node, entry in nodes:
            clock = entry.get("clock", Clock())
            offset = clock.get("offset_ns")
            if not offset or clock["grandmaster"]:
                continue
            low, high = offset["min"], offset["max"]
            largest = None if low is None or high is None else max(abs(low), abs(high))
            rows.append(
                {
                    "driver": run["driver"],
                    "node": node,
                    "source": clock["source"],
                    "stamps": clock["stamps"],
                    "mean": microseconds(offset["mean"]),
                    "stddev": microseconds(offset["stddev"]),
                    "rms": microseconds(offset["rms"]),
                    "p999": microseconds(clock["absolute_p999_ns"]),
                    "max": microseconds(largest),
                    "lock_s": clock["lock_s"],
                    "lock_bound_ns": clock["lock_bound_ns"],
                    "steps": clock["steps"],
                    "received": clock["sync"]["received"],
                    "lost": clock["sync"]["lost"],
                }
            )
    return rows


def delay_grid(result: Result) -> Grid:
    """`comparison` as a table of the page: a row for each stream and run, what is published of it
    beside.
    """
    rows = comparison(result)
    with_published = any(row["published"] for row in rows)
    columns = [Column("stream", "text"), Column("run", "text")]
    columns += [Column(f"{column}, µs") for column in COLUMNS]
    columns += [Column("due"), Column("missing"), Column("deadline", "text")]
    columns.append(Column("bounds", "text"))
    if with_published:
        columns += [Column(f"published {column}, µs", quiet=True) for column in COLUMNS]
        columns.append(Column("published of", "text", quiet=True))
    grid = Grid("Delay of every run", columns)
    for row in rows:
        for run in result["runs"]:
            own = row["runs"][run["driver"]]
            bad = not own["met"]
            cells = [Cell(row["stream"]), Cell(run["driver"])]
            cells += [Cell(value, bad) for value in (own["mean"], own["p99"], own["max"])]
            cells += [Cell(str(own["due"])), Cell(str(own["missing"]), bool(own["missing"]))]
            for side in (own["by_deadline"], own["by_bounds"]):
                cells.append(Cell(side, bad and side == outcomes.MISSED))
            if with_published:
                found = (row["published"] or {}).get(run["driver"])
                cells += [Cell(f"{found[column]:.1f}" if found else "-") for column in COLUMNS]
                name = PUBLISHED_NAMES.get(run["driver"], "-")
                cells.append(Cell(name if found else row["note"] or "-"))
            grid.rows.append(cells)
    return grid


def bound_grid(result: Result, plan: Plan) -> Grid:
    """`bound_rows` as a table of the page: a row for each stream and bound, and for its frames."""
    drivers = [run["driver"] for run in result["runs"]]
    keys = checked_keys(result)
    grid = Grid(
        "Every bound, and the worst of each run",
        [Column("stream", "text"), Column("quantity", "text"), Column("promised")]
        + [Column(driver) for driver in drivers],
    )
    for row in bound_rows(result, plan):
        promised = dict(zip((*BOUND_KEYS, "deadline_ns"), row["bounds"], strict=True))
        titles = [RUN_TITLES.get(key, key) for key in keys]
        for place, title in enumerate([*titles, "due", "missing"]):
            bound = promised.get(keys[place], "-") if place < len(keys) else "-"
            cells = [Cell(row["stream"]), Cell(title), Cell(str(bound))]
            cells += [Cell(str(run[place]["text"]), bad=run[place]["bad"]) for run in row["runs"]]
            grid.rows.append(cells)
    return grid


_OFFSETS: Final = ("mean", "stddev", "p999", "rms", "max")


def clock_grid(result: Result) -> Grid:
    """`clock_rows` as a table of the page."""
    grid = Grid(
        "Clocks",
        [
            Column("run", "text"), Column("node", "text"), Column("clock", "text"),
            Column("stamps", "text"), Column("mean, µs"), Column("stddev, µs"),
            Column("p99.9, µs"), Column("rms, µs"), Column("max, µs"), Column("locked after, s"),
            Column("steps"), Column("Sync received"), Column("lost"),
        ],
    )  # fmt: skip
    for row in clock_rows(result):
        lock = "-" if row["lock_s"] is None else f"{row['lock_s']:.2f}"
        words = (row["driver"], row["node"], row["source"], row["stamps"])
        counts = (row["steps"], row["received"], row["lost"])
        grid.rows.append(
            [Cell(str(text)) for text in (*words, *(row[key] for key in _OFFSETS), lock, *counts)]
        )
    return grid


def stream_panels(result: Result) -> tuple[dict[str, list[Panel]], int]:
    """Plots by stream, and of how many streams there are none for want of room.

    Those that are shown have the least margin in the judged run.
    """
    names = [stream["id"] for stream in result["effective"]["stream"]]
    if not result["runs"]:
        return {}, 0
    judged = result["runs"][0]["streams"]
    shown = names
    if len(names) > PLOTTED_STREAMS_MAX:
        tightest = sorted(names, key=lambda name: sections.tightness(judged[name]))
        few = set(tightest[:PLOTTED_STREAMS_MAX])
        shown = [name for name in names if name in few]
    panels = {
        name: delayplots.of_stream(
            name,
            [delayplots.Named(run["driver"], run["streams"][name]) for run in result["runs"]],
            f"stream-{name}",
        )
        for name in shown
    }
    return {name: some for name, some in panels.items() if some}, len(names) - len(shown)


def render(result: Result, plan: Plan, more: str = "") -> str:
    """HTML of a result; `more` is HTML of what else was found."""
    habitat = is_case_study(result["effective"])
    scenario = loading.of_document(result["effective"], "table `effective`")
    plots, left_out = stream_panels(result)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            result=result,
            plan=plan,
            verdicts=verdict.verdicts(result),
            streams=sections.streams(result, plan, plots),
            delays=delay_grid(result),
            picture=topology.drawn(result["effective"], plan, screen.uses(scenario, plan)),
            routes=sections.routes(result, plan),
            chart=gantt.chart(result, plan),
            windows=sections.windows(result, plan),
            plots=plots,
            left_out=left_out,
            distributions=sections.distributions(result),
            first=delayplots.first_frames(result) if result["runs"] else [],
            onset=delayplots.around_onset(result) if result["runs"] else [],
            loads=sections.loads(result),
            stations=sections.stations(result),
            ptp=sections.ptp_frames(result),
            clocks=clock_grid(result),
            clock_bound_ns=next((row["lock_bound_ns"] for row in clock_rows(result)), None),
            clock_plots=delayplots.clocks(result),
            bounds=bound_grid(result, plan),
            kinds=origin.kinds(result),
            off_ns=origin.ns(max(map(origin.run_off_ns, result["runs"]), default=0.0)),
            instants=origin.instants(result),
            host_clocks=origin.clocks(result),
            settings=origin.settings(result),
            calibrated=sections.calibrated(result),
            chosen=sections.chosen(result),
            planned=sections.planned_stations(scenario, plan),
            unpublished=[
                row["stream"] for row in comparison(result) if row["note"] == "not published"
            ],
            published=published.load() if habitat else None,
            effective=tomli_w.dumps(result["effective"]),
            more=more,
            widths=WIDTHS,
        )
    )


def write(path: Path, result: Result, plan: Plan, more: str = "") -> None:
    """Write the report file."""
    path.write_text(render(result, plan, more), encoding="utf-8")
