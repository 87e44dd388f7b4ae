# SPDX-License-Identifier: BSD-3-Clause
"""Schemas are what their types say, and documents fit them as a full validator reads it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keepon.model import document_schemas, documents, loading, schemacheck
from keepon.planner import plan as make_plan
from keepon.planner.verify import verify
from keepon.targets.sim.runner import run_all
from schemas import undescribed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(document_schemas.DOCUMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_what_the_types_say(name: str) -> None:
    path = document_schemas.FOLDER / f"{name}.schema.json"
    told = "run python -m keepon.model.document_schemas"
    assert path.read_text(encoding="utf-8") == document_schemas.text(name), told


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_described(name: str) -> None:
    assert list(undescribed(document_schemas.schema(name))) == []


@cache
def _documents() -> dict[str, Any]:
    scenario = loading.load(EXAMPLES / "gptp.toml")
    scenario = scenario.model_copy(update={"duration_s": 0.05})
    plan = verify(scenario, make_plan(scenario))
    result = run_all(scenario, plan, scenario.seed).result
    return json.loads(json.dumps({"plan": plan, "result": result}))  # type: ignore[no-any-return]


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Ways to every table, list and value of a document, of lists to the first entries only."""
    if at:
        yield at
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(min(2, len(value))))
    for key in keys:
        if key != "effective":
            yield from _places(value[key], (*at, key))


_WRONG: list[Any] = [None, True, -1, 1.5, "x", [], {}, 2**70, [0], [0, 1, 2], "infeasible"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plan", "result"])
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_our_reading_of_a_schema_is_that_of_a_full_validator(
    name: str,
    data: st.DataObject,
) -> None:
    schema, changed = documents.json_schema(name), copy.deepcopy(_documents()[name])
    assert schemacheck.first_problem(changed, schema) is None
    *way, last = data.draw(st.sampled_from(list(_places(changed))))
    around = changed
    for step in way:
        around = around[step]
    if data.draw(st.booleans()):
        around.pop(last)
    else:
        around[last] = data.draw(st.sampled_from(_WRONG))
    ours = schemacheck.first_problem(changed, schema)
    fits = jsonschema.Draft202012Validator(schema).is_valid(changed)
    assert (ours is None) == fits, ours


@pytest.mark.slow
def test_all_that_a_value_may_be_is_told() -> None:
    changed = copy.deepcopy(_documents()["plan"])
    name = next(iter(changed["streams"]))
    changed["streams"][name]["bounds"]["jitter_ns"] = "none"
    found = schemacheck.first_problem(changed, documents.json_schema("plan"))
    where = f"streams.{name}.bounds.jitter_ns"
    assert found == (where, "none", "must be a whole number or null")


def test_a_list_too_long_is_told() -> None:
    changed = copy.deepcopy(_documents()["result"])
    changed["runs"][0]["window_ns"].append(7)
    found = schemacheck.first_problem(changed, documents.json_schema("result"))
    assert found is not None
    assert (found[0], found[2]) == ("runs[0].window_ns", "must have at most 2 entries")
