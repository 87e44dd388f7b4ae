# SPDX-License-Identifier: BSD-3-Clause
"""The columns in which publications give a distribution: least, greatest, their distance, mean,
standard deviation, count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepon.measure.statistics import IntArray, summary
from keepon_papers.document import Cell, Column, Comparison, Kind

NAMES = ("min", "max", "pk-pk", "mean", "stddev", "count")
_KEYS = ("min_ns", "max_ns", "pkpk_ns", "mean_ns", "stddev_ns", "count")


def columns(*before: str) -> list[Column]:
    """Headings, those that tell rows apart first."""
    units = [Column(f"{name}, ns", 1) for name in NAMES[:-1]]
    return [*(Column(name) for name in before), *units, Column(NAMES[-1], 0)]


def ours(values: IntArray, per_ns: int = 1) -> list[Cell]:
    """Of what was found, in units of 1/per_ns ns.

    >>> import numpy as np
    >>> ours(np.array([-8, 8]))
    [-8.0, 8.0, 16.0, 0.0, 8.0, 2]
    """
    found = summary(values, per_ns)
    least, most = found["min"], found["max"]
    apart = None if least is None or most is None else most - least
    return [least, most, apart, found["mean"], found["stddev"], found["count"]]


def published(row: Mapping[str, Any]) -> list[Cell]:
    """Of a published row; what it has not is left open."""
    return [row.get(key) for key in _KEYS]


def compared(
    what: str, cells: list[Cell], row: Mapping[str, Any], source_id: str, kind: Kind, remark: str
) -> list[Comparison]:
    """Least, greatest, distance, mean and deviation beside the published ones."""
    return [
        Comparison(f"{what}: {name}, ns", cell, value, source_id, kind, remark)
        for name, cell, value in zip(NAMES[:-1], cells, published(row), strict=False)
    ]
