# SPDX-License-Identifier: BSD-3-Clause
"""Plots of studies as inline SVG, by matplotlib."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keepon.report.picture import COLOURS, svg
from keepon_papers.reproduction import OnsetPoint

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_COLUMNS = 2
_WIDTH = 11.0
_LEGEND_CHARACTERS = 160
"""What a line of a legend below the panels holds at its size of type."""
_LEGEND_HANDLE_CHARACTERS = 8


def _draw(axis: Axes, panel: dict[str, Any]) -> None:
    # A band has the colour of the curve before it, which it belongs to.
    number = -1
    for curve in panel["curves"]:
        if curve["style"] == "band":
            colour = COLOURS[max(number, 0) % len(COLOURS)]
            axis.fill_between(
                curve["x"], curve["y"], curve["y_upper"], color=colour, alpha=0.18, lw=0
            )
            axis.plot([], [], color=colour, alpha=0.25, lw=7, label=curve["label"])
            continue
        number += 1
        style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "label": curve["label"]}
        if curve["style"] == "points":
            style |= {"linestyle": "none", "marker": "o", "markersize": 4}
        else:
            style |= {"linestyle": "--" if curve["style"] == "dashed" else "-", "linewidth": 1.4}
        axis.plot(curve["x"], curve["y"], **style)
    axis.set_title(panel["title"], fontsize=10)
    axis.set_xlabel(panel["x_label"])
    axis.set_ylabel(panel["y_label"])
    if panel["log_y"]:
        axis.set_yscale("log")
    elif (
        0
        <= min(min(curve["y"]) for curve in panel["curves"])
        < max(max(curve["y"]) for curve in panel["curves"]) / 2
    ):
        axis.set_ylim(bottom=0)  # values that are all far from 0 would be one flat line
    axis.grid(True, which="major", alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def _legends(figure: Figure, axes: list[Axes]) -> None:
    """One legend below all panels where they show the same, else one in each; curves never run
    through the words.
    """
    legends = [axis.get_legend_handles_labels() for axis in axes]
    if all(labels == legends[0][1] for _, labels in legends):
        longest = max(map(len, legends[0][1]))
        columns = max(
            1,
            min(
                len(legends[0][1]), int(_LEGEND_CHARACTERS / (longest + _LEGEND_HANDLE_CHARACTERS))
            ),
        )
        figure.legend(
            *legends[0], frameon=False, fontsize=8, loc="outside lower center", ncols=columns
        )
        return
    for axis in axes:
        axis.legend(frameon=False, fontsize=8, loc="best")


def drawn(plot: dict[str, Any]) -> Figure:
    """One plot of a document; its title is left to the page."""
    panels = plot["panels"]
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(_WIDTH, 3.5 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw(axis, panel)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    _legends(figure, list(axes.flat)[: len(panels)])
    return figure


def render(plot: dict[str, Any]) -> str:
    """The same as an <svg> element."""
    return svg(drawn(plot), plot["name"])


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
