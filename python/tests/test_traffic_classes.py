# SPDX-License-Identifier: BSD-3-Clause
"""Priorities in bridges: the queue of a frame is the traffic class that its priority (PCP) has, by
default as IEEE Std 802.1Q-2022 table 8-5 recommends.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from keepon.errors import ConfigError
from keepon.export import commands, tsntool, yang
from keepon.export.exported import Planned
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner.network.plan import plan as make_plan
from keepon.planner.verify import problems
from keepon.targets.sim import runner

TEXT = """schema = "keepon.scenario/1"
name = "classes"
duration_s = 0.05

[[station]]
name = "plc"
driver = "launchtime"

[[station]]
name = "office"
driver = "standard"

[[station]]
name = "drive"
driver = "launchtime"

[[bridge]]
name = "sw"
gates = "none"
queues = 8

[[link]]
ends = ["plc", "sw"]

[[link]]
ends = ["office", "sw"]

[[link]]
ends = ["sw", "drive"]

[[stream]]
id = "setpoints"
talker = "plc"
listeners = ["drive"]
period_ns = 1_000_000
frame_bytes = 100
priority = 5

[[load]]
id = "files"
talker = "office"
listener = "drive"
kind = "saturate"
priority = 0
"""
ONE_TO_ONE = "queues = 8\ntraffic_classes = [0, 1, 2, 3, 4, 5, 6, 7]"
IN_FLIGHT_PS = 1538 * 8_000


def network(**changes: str) -> Scenario:
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return loading.parse(text, "classes.toml")


def delay_check(scenario: Scenario, plan: dict[str, Any]) -> dict[str, Any]:
    run, _ = runner.simulate(scenario, plan, "launchtime", scenario.seed)
    found: dict[str, Any] = run.document["streams"]["setpoints"]["bound_check"]["delay_ns"]
    return found


@pytest.mark.parametrize(
    ("queues", "classes"),
    [
        (1, "00000000"),
        (2, "00001111"),
        (3, "00001122"),
        (4, "00112233"),
        (5, "00112234"),
        (6, "10223345"),
        (7, "10234456"),
        (8, "10234567"),
    ],
)
def test_priorities_have_the_classes_that_the_standard_recommends(
    queues: int, classes: str
) -> None:
    (bridge,) = network(**{"queues = 8": f"queues = {queues}"}).bridge
    assert "".join(str(bridge.class_of(priority)) for priority in range(8)) == classes


def test_a_stream_below_best_effort_gets_no_bound_that_a_switch_would_break() -> None:
    said = (
        r'`load\[0\].priority` \(load "files"\) = 0: its traffic class 1 must be below 0, that of'
        r' priority 1 of stream "setpoints", .*; give the stream a priority of a higher one, such'
        r" as 5"
    )
    with pytest.raises(ConfigError, match=said):
        make_plan(network(**{"priority = 5": "priority = 1"}))


@pytest.mark.parametrize(
    ("queues", "priority", "load", "said"),
    [
        (4, 5, 4, "its traffic class 2 must be below 2.*choose a priority of a lower one, such"),
        (4, 1, 0, "its traffic class 0 must be below 0.*give the stream a priority of a higher"),
        (1, 7, 0, 'its traffic class 0 must be below 0.*state more queues of bridge "sw"'),
    ],
)
def test_two_priorities_of_one_class_do_not_go_before_each_other(
    queues: int, priority: int, load: int, said: str
) -> None:
    keys = {"priority = 5": f"priority = {priority}", "priority = 0": f"priority = {load}"}
    with pytest.raises(ConfigError, match=said):
        make_plan(network(**{"queues = 8": f"queues = {queues}"}, **keys))


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        (8, 'state several classes in traffic_classes of bridge "sw"'),
        (1, 'state more queues of bridge "sw", and several classes in its traffic_classes'),
    ],
)
@pytest.mark.parametrize(
    ("driver", "gates", "said_after"),
    [("launchtime", "none", "$"), ("standard", "auto", ", choose")],
)
def test_one_class_of_all_priorities_is_parted_where_it_is_stated(
    queues: int, said: str, driver: str, gates: str, said_after: str
) -> None:
    """More queues alone change nothing where classes are written by hand: beside best effort, and
    beside a talker that keeps no time.
    """
    text = TEXT.replace("queues = 8", f"queues = {queues}\ntraffic_classes = {[0] * 8}")
    text = text.replace('gates = "none"', f'gates = "{gates}"')
    if driver == "standard":
        other = text[text.index("[[stream]]") : text.index("[[load]]")].replace("setpoints", "log")
        text = text[: text.index("[[load]]")] + other.replace('talker = "plc"', 'talker = "office"')
    with pytest.raises(ConfigError, match=f"; {said}{said_after}|do; {said}{said_after}"):
        make_plan(loading.parse(text, "classes.toml"))
    helped = [0, 0, 0, 0, 0, 1, 0, 0]
    text = text.replace(f"queues = {queues}", "queues = 2").replace(str([0] * 8), str(helped))
    if driver == "standard":
        text = "priority = 0".join(text.rsplit("priority = 5", 1))
    assert make_plan(loading.parse(text, "classes.toml"))["status"] == "feasible"


@pytest.mark.parametrize("priority", [2, 3, 5, 7])
def test_every_priority_stays_possible_with_four_queues(priority: int) -> None:
    scenario = network(**{"queues = 8": "queues = 4", "priority = 5": f"priority = {priority}"})
    plan = make_plan(scenario)
    assert plan["streams"]["setpoints"]["terms"]["blocked_ps"] == IN_FLIGHT_PS
    assert plan["bridges"]["sw"]["ports"]["drive"]["queues"] == {"setpoints": priority // 2}
    assert problems(scenario, plan) == []
    check = delay_check(scenario, plan)
    assert check["met"] and check["worst_ns"] > check["bound_ns"] - 2_000


@pytest.mark.parametrize("gates", ["none", "auto"])
def test_checker_and_simulator_follow_the_classes_of_the_bridge(gates: str) -> None:
    """With one class for each priority 1 goes before 0; a plan for such a switch holds for no
    other.
    """
    keys = {"priority = 5": "priority = 1", '"none"': f'"{gates}"'}
    stated = network(**{"queues = 8": ONE_TO_ONE}, **keys)
    plan = make_plan(stated)
    assert problems(stated, plan) == []
    assert delay_check(stated, plan)["met"]
    usual = network(**keys)
    assert problems(usual, plan) != []
    assert not delay_check(usual, plan)["met"]


def test_gates_and_their_exports_are_those_of_classes() -> None:
    scenario = network(**{"queues = 8": "queues = 4", '"none"': '"auto"'})
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    entries = plan["bridges"]["sw"]["ports"]["drive"]["entries"]
    assert {entry["gates"] for entry in entries} == {"0x04", "0xfb", "0x00"}
    planned = Planned(scenario, plan)
    script = commands.export(planned).files["sw.sh"]
    assert "taprio num_tc 4 \\\n\tmap 0 0 1 1 2 2 3 3 0 0 0 0 0 0 0 0 \\\n\tqueues 1@0" in script
    assert "sched-entry S 0x0b " in script and "0xfb" not in script
    (interface,) = json.loads(yang.export(planned).files["sw.json"])["ietf-interfaces:interfaces"][
        "interface"
    ]
    assert interface["ieee802-dot1q-bridge:bridge-port"]["traffic-class"] == {
        "traffic-class-table": {
            "number-of-traffic-classes": 4,
            **{f"priority{priority}": priority // 2 for priority in range(8)},
        }
    }
    assert "classes 0 0 1 1 2 2 3 3 for priorities 0 to 7" in tsntool.export(planned).notes[0]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("[0, 1]", r"= \[0, 1\]: must be \"802.1Q\" or a list of 8 numbers between 0 and 7"),
        ('"802.1p"', r'= "802.1p": must be "802.1Q" or a list of 8 numbers'),
        ("[0, 0, 0, 0, 4, 4, 4, 4]", r"must be below 4, the queues of its ports; lower those"),
    ],
)
def test_classes_that_a_port_does_not_have_are_refused(stated: str, said: str) -> None:
    with pytest.raises(ConfigError, match=rf"`bridge\[0\].traffic_classes` .*{said}"):
        network(**{"queues = 8": f"queues = 4\ntraffic_classes = {stated}"})


def test_ptp_has_no_class_of_a_stream_whose_gates_are_closed() -> None:
    gptp = '[sync]\nmode = "gptp"\ngrandmaster = "sw"\n[[station]]\nname = "plc"'
    keys = {'[[station]]\nname = "plc"': gptp, '"none"': '"auto"'}
    with pytest.raises(ConfigError, match=r'has traffic class 1 in bridge "sw" as setpoints has'):
        network(**{"queues = 8": "queues = 2"}, **keys)
    network(**{"queues = 8": "queues = 4"}, **keys)
