# SPDX-License-Identifier: BSD-3-Clause
"""Figures by matplotlib that stand alone: how far from its instant a frame left at worst, by stream
and driver; and a sweep's numbers over the values of a key.
"""

from __future__ import annotations

import io
import re
import statistics
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keepon.errors import ConfigError
from keepon.model.names import ranged
from keepon.model.result import Result
from keepon.model.units import unit_of

matplotlib.use("Agg")

# Colours of Okabe and Ito: distinct in every common kind of colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def svg(figure: Figure, name: str) -> str:
    """The figure as an <svg> element whose ids do not clash with other figures of the page."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'\b(id|xlink:href|href)="(#?)', rf'\1="\2{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    # On paper of any colour: black is the colour of the text around it, white is none.
    text = re.sub(r"#000000\b", "currentColor", text)
    text = re.sub(r"fill: #ffffff\b", "fill: none", text)
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*" height="[^"]*"',
        r"<svg \1",
        text.replace('version="1.1"', ""),
        count=1,
    )


_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LEAST_NS = 1.0
"""What is less is drawn here, and its text says how much it is."""
STREAMS_MAX = 60
LETTERS = 90
"""Of a line below the axis."""
STREAMS_LARGE = 8
"""Up to how many streams rows are as high as they look best."""
IDEAL = "keepon's"
_SCHEMES = (
    "<style>svg { color: #1b1f24; background: #ffffff } @media (prefers-color-scheme: dark)"
    " { svg { color: #e6e9ed; background: #12161b } } text { fill: currentColor }</style>"
)


def _label(value_ns: float) -> str:
    if value_ns < _LEAST_NS:
        return "0 ns" if value_ns == 0 else f"{value_ns:.2f} ns"
    units = (("ns", 1.0), ("µs", 1e3), ("ms", 1e6))
    unit, size = next((each for each in units if value_ns < 999.5 * each[1]), units[-1])
    return f"{value_ns / size:.3g} {unit}"


def release_errors(result: Result) -> str:
    """An SVG file of all streams, or of those that left worst and the names of the others,
    readable on light and dark paper.

    Raises:
        ConfigError: no frame of them was sent.
    """
    named = [stream["id"] for stream in result["effective"]["stream"]]
    worst: dict[str, dict[str, float]] = {}
    for run in result["runs"]:
        for name in named:
            error = run["streams"][name]["release_error_ns"]
            if error["min"] is not None and error["max"] is not None:
                own = worst.setdefault(run["driver"], {})
                own[name] = max(abs(error["min"]), abs(error["max"]))
    if not worst:
        raise ConfigError(
            f"result of {result['scenario']}: no frame was sent, so there is no picture; run it for"
            " longer"
        )
    by_error = sorted(
        (name for name in named if any(name in errors for errors in worst.values())),
        key=lambda name: -max(errors.get(name, 0.0) for errors in worst.values()),
    )
    streams = [name for name in named if name in by_error[:STREAMS_MAX]]
    row = 0.5 if len(streams) <= STREAMS_LARGE else 0.32
    figure = Figure(figsize=(8.6, row * len(streams) + 1.5), layout="constrained")
    axis = figure.subplots()
    for number, (driver, all_errors) in enumerate(worst.items()):
        errors = {name: error for name, error in all_errors.items() if name in streams}
        colour = COLOURS[number % len(COLOURS)]
        places = [streams.index(name) + 0.24 * (number - (len(worst) - 1) / 2) for name in errors]
        style: dict[str, Any] = {"linestyle": "none", "markersize": 7, "color": colour}
        values = [max(value, _LEAST_NS) for value in errors.values()]
        marker = _MARKERS[number % len(_MARKERS)]
        axis.plot(values, places, label=driver, marker=marker, **style)
        for value, place, exact in zip(values, places, errors.values(), strict=True):
            axis.annotate(
                _label(exact), (value, place), xytext=(8, 0), textcoords="offset points",
                va="center", fontsize=8,
            )  # fmt: skip
    axis.set_xscale("log")
    axis.set_xlim(0.6, 4e6)
    ticks = {1: "1 ns", 10: "10 ns", 100: "100 ns", 1000: "1 µs", 1e4: "10 µs", 1e5: "100 µs"}
    axis.set_xticks([*ticks, 1e6], [*ticks.values(), "1 ms"])
    axis.set_yticks(range(len(streams)), streams)
    axis.invert_yaxis()
    label = "worst distance of a frame from the instant it was to leave at"
    if result["effective"]["sync"]["mode"] == "ideal":
        label += f"\nclocks are ideal here, so {IDEAL} 0 ns is true by construction, not a result"
    for why, left_out in (
        ("left out, nearer to their instants", by_error[STREAMS_MAX:]),
        ("left out, no frame was sent", [name for name in named if name not in by_error]),
    ):
        if left_out:
            label += "\n" + textwrap.fill(f"{why}: {ranged(left_out)}", LETTERS)
    axis.set_xlabel(label)
    axis.grid(True, axis="x", alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper center", ncols=len(worst))
    text = svg(figure, "picture")
    end = text.index(">") + 1
    return f"<!-- SPDX-License-Identifier: BSD-3-Clause -->\n{text[:end]}{_SCHEMES}{text[end:]}"


_TICKS_MAX = 8
_LOG_RATIO = 8


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
