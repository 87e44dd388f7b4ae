# SPDX-License-Identifier: BSD-3-Clause
"""Plots as inline SVG: delay of successive frames per stream and driver, as the paper's Figure 26
shows it.
"""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keepon.model.reproduction import OnsetPoint
from keepon.model.result import Result

matplotlib.use("Agg")

# Colours of Okabe and Ito: told apart in every common kind of colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def svg(figure: Figure, name: str) -> str:
    """The figure as an <svg> element whose ids do not clash with other figures of the page."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'\b(id|xlink:href|href)="(#?)', rf'\1="\2{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*" height="[^"]*"',
        r"<svg \1",
        text.replace('version="1.1"', ""),
        count=1,
    )


def delay_series(
    title: str,
    panels: list[tuple[str, dict[str, list[float | None]]]],
    first: dict[str, int],
    name: str,
) -> str:
    """Delay against frame number: one column per driver, above logarithmic in us, below its lowest
    20 us; both reach below zero if a frame came before its time.

    Args:
        title: of the whole figure.
        panels: (driver, delays in ns by stream; None where a frame did not arrive).
        first: frame number of the first value, by driver.
        name: of the figure, unique on its page.
    """
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    axes = figure.subplots(2, max(len(panels), 1), sharex="col", sharey="row", squeeze=False)
    earliest_us = 0.0
    for column, (driver, series) in enumerate(panels):
        for index, (stream, delays) in enumerate(series.items()):
            numbers = range(first[driver], first[driver] + len(delays))
            values = [float("nan") if delay is None else delay / 1000 for delay in delays]
            earliest_us = float(np.nanmin([earliest_us, *values]))
            style: dict[str, Any] = {
                "linestyle": "none",
                "marker": _MARKERS[index % len(_MARKERS)],
                "markersize": 2.4,
                "color": COLOURS[index % len(COLOURS)],
                "label": stream,
            }
            for axis in axes[:, column]:
                axis.plot(numbers, values, **style)
        axes[0, column].set_title(driver, fontsize=10)
        axes[1, column].set_xlabel("frame number")
    for axis in axes.flat:
        axis.grid(True, which="major", alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_ylabel("delay (us)" if axis.get_subplotspec().is_first_col() else "")
    _delay_axes(axes[0, 0], axes[1, 0], earliest_us)
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, markerscale=2.5)
    figure.suptitle(title, fontsize=11)
    return svg(figure, name)


def _delay_axes(wide: Axes, narrow: Axes, earliest_us: float) -> None:
    """Figure 26's two axes of delay, from below zero where a frame came before its time."""
    if earliest_us < 0:
        wide.set_yscale("symlog", linthresh=1)
        wide.set_ylim(2 * min(earliest_us, -1), 3000)
        narrow.set_ylim(-20, 20)
        return
    wide.set_yscale("log")
    wide.set_ylim(1, 3000)
    wide.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    narrow.set_ylim(0, 20)


def onset_shares(points: list[OnsetPoint]) -> str:
    """Share of the runs with a cascade over ETF's delta: simulated as marks, expected as lines."""
    figure = Figure(figsize=(8.5, 4.2), layout="constrained")
    axis = figure.subplots()
    for number, group in enumerate(dict.fromkeys(one["group"] for one in points)):
        own = [one for one in points if one["group"] == group]
        colour = COLOURS[number % len(COLOURS)]
        deltas = [one["delta_ns"] / 1000 for one in own]
        axis.plot(deltas, [100 * one["expected_share"] for one in own], color=colour, linewidth=1.2)
        shares = [100 * one["with_cascade"] / one["seeds"] for one in own]
        style: dict[str, Any] = {
            "linestyle": "none",
            "marker": _MARKERS[number % len(_MARKERS)],
            "markersize": 6,
        }
        axis.plot(deltas, shares, color=colour, label=group, **style)
    axis.set_xlabel("ETF delta (us)")
    axis.set_ylabel("runs with a cascade (%)")
    axis.set_ylim(-3, 103)
    axis.grid(True, alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        title="marks: simulated\nlines: expected",
    )
    return svg(figure, "onset")


def chain_of(result: Result) -> list[str]:
    """Streams worth plotting together: those under test, or all if there are none, seven
    at most.
    """
    effective = result["effective"]
    tested = {
        station["name"] for station in effective["station"] if station["driver"] == "under-test"
    }
    chosen = [stream["id"] for stream in effective["stream"] if stream["talker"] in tested]
    return (chosen or [stream["id"] for stream in effective["stream"]])[: len(COLOURS)]


def first_frames(result: Result) -> str:
    """The first frames of every driver, Figure 26's axes."""
    streams = chain_of(result)
    panels = [
        (run["driver"], {stream: run["streams"][stream]["first_delays_ns"] for stream in streams})
        for run in result["runs"]
    ]
    return delay_series(
        "First frames measured", panels, {run["driver"]: 0 for run in result["runs"]}, "first"
    )


def around_onset(result: Result) -> str | None:
    """The frames around the first missed bound, of every run that has one; None if none has."""
    streams = chain_of(result)
    runs = [run for run in result["runs"] if run["onset"] is not None]
    if not runs:
        return None
    panels = [
        (run["driver"], {stream: run["streams"][stream]["onset_delays_ns"] for stream in streams})
        for run in runs
    ]
    first = {run["driver"]: run["streams"][streams[0]]["onset_first_seq"] or 0 for run in runs}
    return delay_series("Around the first frame beyond its bound", panels, first, "onset")
