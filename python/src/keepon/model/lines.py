# SPDX-License-Identifier: BSD-3-Clause
"""In which line of a TOML file a key stands.

tomllib tells no positions. But the first lines of a TOML file are a TOML file, unless they end
within a value: a key begins in the line after the longest beginning that is one and lacks the key.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

VALUE_LINES_MAX = 500
"""In a value of more lines nothing is looked for: every one of them is tried."""
_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def line_of(path: Path, key: str) -> int | None:
    """The line, counted from 1, in which a value begins.

    Args:
        key: such as `stream[0].period_ns`. If it is missing, what of it there is counts.

    Returns:
        None if nothing of the key is there, the file is no TOML, or a value goes over more than
        `VALUE_LINES_MAX` lines.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        whole = tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    parts: list[str | int] = [name or int(index) for name, index in _PART.findall(key)]
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
    """Bisection over the beginnings of the file: the last that lacks the key, and one line more."""
    without, looked_at, within = 0, 0, len(lines)
    while within - looked_at > 1:
        middle = (looked_at + within) // 2
        end = middle
        while (beginning := _parsed(lines[:end])) is None:
            end -= 1
            if middle - end > VALUE_LINES_MAX:
                return None
        if _has(beginning, parts):
            within = end
        else:
            without, looked_at = end, middle
    return without + 1


def _parsed(lines: list[str]) -> Any:
    """What they say; None if they end within a value."""
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None
