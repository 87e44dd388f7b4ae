# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios whose plans once failed the checker or their own trial; python/tests/cases has the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from keepon import loading
from keepon.planner import plan as make_plan
from keepon.planner.network.command import trial
from keepon.planner.verify import problems
from keepon.scenario import Scenario

CASES = Path(__file__).parent / "cases"


def case(name: str, **replacements: str) -> Scenario:
    """A case with pieces of its text replaced."""
    text = (CASES / f"{name}.toml").read_text(encoding="utf-8")
    for old, new in replacements.items():
        assert old in text, old
        text = text.replace(old, new)
    return loading.parse(text, f"{name}.toml")


def holds(scenario: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
    """The plan of a scenario and its trial, both without complaint."""
    plan = make_plan(scenario)
    assert plan["status"] == "feasible"
    assert problems(scenario, plan) == []
    return plan, trial(scenario, plan)


@pytest.mark.parametrize("gates", ["auto", "none"])
@pytest.mark.parametrize("ppm", ["30.0", "3.0", "-30.0", "-100.0"])
def test_frames_in_slots_that_are_trimmed_are_longer_or_shorter_behind_every_bridge(ppm: str, gates: str) -> None:
    changes = {"processing_ns = 1500": f'processing_ns = 1500\ngates = "{gates}"', "warmup_s = 6.0": "warmup_s = 1.0"}
    scenario = case("crystal-ahead", **{"clock_ppm = 30.0": f"clock_ppm = {ppm}"}, **changes)
    plan, tried = holds(scenario)
    assert tried["unsent"] == {}
    frame_ps = plan["streams"]["act2"]["terms"]["frame_ps"]
    # Two bridges take it in whole: at 1 Gb/s a byte more each where the crystal is ahead.
    assert (frame_ps >= 2 * 231 * 8000) == (float(ppm) > 0)
    assert plan["streams"]["set2"]["terms"]["frame_ps"] == 2 * 230 * 8000


def test_frames_of_a_true_crystal_or_in_reserved_trims_keep_their_length() -> None:
    for changes in (
        {"clock_ppm = 30.0": "clock_ppm = 0.0"},
        {'host = "raspberry-pi-4"': 'keepon = { trim = "reserved" }'},
    ):
        plan = make_plan(case("crystal-ahead", **changes))
        assert plan["streams"]["act2"]["terms"]["frame_ps"] < 2 * 231 * 8000
