# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of one quantity over many frames: exact order statistics and mean of integers, in nanoseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

_QUANTILES = (("p50", 50, 100), ("p99", 99, 100), ("p999", 999, 1000), ("p9999", 9999, 10_000))


def summary(values: IntArray, per_ns: int) -> dict[str, Any]:
    """Statistics of `values` in ns.

    Args:
        values: int64, any shape; units of 1/per_ns ns (per_ns = 1000: picoseconds).
        per_ns: units in a nanosecond.

    Returns:
        min, mean, p50, p99, p999, p9999, max, stddev (population), mean_abs_deviation (from the mean), count.
        Percentiles are values that occurred (nearest rank), mean is the exact integer sum divided once; all None
        when empty.

    >>> summary(np.array([1000, 3000]), 1000)["mean"]
    2.0
    """
    ordered = np.sort(values, axis=None)
    count = int(ordered.size)
    if count == 0:
        names = ("min", "mean", *(name for name, _, _ in _QUANTILES), "max", "stddev", "mean_abs_deviation")
        return {**dict.fromkeys(names), "count": 0}
    # Sums of differences to the minimum fit 63 bits far beyond any run (1e9 frames 9e9 ps apart).
    offset = int(ordered[0])
    total = offset * count + int(np.sum(ordered - offset, dtype=np.int64))
    centre = total / count
    deviations = (ordered - round(centre)).astype(np.float64) - (centre - round(centre))
    result: dict[str, Any] = {"min": offset / per_ns, "mean": centre / per_ns}
    for name, numerator, denominator in _QUANTILES:
        rank = -(-numerator * count // denominator) - 1
        result[name] = int(ordered[rank]) / per_ns
    result["max"] = int(ordered[-1]) / per_ns
    result["stddev"] = float(np.sqrt(np.mean(deviations**2))) / per_ns
    result["mean_abs_deviation"] = float(np.mean(np.abs(deviations))) / per_ns
    result["count"] = count
    return result
