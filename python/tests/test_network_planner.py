# SPDX-License-Identifier: BSD-3-Clause
"""Streams of several stations planned together: isolation, bounds, repair, routes, networks."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from helpers import ROBOT_CELL, planned_example
from keepon.cli import session
from keepon.errors import ConfigError, PlanRejectedError
from keepon.model import loading
from keepon.model.scenario import GateEntry, GateList, TrafficClass
from keepon.planner import plan as make_plan
from keepon.planner.network import search
from keepon.planner.network.grid import on_grid
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import NEVER, Occupancy
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems, verify
from keepon.targets.sim.runner import simulate
from keepon.trial.trial import trial
from network_cases import clash, decided, star

_MADE = planned_example("habitat")
_HABITAT, _EARLIER = _MADE.scenario, _MADE.plan

# -- isolation
# --------------------------------------------------------------------------------------------------


def test_frames_of_one_queue_keep_apart_or_only_in_order() -> None:
    streams = [{"talker": "a", "period_ns": 100_000}, {"talker": "b", "period_ns": 100_000}]
    apart_ps = {}
    for isolation in ("frame", "order"):
        scenario = star(streams, f'planner = {{ isolation = "{isolation}" }}')
        plan = verify(scenario, make_plan(scenario))
        opened = sorted(plan["streams"][name]["windows"][0]["open_ps"] for name in ("F0", "F1"))
        apart_ps[isolation] = opened[1] - opened[0]
    assert apart_ps["order"] == 2_000_000  # windows touch
    assert apart_ps["frame"] > 2_000_000  # the second frame comes only when the first has left


def test_a_plan_in_order_is_rejected_where_frames_must_be_alone() -> None:
    streams = [{"talker": "a", "period_ns": 100_000}, {"talker": "b", "period_ns": 100_000}]
    plan = make_plan(star(streams, 'planner = { isolation = "order" }'))
    found = problems(star(streams), plan)
    assert any("is in queue 5 of br towards z beside" in text for text in found)


# -- frames in flight where nothing protects a port
# --------------------------------------------------------------------


def test_best_effort_in_flight_is_part_of_the_bound_and_of_what_the_simulator_sees() -> None:
    load = (
        '[[load]]\nid = "bg"\ntalker = "b"\nlistener = "z"\nkind = "saturate"\nframe_bytes = 210\n'
    )
    text = (
        'schema = "keepon.scenario/1"\nname = "open"\nduration_s = 0.05\nwarmup_s ='
        ' 0.0\n[[station]]\nname = "z"\ndriver = "launchtime"\n[[station]]\nname ='
        ' "a"\n[[station]]\nname = "b"\ndriver = "standard"\n[[bridge]]\nname = "br"\ngates ='
        ' "none"\n[[link]]\nends = ["z", "br"]\n[[link]]\nends = ["a", "br"]\n[[link]]\nends ='
        ' ["b", "br"]\n[[stream]]\nid = "F0"\ntalker = "a"\nlisteners = ["z"]\nperiod_ns ='
        " 500_000\nframe_bytes = 200\nadvance_ns = 400_000\n"
    )
    alone = make_plan(loading.parse(text, "open.toml"))["streams"]["F0"]
    scenario = loading.parse(text + load, "open.toml")
    plan = verify(scenario, make_plan(scenario))
    beside = plan["streams"]["F0"]
    assert beside["terms"]["blocked_ps"] == 230 * 8_000
    assert beside["bounds"]["delay_ns"] == alone["bounds"]["delay_ns"] + 1_840
    assert trial(scenario, plan)["delivered"] > 0


@pytest.mark.parametrize(
    ("gates", "priority", "said"), [("auto", 5, "another than 5"), ("none", 6, "below 5")]
)
def test_best_effort_that_could_take_a_streams_place_is_refused(
    gates: str, priority: int, said: str
) -> None:
    load = f'[[load]]\nid = "bg"\ntalker = "b"\nlistener = "z"\npriority = {priority}\n'
    streams = [{"talker": "a", "period_ns": 100_000}, {"talker": "b", "period_ns": 100_000}]
    scenario = star(streams).model_copy(
        update={"load": loading.parse(_with(streams, load, gates), "x").load}
    )
    bridges = [bridge.model_copy(update={"gates": gates}) for bridge in scenario.bridge]
    with pytest.raises(
        ConfigError,
        match=rf'key `load\[0\].priority` \(load "bg"\) = {priority}: its .* must be {said}',
    ):
        make_plan(scenario.model_copy(update={"bridge": bridges}))


def _with(streams: list[dict[str, Any]], load: str, gates: str) -> str:
    names = "".join(
        f'[[station]]\nname = "{name}"\n[[link]]\nends = ["{name}", "br"]\n' for name in "abz"
    )
    return (
        f'schema = "keepon.scenario/1"\nname = "x"\n{names}[[bridge]]\nname = "br"\ngates ='
        f' "{gates}"\n{load}'
    )


# -- repair
# --------------------------------------------------------------------------------------------------


def test_what_first_fit_leaves_out_is_placed_by_driving_others_out() -> None:
    # The first stream takes the only release that the last one can have.
    streams = [
        {"talker": "a", "period_ns": 100_000, "priority": 6},
        {"talker": "b", "period_ns": 100_000, "priority": 5, "offset_ns": 64, "deadline_ns": 4_100},
    ]
    ground = Ground(star(streams))
    found = search.Search(ground, Limits())
    assert found.run()
    assert found.placed[1][0].release_ps == 64_000
    assert found.placed[0][0].release_ps > 64_000


# -- releases in turn
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bridge", [False, True])
@pytest.mark.parametrize(
    ("period_ns", "fits"), [(100_000, False), (129_000, False), (200_000, True)]
)
def test_a_frame_that_may_wait_for_longer_than_its_period_is_none_to_plan(
    period_ns: int, fits: bool, bridge: bool
) -> None:
    """A NIC with launch times waits for the frame of best effort that it has begun, 123 us here."""
    text = (
        'schema = "keepon.scenario/1"\nname = "wide"\nduration_s = 0.05\n[[station]]\nname = "t"\n'
        'driver = "launchtime"\n[[station]]\nname = "l"\ndriver = "launchtime"\n[[stream]]\n'
        f'id = "S"\ntalker = "t"\nlisteners = ["l"]\nperiod_ns = {period_ns}\nframe_bytes = 64\n'
        '[[load]]\nid = "L"\ntalker = "t"\nlistener = "l"\nrate_bps = 1_000_000\n'
    )
    ways = [("t", "b"), ("b", "l")] if bridge else [("t", "l")]
    for ends in ways:
        text += f"[[link]]\nends = {list(ends)}\nrate_bps = 100_000_000\n"
    scenario = loading.parse(text + '[[bridge]]\nname = "b"\n' * bridge, "wide.toml")
    plan = make_plan(scenario)
    if fits:
        verify(scenario, plan)
        return
    assert plan["why"]["constraint"] == "wire"
    assert f" and its period is {period_ns} ns" in plan["why"]["message"]


BEHIND_A_BRIDGE = """
schema = "keepon.scenario/1"
name = "behind"
duration_s = 0.05
[[station]]
name = "t"
driver = "DRIVER"
[[station]]
name = "l"
driver = "launchtime"
[[bridge]]
name = "b"
processing_ns = 50_000
[[link]]
ends = ["t", "b"]
rate_bps = RATE
[[link]]
ends = ["b", "l"]
rate_bps = 100_000_000
[[stream]]
id = "S"
talker = "t"
listeners = ["l"]
period_ns = PERIOD
frame_bytes = 1000
"""
BY_HAND = """
[bridge.gates.l]
entries = [
    { gates = "0x01", ns = 81_000 },
    { gates = "0x20", ns = 80_670 },
    { gates = "0x01", ns = 838_330 },
]
[[link]]"""


@pytest.mark.parametrize("driver", ["launchtime", "standard"])
@pytest.mark.parametrize("isolation", ["frame", "order"])
def test_a_frame_that_is_in_its_queue_for_longer_than_its_period(
    driver: str, isolation: str
) -> None:
    """Processing and a frame's time on the slow link: the next one would come into its queue."""
    text = BEHIND_A_BRIDGE.replace("DRIVER", driver).replace("RATE", "1_000_000_000")
    load = '[[load]]\nid = "L"\ntalker = "t"\nlistener = "l"\nrate_bps = 1_000_000\n'
    text = text.replace("PERIOD", "90_000").replace(
        "bytes = 1000", "bytes = 1000\nadvance_ns = 300_000"
    )
    scenario = loading.parse(f'{text}{load}[planner]\nisolation = "{isolation}"\n', "behind.toml")
    plan = make_plan(scenario)
    if plan["status"] == "feasible":
        verify(scenario, plan)


@pytest.mark.parametrize("offset_ns", ["auto", 0, 500_000, 900_000, 950_000])
def test_behind_a_gate_list_of_hand_the_release_decides_how_long_a_frame_waits(
    offset_ns: str | int,
) -> None:
    """At 0 it waits in its queue beyond its period; some releases leave it alone there."""
    text = BEHIND_A_BRIDGE.replace("DRIVER", "launchtime").replace("RATE", "100_000_000")
    text = text.replace("PERIOD", "1_000_000").replace("\nprocessing_ns = 50_000", "")
    text = text.replace("\n[[link]]", BY_HAND, 1)
    if offset_ns != "auto":
        text += f"offset_ns = {offset_ns}\n"
    scenario = loading.parse(text, "behind.toml")
    plan = make_plan(scenario)
    if offset_ns != 0:
        assert plan["status"] == "feasible"
    if plan["status"] == "feasible":
        verify(scenario, plan)


@pytest.mark.parametrize("offset_ns", ["auto", 500_000, 900_000])
def test_a_release_at_which_the_clock_decides_on_the_gate_is_no_proof(
    offset_ns: str | int,
) -> None:
    """Released at 0 the frame comes when it may just still be sent, by a clock that is off."""
    text = BEHIND_A_BRIDGE.replace("DRIVER", "launchtime").replace("RATE", "100_000_000")
    text = text.replace("PERIOD", "1_000_000").replace("\nprocessing_ns = 50_000", "")
    lists = BY_HAND.replace("81_000", "74_800").replace("80_670", "100_000")
    lists = lists.replace('"0x01", ns = 838_330', '"0x41", ns = 825_200')  # PTP's gate, too
    text = text.replace("\n[[link]]", lists, 1)
    text = text.replace("[[station]]", '[sync]\nmode = "gptp"\ngrandmaster = "t"\n[[station]]', 1)
    if offset_ns != "auto":
        text += f"offset_ns = {offset_ns}\n"
    scenario = loading.parse(text, "behind.toml")
    ground = Ground(scenario)
    assert isinstance(ground.alone(ground.flows[0], ground.flows[0].trees[0]), int)
    verify(scenario, make_plan(scenario))


def test_jitter_that_is_allowed_is_used_where_periods_do_not_fit() -> None:
    scenario = clash(jitter_ns=10_000)
    plan = verify(scenario, make_plan(scenario))
    turning = {name: entry for name, entry in plan["streams"].items() if "turns_ns" in entry}
    assert turning
    for entry in turning.values():
        assert max(entry["turns_ns"]) - min(entry["turns_ns"]) <= 10_000
        assert 0 < entry["bounds"]["jitter_ns"] <= 10_000
    assert trial(scenario, plan)["unsent"] == {}
    spoiled = {**plan, "streams": {name: dict(entry) for name, entry in plan["streams"].items()}}
    name = next(iter(turning))
    spoiled["streams"][name]["turns_ns"] = [at + 5_000 for at in turning[name]["turns_ns"]]
    assert problems(scenario, spoiled)
    stolen = copy.deepcopy(plan)
    stream = next(stream for stream in scenario.stream if stream.id == name)
    station, last = stolen["stations"][stream.talker], len(turning[name]["turns_ns"]) - 1
    at_ps = (
        1_000 * (turning[name]["turns_ns"][last] + last * stream.period_ns) - station["preamble_ps"]
    )
    station["allowed"][at_ps // station["slot_time_ps"] % station["partition_slots"]] = 1 << 7
    assert any("does not own" in text for text in problems(scenario, stolen))


def test_a_bound_that_the_simulator_does_not_keep_is_no_bound() -> None:
    plan = copy.deepcopy(_EARLIER)
    plan["streams"]["F2"]["bounds"]["delay_ns"] -= 100
    with pytest.raises(PlanRejectedError, match="delay_ns of stream F2 was"):
        trial(_HABITAT, plan)


@pytest.mark.slow
@pytest.mark.parametrize("jitter_ns", [5_000, 8_000, 15_000])
def test_releases_in_turn_stay_within_the_jitter_or_are_not_given(jitter_ns: int) -> None:
    scenario = clash(jitter_ns=jitter_ns)
    status, plan = decided(scenario)
    if plan is None:
        assert (status, jitter_ns) in [("unknown", 5_000), ("unknown", 8_000)]
    else:
        assert problems(scenario, plan) == []


# -- routes
# --------------------------------------------------------------------------------------------------

_DETOUR = """
schema = "keepon.scenario/1"
name = "detour"
[planner]
routes = 2
[[station]]
name = "a"
[[station]]
name = "z"
driver = "launchtime"
[[bridge]]
name = "b1"
[[bridge]]
name = "b2"
[[bridge]]
name = "b3"
[[link]]
ends = ["a", "b1"]
[[link]]
ends = ["z", "b2"]
[[link]]
ends = ["b1", "b2"]
rate_bps = 10_000_000
[[link]]
ends = ["b1", "b3"]
[[link]]
ends = ["b3", "b2"]
"""
_STREAM = (
    '[[stream]]\nid = "{}"\ntalker = "a"\nlisteners = ["z"]\nperiod_ns = 400_000\nframe_bytes ='
    " 200\nadvance_ns = 400_000\n"
)


def test_streams_that_the_shortest_way_cannot_carry_take_the_next() -> None:
    # Each takes 200 us of the slow link: one of 400 us leaves no room for a second that keeps apart
    # in its queue.
    scenario = loading.parse(
        _DETOUR + "".join(_STREAM.format(name) for name in ("F0", "F1", "F2")), "detour.toml"
    )
    plan = verify(scenario, make_plan(scenario))
    assert sorted(len(entry["route"]) for entry in plan["streams"].values()) == [2, 3, 3]


def test_a_way_that_takes_longer_than_the_deadline_is_none() -> None:
    text = _DETOUR.replace("10_000_000", "1_000_000_000").replace(
        'name = "b3"', 'name = "b3"\nprocessing_ns = 50_000'
    )
    scenario = loading.parse(text + _STREAM.format("F0") + "deadline_ns = 20_000\n", "detour.toml")
    ground = Ground(scenario)
    flow = ground.flows[0]
    release_ps = on_grid(flow.station, flow.stream, 0)
    assert not isinstance(ground.lay(flow, flow.trees[0], release_ps, Occupancy()), int)
    assert ground.lay(flow, flow.trees[1], release_ps, Occupancy()) == NEVER


@pytest.mark.slow
def test_the_robot_cell_is_planned_checked_and_keeps_every_bound_in_the_simulator() -> None:
    scenario = loading.load(ROBOT_CELL)
    plan = verify(scenario, make_plan(scenario))
    slotted = [entry for entry in plan["stations"].values() if "allowed" in entry]
    assert {entry["slot_time_ps"] // 1000 for entry in slotted} == {
        1_000,
        1_600,
        4_000,
        16_000,
        20_000,
    }
    assert len({stream.period_ns for stream in scenario.stream}) == 3
    assert len(plan["streams"]["stop"]["routes"]) == 5
    tried = trial(scenario, plan)
    assert tried["unsent"] == {}
    assert tried["delivered"] > 400


def test_periods_without_a_common_cycle_are_checked_by_their_divisors() -> None:
    # Together they repeat after 1 000 s and more: nothing may be followed that long.
    periods = [1_000_000, 998_000, 994_000, 986_000, 982_000, 974_000]
    streams = [
        {"talker": "abc"[n % 3], "period_ns": period_ns} for n, period_ns in enumerate(periods)
    ]
    scenario = star(streams)
    scenario = scenario.model_copy(
        update={"bridge": [entry.model_copy(update={"gates": "none"}) for entry in scenario.bridge]}
    )
    status, plan = decided(scenario)
    assert (
        status == "infeasible"
    )  # any two of them meet: their divisor is 2 us and frames take that long
    assert plan is None
    far = [
        {"talker": "abc"[n % 3], "period_ns": 1_000 * period}
        for n, period in enumerate((1_400, 2_200, 2_600, 3_400, 3_800, 4_600))
    ]
    scenario = star(far)
    scenario = scenario.model_copy(
        update={"bridge": [entry.model_copy(update={"gates": "none"}) for entry in scenario.bridge]}
    )
    plan = make_plan(scenario)
    assert math.lcm(*(stream.period_ns for stream in scenario.stream)) > 1_000_000_000
    assert plan["status"] == "feasible"
    assert verify(scenario, plan)["verified"]


def test_classes_share_no_slot_of_a_short_partition_though_their_frames_never_meet() -> None:
    # Frames of one queue keep more than a slot apart, so the third would take a slot of the first
    # two's class.
    scenario = star([{"talker": "a", "period_ns": 100_000}] * 3)
    station = next(entry for entry in scenario.station if entry.name == "a")
    classes = [TrafficClass(tc=tc) for tc in (0, 1)]
    options = station.keepon.model_copy(update={"partition_slots": 2, "classes": classes})
    scenario = scenario.model_copy(
        update={
            "station": [
                entry.model_copy(update={"keepon": options}) if entry.name == "a" else entry
                for entry in scenario.station
            ],
            "stream": [
                entry.model_copy(update={"tc": tc})
                for entry, tc in zip(scenario.stream, (0, 0, 1), strict=True)
            ],
        }
    )
    plan = verify(scenario, make_plan(scenario))
    slots = [entry["release_ns"] // 2_000 % 2 for entry in plan["streams"].values()]
    assert slots[0] == slots[1] != slots[2]


def test_gates_that_follow_no_common_time_are_refused() -> None:
    scenario = star(
        [{"talker": "a", "period_ns": 100_000}], 'sync = { mode = "ptp", grandmaster = "z" }'
    )
    with pytest.raises(
        ConfigError,
        match=r'key `bridge\[0\].gates` \(bridge "br"\) = "auto": must be "none" with sync.mode',
    ):
        make_plan(scenario)


def test_slots_beyond_the_partition_are_refused() -> None:
    scenario = star([{"talker": "a", "period_ns": 100_000}])
    station = next(entry for entry in scenario.station if entry.name == "a")
    classes = [TrafficClass(tc=0, slots=[0, 50]), TrafficClass(tc=7, slots="rest")]
    options = station.keepon.model_copy(update={"classes": classes, "partition_slots": 50})
    stations = [
        entry.model_copy(update={"keepon": options}) if entry.name == "a" else entry
        for entry in scenario.station
    ]
    with pytest.raises(
        ConfigError,
        match=r"classes\[0\].slots` .* = 50: must be below 50, the slots of its partition",
    ):
        make_plan(scenario.model_copy(update={"station": stations}))


def test_a_gate_list_by_hand_holds_where_no_stream_passes() -> None:
    scenario = star([{"talker": "a", "period_ns": 100_000}, {"talker": "b", "period_ns": 100_000}])
    listed = GateList(
        entries=[GateEntry(gates="0x01", ns=40_000), GateEntry(gates="0xff", ns=60_000)]
    )
    bridges = [bridge.model_copy(update={"gates": {"a": listed}}) for bridge in scenario.bridge]
    scenario = scenario.model_copy(update={"bridge": bridges})
    plan = verify(scenario, make_plan(scenario))
    port = plan["bridges"]["br"]["ports"]["a"]
    assert (port["queues"], [entry["ns"] for entry in port["entries"]]) == ({}, [40_000, 60_000])
    del plan["bridges"]["br"]["ports"]["a"]
    assert problems(scenario, plan) == [
        "gates of br towards a are given by hand and not in the plan"
    ]


def test_best_effort_that_ends_as_a_window_opens_delays_nothing() -> None:
    """The gap after a frame is no part of what a gate checks: without a guard a window's frame
    starts 12 bytes late.
    """
    # Its period shares nothing with that of the stream: 6000 windows see all phases of the two.
    load = (
        '[[load]]\nid = "bg"\ntalker = "a"\nlistener = "z"\nframe_bytes = 1518\nrate_bps ='
        " 700_123_000\n"
    )
    stream = (
        '[[stream]]\nid = "F0"\ntalker = "a"\nlisteners = ["z"]\nperiod_ns = 500_000\nframe_bytes ='
        " 200\nadvance_ns = 400_000\n"
    )
    text = (
        'schema = "keepon.scenario/1"\nname = "guard"\nduration_s = 3.0\nwarmup_s ='
        ' 0.0\n[[station]]\nname = "z"\ndriver = "launchtime"\n[[station]]\nname = "a"\ndriver ='
        ' "launchtime"\nhost = "tsn-end-station"\n[[bridge]]\nname = "br"\n[[link]]\nends = ["z",'
        ' "br"]\n[[link]]\nends = ["a", "br"]\n'
    )
    scenario = loading.parse(text + stream + load, "guard.toml")
    plan = verify(scenario, make_plan(scenario))
    # A launch-time NIC sends what has no txtime at once: one such frame may be on the wire when a
    # launch is due.
    assert plan["streams"]["F0"]["bounds"]["release_error_ns"] == 32 + 8 + 1538 * 8
    entries = plan["bridges"]["br"]["ports"]["z"]["entries"]
    assert [entry["gates"] for entry in entries] == ["0xdf", "0x00", "0x20", "0xdf"]
    assert entries[1]["ns"] == 60 * 8
    assert trial(scenario, plan)["delivered"] > 0
    unguarded = copy.deepcopy(plan)
    ports = unguarded["bridges"]["br"]["ports"]["z"]
    ports["entries"][:2] = [{"gates": "0xdf", "ns": entries[0]["ns"] + entries[1]["ns"]}]
    assert any("its gap reaches into it" in text for text in problems(scenario, unguarded))

    def worst(tried: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = simulate(scenario, tried, "launchtime", 1)[0].document["streams"][
            "F0"
        ]["bound_check"]
        return found["delay_ns"]

    assert worst(plan)["met"]
    assert 0 < worst(unguarded)["worst_ns"] - plan["streams"]["F0"]["bounds"]["delay_ns"] <= 12 * 8


def test_frames_that_find_no_slot_of_their_class_are_the_plans_fault_and_not_the_hosts() -> None:
    plan = copy.deepcopy(_EARLIER)
    station = plan["stations"]["power-gateway"]
    station["allowed"] = [1 << 7] * station["partition_slots"]
    with pytest.raises(PlanRejectedError, match="frames of stream F2 ended as not_allowed"):
        trial(_HABITAT, plan)


def test_frames_that_come_late_are_named_as_the_hosts() -> None:
    streams = [stream.model_copy(update={"advance_ns": 1_000}) for stream in _HABITAT.stream]
    tried = trial(_HABITAT.model_copy(update={"stream": streams}), _EARLIER)
    assert tried["unsent"]["F1"]["late"] > 0


def test_a_run_that_is_stopped_while_it_plans_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search.Search, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        session.planned(_HABITAT)


def test_streams_of_an_ordinary_driver_may_overtake_each_other() -> None:
    """Its etf sends at once what comes after delta; what comes behind that and is due before it is
    dropped: a matter of the host, and no defect of the plan.
    """
    text = """schema = "keepon.scenario/1"
name = "overtaken"
duration_s = 0.05
warmup_s = 0.05
station = [
  { name = "a", driver = "standard", host = "raspberry-pi-4" },
  { name = "b", driver = "standard", host = "raspberry-pi-4" },
]
link = [{ ends = ["a", "b"] }]
stream = [
  { id = "S0", talker = "a", listeners = ["b"], period_ns = 4_000_000, frame_bytes = 100 },
  { id = "S1", talker = "a", listeners = ["b"], period_ns = 4_000_000, frame_bytes = 100 },
]
[sync]
mode = "ideal"
"""
    close = loading.parse(
        text.replace("frame_bytes", "advance_ns = 100_000, frame_bytes"), "overtaken.toml"
    )
    assert trial(close, verify(close, make_plan(close)))["unsent"]["S0"]["invalid"] > 0
    left_out = loading.parse(text, "roomy.toml")
    assert trial(left_out, verify(left_out, make_plan(left_out)))["unsent"] == {}


@pytest.mark.parametrize(
    ("advance_ns", "verdicts"), [(100_000, {"invalid"}), (1_000_000, set()), (None, set())]
)
def test_streams_overtake_each_other_behind_etf_on_a_keepon_link(
    advance_ns: int | None, verdicts: set[str]
) -> None:
    stated = f"advance_ns = {advance_ns}" if advance_ns else ""
    text = f"""schema = "keepon.scenario/1"
name = "overtaken"
duration_s = 0.05
warmup_s = 0.05
station = [
  {{ name = "a", driver = "keepon", host = "ideal", release = "etf" }},
  {{ name = "b", driver = "standard", host = "ideal" }},
]
link = [{{ ends = ["a", "b"] }}]
[sync]
mode = "none"
[[stream]]
id = "S0"
talker = "a"
listeners = ["b"]
period_ns = 500_000
frame_bytes = 100
{stated}
[[stream]]
id = "S1"
talker = "a"
listeners = ["b"]
period_ns = 500_000
frame_bytes = 100
advance_ns = 1_000_000
"""
    scenario = loading.parse(text, "overtaken.toml")
    tried = trial(scenario, verify(scenario, make_plan(scenario)))
    assert {verdict for counts in tried["unsent"].values() for verdict in counts} == verdicts


@pytest.mark.parametrize(
    ("key", "wrong"), [("tc = 1\n", ""), ("offset_ns = 301_000", "offset_ns = 101_000")]
)
def test_a_time_at_which_the_users_own_gates_are_shut_is_no_defect_of_the_plan(
    key: str, wrong: str
) -> None:
    path = ROBOT_CELL.with_name("three-classes.toml")
    scenario = loading.parse(path.read_text().replace(key, wrong, 1), "shut.toml")
    tried = trial(scenario, verify(scenario, make_plan(scenario)))
    assert tried["unsent"] == {"TC1": {"not_allowed": 10}}
