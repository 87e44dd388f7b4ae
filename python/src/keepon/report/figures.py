# SPDX-License-Identifier: BSD-3-Clause
"""Plots of matplotlib as inline SVG, and the one of when cascades start."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from keepon.model.reproduction import OnsetPoint

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
    # On paper of any colour: black is the colour of the text around it, white is none.
    text = re.sub(r"#000000\b", "currentColor", text)
    text = re.sub(r"fill: #ffffff\b", "fill: none", text)
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*" height="[^"]*"',
        r"<svg \1",
        text.replace('version="1.1"', ""),
        count=1,
    )


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
