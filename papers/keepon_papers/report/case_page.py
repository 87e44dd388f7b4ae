# SPDX-License-Identifier: BSD-3-Clause
"""The other parts of the case study: in its page, and on the terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from keepon.report.grids import Column, Grid, cells
from keepon.report.html import environment
from keepon.report.sections import us
from keepon_papers.reproduction import Cascade, NoPaperRun, OnsetPart, PaperRun, Reproduction, read


def seeds(part: Cascade) -> Grid:
    """Every seed of a cascade."""
    names = list(part["seeds"][0]["streams"]) if part["seeds"] else []
    grid = Grid(
        "Seed by seed",
        [Column("seed"), Column("first frame a period late"), Column("shift of F2 after, µs")]
        + [Column(f"{name}: share a period late") for name in names],
    )
    for entry in part["seeds"]:
        first = "never" if entry["onset_frame"] is None else entry["onset_frame"]
        shares = [f"{entry['streams'][name]['share']:.4f}" for name in names]
        grid.rows.append(
            cells(entry["seed"], first, us(entry["shift_after_ns"].get("F2")), *shares)
        )
    return grid


def onset(part: OnsetPart) -> Grid:
    """When cascades start."""
    grid = Grid(
        "When the cascade starts",
        [
            Column("setting", "text"), Column("ETF delta, µs"), Column("driver, µs"),
            Column("tail probability"), Column("tail mean, µs"), Column("guard, µs"),
            Column("runs"), Column("with cascade"), Column("expected share"),
            Column("first late frame, median"),
        ],
    )  # fmt: skip
    for one in part["points"]:
        grid.rows.append(
            cells(
                one["group"], one["delta_ns"] / 1000, one["occupancy_ns"] / 1000,
                one["tail_probability"], one["tail_mean_ns"] / 1000,
                f"{one['guard_ns'] / 1000:.1f}", one["seeds"], one["with_cascade"],
                f"{one['expected_share']:.2f}", one["onset_frame_median"],
            )
        )  # fmt: skip
    return grid


def paper(part: PaperRun) -> Grid:
    """Streams of a run in paper mode."""
    grid = Grid(
        "Streams in paper mode",
        [
            Column("stream", "text"), Column("talker", "text"), Column("crystal, ppm"),
            Column("sent"), Column("delivered"), Column("in a wrong slot"), Column("slips"),
            Column("drift, ppm"), Column("release error min, µs"), Column("max, µs"),
            Column("delay mean, µs"), Column("max, µs"),
        ],
    )  # fmt: skip
    for name, entry in part["streams"].items():
        slots, error, delay = entry["slots"], entry["release_error_ns"], entry["delay_ns"]
        grid.rows.append(
            cells(
                name, entry["talker"], part["stations"][entry["talker"]]["clock_ppm"],
                entry["sent"], entry["delivered"], slots["in_wrong_slot"], slots["slip_count"],
                f"{slots['drift_ppm']:.3f}", us(error["min"]), us(error["max"]),
                us(delay["mean"]), us(delay["max"]),
            )
        )  # fmt: skip
    return grid


def of_file(path: Path) -> str:
    """HTML of a reproduction file, for the page of its result."""
    return section(read(path))


def section(extra: Reproduction) -> str:
    """HTML of all parts there are."""
    onset_plot = ""
    if "onset" in extra["parts"]:
        # Loads matplotlib, which what draws nothing with it should not wait for.
        from keepon_papers.report import figures

        onset_plot = figures.onset_shares(extra["parts"]["onset"]["points"])
    return (
        environment(__package__)
        .get_template("reproduction.html.j2")
        .render(extra=extra, cases=sys.modules[__name__], onset_plot=onset_plot)
    )


def reproduction_lines(extra: Reproduction) -> list[str]:
    """What the case study's other parts gave, in a few lines."""
    parts, sentences = extra["parts"], []
    if "free_running" in parts:
        sentences += _paper_lines("free_running", parts["free_running"])
    if "slot_200" in parts:
        sentences += _paper_lines("slot_200", parts["slot_200"])
    if "cascade" in parts:
        sentences.append(_cascade_line("cascade", parts["cascade"]))
    if "shrunk_tail" in parts:
        sentences.append(_cascade_line("shrunk_tail", parts["shrunk_tail"]))
    points = parts["onset"]["points"] if "onset" in parts else []
    return sentences + [
        f"onset, {one['group']}: delta {one['delta_ns'] / 1000:.15g} us, guard"
        f" {one['guard_ns'] / 1000:.1f} us, cascade in {one['with_cascade']} of {one['seeds']}"
        f" seeds, expected {one['expected_share']:.0%}"
        for one in points
    ]


def _paper_lines(name: str, part: PaperRun | NoPaperRun) -> list[str]:
    if part["status"] != "feasible":
        return [f"{name}: no plan ({part['why']['message']})"]
    found = []
    for stream, entry in part["streams"].items():
        slots = entry["slots"]
        missing = entry.get("due", entry["submitted"]) - entry["delivered"]
        found.append(
            f"{name}: {stream} {slots['in_wrong_slot']} of {entry['sent']} frames in a wrong slot, "
            f"{slots['slip_count']} slips, "
            f"drift {slots['drift_ppm']:.3f} ppm, {missing} missing"
        )
    return found


def _cascade_line(name: str, part: Cascade) -> str:
    summary = part["summary"]
    broken = f"cascade in {summary['with_cascade']} of {summary['seeds']} seeds"
    text = (
        f"{name}: ETF delta {part['etf_delta_ns']} ns, tail scale {part['host_tail_scale']:.15g},"
        f" {broken}"
    )
    if summary["with_cascade"]:
        shift_ns = summary["f2_shift_ns_median"]
        shifted = "no frame of F2 came after it"
        if shift_ns is not None:
            shifted = f"F2 shifted by {shift_ns / 1000:.3f} us"
        text += (
            f", first frame a period late: median {summary['onset_frame_median']} "
            f"({summary['onset_frame_min']} to {summary['onset_frame_max']}), {shifted}"
        )
    return text
