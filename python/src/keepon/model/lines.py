# SPDX-License-Identifier: BSD-3-Clause
"""In which line of a TOML file a key stands.

tomllib tells no positions. But the first lines of a TOML file are a TOML file, unless they end
within a value: a key begins in the line after the longest beginning that is one and lacks the key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keepon.model import ranges

DIGITS_MAX = 4300
"""Of a whole number; Python converts no longer one."""
MARK = 2**61 - 1
"""Stands for a number that is longer."""
TRIES_MAX = 100
"""Beginnings that are parsed; a file whose values have many lines like statements needs more."""
_PART = re.compile(r'"(.*?)"(?=[.\[]|$)|([^.\[\]"]+)|\[(\d+)\]')
"""A quoted name may have quotes itself: it ends before the next part."""
_DIGITS = re.compile(rf"\d(?:_?\d){{{DIGITS_MAX},}}")
_STATEMENT = re.compile(r"""\s*(\[.*\]\s*(#.*)?$|["'\w-][^=]*=)""")
"""Every line in which a statement begins; also some within a value."""


def shortened(text: str) -> str:
    """A file with MARK for each number that has too many digits, line by line the same."""
    return _DIGITS.sub(str(MARK), text)


def too_long(text: str) -> tuple[tuple[int | str, ...], int] | None:
    """The place of the first number of a file that has too many digits, and how many; None if it is
    not found.
    """
    longest = max((len(run.replace("_", "")) for run in _DIGITS.findall(text)), default=0)
    try:
        place = _place(tomllib.loads(shortened(text)), ())
    except (ValueError, RecursionError):
        return None
    return None if place is None else (place, longest)


def _place(value: Any, at: tuple[int | str, ...]) -> tuple[int | str, ...] | None:
    """Where MARK is."""
    if isinstance(value, int) and abs(value) == MARK:
        return at
    entries: Iterable[tuple[int | str, Any]] = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    found = (_place(entry, (*at, key)) for key, entry in entries)
    return next((place for place in found if place is not None), None)


def line_of(path: Path, key: str) -> int | None:
    """The line, counted from 1, in which a value begins.

    Args:
        key: such as `stream[0].period_ns`, odd names in quotes: `sync."a.b"`. If it is missing,
            what of it there is counts. Tables are counted as if ranges of names were written out.

    Returns:
        None if nothing of the key is there, the file is no TOML, or it is not found in `TRIES_MAX`
        tries.
    """
    if not path.is_file():  # a pipe has been read, and would wait for ever
        return None
    try:
        text = shortened(path.read_text(encoding="utf-8-sig"))
        whole = tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    parts: list[str | int] = [
        int(index) if index else quoted or name for quoted, name, index in _PART.findall(key)
    ]
    if len(parts) > 1:
        parts[1] = ranges.index_in_file(whole, parts[0], parts[1])
    while parts and not _has(whole, parts):
        parts.pop()
    return _first_with(text.replace("\r\n", "\n").split("\n"), parts) if parts else None


def _has(document: Any, parts: list[str | int]) -> bool:
    for part in parts:
        if isinstance(part, int):
            if not isinstance(document, list) or part >= len(document):
                return False
        elif not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True


def _first_with(lines: list[str], parts: list[str | int]) -> int | None:
    """Bisection over the beginnings of the file that end before a statement: the last that lacks
    the key, and one line more.
    """
    starts = [number for number, line in enumerate(lines) if _STATEMENT.match(line)]
    without, looked_at, within = 0, 0, len(starts)
    tries = 0
    while within - looked_at > 1:
        middle = (looked_at + within) // 2
        at = middle
        while (beginning := _parsed(lines[: starts[at]])) is None and at > looked_at:
            at -= 1
            tries += 1
        tries += 1
        if tries > TRIES_MAX:
            return None
        if beginning is not None and _has(beginning, parts):
            within = at
        else:
            looked_at = middle
            without = at if beginning is not None else without
    return starts[without] + 1 if starts else None


def _parsed(lines: list[str]) -> Any:
    """What they say; None if they end within a value."""
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None
