# SPDX-License-Identifier: BSD-3-Clause
"""Writes plain dictionaries as TOML 1.0, so that `tomllib` reads back exactly what was written.

The standard library only reads TOML. Keys keep their order except that tables follow the scalars of
their parent, as the format demands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def _string(text: str) -> str:
    parts = []
    for character in text:
        if character in _ESCAPES:
            parts.append(_ESCAPES[character])
        elif ord(character) < 0x20 or ord(character) == 0x7F:
            parts.append(f"\\u{ord(character):04x}")
        else:
            parts.append(character)
    return '"' + "".join(parts) + '"'


def _key(text: str) -> str:
    return text if _BARE_KEY.match(text) else _string(text)


def _float(number: float) -> str:
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return repr(number)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{_key(name)} = {_value(entry)}" for name, entry in value.items())
            + "}"
        )
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    raise TypeError(
        f"{type(value).__name__} has no TOML form here; use bool, int, float, str, list or dict"
    )


def _is_table_array(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(entry, Mapping) for entry in value)
    )


def _write_table(lines: list[str], path: tuple[str, ...], table: Mapping[str, Any]) -> None:
    for name, value in table.items():
        if not isinstance(value, Mapping) and not _is_table_array(value):
            lines.append(f"{_key(name)} = {_value(value)}")
    for name, value in table.items():
        header = ".".join(_key(part) for part in (*path, name))
        if isinstance(value, Mapping):
            lines.extend(["", f"[{header}]"])
            _write_table(lines, (*path, name), value)
        elif _is_table_array(value):
            for entry in value:
                lines.extend(["", f"[[{header}]]"])
                _write_table(lines, (*path, name), entry)


def dumps(document: Mapping[str, Any]) -> str:
    """TOML text of `document`; values are bool, int, float, str, lists and dictionaries of these.

    Raises:
        TypeError: a value of another type, None included (leave such keys out).

    >>> dumps({"schema": "x/1", "link": [{"ends": ["a", "b"]}]})
    'schema = "x/1"\\n\\n[[link]]\\nends = ["a", "b"]\\n'
    """
    lines: list[str] = []
    _write_table(lines, (), document)
    return "\n".join(lines) + "\n"
