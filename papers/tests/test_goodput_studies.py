# SPDX-License-Identifier: BSD-3-Clause
"""Figures 17 and 18, shortened: goodput with a slot for each frame and with several, against the
grid's own limit.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema
import pytest

from keepon.model import documents
from keepon.model.spans import Spans
from keepon_papers import goodput, published, study
from keepon_papers.registry import STUDIES
from keepon_papers.schema_files import PACKAGE

QUICK = ["measured_ms=20"]


@functools.cache
def run(name: str) -> Any:
    return study.run(STUDIES[name], name, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fig17", "fig18"])
def test_every_statement_holds_and_the_document_fits_its_schema(name: str) -> None:
    document = run(name)
    jsonschema.validate(
        json.loads(json.dumps(document, allow_nan=False)),
        documents.json_schema("study", PACKAGE),
    )
    (part,) = document["parts"]
    assert part["checks"] and [check for check in part["checks"] if not check["met"]] == []
    assert all(len(row) == len(part["tables"][0]["columns"]) for row in part["tables"][0]["rows"])
    known = {entry["id"] for entry in published.load("keepon").values() if "id" in entry}
    assert {row["id"] for row in part["compared"]} <= known


@pytest.mark.slow
def test_frames_of_several_slots_carry_every_length() -> None:
    """The shares that were asked for, and full frames where one slot carried none."""
    rows = {row[0]: row[1:] for row in run("fig17")["parts"][0]["tables"][0]["rows"]}
    wanted = {18: (7, 67, 13), 100: (13, 66, 27), 500: (45, 91, 91), 1000: (85, 95, 85),
              1472: (0, 95, 82)}  # fmt: skip
    assert {size: tuple(round(value) for value in row) for size, row in rows.items()} == wanted


@pytest.mark.slow
def test_what_falls_short_of_the_grid_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodput, "KEPT", 1.01)
    (part,) = study.run(STUDIES["fig18"], "fig18", QUICK)["parts"]
    assert not part["checks"][0]["met"]


@pytest.mark.parametrize("scheme", goodput.SCHEMES, ids=lambda scheme: scheme.name)
def test_the_study_counts_the_slots_that_plans_have(scheme: goodput.Scheme) -> None:
    most = 1518 if scheme.buffers else 0
    spans = Spans(scheme.slot_bytes, scheme.slot_bytes - 8, most, 1, scheme.buffers)
    for frame_bytes in range(64, 1519):
        assert scheme.slots(frame_bytes) == spans.of(frame_bytes).slots
