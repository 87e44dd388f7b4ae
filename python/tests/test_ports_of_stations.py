# SPDX-License-Identifier: BSD-3-Clause
"""Stations of several ports, from the scenario to the result: what leaves by which port, that all
of it arrives within its bounds, and that the checker notices plans that have ports wrong.
"""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import pytest
from helpers import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keepon.errors import ConfigError
from keepon.measure import results
from keepon.measure.results import FrameArrays
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.result import Slips
from keepon.model.scenario import Scenario
from keepon.model.timing import talk_start_ns
from keepon.model.topology import Topology
from keepon.planner import plan as make_plan
from keepon.planner.network.ground import Ground
from keepon.planner.parameters.hardware import published_poll_cost
from keepon.planner.verify import problems, verify
from keepon.report import gantt, sections
from keepon.targets.sim.build import Build
from keepon.targets.sim.refusals import check_supported
from keepon.targets.sim.runner import run_all, simulate_build
from keepon.trial.trial import trial
from port_cases import (
    bridge,
    gateway,
    leaf,
    link,
    ring,
    scenario_of,
    station,
    stream,
    table,
    text_of,
)


def run_keepon(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "keepon", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def planned(scenario: Scenario) -> Plan:
    plan = make_plan(scenario)
    assert plan["status"] == "feasible", plan.get("why")
    return verify(scenario, plan)


def ran(scenario: Scenario, plan: Plan | None = None) -> tuple[Build, dict[str, Any]]:
    check_supported(scenario)
    build, run = simulate_build(scenario, plan or planned(scenario), scenario.drivers()[0], 1)
    return build, dict(run.document)


def left_by_port(build: Build, result: dict[str, Any], name: str) -> list[int]:
    """Frames that left by each port, as the ports' NICs have counted them."""
    ports = result["stations"][name]["ports"]
    return [ports[port.name]["nic"]["frames"] for port in build.topology.ports_of(name)]


# -- names and ways


def test_ports_have_the_stations_name_and_a_number_in_the_order_of_links() -> None:
    topology = Topology(gateway(rates=(10**9, 10**8)))
    ports = topology.ports_of("gw")
    assert [(port.name, port.peer, port.wire.rate_bps) for port in ports] == [
        ("gw.0", "b0", 10**9),
        ("gw.1", "b1", 10**8),
    ]
    assert [port.name for port in topology.ports_of("s0")] == ["s0"]
    assert list(topology.ports) == ["gw.0", "gw.1", "s0", "s1"]


def test_a_stream_leaves_by_the_port_of_its_way_and_all_its_listeners_are_reached_by_it() -> None:
    scenario = ring(
        stream("near", "gw", "a"),
        stream("far", "gw", "e"),
        stream("both", "gw", "e", "a"),
        stream("asked", "gw", "a", route=["b2", "b1", "b0"]),
        stream("tied", "gw", "c"),
    )
    topology = Topology(scenario)
    assert {port: [stream.id for _, stream in own] for port, own in topology.streams.items()
            if port.startswith("gw")} == {
        "gw.0": ["near", "tied"], "gw.1": ["far", "both", "asked"],
    }  # fmt: skip
    assert topology.paths(scenario.stream[2])["a"][:2] == ["gw", "b2"]
    for flow in Ground(scenario).flows:
        port = topology.port_of(flow.stream)
        starts = {(tree.legs[0].here, tree.legs[0].there) for tree in flow.trees}
        assert starts == {("gw", port.peer)}
        assert len(flow.trees) > 1 or flow.stream.id != "tied"
    plan = planned(scenario)
    assert plan["streams"]["both"]["routes"]["a"][0] == "b2"
    assert plan["streams"]["asked"]["routes"]["a"] == ["b2", "b1", "b0"]
    assert set(plan["stations"]["gw.0"]["streams"]) == {"near", "tied"}
    build, result = ran(scenario, plan)
    sent = {name: build.simulation.stream(build.streams[name])["on_wire"] for name in build.streams}
    assert left_by_port(build, result, "gw") == [
        sent["near"] + sent["tied"], sent["far"] + sent["both"] + sent["asked"]
    ]  # fmt: skip
    assert result["outcome"] == "met"


def test_no_way_passes_a_station_even_where_it_would_be_the_shorter() -> None:
    """From a to e it is two hops through gw's bridges if gw forwarded, three around."""
    parts = [station("gw"), leaf("a"), leaf("e"), *(bridge(f"b{i}") for i in range(4))]
    parts += [link("b0", "gw"), link("gw", "b3"), link("a", "b0"), link("e", "b3")]
    parts += [link("b0", "b1"), link("b1", "b2"), link("b2", "b3")]
    parts += [stream("s", "a", "e"), stream("t", "gw", "e")]
    scenario = scenario_of(*parts)
    ways = Topology(scenario).shortest("a", "e")
    assert ways == ["a", "b0", "b1", "b2", "b3", "e"]
    for flow in Ground(scenario).flows:
        assert all("gw" not in path[1:] for tree in flow.trees for path in tree.paths.values())
    plan = planned(scenario)
    assert plan["streams"]["s"]["route"] == ["b0", "b1", "b2", "b3"]
    through = copy.deepcopy(plan)
    through["streams"]["s"]["routes"]["e"] = ["b0", "gw", "b3"]
    through["streams"]["s"]["route"] = ["b0", "gw", "b3"]
    assert problems(scenario, through) == ["s: a route passes something that is no bridge"]
    cut = "".join([station("gw"), leaf("a"), leaf("e"), link("a", "gw"), link("gw", "e")])
    with pytest.raises(ConfigError, match='is not connected to talker "a"'):
        scenario_of(cut, stream("s", "a", "e"))


def test_acks_go_back_by_the_port_the_segments_came_by() -> None:
    """Two ways of equal length; from the listener the other link is listed first."""
    parts = [station("gw"), station("far", "standard"), bridge("b0"), bridge("b1")]
    parts += [link("gw", "b0"), link("gw", "b1"), link("far", "b1"), link("far", "b0")]
    load = table("load", {"id": "l", "talker": "gw", "listener": "far", "kind": "tcp",
                          "frame_bytes": 1000})  # fmt: skip
    scenario = scenario_of(*parts, load, stream("s", "gw", "far"))
    topology = Topology(scenario)
    assert topology.shortest("far", "gw")[1] == "b1"
    assert [path for _, _, path in topology.best_effort] == [
        ["gw", "b0", "far"], ["far", "b0", "gw"]
    ]  # fmt: skip
    assert [name for name, loads in topology.loads.items() if loads] == ["gw.0", "far.1"]
    build, result = ran(scenario)
    acks = build.simulation.load(build.loads["l"])["acks"]["on_wire"]
    assert acks > 100
    assert left_by_port(build, result, "far") == [0, acks]
    # At a port without gates they may be in the way: the planner and the checker say of the same.
    beside = [part.replace('"auto"', '"none"') for part in parts]
    back = stream("x", "far", "gw", route=["b0"], priority=6)
    kept = planned(scenario_of(*beside, load, back))
    assert kept["streams"]["x"]["terms"]["blocked_ps"] == (70 + 20) * 8_000
    other = stream("x", "far", "gw", route=["b1"], priority=6)
    free = planned(scenario_of(*beside, load, other))
    assert free["streams"]["x"]["terms"]["blocked_ps"] == 0


# -- random networks


def nearest(wires: list[tuple[str, str]], listener: str) -> int:
    """By hand: the hub's port from which a listener is the fewest links away, the first of equal
    ones. Nothing goes through the hub.
    """
    peers = [other if one == "hub" else one for one, other in wires if "hub" in (one, other)]
    graph = networkx.Graph([wire for wire in wires if "hub" not in wire])
    graph.add_nodes_from(peers)
    away = networkx.single_source_shortest_path_length(graph, listener)
    return min(range(len(peers)), key=lambda port: (away.get(peers[port], 99), port))


def random_network(seed: int) -> tuple[Scenario, dict[str, int]]:
    """A hub with two to four ports, each into an island: a station, or a line of bridges with
    stations; two islands may be joined. With it the ports that its streams must leave by.
    """
    draw = random.Random(seed)
    driver = draw.choice(["keepon", "keepon", "launchtime", "standard"])
    crystal = f"clock_ppm = {draw.choice([0.0, 0.0, -40.0, 25.5])}\n"
    parts = [station("hub", driver, draw.choice(["raspberry-pi-4", "ideal"]), crystal)]
    islands: list[list[str]] = []
    ends: list[str] = []  # the last bridge of each island that has one
    wires: list[tuple[str, str]] = []

    def wire(one: str, other: str, rate: int) -> str:
        wires.append((one, other))
        return link(one, other, rate_bps=rate)

    for port in range(draw.randint(2, 4)):
        rate = draw.choice([10**8, 10**9, 10**9])
        members: list[str] = []
        islands.append(members)
        if draw.random() < 0.3:
            members.append(f"p{port}")
            parts += [leaf(f"p{port}"), wire("hub", f"p{port}", rate)]
            continue
        before = "hub"
        for number in range(draw.randint(1, 3)):
            name = f"b{port}{number}"
            parts += [bridge(name, draw.choice(["auto", "auto", "none"])), wire(before, name, rate)]
            before = name
            for count in range(draw.randint(0 if number else 1, 2)):
                members.append(f"p{port}{number}{count}")
                parts += [leaf(members[-1]), wire(members[-1], name, rate)]
        ends.append(before)
    if len(ends) > 1 and draw.random() < 0.5:
        one, other = draw.sample(ends, 2)
        parts.append(wire(one, other, 10**9))
    by: dict[str, int] = {}
    for number in range(draw.randint(2, 8)):
        own = draw.choice(islands)
        keys = {"period_ns": draw.choice([1, 2, 4]) * 1_000_000,
                "frame_bytes": draw.choice([64, 200, 600])}  # fmt: skip
        name = f"f{number}"
        if draw.random() < 0.35:
            parts.append(stream(name, draw.choice(own), "hub", **keys))
        else:
            listeners = draw.sample(own, draw.randint(1, min(3, len(own))))
            by[name] = nearest(wires, listeners[0])
            parts.append(stream(name, "hub", *listeners, **keys))
    if draw.random() < 0.4 and driver != "standard":
        listener = draw.choice(draw.choice(islands))
        parts.append(table("load", {"id": "l", "talker": "hub", "listener": listener,
                                    "rate_bps": 2_000_000, "frame_bytes": 600}))  # fmt: skip
    return scenario_of(*parts), by


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9))
def test_every_frame_of_a_random_hub_leaves_by_its_port_and_arrives_within_its_bounds(
    seed: int,
) -> None:
    try:
        scenario, by = random_network(seed)
        plan = make_plan(scenario)
    except ConfigError as error:
        # Some draws ask for more than a link or a host can: never for a port that is not there.
        assert "hub" in str(error) or "key `" in str(error)
        return
    if plan["status"] != "feasible":
        return
    assert problems(scenario, plan) == []
    count = len(Topology(scenario).ports_of("hub"))
    assert {name for name in plan["stations"] if name.startswith("hub")} == {
        f"hub.{number}" for number in range(count)
    }
    for number in range(count):
        own = {name for name, port in by.items() if port == number}
        assert set(plan["stations"][f"hub.{number}"]["streams"]) == own
    build, result = ran(scenario, plan)
    expected = Counter(dict.fromkeys(range(count), 0))
    for name, port in by.items():
        flow = build.simulation.stream(build.streams[name])
        expected[port] += flow["on_wire"]
    for load in scenario.load:
        way = build.topology.shortest("hub", load.listener)
        port = build.topology.neighbours["hub"].index(way[1])
        expected[port] += build.simulation.load(build.loads[load.id])["on_wire"]
    assert left_by_port(build, result, "hub") == [expected[number] for number in range(count)]
    for entry in scenario.stream:
        found = result["streams"][entry.id]
        if scenario.station_named(entry.talker).driver == "standard":
            continue
        # Tails of the host may bring a frame too late for its slot; what is sent keeps its bounds.
        assert all(check["met"] for check in found["bound_check"].values()), entry.id
        assert found["lost"] == {}, entry.id
        if found["verdicts"].get("late", 0) == 0 and not any(
            found["verdicts"].get(key) for key in ("invalid", "moved", "in_doubt")
        ):
            due, rest = divmod(round(scenario.duration_s * 1e9), entry.period_ns)
            assert due <= found["delivered"] <= due + bool(rest), entry.id


def test_the_random_hubs_are_planned_and_of_every_kind() -> None:
    """What the property above looks at is there: few draws end before the plan."""
    seen: Counter[str] = Counter()
    for seed in range(40):
        try:
            scenario, by = random_network(seed)
            plan = make_plan(scenario)
        except ConfigError:
            seen["refused"] += 1
            continue
        seen[plan["status"]] += 1
        seen[scenario.station[0].driver] += 1
        seen[f"{len(Topology(scenario).ports_of('hub'))} ports"] += 1
        seen["two ports at once"] += len(set(by.values())) > 1
    assert seen["feasible"] >= 30, seen
    assert seen["two ports at once"] >= 20, seen
    assert all(seen[f"{count} ports"] >= 3 for count in (2, 3, 4)), seen
    assert all(seen[driver] >= 3 for driver in ("keepon", "launchtime", "standard")), seen


# -- the checker


def two_ports() -> tuple[Scenario, Plan]:
    """A stream by each port, in slots of their own: 230 bytes, but 6 us apart."""
    scenario = gateway(
        stream("x", "gw", "s0", offset_ns=64), stream("y", "gw", "s1", offset_ns=6_064)
    )
    return scenario, planned(scenario)


def moved_stream(plan: Plan) -> None:
    ports = plan["stations"]
    ports["gw.1"]["streams"]["x"] = ports["gw.0"]["streams"].pop("x")


def swapped_slots(plan: Plan) -> None:
    one, other = plan["stations"]["gw.0"], plan["stations"]["gw.1"]
    one["allowed"], other["allowed"] = other["allowed"], one["allowed"]


def swapped_ports(plan: Plan) -> None:
    ports = plan["stations"]
    ports["gw.0"], ports["gw.1"] = ports["gw.1"], ports["gw.0"]


def one_entry(plan: Plan) -> None:
    """As if the station had one transmitter with all its streams."""
    ports = plan["stations"]
    ports["gw"] = ports.pop("gw.0")
    ports["gw"]["streams"] |= ports.pop("gw.1")["streams"]


MUTATIONS: list[tuple[Callable[[Plan], object], str]] = [
    (moved_stream, "station gw.0: its streams are not those of the scenario"),
    (swapped_slots, "station gw.0: x uses slot 0, which its class 0 does not own"),
    (swapped_ports, "station gw.0: its streams are not those of the scenario"),
    (lambda plan: plan["stations"].pop("gw.1"), "station gw.1 is not in the plan"),
    (one_entry, "station gw is not in the scenario"),
]


@pytest.mark.parametrize(("change", "told"), MUTATIONS)
def test_the_checker_refuses_plans_with_ports_wrong(
    change: Callable[[Plan], object], told: str
) -> None:
    scenario, plan = two_ports()
    assert problems(scenario, plan) == []
    change(plan)
    assert problems(scenario, plan)[0] == told


def test_the_checker_misses_a_port_by_which_nothing_leaves() -> None:
    scenario = gateway(stream("x", "gw", "s0"), rates=(10**9, 10**9, 10**9))
    plan = planned(scenario)
    assert plan["stations"]["gw.2"]["streams"] == {}
    del plan["stations"]["gw.2"]
    assert problems(scenario, plan) == ["station gw.2 is not in the plan"]


def test_the_checker_refuses_a_frame_by_another_port_than_its_way_begins_at() -> None:
    """The whole plan is right for a stream that asks for the other port."""
    other = planned(ring(stream("s", "gw", "a", route=["b2", "b1", "b0"])))
    scenario = ring(stream("s", "gw", "a"))
    assert problems(scenario, other) == [
        "s: a route does not begin at the port its stream leaves by"
    ]


def test_the_checker_knows_the_rate_of_each_port() -> None:
    scenario = gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1"), rates=(10**9, 10**8))
    plan = planned(scenario)
    entry = plan["stations"]["gw.1"]
    assert entry["slot_time_ps"] == (entry["slot_bytes"] + 20) * 80_000
    entry["slot_time_ps"] //= 10
    assert (
        "station gw.1: slot_time_ps is not the slot's bytes plus 20 at the link's rate"
        in problems(scenario, plan)
    )


def test_the_checker_counts_best_effort_at_its_own_port_only() -> None:
    """A frame of a load may be on the wire when a launch time comes: at the port it leaves by."""
    load = table("load", {"id": "l", "talker": "gw", "listener": "s1", "rate_bps": 1_000_000})
    streams = [stream("x", "gw", "s0"), stream("y", "gw", "s1")]
    scenario = gateway(*streams, load, driver="launchtime")
    plan = planned(scenario)
    late = {name: plan["streams"][name]["release_late_ps"] for name in "xy"}
    assert late["x"] == 32_000
    assert late["y"] == 32_000 + (1518 + 20) * 8_000
    swapped = copy.deepcopy(plan)
    for name, other in (("x", "y"), ("y", "x")):
        swapped["streams"][name]["release_late_ps"] = late[other]
    told = problems(scenario, swapped)
    assert "release interval of y is narrower than its driver can keep" in told


def test_classes_of_two_ports_may_have_their_slots_at_one_time() -> None:
    """In one ring a slot has one frame and one class; each port has a ring."""
    classes = "[[station.keepon.classes]]\ntc = 0\n[[station.keepon.classes]]\ntc = 1\n"
    both = [stream("x", "gw", "s0", offset_ns=64), stream("y", "gw", "s1", tc=1, offset_ns=64)]
    plan = planned(gateway(*both, host=classes))
    owned = [plan["stations"][f"gw.{i}"]["allowed"] for i in range(2)]
    assert [masks[0] for masks in owned] == [1, 2]
    assert not any(owned[0][1:] + owned[1][1:])


# -- one host for all ports


def test_polls_of_the_other_ports_are_in_lateness_and_lead() -> None:
    cost_ns = int(published_poll_cost().value)
    found = {}
    for count in (1, 2, 3):
        rates = (10**9,) * count
        scenario = gateway(stream("x", "gw", "s0"), rates=rates)
        station_plan = Ground(scenario).station_of(scenario.stream[0])
        needs = station_plan.needs
        assert needs is not None
        assert needs.way is not None
        found[count] = (needs.host.poll_late_usual_ns, needs.way.usual_ns)
        assert needs.host.poll_late_worst_ns - needs.host.poll_late_usual_ns >= 0
    for count in (2, 3):
        assert found[count][0] - found[1][0] == (count - 1) * cost_ns
        assert found[count][1] - found[1][1] == (count - 1) * cost_ns


def test_an_advance_that_one_port_bears_is_refused_where_two_share_the_host() -> None:
    alone = gateway(stream("x", "gw", "s0"), rates=(10**9,))
    plan = Ground(alone).station_of(alone.stream[0])
    assert plan.needs is not None
    assert plan.needs.way is not None
    least_ns = plan.lead_time_ns + plan.needs.way.usual_ns
    planned(gateway(stream("x", "gw", "s0", advance_ns=least_ns), rates=(10**9,)))
    with pytest.raises(ConfigError, match=r'station "gw\.0" needs a frame'):
        make_plan(gateway(stream("x", "gw", "s0", advance_ns=least_ns)))


def test_ports_of_one_core_keep_their_wires_busy_and_their_bounds() -> None:
    """Four ports poll on the one core of their host; the rationale adds up what that takes."""
    rates = (10**9,) * 4
    host = 'host = { base = "raspberry-pi-4", cores = 1 }\n'
    streams = [stream(f"x{i}", "gw", f"s{i}") for i in range(4)]
    text = text_of(
        table("station", {"name": "gw"}) + host,
        *(leaf(f"s{i}") + bridge(f"b{i}") + link("gw", f"b{i}") + link(f"b{i}", f"s{i}")
          for i in range(len(rates))),
        *streams,
        head="host_tail_scale = 0.0\n",
    )  # fmt: skip
    scenario = loading.parse(text, "cores.toml")
    plan = planned(scenario)
    shares = [plan["stations"][f"gw.{i}"]["headroom"]["cpu_share"] for i in range(4)]
    reasons = [row["quantity"] for row in plan["stations"]["gw.2"]["rationale"]]
    assert f"{100 * sum(shares):.0f} % of one core for the polls of all its 4 ports" in reasons
    _, result = ran(scenario, plan)
    entry = result["stations"]["gw"]
    assert entry["underruns"] == entry["suspected_underruns"] == 0
    assert entry["cpu"]["hard-irq"]["waited_ps"] > 0
    assert result["outcome"] == "met"
    assert all(found["delivered"] == 50 for found in result["streams"].values())


def test_the_wait_for_the_driver_counts_streams_of_the_other_ports() -> None:
    """Both are handed over at one instant."""
    scenario = gateway(stream("x", "gw", "s0", offset_ns=64), stream("y", "gw", "s1", offset_ns=64))
    plan = planned(scenario)
    told = [
        row["quantity"]
        for port in ("gw.0", "gw.1")
        for row in plan["stations"][port]["rationale"]
        if "for the driver" in row["quantity"]
    ]
    assert len(told) == 1
    assert "waits up to 7 us" in told[0]


def test_launch_times_are_checked_for_each_nic_alone() -> None:
    """ETF sorts the streams of a NIC; two NICs with a stream each need no sorting."""
    short = {"advance_ns": 50_000}
    apart = [stream("x", "gw", "s0", **short), stream("y", "gw", "s1", **short)]
    planned(gateway(*apart, driver="launchtime"))
    with pytest.raises(ConfigError, match="advance_ns"):
        make_plan(gateway(apart[0], stream("y", "gw", "s0", **short), driver="launchtime"))


# -- clocks


GPTP = '[sync]\nmode = "gptp"\ngrandmaster = "b0"\npriority = 7\n'


def test_a_station_with_a_system_clock_follows_gptp_by_one_of_its_ports() -> None:
    parts = [station("gw", "standard"), leaf("s0"), leaf("s1"), bridge("b0"), bridge("b1")]
    parts += [link("gw", "b0"), link("gw", "b1"), link("b0", "b1"), link("s0", "b0")]
    parts += [link("s1", "b1"), stream("x", "s0", "gw"), stream("y", "s1", "gw")]
    parts.append(stream("z", "gw", "s1", priority=4))
    text = text_of(*parts, head=GPTP).replace("warmup_s = 0.05", "warmup_s = 20.0")
    scenario = loading.parse(text, "gptp.toml")
    plan = planned(scenario)
    assert plan["streams"]["z"]["bounds"]["delay_ns"] is None
    assert trial(scenario, plan)["delivered"] > 0
    _, result = ran(scenario, plan)
    assert result["stations"]["gw"]["clock"]["sync"]["received"] > 100
    assert [result["streams"][name]["outcome"] for name in "xy"] == ["met", "met"]


# -- faults


@pytest.mark.parametrize("port", [0, 1])
def test_a_link_that_is_down_cuts_what_leaves_by_its_port(port: int) -> None:
    fault = table("fault", {"at_s": 0.06, "kind": "link-down", "node": f"gw.{port}",
                            "value_ns": 5_000_000})  # fmt: skip
    scenario = gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1"), fault)
    _, result = ran(scenario)
    delivered = [result["streams"][name]["delivered"] for name in "xy"]
    assert delivered[1 - port] == 50
    assert 44 <= delivered[port] <= 46


# -- plans that are kept, results, reports


def test_streams_of_an_earlier_plan_stay_in_the_slots_of_their_port() -> None:
    streams = [stream("x", "gw", "s0"), stream("y", "gw", "s1", frame_bytes=600)]
    rates = (10**9, 10**8)
    before = planned(gateway(*streams, rates=rates))
    # Alone it would have the rings made longer.
    early = stream("z", "gw", "s1", period_ns=2_000_000, advance_ns=3_000_000)
    scenario = gateway(*streams, early, rates=rates)
    anew = make_plan(scenario)["stations"]["gw.1"]["ring_slots"]
    assert anew > before["stations"]["gw.1"]["ring_slots"]
    after = make_plan(scenario, None, before)
    assert after["kept"] == ["x", "y"]
    assert problems(scenario, after) == []
    sizes = [before["stations"][f"gw.{i}"]["slot_bytes"] for i in range(2)]
    assert sizes[0] != sizes[1]
    assert [after["stations"][f"gw.{i}"]["slot_bytes"] for i in range(2)] == sizes
    rings = [plan["stations"]["gw.1"]["ring_slots"] for plan in (before, after)]
    assert rings[0] == rings[1]
    for name in "xy":
        assert after["streams"][name]["release_ns"] == before["streams"][name]["release_ns"]


def test_a_result_has_the_ports_and_their_sums_and_the_report_shows_them() -> None:
    load = table("load", {"id": "l", "talker": "gw", "listener": "s1", "rate_bps": 8_000_000,
                          "frame_bytes": 500})  # fmt: skip
    streams = [stream("x", "gw", "s0"), stream("y", "gw", "s1")]
    scenario = gateway(*streams, load, rates=(10**9, 10**8))
    plan = planned(scenario)
    result = run_all(scenario, plan, 1).result
    entry = result["runs"][0]["stations"]["gw"]
    ports = entry["ports"]
    assert list(ports) == ["gw.0", "gw.1"]
    for key in ("placeholders", "slots_total", "underruns", "best_effort_bps"):
        assert entry[key] == sum(port[key] for port in ports.values())
    assert ports["gw.0"]["best_effort_bps"] == 0
    assert ports["gw.1"]["best_effort_bps"] == pytest.approx(8_000_000, rel=0.05)
    shown = [row[1].text for row in sections.stations(result).rows]
    assert shown == ["gw.0", "gw.1"]
    rows = gantt.chart(result, plan).rows
    assert [row.label for row in rows[:2]] == ["gw.0", "gw.1"]
    sent = [next(block for block in row.blocks if block.kind == "frame") for row in rows[:2]]
    lengths_ns = [round(block.end - block.start) for block in sent]
    assert lengths_ns == [(plan["stations"][f"gw.{i}"]["slot_bytes"] + 20) * 8 * 10**i
                          for i in range(2)]  # fmt: skip


def test_frames_are_put_into_the_slots_of_their_port(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1"), rates=(10**9, 10**8))
    plan = planned(scenario)
    asked: list[int] = []
    counted = results.slips

    def slips(frames: FrameArrays, slot_ps: int, preamble_ps: int) -> Slips:
        asked.append(slot_ps)
        return counted(frames, slot_ps, preamble_ps)

    monkeypatch.setattr(results, "slips", slips)
    ran(scenario, plan)
    assert asked == [plan["stations"][f"gw.{i}"]["slot_time_ps"] for i in range(2)]
    assert asked[0] != asked[1]


def test_streams_begin_when_the_slowest_port_is_on_its_grid() -> None:
    slow = stream("x", "gw", "s0", frame_bytes=1200, period_ns=2_000_000)
    alone = gateway(slow, rates=(10**8,))
    both = gateway(slow, stream("y", "gw", "s1"), rates=(10**8, 10**9))
    starts_ns = [talk_start_ns(scenario, planned(scenario)) for scenario in (alone, both)]
    assert starts_ns[0] == starts_ns[1] > 10_000_000


def test_the_trial_counts_late_launches_of_all_ports() -> None:
    scenario = gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1"), driver="launchtime")
    tried = trial(scenario, planned(scenario))
    assert tried["unsent"] == {}
    assert tried["delivered"] >= 20


def test_best_effort_may_be_of_a_class_that_has_streams_at_another_port() -> None:
    rest = '[[station.keepon.classes]]\ntc = 0\nslots = "rest"\n'
    keys = {"id": "l", "talker": "gw", "tc": 0, "rate_bps": 1_000_000, "frame_bytes": 200}
    planned(gateway(stream("x", "gw", "s0"), table("load", {**keys, "listener": "s1"}), host=rest))
    same = table("load", {**keys, "listener": "s0"})
    with pytest.raises(ConfigError, match='must not be the class of stream "x"'):
        make_plan(gateway(stream("x", "gw", "s0"), same, host=rest))


def test_commands_plan_run_and_report_the_example(tmp_path: Path) -> None:
    example = ROOT / "examples" / "gateway.toml"
    plan, out = tmp_path / "plan.json", tmp_path / "result"
    done = run_keepon("plan", str(example), "--out", str(plan))
    assert done.returncode == 0, done.stderr
    assert "gateway.1" in done.stdout
    done = run_keepon("run", str(example), "--out", str(out), "--duration", "0.2")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((out / "result.json").read_text())
    streams = result["runs"][0]["streams"]
    assert {name: entry["delivered"] for name, entry in streams.items()} == {
        "set-axes": 400, "set-pump": 100, "axis1-is": 400, "axis2-is": 400, "pump-is": 100,
    }  # fmt: skip
    done = run_keepon("report", str(out))
    assert done.returncode == 0, done.stderr
    page = (out / "report.html").read_text()
    assert "gateway.0" in page
    assert "gateway.1" in page
    # A damaged name of a port is found when the folder is read again.
    entry = result["runs"][0]["stations"]["gateway"]["ports"]
    entry["gateway.7"] = entry.pop("gateway.1")
    (out / "result.json").write_text(json.dumps(result))
    done = run_keepon("report", str(out))
    assert done.returncode == 2
    assert 'has "gateway.7"' in done.stderr


# -- what is refused


TWO = [station("gw"), leaf("s0"), leaf("s1"), link("gw", "s0"), link("gw", "s1")]
REFUSED = [
    (
        [*TWO, leaf("gw.1"), link("gw.1", "s1")],
        'key `station[3].name` = "gw.1": is what a port of station "gw" is called, which has 2'
        " links; rename one of the two",
    ),
    (
        [*TWO, bridge("gw.0"), leaf("s2"), link("gw.0", "s2")],
        'key `bridge[0].name` = "gw.0": is what a port of station "gw"',
    ),
    (
        [*TWO, stream("x", "gw", "s0", "s1")],
        'key `stream[0].listeners[1]` (stream "x") = "s1": is not beyond port "gw.0" of talker'
        ' "gw", by which the stream leaves, as the way to "s0" begins there; make a stream of its'
        " own for it, or choose another route",
    ),
    (
        [*TWO, stream("x", "s0", "gw"), '[sync]\nmode = "gptp"\ngrandmaster = "s0"\n'],
        'key `station[0].driver` (station "gw") = "keepon": must be "standard" with 2 links and'
        ' sync.mode = "gptp", as every other driver has a clock in each NIC and PTP sets one of a'
        ' station; choose it, one link, or sync.mode "ideal"',
    ),
    (
        [station("gw", "standard"), *TWO[1:], stream("x", "s0", "gw"),
         '[sync]\nmode = "ptp"\ngrandmaster = "gw"\n'],
        'key `station[0].name` = "gw": has 2 links, and the Sync of a grandmaster leaves by one'
        ' with sync.mode "ptp"; name another station, or use "gptp"',
    ),
    (
        [*TWO, table("fault", {"at_s": 0.01, "kind": "link-down", "node": "gw"})],
        'key `fault[0].node` = "gw": has 2 ports, and link-down is of one; name gw.0 or gw.1',
    ),
    (
        [*TWO, table("fault", {"at_s": 0.01, "kind": "clock-step", "node": "gw.0"})],
        'key `fault[0].node` = "gw.0": no such node',
    ),
    (
        [*TWO, table("fault", {"at_s": 0.01, "kind": "poll-stall", "node": "gw.2"})],
        'key `fault[0].node` = "gw.2": no such node',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "told"), REFUSED)
def test_what_ports_cannot_be_is_refused_in_one_sentence(parts: list[str], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scenario_of(*parts)
    assert str(refused.value).partition("ports.toml: ")[2].startswith(told)


def test_the_planner_names_the_port_that_a_key_does_not_fit() -> None:
    slots = "[station.keepon]\nslot_bytes = 1230\n"
    with pytest.raises(ConfigError, match=r"must be a multiple of the slot time 100000 ns"):
        gateway(stream("x", "gw", "s0", period_ns=1_010_000),
                stream("y", "gw", "s1", period_ns=1_010_000),
                rates=(10**9, 10**8), host=slots)  # fmt: skip
    with pytest.raises(ConfigError, match=r'station "gw\.1" needs a frame'):
        make_plan(gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1", advance_ns=300_000),
                          rates=(10**9, 10**8), host=slots))  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["run", "SCENARIO", "--target", "vm", "--out", "out"],
        ["run", "SCENARIO", "--target", "host", "--map", "gw=lo", "--out", "out"],
        ["apply", "PLAN", "--scenario", "SCENARIO", "--station", "s0", "--iface", "lo"],
        *(
            ["export", "SCENARIO", "--plan", "PLAN", "--format", name, "--out", "out"]
            for name in ("commands", "dot", "yang", "tsnkit", "tsntool")
        ),
    ],
)
def test_who_knows_one_port_only_refuses_before_anything_is_done(
    words: list[str], tmp_path: Path
) -> None:
    scenario, plan = tmp_path / "two.toml", tmp_path / "plan.json"
    scenario.write_text(text_of(*TWO, stream("x", "gw", "s0")))
    plan.write_text(json.dumps(planned(loading.load(scenario))))
    names = {"SCENARIO": str(scenario), "PLAN": str(plan), "out": str(tmp_path / "out")}
    done = run_keepon(*(names.get(word, word) for word in words))
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"keepon: {scenario}:")
    assert 'key `station[0].name` = "gw": has 2 links, and ' in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
