# SPDX-License-Identifier: BSD-3-Clause
"""Slots on the grid: the measured error and lock time never exceed what the core computes for its
configuration.

Measured by the simulator from the true wire position and the clock law in force; the bounds are
kpn_pacer_bounds(). Rates and times of day are changed as a servo would, by faults of a free-running
station.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
US = 1_000
MS = 1_000_000
RATE_PPB = 100_000
EPOCH_NS = 1_700_000_000_000_000_000

RATES = [100_000_000, GIGABIT, 2_500_000_000]
SLOTS = [64, 300, 1230, 1518]
RING = 256
BATCH = 16


def keepon_of(slot_bytes: int, depth: str) -> dict[str, Any]:
    """A configuration for the slot length; of 64-byte slots, which no frame can share, some are
    reserved for trims.
    """
    spec: dict[str, Any] = {
        "slot_bytes": slot_bytes,
        "ring_slots": RING,
        "batch_slots": BATCH,
        "depth_slots": BATCH if depth == "batch" else RING - 1,
        "trim_down_bytes": 4,
        "trim_up_bytes": 4,
        "partition": [0xFFFF] * 16,
        "poll_overhead_ns": 1000,
        "classes": {7: ("reschedule", "up")},
    }
    if slot_bytes == 64:
        spec |= {"trim": "reserved", "partition": [0] + [0xFFFF] * 15}
    return spec


class Rig:
    """A station whose clock is disturbed, saturated with best effort of full slots, beside a silent
    peer.
    """

    def __init__(self, rate_bps: int, slot_bytes: int, depth: str, bound_ps: int) -> None:
        keepon = keepon_of(slot_bytes, depth)
        slot_ns = (slot_bytes + 20) * 8 * 10**9 // rate_bps
        nic = {
            "prefetch_slots": 2,
            "fetch_ns": 100,
            "restart_ns": 300,
            "index_read_ns": 200,
            "reserved_slots": 1,
        }
        nic |= {"placeholder_bytes_min": 60, "frame_bytes_max": 1600}
        self.sim = _sim.Simulation(slot_bytes, EPOCH_NS)
        self.a = self.sim.add_station(
            "a",
            {
                "driver": "keepon",
                "sync": "none",
                "nic_ppm": 30.0,
                "cpu_ppm": -20.0,
                "nic": nic,
                "keepon": keepon,
                "probe": {"boundaries": True, "boundary_bound_ps": bound_ps},
            },
        )
        self.b = self.sim.add_station("b", {})
        self.sim.add_link(self.a, self.b, rate_bps, 50)
        full = slot_bytes if slot_bytes == 64 else slot_bytes - keepon["trim_down_bytes"]
        self.load = self.sim.add_load(
            {
                "id": "bg",
                "talker": self.a,
                "listener": self.b,
                "kind": "saturate",
                "frame_bytes": full,
                "tc": 7,
                "window_frames": 200,
                "start_ns": 0,
            }
        )
        self.slot_ns = slot_ns


def bounds_of(rate_bps: int, slot_bytes: int, depth: str, change_ppb: int) -> dict[str, int]:
    rig = Rig(rate_bps, slot_bytes, depth, 0)
    return rig.sim.boundary_bounds(rig.a, RATE_PPB, change_ppb)


@pytest.mark.parametrize("depth", ["batch", "ring - 1"])
@pytest.mark.parametrize("slot_bytes", SLOTS)
@pytest.mark.parametrize("rate_bps", RATES, ids=["100M", "1G", "2.5G"])
def test_no_locked_slot_is_further_from_the_grid_than_promised_while_the_rate_steps(
    rate_bps, slot_bytes, depth
):
    bound_ps = bounds_of(rate_bps, slot_bytes, depth, 2 * RATE_PPB)["boundary_error_ps"]
    rig = Rig(rate_bps, slot_bytes, depth, bound_ps)
    every_ns = 700 * rig.slot_ns
    for step, ppb in enumerate([RATE_PPB, -RATE_PPB, 1, -37_000, 60_000, 0, RATE_PPB, -RATE_PPB]):
        rig.sim.add_fault("rate-step", rig.a, (step + 2) * every_ns, ppb)
    rig.sim.run(12 * every_ns)
    errors = rig.sim.boundary_errors(rig.a)
    assert errors["violations"] == 0, errors
    assert errors["locked_slots"] > 7000
    assert errors["skipped_slots"] == 0
    # Something was there to be corrected: without trims 100 ppm over 700 slots would be far out.
    assert rig.sim.station(rig.a)["counters"]["trims"] > 20
    if depth != "batch":
        assert rig.sim.load(rig.load)["sent"] > 5000


STEPS_NS = [
    1,
    17,
    1_003,
    77_777,
    1_000_003,
    -1,
    -950,
    -123_456_789,
    10_000_000_001,
    -10_000_000_007,
]


@pytest.mark.parametrize("depth", ["batch", "ring - 1"])
@pytest.mark.parametrize("slot_bytes", SLOTS)
@pytest.mark.parametrize("rate_bps", RATES, ids=["100M", "1G", "2.5G"])
def test_after_a_step_of_the_clock_the_grid_is_reached_in_the_promised_time(
    rate_bps, slot_bytes, depth
):
    bounds = bounds_of(rate_bps, slot_bytes, depth, 0)
    rig = Rig(rate_bps, slot_bytes, depth, bounds["boundary_error_ps"])
    every_ns = 2 * bounds["lock_ns"] + 300 * rig.slot_ns
    for count, step_ns in enumerate(STEPS_NS):
        rig.sim.add_fault("clock-step", rig.a, (count + 1) * every_ns, step_ns)
    rig.sim.run((len(STEPS_NS) + 2) * every_ns)
    errors = rig.sim.boundary_errors(rig.a)
    assert errors["violations"] == 0, errors
    assert errors["locked_slots"] > 100 * len(STEPS_NS)
    steps = errors["steps"]
    assert len(steps) >= len(STEPS_NS)
    for step in steps:
        took_ns = (step[1] - step[0]) / 1000
        assert took_ns <= bounds["lock_ns"], (step, bounds)
    # It did take time: a step of most of a slot cannot be gone within one.
    assert max(last - at for at, last in steps) > rig.slot_ns * 1000


def test_the_promised_error_grows_with_what_changes_and_what_cannot():
    quiet = bounds_of(GIGABIT, 1230, "batch", 0)["boundary_error_ps"]
    assert 4_000 <= quiet < 4_100
    errors = [
        bounds_of(GIGABIT, slot, "batch", 2 * RATE_PPB)["boundary_error_ps"] for slot in SLOTS[1:]
    ]
    assert all(shorter < longer for shorter, longer in pairwise(errors))
