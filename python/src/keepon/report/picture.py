# SPDX-License-Identifier: BSD-3-Clause
"""One picture of a result that stands alone: how far from its instant a frame left at worst, by
stream and driver.
"""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.figure import Figure

from keepon.errors import ConfigError
from keepon.model.names import ranged
from keepon.model.result import Result
from keepon.report.figures import COLOURS, svg

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
