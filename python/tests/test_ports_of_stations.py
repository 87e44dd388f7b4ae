# SPDX-License-Identifier: BSD-3-Clause
"""Stations of several ports, from the scenario to the result: what leaves by which port, that all
of it arrives within its bounds, and that the checker notices plans that have ports wrong.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable

import networkx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.planner import plan as make_plan
from keepon.planner.network.ground import Ground
from keepon.planner.parameters.hardware import published_poll_cost
from keepon.planner.verify import problems
from port_cases import (
    bridge,
    gateway,
    leaf,
    left_by_port,
    link,
    planned,
    ran,
    ring,
    scenario_of,
    station,
    stream,
    table,
    text_of,
)

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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_port_that_an_earlier_plan_has_not_has_nothing_to_keep() -> None:
    """Its number was another port's: that one's slots are too short for it."""
    old = [stream("x", "gw", "s0", frame_bytes=600), stream("y", "gw", "s1", frame_bytes=100)]
    earlier = planned(gateway(*old))
    parts = [station("gw"), leaf("s3"), link("gw", "s3")]
    for number in range(2):
        parts += [leaf(f"s{number}"), bridge(f"b{number}")]
        parts += [link("gw", f"b{number}"), link(f"b{number}", f"s{number}")]
    grown = scenario_of(*parts, *old, stream("n", "gw", "s3", frame_bytes=1200))
    plan = make_plan(grown, keep=earlier)
    assert plan["status"] == "feasible" and problems(grown, plan) == []
    assert plan["kept"] == ["x", "y"]
    assert plan["stations"]["gw.0"]["slot_bytes"] >= 1200
    for before, now in (("gw.0", "gw.1"), ("gw.1", "gw.2")):
        for key in ("slot_bytes", "peer"):
            assert plan["stations"][now][key] == earlier["stations"][before][key]


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
    (
        lambda plan: plan["stations"]["gw.0"].update(peer="s1"),
        "station gw.0: it is a port to s1, and its link leads to b0",
    ),
    (
        lambda plan: plan["stations"]["gw.0"].update(driver="standard"),
        "station gw.0: driver standard is not the station's, keepon",
    ),
]


@pytest.mark.parametrize(("change", "problem"), MUTATIONS)
def test_the_checker_refuses_plans_with_ports_wrong(
    change: Callable[[Plan], object], problem: str
) -> None:
    scenario, plan = two_ports()
    assert problems(scenario, plan) == []
    change(plan)
    assert problems(scenario, plan)[0] == problem


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
    assert late["x"] == 32_000 + 8_000
    assert late["y"] == 32_000 + 8_000 + (1518 + 20) * 8_000
    swapped = copy.deepcopy(plan)
    for name, other in (("x", "y"), ("y", "x")):
        swapped["streams"][name]["release_late_ps"] = late[other]
    found = problems(scenario, swapped)
    assert "release interval of y is narrower than its driver can keep" in found


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


@pytest.mark.parametrize("more", ["", "nic = { index_read_ns = 50_000 }\n"])
def test_ports_whose_polls_take_all_cores_are_refused(more: str) -> None:
    """In the simulator no frame of some streams would be sent."""
    keepon = (
        "" if not more else "keepon = { slot_bytes = 1230, depth_slots = 25, batch_slots = 12 }\n"
    )
    advance_ns = 32_284 if not more else 2_000_000
    text = text_of(
        table("station", {"name": "gw"})
        + 'host = { base = "raspberry-pi-4", cores = 1 }\n'
        + more + keepon,
        *(leaf(f"s{i}") + link("gw", f"s{i}") for i in range(4)),
        *(stream(f"x{i}", "gw", f"s{i}", advance_ns=advance_ns) for i in range(4)),
        head="host_tail_scale = 0.0\n",
    )  # fmt: skip
    sentence = "too late to keep the wire busy" if more else "what polls of its 4 ports take; state"
    with pytest.raises(ConfigError, match=sentence):
        make_plan(loading.parse(text, "cores.toml"))


def test_the_wait_for_the_driver_counts_streams_of_the_other_ports() -> None:
    """Both are handed over at one instant."""
    scenario = gateway(stream("x", "gw", "s0", offset_ns=64), stream("y", "gw", "s1", offset_ns=64))
    plan = planned(scenario)
    waits = [
        row["quantity"]
        for port in ("gw.0", "gw.1")
        for row in plan["stations"][port]["rationale"]
        if "for the driver" in row["quantity"]
    ]
    assert len(waits) == 1
    assert "waits up to 7 us" in waits[0]


def test_launch_times_are_checked_for_each_nic_alone() -> None:
    """ETF sorts the streams of a NIC; two NICs with a stream each need no sorting."""
    short = {"advance_ns": 50_000}
    apart = [stream("x", "gw", "s0", **short), stream("y", "gw", "s1", **short)]
    planned(gateway(*apart, driver="launchtime"))
    with pytest.raises(ConfigError, match="advance_ns"):
        make_plan(gateway(apart[0], stream("y", "gw", "s0", **short), driver="launchtime"))


# -- clocks
