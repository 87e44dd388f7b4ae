# SPDX-License-Identifier: BSD-3-Clause
"""Entries of planned gate lists last as long as Linux's taprio wants, 60 byte times, where a window
can take the rest before the next one; the checker knows how long it may.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from helpers import HABITAT, ROBOT_CELL
from keepon.cli import session
from keepon.model import loading
from keepon.model.gates import GateList, Window, build
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.planner.verify import problems

PERIOD_PS = 1_000_000_000
GUARD_NS = 480


def window(queue: int, start_ns: int, length_ns: int, **more: Any) -> Window:
    return Window(f"F{start_ns}", queue, start_ns * 1000, length_ns * 1000, PERIOD_PS, **more)


def entries(*windows: Window) -> list[tuple[int, int]]:
    made = build(list(windows), GUARD_NS)
    assert isinstance(made, GateList) and made.cycle_ns * 1000 == PERIOD_PS
    return list(made.entries)


def test_a_window_takes_what_is_left_before_one_of_another_queue() -> None:
    for gap_ns in (1, 46, GUARD_NS - 1):
        made = entries(window(5, 10_000, 2000), window(4, 12_000 + gap_ns, 2000))
        assert made[2:4] == [(0x20, 2000 + gap_ns), (0x10, 2000)]
    made = entries(window(5, 10_000, 2000), window(4, 12_000 + GUARD_NS, 2000))
    assert made[2:5] == [(0x20, 2000), (0, GUARD_NS), (0x10, 2000)]


def test_windows_of_one_queue_become_one_unless_a_frame_would_leave_too_soon() -> None:
    made = entries(window(5, 10_000, 2000), window(5, 12_032, 2000))
    assert made[2] == (0x20, 4032)
    for held in (window(5, 12_032, 2000, is_held=True), window(5, 12_032, 2000, margin_ps=1000)):
        made = entries(window(5, 10_000, 2000), held)
        assert made[2] == (0x20, 2000) and made[3][0] == 0


def test_the_last_window_reaches_into_the_next_cycle() -> None:
    made = entries(window(5, 100, 2000), window(4, 997_900, 2000))
    assert made[0] == (0x10, 100) and made[1] == (0x20, 2000)
    assert made[-1] == (0x10, 2100)


def short_entries(scenario: Scenario, plan: Plan) -> list[tuple[str, str]]:
    """Ports with entries below 60 byte times; the first and the last of equal masks are one."""
    wires, found = Topology(scenario).wires, []
    for bridge, document in plan["bridges"].items():
        for peer, port in document["ports"].items():
            listed = [(entry["gates"], entry["ns"]) for entry in port.get("entries", [])]
            if len(listed) > 1 and listed[0][0] == listed[-1][0]:
                listed = [*listed[1:-1], (listed[0][0], listed[0][1] + listed[-1][1])]
            least_ns = 60 * 8e9 / wires[bridge, peer].rate_bps
            if any(ns < least_ns for _, ns in listed):
                found.append((bridge, peer))
    return found


def test_examples_have_no_entries_too_short_for_taprio_but_where_a_frame_waits() -> None:
    robots, habitat = loading.load(ROBOT_CELL), loading.load(HABITAT)
    assert short_entries(robots, session.planned(robots)) == []
    assert short_entries(habitat, session.planned(habitat)) == [("br1", "br2")]


@pytest.fixture(scope="module")
def planned() -> tuple[Scenario, Plan]:
    scenario = loading.load(HABITAT)
    return scenario, session.planned(scenario)


def found(planned: tuple[Scenario, Plan], changed: list[tuple[str, int]]) -> list[str]:
    scenario, plan = planned
    other = copy.deepcopy(plan)
    other["bridges"]["br1"]["ports"]["rt-simulator"]["entries"] = [
        {"gates": mask, "ns": ns} for mask, ns in changed
    ]
    return problems(scenario, other)


def test_the_checker_lets_a_gate_be_open_where_no_frame_can_begin(
    planned: tuple[Scenario, Plan],
) -> None:
    port = planned[1]["bridges"]["br1"]["ports"]["rt-simulator"]
    listed = [(entry["gates"], entry["ns"]) for entry in port["entries"]]
    at = next(number for number, (mask, _) in enumerate(listed) if mask == "0x20")
    assert listed[at : at + 2] == [("0x20", 6046), ("0x10", 4000)]
    assert found(planned, listed) == []
    closed = [*listed[:at], ("0x20", 6000), ("0x00", 46), *listed[at + 1 :]]
    assert found(planned, closed) == []
    # behind the last window there is room for a frame
    mask, ns = listed[at + 2]
    late = [*listed[: at + 1], ("0x10", 4100), (mask, ns - 100), *listed[at + 3 :]]
    assert any("queue 4 is open outside its windows" in text for text in found(planned, late))
