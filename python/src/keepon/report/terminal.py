# SPDX-License-Identifier: BSD-3-Clause
"""A table in the width there is, without losing a digit of it.

On a terminal it has a frame, in a pipe it is plain text. Where it is too wide, words go to the next
line, but no word and no number is cut; then its columns go into several tables below each other,
each of which repeats what tells the rows apart; then each row into lines of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

FRAMED_ROWS_MAX = 200
"""Longer tables have no frame: to draw one takes longer than to plan."""
DIGITS_MAX = 9
_GAP = "  "
_FRAME_BETWEEN, _FRAME_AROUND = 3, 4


@dataclass(frozen=True)
class _Column:
    """One column as text: its lines may end at any space."""

    index: int
    header: str
    cells: list[str]
    right: bool

    @property
    def natural(self) -> int:
        """Width at which nothing is broken."""
        return max(
            cell_len(line) for text in (self.header, *self.cells) for line in text.split("\n")
        )

    @property
    def least(self) -> int:
        """Width of the longest word."""
        texts = "\n".join((self.header, *self.cells))
        return max(map(cell_len, texts.split()), default=0)


def width() -> int | None:
    """Columns of the terminal, or what COLUMNS says; None where nothing limits them, in a pipe."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and len(said) < DIGITS_MAX and int(said) > 0 else None


def say(text: str) -> None:
    """Print a sentence to stdout, broken at spaces where it is too wide."""
    _say(text, width())


def show(table: Table) -> None:
    """Print a table to stdout in the shape that fits.

    The table's columns say which way they are justified; other settings of theirs are not obeyed.
    """
    framed = sys.stdout.isatty() and table.row_count <= FRAMED_ROWS_MAX
    columns = [
        _Column(
            index,
            _plain(column.header),
            [_plain(cell) for cell in column.cells],
            column.justify == "right",
        )
        for index, column in enumerate(table.columns)
    ]
    limit = width()
    if table.title:
        _say(_plain(table.title), limit)
    blocks = _blocks(columns, limit, framed)
    if blocks is None:
        _records(columns, limit)
    else:
        for block in blocks:
            widths = _widths(block, limit, framed)
            if framed:
                _framed(table, block, widths)
            else:
                _unframed(block, widths)
    if table.caption:
        _say(_plain(table.caption), limit)


def _plain(cell: object) -> str:
    """A cell without its markup, and with a space for what would move the cursor."""
    text = Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)


def _say(text: str, limit: int | None) -> None:
    print("\n".join(_lines(text, limit)))


def _lines(text: str, limit: int | None) -> list[str]:
    """Broken at spaces only; a letter may be two columns wide."""
    if limit is None or (cell_len(text) <= limit and "\n" not in text):
        return text.split("\n")
    return [line for part in text.split("\n") for line in _broken(part, limit)]


def _broken(text: str, limit: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(f"{lines[-1]} {word}") <= limit:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def _around(count: int, framed: bool) -> int:
    """Width of all that is not in a cell."""
    if framed:
        return _FRAME_AROUND + _FRAME_BETWEEN * (count - 1)
    return len(_GAP) * (count - 1)


def _fits(columns: list[_Column], limit: int | None, framed: bool) -> bool:
    if limit is None:
        return True
    return sum(column.least for column in columns) + _around(len(columns), framed) <= limit


def _keys(columns: list[_Column]) -> list[_Column]:
    """The leading columns that tell the rows apart; the first alone if none do."""
    for count in range(1, len(columns)):
        rows = list(zip(*(column.cells for column in columns[:count]), strict=True))
        if len(set(rows)) == len(rows):
            return columns[:count]
    return columns[:1]


def _blocks(columns: list[_Column], limit: int | None, framed: bool) -> list[list[_Column]] | None:
    """The columns in as many tables as they need; None if one of them is too wide beside the
    keys.
    """
    if _fits(columns, limit, framed):
        return [columns]
    keys = _keys(columns)
    blocks = [[*keys]]
    for column in columns[len(keys) :]:
        if not _fits([*blocks[-1], column], limit, framed):
            blocks.append([*keys])
        blocks[-1].append(column)
    return blocks if all(_fits(block, limit, framed) for block in blocks) else None


def _widths(columns: list[_Column], limit: int | None, framed: bool) -> list[int]:
    """Of each column: what it would like, the widest ones made narrower until all fit."""
    widths = [column.natural for column in columns]
    if limit is None:
        return widths
    over = sum(widths) + _around(len(columns), framed) - limit
    for _ in range(max(0, over)):
        wide = [n for n, column in enumerate(columns) if widths[n] > column.least]
        widths[max(wide, key=lambda n: widths[n])] -= 1
    return widths


def _framed(whole: Table, columns: list[_Column], widths: list[int]) -> None:
    """With a frame, and with the styles of the table."""
    table = Table()
    for column, cells_width in zip(columns, widths, strict=True):
        lines = _lines(column.header, cells_width)
        table.add_column(
            escape("\n".join(lines)),
            justify="right" if column.right else "left",
            style=whole.columns[column.index].style,
            width=cells_width,
            no_wrap=True,
            overflow="fold",
        )
    cells = [list(whole.columns[column.index].cells) for column in columns]
    for number, row in enumerate(whole.rows):
        table.add_row(
            *(
                _styled(cell[number], column.cells[number], cells_width)
                for cell, column, cells_width in zip(cells, columns, widths, strict=True)
            ),
            style=row.style,
        )
    # A dumb terminal has 80 columns for rich unless a height is given, too.
    whole_width = sum(widths) + _around(len(widths), True)
    Console(highlight=False, width=whole_width, height=25).print(table)


def _styled(cell: object, plain: str, cells_width: int) -> Text:
    """A cell in lines of its width, in the one style it begins with."""
    style = Text.from_markup(cell).spans if isinstance(cell, str) else []
    return Text("\n".join(_lines(plain, cells_width)), style=style[0].style if style else "")


def _unframed(columns: list[_Column], widths: list[int]) -> None:
    """Plain text: cells padded to their column, no space at the end of a line."""
    texts = [[column.header, *column.cells] for column in columns]
    for row in zip(*texts, strict=True):
        broken = [_lines(text, cells_width) for text, cells_width in zip(row, widths, strict=True)]
        for number in range(max(map(len, broken))):
            parts = [
                _padded(lines[number] if number < len(lines) else "", cells_width, column.right)
                for column, lines, cells_width in zip(columns, broken, widths, strict=True)
            ]
            print(_GAP.join(parts).rstrip())


def _padded(text: str, cells_width: int, right: bool) -> str:
    spaces = " " * (cells_width - cell_len(text))
    return spaces + text if right else text + spaces


def _records(columns: list[_Column], limit: int | None) -> None:
    """Each row as lines `name: value`, all but its first line indented; the names alone if there
    is no row.
    """
    names = [" ".join(column.header.split()) for column in columns]
    rows = list(zip(*(column.cells for column in columns), strict=True))
    for row in rows:
        room = None if limit is None else max(1, limit - len(_GAP))
        first = True
        for name, cell in zip(names, row, strict=True):
            for line in _lines(f"{name}: {cell}", room):
                print(line if first else _GAP + line)
                first = False
    if not rows:
        _say("\n".join(names), limit)
