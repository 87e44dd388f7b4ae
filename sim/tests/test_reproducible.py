# SPDX-License-Identifier: BSD-3-Clause
"""One seed, one trace; errors and interruptions leave a simulation usable."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
HOST = {
    "wakeup": {
        "base_ns": 1_000,
        "median_ns": 2_000,
        "sigma": 0.6,
        "tail_probability": 0.01,
        "tail_mean_ns": 20_000,
    },
    "stack": {"base_ns": 3_000, "median_ns": 1_000, "sigma": 0.4},
    "driver": {"median_ns": 500, "sigma": 0.3},
    "timer": {"median_ns": 1_000, "sigma": 0.5},
    "poll": {
        "median_ns": 1_000,
        "sigma": 0.9,
        "tail_probability": 0.001,
        "tail_mean_ns": 300_000,
        "cap_ns": 900_000,
    },
}


def network(seed: int, extra: bool = False):
    """All three transmitters over one bridge, with loads: many events at equal times."""
    sim = _sim.Simulation(seed)
    bridge = sim.add_bridge("br", {})
    keepon = {"slot_bytes": 230, "batch_slots": 32, "ring_slots": 256, "depth_slots": 128}
    specs = {
        "k": {
            "driver": "keepon",
            "keepon": keepon,
            "nic_ppm": 30.0,
            "cpu_ppm": -20.0,
            "wander_ppb_per_s": 100.0,
        },
        "s": {"driver": "standard", "release": "etf"},
        "i": {"driver": "launchtime"},
    }
    nodes = {name: sim.add_station(name, {"host": HOST, **spec}) for name, spec in specs.items()}
    nodes["l"] = sim.add_station("l", {})
    if extra:
        nodes["e"] = sim.add_station("e", {"driver": "keepon", "keepon": keepon, "host": HOST})
    for node in nodes.values():
        sim.add_link(node, bridge, GIGABIT, 50)
    flows = [
        sim.add_stream(
            {
                "id": name,
                "talker": nodes[name],
                "listeners": [nodes["l"]],
                "routes": [[bridge]],
                "period_ns": 500_000,
                "offset_ns": 100_064,
                "frame_bytes": 200,
                "queue": 5,
            }
        )
        for name in specs
    ]
    sim.add_load(
        {
            "id": "bg",
            "talker": nodes["s"],
            "listener": nodes["k"],
            "route": [bridge],
            "rate_bps": 10**8,
            "frame_bytes": 1500,
        }
    )
    return sim, flows


def test_equal_seeds_give_equal_traces_also_in_between():
    one, _ = network(11)
    one.run(300 * MS)
    two, _ = network(11)
    three, _ = network(12)
    for ms in range(0, 301, 7):
        two.run(ms * MS)
        three.run(ms * MS)
    two.run(300 * MS)
    three.run(300 * MS)
    assert one.trace_hash() == two.trace_hash()
    assert one.trace_count == two.trace_count > 5000
    assert one.trace_hash() != three.trace_hash()


def test_reading_results_does_not_change_the_run():
    one, _ = network(13)
    one.run(200 * MS)
    two, flows = network(13)
    for ms in range(0, 201, 5):
        two.run(ms * MS)
        for flow in flows:
            two.frames(flow)
            two.stream(flow)
        for node in range(1, 5):
            two.station(node)
        two.bridge(0)
    assert one.trace_hash() == two.trace_hash()


def test_adding_a_station_leaves_the_others_draws_alone():
    (one, flows), (two, _) = network(14), network(14, extra=True)
    one.run(200 * MS)
    two.run(200 * MS)
    for flow in flows:
        assert (one.frames(flow)["submit_ps"] == two.frames(flow)["submit_ps"]).all()


def test_equal_stations_draw_different_latencies():
    sim = _sim.Simulation(19)
    bridge = sim.add_bridge("br", {})
    nodes = [sim.add_station(name, {"host": HOST}) for name in ("a", "b", "l")]
    for node in nodes:
        sim.add_link(node, bridge, GIGABIT, 50)
    spec = {"listeners": [nodes[2]], "routes": [[bridge]], "period_ns": MS, "frame_bytes": 64}
    one, two = (sim.add_stream({**spec, "id": str(node), "talker": node}) for node in nodes[:2])
    sim.run(500 * MS)
    late = [sim.frames(flow)["submit_ps"][:480] % (MS * 1000) for flow in (one, two)]
    assert abs(np.corrcoef(late)[0, 1]) < 0.2


@pytest.mark.slow
def test_keyboard_interrupt_stops_soon_and_leaves_results():
    sim, flows = network(15)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        called_s: list[float] = []

        def tell():
            called_s.append(time.process_time())
            signal.raise_signal(signal.SIGINT)

        timer = threading.Timer(0.3, tell)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            sim.run(10_000_000 * MS)
        stopped_s = time.process_time()
        timer.join()
    finally:
        signal.signal(signal.SIGINT, old)
    assert stopped_s - called_s[0] < 1
    now = sim.now_ns
    assert MS < now < 10_000_000 * MS
    summary = sim.stream(flows[0])
    assert summary["submitted"] == sum(summary["verdicts"].values()) + summary["pending"]
    again, _ = network(15)
    again.run(now + 50 * MS)
    sim.run(now + 50 * MS)
    assert again.trace_hash() == sim.trace_hash()


def test_progress_is_reported_and_its_errors_come_through():
    sim, _ = network(16)
    seen: list[int] = []
    assert sim.run(1500 * MS, seen.append)
    assert seen == sorted(seen)

    def refuse(now_ns: int) -> None:
        raise LookupError(str(now_ns))

    with pytest.raises(LookupError):
        sim.run(10_000_000 * MS, refuse)
    sim.run(sim.now_ns + MS)


def test_progress_cannot_touch_the_running_simulation():
    sim, flows = network(17)
    with pytest.raises(RuntimeError, match="is running"):
        sim.run(10_000_000 * MS, lambda now_ns: sim.stream(flows[0]))


def test_frames_have_the_shapes_they_say():
    sim, flows = network(18)
    sim.run(50 * MS)
    frames = sim.frames(flows[0])
    count = len(frames["seq"])
    for key in ("seq", "txtime_ns", "submit_ps", "verdict", "wire_ps"):
        assert frames[key].shape == (count,)
        assert frames[key].dtype == np.int64
    for key in ("arrival_ps", "stamp_ns"):
        assert frames[key].shape == (1, count)
    assert (np.diff(frames["txtime_ns"]) == 500_000).all()
