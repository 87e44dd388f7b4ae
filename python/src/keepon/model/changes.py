# SPDX-License-Identifier: BSD-3-Clause
"""Changes of a scenario by dotted keys: `stream.get3.deadline_ns`, `sync.mode`.

Where the scenario has many tables of a kind the second part is what they are called by, a range of
such names, or `*` for all; a link is called by its ends, `plc-br1`.
"""

from __future__ import annotations

import tomllib
from typing import Any

from keepon.errors import ConfigError, one_line
from keepon.model import names, ranges

Change = tuple[str, Any]
"""Key and value."""


def value_of(text: str) -> Any:
    """A TOML value, or a bare word.

    >>> value_of("50"), value_of("counter"), value_of("250 us")
    (50, 'counter', '250 us')
    """
    try:
        return tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def values_of(text: str) -> list[Any]:
    """Several, with commas between them.

    >>> values_of("keepon, 250 us"), values_of('["a"], ["a", "b"]')
    (['keepon', '250 us'], [['a'], ['a', 'b']])
    """
    try:
        return list(tomllib.loads(f"values = [{text}]")["values"])
    except tomllib.TOMLDecodeError:
        return [value_of(each) for each in text.split(",")]


def changed(document: dict[str, Any], change: Change) -> dict[str, Any]:
    """A scenario's document, ranges of names written out, with a key set.

    Raises:
        ConfigError: it has no table of that name.
    """
    key, value = change
    kind, _, rest = key.partition(".")
    tables = document.get(kind)
    if kind not in ranges.HEADS or not isinstance(tables, list):
        return _set(document, key.split("."), change)
    made, found = [], False
    for table in tables:
        name = _called(table.get(ranges.HEADS[kind]))
        own = _within(rest, name)
        found |= own is not None
        made.append(table if own is None else _set(table, own.split("."), change))
    if not found:
        known = names.ranged(
            dict.fromkeys(_called(each.get(ranges.HEADS[kind])) for each in tables)
        )
        raise ConfigError(
            f"setting `{one_line(key)}` = {one_line(value)}: names no {kind}; write {kind}.NAME.KEY"
            f" with a NAME of {known}, or *"
        )
    return {**document, kind: made}


def _called(head: Any) -> str:
    return "-".join(map(str, head)) if isinstance(head, list) else str(head)


def _within(rest: str, name: str) -> str | None:
    """The key within the table called so; None if another is meant. Names may have dots."""
    if rest.startswith(f"{name}.") and not rest.startswith(f"{name}.."):
        return rest[len(name) + 1 :]
    head, _, own = rest.replace("..", "\0").partition(".")
    head = head.replace("\0", "..")
    return own if own and (head == "*" or name in (ranges.names(head) or ())) else None


def _set(table: dict[str, Any], path: list[str], change: Change) -> dict[str, Any]:
    """A table with the value at a path; those within are not shared with the old one."""
    first, *further = path
    if not further:
        return {**table, first: change[1]}
    inner = table.get(first, {})
    if not isinstance(inner, dict):
        raise ConfigError(
            f"setting `{one_line(change[0])}` = {one_line(change[1])}: `{first}` is no table with"
            " keys of its own; write a key that is"
        )
    return {**table, first: _set(inner, further, change)}
