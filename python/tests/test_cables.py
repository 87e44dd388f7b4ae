# SPDX-License-Identifier: BSD-3-Clause
"""Several links between the same two bridges: each is a way of its own in routes, plans, the
checker, the simulator and what is written for others. Random networks: test_random_plans.py.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.export import commands, dot, tsnkit
from keepon.export.exported import Planned
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner.verify import problems
from keepon.report.topology import picture_svg
from keepon.targets.sim.runner import simulate_build
from keepon.targets.vm.target import check_supported

# As front and rear switch of INET's showcases/tsn/combiningfeatures/invehicle.
HEAD = """
schema = "keepon.scenario/1"
name = "two-cables"
duration_s = 0.1
warmup_s = 0.0
[[station]]
name = "a"
driver = "launchtime"
[[station]]
name = "b"
driver = "launchtime"
[[bridge]]
name = "front"
[[bridge]]
name = "rear"
[[link]]
ends = ["a", "front"]
[[link]]
ends = ["front", "rear"]
[[link]]
ends = ["rear", "front"]
propagation_ns = 1050
[[link]]
ends = ["rear", "b"]
"""
ONE, OTHER = 'ends = ["front", "rear"]\n', 'ends = ["rear", "front"]\n'


def stream(name: str = "s", talker: str = "a", listener: str = "b", **keys: Any) -> str:
    keys = {"period_ns": 1_000_000, "frame_bytes": 100, **keys}
    more = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return f'[[stream]]\nid = "{name}"\ntalker = "{talker}"\nlisteners = ["{listener}"]\n{more}'


def scenario(*streams: str, changes: dict[str, str] | None = None) -> Scenario:
    text = HEAD
    for before, after in (changes or {}).items():
        assert before in text
        text = text.replace(before, after)
    return loading.parse(text + "".join(streams), "cables.toml")


def planned(asked: Scenario) -> Any:
    plan = session.planned(asked)
    assert plan["status"] == "feasible" and problems(asked, plan) == []
    return plan


STATED = stream("one"), stream("other", route='["front", "rear#2"]')


@pytest.mark.parametrize("gates", ["auto", "none"])
def test_streams_go_by_the_links_that_their_routes_name(gates: str) -> None:
    # 100 bytes at 1 Gb/s: 800 ns at the first bridge and at the second, 2 x 2000 of processing, 3 x
    # 50 of cable, 2 x 64 of preamble and 40 of the comparator; by the second link 1000 of cable
    # more, which is found in both directions.
    back = stream("back", "b", "a", route='["rear", "front#2"]')
    asked = scenario(*STATED, back, changes={"[[bridge]]\n": f'[[bridge]]\ngates = "{gates}"\n'})
    plan = planned(asked)
    assert {name: entry["route"] for name, entry in plan["streams"].items()} == {
        "one": ["front", "rear"], "other": ["front", "rear#2"], "back": ["rear", "front#2"],
    }  # fmt: skip
    delays = {name: entry["bounds"]["delay_ns"] for name, entry in plan["streams"].items()}
    assert delays == {"one": 5_918, "other": 6_918, "back": 6_918}
    _, run = simulate_build(asked, plan, "keepon", 1)
    for found in run.document["streams"].values():
        assert found["outcome"] == "met" and found["missing"] == 0
    forwarded = {
        (name, peer): port["forwarded"]
        for name, bridge in run.document["bridges"].items()
        for peer, port in bridge["ports"].items()
    }
    sent = forwarded["front", "a"]
    assert sent >= 100 and forwarded == {
        ("front", "a"): sent, ("front", "rear"): sent, ("front", "rear#2"): sent,
        ("rear", "front"): 0, ("rear", "front#2"): sent, ("rear", "b"): 2 * sent,
    }  # fmt: skip


def test_the_planner_leads_by_the_second_what_the_first_has_no_room_for() -> None:
    # Frames of 1500 bytes take 121.6 us at 100 Mb/s: of twelve each millisecond one link has room
    # for eight.
    slow = {one: f"{one}rate_bps = 100_000_000\n" for one in (ONE, OTHER)}
    streams = [stream(f"s{number}", frame_bytes=1500) for number in range(12)]
    plan = planned(scenario(*streams, changes=slow))
    taken = [entry["route"][1] for entry in plan["streams"].values()]
    assert sorted(set(taken)) == ["rear", "rear#2"] and max(map(taken.count, taken)) <= 8
    alone = {ONE: slow[ONE], f"[[link]]\n{OTHER}propagation_ns = 1050\n": ""}
    with pytest.raises(ConfigError, match='"front" to "rear"'):
        planned(scenario(*streams, changes=alone))


def test_all_listeners_are_reached_by_one_link() -> None:
    third = 'ends = ["rear", "b"]\n[[link]]\nends = ["rear", "c"]\n[[station]]\nname = "c"\n'
    third += 'driver = "launchtime"\n'
    both = stream(route='["front", "rear#2"]').replace('["b"]', '["b", "c"]')
    asked = scenario(both, changes={'ends = ["rear", "b"]\n': third})
    plan = planned(asked)
    assert plan["streams"]["s"]["routes"] == {name: ["front", "rear#2"] for name in "bc"}
    plan["streams"]["s"]["routes"]["c"] = ["front", "rear"]
    assert problems(asked, plan) == ["s: its routes reach a node in two ways"]


@pytest.mark.parametrize("route", ['"auto"', '["front", "rear"]', '["front", "rear#2"]'])
@pytest.mark.parametrize("cut", [ONE, OTHER])
def test_a_cut_cable_costs_a_redundant_stream_nothing(cut: str, route: str) -> None:
    asked = scenario(
        stream(redundancy=2, route=route), changes={cut: f"{cut}loss_probability = 1.0\n"}
    )
    plan = planned(asked)
    entry = plan["streams"]["s"]
    ways = [entry["route"], entry["second_route"]]
    assert sorted(ways) == [["front", "rear"], ["front", "rear#2"]]
    build, run = simulate_build(asked, plan, "keepon", 1)
    found = run.document["streams"]["s"]
    assert found["outcome"] == "met" and found["missing"] == 0
    whole = build.simulation.stream(build.streams["s"])
    place = "lossy link front - rear" if cut == ONE else "lossy link rear - front#2"
    assert found["copies"] == {place: whole["lost"][place]}
    assert whole["lost"][place] + whole["in_flight"] == whole["on_wire"] > 100


@pytest.mark.parametrize("redundancy", [1, 2])
def test_a_cable_that_is_down_loses_what_is_on_it(redundancy: int) -> None:
    """A period of 1 ms and 20 ms without the link: 20 frames, none where they have another way."""
    asked = scenario(
        stream(redundancy=redundancy, route='["front", "rear#2"]'),
        '[[fault]]\nat_s = 0.05\nkind = "link-down"\nnode = "rear"\npeer = "front#2"\n'
        "value_ns = 20_000_000\n",
    )
    _, run = simulate_build(asked, planned(asked), "keepon", 1)
    found = run.document["streams"]["s"]
    lost = found["lost"] if redundancy == 1 else found["copies"]
    assert lost["link rear - front#2"] == 20
    assert found["missing"] == (20 if redundancy == 1 else 0)


def fault(kind: str, node: str, peer: str | None = None) -> str:
    return f'[[fault]]\nat_s = 0.05\nkind = "{kind}"\nnode = "{node}"\n' + (
        f'peer = "{peer}"\n' if peer else ""
    )


def test_gates_by_hand_are_of_one_link() -> None:
    gates = '[bridge.gates."rear#2"]\nentries = [{ gates = "0xff", ns = 500_000 }, { gates ='
    gates += ' "0x00", ns = 500_000 }]\n'
    asked = scenario(*STATED, changes={'"front"\n[[bridge]]': f'"front"\n{gates}[[bridge]]'})
    ports = planned(asked)["bridges"]["front"]["ports"]
    assert [entry["ns"] for entry in ports["rear#2"]["entries"]] == [500_000, 500_000]
    assert ports["rear"]["queues"] == {"one": 5} and ports["rear#2"]["queues"] == {"other": 5}


def test_every_format_and_the_picture_have_both_links() -> None:
    asked = scenario(*STATED, changes={'name = "rear"': 'name = "rear"\npolice = "all"'})
    known = Planned(asked, planned(asked))
    front, rear = (commands.export(known).files[f"{name}.sh"] for name in ("front", "rear"))
    # Ports are numbered as links: to a, rear and rear once more; from front, front and b.
    assert set(re.findall(r"dev (swp\d) .*taprio", front)) == {"swp1", "swp2"}
    into = re.findall(r"filter add dev (swp\d) ingress .*\$DST_(\w+)", rear)
    assert sorted(into) == [("swp0", "one"), ("swp1", "other")]
    assert [note[:54] for note in commands.export(known).notes if "further link" in note] == [
        'stream "other" leaves front by swp2, a further link to'
    ]
    lines = dot.export(known).files["two-cables.dot"].splitlines()
    assert sum('"front" -> "rear"' in line for line in lines) == 3  # a link, two streams
    assert sum('"rear" -> "front"' in line for line in lines) == 1
    drawn = re.findall(r'class="cable" (.*)><title>(.*?):', picture_svg(asked, known.plan))
    first, second = (place for place, ends in drawn if "front – rear" in ends or "#2" in ends)
    assert first != second and "rear – front#2" in dict(map(reversed, drawn))
    with pytest.raises(ConfigError, match="tsnkit knows a link by its two nodes"):
        tsnkit.export(known)


def by_the_first(entry: Any) -> None:
    entry["route"] = entry["routes"]["b"] = ["front", "rear"]


def at_the_first(entry: Any) -> None:
    entry["windows"][0]["peer"] = "rear"


def by_a_third(entry: Any) -> None:
    entry["route"] = entry["routes"]["b"] = ["front", "rear#3"]


def by_both(entry: Any) -> None:
    entry["route"] = entry["routes"]["b"] = ["front", "rear#2", "front#2", "rear"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (by_the_first, "the route is not the one asked for"),
        (at_the_first, "its windows are not those of its route"),
        (by_a_third, "a route uses a link that does not exist"),
        (by_both, "a route passes a node twice"),
    ],
)
def test_the_checker_tells_links_apart(change: Any, message: str) -> None:
    asked = scenario(*STATED)
    plan = copy.deepcopy(planned(asked))
    change(plan["streams"]["other"])
    assert problems(asked, plan) == [f"other: {message}"]


def test_the_checker_knows_two_ways_by_one_link() -> None:
    asked = scenario(stream(redundancy=2))
    plan = copy.deepcopy(planned(asked))
    entry = plan["streams"]["s"]
    entry["second_route"] = entry["route"]
    entry["windows"] = [window for window in entry["windows"] if window["peer"] != "rear#2"]
    assert problems(asked, plan) == ["s: both its ways pass front towards rear"]


@pytest.mark.parametrize(
    ("changes", "streams", "message"),
    [
        ({OTHER: 'ends = ["b", "rear"]\n'}, [], "only bridges may be so more than once"),
        ({OTHER: OTHER + f"[[link]]\n{ONE}" * 7}, [], "by 8 links; remove one of the links"),
        ({}, [stream(route='["front", "rear#3"]')], '"front" and "rear#3" are not linked'),
        ({}, [stream(route='["front#2", "rear"]')], '"a" and "front#2" are not linked'),
        ({}, [stream(route='["front", "rear#2", "rear"]')], "different names"),
        (
            {"[[bridge]]\n": '[[bridge]]\ngates = "cqf"\ncqf_cycle_ns = 100_000\n'},
            [stream(route='["front", "rear#2"]')],
            "must lead by the first link",
        ),
        ({}, [*STATED, fault("link-down", "front", "rear#3")], "no such neighbour; .*rear#2"),
        ({}, [*STATED, fault("link-down", "a", "front")], "no such bridge"),
        ({}, [*STATED, fault("lost-sync", "front", "rear")], 'must be of kind "link-down"'),
        ({}, [*STATED, fault("link-down", "front")], "or the bridge's link by `peer`"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    changes: dict[str, str], streams: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        session.planned(scenario(*streams or STATED, changes=changes))
    assert "\n" not in str(caught.value)


def test_a_guest_takes_one_link_of_two_bridges() -> None:
    quiet = {"[[bridge]]\n": '[[bridge]]\ngates = "none"\n'}
    with pytest.raises(ConfigError, match=r"`link\[2\].ends`: must not be those of another link"):
        check_supported(scenario(stream(), changes=quiet))
    one = {**quiet, f"[[link]]\n{OTHER}propagation_ns = 1050\n": ""}
    with pytest.raises(ConfigError, match=r"`fault\[0\].peer` = \"rear\": must be left out"):
        check_supported(scenario(stream(), fault("link-down", "front", "rear"), changes=one))
