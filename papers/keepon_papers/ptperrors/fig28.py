# SPDX-License-Identifier: BSD-3-Clause
"""Figure 28: offset and drift error over granularity and over jitter, with what the paper leaves
open varied.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar, get_args

import numpy as np

from keepon.planner.parameters.synchronisation import StampErrors, delta_ts
from keepon_papers import published
from keepon_papers import stampbounds as bounds
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.ptperrors import exchange, fits
from keepon_papers.ptperrors.exchange import Array, Track
from keepon_papers.ptperrors.settings import NS_PER_US, ORIGINS, Distribution, Settings, check
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

FIXED_JITTER_US = (0.0, 1.0, 2.0, 3.0)
CHOSEN_JITTER = FIXED_JITTER_US.index(2.0)
RANK_SIGMAS = 4.0
ROUNDING_US = 1e-6
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)
Name = TypeVar("Name", bound=Hashable)
Sweep = list[tuple[StampErrors, Settings, float, int]]
"""Arguments of `measure` for each point."""


@dataclass(frozen=True)
class Point:
    """One setting of a sweep; errors in us.

    Attributes:
        x_us: granularity or jitter.
        median_us, low_us, high_us: of the absolute error of the offset calculation: median, 5 % and
            95 %.
        uncertainty_us: how far the median may be from the distribution's, RANK_SIGMAS standard
            deviations of its rank.
        max_us: greatest absolute error.
        bound_us: Eq. 4.
        before_us: median of the clock's absolute error when the next sync comes.
        drift_us, drift_low_us, drift_high_us: absolute drift over one interval.
        drift_printed_us, drift_corrected_us: Eq. 6.
    """

    x_us: float
    median_us: float
    low_us: float
    high_us: float
    uncertainty_us: float
    max_us: float
    bound_us: float
    before_us: float
    drift_us: float
    drift_low_us: float
    drift_high_us: float
    drift_printed_us: float
    drift_corrected_us: float


def settled(values: Array, settings: Settings) -> Array:
    """Absolute values once the filter has been full for its length, one dimension."""
    return np.abs(values[:, 2 * settings.filter_window_samples :]).ravel()


def _rank_uncertainty(ordered: Array, independent: int) -> float:
    """Half the distance of the order statistics RANK_SIGMAS standard deviations of the median's
    rank away from it.
    """
    share = min(0.5, RANK_SIGMAS * 0.5 / float(np.sqrt(independent)))
    low, high = np.quantile(ordered, (0.5 - share, 0.5 + share))
    return float(high - low) / 2


def measure(errors: StampErrors, settings: Settings, x_us: float, salt: int) -> Point:
    """Simulate one point of a sweep."""
    track: Track = exchange.simulate(errors, settings, settings.sweep_intervals, salt)
    offset = settled(track.offset_error_ns, settings)
    drift = settled(track.drift_ns, settings)
    # Rounding repeats itself within a seed: only seeds are independent then.
    independent = settings.seeds if settings.distribution == "rounding" else offset.size
    interval = round(settings.interval_ns)
    low, median, high = np.quantile(offset, (0.05, 0.5, 0.95))
    drift_low, drift_median, drift_high = np.quantile(drift, (0.05, 0.5, 0.95))
    return Point(
        x_us,
        *(
            float(value) / NS_PER_US
            for value in (
                median,
                low,
                high,
                _rank_uncertainty(offset, independent),
                offset.max(),
                delta_ts(errors),
                np.median(settled(track.before_ns, settings)),
                drift_median,
                drift_low,
                drift_high,
                bounds.drift_printed(errors, interval),
                bounds.drift_corrected(errors, interval),
            )
        ),
    )


def _errors(granularity_us: float, jitter_us: float) -> StampErrors:
    return bounds.alike(round(granularity_us * NS_PER_US), round(jitter_us * NS_PER_US))


def granularity_sweep(
    settings: Settings, jitter_us: float = 0.0, points: int | None = None
) -> Sweep:
    """Both clocks' granularity from granularity_min_us to granularity_max_us, all four delays up to
    `jitter_us`.
    """
    grid = np.linspace(
        settings.granularity_min_us, settings.granularity_max_us, points or settings.sweep_points
    )
    return [(_errors(float(x), jitter_us), settings, float(x), salt) for salt, x in enumerate(grid)]


def jitter_sweep(settings: Settings, points: int | None = None) -> Sweep:
    """All four delays from jitter_min_us to jitter_max_us, no granularity."""
    grid = np.linspace(
        settings.jitter_min_us, settings.jitter_max_us, points or settings.sweep_points
    )
    return [
        (_errors(0.0, float(x)), settings, float(x), 1000 + salt) for salt, x in enumerate(grid)
    ]


def measured(spread: Spread, sweeps: Mapping[Name, Sweep]) -> dict[Name, list[Point]]:
    """The points of many sweeps, all at once."""
    points = iter(
        spread.in_order(
            measure, [point for sweep in sweeps.values() for point in sweep], "processes if long"
        )
    )
    return {name: [next(points) for _ in sweep] for name, sweep in sweeps.items()}


def _fit(points: list[Point], quantity: str = "median_us") -> fits.Line:
    return fits.line(
        [point.x_us for point in points], [getattr(point, quantity) for point in points]
    )


def _growth(points: list[Point], quantity: str = "median_us") -> float:
    return float(getattr(points[-1], quantity) / getattr(points[0], quantity))


def all_sweeps(settings: Settings) -> dict[tuple[str, str], Sweep]:
    """Every sweep of the study, by what is swept and what is set otherwise."""
    found = {
        ("granularity", ""): granularity_sweep(settings),
        ("jitter", ""): jitter_sweep(settings),
    }
    for jitter_us in FIXED_JITTER_US:
        for source in ("clock", "counter"):
            changed = settings.model_copy(update={"ratio_from": source})
            found[source, f"{jitter_us:g} us"] = granularity_sweep(changed, jitter_us, 2)
    for distribution in DISTRIBUTIONS:
        changed = settings.model_copy(update={"distribution": distribution})
        found["granularity", distribution] = granularity_sweep(changed, points=3)
        found["jitter", distribution] = jitter_sweep(changed, points=3)
    return found


def part(settings: Settings, spread: Spread) -> Part:
    """The four panels of Figure 28, straight lines through them, and what the end points
    depend on.
    """
    points = measured(spread, all_sweeps(settings))
    grain, late = points["granularity", ""], points["jitter", ""]
    sweeps = (("granularity", grain), ("jitter", late))
    fixed = [
        {source: points[source, f"{jitter_us:g} us"] for source in ("clock", "counter")}
        for jitter_us in FIXED_JITTER_US
    ]
    found = Part(
        "fig28", "Figure 28: error over granularity and jitter", "KeepON paper section A.9"
    )
    found.compared = _compared(grain, late, fixed[CHOSEN_JITTER]["counter"])
    found.checks = [check for name, points in sweeps for check in _checks(name, points)]
    found.tables = [
        _lines_table(sweeps),
        _fixed_table(fixed),
        _distribution_table(points),
        *(_sweep_table(name, points) for name, points in sweeps),
    ]
    found.plots = [_plot(sweeps)]
    found.findings = _findings(grain, late, found.compared)
    found.by_construction = [
        (
            "that the error grows as many times as the jitter does: there is no granularity in that"
            " sweep, and the offset formula is linear; the swept range is chosen"
        ),
    ]
    return found


def _checks(name: str, points: list[Point]) -> list[Check]:
    fitted = _fit(points)
    widest = max(point.uncertainty_us for point in points)
    margin = min(point.bound_us - point.max_us for point in points)
    return [
        Check(
            f"the median offset error is linear in the {name}",
            fitted.residual_max <= widest + ROUNDING_US,
            f"greatest residual {fitted.residual_max:.4f} us, uncertainty of a median {widest:.4f}"
            f" us, R2 {fitted.r_squared:.6f}",
        ),
        Check(
            f"no offset error exceeds Eq. 4 in the sweep of {name}",
            margin >= -ROUNDING_US,
            f"nearest {margin:.4f} us below",
        ),
    ]


def _compared(grain: list[Point], late: list[Point], with_jitter: list[Point]) -> list[Comparison]:
    known = published.load("keepon")
    first, second = known["fig28_granularity"], known["fig28_jitter"]
    jitter = f"{FIXED_JITTER_US[CHOSEN_JITTER]:g} us of jitter"
    low, high = f"{grain[0].x_us:g} us", f"{grain[-1].x_us:g} us"
    slope, floor_us = _published_line()
    no_floor = (
        f"granularity alone gives no floor; the published end points have one of {floor_us:.2f} us"
    )
    found = [
        Comparison(what, ours, theirs, first["id"], "calculated", why)
        for what, ours, theirs, why in (
            (
                f"median offset error at {low}, us",
                grain[0].median_us,
                first["median_offset_error_us_min"],
                no_floor,
            ),
            (
                f"median offset error at {high}, us",
                grain[-1].median_us,
                first["median_offset_error_us_max"],
                no_floor,
            ),
            ("growth over granularity", _growth(grain), first["increase_ratio"], no_floor),
            (
                "slope, us per us of granularity",
                _fit(grain).slope,
                slope,
                "published: through the two end points",
            ),
        )
    ]
    why = (
        f"one number, {jitter}, taken for three: the paper states none; at the next sync, ratio"
        " from the counter"
    )
    found += [
        Comparison(what, ours, theirs, first["id"], "calibrated", why)
        for what, ours, theirs in (
            (
                f"clock error at {low}, {jitter}, us",
                with_jitter[0].before_us,
                first["median_offset_error_us_min"],
            ),
            (
                f"clock error at {high}, {jitter}, us",
                with_jitter[-1].before_us,
                first["median_offset_error_us_max"],
            ),
            (f"growth, {jitter}", _growth(with_jitter, "before_us"), first["increase_ratio"]),
        )
    ]
    axis = (
        "the published axis is in the figure only, so the end points cannot be compared; the slope"
        " gives both"
    )
    found += [
        Comparison(
            f"median offset error at {late[0].x_us:g} us of jitter, us",
            late[0].median_us, second["offset_error_us_min"], second["id"], "calculated", axis,
        ),
        Comparison(
            f"median offset error at {late[-1].x_us:g} us of jitter, us",
            late[-1].median_us, second["offset_error_us_max"], second["id"], "calculated", axis,
        ),
        Comparison(
            "growth over jitter",
            _growth(late), second["increase_ratio"], second["id"], "by construction",
            "the sweep's range is chosen, its end points 50 times apart, "
            "and the law is proportional",
        ),
    ]  # fmt: skip
    return found


def _published_line() -> tuple[float, float]:
    """Slope (us per us) and floor (us) of the line through the published end points of the
    granularity sweep.
    """
    known = published.load("keepon")["fig28_granularity"]
    rise = known["median_offset_error_us_max"] - known["median_offset_error_us_min"]
    slope = rise / (known["granularity_us_max"] - known["granularity_us_min"])
    return slope, known["median_offset_error_us_min"] - slope * known["granularity_us_min"]


def _findings(grain: list[Point], late: list[Point], compared: list[Comparison]) -> list[str]:
    worst = max(
        abs(float(row.ours) / float(row.published) - 1)
        for row in compared
        if row.kind == "calibrated" and row.ours is not None and row.published is not None
    )
    by_grain, by_jitter = _fit(grain), _fit(late)
    known = published.load("keepon")
    first, second = known["fig28_granularity"], known["fig28_jitter"]
    published_slope, _ = _published_line()
    fine_us = first["granularity_us_min"]
    low = second["offset_error_us_min"] / by_jitter.slope
    high = second["offset_error_us_max"] / by_jitter.slope
    return [
        (
            f"Granularity: {by_grain.slope:.3f} us of median error per us; the published end points"
            f" lie on a line of {published_slope:.3f}. The slope comes out; the published floor"
            " does not, and needs a jitter that the text does not state: with"
            f" {FIXED_JITTER_US[CHOSEN_JITTER]:g} us of it all three published figures are met"
            f" within {worst:.0%} (calibrated)."
        ),
        (
            f"Jitter: {by_jitter.slope:.3f} us per us. The published errors would need delays up to"
            f" {low:.2f} and {high:.1f} us, and a granularity below"
            f" {second['offset_error_us_min'] / by_grain.slope:.2f} us: even {fine_us:g} us alone"
            f" gives {fine_us * by_grain.slope:.2f} us."
        ),
        "Per us, jitter and granularity weigh about the same, as they do in Eq. 4 with equal clocks"
        " and delays. That "
        f'jitter "has the more pronounced effect" (growth {second["increase_ratio"]} against '
        f"{first['increase_ratio']}) is due to the ranges swept and to the floor.",
    ]


def _lines_table(sweeps: tuple[tuple[str, list[Point]], ...]) -> Table:
    rows: list[list[Cell]] = []
    for name, points in sweeps:
        for what, quantity in (("offset error", "median_us"), ("drift per interval", "drift_us")):
            fitted = _fit(points, quantity)
            rows.append(
                [
                    name,
                    what,
                    fitted.slope,
                    fitted.intercept,
                    fitted.residual_rms,
                    fitted.residual_max,
                    fitted.r_squared,
                ]
            )
    names = (
        "sweep",
        "median of",
        "slope, us/us",
        "intercept, us",
        "residual rms, us",
        "residual max, us",
        "R2",
    )
    return Table("Straight lines", "calculated", [Column(name, 4) for name in names], rows)


def _fixed_table(fixed: list[dict[str, list[Point]]]) -> Table:
    rows: list[list[Cell]] = []
    for jitter_us, by_reading in zip(FIXED_JITTER_US, fixed, strict=True):
        row: list[Cell] = [jitter_us]
        for points, quantity in (
            (by_reading["counter"], "median_us"),
            (by_reading["counter"], "before_us"),
            (by_reading["clock"], "before_us"),
        ):
            row += [
                getattr(points[0], quantity),
                getattr(points[-1], quantity),
                _growth(points, quantity),
            ]
        rows.append(row)
    known = published.load("keepon")["fig28_granularity"]
    names = ["jitter in the granularity sweep, us"]
    for what in ("calculated offset", "at next sync (counter)", "at next sync (clock)"):
        names += [f"{what}, first, us", "last, us", "growth"]
    return Table(
        "What a jitter that is not stated does to the granularity sweep",
        "chosen",
        [Column(name, 2) for name in names],
        rows,
        "Median absolute errors at the ends of the sweep. Published:"
        f" {known['median_offset_error_us_min']}, {known['median_offset_error_us_max']},"
        f" {known['increase_ratio']} ({known['id']}).",
    )


def _distribution_table(points: Mapping[tuple[str, str], list[Point]]) -> Table:
    rows: list[list[Cell]] = []
    for distribution in DISTRIBUTIONS:
        grain, late = points["granularity", distribution], points["jitter", distribution]
        slope = _fit(grain).slope
        rows.append(
            [
                distribution,
                grain[0].median_us,
                grain[-1].median_us,
                _growth(grain),
                slope,
                _fit(late).slope,
            ]
        )
    names = ("distribution", "median at the least granularity, us", "at the greatest, us", "growth")
    return Table(
        "What the distribution of the errors does",
        "chosen",
        [Column(name) for name in (*names, "us per us of granularity", "us per us of jitter")],
        rows,
        "exponential: delays with a mean of a fifth of their range, cut at its end. extremes:"
        " either end. rounding: the clock's reading rounded to its granularity, at a phase of each"
        " seed's own; constant where the granularity divides the interval.",
    )


def _sweep_table(name: str, points: list[Point]) -> Table:
    names = (f"{name}, us", "median", "5 %", "95 %", "max", "Eq. 4", "at next sync", "drift median")
    fields = (
        "x_us",
        "median_us",
        "low_us",
        "high_us",
        "max_us",
        "bound_us",
        "before_us",
        "drift_us",
    )
    ends = ("drift_printed_us", "drift_corrected_us")
    return Table(
        f"Sweep of {name}: absolute errors, us",
        "calculated",
        [Column(column) for column in (*names, "Eq. 6 printed", "Eq. 6 corrected")],
        [[getattr(point, field) for field in (*fields, *ends)] for point in points],
    )


def _plot(sweeps: tuple[tuple[str, list[Point]], ...]) -> Plot:
    panels = []
    for letter, (name, points) in zip("ab", sweeps, strict=True):
        x = [point.x_us for point in points]
        curves = [
            Curve("median", x, [point.median_us for point in points]),
            Curve("5 to 95 %", x, [p.low_us for p in points], "band", [p.high_us for p in points]),
            Curve("greatest", x, [point.max_us for point in points], "points"),
            Curve("Eq. 4", x, [point.bound_us for point in points], "dashed"),
        ]
        panels.append(
            Panel(f"({letter}) offset error", f"{name} (us)", "absolute offset error (us)", curves)
        )
    for letter, (name, points) in zip("cd", sweeps, strict=True):
        x = [point.x_us for point in points]
        curves = [
            Curve("median", x, [point.drift_us for point in points]),
            Curve(
                "5 to 95 %",
                x,
                [p.drift_low_us for p in points],
                "band",
                [p.drift_high_us for p in points],
            ),
            Curve("Eq. 6 as printed", x, [point.drift_printed_us for point in points], "dashed"),
            Curve("Eq. 6 corrected", x, [point.drift_corrected_us for point in points], "dashed"),
        ]
        panels.append(
            Panel(
                f"({letter}) drift over one interval", f"{name} (us)", "absolute drift (us)", curves
            )
        )
    note = "Granularity without jitter, jitter without granularity; frequency filtered."
    return Plot("fig28", "Error over granularity and jitter", "calculated", panels, note)


STUDY = Study(
    "Figure 28: granularity, jitter and the error of PTP", Settings, ORIGINS, parts(part), (check,)
)
