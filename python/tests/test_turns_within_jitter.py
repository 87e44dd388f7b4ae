# SPDX-License-Identifier: BSD-3-Clause
"""Streams whose frames have releases of their own: how far apart they come, not how far apart they
leave, is held against their jitter.
"""

from __future__ import annotations

import pytest
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems
from keepon.trial.trial import trial
from port_cases import bridge, link, scenario_of, station, stream


@pytest.mark.slow
def test_turns_that_wait_differently_at_bridges_stay_within_their_jitter() -> None:
    """Kept at bridges for an eighth of its wire time, a frame of f2 came up to 62 us after another,
    counted from its period's start.
    """
    slow = {"rate_bps": 100_000_000}
    scenario = scenario_of(
        *(bridge(name) for name in ("b0", "b1", "b2")),
        *(station(f"s{number}", "launchtime", "ideal") for number in range(4)),
        link("b0", "b1", **slow), link("b1", "b2"),
        link("s0", "b0", **slow), link("s1", "b1"), link("s2", "b2"), link("s3", "b0"),
        stream("f0", "s0", "s2", period_ns=1_400_000, frame_bytes=400, jitter_ns=100_000),
        stream("f2", "s1", "s0", period_ns=1_400_000, frame_bytes=1500, jitter_ns=50_000),
        stream("f3", "s3", "s0", frame_bytes=1000, jitter_ns=200_000),
        head='planner.isolation = "order"\n',
    )  # fmt: skip
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert len(plan["streams"]["f2"]["turns_ns"]) == 5
    assert 45_000 < plan["streams"]["f2"]["bounds"]["jitter_ns"] <= 50_000
    assert trial(scenario, plan)["unsent"] == {}
