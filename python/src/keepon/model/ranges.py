# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of names in a scenario, `drive1..6` or `drive1..drive6`: equal nodes are one table.

Where a range is what a table is called by, the table stands for one of each name, and other ranges
of it go in step; else a range in a list stands for all its names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

LONGEST = 256
HEADS = {
    "station": "name", "bridge": "name", "link": "ends", "stream": "id", "load": "id",
    "fault": "node",
}  # fmt: skip
"""Tables, and what each is called by."""
_STEPPED = ("talker", "listener", "listeners")
_SPREAD = ("listeners", "route")
_RANGE = re.compile(r"(.*\D|)(\d{1,9})\.\.(?:\1)?(\d{1,9})")
Refuse = Callable[[str, Any, str], None]
"""Takes key, value and what it must be."""


def names(text: Any) -> list[str] | None:
    """The names of a range; None if it is none.

    >>> names("cam08..10")
    ['cam08', 'cam09', 'cam10']
    """
    found = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    first, last = int(found[2]), int(found[3])
    width = len(found[2]) if found[2].startswith("0") else 0
    # No more than show that there are too many.
    last = min(last, first + LONGEST)
    return [f"{found[1]}{number:0{width}}" for number in range(first, last + 1)]


def expanded(document: dict[str, Any], refuse: Refuse) -> dict[str, Any]:
    """A scenario's document with its ranges written out."""
    made = dict(document)
    for kind in HEADS:
        if isinstance(document.get(kind), list):
            tables: list[Any] = []
            for entry in document[kind]:
                tables += _tables(kind, entry, f"{kind}[{len(tables)}]", refuse)
            made[kind] = tables
    return made


def index_in_file(document: dict[str, Any], kind: Any, index: Any) -> Any:
    """Which table of a file stands for number `index` when ranges are written out."""
    if kind not in HEADS or not isinstance(document.get(kind), list):
        return index
    left = index
    for number, entry in enumerate(document[kind]):
        count = len(_tables(kind, entry, "", lambda key, value, rule: None))
        if left < count:
            return number
        left -= count
    return index


def _tables(kind: str, entry: Any, at: str, refuse: Refuse) -> list[Any]:
    """The tables that one of a file stands for."""
    if not isinstance(entry, dict):
        return [entry]
    head = entry.get(HEADS[kind])
    heads = [each for each in head if names(each)] if isinstance(head, list) else [head]
    lead = names(heads[0]) if heads else None
    stepped = [key for key in (HEADS[kind], *_STEPPED) if key in entry]
    for key in stepped if lead else (HEADS[kind], "talker", "listener"):
        for value in entry[key] if isinstance(entry.get(key), list) else [entry.get(key)]:
            if rule := _misfit(lead, names(value), HEADS[kind]):
                refuse(f"{at}.{key}", value, rule)
                return [entry]
    if not lead:
        return [entry | {key: _spread(entry[key]) for key in _SPREAD if key in entry}]
    made = []
    for number in range(len(lead)):
        own = {key: _step(entry[key], number) for key in stepped}
        own |= {"route": _spread(entry["route"])} if "route" in entry else {}
        made.append(entry | own)
    return made


def _misfit(lead: list[str] | None, found: list[str] | None, head: str) -> str | None:
    """What is wrong with a range beside that of its table's head."""
    if found is None:
        return None
    if not found:
        return "counts down; write the least first"
    if len(found) > LONGEST:
        return f"must be {LONGEST} names at most; write several"
    if lead is None:
        return f"is a range, and `{head}` is none; write one of as many names there"
    if len(found) != len(lead):
        return f"must be {len(lead)} names, as `{head}` has; write tables of their own"
    return None


def _step(value: Any, number: int) -> Any:
    if isinstance(value, list):
        return [_step(each, number) for each in value]
    found = names(value)
    return found[number] if found else value


def _spread(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [name for each in value for name in (names(each) or [each])]
