# SPDX-License-Identifier: BSD-3-Clause
"""Published figures of the case study stand beside its own results, and beside no others."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from helpers import HABITAT, TWO_STATIONS
from keepon.cli import session
from keepon.model import loading
from keepon.model.result import Result
from keepon.report import page, tables
from keepon.report.page import is_case_study
from keepon.targets.sim.runner import run_all


def _result(scenario: Any) -> tuple[Result, Any]:
    few = scenario.model_copy(update={"duration_s": 0.02, "warmup_s": 0.3})
    plan = session.planned(few)
    return run_all(few, plan, 1).result, plan


def test_a_scenario_with_a_name_like_the_case_studys_has_no_published_figures_beside_it() -> None:
    scenario = loading.load(TWO_STATIONS).model_copy(update={"name": "habitat-of-mine"})
    result, plan = _result(scenario)
    assert not any(row["published"] or row["note"] for row in page.comparison(result))
    assert tables.delay_notes(result) == []
    assert "ublished:" not in page.render(result, plan)


def test_the_case_study_has_them_under_any_name_and_of_any_length() -> None:
    result, plan = _result(loading.load(HABITAT).model_copy(update={"name": "mine", "seed": 7}))
    assert sum(bool(row["published"]) for row in page.comparison(result)) > 1
    (note,) = tables.delay_notes(result)
    assert re.search(r"ours\); F\d[F\d, ]*: not published$", note)
    assert "Not published: " in page.render(result, plan)


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("stream", "period_ns", 2_000_000),
        ("stream", "frame_bytes", 1_000),
        ("stream", "talker", "structural-sensor"),
        ("link", "rate_bps", 100_000_000),
        ("link", "propagation_ns", 5_000),
        ("bridge", "processing_ns", 1),
    ],
)
def test_another_experiment_is_not_taken_for_it(kind: str, key: str, value: object) -> None:
    effective = loading.load(HABITAT).effective()
    assert is_case_study(effective)
    other = copy.deepcopy(effective)
    other[kind][0][key] = value
    assert not is_case_study(other), (effective[kind][0], key)
    fewer = copy.deepcopy(effective)
    del fewer[kind][0]
    assert not is_case_study(fewer)


def test_what_changes_no_figure_makes_no_other_experiment() -> None:
    effective = loading.load(HABITAT).effective()
    effective["stream"].reverse()
    effective["stream"][0]["deadline_ns"] = 1_000_000_000
    effective["link"][0]["rate_bps"] = effective["defaults"]["rate_bps"]
    del effective["bridge"][0]["queues"]  # as a result of an earlier version
    assert is_case_study(effective)


def test_a_load_or_a_fault_makes_another_experiment() -> None:
    for kind in ("load", "fault"):
        effective = loading.load(HABITAT).effective()
        effective[kind].append({"id": "B1", "kind": "cbr"})
        assert not is_case_study(effective), kind


def test_a_slower_network_is_another_experiment() -> None:
    effective = loading.load(HABITAT).effective()
    effective["defaults"]["rate_bps"] = 100_000_000
    assert not is_case_study(effective)
