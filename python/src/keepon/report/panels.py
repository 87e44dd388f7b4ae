# SPDX-License-Identifier: BSD-3-Clause
"""Plots as data for templates/panel.html.j2: axes, and curves as SVG paths in the axes' places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from keepon.report.axes import Axis

STYLES = 7
"""Colours and dashes that style.css has for curves."""


@dataclass(frozen=True)
class Curve:
    """One curve.

    Attributes:
        name: as the legend has it.
        path: SVG path data.
        kind: "steps", "bars" (from least to greatest of each point), "points" or "limit".
        style: colour and dash, below STYLES.
    """

    name: str
    path: str
    kind: str
    style: int = 0


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        key: unique on its page.
        description: what it shows, for those who do not see it.
        note: what is left out.
    """

    key: str
    title: str
    x: Axis
    y: Axis
    curves: list[Curve] = field(default_factory=list)
    description: str = ""
    note: str = ""


def steps(x: Axis, y: Axis, values: Sequence[float], shares: Sequence[float]) -> str:
    """A distribution: at each value it rises to the share, and stays there to the right end."""
    parts = [f"M{x.text(values[0])} {y.text(0)}"]
    parts += [
        f"H{x.text(value)}V{y.text(share)}" for value, share in zip(values, shares, strict=True)
    ]
    return "".join(parts) + f"H{x.high:.9g}"


def bars(
    x: Axis,
    y: Axis,
    at: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
) -> str:
    """For each point a bar from least to greatest, a dot where they are the same."""
    return "".join(
        f"M{x.text(place)} {y.text(low)}V{y.text(high)}"
        for place, low, high in zip(at, lows, highs, strict=True)
        if low is not None and high is not None
    )


def points(x: Axis, y: Axis, at: Sequence[float], values: Sequence[float | None]) -> str:
    """A dot for each value that is known."""
    return bars(x, y, at, values, values)


def across(x: Axis, y: Axis, value: float) -> str:
    """A level from end to end."""
    return f"M{x.low:.9g} {y.text(value)}H{x.high:.9g}"


def upright(x: Axis, y: Axis, value: float) -> str:
    """A vertical from end to end."""
    return f"M{x.text(value)} {y.low:.9g}V{y.high:.9g}"


def at_foot(x: Axis, y: Axis, at: Sequence[float]) -> str:
    """Short marks at the lower edge."""
    top = y.low + 0.05 * (y.high - y.low)
    return "".join(f"M{x.text(place)} {y.low:.9g}V{top:.9g}" for place in at)
