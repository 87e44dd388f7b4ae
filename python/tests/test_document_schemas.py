# SPDX-License-Identifier: BSD-3-Clause
"""Schemas are what their types say, and documents fit them as a full validator reads it."""

from __future__ import annotations

import contextlib
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
from keepon.errors import TraceError
from keepon.model import document_schemas, documents, loading
from keepon.model.plan import Plan
from keepon.model.result import Calibrated, Result
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
    remedy = "run python -m keepon.model.document_schemas"
    assert path.read_text(encoding="utf-8") == document_schemas.text(name), remedy


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
def test_types_take_what_their_json_schema_takes(
    name: str,
    data: st.DataObject,
) -> None:
    schema, changed = documents.json_schema(name), copy.deepcopy(_documents()[name])
    kind = document_schemas.DOCUMENTS[name][1]
    documents.check(name, changed, kind)
    *way, last = data.draw(st.sampled_from(list(_places(changed))))
    around = changed
    for step in way:
        around = around[step]
    if data.draw(st.booleans()):
        around.pop(last)
    else:
        around[last] = data.draw(st.sampled_from(_WRONG))
    fits = jsonschema.Draft202012Validator(schema).is_valid(changed)
    with contextlib.nullcontext() if fits else pytest.raises(TraceError, match="key `"):
        documents.check(name, changed, kind)


@pytest.mark.slow
def test_the_rule_of_a_value_is_named() -> None:
    changed = copy.deepcopy(_documents()["plan"])
    name = next(iter(changed["streams"]))
    changed["streams"][name]["bounds"]["jitter_ns"] = "none"
    with pytest.raises(TraceError) as caught:
        documents.check("p", changed, Plan, "plan again")
    key = f"streams.{name}.bounds.jitter_ns"
    assert str(caught.value) == f"p: key `{key}` = none: must be a whole number; plan again"


def test_all_that_a_value_may_be_is_named() -> None:
    calibrated = {"parameter": "x", "value": None, "source_id": "y"}
    with pytest.raises(TraceError, match="`value` = None: must be a number or a string; "):
        documents.check("r", calibrated, Calibrated)


@pytest.mark.slow
def test_a_list_too_long_is_refused() -> None:
    changed = copy.deepcopy(_documents()["result"])
    changed["runs"][0]["window_ns"].append(7)
    with pytest.raises(TraceError, match=r"runs\[0\].window_ns` = .* must have at most 2 entries"):
        documents.check("r", changed, Result)
