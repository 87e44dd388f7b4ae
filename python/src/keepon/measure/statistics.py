# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of one quantity over many frames: exact order statistics and mean of integers, in
nanoseconds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keepon.model.quantities import Statistics

IntArray = npt.NDArray[np.int64]


def summary(values: IntArray, per_ns: int) -> Statistics:
    """Statistics of `values` in ns.

    Args:
        values: int64, any shape; units of 1/per_ns ns (per_ns = 1000: picoseconds).
        per_ns: units in a nanosecond.

    Returns:
        min, mean, p50, p99, p999, p9999, max, stddev (population), mean_abs_deviation (from the
        mean), count. Percentiles are values that occurred (nearest rank), mean is the exact integer
        sum divided once; all None when empty.

    >>> summary(np.array([1000, 3000]), 1000)["mean"]
    2.0
    """
    ordered = np.sort(values, axis=None)
    count = int(ordered.size)
    if count == 0:
        return {
            "min": None, "mean": None, "p50": None, "p99": None, "p999": None, "p9999": None,
            "max": None, "stddev": None, "mean_abs_deviation": None, "count": 0,
        }  # fmt: skip

    def quantile(numerator: int, denominator: int) -> float:
        return int(ordered[-(-numerator * count // denominator) - 1]) / per_ns

    # Sums of differences to the minimum fit 63 bits far beyond any run (1e9 frames 9e9 ps apart).
    offset = int(ordered[0])
    above = ordered - offset
    above_sum = int(np.sum(above, dtype=np.int64))
    centre = (offset * count + above_sum) / count
    # from the minimum, where a float still has the fractions of a mean
    deviations = above - above_sum / count
    return {
        "min": offset / per_ns,
        "mean": centre / per_ns,
        "p50": quantile(50, 100),
        "p99": quantile(99, 100),
        "p999": quantile(999, 1000),
        "p9999": quantile(9999, 10_000),
        "max": int(ordered[-1]) / per_ns,
        "stddev": float(np.sqrt(np.mean(deviations**2))) / per_ns,
        "mean_abs_deviation": float(np.mean(np.abs(deviations))) / per_ns,
        "count": count,
    }
