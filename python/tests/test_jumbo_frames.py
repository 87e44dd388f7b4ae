# SPDX-License-Identifier: BSD-3-Clause
"""Frames up to 9018 bytes, as cameras and recorders send them, between stations without slots.

The network is one of a public report (raspberrypi/linux#7617): a stream through two switches, and
beside it images of 8054 bytes.
"""

from __future__ import annotations

import re

import pytest
from keepon.errors import ConfigError
from keepon.export import commands
from keepon.export.exported import Planned
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.targets.sim.runner import simulate_build
from keepon.targets.vm import target as vm
from port_cases import bridge, leaf, link, planned, scenario_of, station, stream, table

IMAGES = {"id": "images", "talker": "camera", "listener": "recorder", "frame_bytes": 8_054}
NS_A_BYTE = 8


def network(
    deadline_ns: int, gates: str = "none", driver: str = "standard", **load: object
) -> list[str]:
    return [
        leaf("controller"), station("camera", driver), leaf("drive"),
        station("recorder", "standard"),
        bridge("sw1", gates), bridge("sw2", gates), link("controller", "sw1"),
        link("camera", "sw1"), link("sw1", "sw2"), link("sw2", "drive"), link("sw2", "recorder"),
        stream("motion", "controller", "drive", frame_bytes=100, deadline_ns=deadline_ns),
        table("load", {**IMAGES, "rate_bps": 300_000_000, **load}),
    ]  # fmt: skip


def worst_ns(scenario: Scenario, plan: Plan, seed: int) -> float:
    document = simulate_build(scenario, plan, scenario.drivers()[0], seed)[1].document
    assert document["streams"]["motion"]["missing"] == 0
    return float(document["streams"]["motion"]["delay_ns"]["max"])


def test_a_bound_holds_behind_a_long_frame() -> None:
    """On the link between the switches one may have begun, with its preamble and gap."""
    plan = make_plan(scenario_of(*network(50_000)))
    assert plan["status"] == "infeasible"
    assert "bound delay_ns = 70510 exceeds the 50000" in plan["why"]["message"]
    met = scenario_of(*network(70_510))
    plan = planned(met)
    terms = plan["streams"]["motion"]["terms"]
    assert terms["blocked_ps"] == 1_000 * NS_A_BYTE * (8_054 + 20)
    assert 60_000 < max(worst_ns(met, plan, seed) for seed in range(1, 4)) <= 70_510


def test_gates_keep_long_frames_away() -> None:
    met = scenario_of(*network(50_000, "auto"))
    plan = planned(met)
    assert plan["streams"]["motion"]["terms"]["blocked_ps"] == 0
    assert worst_ns(met, plan, 1) <= 50_000


@pytest.mark.parametrize(
    ("load", "sentence"),
    [
        ({"frame_bytes": 9_019}, "must be between 64 and 9018"),
        ({"driver": "keepon"}, "must be between 64 and 1522, what slots and buffers of driver"
         ' keepon hold, which station "camera" has'),
    ],
)  # fmt: skip
def test_what_no_card_or_no_slot_holds_is_refused(load: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        scenario_of(*network(70_510, **load))  # type: ignore[arg-type]


def test_an_export_says_what_long_frames_need() -> None:
    scenario = scenario_of(*network(70_510))
    notes = commands.export(Planned(scenario, planned(scenario))).notes
    assert any(note.endswith("leave alone: camera 8036, recorder 8036") for note in notes)


def test_guests_have_no_long_frames() -> None:
    with pytest.raises(ConfigError, match=r"`load\[0\].frame_bytes` .* must be at most 1522"):
        vm.check_supported(scenario_of(*network(70_510)))
