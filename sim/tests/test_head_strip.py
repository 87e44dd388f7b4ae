# SPDX-License-Identifier: BSD-3-Clause
"""The observation strip: it always contains the wire, is narrow when polls are dithered, and knows
when it is broken.

Each configuration is sampled a million times at random moments (docs/model.md). The stated bounds
on drift and wander are those the oscillators keep, unless a test says otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
SAMPLES = 1_000_000
READ_NS = 200
EPOCH_NS = 1_700_000_000_000_000_000
WANDER_PPB_PER_S = 20


def station(
    slot_bytes: int, poll_us: int, *, dither: bool, nic_ppm: float, cpu_ppm: float
) -> dict[str, Any]:
    """A station that polls about every `poll_us`: the batch is that many slots at 1 Gb/s."""
    slot_us = (slot_bytes + 20) * 0.008
    batch = max(1, round(poll_us / slot_us))
    ring = min(4096, max(256, 4 * batch))
    spec: dict[str, Any] = {
        "driver": "keepon",
        "sync": "none",
        "nic_ppm": nic_ppm,
        "cpu_ppm": cpu_ppm,
        "wander_ppb_per_s": float(WANDER_PPB_PER_S) / 2,
        "wander_ppb": 5_000.0,
        "nic": {
            "prefetch_slots": 3,
            "index_read_ns": READ_NS,
            "reserved_slots": 1,
            "placeholder_bytes_min": 60,
            "frame_bytes_max": 1600,
        },
        "keepon": {
            "slot_bytes": slot_bytes,
            "ring_slots": ring,
            "batch_slots": batch,
            "depth_slots": 2 * batch + 40,
            "dither": dither,
            "drift_ppb_max": 215_000,
            "wander_ppb_per_s_max": WANDER_PPB_PER_S,
        },
    }
    if slot_bytes == 64:
        spec["keepon"] |= {
            "trim": "reserved",
            "trim_down_bytes": 4,
            "trim_up_bytes": 4,
            "partition": [0] + [1] * 7,
        }
    return spec


def sampled(
    spec: dict[str, Any], *, settle_ms: int, samples: int = SAMPLES, seed: int = 5
) -> dict[str, Any]:
    """Head samples after the strip has settled, every 10 us or so."""
    sim = _sim.Simulation(seed, EPOCH_NS)
    interval_ns = 10_000
    settle = settle_ms * MS // interval_ns
    spec["probe"] = {"head_interval_ns": interval_ns, "head_samples_max": settle + samples}
    a = sim.add_station("a", spec)
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 50)
    sim.run((settle + samples) * interval_ns * 105 // 100)
    heads = sim.head_check(a)
    heads["settled_ps"] = heads["widths_ps"][settle:]
    heads["counters"] = sim.station(a)["counters"]
    return heads


CLOCKS = [(0.0, 0.0), (100.0, -100.0), (-100.0, 60.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("nic_ppm", "cpu_ppm"), CLOCKS)
@pytest.mark.parametrize("dither", [True, False])
@pytest.mark.parametrize("poll_us", [20, 100, 500])
def test_the_wire_is_always_within_the_strip(poll_us, dither, nic_ppm, cpu_ppm):
    heads = sampled(
        station(1230, poll_us, dither=dither, nic_ppm=nic_ppm, cpu_ppm=cpu_ppm), settle_ms=0
    )
    assert heads["samples"] >= SAMPLES
    assert heads["violations"] == 0
    assert heads["seq_violations"] == 0
    assert heads["invalid"] == 0
    assert heads["counters"]["slips"] == 0


@pytest.mark.parametrize("tick_ns", [19, 52, 1000])
def test_a_coarse_cpu_counter_neither_breaks_the_strip_nor_makes_slips(tick_ns):
    spec = station(1230, 100, dither=True, nic_ppm=100.0, cpu_ppm=-100.0) | {"cpu_tick_ns": tick_ns}
    heads = sampled(spec, settle_ms=0, samples=200_000)
    assert heads["samples"] >= 200_000
    assert heads["violations"] == heads["seq_violations"] == heads["invalid"] == 0
    assert heads["counters"]["slips"] == heads["counters"]["suspected_underruns"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("poll_us", [20, 100, 500])
@pytest.mark.parametrize("slot_bytes", [64, 1230, 1518])
def test_with_dither_the_strip_is_narrow(slot_bytes, poll_us):
    heads = sampled(
        station(slot_bytes, poll_us, dither=True, nic_ppm=80.0, cpu_ppm=-40.0),
        settle_ms=20_000,
        samples=200_000,
    )
    assert heads["violations"] == heads["seq_violations"] == heads["invalid"] == 0
    p99_ps = np.percentile(heads["settled_ps"], 99)
    slot_ps = (slot_bytes + 20) * 8000
    assert p99_ps < 0.05 * slot_ps + READ_NS * 1000


def test_without_dither_some_phases_leave_the_strip_wide():
    """What dither is for: polls at one phase of the slot see the staircase from one side only."""
    spec = station(1230, 100, dither=False, nic_ppm=0.0, cpu_ppm=0.0)
    spec |= {"wander_ppb_per_s": 0.0, "wander_ppb": 0.0}
    fixed = sampled(dict(spec), settle_ms=200, samples=50_000)
    spec["keepon"]["dither"] = True
    dithered = sampled(spec, settle_ms=200, samples=50_000)
    assert np.median(fixed["settled_ps"]) > 2 * np.median(dithered["settled_ps"])


@pytest.mark.parametrize("excess_ppm", [300.0, -300.0])
def test_drift_beyond_the_stated_bound_is_noticed(excess_ppm):
    spec = station(1230, 100, dither=True, nic_ppm=excess_ppm, cpu_ppm=0.0)
    sim = _sim.Simulation(2, EPOCH_NS)
    a = sim.add_station("a", spec)
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 50)
    sim.run(500 * MS)
    state = sim.station(a)
    assert state["counters"]["slips"] > 0
    assert state["clock"]["synchronised"] is False
