# SPDX-License-Identifier: BSD-3-Clause
"""Reads scenario files, sets keys over what they say, and says of everything wrong with them one
sentence each: file, key, value, range, remedy.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from keepon.errors import ConfigError, one_line
from keepon.model import launchtime, lines, names, ranges, validation
from keepon.model.scenario import SCENARIO_SCHEMA, Scenario
from keepon.model.scenariochecks import Wrong, check, problem

TEXT_MOST = 1 << 25
_EXAMPLE = "examples/habitat.toml"


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


def parse(text: str, source: str, changes: Sequence[Change] = ()) -> Scenario:
    """Scenario from TOML text.

    Args:
        text: the file's contents.
        source: what to call it in messages.
        changes: keys that are set over what the text says.

    Raises:
        ConfigError: a sentence on each thing that is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{source}: not TOML: {one_line(error, 200)}; correct the file at that place"
        ) from error
    except RecursionError:
        raise ConfigError(
            f"{source}: not a scenario: lists or tables are nested too deeply; flatten them"
        ) from None
    except ValueError as error:
        raise _too_long(text, source, error) from None
    declared = document.get("schema")
    if declared is None:
        raise ConfigError(
            f"{source}: key `schema` is missing; the first line must be schema ="
            f' "{SCENARIO_SCHEMA}"'
        )
    if declared != SCENARIO_SCHEMA:
        raise problem(
            source, "schema", declared, f'must be "{SCENARIO_SCHEMA}"; this version reads no other'
        )
    scenario = _validated(document, source, changes)
    check(scenario, source)
    return launchtime.with_advances(scenario)


def _too_long(text: str, source: str, error: ValueError) -> ConfigError:
    """TOML, but a number of it is none that Python reads."""
    found = lines.too_long(text)
    if found is None:
        return ConfigError(f"{source}: not a scenario: {one_line(error, 200)}; shorten that number")
    place, digits = found
    return ConfigError(
        f"{source}: key `{validation.path(place)}` = a number of {digits} digits: must have"
        f" {lines.DIGITS_MAX} at most; shorten that number"
    )


def _validated(document: dict[str, Any], source: str, changes: Sequence[Change] = ()) -> Scenario:
    wrong = Wrong()
    document = ranges.expanded(document, lambda *what: wrong.add(problem(source, *what)))
    wrong.end()
    for change in changes:
        document = changed(document, change)
    try:
        return Scenario.model_validate(document)
    except ValidationError as failure:
        for each in validation.every(failure, document, Scenario):
            wrong.add(_refusal(source, each))
        wrong.end()
        raise  # no key may be missing


def _refusal(source: str, wrong: validation.Wrong) -> ConfigError:
    owner = f" ({wrong.owner})" if wrong.owner else ""
    shows = f"{_EXAMPLE} shows the format"
    if wrong.is_missing:
        return ConfigError(f"{source}: key `{wrong.key}`{owner} is missing; add it, {shows}")
    return problem(source, wrong.key + owner, wrong.value, f"{wrong.rule}; {wrong.remedy or shows}")


def of_document(document: dict[str, Any], source: str) -> Scenario:
    """Scenario from what `Scenario.effective` gave, as results hold it.

    Args:
        document: its tables.
        source: what to call it in messages.

    Raises:
        ConfigError: a sentence on each thing that is wrong.
    """
    scenario = _validated(document, source)
    check(scenario, source)
    return scenario


def read_text(path: Path) -> str:
    """Raises ConfigError: the file cannot be read, or has no end."""
    try:
        # editors of some systems begin a file with a mark
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(TEXT_MOST + 1)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not TOML: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    if len(text) > TEXT_MOST:
        raise ConfigError(f"{path}: has more than {TEXT_MOST} characters; name a file of TOML")
    return text


def load(path: Path) -> Scenario:
    """Scenario from a file; raises ConfigError when it cannot be read or is wrong."""
    return parse(read_text(path), str(path))
