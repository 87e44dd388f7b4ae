# SPDX-License-Identifier: BSD-3-Clause
"""Room for best effort's frames of MTU 1500 beside streams: as much as there is, said in the plan,
at no stream's cost.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from keepon.machines.planned import Guest, link_options, mtu_of
from keepon.model import overload
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.model.wire import TAGGED_HEADER_BYTES
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems, verify
from station_cases import Table, network
from test_long_frames_planned import drawn, keeps, ran, station, stream

BACKGROUND = {"id": "bg", "talker": "a", "listener": "b", "kind": "saturate"}
LIMITED = re.compile(r"^MTU (\d+) left to best effort, class (\d+)$")


def mtu_left(plan: Plan) -> tuple[int, str]:
    """MTU that is left to best effort of talker "a", and why."""
    (found,) = [
        (int(match[1]), row["why"])
        for row in plan["stations"]["a"]["rationale"]
        if (match := LIMITED.match(row["quantity"]))
    ]
    return found


def with_background(scenario: Scenario, plan: Plan) -> Table:
    """A run of the plan with the longest frames that it leaves room for and knows nothing of."""
    mtu, _ = mtu_left(plan)
    table = scenario.model_dump(mode="python", exclude_unset=True, by_alias=True)
    loads = [{**BACKGROUND, "frame_bytes": mtu + TAGGED_HEADER_BYTES}] if mtu > 42 else []
    _, result = ran(Scenario.model_validate({**table, "load": loads}), plan)
    return result


@pytest.mark.parametrize(("fragments", "slots"), [(1, 9), (128, 7)])
def test_full_frames_get_through_beside_streams_that_know_nothing_of_them(
    fragments: int, slots: int
) -> None:
    """Best effort of any length up to MTU 1500, in slots of 230 bytes chosen for streams of 200."""
    scenario = network([stream(200), stream(64)], {}, station=station(fragments), duration_s=0.1)
    plan = keeps(scenario)
    port = plan["stations"]["a"]
    assert (port["slot_bytes"], port["frame_bytes_max"]) == (230, 1522)
    assert port["classes"]["7"]["frame_bytes_max"] == 1522
    assert mtu_left(plan)[0] == 1500 and f"take {slots} of at most 128 slots" in mtu_left(plan)[1]
    result = with_background(scenario, plan)
    for name, flow in result["streams"].items():
        assert {key for key, count in flow["verdicts"].items() if count} == {"on_time"}
        assert flow["delay_ns"]["max"] <= plan["streams"][name]["bounds"]["delay_ns"]
    load = result["loads"]["bg"]
    share = load["goodput_bps"] / (1e9 * 1522 * 8 / (slots * 2000))
    assert 0.9 < share < 1.0 and not load["lost"]


NO_MORE = "have room for no more; longer slot_bytes"
NARROW = {"advance_ns": 100_000, "period_ns": 10_000, "frame_bytes": 300}


@pytest.mark.parametrize(
    ("rows", "keepon", "mtu", "why"),
    [
        ([stream(90)], {"slot_bytes": 105, "ring_slots": 64}, 779, NO_MORE),
        ([stream(90)], {"slot_bytes": 105, "depth_slots": 40}, 1230, NO_MORE),
        ([stream(90)], {"frame_bytes_max": 0}, 75, "frame_bytes_max, mode"),
        ([stream(90)], {"mode": "paper"}, 68, "frame_bytes_max, mode"),
        (
            [stream(64, 720_000)], {"slot_bytes": 70, "trim_down_bytes": 3}, 807,
            NO_MORE,
        ),
        ([NARROW], {"slot_bytes": 230}, 539, "of slots in a row streams leave 3; longer"),
        (
            [stream(90, advance_ns=122_000)], {"slot_bytes": 105}, 738,
            NO_MORE,
        ),
    ],
)  # fmt: skip
def test_what_limits_best_effort_and_what_helps_is_said(
    rows: list[Table], keepon: Table, mtu: int, why: str
) -> None:
    plan = keeps(network(rows, keepon, duration_s=0.05))
    found = mtu_left(plan)
    assert why in found[1] and "raise" in found[1]
    assert found[0] == mtu


def test_slots_that_keep_a_row_go_before_shorter_ones_that_do_not() -> None:
    """64 bytes every 20 us: one of 25 slots of 80 bytes leaves 24, full frames take 92, and 9 of
    230 bytes are 9; in fragments 16 of 80. Nothing changes where no slot has a row.
    """
    rows = [stream(64, 20_000, advance_ns=200_000)]
    for fragments, slot_bytes, mtu in ((1, 230, 1500), (128, 80, 1500)):
        plan = keeps(network(rows, {}, station=station(fragments), duration_s=0.05))
        assert (plan["stations"]["a"]["slot_bytes"], mtu_left(plan)[0]) == (slot_bytes, mtu)
    short = [stream(64, 10_000, advance_ns=200_000)]
    plan = keeps(network(short, {}, duration_s=0.05))
    assert plan["stations"]["a"]["slot_bytes"] == 105 and 0 < mtu_left(plan)[0] < 1500


def test_frames_of_its_own_that_are_nearly_as_long_leave_the_rest() -> None:
    """1518 bytes take as many slots as 1522: an MTU of 1496 was left."""
    assert mtu_left(make_plan(network([stream(1518, advance_ns=600_000)])))[0] == 1500


def test_a_stream_with_no_time_to_give_keeps_its_plan_without_that_room() -> None:
    """Full frames let slots stray by some ns more: a bound that holds by less is kept all the
    same.
    """
    rows = [stream(200)]
    without = make_plan(network(rows, {"frame_bytes_max": 0}))
    exact_ns = without["streams"]["S0"]["bounds"]["delay_ns"]
    assert make_plan(network(rows, {}))["streams"]["S0"]["bounds"]["delay_ns"] > exact_ns
    plan = keeps(network([{**rows[0], "deadline_ns": exact_ns}], {}, duration_s=0.05))
    assert plan["streams"]["S0"]["bounds"]["delay_ns"] == exact_ns
    assert "frame_bytes_max" not in plan["stations"]["a"]
    assert mtu_left(plan)[0] == 200 and NO_MORE in mtu_left(plan)[1]


KEEPON_LISTENER = {"name": "b", "driver": "keepon", "host": "tsn-end-station"}


@pytest.mark.parametrize(("fragments", "slot_bytes"), [(1, 605), (128, 72)])
def test_a_station_that_only_listens_has_full_frames(fragments: int, slot_bytes: int) -> None:
    """Slots of 72 bytes left an MTU of 42: neither IPv4 nor IPv6."""
    table = network([stream(200)]).model_dump(mode="python", exclude_unset=True, by_alias=True)
    table["station"][1] = {**KEEPON_LISTENER, "nic": {"fragments_max": fragments}}
    scenario = Scenario.model_validate(table)
    plan = verify(scenario, make_plan(scenario))
    assert plan["verified"]
    assert plan["stations"]["b"]["slot_bytes"] == slot_bytes
    assert plan["stations"]["b"]["classes"]["7"]["frame_bytes_max"] == 1522


@pytest.mark.parametrize(("rest", "mtu"), [(7, 1500), (0, 1500), (None, None)])
def test_a_device_has_the_mtu_of_the_class_that_all_else_goes_to(
    rest: int | None, mtu: int | None
) -> None:
    """Streams of class 2 have slots one by one, that hold 200 bytes; where streams are all that has
    slots, all else has none, and no MTU is asked for.
    """
    classes = [{"tc": 2}, *([{"tc": rest, "slots": "rest"}] if rest is not None else [])]
    scenario = network([stream(200, tc=2)], {"classes": classes})
    plan = make_plan(scenario)
    (talker, _) = scenario.station
    assert mtu_of(scenario, talker, plan["stations"]["a"]) == mtu
    words = link_options(Guest(scenario, plan, "keepon"), talker)
    assert (words[:2] == ["mtu", "1500"]) == (mtu == 1500)


@pytest.mark.parametrize("kind", ["saturate", "udp"])
def test_a_load_longer_than_its_ports_frames_is_refused(kind: str) -> None:
    """What a station takes of it was divided by no time at all."""
    scenario = network([stream(200)], {"frame_bytes_max": 0}, station=station(host="ideal"))
    plan = make_plan(scenario)
    rate = {"rate_bps": 1_000_000} if kind == "udp" else {}
    table = scenario.model_dump(mode="python", exclude_unset=True, by_alias=True)
    load = {**BACKGROUND, "kind": kind, "frame_bytes": 1000, **rate}
    _, result = ran(Scenario.model_validate({**table, "load": [load]}), plan)
    entry = result["loads"]["bg"]
    assert entry["verdicts"]["oversize"] == entry["submitted"] > 0
    assert entry["takes"]["rate_bps"] == 0
    assert overload.rate_sentence(entry["takes"]) == (
        "station a takes none: they are longer than the slots of its class in a row (oversize)"
    )
    assert result["streams"]["S0"]["verdicts"]["on_time"] == result["streams"]["S0"]["due"]


def test_a_plan_says_which_mtu_stations_come_up_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "gateway.toml"
    assert keepon("plan", example, "--out", tmp_path / "plan.json") == 0
    assert "MTU 1500: gateway.0..1, " in capsys.readouterr().out


def test_room_that_no_class_can_use_is_found() -> None:
    classes = [{"tc": 0}, {"tc": 7, "slots": [499]}]
    scenario = network([stream(200)], {"classes": classes, "slot_bytes": 230})
    plan = make_plan(scenario)
    assert problems(scenario, plan) == [] and "frame_bytes_max" not in plan["stations"]["a"]
    plan["stations"]["a"]["frame_bytes_max"] = 1522
    assert any("frame_bytes_max is not what it sends" in text for text in problems(scenario, plan))


@pytest.mark.parametrize("seed", range(100, 112))
def test_what_any_station_sends_keeps_its_bounds_beside_full_frames(seed: int) -> None:
    """Whatever limits it, and as a run with saturating full frames has it."""
    scenario, _ = drawn(random.Random(seed))
    plan = verify(scenario, make_plan(scenario))
    assert plan["verified"]
    mtu, _ = mtu_left(plan)
    longest = max((entry.frame_bytes for entry in scenario.load), default=0)
    assert mtu + TAGGED_HEADER_BYTES >= longest
    result = with_background(scenario, plan)
    for name, flow in result["streams"].items():
        assert {key for key, count in flow["verdicts"].items() if count} == {"on_time"}
        assert flow["missing"] == 0
        assert flow["delay_ns"]["max"] <= plan["streams"][name]["bounds"]["delay_ns"]
