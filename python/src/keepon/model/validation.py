# SPDX-License-Identifier: BSD-3-Clause
"""What pydantic found wrong with a file or with settings: key, value, what it must be, remedy. The
sentence round it is that of the reader, who knows what the file is called.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

Location = tuple[int | str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_MUST = "must be "
_ID_KEYS = ("id", "name")
_NAME = re.compile(r"\^\[A-Za-z0-9\]\[A-Za-z0-9\._-\]\{0,(\d+)\}\$")
"""The pattern of a name."""
_TABLE = ("must be a table", "write it as [key] or key = { ... }")


@dataclass(frozen=True)
class Wrong:
    """One key that is not as it must be."""

    key: str
    """its way, as `stream[0].period_ns`"""
    owner: str
    """what it is part of, by name; empty if that has none"""
    value: Any
    """what is there; None if nothing is"""
    rule: str
    """what it must be"""
    remedy: str
    """what mends it in a file written by hand; empty where only an example helps"""
    is_missing: bool = False
    """nothing is there"""


def first(
    failure: ValidationError,
    document: Mapping[str, Any],
    model: type[BaseModel] | None = None,
    may_lack: Container[str] = (),
) -> Wrong | None:
    """What to say of a failure; None if nothing is wrong but keys that may be missing.

    Args:
        document: what was validated.
        model: has the keys that are suggested in place of unknown ones.
        may_lack: names of keys that need not be there.
    """
    return next(every(failure, document, model, may_lack), None)


def every(
    failure: ValidationError,
    document: Mapping[str, Any],
    model: type[BaseModel] | None = None,
    may_lack: Container[str] = (),
) -> Iterator[Wrong]:
    """The same of all that is wrong, once for each key; unknown keys come first."""
    errors = [_Error(document, found) for found in failure.errors(include_url=False)]
    errors = [each for each in errors if not (each.is_missing and each.location[-1] in may_lack)]
    errors.sort(key=_Error.rank)
    misspelt: set[Location] = set()
    taken: set[Location] = set()
    around: set[Location] = set()
    for each in errors:
        ways = {each.location[:end] for end in range(len(each.location) + 1)}
        # Of a union's errors one is enough, and an unknown key may be the missing one.
        if ways & taken or each.location in around:
            continue
        if each.is_missing and each.location[:-1] in misspelt:
            continue
        if each.kind == "extra_forbidden":
            misspelt.add(each.location[:-1])
        taken.add(each.location)
        around |= ways
        yield _wrong(document, each, errors, model)


def _wrong(
    document: Mapping[str, Any],
    found: _Error,
    errors: list[_Error],
    model: type[BaseModel] | None,
) -> Wrong:
    rule, remedy = found.rule(model)
    rules = [
        each.rule(model)[0]
        for each in errors
        if each.location == found.location and each.rank() == found.rank()
    ]
    if all(each.startswith(_MUST) for each in rules):
        rule = _MUST + " or ".join(dict.fromkeys(each.removeprefix(_MUST) for each in rules))
    return Wrong(
        path(found.location),
        _owner(document, found.location),
        found.value,
        rule,
        remedy,
        found.is_missing,
    )


class _Error:
    """One error of pydantic, at a place of the document."""

    def __init__(self, document: Mapping[str, Any], error: Any) -> None:
        self.kind: str = error["type"]
        self.context: dict[str, Any] = error.get("ctx", {})
        self.message: str = error["msg"]
        location = (*error["loc"], self.context["key"]) if self.kind == "table" else error["loc"]
        self.location, self.value, self.around = _resolved(
            document, location, self.kind in ("missing", "table")
        )
        self.is_missing = bool(self.location) and not _has(self.around, self.location[-1])

    def rank(self) -> tuple[int, int]:
        """Of a union's errors the first is of the branch that fits the kind of value written: a
        table or a word.
        """
        word = self.kind in ("literal_error", "keepon")
        mismatch = word if isinstance(self.value, dict) else self.kind in _NO_TABLE
        return (1 if mismatch else 0, 0 if self.kind == "extra_forbidden" else 1)

    def rule(self, model: type[BaseModel] | None) -> tuple[str, str]:
        """What the value must be, and the remedy."""
        if self.kind == "keepon":
            return self.context["message"], self.context["remedy"]
        if self.kind == "table":
            return self.context["rule"], ""
        if self.kind == "extra_forbidden":
            return "unknown key", self._known(model)
        if self.kind == "literal_error":
            return _one_of(str(self.context["expected"]), self.value)
        if self.kind == "string_pattern_mismatch":
            return _pattern(self.context["pattern"]), ""
        if self.kind in ("too_short", "too_long"):
            return _count(self.kind, self.context)
        if self.kind in _NO_TABLE:
            return _TABLE
        if self.kind in _KINDS:
            return _KINDS[self.kind]
        if self.kind in _BOUNDS:
            return _BOUNDS[self.kind].format(**self.context), ""
        return self.message.lower(), ""

    def _known(self, model: type[BaseModel] | None) -> str:
        if model is None:
            return ""
        known = _known_keys(model, self.location[:-1])
        if isinstance(self.around, dict):
            known = [name for name in known if name not in self.around] or known
        return suggestion(str(self.location[-1]), known)


_NO_TABLE = ("model_type", "model_attributes_type", "dict_type", "dataclass_type")
_KINDS = {
    "missing": ("must be there", ""),
    "int_type": ("must be a whole number", ""),
    "float_type": ("must be a number", ""),
    "string_type": ("must be a string", "write it in quotes"),
    "bool_type": ("must be true or false", "write it without quotes"),
    "none_required": ("must be null", ""),
    "list_type": ("must be a list", "write it as [ ... ]"),
}
_BOUNDS = {
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def _one_of(expected: str, value: Any) -> tuple[str, str]:
    """`expected`: such as `'a', 'b' or 'c'`."""
    given = expected.replace(" or ", ", ").split(", ")
    words = [word.strip("'\" ") for word in given]
    if given == words:
        return f"must be one of {', '.join(words)}", "write the number without quotes"
    allowed = ", ".join(f'"{word}"' for word in words)
    close = difflib.get_close_matches(str(value), words, n=1, cutoff=0.5)
    return f"must be one of {allowed}", f'did you mean "{close[0]}"?' if close else "choose one"


def _pattern(pattern: str) -> str:
    name = _NAME.fullmatch(pattern)
    if name is None:
        return f"must match {pattern}"
    most = int(name[1]) + 1
    return f"must be a letter or digit, then letters, digits and . _ - ({most} at most)"


def _count(kind: str, context: Mapping[str, Any]) -> tuple[str, str]:
    if kind == "too_long":
        return f"must have at most {context['max_length']} entries", ""
    least = context["min_length"]
    if least == 1:
        return "must be a list with at least one entry", "add one"
    return f"must have at least {least} entries", ""


def suggestion(word: str, known: list[str]) -> str:
    """The nearest of the names that are known, or all of them."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f'did you mean "{close[0]}"?' if close else "known here: " + ", ".join(known)


def path(location: Iterable[int | str]) -> str:
    """A location as TOML names it.

    >>> path(("sync", "a.b", 0))
    'sync."a.b"[0]'
    """
    text = ""
    for part in location:
        name = part if isinstance(part, int) or _BARE.fullmatch(part) else f'"{part}"'
        text += f"[{name}]" if isinstance(part, int) else f".{name}" if text else str(name)
    return text


def _has(value: Any, part: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


def _resolved(
    document: Mapping[str, Any], location: Location, is_missing: bool
) -> tuple[Location, Any, Any]:
    """Location without pydantic's union tags, its value (None if absent) and the table or list
    around it.
    """
    kept: list[int | str] = []
    value: Any = document
    around: Any = None
    for position, part in enumerate(location):
        if _has(value, part):
            around, value = value, value[part]
        elif is_missing and position == len(location) - 1:
            around, value = value, None
        else:
            continue
        kept.append(part)
    return tuple(kept), value, around


def _owner(document: Mapping[str, Any], location: Location) -> str:
    """'stream "F2"' for a key inside a named entry, so that no reader has to count."""
    if len(location) > 2 and isinstance(location[1], int):
        entry = document[str(location[0])][location[1]]
        for key in _ID_KEYS:
            named = isinstance(entry, dict) and isinstance(entry.get(key), str)
            if named and location[2:] != (key,):
                return f'{location[0]} "{entry[key]}"'
    return ""


def _known_keys(model: type[BaseModel], location: Location) -> list[str]:
    """Keys the table at `location` may have, found by walking the models' fields."""
    for part in location:
        if isinstance(part, int):
            continue
        found = None
        for name, field in model.model_fields.items():
            if part in (name, field.alias):
                found = field.annotation
        nested = _models_in(found)
        if not nested:
            return []
        model = nested[0]
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    models: list[type[BaseModel]] = []
    for argument in getattr(annotation, "__args__", ()):
        models.extend(_models_in(argument))
    return models
