# SPDX-License-Identifier: BSD-3-Clause
"""Gate lists keep within what the gate control of a bridge can do, or the answer names the limit;
the checker finds each limit from the plan alone.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from keepon.errors import ConfigError
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems
from keepon.report import screen
from keepon.trial.trial import trial
from port_cases import link, planned, scenario_of, station, stream, table

PERIODS_MS = (1, 1, 1, 1, 5, 16)


def cell(*more: str, head: str = "", periods_ns: tuple[int, ...] = (), **limits: Any) -> Scenario:
    """Streams of several periods over two bridges to one listener, as in INET's issue 771."""
    periods = periods_ns or tuple(ms * 1_000_000 for ms in PERIODS_MS)
    names = [f"t{number}" for number in range(len(periods))]
    return scenario_of(
        *(table("bridge", {"name": name, **limits}) for name in ("sw1", "sw2")),
        *(station(name, "launchtime", "ideal") for name in (*names, "sink")),
        *(link(name, "sw1") for name in names),
        link("sw1", "sw2"),
        link("sw2", "sink"),
        *(
            stream(name, name, "sink", period_ns=period_ns, deadline_ns=500_000)
            for name, period_ns in zip(names, periods, strict=True)
        ),
        *more,
        head=head,
    )


def lists(plan: Plan) -> list[dict[str, Any]]:
    return [
        dict(port)
        for bridge in plan["bridges"].values()
        for port in bridge["ports"].values()
        if "entries" in port
    ]


def load(frame_bytes: int) -> str:
    keys = {"id": "files", "talker": "t0", "listener": "sink", "rate_bps": 10_000_000}
    return table("load", {**keys, "frame_bytes": frame_bytes, "priority": 1})


def test_slow_streams_have_windows_in_each_fast_cycle_where_entries_are_few() -> None:
    free = planned(cell())
    assert max(len(port["entries"]) for port in lists(free)) > 500
    scenario = cell(gate_entries=14)
    plan = planned(scenario)
    assert [len(port["entries"]) for port in lists(plan)] == [14, 4]
    assert {port["cycle_ns"] for port in lists(plan)} == {1_000_000}
    assert trial(scenario, plan)["unsent"] == {}
    longest = planned(cell(gate_cycle_max_ns=16_000_000))
    assert {port["cycle_ns"] for port in lists(longest)} == {16_000_000}
    both = lists(planned(cell(gate_entries_all=30)))
    assert sum(len(port["entries"]) for port in both) <= 30


def test_what_stands_in_the_way_is_named() -> None:
    why = make_plan(cell(gate_entries=5))["why"]
    assert why["message"].startswith(
        'bridge "sw1" towards "sw2": with the releases found its gate list has 14 entries, and'
        " gate_entries = 5"
    )
    assert (
        why["nearest_change"]
        == "lead fewer streams over it, or take a switch with more gate_entries"
    )
    why = make_plan(cell(periods_ns=(1_000_000, 500_000), gate_cycle_max_ns=400_000))["why"]
    assert "has a cycle of 500000 ns, and gate_cycle_max_ns = 400000" in why["message"]
    assert why["nearest_change"].startswith("choose periods with a smaller greatest common divisor")
    why = make_plan(cell(gate_entries_all=5))["why"]
    assert "and gate_entries_all = 5" in why["message"]


def test_kept_streams_stay_in_a_short_cycle() -> None:
    first = planned(cell(gate_entries=16))
    more = stream("late", "t0", "sink", period_ns=8_000_000, deadline_ns=900_000)
    scenario = cell(more, gate_entries=16)
    plan = make_plan(scenario, keep=first)
    assert plan["status"] == "feasible" and len(plan["kept"]) == len(PERIODS_MS)
    assert problems(scenario, plan) == []
    assert {port["cycle_ns"] for port in lists(plan)} == {1_000_000}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"gate_step_ns": 600}, "`stream[0].period_ns` (stream \"t0\") = 1000000: must be a"
         " multiple of 600, the gate_step_ns of bridge \"sw1\""),
        ({"gate_shortest_ns": 1_100_000}, "`bridge[0].gate_shortest_ns` (bridge \"sw1\") ="
         " 1100000: must be at most 1000000, the greatest common divisor"),
    ],
)  # fmt: skip
def test_periods_off_the_grid_of_gates_are_refused(limits: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_plan(cell(**limits))
    assert said in str(caught.value)


@pytest.mark.parametrize("isolation", ["frame", "order"])
@pytest.mark.parametrize("profile", ["sja1105", "lan9668"])
def test_a_cell_behind_common_switches_has_a_plan(profile: str, isolation: str) -> None:
    scenario = cell(load(600), head=f'planner.isolation = "{isolation}"\n', profile=profile)
    plan = planned(scenario)
    assert trial(scenario, plan)["unsent"] == {}
    unit_ns = {"sja1105": 200, "lan9668": 1_000}[profile]
    lengths_ns = [entry["ns"] for port in lists(plan) for entry in port["entries"]]
    assert all(ns % unit_ns == 0 for ns in lengths_ns)


@pytest.mark.parametrize(("profile", "queue"), [("ksz9477", 2), ("unmanaged", 0)])
def test_switches_without_gates_have_the_queues_that_they_have(profile: str, queue: int) -> None:
    plan = planned(cell(profile=profile))
    assert lists(plan) == []
    queues = [port["queues"] for port in plan["bridges"]["sw1"]["ports"].values()]
    assert {number for own in queues for number in own.values()} == {queue}
    needed, _ = screen.needs(cell(profile=profile), plan)
    assert needed == "needs no 802.1Qbv"


def test_a_stated_key_goes_before_the_profile() -> None:
    own = cell(profile="lan9668", gate_shortest_ns=2_000).bridge[0]
    assert (own.gate_shortest_ns, own.gate_entries_all, own.gates) == (2_000, 256, "auto")
    assert cell(profile="ksz9477", queues=8).bridge[0].queues == 8


def test_best_effort_stops_a_frame_sooner_before_a_switch_that_looks_at_no_length() -> None:
    """12336 ns are 1522 bytes with preamble and gap at 1 Gb/s."""
    for frame_bytes, guard_ns in ((600, 12_336), (9_000, 72_160)):
        scenario = cell(load(frame_bytes), gate_guard="none")
        for port in lists(planned(scenario)):
            entries = port["entries"]
            for number, entry in enumerate(entries):
                if entry["gates"] == "0xdf" and entries[(number + 1) % len(entries)]["gates"] == 0:
                    assert entries[number + 1]["ns"] >= guard_ns
    needed, _ = screen.needs(scenario, planned(scenario))
    assert "length-aware" not in needed and "with 802.1Qbv: at most" in needed


def test_lists_by_hand_need_gates_that_look_at_lengths() -> None:
    listed = '[bridge.gates.sw2]\nentries = [{ gates = "0xff", ns = 1_000_000 }]\n'
    head = table("bridge", {"name": "sw0", "gate_guard": "none"}) + listed
    with pytest.raises(ConfigError, match='must be "length-aware" for gate lists by hand'):
        cell(head, link("sw0", "sw2"))


# -- the checker
# --------------------------------------------------------------------------------------------------


def split(port: dict[str, Any]) -> None:
    """The longest entry as two: a list that does the same, with an entry more."""
    entries = port["entries"]
    at = max(range(len(entries)), key=lambda number: int(entries[number]["ns"]))
    half = {**entries[at], "ns": 1_000}
    entries[at : at + 1] = [half, {**entries[at], "ns": entries[at]["ns"] - 1_000}]


def test_a_plan_with_an_entry_too_many_is_refused() -> None:
    scenario = cell(gate_entries=14)
    plan = copy.deepcopy(planned(scenario))
    split(plan["bridges"]["sw1"]["ports"]["sw2"])  # type: ignore[arg-type]
    assert problems(scenario, plan) == ["gates of sw1 towards sw2 have more than 14 entries"]
    assert problems(cell(gate_entries=15), plan) == []


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"gate_entries": 100}, "gates of sw1 towards sw2 have more than 100 entries"),
        ({"gate_entries_all": 700}, "sw1 has more than 700 gate entries"),
        ({"gate_shortest_ns": 100}, "gates of sw1 towards sw2 have an entry shorter than 100 ns"),
        ({"gate_step_ns": 1000}, "gates of sw1 towards sw2 are not in steps of 1000 ns"),
        ({"gate_cycle_max_ns": 10**6}, "gates of sw1 towards sw2 have a cycle above 1000000 ns"),
        ({"gate_guard": "fixed"}, "gates of sw1 towards sw2: a window closes too soon"),
        ({"gate_guard": "none"}, "gates of sw1 towards sw2: a frame may end so late before"),
    ],
)
def test_each_limit_is_found_from_the_plan_alone(limits: dict[str, Any], said: str) -> None:
    plan = planned(cell())
    assert any(text.startswith(said) for text in problems(cell(**limits), plan))


def test_gates_of_two_ports_that_change_at_once_are_found() -> None:
    back = stream("back", "sink", "t0", priority=4) + stream("more", "sink", "t1", priority=4)
    plan = planned(cell(back))
    scenario = cell(back, gate_alone=True)
    assert any("change when those towards" in text for text in problems(scenario, plan))
    alone = planned(scenario)
    assert len({port["base_ns"] for port in alone["bridges"]["sw1"]["ports"].values()}) == 3


def test_cycles_of_ports_that_change_alone_are_multiples_of_each_other() -> None:
    back = stream("back", "sink", "t0", period_ns=1_500_000, priority=4)
    plan = planned(cell(back, periods_ns=(1_000_000,)))
    scenario = cell(back, periods_ns=(1_000_000,), gate_alone=True)
    said = "sw1 has gate cycles that are no multiples of each other"
    assert said in problems(scenario, plan)
    message = make_plan(scenario)["why"]["message"]
    assert "has a cycle that is no multiple or divisor of those of its other ports" in message


def test_a_window_left_out_of_a_short_cycle_is_found() -> None:
    scenario = cell(gate_entries=14)
    plan: Any = copy.deepcopy(planned(scenario))
    port = plan["bridges"]["sw1"]["ports"]["sw2"]
    shut = next(entry for entry in port["entries"] if entry["gates"] == "0x20")
    shut["gates"] = "0x00"
    assert problems(scenario, plan)
