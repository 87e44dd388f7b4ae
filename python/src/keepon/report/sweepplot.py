# SPDX-License-Identifier: BSD-3-Clause
"""Plots of a sweep: a panel for each result over the first key, a line for each combination of
values of the others.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keepon.model.units import unit_of
from keepon.report.figures import COLOURS

_TICKS_MAX = 8
_LOG_RATIO = 8
_MARKERS = "os^DvPX"


def _number(key: str, value: Any) -> float | None:
    """Of a value with a unit the number in the key's own."""
    if isinstance(value, str):
        unit = unit_of(key)
        found = unit.number(value) if unit else None
        return None if found is None else float(found)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _places(key: str, values: Sequence[Any]) -> list[float]:
    """Where values lie: numbers at their place, words side by side."""
    numbers = [_number(key, value) for value in values]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else [float(n) for n in range(len(values))]


def drawn(
    groups: Sequence[Sequence[dict[str, Any]]], keys: Sequence[str], measures: Sequence[str]
) -> Figure:
    """The plots.

    Args:
        groups: rows of one point each, all seeds of it.
        keys: that were set.
        measures: results, each a panel.
    """
    first, *others = keys or ("",)
    values = list({str(rows[0].get(first)): rows[0].get(first, "") for rows in groups}.values())
    places = _places(first, values)
    at = dict(zip(map(str, values), places, strict=True))
    figure = Figure(figsize=(8, 3 * len(measures) + 0.6), layout="constrained")
    lines: dict[str, list[Sequence[dict[str, Any]]]] = {}
    for rows in groups:
        name = ", ".join(f"{key} = {rows[0][key]}" for key in others)
        lines.setdefault(name, []).append(rows)
    for axis, measure in zip(
        figure.subplots(len(measures), squeeze=False).flat, measures, strict=True
    ):
        for number, (name, points) in enumerate(lines.items()):
            _line(
                axis,
                measure,
                [(at[str(rows[0].get(first, ""))], rows) for rows in points],
                number,
                name,
            )
        axis.set_ylabel(measure)
        if 0 <= axis.dataLim.ymin <= axis.dataLim.ymax / 2:
            axis.set_ylim(bottom=0)
        if 0 < _LOG_RATIO * min(places) <= max(places):
            axis.set_xscale("log")
            axis.set_xticks([], minor=True)
        if len(values) <= _TICKS_MAX:
            axis.set_xticks(places, [str(value) for value in values])
        axis.grid(True, alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel(first)
    if others:
        figure.legend(*axis.get_legend_handles_labels(), frameon=False, loc="outside lower center")
    return figure


def _line(
    axis: Axes,
    measure: str,
    points: Sequence[tuple[float, Sequence[dict[str, Any]]]],
    number: int,
    name: str,
) -> None:
    """Means over seeds, and bars from least to greatest; a point without a value is left out."""
    known = [
        (place, [row[measure] for row in rows if row[measure] is not None])
        for place, rows in points
    ]
    known = sorted((place, values) for place, values in known if values)
    means = [statistics.fmean(values) for _, values in known]
    below = [mean - min(values) for mean, (_, values) in zip(means, known, strict=True)]
    above = [max(values) - mean for mean, (_, values) in zip(means, known, strict=True)]
    axis.errorbar(
        [place for place, _ in known], means, yerr=[below, above], capsize=3, linewidth=1.4,
        color=COLOURS[number % len(COLOURS)], marker=_MARKERS[number % len(_MARKERS)], label=name,
    )  # fmt: skip
