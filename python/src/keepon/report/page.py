# SPDX-License-Identifier: BSD-3-Clause
"""The report of a result folder: one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final, TypedDict

import tomli_w
from jinja2 import Environment, PackageLoader, StrictUndefined

from keepon.model import outcomes, published
from keepon.model.plan import Plan
from keepon.model.reproduction import Reproduction
from keepon.model.result import BoundCheck, BridgeResult, Clock, Result, StationResult

PUBLISHED_DRIVERS = ("keepon", "standard")
PUBLISHED_NAMES = {"keepon": "KeepON", "standard": "GENET"}
COLUMNS = ("mean", "p99", "max")


def microseconds(value_ns: float | None) -> str:
    """Nanoseconds shown as microseconds with three decimals, "-" if there is no value."""
    return "-" if value_ns is None else f"{value_ns / 1000:.3f}"


def drivers_of(stations: list[str]) -> str:
    """ "station (driver)" entries shown as the number of stations per driver."""
    counts = Counter(entry.rpartition(" (")[2].rstrip(")") for entry in stations)
    return ", ".join(f"{count} x {driver}" for driver, count in counts.items())


class DelayCells(TypedDict):
    """One driver's delay of a stream, in us, and its outcome."""

    mean: str
    p99: str
    max: str
    outcome: str
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


def comparison(result: Result) -> list[DelayRow]:
    """Rows of the table per stream: mean, P99 and max of the delay per driver, beside Table 1 where
    it has them.

    Published values are put beside results of the habitat scenario only; `published` is "not
    published" for the streams the paper could not measure (J9).
    """
    habitat = result["scenario"].startswith("habitat")
    table = published.table1() if habitat else {}
    unmeasured = set(published.load("keepon")["table1"]["not_published"]) if habitat else set()
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
                "outcome": run["streams"][name]["outcome"],
                "met": run["streams"][name]["outcome"] == outcomes.MET,
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


BOUND_TITLES = (
    "release error bound, ns",
    "earliest, ns",
    "delay bound, ns",
    "jitter bound, ns",
    "deadline, ns",
)
BOUND_KEYS: Final = ("release_error_ns", "delay_min_ns", "delay_ns", "jitter_ns")
RUN_TITLES = {
    "release_error_ns": "release error, ns",
    "delay_min_ns": "earliest, ns",
    "delay_ns": "latest, ns",
    "jitter_ns": "jitter, ns",
    "deadline_ns": "against deadline, ns",
    "talker_clock_ns": "talker's clock, ns",
}


def checked_keys(result: Result) -> list[str]:
    """Bounds that any run was checked against."""
    found = {
        key
        for run in result["runs"]
        for stream in run["streams"].values()
        for key in stream["bound_check"]
    }
    return [key for key in RUN_TITLES if key in found]


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
                _bound_cell(found["bound_check"].get(key), promised_ns.get(key)) for key in keys
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


def _bound_cell(check: BoundCheck | None, promised_ns: object) -> BoundCell:
    """The worst of a run; a frame that is not padded may be there earlier than the plan's."""
    if check is None:
        return {"text": "-", "bad": False}
    if check["worst_ns"] is None:
        return {"text": "not checked", "bad": True}
    own = f" (bound {check['bound_ns']})" if check["bound_ns"] != promised_ns else ""
    return {"text": f"{check['worst_ns']:.0f}{own}", "bad": not check["met"]}


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


def render(result: Result, plan: Plan, extra: Reproduction | None = None) -> str:
    """HTML of a result; `extra` is the reproduction document of the case study, if there is one."""
    # Loads matplotlib, which what draws nothing should not wait for.
    from keepon.report import figures

    environment = Environment(
        loader=PackageLoader("keepon.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["us"] = microseconds
    environment.filters["drivers"] = drivers_of
    habitat = result["scenario"].startswith("habitat")
    return environment.get_template("report.html.j2").render(
        result=result,
        plan=plan,
        rows=comparison(result),
        bounds=bound_rows(result, plan),
        bound_titles=BOUND_TITLES,
        run_titles=[*(RUN_TITLES[key] for key in checked_keys(result)), "due", "missing"],
        clocks=clock_rows(result),
        drivers=[run["driver"] for run in result["runs"]],
        columns=COLUMNS,
        published=published.load("keepon") if habitat else None,
        published_drivers=PUBLISHED_DRIVERS,
        first_figure=figures.first_frames(result) if result["runs"] else None,
        onset_figure=figures.around_onset(result) if result["runs"] else None,
        effective=tomli_w.dumps(result["effective"]),
        extra=extra,
        onset_plot=figures.onset_shares(extra["parts"]["onset"]["points"])
        if extra and "onset" in extra["parts"]
        else "",
    )


def write(path: Path, result: Result, plan: Plan, extra: Reproduction | None = None) -> None:
    """Write the report file."""
    path.write_text(render(result, plan, extra), encoding="utf-8")
