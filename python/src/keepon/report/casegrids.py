# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a page over the other parts of the case study."""

from __future__ import annotations

from keepon.model.reproduction import Cascade, OnsetPart, PaperRun
from keepon.report.grids import Column, Grid, cells
from keepon.report.sections import us


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
