# SPDX-License-Identifier: BSD-3-Clause
"""Every wrong value is refused in one sentence that names it, and the simulation stays as
it was.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from keepon import _sim
from keepon_host.link.options import OPTIONS

GIGABIT = 1_000_000_000

STATIONS = [
    ({"driver": "fast"}, "driver"),
    ({"driver": 3}, "driver"),
    ({"release": "never"}, "release"),
    ({"sync": "ntp"}, "sync"),
    ({"colour": 1}, "colour"),
    ({"host": {"nap": {}}}, "nap"),
    ({"host": {"wakeup": {"base_ns": -1}}}, "base_ns"),
    ({"host": {"wakeup": {"tail_probability": 1.5}}}, "tail_probability"),
    ({"host": {"wakeup": 3}}, "wakeup"),
    ({"cpu": {"cores": 1025}}, "cores"),
    ({"cpu": {"cores": 1, "irq_ns": -1}}, "irq_ns"),
    ({"cpu": {"softirq_ns": 1.5}}, "softirq_ns"),
    ({"cpu": {"threads": 1}}, "threads"),
    ({"occupancy_ns": True}, "occupancy_ns"),
    ({"nic_ppm": 1001}, "nic_ppm"),
    ({"nic_ppm": "fast"}, "nic_ppm"),
    ({"nic_ppm": float("nan")}, "nic_ppm"),
    ({"stamp_resolution_ns": 0}, "stamp_resolution_ns"),
    ({"stamp_resolution_ns": 2**70}, "stamp_resolution_ns"),
    ({"cpu_tick_ns": 0}, "cpu_tick_ns"),
    ({"cpu_tick_ns": 1001}, "cpu_tick_ns"),
    ({"nic": {"fetch_ns": 0}}, "fetch_ns"),
    ({"nic": {"index": "both"}}, "index"),
    ({"nic": {"index_lag_ns_min": 5, "index_lag_ns_max": 4}}, "index_lag_ns_max"),
    ({"nic": {"persistent": 1}}, "persistent"),
    ({"qdisc": {"queues": [0] * 16, "leaves": [{"kind": "guard", "rate_bps": 9}]}}, "rate_bps"),
    ({"driver": "keepon", "keepon": {"slot_bytes": 230, "mode": "fast"}}, "mode"),
    ({"driver": "keepon", "keepon": {"slot_bytes": 230, "partition": [1, 65536]}}, "partition"),
    ({"driver": "keepon", "keepon": {"slot_bytes": 230, "partition": []}}, "partition"),
    (
        {"driver": "keepon", "keepon": {"slot_bytes": 230, "classes": {16: ("strict", "up")}}},
        "class",
    ),
    (
        {"driver": "keepon", "keepon": {"slot_bytes": 230, "classes": {1: ("strict", "down")}}},
        "round",
    ),
]


@pytest.mark.parametrize(("spec", "key"), STATIONS)
def test_wrong_station_is_named_and_not_added(spec, key):
    sim = _sim.Simulation(1)
    with pytest.raises(ValueError, match=key) as caught:
        sim.add_station("a", spec)
    assert 'station "a"' in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sim.add_station("a", {}) == 0


def test_attributes_have_types_and_ranges():
    spec = _sim.StationSpec(nic=_sim.NicSpec(fetch_ns=900))
    spec.nic.fetch_ns = 1_000
    assert spec.nic.fetch_ns == 1_000
    with pytest.raises(ValueError, match="fetch_ns = 0 is not within 1 to 1000000"):
        spec.nic.fetch_ns = 0
    with pytest.raises(TypeError):
        spec.nic.fetch_ns = True
    with pytest.raises(AttributeError, match="colour"):
        spec.colour = 1
    with pytest.raises(ValueError, match=r'NicSpec: index = "both" is not one of fetch\|done'):
        _sim.NicSpec(index="both")


def test_the_stub_has_the_attributes_of_every_class():
    stub = Path(_sim.__file__).parent / "_sim.pyi"
    if not stub.exists():  # an editable install
        stub = Path(__file__).parents[2] / "python" / "src" / "keepon" / "_sim.pyi"
    rows = {option.field for option in OPTIONS}
    for node in ast.parse(stub.read_text()).body:
        if not isinstance(node, ast.ClassDef):
            continue
        named = {
            entry.target.id if isinstance(entry, ast.AnnAssign) else entry.name
            for entry in node.body
            if isinstance(entry, ast.AnnAssign | ast.FunctionDef)
        }
        known = {name for name in dir(getattr(_sim, node.name)) if name[0] != "_"}
        ignored = {"__init__", *(rows if node.name == "KeeponSpec" else ())}
        assert named - ignored == known - ignored, node.name


CONFIGS = [
    ({}, "slot_bytes"),
    ({"slot_bytes": 63}, "slot_bytes"),
    ({"slot_bytes": 1523}, "slot_bytes"),
    ({"slot_bytes": 230, "ring_slots": 4}, "ring_slots"),
    ({"slot_bytes": 230, "batch_slots": 0}, "batch_slots"),
    ({"slot_bytes": 230, "batch_slots": 8, "depth_slots": 100_000}, "depth_slots"),
    ({"slot_bytes": 230, "trim_down_bytes": 0}, "trim_down_bytes"),
]


@pytest.mark.parametrize(("keepon", "field"), CONFIGS)
def test_what_the_core_refuses_is_said_with_value_and_range(keepon, field):
    sim = _sim.Simulation(1)
    a = sim.add_station("a", {"driver": "keepon", "keepon": keepon})
    b = sim.add_station("b", {})
    with pytest.raises(
        ValueError, match=rf"station a: keepon\.{field} = \d+: .*\(allowed \d+ to \d+\)"
    ):
        sim.add_link(a, b, GIGABIT, 0)
    # Nothing was linked: the same refusal again, not "has a link already".
    with pytest.raises(ValueError, match=field):
        sim.add_link(a, b, GIGABIT, 0)
    c = sim.add_station("c", {})
    sim.add_link(b, c, GIGABIT, 0)


@pytest.fixture
def pair():
    sim = _sim.Simulation(1)
    a, b, c = (sim.add_station(name, {}) for name in "abc")
    bridge = sim.add_bridge("br", {})
    for node in (a, b):
        sim.add_link(node, bridge, GIGABIT, 0)
    return sim, a, b, c, bridge


STREAMS = [
    ({"talker": 9}, "talker"),
    ({"talker": 3}, "no station"),
    ({"talker": 2}, "has no link"),
    ({"listeners": []}, "listeners"),
    ({"listeners": [0]}, "talker and listener"),
    ({"listeners": [1, 1], "routes": [[3], [3]]}, "twice"),
    ({"listeners": [2]}, "no link"),
    ({"routes": [[]]}, "no link"),
    ({"routes": [[3, 3]]}, "twice"),
    ({"routes": [[1]]}, "no bridge"),
    ({"routes": [[3], [3]]}, "routes"),
    ({"routes": 5}, "routes"),
    ({"period_ns": 0}, "period_ns"),
    ({"offset_ns": 1_000_000}, "offset_ns"),
    ({"offset_ns": -1}, "offset_ns"),
    ({"offset_ns": 5, "turns_ns": [6, 5]}, "turns_ns"),
    ({"offset_ns": 5, "turns_ns": [5, 2_000_000]}, "turns_ns"),
    ({"offset_ns": 5, "turns_ns": [5, -1]}, "turns_ns"),
    ({"offset_ns": 5, "turns_ns": [5, 5], "cycle_ns": 3_000_000}, "cycle_ns"),
    ({"frame_bytes": 63}, "frame_bytes"),
    ({"frame_bytes": 9_019}, "frame_bytes"),
    ({"tc": 16}, "tc"),
    ({"queue": 8}, "queue"),
    ({"advance_ns": 10_000_001}, "advance_ns"),
    ({"id": 5}, "id"),
    ({"speed": 5}, "speed"),
]


@pytest.mark.parametrize(("change", "words"), STREAMS)
def test_wrong_stream_is_named_and_not_added(pair, change, words):
    sim, a, b, _, bridge = pair
    spec = {
        "id": "x",
        "talker": a,
        "listeners": [b],
        "routes": [[bridge]],
        "period_ns": 1_000_000,
        "frame_bytes": 64,
    }
    with pytest.raises(ValueError, match=words):
        sim.add_stream({**spec, **change})
    assert sim.add_stream(spec) == 0
    sim.run(30_000_000)
    assert sim.stream(0)["delivered"] >= 19


LOADS = [
    ({"rate_bps": 0}, "rate_bps"),
    ({"kind": "sctp"}, "kind"),
    ({"kind": "tcp", "congestion": "vegas"}, '"cubic" "reno"'),
    ({"kind": "tcp", "congestion": 1}, "congestion"),
    ({"kind": "tcp", "frame_bytes": 70}, "not above 70"),
    ({"frame_bytes": 1}, "frame_bytes"),
    ({"listener": 0}, "talker"),
]


@pytest.mark.parametrize(("change", "words"), LOADS)
def test_wrong_load_is_named(pair, change, words):
    sim, a, b, _, bridge = pair
    spec = {"id": "x", "talker": a, "listener": b, "route": [bridge], "rate_bps": 10**8}
    with pytest.raises(ValueError, match=words):
        sim.add_load({**spec, **change})


@pytest.mark.parametrize("window", [(-1, 5), (5, 5), (6, 5), (0, 2**62)])
def test_a_window_that_is_none_is_refused(pair, window):
    sim = pair[0]
    with pytest.raises(ValueError, match=r"window = .*must begin at 0 or later and end after it"):
        sim.set_window(*window)
    sim.run(1)
    with pytest.raises(ValueError, match="has started"):
        sim.set_window(0, 1)


@pytest.mark.parametrize("wrong", [(-1, 5, 9), (5, 5, 9), (0, 2**62, 9), (0, 5, -1)])
def test_a_capture_that_is_none_is_refused(pair, wrong):
    sim = pair[0]
    with pytest.raises(ValueError, match=r"capture of .* must begin at 0 or later and end after"):
        sim.set_capture(*wrong)
    sim.set_capture(0, 1000, 0)
    sim.run(1)
    found = sim.captured()
    assert len(found["seq"]) == 0
    with pytest.raises(ValueError, match="has started"):
        sim.set_capture(0, 1, 1)


def test_wrong_links_gates_faults_and_names_are_refused(pair):
    sim, a, _, c, bridge = pair
    refused = [
        (lambda: sim.add_station("a", {}), "taken"),
        (lambda: sim.add_station("", {}), "empty"),
        (lambda: sim.add_bridge("br2", {"processing_ns": -1}), "processing_ns"),
        (lambda: sim.add_link(a, a, GIGABIT, 0), "itself"),
        (lambda: sim.add_link(a, bridge, GIGABIT, 0), "exists already"),
        (lambda: sim.add_link(c, bridge, 1_000_000_007, 0), "rate_bps"),
        (lambda: sim.add_link(c, bridge, 10**12, 0), "rate_bps"),
        (lambda: sim.add_link(c, bridge, GIGABIT, -1), "propagation_ns"),
        (lambda: sim.add_link(c, 77, GIGABIT, 0), "77"),
        (lambda: sim.set_gates(a, bridge, 0, [(1, 1)]), "no bridge"),
        (lambda: sim.set_gates(bridge, c, 0, [(1, 1)]), "no such link"),
        (lambda: sim.set_gates(bridge, a, 0, []), "entries"),
        (lambda: sim.set_gates(bridge, a, 0, [(512, 1)]), "mask"),
        (lambda: sim.set_gates(bridge, a, 0, [(1, 0)]), "interval"),
        (lambda: sim.set_preemption(bridge, c, 1), "no such link"),
        (lambda: sim.set_preemption(bridge, a, 255), "some, and not all"),
        (lambda: sim.set_preemption(bridge, a, 1, 100), "64, 128, 192 or 256"),
        (lambda: sim.set_gates(bridge, a, -1, [(1, 1)]), "base_ns"),
        (lambda: sim.add_fault("fire", a, 0, 0), "kind"),
        (lambda: sim.add_fault("poll-stall", a, 0, 1), "keepon"),
        (lambda: sim.add_fault("cpu-stall", a, 0, 1), "needs cores"),
        (lambda: sim.add_fault("link-down", bridge, 0, 1, 99), "no neighbour"),
        (lambda: sim.add_fault("wire-pause", bridge, 0, 1), "no station"),
        (lambda: sim.add_fault("link-down", a, -1, 1), "at_ns"),
        (lambda: sim.add_fault("link-down", a, 0, -1), "value_ns"),
        (lambda: sim.add_fault("wire-pause", a, 0, -1), 'fault on "a": value_ns = -1 is negative'),
        (
            lambda: sim.add_fault("wire-pause", a, 0, 10**12 + 1),
            "1000000000001 ns is not within 0 to 1000000000000",
        ),
        (lambda: sim.add_fault("wire-pause", a, -1, 1), "at_ns"),
        (lambda: sim.add_fault("wire-pause", 77, 0, 1), "77"),
        (lambda: sim.add_fault("wire-pause", bridge, 0, 1), "no station"),
        (lambda: sim.add_fault("wire-pause", c, 0, 1), "no station with a link"),
        (lambda: sim.run(-1), "until_ns"),
        (lambda: sim.station(c), "no station with a link"),
        (lambda: sim.bridge(a), "no bridge"),
        (lambda: sim.frames(0), "does not exist"),
        (lambda: sim.head_check(a), "another driver"),
        (lambda: _sim.Simulation(1, -1), "epoch_ns"),
    ]
    for call, words in refused:
        with pytest.raises(ValueError, match=words):
            call()
    sim.run(1)
    with pytest.raises(ValueError, match="has started"):
        sim.add_station("late", {})
