# SPDX-License-Identifier: BSD-3-Clause
"""Frames that wait together for one opening of a gate list by hand: the order in which a bridge
sends them is planned, checked and simulated.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner.network import behind
from keepon.planner.network.plan import plan as make_plan
from keepon.planner.verify import problems, verify
from keepon.trial.trial import trial

STREAM = """[[stream]]
id = "{name}"
talker = "{talker}"
listeners = ["server"]
period_ns = {period_ns}
frame_bytes = {frame_bytes}
priority = {priority}
offset_ns = {offset_ns}
"""
WINDOW = '{ gates = "0x00", ns = 500_000 }, { gates = "0x64", ns = 100_000 }'
FRAME_NS = 8_160  # 1000 bytes with preamble and gap


def network(
    streams: list[dict[str, Any]], isolation: str = "frame", entries: str = WINDOW, bridge: str = ""
) -> Scenario:
    """Talkers c0, c1 ..., one for each stream, and a port towards "server" with these gates."""
    names = [f"c{number}" for number in range(len(streams))]
    text = f'schema = "keepon.scenario/1"\nname = "shared"\nplanner.isolation = "{isolation}"\n'
    for name in (*names, "server"):
        text += f'[[station]]\nname = "{name}"\ndriver = "launchtime"\nhost = "ideal"\n'
        text += f'[[link]]\nends = ["{name}", "sw"]\n'
    rest = '{ gates = "0x9b", ns = 400_000 }'
    text += (
        f'[[bridge]]\nname = "sw"\n{bridge}[bridge.gates.server]\nentries = [{entries}, {rest}]\n'
    )
    usual = {"period_ns": 1_000_000, "frame_bytes": 1000}
    for name, keys in zip(names, streams, strict=True):
        text += STREAM.format(**{**usual, "name": keys["priority"], "talker": name, **keys})
    return loading.parse(text, "shared.toml")


def two(isolation: str, low: int, high: int) -> Scenario:
    return network(
        [
            {"name": "low", "priority": low, "offset_ns": 100_000},
            {"name": "high", "priority": high, "offset_ns": 200_000},
        ],
        isolation,
    )


def delays(plan: Plan) -> dict[str, int | None]:
    return {name: entry["bounds"]["delay_ns"] for name, entry in plan["streams"].items()}


@pytest.mark.parametrize(
    ("isolation", "low", "high", "expected"),
    [
        # the window opens at 500 us, and from the reference plane on it is 114 ns to the listener
        ("frame", 2, 5, {"high": 300_114, "low": 400_114 + FRAME_NS}),
        ("order", 2, 5, {"high": 300_114, "low": 400_114 + FRAME_NS}),
        ("order", 5, 5, {"high": 300_114 + FRAME_NS, "low": 400_114}),  # first come, first served
    ],
)
def test_two_frames_leave_by_one_opening_one_behind_the_other(
    isolation: str, low: int, high: int, expected: dict[str, int]
) -> None:
    """ "unknown: no place was found for 1 of 2 streams" """
    scenario = two(isolation, low, high)
    plan = verify(scenario, make_plan(scenario))
    assert delays(plan) == expected
    assert trial(scenario, plan)["unsent"] == {}


@pytest.mark.slow
def test_one_queue_has_one_frame_alone_with_isolation_frame() -> None:
    assert make_plan(two("frame", 5, 5))["status"] == "unknown"


@pytest.mark.slow
def test_a_frame_that_its_gate_leaves_no_time_behind_another_is_not_placed() -> None:
    streams = [{"priority": number, "offset_ns": 100_000 + number} for number in (2, 5)]
    for window_ns, status in ((16_400, "feasible"), (16_200, "unknown")):
        window = f'{{ gates = "0x00", ns = 500_000 }}, {{ gates = "0x24", ns = {window_ns} }}'
        rest = f'{{ gates = "0x00", ns = {100_000 - window_ns} }}'
        assert make_plan(network(streams, "frame", f"{window}, {rest}"))["status"] == status


def test_who_waits_behind_a_stream_that_is_gone_does_not_stay_where_it_was() -> None:
    both = two("frame", 2, 5)
    plan = verify(both, make_plan(both))
    assert delays(verify(both, make_plan(both, keep=plan))) == delays(plan)
    alone = both.model_copy(update={"stream": both.stream[:1]})
    with pytest.raises(ConfigError, match="waits at a gate for frames that are gone now"):
        make_plan(alone, keep=plan)
    ahead = both.model_copy(update={"stream": both.stream[1:]})
    assert delays(make_plan(ahead, keep=plan)) == {"high": 300_114}


def test_none_waits_where_not_all_frames_can_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "FOLLOWED_MAX", 3)
    assert make_plan(two("frame", 2, 5))["status"] == "unknown"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_streams_of_one_opening_leave_in_the_order_of_the_bridge(seed: int) -> None:
    """Random streams, most of which come before the gate opens: nothing that is planned is refused
    by the checker or by the simulator.
    """
    draw = random.Random(seed)
    streams = [
        {
            "name": f"F{number}",
            "priority": draw.choice((2, 5, 6)),
            "offset_ns": draw.choice(('"auto"', draw.randrange(480_000), draw.randrange(600_000))),
            "period_ns": draw.choice((1_000_000, 1_000_000, 2_000_000)),
            "frame_bytes": draw.choice((64, 500, 1000, 1500)),
        }
        for number in range(draw.randint(2, 5))
    ]
    scenario = network(streams, draw.choice(("frame", "order")))
    plan = make_plan(scenario)
    if plan["status"] != "feasible":
        return
    assert problems(scenario, plan) == []
    assert trial(scenario, plan)["unsent"] == {}
