# SPDX-License-Identifier: BSD-3-Clause
"""Streams that share no port are planned and checked by themselves: nothing is followed until the
whole network repeats.
"""

from __future__ import annotations

import copy
import math

import pytest
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner import verify as verify_module
from keepon.planner.verify import problems
from keepon.trial.trial import trial
from port_cases import bridge, leaf, link, planned, scenario_of, stream


def cell(talkers: int, period_ns: int, back_ns: int, **keys: object) -> Scenario:
    """Drives d0, d1 ... that send to a controller, and what it sends to d0."""
    names = [f"d{number}" for number in range(talkers)]
    return scenario_of(
        bridge("sw"),
        *(leaf(name) + link(name, "sw") for name in (*names, "plc")),
        *(stream(f"s{name}", name, "plc", period_ns=period_ns, **keys) for name in names),
        stream("back", "plc", "d0", period_ns=back_ns, frame_bytes=100),
    )


@pytest.mark.parametrize(
    ("talkers", "period_ns", "back_ns", "cycle_us"),
    [(1, 1_000_000, 16_683_333, 16_683.333), (40, 500_000, 10_000_000_000, 10_000_000)],
)
def test_each_port_has_a_cycle_of_its_own(
    talkers: int, period_ns: int, back_ns: int, cycle_us: float
) -> None:
    """59.94 frames a second beside control of 1 ms, and a log every 10 s: a million frames and more
    until all repeats, and a port's list has four entries for each of its streams at most.
    """
    scenario = cell(talkers, period_ns, back_ns)
    ports = planned(scenario)["bridges"]["sw"]["ports"]
    assert math.lcm(period_ns, back_ns) // period_ns * talkers > 500_000
    assert {peer: port["cycle_ns"] / 1000 for peer, port in ports.items()} == {
        "plc": period_ns / 1000,
        "d0": cycle_us,
    }
    assert all(len(port["entries"]) <= 4 * len(port["queues"]) for port in ports.values())


def test_a_camera_beside_a_drive_is_tried() -> None:
    scenario = cell(1, 1_000_000, 16_683_333)
    assert trial(scenario, planned(scenario))["unsent"] == {}


def test_only_streams_that_meet_are_followed_where_a_port_does_not_show_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = cell(2, 1_000_000, 16_683_333)
    plan = planned(scenario)
    late = copy.deepcopy(plan)
    late["streams"]["sd1"]["release_late_ps"] += 300_000
    assert any("sd1 does not leave sw at its window" in text for text in problems(scenario, late))
    # With the camera all of them would be 33 million frames.
    monkeypatch.setattr(verify_module, "_FOLLOWED_MAX", 2)
    assert any("sd1 does not leave sw at its window" in text for text in problems(scenario, late))
    monkeypatch.setattr(verify_module, "_FOLLOWED_MAX", 1)
    assert problems(scenario, late) == [
        "it is not shown that frames leave sw towards plc in their windows"
    ]


def test_a_list_by_hand_whose_streams_repeat_too_late_is_no_defect() -> None:
    """Periods of 997, 999 and 1001 us come together after 997 s."""
    scenario = scenario_of(
        '[[bridge]]\nname = "sw"\n[bridge.gates.z]\nentries = [{ gates = "0xff", ns = 1_000 }]\n',
        *(leaf(name) + link(name, "sw", rate_bps=10**10) for name in ("a", "b", "c", "z")),
        *(
            stream(name, name, "z", period_ns=period_ns, frame_bytes=64)
            for name, period_ns in (("a", 997_000), ("b", 999_000), ("c", 1_001_000))
        ),
    )
    plan = make_plan(scenario)
    assert (plan["status"], plan["why"]["constraint"]) == ("unknown", "gate-list")
    assert "repeat after 996999003000 ns only" in plan["why"]["message"]
