# SPDX-License-Identifier: BSD-3-Clause
"""Delays and offsets over time and by size, in so few points that a page can hold them.

What is left out is never an extreme: every point of a series has least and greatest of the frames
it stands for, every point of a distribution is one of the exact distribution.
"""

from __future__ import annotations

import numpy as np

from keepon.measure.results import FrameArrays
from keepon.measure.statistics import IntArray
from keepon.model.quantities import DelayDistribution, DelaySeries, OffsetSeries

POINTS_MAX = 250
_TAILS = (1e-5, 1e-4, 1e-3)
"""Quantiles beyond the hundredths, from either end."""


def _parts(count: int) -> IntArray:
    """Where each point's values begin, of `count` values in equal parts."""
    points = min(count, POINTS_MAX)
    starts: IntArray = np.arange(points, dtype=np.int64) * count // max(points, 1)
    return starts


def delay_series(frames: FrameArrays, start_ns: int) -> DelaySeries:
    """Least and greatest delay over all listeners, and frames missing, for frames in turn.

    Args:
        frames: a row for every frame due.
        start_ns: start of the time measured, from the start of the run.

    Returns:
        as many points as there are frames, at most POINTS_MAX.
    """
    count = len(frames.seq)
    starts = _parts(count)
    if not count:
        return {"time_s": [], "seq": [], "min_ns": [], "max_ns": [], "missing": []}
    delays = frames.arrival_ps - frames.txtime_ps[np.newaxis, :]
    never = np.int64(2**62)
    least = np.where(frames.delay_known, delays, never).min(axis=0)
    greatest = np.where(frames.delay_known, delays, -never).max(axis=0)
    lows = np.minimum.reduceat(least, starts).tolist()
    highs = np.maximum.reduceat(greatest, starts).tolist()
    missing = np.add.reduceat((~frames.delivered).astype(np.int64), starts)
    at_ns = frames.txtime_ns[starts] - frames.epoch_ns - start_ns
    return {
        "time_s": [int(value) / 1e9 for value in at_ns],
        "seq": frames.seq[starts].tolist(),
        "min_ns": [None if value == never else value / 1000 for value in lows],
        "max_ns": [None if value == -never else value / 1000 for value in highs],
        "missing": missing.tolist(),
    }


def delay_distribution(frames: FrameArrays) -> DelayDistribution:
    """Which share of the deliveries due came within which delay; what is missing never did."""
    due = frames.arrival_ps.size
    delays = np.sort((frames.arrival_ps - frames.txtime_ps[np.newaxis, :])[frames.delay_known])
    if not delays.size:
        return {"delay_ns": [], "share": []}
    shares = np.array([*_TAILS, *np.arange(100) / 100, *(1 - tail for tail in _TAILS), 1.0])
    ranks = np.clip(np.ceil(shares * delays.size).astype(np.int64) - 1, 0, delays.size - 1)
    values = np.unique(delays[ranks])
    upto = np.searchsorted(delays, values, side="right")
    return {
        "delay_ns": [value / 1000 for value in values.tolist()],
        "share": [value / due for value in upto.tolist()],
    }


def offset_series(at_ps: IntArray, offset_ps: IntArray) -> OffsetSeries:
    """Least and greatest offset of a clock for samples in turn, from the start of the run."""
    starts = _parts(at_ps.size)
    if not at_ps.size:
        return {"time_s": [], "min_ns": [], "max_ns": []}
    return {
        "time_s": [value / 1e12 for value in at_ps[starts].tolist()],
        "min_ns": [value / 1000 for value in np.minimum.reduceat(offset_ps, starts).tolist()],
        "max_ns": [value / 1000 for value in np.maximum.reduceat(offset_ps, starts).tolist()],
    }
