# SPDX-License-Identifier: BSD-3-Clause
"""What it does to frames that software contends for the cores of a host.

The schedule itself is held against a model in test_host_cpu.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000
HOST = {
    "wakeup": {"base_ns": 1_000, "median_ns": 2_000, "sigma": 0.6},
    "stack": {"base_ns": 3_000, "median_ns": 1_000, "sigma": 0.4},
    "driver": {"median_ns": 500, "sigma": 0.3},
    "timer": {"median_ns": 1_000, "sigma": 0.5},
    "poll": {"median_ns": 1_000, "sigma": 0.9},
}


class Pair:
    """Two hosts, one link; the first one talks, the second one may load it."""

    def __init__(self, cpu: dict[str, int], host: dict[str, Any] = HOST, **station: Any) -> None:
        self.sim = _sim.Simulation(3, EPOCH_NS)
        self.a = self.sim.add_station("a", {"host": host, "cpu": cpu, **station})
        self.b = self.sim.add_station("b", {})
        self.sim.add_link(self.a, self.b, GIGABIT, 50)
        self.streams: list[int] = []
        self.loads: list[int] = []

    def stream(self, name: str, offset_ns: int) -> Pair:
        spec = {"id": name, "talker": self.a, "listeners": [self.b], "routes": [[]],
                "period_ns": MS, "offset_ns": offset_ns, "frame_bytes": 200}  # fmt: skip
        self.streams.append(self.sim.add_stream(spec))
        return self

    def load(self, name: str, talker: int, listener: int, rate_bps: int) -> Pair:
        spec = {"id": name, "talker": talker, "listener": listener, "route": [],
                "rate_bps": rate_bps, "frame_bytes": 1000}  # fmt: skip
        self.loads.append(self.sim.add_load(spec))
        return self

    def run(self, ms: int = 200) -> Pair:
        self.sim.run(ms * MS)
        return self

    def column(self, name: str) -> list[np.ndarray[Any, Any]]:
        return [self.sim.frames(stream)[name] for stream in self.streams]

    @property
    def cpu(self) -> dict[str, dict[str, int]]:
        usage: dict[str, dict[str, int]] = self.sim.station(self.a)["cpu"]
        return usage


DRIVERS = [
    {"driver": "standard", "release": "etf"},
    {"driver": "standard", "release": "sleep"},
    {"driver": "launchtime", "release": "etf"},
    {"driver": "keepon", "keepon": {"slot_bytes": 1030, "batch_slots": 8}},
]


@pytest.mark.parametrize("station", DRIVERS, ids=lambda one: f"{one['driver']}")
def test_with_a_core_for_everything_nobody_waits_and_all_is_as_without_contention(station):
    free, cores = (
        Pair({"cores": cores}, **station).stream("x", 200_064).stream("y", 700_064).run()
        for cores in (0, 1024)
    )
    assert "cpu" not in free.sim.station(free.a)
    for name in ("submit_ps", "wire_ps", "verdict"):
        for one, other in zip(free.column(name), cores.column(name), strict=True):
            assert one.tolist() == other.tolist()
    assert len(free.column("wire_ps")[0]) > 180
    assert all(usage["waited_ps"] == 0 for usage in cores.cpu.values())
    assert cores.cpu["fifo"]["steps"] > 0


def test_of_two_streams_at_once_one_waits_for_the_only_core():
    def late_ps(cores: int) -> np.ndarray[Any, Any]:
        pair = Pair({"cores": cores}, {"stack": {"base_ns": 30_000}}, release="sleep")
        pair.stream("x", 200_064).stream("y", 200_064).run()
        return np.maximum(*pair.column("submit_ps")) - np.minimum(*pair.column("submit_ps"))

    assert set(late_ps(2).tolist()) == {0}
    assert set(late_ps(1).tolist()) == {30_000_000}


def test_a_stream_does_not_wait_for_a_load_but_the_load_for_it():
    quiet, loaded = (Pair({"cores": 1}, release="sleep").stream("x", 200_064) for _ in range(2))
    loaded.load("l", loaded.a, loaded.b, 400_000_000)
    wire = [pair.run().column("submit_ps")[0] for pair in (quiet, loaded)]
    usage = loaded.cpu
    assert usage["fifo"]["waited_ps"] == 0
    assert usage["normal"]["preemptions"] > 50
    assert usage["normal"]["waited_ps"] > 0
    # The draws of a stream's driver stage are other ones if a load makes some.
    assert np.abs(wire[0] - wire[1]).max() < 10_000_000


def test_received_frames_take_the_core_from_senders():
    received: list[Pair] = []
    for rate_bps in (0, 800_000_000):
        pair = Pair({"cores": 1, "irq_ns": 1_500, "softirq_ns": 4_000}, release="sleep")
        pair.stream("x", 200_064)
        if rate_bps:
            pair.load("l", pair.b, pair.a, rate_bps)
        received.append(pair.run())
    quiet, flooded = received
    frames = flooded.sim.load(flooded.loads[0])["delivered"]
    usage = flooded.cpu
    assert frames > 10_000
    assert usage["softirq"]["busy_ps"] == frames * 4_000_000
    assert 0 < usage["hard-irq"]["steps"] <= frames
    assert usage["fifo"]["preemptions"] > 50
    late = flooded.column("submit_ps")[0] - quiet.column("submit_ps")[0]
    assert late.min() >= 0
    assert late.max() >= 4_000_000
    assert quiet.cpu["fifo"]["waited_ps"] == 0


def test_a_core_that_is_busy_all_the_time_sends_what_it_can_and_no_more():
    stack_ns, driver_ns = 9_000, 1_000
    host = {"stack": {"base_ns": stack_ns}, "driver": {"base_ns": driver_ns}}
    pair = Pair({"cores": 1}, host).load("l", 0, 1, 1_600_000_000).run()
    seconds = 0.19  # loads start after 10 ms
    can = seconds * 1e9 / (stack_ns + driver_ns)
    sent = pair.sim.load(pair.loads[0])["on_wire"]
    assert can * 0.999 < sent <= can + 1
    assert sum(usage["busy_ps"] for usage in pair.cpu.values()) <= 0.2e12


def test_ptp_needs_a_core_for_its_stamps():
    def spread_ps(cpu: dict[str, int], rate_bps: int) -> float:
        sim = _sim.Simulation(1, EPOCH_NS)
        spec = {"sync": "ptp", "host": {**HOST, "rx": {"base_ns": 2_000}}, "cpu": cpu}
        master = sim.add_station("master", {**spec, "cpu": {}})
        slave = sim.add_station("slave", {**spec, "cpu_ppm": 10.0})
        sim.add_link(master, slave, GIGABIT, 50)
        if rate_bps:
            sim.add_load({"id": "l", "talker": master, "listener": slave, "route": [],
                          "rate_bps": rate_bps, "frame_bytes": 1000})  # fmt: skip
        sim.set_sync({"mode": "ptp", "domains": [(0, master)], "interval_ns": 10 * MS,
                      "delay_interval_ns": 20 * MS,
                      "servo": {"pi_proportional_scale": 0.7, "pi_integral_scale": 0.3},
                      })  # fmt: skip
        sim.run(2_000 * MS)
        clock = sim.clock(slave)
        assert clock["state"] == "locked"
        return float(np.std(clock["reported_ps"][len(clock["reported_ps"]) // 2 :]))

    busy = {"cores": 1, "irq_ns": 2_000, "softirq_ns": 20_000}
    assert spread_ps(busy, 300_000_000) > 2 * spread_ps({}, 300_000_000)


def test_firmware_takes_all_cores() -> None:
    """A stall holds up what was to run in it until its end, and nothing else."""
    plain, stalled = (Pair({"cores": 2}).stream("s", 500_000) for _ in range(2))
    stalled.sim.add_fault("cpu-stall", stalled.a, 20 * MS + 400_000, 600_000)
    for pair in (plain, stalled):
        pair.sim.run(40 * MS)
    before, after = (pair.sim.frames(pair.streams[0])["submit_ps"] for pair in (plain, stalled))
    late = np.flatnonzero(before != after)
    assert len(before) == len(after) and len(late) == 1
    assert 21 * MS * 1000 <= after[late[0]] < 21 * MS * 1000 + 20_000_000
