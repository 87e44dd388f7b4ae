# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a page: each knows how wide it is, so that a narrow page shows rows as blocks instead
of cutting columns off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_LETTER_PX, _HEAD_PX = 8.0, 9.0
_CELL_PX = 21
STEP_PX = 100
"""Widths at which a table changes its shape are multiples of this (templates/style.css.j2)."""
WIDEST_PX = 3000
WIDTHS = range(400, WIDEST_PX + 1, STEP_PX)
ROWS_MAX = 400
_WRAPPED_LETTERS = 26


_WIDE = frozenset("mwMW@%")


def _letters(text: str) -> float:
    """How many ordinary letters take as much room."""
    return sum(1.9 if each in _WIDE else 1.35 if each.isupper() else 1 for each in text)


@dataclass(frozen=True)
class Column:
    """One column: "number", "text" on one line, or "words" over several."""

    title: str
    kind: str = "number"
    quiet: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell; `share` draws a bar of that part of it, `link` goes to a place on the page."""

    text: str
    bad: bool = False
    share: float | None = None
    link: str = ""


@dataclass
class Grid:
    """One table.

    Attributes:
        caption: what it is, for those who do not see it.
    """

    caption: str
    columns: Sequence[Column]
    rows: list[list[Cell]] = field(default_factory=list)

    @property
    def shown(self) -> list[list[Cell]]:
        """The rows that a page has room for."""
        return self.rows[:ROWS_MAX]

    @property
    def left_out(self) -> int:
        """How many rows it has not."""
        return max(0, len(self.rows) - ROWS_MAX)

    @property
    def fits_px(self) -> int:
        """Narrower pages show each row as a block."""
        width = 0.0
        for number, column in enumerate(self.columns):
            head = max(map(len, column.title.split()), default=0)
            longest = max((_letters(row[number].text) for row in self.shown), default=0.0)
            if column.kind == "words":
                words = (word for row in self.shown for word in row[number].text.split())
                longest = max(min(longest, _WRAPPED_LETTERS), *map(_letters, words), 0)
            width += max(head * _HEAD_PX, longest * _LETTER_PX) + _CELL_PX
        return max(WIDTHS[0], min(WIDEST_PX, -(-int(width) // STEP_PX) * STEP_PX))


def cells(*texts: object) -> list[Cell]:
    """A row of plain cells; None is "-"."""
    return [Cell("-" if text is None else str(text)) for text in texts]
