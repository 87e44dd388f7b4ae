# SPDX-License-Identifier: BSD-3-Clause
"""Every plan passes the independent checker; every changed plan is rejected by it."""

from __future__ import annotations

import copy
import math
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import TWO_STATIONS, planned_example, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keepon.errors import ConfigError, PlanRejectedError
from keepon.export.exported import Planned, gated_ports
from keepon.model import loading
from keepon.model.gates import GateList
from keepon.model.scenario import Scenario, TrafficClass
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems, verify
from keepon.trial.trial import trial

_MADE = planned_example("habitat")
HABITAT_SCENARIO, HABITAT_PLAN = _MADE.scenario, _MADE.plan


def test_the_habitat_study_gets_the_slots_of_the_design() -> None:
    station = HABITAT_PLAN["stations"]["power-gateway"]
    assert (station["slot_bytes"], station["slot_time_ps"], station["partition_slots"]) == (
        230,
        2_000_000,
        500,
    )
    assert verify(HABITAT_SCENARIO, HABITAT_PLAN)["verified"] is True


def test_delay_is_the_sum_over_hops_of_frame_processing_propagation_and_preamble() -> None:
    hops, padded_ns = 3, 230 * 8
    entry = HABITAT_PLAN["streams"]["F2"]
    error_ps = 1000 * math.ceil(entry["release_late_ps"] / 1000)  # gates open at whole ns
    assert (
        entry["delay_planned_ps"]
        == (hops * (padded_ns + 2000 + 64) + (hops + 1) * 50) * 1000 + error_ps
    )
    assert entry["bounds"]["delay_ns"] == math.ceil(entry["delay_planned_ps"] / 1000)
    assert entry["bounds"]["jitter_ns"] == 0


def test_streams_sharing_a_queue_get_consecutive_windows() -> None:
    windows = [HABITAT_PLAN["streams"][name]["windows"][0] for name in ("F2", "F3", "F4")]
    assert [window["length_ps"] for window in windows] == [2_000_000] * 3
    assert windows[0]["open_ps"] + 2_000_000 == windows[1]["open_ps"]
    assert windows[1]["open_ps"] + 2_000_000 == windows[2]["open_ps"]
    opened = [
        gate
        for gate in HABITAT_PLAN["bridges"]["br3"]["ports"]["br2"]["entries"]
        if gate["gates"] == "0x20"
    ]
    assert opened == [{"gates": "0x20", "ns": 6000}]


def test_a_class_owns_exactly_the_slots_of_its_streams_and_rest_the_others() -> None:
    station = HABITAT_PLAN["stations"]["power-gateway"]
    owned = {index for index, mask in enumerate(station["allowed"]) if mask == 1}
    assert owned == {entry["offset_ns"] // 2000 for entry in station["streams"].values()}
    assert {mask for index, mask in enumerate(station["allowed"]) if index not in owned} == {1 << 7}


def test_slots_given_to_a_class_by_hand_are_not_open_to_the_rest() -> None:
    scenario = loading.load(TWO_STATIONS)
    talker = scenario.station[0]
    classes = [
        TrafficClass(tc=0, slots=[0, 50], late="relaxed"),
        TrafficClass(tc=7, slots="rest", late="reschedule"),
    ]
    options = talker.keepon.model_copy(update={"classes": classes, "partition_slots": 100})
    changed = talker.model_copy(update={"keepon": options})
    scenario = scenario.model_copy(update={"station": [changed, *scenario.station[1:]]})
    allowed = verify(scenario, make_plan(scenario))["stations"]["talker"]["allowed"]
    assert [slot for slot, mask in enumerate(allowed) if mask == 1] == [0, 50]
    assert {mask for slot, mask in enumerate(allowed) if slot not in (0, 50)} == {1 << 7}


def test_a_direct_link_is_planned_without_bridges() -> None:
    scenario = loading.load(TWO_STATIONS)
    plan = verify(scenario, make_plan(scenario))
    assert plan["streams"]["S1"]["route"] == []
    assert plan["streams"]["S1"]["bounds"]["delay_ns"] == 60
    assert plan["stations"]["talker"]["batch_slots"] == 8


def test_free_running_stations_get_no_bound() -> None:
    scenario = small(**{"warmup_s = 0.0": 'warmup_s = 0.0\nsync = { mode = "none" }'})
    plan = verify(scenario, make_plan(scenario))
    bounds = plan["streams"]["F1"]["bounds"]
    assert set(bounds.values()) == {None}


@pytest.mark.parametrize("sync", ["ideal", "gptp"])
@pytest.mark.parametrize("off", [-1, 1])
def test_an_earliest_instant_or_a_padding_that_is_not_the_scenarios_is_rejected(
    sync: str, off: int
) -> None:
    options = f'warmup_s = 0.0\nsync = {{ mode = "{sync}", grandmaster = "br1" }}'
    scenario = small(**{"warmup_s = 0.0": options})
    plan = make_plan(scenario)
    verify(scenario, plan)
    for table, key in (("bounds", "delay_min_ns"), ("", "padding_ps")):
        changed = copy.deepcopy(plan)
        entry = changed["streams"]["F1"]
        (entry[table] if table else entry)[key] += off
        with pytest.raises(PlanRejectedError, match=key):
            verify(scenario, changed)
    for key in ("delay_min_ns", "padding_ps"):  # plans of earlier versions
        older = copy.deepcopy(plan)
        older["streams"]["F1"].pop(key, None)
        older["streams"]["F1"]["bounds"].pop(key, None)
        verify(scenario, older)


def test_200_byte_slots_are_planned_in_paper_mode_only() -> None:
    options = (
        'driver = "under-test"\nkeepon = {{ slot_bytes = 200, mode = "{}", frame_bytes_max = 0 }}'
    )
    paper = small(**{'driver = "under-test"': options.format("paper")})
    plan = verify(paper, make_plan(paper))
    assert plan["stations"]["a"]["slot_time_ps"] == 1_760_000
    assert plan["streams"]["F1"]["bounds"]["release_error_ns"] == math.ceil(
        (1_760_000 - 64_000) / 1000
    )
    with pytest.raises(ConfigError, match=r"must be at most 192"):
        small(**{'driver = "under-test"': options.format("phase-locked")})


def test_an_unreachable_deadline_is_infeasible_and_says_what_would_help() -> None:
    whole = {'driver = "under-test"': 'driver = "under-test"\nkeepon = { slot_bytes = 230 }'}
    deadline = {"frame_bytes = 200": "frame_bytes = 200\ndeadline_ns = 3_900"}
    scenario = small(**deadline, **whole)
    plan = make_plan(scenario)
    assert plan["status"] == "infeasible"
    assert plan["why"]["constraint"] == "deadline"
    assert plan["why"]["streams"] == ["F1"]
    assert "allow" in plan["why"]["nearest_change"]


def test_a_link_that_its_streams_overload_is_named() -> None:
    one = 'id = "F1"\ntalker = "a"\nlisteners = ["b"]\nperiod_ns = 1_000_000\nframe_bytes = 200\n'
    many = "".join(
        one.replace("F1", f"F{n}").replace("1_000_000", "4_000").replace("200", "400")
        + "[[stream]]\n"
        for n in range(3, 6)
    )
    with pytest.raises(
        ConfigError,
        match=r'must leave the link "a" to "br1" .* room for its 4 streams, which need 300 %',
    ):
        make_plan(small(**{one: many + one}))


def test_periods_no_slot_time_divides_are_refused() -> None:
    scenario = small(**{"1_000_000": "1_000_003"})
    with pytest.raises(
        ConfigError,
        match=r"key `stream\[0\].period_ns` .* = 1000003: must be a multiple of a slot time",
    ):
        make_plan(scenario)


@pytest.mark.parametrize(
    "helps",
    [
        r"frames of at most (\d+) bytes",
        r"period_ns = (\d+) or \d+, frame",
        r"period_ns = \d+ or (\d+), frame",
        r'frame_bytes_max = ("auto"), or',
    ],
)
def test_what_is_said_of_periods_that_no_slot_time_divides_helps(helps: str) -> None:
    """1300 bytes each 1 ms: 12500 ns divide it, and are longer than a slot, in half bytes. So where
    no frame may take several slots.
    """
    long = {
        "frame_bytes = 200": "frame_bytes = 1300",
        'driver = "under-test"': 'driver = "under-test"\nkeepon = { frame_bytes_max = 0 }',
    }
    with pytest.raises(
        ConfigError, match=r"of those from 10624 to 12272 ns, in steps of a"
    ) as refused:
        make_plan(small(**long))
    value = re.findall(helps, str(refused.value))[0]
    changed = {**long, "frame_bytes = 200": f"frame_bytes = {value}"}
    if "period" in helps:
        changed = {**long, "1_000_000": value}
    elif "max" in helps:
        changed = {key: text.replace("= 0 }", f"= {value} }}") for key, text in long.items()}
    assert make_plan(small(**changed))["status"] == "feasible"


def test_a_gate_list_by_hand_is_kept_and_waited_for() -> None:
    gates = (
        'gates = { b = { entries = [{ gates = "0xdf", ns = 500_000 }, { gates = "0x20", ns ='
        " 500_000 }] } }"
    )
    keys = {'name = "br1"': f'name = "br1"\n{gates}'}
    scenario = small(**keys, **{"frame_bytes = 200": "frame_bytes = 200\noffset_ns = 64"})
    plan = verify(scenario, make_plan(scenario))
    assert plan["bridges"]["br1"]["ports"]["b"]["entries"] == [
        {"gates": "0xdf", "ns": 500_000},
        {"gates": "0x20", "ns": 500_000},
    ]
    assert plan["streams"]["F1"]["windows"][0]["open_ps"] == 500_000_000
    assert plan["streams"]["F1"]["bounds"]["jitter_ns"] == 0
    waited_ns = plan["streams"]["F1"]["bounds"]["delay_ns"]
    scenario = small(**keys)
    plan = verify(scenario, make_plan(scenario))
    assert plan["streams"]["F1"]["terms"]["held_ps"] == 0
    assert plan["streams"]["F1"]["bounds"]["delay_ns"] < waited_ns - 480_000


@pytest.mark.parametrize("period_ns", [1_000_000, 2_000_000])
def test_a_release_comes_to_a_gate_by_hand_as_it_opens(period_ns: int) -> None:
    """Released at 0 it waited for 490 us at the gate, for nothing: a delay of 500114 ns."""
    text = f"""schema = "keepon.scenario/1"
name = "hand"
duration_s = 0.1
station = [
  {{ name = "c", driver = "launchtime", host = "ideal" }},
  {{ name = "server", driver = "launchtime", host = "ideal" }},
]
link = [{{ ends = ["c", "sw"] }}, {{ ends = ["sw", "server"] }}]
[[bridge]]
name = "sw"
[bridge.gates.server]
entries = [
  {{ gates = "0x00", ns = 500_000 }}, {{ gates = "0x24", ns = 100_000 }},
  {{ gates = "0xdb", ns = 400_000 }},
]
[[stream]]
id = "high"
talker = "c"
listeners = ["server"]
period_ns = {period_ns}
frame_bytes = 1000
"""
    scenario = loading.parse(text, "hand.toml")
    plan = verify(scenario, make_plan(scenario))
    # frame 8 us, processing 2, cables 0.1, preamble 0.064, comparator 0.032, next byte 0.008
    assert plan["streams"]["high"]["bounds"]["delay_ns"] == 10_204
    deadline = loading.parse(text + "deadline_ns = 10_204\n", "hand.toml")
    assert (
        make_plan(deadline)["streams"]["high"]["release_ns"]
        == (plan["streams"]["high"]["release_ns"])
    )


def test_a_base_time_of_today_counts_by_its_phase_and_is_exported_as_it_is() -> None:
    """It has more ps than 64 bits: the checker ended in an overflow from 107 days after 1970 on."""
    entries = (
        'entries = [{ gates = "0x00", ns = 500_000 }, { gates = "0x20", ns = 100_000 },'
        ' { gates = "0xdf", ns = 400_000 }]'
    )
    streams = {}
    for base_ns in (1_528_743_495_910_289_987, 289_987, 2**62, 2**62 % 1_000_000):
        gates = f"gates = {{ b = {{ base_ns = {base_ns}, {entries} }} }}"
        scenario = small(**{'name = "br1"': f'name = "br1"\n{gates}'})
        plan = verify(scenario, make_plan(scenario))
        assert plan["bridges"]["br1"]["ports"]["b"]["base_ns"] == base_ns
        assert trial(scenario, plan)["unsent"] == {}
        assert [port.base_ns for port in gated_ports(Planned(scenario, plan))] == [base_ns]
        streams[base_ns] = plan["streams"]
    today, early, last, first = streams.values()
    assert (today, last) == (early, first)
    # of the 100 us in which the gate is open
    assert 0 <= today["F1"]["windows"][0]["open_ps"] - 789_987_000 < 100_000_000


def test_a_gate_list_that_never_opens_is_infeasible() -> None:
    scenario = small(
        **{
            'name = "br1"': (
                'name = "br1"\ngates = { b = { entries = [{ gates = "0xdf", ns = 1_000 }] } }'
            )
        }
    )
    assert make_plan(scenario)["status"] == "infeasible"


def test_without_gates_the_release_error_reaches_the_listener() -> None:
    scenario = small(**{'name = "br1"': 'name = "br1"\ngates = "none"'})
    plan = verify(scenario, make_plan(scenario))
    assert "entries" not in plan["bridges"]["br1"]["ports"]["b"]
    assert plan["streams"]["F1"]["bounds"]["jitter_ns"] == 18


def test_several_listeners_share_the_way_as_far_as_it_goes() -> None:
    extra = (
        '[[station]]\nname = "c"\ndriver = "launchtime"\n[[link]]\nends = ["c", "br1"]\n[[stream]]'
    )
    scenario = small(**{"[[stream]]": extra, 'listeners = ["b"]': 'listeners = ["b", "c"]'})
    plan = verify(scenario, make_plan(scenario))
    assert {(w["bridge"], w["peer"]) for w in plan["streams"]["F1"]["windows"]} == {
        ("br1", "b"),
        ("br1", "c"),
    }


# -- gate lists against brute force
# -----------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.sampled_from([0x20, 0xDF, 0xFF, 0x00]), st.integers(1, 5)), min_size=1,
    max_size=6),
    st.integers(0, 40), st.integers(0, 60_000), st.integers(1, 9_000),
)  # fmt: skip
def test_the_earliest_opening_is_the_one_found_by_stepping(
    entries: Any, base_ns: int, ready_ps: int, need_ps: int
) -> None:
    gates = GateList(base_ns, tuple(entries))

    def is_open(at_ps: int) -> bool:
        phase_ns = (at_ps // 1000 - base_ns) % gates.cycle_ns
        for mask, ns in gates.entries:
            if phase_ns < ns:
                return bool(mask >> 5 & 1)
            phase_ns -= ns
        raise AssertionError

    expected = None
    for start_ps in [
        ready_ps,
        *range(ready_ps // 1000 * 1000 + 1000, ready_ps + 3_000 * gates.cycle_ns, 1000),
    ]:
        if all(
            is_open(at)
            for at in [*range(start_ps, start_ps + need_ps, 1000), start_ps + need_ps - 1]
        ):
            expected = start_ps
            break
    assert gates.earliest_ps(5, ready_ps, need_ps) == expected


# -- random networks
# --------------------------------------------------------------------------------------------------


@st.composite
def networks(draw: st.DrawFn) -> Scenario:
    """A line of bridges with a few stations and streams between them."""
    bridges = draw(st.integers(1, 4))
    count = draw(st.integers(2, 5))
    text = 'schema = "keepon.scenario/1"\nname = "random"\n[compare]\ndrivers = ["keepon"]\n'
    rates = st.sampled_from([10**9, 2_500_000_000])
    for number in range(count):
        driver = (
            "under-test"
            if number == 0
            else draw(st.sampled_from(["keepon", "launchtime", "under-test"]))
        )
        text += f'[[station]]\nname = "s{number}"\ndriver = "{driver}"\n'
        text += f'[[link]]\nends = ["s{number}", "b{draw(st.integers(0, bridges - 1))}"]\n'
        text += f"propagation_ns = {draw(st.integers(0, 500))}\n"
    for number in range(bridges):
        gates = draw(st.sampled_from(["auto", "auto", "none"]))
        text += (
            f'[[bridge]]\nname = "b{number}"\nprocessing_ns = {draw(st.integers(0, 9000))}\ngates ='
            f' "{gates}"\n'
        )
        if number:
            text += f'[[link]]\nends = ["b{number - 1}", "b{number}"]\nrate_bps = {draw(rates)}\n'
    for number in range(draw(st.integers(1, 8))):
        talker, listener = draw(st.permutations(range(count)))[:2]
        text += f'[[stream]]\nid = "F{number}"\ntalker = "s{talker}"\nlisteners = ["s{listener}"]\n'
        text += f"period_ns = {draw(st.sampled_from([250_000, 500_000, 1_000_000, 2_000_000]))}\n"
        text += (
            f"frame_bytes = {draw(st.integers(64, 1200))}\npriority = {draw(st.integers(3, 6))}\n"
        )
    return loading.parse(text, "random.toml")


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(networks())
def test_every_plan_of_a_random_network_passes_the_checker(scenario: Scenario) -> None:
    plan = make_plan(scenario)
    assert plan["status"] in ("feasible", "infeasible", "unknown")
    if plan["status"] == "feasible":
        assert problems(scenario, plan) == []
    else:
        assert plan["why"]["nearest_change"]


# -- mutations
# --------------------------------------------------------------------------------------------------

_STREAMS = sorted(HABITAT_PLAN["streams"])
_PORTS = [
    (b, p) for b, entry in sorted(HABITAT_PLAN["bridges"].items()) for p in sorted(entry["ports"])
]
_SLOTTED = [name for name, entry in HABITAT_PLAN["stations"].items() if "allowed" in entry]


def _mutate(plan: dict[str, Any], data: st.DataObject) -> None:
    """Change one thing that makes the plan wrong."""
    kind = data.draw(
        st.sampled_from(
            [
                "release",
                "window",
                "gate-time",
                "gate-mask",
                "mask",
                "bound",
                "slot",
                "route",
                "queue",
                "depth",
                "preamble",
                "overhead",
            ]
        )
    )
    stream = plan["streams"][data.draw(st.sampled_from(_STREAMS))]
    bridge, peer = data.draw(st.sampled_from(_PORTS))
    port = plan["bridges"][bridge]["ports"][peer]
    station = plan["stations"][data.draw(st.sampled_from(_SLOTTED))]
    if kind == "release":
        name = data.draw(st.sampled_from(_STREAMS))
        moved = (
            plan["streams"][name]["release_ns"] + data.draw(st.integers(1, 999_999))
        ) % 1_000_000
        plan["streams"][name]["release_ns"] = moved
        for entry in plan["stations"].values():
            if name in entry["streams"]:
                entry["streams"][name]["offset_ns"] = moved
    elif kind == "window":
        window = data.draw(st.sampled_from(stream["windows"]))
        window["open_ps"] += data.draw(st.integers(-500_000, 500_000).filter(bool)) * 1000
        window["last_ps"] = window["open_ps"]
    elif kind == "gate-time":
        entries = port["entries"]
        # A guard that is longer than it must be does no harm.
        index = data.draw(
            st.sampled_from(
                [n for n in range(len(entries) - 1) if entries[n + 1]["gates"] != "0x00"]
            )
        )
        moved = data.draw(st.integers(1, max(1, port["entries"][index]["ns"] - 1)))
        port["entries"][index]["ns"] -= moved
        port["entries"][index + 1]["ns"] += moved
    elif kind == "gate-mask":
        gate = data.draw(st.sampled_from(port["entries"]))
        queue = data.draw(st.sampled_from(sorted(set(port["queues"].values()))))
        gate["gates"] = f"0x{int(gate['gates'], 16) ^ 1 << queue:02x}"
    elif kind == "mask":
        used = data.draw(st.sampled_from(sorted(station["streams"])))
        index = station["streams"][used]["offset_ns"] // 2000
        station["allowed"][index] ^= data.draw(st.sampled_from([1, 2, 128]))
    elif kind == "bound":
        bound = data.draw(st.sampled_from(sorted(stream["bounds"])))
        stream["bounds"][bound] += data.draw(st.sampled_from([-3, -1, 1, 1000]))
    elif kind == "slot":
        station["slot_time_ps"] += data.draw(st.sampled_from([-8000, 8000]))
    elif kind == "route":
        stream["routes"] = {
            name: route[:-1] or [*route, "br1"] for name, route in stream["routes"].items()
        }
        stream["route"] = next(iter(stream["routes"].values()))
    elif kind == "queue":
        name = data.draw(st.sampled_from(sorted(port["queues"])))
        port["queues"][name] ^= 1
    elif kind == "preamble":
        station["preamble_ps"] = data.draw(st.sampled_from([6_400, 640_000]))
    elif kind == "overhead":
        batch_ns = station["batch_slots"] * station["slot_time_ps"] // 1000
        station["poll_overhead_ns"] = batch_ns + data.draw(st.integers(0, 1000))
    else:
        station["depth_slots"] = data.draw(
            st.sampled_from([0, station["batch_slots"] - 1, station["ring_slots"]])
        )


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_changed_plan_is_rejected(data: st.DataObject) -> None:
    plan = copy.deepcopy(HABITAT_PLAN)
    _mutate(plan, data)
    assert plan != HABITAT_PLAN
    with pytest.raises(PlanRejectedError):
        verify(HABITAT_SCENARIO, plan)


def test_a_batch_longer_than_the_advance_is_rejected_in_paper_mode() -> None:
    keys = 'driver = "keepon"\nkeepon = { mode = "paper" }'
    timed = small(
        **{'driver = "under-test"': keys, '[compare]\ndrivers = ["keepon", "standard"]\n': ""}
    )
    plan = make_plan(timed)
    assert problems(timed, plan) == []
    station = plan["stations"]["a"]
    advance_ns = timed.stream[0].advance_ns
    station["batch_slots"] = 1000 * advance_ns // station["slot_time_ps"] + 1
    station["depth_slots"] = station["batch_slots"]
    station["ring_slots"] = 4096
    assert [text for text in problems(timed, plan) if "F1 is handed over when its slot" in text]


def test_a_plan_that_promises_nothing_where_it_has_to_is_rejected() -> None:
    plan = copy.deepcopy(HABITAT_PLAN)
    bounds = plan["streams"]["F2"]["bounds"]
    for key in ("release_error_ns", "delay_ns", "jitter_ns", "data_age_ns"):
        bounds[key] = None
    with pytest.raises(PlanRejectedError, match="bound delay_ns of F2 is missing"):
        verify(HABITAT_SCENARIO, plan)


@pytest.mark.parametrize(
    ("key", "sentence"), [("delay_min_ns", "4013, must be none"), ("delay_ns", "promised")]
)
def test_a_plan_that_promises_a_bound_of_a_clock_that_runs_free_is_rejected(
    key: str, sentence: str
) -> None:
    bounds: dict[str, Any] = dict(make_plan(small())["streams"]["F1"]["bounds"])
    free = small(**{"warmup_s = 0.0": 'warmup_s = 0.0\nsync = { mode = "none" }'})
    plan: dict[str, Any] = make_plan(free)
    plan["streams"]["F1"]["bounds"][key] = bounds[key]
    with pytest.raises(PlanRejectedError, match=f"bound {key} of F1 is {sentence}"):
        verify(free, plan)


@pytest.mark.parametrize("key", ["release_error_ns", "delay_min_ns", "jitter_ns", "data_age_ns"])
def test_a_bound_that_is_missing_beside_others_is_named(key: str) -> None:
    """The schema of a plan allows null for each of them."""
    plan = copy.deepcopy(HABITAT_PLAN)
    plan["streams"]["F2"]["bounds"][key] = None
    with pytest.raises(PlanRejectedError, match=r"bound .*F2"):
        verify(HABITAT_SCENARIO, plan)


def test_the_checker_shares_no_code_with_the_planner() -> None:
    import ast

    from keepon.planner import verify as module

    entry = Path(module.__file__)
    ours = set()
    for file in (entry, *(entry.parent / "checker").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                ours.add(node.module or "")
            elif isinstance(node, ast.Import):
                ours |= {alias.name for alias in node.names}
    # Of the plan it takes the types, which say what the document holds and compute nothing.
    allowed = (
        "keepon.errors",
        "keepon.model.plan",
        "keepon.model.scenario",
        "keepon.planner.checker",
    )
    assert [
        name for name in sorted(ours) if name.startswith("keepon") and not name.startswith(allowed)
    ] == []
