# SPDX-License-Identifier: BSD-3-Clause
"""scenario.schema.json and docs/scenario.md are those of the models, and take what they take."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers import ROOT, SMALL
from keepon.model import (
    documents,
    networktables,
    policing,
    redundancy,
    scenario,
    schemafiles,
    shaping,
    stationtables,
)
from keepon.model.loading import load
from keepon.model.tables import Table
from keepon_host.link.options import OPTIONS
from pydantic import ValidationError

SCHEMA = documents.json_schema("scenario")
WRITTEN = sorted((ROOT / "examples").rglob("*.toml"))
CASES = sorted((ROOT / "python" / "tests" / "cases").glob("*.toml"))
MODELS = {
    name: model
    for module in (networktables, policing, redundancy, shaping, stationtables, scenario)
    for name, model in vars(module).items()
    if isinstance(model, type) and issubclass(model, Table) and name not in ("Table", "Scenario")
}
KEYS = [
    (name, key, entry)
    for name, table in {"": SCHEMA, **SCHEMA["$defs"]}.items()
    for key, entry in table["properties"].items()
]
# What a key may be given by mistake; those near the ends of its range are added to these.
ODD: list[Any] = [
    None, True, -1, 0, 1, 7, 1.5, 2**64, -(2**64), 10**400, "", "auto", "rest", "none", "a", "0x20",
    "0x123", "a b", ".a", "x" * 64, "x" * 65, [], {}, [0], [0, 0], [0, 1], [True], [-1], [70_000],
    [1.5], ["a"], ["a", "a"], ["a", "b"], ["a", ""], {"zz": 1}, [{}], [{"zz": 1}],
    {"br1": {"entries": []}}, ["keepon"], ["under-test"],
]  # fmt: skip


def takes(model: type[Table], table: dict[str, Any]) -> bool:
    try:
        model.model_validate(table)
    except ValidationError:
        return False
    return True


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Of one table of a scenario."""
    schema = {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"}
    return jsonschema.Draft202012Validator(schema)


def least(schema: dict[str, Any]) -> Any:
    """A value that a key takes."""
    if "default" in schema:
        return schema["default"]
    if "$ref" in schema:
        return smallest(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "enum" in schema:
        return schema["enum"][0]
    if "minimum" in schema:
        return schema["minimum"]
    if schema["type"] == "array":
        names = [f"n{number}" for number in range(schema.get("minItems", 0))]
        return names if "pattern" in schema["items"] else [least(schema["items"]) for _ in names]
    return "0x20" if "0x" in schema["pattern"] else "a"


def smallest(schema: dict[str, Any]) -> dict[str, Any]:
    """A table with what it must have; of keys in place of each other the first."""
    required = [*schema.get("required", ()), *schema.get("anyOf", [{}])[0].get("required", ())]
    return {key: least(schema["properties"][key]) for key in required}


def ends(schema: dict[str, Any]) -> Iterator[Any]:
    """Values about the ends of every range, of the entries of lists as well."""
    for choice in schema.get("anyOf", ()):
        yield from ends(choice)
    if "items" in schema:
        yield from ([value] for value in ends(schema["items"]))
        names = [f"n{number}" for number in range(schema.get("maxItems", 0) + 1)]
        yield from (names, names[1:], names[2:], names[: schema.get("minItems", 1) - 1])
    if "minimum" in schema:
        low, high = schema["minimum"], schema["maximum"]
        step = 1 if "integer" in schema["type"] else 1e-10
        yield from (low - step, low, low + step, high, high - step, high * (1 + 1e-9) + step)
    yield from schema.get("enum", ())


def test_the_files_are_those_of_the_models() -> None:
    for name, text in schemafiles.files().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: run make schemas"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$comment"].startswith("SPDX-License-Identifier: BSD-3-Clause")
    assert set(MODELS) == set(SCHEMA["$defs"])


@pytest.mark.parametrize(("table", "key", "entry"), KEYS)
def test_every_key_is_described_and_says_what_it_is_if_left_out(
    table: str,
    key: str,
    entry: dict[str, Any],
) -> None:
    described = entry["description"]
    assert described.endswith(".") and "\n" not in described
    required = key in (SCHEMA["$defs"][table] if table else SCHEMA).get("required", ())
    has_default = "default" in entry
    assert required != has_default or (not required and "eft out" in described)
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    assert any(line.startswith(f"| `{key}` |") for line in page.splitlines())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_defaults_in_the_schema_are_those_of_the_models(name: str) -> None:
    properties = SCHEMA["$defs"][name]["properties"]
    table = smallest(SCHEMA["$defs"][name])
    stated = {key: entry["default"] for key, entry in properties.items() if "default" in entry}
    assert MODELS[name].model_validate(table | stated) == MODELS[name].model_validate(table)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_and_schema_take_the_same_values(name: str) -> None:
    """Of every key: odd values, ends of ranges, none at all; of every table: keys too many."""
    judge, table = validator(name), smallest(SCHEMA["$defs"][name])
    assert takes(MODELS[name], table) and judge.is_valid(table)
    seen = {True: 0, False: 0}
    for key, entry in SCHEMA["$defs"][name]["properties"].items():
        without = {other: value for other, value in table.items() if other != key}
        for one in (without, *({**table, key: value} for value in (*ODD, *ends(entry)))):
            if key in one and one[key] is None:
                continue  # the difference below
            accepted = takes(MODELS[name], one)
            assert judge.is_valid(one) == accepted, (key, one.get(key))
            seen[accepted] += 1
    assert not takes(MODELS[name], table | {"zz": 1}) and not judge.is_valid(table | {"zz": 1})
    assert seen[True] and seen[False]


def test_the_differences_between_models_and_schema() -> None:
    """All there are: values that no TOML reader gives, and what JSON Schema itself is like."""
    link, sync = validator("Link"), validator("Sync")
    ends = {"ends": ["a", "b"]}
    # TOML has no null; scenarios made in Python may leave a key out so.
    left_out = {**ends, "rate_bps": None}
    assert takes(MODELS["Link"], left_out) and not link.is_valid(left_out)
    # JSON Schema takes 1.0 for a whole number.
    assert not takes(MODELS["Sync"], {"interval_ms": 1.0}) and sync.is_valid({"interval_ms": 1.0})
    # JSON has no nan, and comparisons with it are false.
    no_number = {"rx_jitter_scale": float("nan")}
    assert not takes(MODELS["Sync"], no_number) and sync.is_valid(no_number)
    # "$" in Python's patterns, not in those of JSON Schema, is also before a line's end.
    two_lines = {"ends": ["a", "b\n"]}
    assert not takes(MODELS["Link"], two_lines) and link.is_valid(two_lines)


@pytest.mark.parametrize("path", [*WRITTEN, *CASES], ids=lambda path: path.name)
def test_scenarios_in_files_are_taken_or_refused_by_both(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    judge = jsonschema.Draft202012Validator(SCHEMA)
    assert judge.is_valid(document) == takes(scenario.Scenario, document)
    if path in WRITTEN:
        assert judge.is_valid(document)
        assert judge.is_valid(load(path).effective())


@pytest.mark.parametrize("key", SCHEMA["properties"])
def test_wrong_values_at_the_top_are_refused_by_both(key: str) -> None:
    document = tomllib.loads(SMALL)
    judge = jsonschema.Draft202012Validator(SCHEMA)
    for value in (*ODD[1:], *ends(SCHEMA["properties"][key])):
        one = document | {key: value}
        assert judge.is_valid(one) == takes(scenario.Scenario, one), value
    without = {other: value for other, value in document.items() if other != key}
    assert judge.is_valid(without) == takes(scenario.Scenario, without)
    assert not judge.is_valid(document | {"schema_id": "keepon.scenario/1"})


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_examples_tell_editors_where_the_schema_is(path: Path) -> None:
    word, _, place = path.read_text(encoding="utf-8").partition("\n")[0].partition(" ")
    assert word == "#:schema"
    assert json.loads((path.parent / place).read_text(encoding="utf-8")) == SCHEMA


def test_keys_of_the_driver_are_those_of_its_rows() -> None:
    """Ranges and words within what a row of config_fields.h or keepon_options.h has; a default that
    is not "auto" is the row's.
    """
    keys = SCHEMA["$defs"]["KeeponOptions"]["properties"]
    assert keys.keys() - {option.field for option in OPTIONS} == {"backend_error_ns", "classes"}
    for option in (option for option in OPTIONS if option.field in keys):
        key = keys[option.field]
        for entry in key.get("anyOf", [key]):
            if entry.get("type") == "integer":
                assert option.least <= entry["minimum"] <= entry["maximum"] <= option.most, option
        assert set(key.get("enum", ())) <= set(option.words), option
        default = key["default"]
        number = option.words.index(default) if default in option.words else default
        assert number in ("auto", option.default), option
