# SPDX-License-Identifier: BSD-3-Clause
"""Straight lines through sweeps, with what is left of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Line:
    """A least-squares line y = intercept + slope x.

    Attributes:
        residual_max: greatest distance of a point from the line, in units of y.
        residual_rms: root mean square of the distances (divided by points - 2).
        r_squared: share of the variance of y that the line explains.
    """

    slope: float
    intercept: float
    residual_max: float
    residual_rms: float
    r_squared: float


def line(x: npt.ArrayLike, y: npt.ArrayLike) -> Line:
    """The line through points that are not all at one x; at least three.

    >>> line([0, 1, 2], [1, 3, 5]).slope
    2.0
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if xs.size < 3 or np.ptp(xs) == 0:
        raise ValueError(f"a line with residuals needs three points at different x, not {xs.size}")
    centred = xs - xs.mean()
    slope = float((centred * ys).sum() / (centred**2).sum())
    intercept = float(ys.mean() - slope * xs.mean())
    left = ys - (intercept + slope * xs)
    spread = float(((ys - ys.mean()) ** 2).sum())
    return Line(
        slope=slope,
        intercept=intercept,
        residual_max=float(np.abs(left).max()),
        residual_rms=float(np.sqrt((left**2).sum() / (xs.size - 2))),
        r_squared=1 - float((left**2).sum()) / spread if spread else 1.0,
    )
