# SPDX-License-Identifier: BSD-3-Clause
"""Figure 29: the frequency ratio and the drift with and without the moving average, for each
reading of Eq. 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from keepon.errors import ConfigError
from keepon.planner.parameters.synchronisation import StampErrors
from keepon_papers import published
from keepon_papers import stampbounds as bounds
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.ptperrors import exchange
from keepon_papers.ptperrors.exchange import Array, Track
from keepon_papers.ptperrors.settings import NS_PER_US, ORIGINS, RatioFrom, Settings
from keepon_papers.ptperrors.settings import check as check_times
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

DURATIONS = (100, 200, 500, 1000, 2000, 5000)
GROWS = 2.0
"""Variance grows if its mean over the last third of a run is this many times that over the first: a
random walk has a factor of 5, a bounded error of 1."""


@dataclass(frozen=True)
class Reading:
    """One reading of the ratio, filtered or not; drifts in us.

    Attributes:
        track: the simulation.
        drift_mean_us: mean absolute drift over an interval.
        drift_growth: variance over the seeds of that drift, last third of the run over the first.
        sum_growth: the same of the drifts added up.
        alternation: correlation of a ratio's error with the next one's; -1: it alternates.
        remains_ppb: ratio error left at the end if no stamp has an error.
    """

    track: Track
    drift_mean_us: float
    drift_growth: float
    sum_growth: float
    alternation: float
    remains_ppb: float


def growth(values: Array) -> float:
    """Variance over the seeds (axis 0), its mean over the last third of the intervals over that of
    the first.
    """
    variance = values.var(axis=0, ddof=1)
    third = variance.size // 3
    return float(variance[-third:].mean() / variance[:third].mean())


def steady_limit(settings: Settings) -> float:
    """What `growth` of a bounded error stays below: four standard deviations of a quotient of two
    variances.

    A third of the run has seeds x intervals / 3 values, of which 2 x window neighbours count as
    one.
    """
    independent = (
        settings.seeds
        * (settings.intervals - skipped(settings))
        / 3
        / (2 * settings.filter_window_samples)
    )
    return float(1 + 4 * np.sqrt(4 / independent))


def mean_drift_us(track: Track, first: int, last: int | None = None) -> float:
    """Mean absolute drift over an interval, us, of the intervals from `first` on and
    before `last`.
    """
    return float(np.abs(track.drift_ns[:, first:last]).mean()) / NS_PER_US


def skipped(settings: Settings) -> int:
    """Intervals left out at the start: twice what the published filter needs to fill, the same with
    and without.
    """
    return 2 * settings.filter_window_samples


def read(settings: Settings, errors: StampErrors, source: RatioFrom, window: int) -> Reading:
    """Simulate one reading with a moving average of `window` ratios."""
    changed = settings.model_copy(update={"ratio_from": source, "filter_window_samples": window})
    track = exchange.simulate(errors, changed, settings.intervals)
    quiet = exchange.simulate(
        StampErrors(),
        changed.model_copy(update={"seeds": 1, "distribution": "uniform"}),
        settings.intervals,
    )
    first = skipped(settings)
    ratios = track.ratio_error_ppb[:, first:]
    deviation = ratios - ratios.mean()
    return Reading(
        track=track,
        drift_mean_us=mean_drift_us(track, first),
        drift_growth=growth(track.drift_ns[:, first:]),
        sum_growth=growth(np.cumsum(track.drift_ns[:, first:], axis=1)),
        alternation=float((deviation[:, 1:] * deviation[:, :-1]).mean() / (deviation**2).mean()),
        remains_ppb=float(np.abs(quiet.ratio_error_ppb[0, -2:]).max()),
    )


def duration_for(reduction: float, rough: Track, smooth: Track, first: int) -> int | None:
    """Intervals after which the averages differ by `reduction`; None if they never do.

    Where the unfiltered drift grows, so does their ratio, and a published ratio means a length of
    run.
    """
    counts = np.arange(1, rough.drift_ns.shape[1] - first + 1)
    sums = [
        np.cumsum(np.abs(track.drift_ns[:, first:]).mean(axis=0)) / counts
        for track in (rough, smooth)
    ]
    reached = np.flatnonzero(sums[0] / sums[1] >= reduction)
    return int(reached[0]) + first + 1 if reached.size else None


def check(settings: Settings) -> None:
    """Refuse what leaves nothing to compare.

    Raises:
        ConfigError: there is no filter.
    """
    if settings.filter_window_samples == 1:
        raise ConfigError(
            "setting `filter_window_samples` = 1: must be between 2 and 1000 in Figure 29's study,"
            " which shows the same without a filter beside it; choose 2 or more"
        )


def part(settings: Settings, spread: Spread) -> Part:
    """Figure 29's panels, and all readings of what the paper leaves open."""
    errors = bounds.alike(
        round(settings.granularity_us * NS_PER_US), round(settings.jitter_us * NS_PER_US)
    )
    window = settings.filter_window_samples
    tasks = [(settings, errors, source, length) for source in _sources() for length in (1, window)]
    found_readings = spread.in_order(read, tasks, "processes if long")
    pairs = zip(found_readings[::2], found_readings[1::2], strict=True)
    readings = dict(zip(_sources(), pairs, strict=True))
    rough, smooth = readings[settings.ratio_from]
    found = Part(
        "fig29", "Figure 29: with and without a filter of the frequency", "KeepON paper section A.9"
    )
    found.compared = _compared(settings, readings)
    found.checks = _checks(settings, errors, readings)
    found.tables = [_readings_table(readings), _durations_table(settings, readings)]
    found.plots = [_plot(settings, errors, rough, smooth), _growth_plot(settings, readings)]
    found.findings = _findings(settings, readings)
    found.by_construction = [
        (
            f"that the rate is off by {settings.frequency_ppm:g} ppm until the second sync: the"
            " published setting"
        ),
    ]
    return found


def _sources() -> tuple[RatioFrom, ...]:
    found: tuple[RatioFrom, ...] = get_args(RatioFrom)
    return found


def _compared(
    settings: Settings, readings: dict[RatioFrom, tuple[Reading, Reading]]
) -> list[Comparison]:
    known = published.load("keepon")["fig29"]
    remarks = {
        "clock": (
            f"grows with the run (table below), varies with the seed; here {settings.intervals}"
            " intervals, published unknown"
        ),
        "counter": "successive errors cancel in the mean of n ratios, so the factor tends to n",
        "independent": "the mean of n independent ratios: the factor tends to the root of n",
    }
    return [
        Comparison(
            f"average drift, unfiltered / filtered, ratio from {source}",
            rough.drift_mean_us / smooth.drift_mean_us,
            known["drift_error_reduction_ratio"],
            known["id"],
            "calculated",
            remarks[source],
        )
        for source, (rough, smooth) in readings.items()
    ]


def _checks(
    settings: Settings, errors: StampErrors, readings: dict[RatioFrom, tuple[Reading, Reading]]
) -> list[Check]:
    interval = round(settings.interval_ns)
    printed_us = float(bounds.drift_printed(errors, interval)) / NS_PER_US
    limit = steady_limit(settings)
    checks = []
    if errors.span_master or errors.span_slave:
        rough, smooth = readings["clock"]
        checks = [
            Check(
                "unfiltered, ratio from clock: the ratio alternates and the drift's variance grows"
                " (H11)",
                rough.alternation < -0.5 and rough.drift_growth > GROWS,
                f"correlation of neighbours {rough.alternation:.2f}, variance"
                f" x{rough.drift_growth:.2f} from the first to the last third",
            ),
            Check(
                "filtered, ratio from clock: the drift's variance stays and its mean is within Eq."
                " 6 (H12)",
                1 / limit < smooth.drift_growth < limit and smooth.drift_mean_us < printed_us,
                f"variance x{smooth.drift_growth:.2f}, mean {smooth.drift_mean_us:.3f} us, printed"
                f" bound {printed_us:.3f} us",
            ),
            Check(
                "ratio from a free-running counter: neither drift nor its sum grows, filtered"
                " or not",
                all(
                    1 / limit < value < limit
                    for reading in readings["counter"]
                    for value in (reading.drift_growth, reading.sum_growth)
                ),
                ", ".join(
                    f"{name} x{reading.drift_growth:.2f}, sum x{reading.sum_growth:.2f}"
                    for name, reading in zip(
                        ("unfiltered", "filtered"), readings["counter"], strict=True
                    )
                ),
            ),
        ]
    return checks


def _findings(settings: Settings, readings: dict[RatioFrom, tuple[Reading, Reading]]) -> list[str]:
    target = published.load("keepon")["fig29"]["drift_error_reduction_ratio"]
    rough, smooth = readings["clock"]
    needed = duration_for(target, rough.track, smooth.track, skipped(settings))
    reached = f"after {needed} intervals" if needed else "not within this run"
    return [
        (
            "What Figure 29 describes - a ratio that oscillates, drift per interval without bound,"
            " both cured by a moving average - follows from one of the three readings tried:"
            ' "clock", t2 as the slave\'s corrected clock shows it. Each offset step then lies'
            " between two t2 and is taken for a frequency; a pole near -1 makes the ratio"
            f" alternate with growing amplitude, which averaging removes. The published {target} is"
            f" reached there {reached} (by seed {settings.seed}; it varies)."
        ),
        (
            "Formed from a counter that corrections do not touch, errors of neighbouring ratios"
            " cancel: drifts and their sum stay bounded even unfiltered, and the mean of"
            f" {settings.filter_window_samples} ratios is that many times better. This is how the"
            " clock of core/ counts: adjustments never change the count."
        ),
        (
            "Errors drawn again for each interval make the sum of drifts a random walk, which no"
            " filter of the ratio removes: the filtered sum grows as the unfiltered one does."
        ),
        (
            'Read as "clock", the filter converges to a wrong ratio: without any stamp error'
            f" {smooth.remains_ppb:.0f} of the initial {abs(settings.frequency_ppm) * 1000:.0f} ppb"
            " remain, because a constant rate error is stepped away each interval and so never"
            " measured: what the drifts add up to still grows. At stamps this coarse the wrong"
            " ratio itself does not show."
        ),
    ]


def _readings_table(readings: dict[RatioFrom, tuple[Reading, Reading]]) -> Table:
    rows: list[list[Cell]] = []
    for source, pair in readings.items():
        for name, reading in zip(("no", "yes"), pair, strict=True):
            rows.append(
                [
                    source,
                    name,
                    reading.drift_mean_us,
                    reading.drift_growth,
                    reading.sum_growth,
                    reading.alternation,
                    reading.remains_ppb,
                ]
            )
    names = (
        "ratio from",
        "filtered",
        "mean drift per interval, us",
        "its variance, last / first third",
        "variance of the sum, last / first third",
        "correlation of neighbouring ratios",
        "left without stamp errors, ppb",
    )
    return Table(
        "Three readings of the frequency ratio",
        "calculated",
        [Column(name, 2) for name in names],
        rows,
        "A variance that grows linearly has a last third 5 times its first, a bounded one 1 time.",
    )


def _durations_table(
    settings: Settings, readings: dict[RatioFrom, tuple[Reading, Reading]]
) -> Table:
    first = skipped(settings)
    counts = [count for count in DURATIONS if first < count <= settings.intervals]
    rows: list[list[Cell]] = [
        [
            count,
            *(
                mean_drift_us(rough.track, first, count) / mean_drift_us(smooth.track, first, count)
                for rough, smooth in readings.values()
            ),
        ]
        for count in counts
    ]
    return Table(
        "Average drift, unfiltered / filtered, by length of run",
        "calculated",
        [Column("intervals"), *(Column(f"ratio from {source}", 1) for source in readings)],
        rows,
        f"The first {first} intervals are left out in both.",
    )


def _plot(settings: Settings, errors: StampErrors, rough: Reading, smooth: Reading) -> Plot:
    shown = min(settings.intervals, 300)
    seconds = [number * settings.interval_ms / 1000 for number in range(shown)]
    interval = round(settings.interval_ns)
    pairs = (("unfiltered", rough), (f"moving average of {settings.filter_window_samples}", smooth))
    ratio = [
        Curve(name, seconds, [float(v) / 1000 for v in reading.track.ratio_error_ppb[0, :shown]])
        for name, reading in pairs
    ]
    drift = [
        Curve(name, seconds, [abs(float(v)) / NS_PER_US for v in reading.track.drift_ns[0, :shown]])
        for name, reading in pairs
    ]
    for name, bound in (("printed", bounds.drift_printed), ("corrected", bounds.drift_corrected)):
        level = float(bound(errors, interval)) / NS_PER_US
        drift.append(Curve(f"Eq. 6 {name}", [seconds[0], seconds[-1]], [level, level], "dashed"))
    panels = [
        Panel("frequency ratio, one seed", "time (s)", "error of the ratio (ppm)", ratio),
        Panel("drift over one interval, one seed", "time (s)", "absolute drift (us)", drift),
    ]
    title = f"One run, ratio from {settings.ratio_from}"
    return Plot(
        "fig29-run", title, "calculated", panels, "The bounds are for a single interval (H13)."
    )


def _growth_plot(settings: Settings, readings: dict[RatioFrom, tuple[Reading, Reading]]) -> Plot:
    first = skipped(settings)
    step = max(1, (settings.intervals - first) // 200)
    seconds = [
        number * settings.interval_ms / 1000 for number in range(first, settings.intervals, step)
    ]
    panels = []
    for name, index in (
        ("unfiltered", 0),
        (f"moving average of {settings.filter_window_samples}", 1),
    ):
        curves = []
        for source, pair in readings.items():
            spread = np.cumsum(pair[index].track.drift_ns[:, first:], axis=1).std(axis=0, ddof=1)[
                ::step
            ]
            curves.append(
                Curve(f"ratio from {source}", seconds, [float(v) / NS_PER_US for v in spread])
            )
        panels.append(
            Panel(
                f"drifts added up, {name}",
                "time (s)",
                "standard deviation over seeds (us)",
                curves,
                log_y=True,
            )
        )
    return Plot(
        "fig29-growth", f"Accumulation over {settings.seeds} seeds", "calculated", panels,
        "Sum of the drifts of all intervals so far; "
        "the steps of the offset between them are left out.",
    )  # fmt: skip


STUDY = Study(
    "Figure 29: PTP with and without a filter of the frequency",
    Settings,
    ORIGINS,
    parts(part),
    (check_times, check),
)
