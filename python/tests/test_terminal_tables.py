# SPDX-License-Identifier: BSD-3-Clause
"""Tables on terminals of any width and in pipes: nothing of a number or a name is lost."""

from __future__ import annotations

import contextlib
import io
import os
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keepon.report import terminal
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

WORDS = st.text("abcdefgh0123456789.-_[]名é", min_size=1, max_size=14)
CELLS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
HEADERS = st.lists(WORDS, min_size=1, max_size=3).flatmap(
    lambda words: st.sampled_from([" ", "\n"]).map(lambda between: between.join(words))
)


class _Terminal(io.StringIO):
    """Stdout that is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(table: Table, columns: int | None, is_terminal: bool = False) -> str:
    """What is printed where `columns` fit, None for no limit."""
    out = _Terminal() if is_terminal else io.StringIO()
    said = {} if columns is None else {"COLUMNS": str(columns)}
    with mock.patch.dict(os.environ, {"NO_COLOR": "1", "TERM": "dumb", **said}):
        if columns is None:
            os.environ.pop("COLUMNS", None)
        with contextlib.redirect_stdout(out):
            terminal.show(table)
    return out.getvalue()


def made(headers: list[str], rows: list[list[str]], right: int = 0) -> Table:
    """A table; of its columns those of the bits of `right` are numbers."""
    table = Table(title="what it shows", caption="what to know about it")
    for index, header in enumerate(headers):
        table.add_column(escape(header), justify="right" if right >> index & 1 else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]], int]:
    count = draw(st.integers(1, 9))
    headers = draw(st.lists(HEADERS, min_size=count, max_size=count))
    rows = draw(st.lists(st.lists(CELLS, min_size=count, max_size=count), max_size=5))
    return headers, rows, draw(st.integers(0, 2**count - 1))


@pytest.mark.slow
@given(tables(), st.integers(1, 160), st.booleans())
def test_every_word_is_whole_and_every_line_fits(
    table: tuple[list[str], list[list[str]], int], columns: int, is_terminal: bool
) -> None:
    """A line is longer only where a single word is."""
    headers, rows, right = table
    text = shown(made(headers, rows, right), columns, is_terminal)
    found = text.split()
    unmarked = [word.rstrip(":") for word in found]
    for cell in (*headers, *(cell for row in rows for cell in row)):
        for word in cell.split() if rows else ():
            assert word in found or word in unmarked
    assert "…" not in text
    for line in text.splitlines():
        # In a record a name of one word and its colon.
        assert cell_len(line) <= columns or len(line.split()) == 1
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.slow
@given(tables())
def test_a_pipe_gets_one_line_for_a_row(table: tuple[list[str], list[list[str]], int]) -> None:
    headers, rows, right = table
    lines = shown(made(headers, rows, right), None).splitlines()
    assert [line.split() for line in lines[len(lines) - 1 - len(rows) : -1]] == [
        " ".join(row).split() for row in rows
    ]
    assert (lines[0], lines[-1]) == ("what it shows", "what to know about it")


def test_columns_that_do_not_fit_come_below_beside_their_key() -> None:
    rows = [[f"stream-{n}", "12345678901", "22345678901", "32345678901"] for n in range(2)]
    text = shown(made(["stream", "a ns", "b ns", "c ns"], rows, 0b1110), 40)
    assert text.splitlines()[1:-1] == [
        "stream           a ns         b ns",
        "stream-0  12345678901  22345678901",
        "stream-1  12345678901  22345678901",
        "stream           c ns",
        "stream-0  32345678901",
        "stream-1  32345678901",
    ]


def test_two_columns_are_repeated_where_one_does_not_tell_rows_apart() -> None:
    rows = [["keepon", f"node{n}", "1234567890", "2234567890"] for n in range(2)]
    text = shown(made(["driver", "node", "a ns", "b ns"], rows, 0b1100), 25)
    assert text.splitlines()[1:-1] == [
        "driver  node         a ns",
        "keepon  node0  1234567890",
        "keepon  node1  1234567890",
        "driver  node         b ns",
        "keepon  node0  2234567890",
        "keepon  node1  2234567890",
    ]


def test_a_row_has_lines_of_its_own_where_nothing_else_fits() -> None:
    text = shown(made(["stream", "delay ns"], [["S1", "1234567890123"]], 0b10), 12)
    assert text.splitlines()[2:5] == ["stream: S1", "  delay ns:", "  1234567890123"]


def test_what_would_move_the_cursor_is_a_space() -> None:
    for is_terminal in (False, True):
        text = shown(made(["a", "b"], [["x\ty", "1\x1b[31m2\x00"]]), 80, is_terminal)
        assert not set("\t\x1b\x00") & set(text)
        assert "x y" in text and "1 [31m2" in text


@pytest.mark.parametrize("headers", [["", "abc"], ["", ""]])
@pytest.mark.parametrize("cell", ["", "\n", "    "])
@pytest.mark.parametrize("columns", [None, 1, 9, 80])
def test_blank_cells(headers: list[str], cell: str, columns: int | None) -> None:
    text = shown(made(headers, [[cell, "x1"], [cell, "x2"]]), columns, is_terminal=columns == 80)
    assert "x1" in text and "x2" in text


def test_a_table_without_rows_shows_its_columns() -> None:
    for columns in (8, 80):
        assert {"stream", "delay", "ns"} <= set(
            shown(made(["stream", "delay ns"], []), columns).split()
        )


@pytest.mark.parametrize("said", ["²", "9" * 5000, "0", "-5", "x", "", " 80 "])
def test_columns_that_are_none(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", said)
    with contextlib.redirect_stdout(io.StringIO()):
        assert terminal.width() is None


def test_a_style_reaches_the_terminal_and_nothing_else() -> None:
    table = made(["outcome"], [])
    table.add_row("[red]missed")
    out = _Terminal()
    with (
        mock.patch.dict(os.environ, {"TERM": "xterm", "COLUMNS": "80"}),
        contextlib.redirect_stdout(out),
    ):
        os.environ.pop("NO_COLOR", None)
        terminal.show(table)
    assert "\x1b[31mmissed" in out.getvalue()
    assert "\x1b[3" not in shown(table, 80, is_terminal=True)
    assert "\x1b" not in shown(table, None)
