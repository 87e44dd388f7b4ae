# SPDX-License-Identifier: BSD-3-Clause
"""The part of JSON Schema that our schemas use, checked with the first thing that is wrong told by
key, value and rule.

Tests compare it with a full validator; that one is for tests only, so what is installed to run need
not have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Problem = tuple[str, Any, str]
"""Key, its value, and what it must be."""
Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_NAMES = {
    "object": "a table", "array": "a list", "string": "a string", "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip
_DEFINITIONS = "#/$defs/"
_MUST = "must be "
_WHOLE_END = 2**1024


def first_problem(document: object, schema: Schema) -> Problem | None:
    """The first place where a document breaks its schema; None if it fits."""
    return _Reader(schema.get("$defs", {})).problem(document, schema, "")


class _Reader:
    """Reads parts of one schema, which may refer to its definitions."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def problem(self, value: Any, schema: Schema, key: str) -> Problem | None:
        """The first thing that is wrong with the value of a key."""
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(_DEFINITIONS)
            if found := self.problem(value, self._definitions[name], key):
                return found
        return (
            _size_problem(value, key)
            or _type_problem(value, schema, key)
            or _value_problem(value, schema, key)
            or self._table_problem(value, schema, key)
            or self._list_problem(value, schema, key)
            or self._combined_problem(value, schema, key)
        )

    def _table_problem(self, value: Any, schema: Schema, key: str) -> Problem | None:
        if not isinstance(value, dict):
            return None
        at = f"{key}." if key else ""
        for name in schema.get("required", ()):
            if name not in value:
                return f"{at}{name}", "missing", "must be there"
        for name, needed in schema.get("dependentRequired", {}).items():
            for other in needed if name in value else ():
                if other not in value:
                    return f"{at}{other}", "missing", f"must be there as `{name}` is"
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, entry in value.items():
            if name in known:
                found = self.problem(entry, known[name], f"{at}{name}")
            elif others is False:
                found = (f"{at}{name}", entry, "is not known here")
            else:
                rest = others if isinstance(others, dict) else {}
                found = self.problem(entry, rest, f"{at}{name}")
            if found:
                return found
        return None

    def _list_problem(self, value: Any, schema: Schema, key: str) -> Problem | None:
        if not isinstance(value, list):
            return None
        if len(value) < schema.get("minItems", 0):
            return key, value, f"must have at least {schema['minItems']} entries"
        if len(value) > schema.get("maxItems", len(value)):
            return key, value, f"must have at most {schema['maxItems']} entries"
        for index, entry in enumerate(value if "items" in schema else ()):
            if found := self.problem(entry, schema["items"], f"{key}[{index}]"):
                return found
        return None

    def _combined_problem(self, value: Any, schema: Schema, key: str) -> Problem | None:
        for part in schema.get("allOf", ()):
            if "if" in part:
                branch = "then" if self.problem(value, part["if"], key) is None else "else"
                found = self.problem(value, part.get(branch, {}), key)
            else:
                found = self.problem(value, part, key)
            if found:
                return found
        choices = []
        for part in schema.get("anyOf", ()):
            found = self.problem(value, part, key)
            if found is None:
                return None
            choices.append(found)
        return _nearest(choices, key)


def _nearest(choices: list[Problem], key: str) -> Problem | None:
    """What to tell of a value that fits none of several schemas: what is in it, or all it
    may be.
    """
    if not choices:
        return None
    inside = [found for found in choices if found[0] != key]
    if inside:
        return inside[0]
    rules = list(dict.fromkeys(rule for _, _, rule in choices))
    if not all(rule.startswith(_MUST) for rule in rules):
        return choices[0]
    return key, choices[0][1], _MUST + " or ".join(rule.removeprefix(_MUST) for rule in rules)


def _is_type(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _type_problem(value: Any, schema: Schema, key: str) -> Problem | None:
    if "type" not in schema:
        return None
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if any(_is_type(value, name) for name in names):
        return None
    return key, value, "must be " + " or ".join(_NAMES[name] for name in names)


def _size_problem(value: Any, key: str) -> Problem | None:
    """Whole numbers of JSON have no end; ours are divided and drawn as floats somewhere."""
    if isinstance(value, int) and abs(value) >= _WHOLE_END:
        return key, value, "must be a number that a float can hold, 1.8e308 at most"
    return None


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _value_problem(value: Any, schema: Schema, key: str) -> Problem | None:
    if "const" in schema and not _same(value, schema["const"]):
        return key, value, f"must be {json.dumps(schema['const'])}"
    if "enum" in schema and not any(_same(value, entry) for entry in schema["enum"]):
        return key, value, f"must be one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return key, value, f"must match {schema['pattern']}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            return key, value, f"must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            return key, value, f"must be at most {schema['maximum']}"
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            return key, value, f"must be above {schema['exclusiveMinimum']}"
    return None
