# SPDX-License-Identifier: BSD-3-Clause
"""Releases behind ETF are as far apart as their host hands frames over, where its delta is not
enough for all at once: a frame takes the driver 11 us (keepon.fig10a), so 16 of them take 176 us of
150. One core does the stack's 5 us, too.
"""

from __future__ import annotations

import copy
from itertools import pairwise

import pytest
from keepon.planner.verify import problems
from keepon.trial.trial import trial
from port_cases import bridge, link, planned, scenario_of, station, stream


def sixteen(
    driver: str, cores: int, period_ns: int = 1_000_000, offsets: bool = False
) -> list[str]:
    host = f'{{ base = "tsn-end-station", cores = {cores} }}'
    more = [{"offset_ns": 2_048 * number} if offsets else {} for number in range(16)]
    return [
        station("a", driver, "HOST").replace('"HOST"', host), station("z", "standard"),
        bridge("sw"), link("a", "sw"), link("z", "sw"),
        *(stream(f"s{number}", "a", "z", frame_bytes=64, period_ns=period_ns, **own)
          for number, own in enumerate(more)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("driver", "cores", "apart_ns"),
    [("launchtime", 0, 11_000), ("launchtime", 1, 16_000), ("standard", 2, 11_000)],
)
def test_a_host_hands_over_one_frame_after_the_other(
    driver: str, cores: int, apart_ns: int
) -> None:
    scenario = scenario_of(*sixteen(driver, cores))
    plan = planned(scenario)
    at_ns = sorted(entry["release_ns"] for entry in plan["streams"].values())
    least_ns = min(after - before for before, after in pairwise([*at_ns, at_ns[0] + 1_000_000]))
    assert apart_ns <= least_ns < apart_ns + 32
    assert plan["stations"]["a"]["apart_ns"] == apart_ns
    assert trial(scenario, plan)["unsent"] == {}
    wrong = copy.deepcopy(plan)
    wrong["stations"]["a"]["apart_ns"] = apart_ns - 1
    assert f"a needs {apart_ns} ns for a frame, and has {apart_ns - 1}" in problems(scenario, wrong)
    wrong["stations"]["a"]["apart_ns"] = least_ns + 1
    assert "s0 and s1 come to the driver of a at once" in problems(scenario, wrong)


@pytest.mark.parametrize(("period_ns", "offsets"), [(160_000, False), (1_000_000, True)])
def test_releases_that_cannot_be_apart_are_planned_as_they_can(
    period_ns: int, offsets: bool
) -> None:
    scenario = scenario_of(*sixteen("launchtime", 0, period_ns, offsets))
    assert "apart_ns" not in planned(scenario)["stations"]["a"]
