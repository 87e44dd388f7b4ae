# SPDX-License-Identifier: BSD-3-Clause
"""Rates of a result are measured, over the time it states, and never taken from the plan."""

from __future__ import annotations

import jsonschema
import pytest
from helpers import small_text
from keepon.cli import session
from keepon.errors import SimulationError
from keepon.measure.results import check_flow
from keepon.model import documents
from keepon.model.loading import parse
from keepon.targets.sim.runner import run_all

LOAD = '[[load]]\nid = "L"\ntalker = "a"\nlistener = "b"\nframe_bytes = 1200\nkind = '


def loaded(kind: str, duration_s: float) -> dict[str, dict[str, int]]:
    """Load and station of a keepon run, and what the plan leaves to best effort."""
    text = small_text(
        **{"[compare]": f"{LOAD}{kind}\n[compare]",
        "duration_s = 0.1": f"duration_s = {duration_s}",
           "warmup_s = 0.0": "warmup_s = 0.05"}
    )  # fmt: skip
    scenario = parse(text, "small")
    plan = session.planned(scenario)
    result = run_all(scenario, plan, 1).result
    jsonschema.Draft202012Validator(documents.json_schema("result")).validate(result)
    run = result["runs"][0]
    assert run["window_ns"] == [50_000_000, 50_000_000 + round(duration_s * 1e9)]
    return {
        "load": run["loads"]["L"],
        "station": run["stations"]["a"],
        "plan": plan["stations"]["a"]["headroom"],
    }


@pytest.mark.parametrize("duration_s", [0.01, 0.1])
def test_no_more_arrives_than_the_link_can_carry_however_short_the_window(
    duration_s: float,
) -> None:
    """A run goes on for 20 ms and more after its window: what arrives then does not count."""
    got = loaded('"saturate"', duration_s)
    on_the_wire_bps = 1e9 * 1200 / 1250  # slots of 1230 bytes and 20 more
    assert (
        0.95 * on_the_wire_bps
        < got["load"]["goodput_bps"]
        <= on_the_wire_bps + 1200 * 8 / duration_s
    )
    assert got["load"]["delivered_bytes"] > got["load"]["window_delivered_bytes"]


def test_the_best_effort_of_a_result_is_what_was_sent_and_not_what_the_plan_leaves() -> None:
    got = loaded('"udp"\nrate_bps = 50_000_000', 0.1)
    assert got["station"]["best_effort_bps"] == pytest.approx(50_000_000, rel=0.02)
    assert got["load"]["goodput_bps"] == pytest.approx(got["station"]["best_effort_bps"], rel=0.01)
    assert got["plan"]["best_effort_bps"] > 10 * got["station"]["best_effort_bps"]


def test_a_load_whose_frames_do_not_add_up_is_an_error() -> None:
    whole = {
        "submitted": 4, "verdicts": {"best_effort": 3}, "pending": 1, "on_wire": 3, "delivered": 1,
        "lost": {"bridge": 1}, "in_flight": 1,
    }  # fmt: skip
    check_flow(whole, 1, "load L")
    for key, value in {
        "pending": 0,
        "in_flight": 0,
        "on_wire": 4,
        "delivered": 2,
        "lost": {},
    }.items():
        with pytest.raises(SimulationError, match="load L"):
            check_flow({**whole, key: value}, 1, "load L")
