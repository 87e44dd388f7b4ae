# SPDX-License-Identifier: BSD-3-Clause
"""A table in the width there is, without losing a digit of it.

On a terminal it is the text of a pipe, with styles. Where it is too wide, words go to the next
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
from rich.style import Style
from rich.table import Table
from rich.text import Text

DIGITS_MAX = 9
_GAP = "  "


@dataclass(frozen=True)
class _Column:
    """One column as text: its lines may end at any space."""

    header: str
    cells: list[str]
    right: bool
    styles: list[str | Style]

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


def say(text: str, style: str = "") -> None:
    """Print a sentence to stdout, broken at spaces where it is too wide."""
    for line in _lines(text, width()):
        _put([(line, style)])


def show(table: Table) -> None:
    """Print a table to stdout in the shape that fits.

    The table's columns say which way they are justified, and columns, rows and cells their styles;
    other settings of theirs are not obeyed.
    """
    columns = [
        _Column(
            _plain(column.header),
            [_plain(cell) for cell in column.cells],
            column.justify == "right",
            [
                row.style or _style(cell) or column.style
                for row, cell in zip(table.rows, column.cells, strict=True)
            ],
        )
        for column in table.columns
    ]
    limit = width()
    if table.title:
        say(_plain(table.title), "bold")
    blocks = _blocks(columns, limit)
    if blocks is None:
        _records(columns, limit)
    else:
        for block in blocks:
            _block(block, _widths(block, limit))
    if table.caption:
        say(_plain(table.caption))


def _put(parts: list[tuple[str, str | Style]]) -> None:
    """One line; a terminal gets the styles of its parts."""
    text = "".join(part for part, _ in parts)
    if sys.stdout.isatty() and any(style for _, style in parts):
        Console(highlight=False).print(Text.assemble(*parts), soft_wrap=True)
    else:
        print(text)


def _style(cell: object) -> str | Style:
    """The one style that a cell begins with."""
    spans = Text.from_markup(cell).spans if isinstance(cell, str) else []
    return spans[0].style if spans else ""


def _plain(cell: object) -> str:
    """A cell without its markup, and with a space for what would move the cursor."""
    text = Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)


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


def _fits(columns: list[_Column], limit: int | None) -> bool:
    if limit is None:
        return True
    return sum(column.least for column in columns) + len(_GAP) * (len(columns) - 1) <= limit


def _keys(columns: list[_Column]) -> list[_Column]:
    """The leading columns that tell the rows apart; the first alone if none do."""
    for count in range(1, len(columns)):
        rows = list(zip(*(column.cells for column in columns[:count]), strict=True))
        if len(set(rows)) == len(rows):
            return columns[:count]
    return columns[:1]


def _blocks(columns: list[_Column], limit: int | None) -> list[list[_Column]] | None:
    """The columns in as many tables as they need; None if one of them is too wide beside the
    keys.
    """
    if _fits(columns, limit):
        return [columns]
    keys = _keys(columns)
    blocks = [[*keys]]
    for column in columns[len(keys) :]:
        if not _fits([*blocks[-1], column], limit):
            blocks.append([*keys])
        blocks[-1].append(column)
    return blocks if all(_fits(block, limit) for block in blocks) else None


def _widths(columns: list[_Column], limit: int | None) -> list[int]:
    """Of each column: what it would like, the widest ones made narrower until all fit."""
    widths = [column.natural for column in columns]
    if limit is None:
        return widths
    over = sum(widths) + len(_GAP) * (len(columns) - 1) - limit
    for _ in range(max(0, over)):
        wide = [n for n, column in enumerate(columns) if widths[n] > column.least]
        widths[max(wide, key=lambda n: widths[n])] -= 1
    return widths


def _block(columns: list[_Column], widths: list[int]) -> None:
    """Cells padded to their column, no space at the end of a line."""
    texts = [[column.header, *column.cells] for column in columns]
    styles = [["bold", *column.styles] for column in columns]
    for row, row_styles in zip(zip(*texts, strict=True), zip(*styles, strict=True), strict=True):
        broken = [_lines(text, cells_width) for text, cells_width in zip(row, widths, strict=True)]
        for number in range(max(map(len, broken))):
            parts: list[tuple[str, str | Style]] = []
            for column, lines, cells_width, style in zip(
                columns, broken, widths, row_styles, strict=True
            ):
                line = lines[number] if number < len(lines) else ""
                parts += [(_padded(line, cells_width, column.right), style), (_GAP, "")]
            while parts and not parts[-1][0].strip():
                parts.pop()
            if parts:
                parts[-1] = (parts[-1][0].rstrip(), parts[-1][1])
            _put(parts)


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
    for name in () if rows else names:
        say(name)
