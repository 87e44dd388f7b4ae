# SPDX-License-Identifier: BSD-3-Clause
"""Plots of matplotlib as inline SVG."""

from __future__ import annotations

import io
import re

import matplotlib
from matplotlib.figure import Figure

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
