# SPDX-License-Identifier: BSD-3-Clause
"""What the simulator of section A.9 can be set to; the defaults are the published settings and,
where the paper is silent, our choices: `CALIBRATED` and `CHOICES` say which is which.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict

from keepon.model.fields import Number, Whole
from keepon_papers.settings import Origins, refuse

Distribution = Literal["uniform", "exponential", "extremes", "rounding"]
RatioFrom = Literal["clock", "counter", "independent"]

NS_PER_US = 1000
NS_PER_MS = 1_000_000


class Settings(BaseModel):
    """Settings of the simulator; units are the last part of each name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    interval_ms: Annotated[float, Number(0.001, 10_000)] = 100.0
    delay_us: Annotated[float, Number(0, 1_000_000)] = 10.0
    asymmetry_us: Annotated[float, Number(0, 1_000_000)] = 0.0
    frequency_ppm: Annotated[float, Number(-1000, 1000)] = 1.0
    filter_window_samples: Annotated[int, Whole(1, 1000, remedy="1 switches the filter off")] = 10
    turnaround_us: Annotated[float, Number(0, 1_000_000)] = 0.0
    ratio_from: RatioFrom = "clock"
    distribution: Distribution = "uniform"
    granularity_us: Annotated[float, Number(0, 1000)] = 2.4
    jitter_us: Annotated[float, Number(0, 1000)] = 1.0
    granularity_min_us: Annotated[float, Number(0.001, 1000)] = 0.8
    granularity_max_us: Annotated[float, Number(0.001, 1000)] = 12.0
    jitter_min_us: Annotated[float, Number(0.001, 1000)] = 0.1
    jitter_max_us: Annotated[float, Number(0.001, 1000)] = 5.0
    sweep_points: Annotated[int, Whole(3, 100)] = 15
    sweep_intervals: Annotated[int, Whole(40, 10_000)] = 100
    intervals: Annotated[int, Whole(40, 10_000)] = 1000
    seeds: Annotated[int, Whole(20, 1000)] = 100
    seed: Annotated[int, Whole(0, 2**31)] = 1

    @property
    def interval_ns(self) -> float:
        return self.interval_ms * NS_PER_MS

    @property
    def exchange_ns(self) -> float:
        """From the sync leaving the master to the delay request reaching it."""
        return (2 * self.delay_us + self.asymmetry_us + self.turnaround_us) * NS_PER_US


CALIBRATED = {
    "interval_ms": "keepon.ptp_simulator",
    "delay_us": "keepon.ptp_simulator",
    "asymmetry_us": "keepon.ptp_simulator (symmetric)",
    "frequency_ppm": "keepon.ptp_simulator",
    "filter_window_samples": "keepon.ptp_simulator",
    "granularity_min_us": "keepon.fig28_granularity",
    "granularity_max_us": "keepon.fig28_granularity",
}
"""Settings whose defaults were published, with the id."""

CHOICES = {
    "turnaround_us": "not published; the slave asks as soon as the sync arrives",
    "ratio_from": (
        "not published: what the frequency ratio is formed from; Figure 29's study shows all three"
        " readings"
    ),
    "distribution": (
        "not published; uniform over the ranges of Eq. 3; Figure 28's study shows others"
    ),
    "granularity_us": (
        "Figure 29's is not stated; a slot of 300 bytes at 1 Gb/s without preamble and gap"
    ),
    "jitter_us": "Figure 29's is not stated",
    "jitter_min_us": "axis only in Figure 28(b,d)",
    "jitter_max_us": "axis only in Figure 28(b,d); 50 times the least, as the published errors are",
    "sweep_points": "only in the figure",
    "sweep_intervals": "not published",
    "intervals": "axis only in Figure 29",
    "seeds": "not published",
    "seed": "any",
}
"""Settings the paper leaves open, and why the default is what it is."""

ORIGINS = Origins(CALIBRATED, CHOICES)


def check(settings: Settings) -> None:
    """What one key alone cannot say: sweeps grow, exchanges and errors fit the interval.

    Raises:
        ConfigError: one sentence with key, value, allowed range and remedy.
    """
    for name in ("granularity", "jitter"):
        low, high = getattr(settings, f"{name}_min_us"), getattr(settings, f"{name}_max_us")
        if not low < high:
            raise refuse(
                f"{name}_max_us",
                high,
                f"must be more than {name}_min_us, {low:g}; exchange or widen them",
            )
    worst_us = max(
        settings.granularity_us + settings.jitter_us,
        settings.granularity_max_us,
        settings.jitter_max_us,
    )
    exchange_us = settings.exchange_ns / NS_PER_US
    # Errors of successive stamps differ by worst_us at most: below this the ratio of Eq. 5 could
    # lose its sign.
    least_ms = (exchange_us + 2 * worst_us) / 1000
    if settings.interval_ms <= least_ms:
        raise refuse(
            "interval_ms",
            settings.interval_ms,
            f"must be more than {least_ms:g}, one exchange ({exchange_us:g} us) and twice the"
            f" greatest error of a stamp ({worst_us:g} us); lengthen it",
        )
    for key in ("intervals", "sweep_intervals"):
        count = getattr(settings, key)
        if count < 2 * settings.filter_window_samples + 20:
            raise refuse(
                key,
                count,
                f"must be at least {2 * settings.filter_window_samples + 20}, twice"
                " filter_window_samples and 20; run more or filter less",
            )
