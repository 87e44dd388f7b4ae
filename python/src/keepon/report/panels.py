# SPDX-License-Identifier: BSD-3-Clause
"""Plots as data for templates/panel.html.j2: axes, and curves as SVG paths in the axes' places.

A value's place on an axis is the value itself, or its decimal logarithm. templates/plots.js has the
same rules for the part of a plot that a reader has chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_TICKS = 6
_LOG_RATIO = 30
"""An axis whose values differ by a larger factor is logarithmic."""
_MARGIN = 0.04


@dataclass(frozen=True)
class Tick:
    """A value beside an axis: its place, 0 (low end) to 1, and its text."""

    share: float
    text: str


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        label: quantity with its unit.
        low, high: ends, as places.
        log: places are decimal logarithms.
        scale: what a value is multiplied with to be shown.
    """

    label: str
    low: float
    high: float
    log: bool = False
    scale: float = 1.0

    def place(self, value: float) -> float:
        """Where a value is drawn."""
        return math.log10(value) if self.log else value

    def text(self, value: float) -> str:
        """The same as a path has it."""
        return f"{self.place(value):.9g}"

    @property
    def ticks(self) -> list[Tick]:
        """Round values within the axis."""
        span = self.high - self.low
        found = self._decades() if self.log and span >= 1 else self._steps()
        return [Tick((place - self.low) / span, text) for place, text in found]

    def _decades(self) -> list[tuple[float, str]]:
        span = self.high - self.low
        every = max(1, round(span / _TICKS))
        within = (1, 2, 5) if span < 2 else (1,)
        low, high = math.floor(self.low), math.ceil(self.high)
        shown = [times * 10.0**power for power in range(low, high + 1, every) for times in within]
        # Decades of what is shown, which are those of the values for scales like 0.001.
        places = [(math.log10(value), f"{value * self.scale:.10g}") for value in shown]
        return [entry for entry in places if self.low <= entry[0] <= self.high]

    def _steps(self) -> list[tuple[float, str]]:
        low, high = (10**self.low, 10**self.high) if self.log else (self.low, self.high)
        low, high = low * self.scale, high * self.scale
        step = _round_step((high - low) / _TICKS)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        values = [number * step for number in range(first, last + 1)]
        return [(self.place(value / self.scale), f"{value:.{digits}f}") for value in values]


def _round_step(least: float) -> float:
    """The least of 1, 2, 5, 10, ... that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= least * (1 - 1e-9))


def around(label: str, values: Iterable[float], scale: float = 1.0, log: bool = True) -> Axis:
    """An axis on which all values are seen; logarithmic, if it may be, where they differ much.

    >>> around("x", [1.0, 2.0]).log, around("x", [1.0, 100.0]).log, around("x", [-1, 100.0]).log
    (False, True, False)
    """
    known = list(values) or [0.0]
    low, high = min(known), max(known)
    as_log = log and low > 0 and high > _LOG_RATIO * low
    if as_log:
        low, high = math.log10(low), math.log10(high)
    span = high - low
    if span <= 0:
        span = abs(high) * 0.01 or 1.0
        low, high = low - span, high + span
    return Axis(label, low - _MARGIN * span, high + _MARGIN * span, as_log, scale)


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
