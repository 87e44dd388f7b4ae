# SPDX-License-Identifier: BSD-3-Clause
"""Where the numbers of a result come from, and how far they may be off: calculated by the
simulator, or measured, by whom and by which clocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from keepon.model import outcomes
from keepon.model.result import BoundCheck, Result, RunResult, StreamResult
from keepon.report.grids import Column, Grid, cells

_LEAST: Final = ("delay_min_ns",)
"""Bounds from below."""
_LAW = "it follows from the mechanism, the plan and the numbers below"


@dataclass(frozen=True)
class Kinds:
    """What a page says of its numbers.

    Attributes:
        tag: beside the headings of delays.
        counted: beside that of loads and stations.
        clocks: beside that of the clocks.
        title: of the section on kinds.
        link: the same in the row of links.
        sentences: of the section, each behind its kind.
        none: what is said where no number is calibrated or chosen.
    """

    tag: str
    counted: str
    clocks: str
    title: str
    link: str
    sentences: list[tuple[str, str]]
    none: str


def kinds(result: Result) -> Kinds:
    """What the numbers of a target are."""
    if result["target"] == "sim":
        return Kinds(
            "calculated",
            "calculated",
            "calculated; spread of software's stamps calibrated, their mean chosen",
            "What is calculated, calibrated, chosen and true by construction",
            "What is calculated, what not",
            [("Calculated", f"is everything above: {_LAW}.")],
            "None.",
        )
    by = measured_by(result)
    counted = "by counters of drivers and cards; loads by iperf3"
    title = "What is measured, calculated, calibrated, chosen and true by construction"
    sentences = [
        (
            "Measured",
            f"are delays, release errors and clocks, {by}; counted are frames, {counted}.",
        ),
        ("Calculated", "by the planner are slots, gates, routes, releases and bounds."),
    ]
    none = (
        "None: what the scenario says of hosts, NICs and cables was not used."
        if result["target"] == "host"
        else "Not listed for this target: models of wires, NICs and oscillators were set by the"
        " configuration below, with the commands in guest.script of result.json."
    )
    tag = f"measured {by}"
    return Kinds(
        tag, f"measured {counted}", tag, title, "What is measured, what not", sentences, none
    )


def measured_by(result: Result) -> str:
    """Who measured, of targets vm and host."""
    if result["target"] == "vm":
        return (
            "in the guest, as frames leave by the record of the modelled wire, as they come by"
            " hardware stamps of modelled NICs"
        )
    found = [
        entry["stamps"]
        for run in result["runs"]
        for entry in run["streams"].values()
        if "stamps" in entry
    ]
    if not found:
        return "by stamps"
    left = _names([entry["talker"] for entry in found])
    came = _names([who for entry in found for who in entry["listeners"].values()])
    return f"by stamps: as frames leave, {left}; as they come, {came}"


def _names(stamped: list[str]) -> str:
    """Who stamped, without what that means, which the table of instants has."""
    return " or ".join(dict.fromkeys(who.partition(":")[0] for who in stamped))


def off_ns(entry: StreamResult) -> float:
    """How far delays of a stream may be off: the most that a check of it was forgiven."""
    checks = entry["bound_check"]
    found = [checks[key].get("uncertainty_ns", 0.0) for key in outcomes.LATEST if key in checks]
    stamps = entry.get("stamps")
    stamped = (stamps["uncertainty_ns"] if stamps else None) or 0.0
    return max([*found, stamped])


def run_off_ns(run: RunResult) -> float:
    """The same of the worst stream of a run."""
    return max(map(off_ns, run["streams"].values()), default=0.0)


def is_forgiven(key: str, check: BoundCheck) -> bool:
    """Whether a bound is met only because the worst frame is beyond it by no more than its instant
    may be off.
    """
    if check["outcome"] != outcomes.MET or not check.get("uncertainty_ns"):
        return False
    worst = check["worst_ns"]
    if worst is None:
        return False
    return worst < check["bound_ns"] if key in _LEAST else worst > check["bound_ns"]


def ns(value: float) -> str:
    """Nanoseconds to the picosecond, without zeros that say nothing."""
    return f"{round(value, 3):.15g}"


def instants(result: Result) -> Grid:
    """Target host: who stamped the frames of each stream, and how far delays may be off."""
    grid = Grid(
        "Who stamped frames, and how far delays may be off",
        [
            Column("run", "text"), Column("stream", "text"), Column("stamped as it left", "words"),
            Column("as it came", "words"), Column("delays to within, ns"),
        ],
    )  # fmt: skip
    for run in result["runs"]:
        for name, entry in run["streams"].items():
            if "stamps" not in entry:
                continue
            stamps = entry["stamps"]
            came = ", ".join(f"{where}: {who}" for where, who in stamps["listeners"].items())
            off = stamps["uncertainty_ns"]
            within = "not compared" if off is None else ns(off)
            grid.rows.append(cells(run["driver"], name, stamps["talker"], came, within))
    return grid


def clocks(result: Result) -> Grid:
    """Target host: the clocks of the stations against CLOCK_TAI, as they were read in the run."""
    grid = Grid(
        "Clocks of the stations less CLOCK_TAI",
        [
            Column("run", "text"), Column("station", "text"), Column("clock", "text"),
            Column("least, ns"), Column("greatest, ns"), Column("limit, ns"),
        ],
    )  # fmt: skip
    for run in result["runs"]:
        if "host" not in run:
            continue
        host = run["host"]
        limit_ns = host.get("clock_limit_ns")
        for name, spread_ns in host.get("clock_offsets_ns", {}).items():
            device = host.get("stations", {}).get(name, {}).get("clock") or "the system's"
            grid.rows.append(cells(run["driver"], name, device, *spread_ns, limit_ns))
    return grid


def settings(result: Result) -> Grid:
    """Target host: what a measurement depends on, and the administrator of the machine chooses."""
    grid = Grid(
        "What the machine was set to",
        [Column("run", "text"), Column("of", "text"), Column("setting", "text"),
         Column("value", "words")],
    )  # fmt: skip
    for run in result["runs"]:
        if "host" not in run:
            continue
        host = run["host"]
        cpus = host.get("cpus", {})
        rows: list[tuple[str, str, object]] = [("machine", "kernel", host.get("kernel"))]
        rows.append(("machine", "clocks", host["clocks"]))
        rows += [("CPUs", key.replace("_", " "), value) for key, value in cpus.items()]
        for name, station in host.get("stations", {}).items():
            rows += [(name, key, station.get(key)) for key in ("interface", "driver")]
            gathered = station.get("coalescing") or {}
            rows += [(name, f"interrupts gathered, {key}", it) for key, it in gathered.items()]
        grid.rows += [cells(run["driver"], of, what, _shown(value)) for of, what, value in rows]
    return grid


def _shown(value: object) -> str:
    """A setting; what the machine does not have is "none"."""
    if isinstance(value, list):
        value = ", ".join(dict.fromkeys(map(str, value)))
    return "none" if value in (None, "", "(null)") else str(value)
