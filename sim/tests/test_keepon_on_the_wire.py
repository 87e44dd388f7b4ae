# SPDX-License-Identifier: BSD-3-Clause
"""The real core on the simulated NIC: frames leave whole, once, in their slots; none is claimed
falsely.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000

SLOTTED = [
    pytest.param(GIGABIT, 1230, 8, id="1G-10us"),
    pytest.param(GIGABIT, 230, 64, id="1G-2us"),
    pytest.param(GIGABIT, 605, 16, id="1G-5us"),
    pytest.param(100_000_000, 605, 4, id="100M-50us"),
    pytest.param(2_500_000_000, 1230, 8, id="2.5G-4us"),
]


@pytest.mark.parametrize(("rate_bps", "slot_bytes", "batch"), SLOTTED)
def test_every_frame_leaves_at_its_txtime_on_ideal_clocks(
    link, accounts, rate_bps, slot_bytes, batch
):
    run = link(
        {
            "keepon": {
                "slot_bytes": slot_bytes,
                "batch_slots": batch,
                "ring_slots": 512,
                "depth_slots": 256,
            }
        },
        rate_bps=rate_bps,
        stream={"advance_ns": 5 * batch * 10_000 if rate_bps < GIGABIT else 150_000},
    ).run(300)
    accounts(run.summary)
    assert run.summary["verdicts"]["on_time"] >= 285
    assert run.summary["submitted"] - run.summary["pending"] == run.summary["verdicts"]["on_time"]
    # Half a start quantum of the grid, half a nanosecond of setting the clock.
    byte_ps = 8 * 10**12 // rate_bps
    assert np.abs(run.release_errors_ps()).max() <= byte_ps // 2 + 500
    assert run.station["nic"]["idle_ps"] == 0


NICS = {
    "done index": {},
    "lagging index": {"index_lag_ns_min": 100, "index_lag_ns_max": 1500},
    "fetch index": {"index": "fetch", "index_lag_ns_max": 300},
    "write-back": {"persistent": False},
    "prefetch 0": {"prefetch_slots": 0, "fetch_ns": 1, "restart_ns": 500},
    "prefetch 6": {"prefetch_slots": 6},
    "short fifo": {"prefetch_slots": 8, "fifo_bytes": 5000},
    "slow read": {"index_read_ns": 3000},
}


@pytest.mark.parametrize("nic", NICS)
@pytest.mark.parametrize("ppm", [-100.0, 0.0, 37.5])
def test_frames_are_whole_and_in_their_slots_on_any_nic(link, accounts, nic, ppm):
    talker = {"nic": NICS[nic], "nic_ppm": ppm, "cpu_ppm": -ppm / 2, "wander_ppb_per_s": 50.0}
    run = link(talker, stream={"advance_ns": 300_000}).run(400)
    accounts(run.summary)
    if nic == "prefetch 0":  # it cannot keep the wire busy: nothing is promised but the accounts
        return
    assert run.summary["verdicts"]["on_time"] >= 385, run.summary["verdicts"]
    # Half a start quantum, half a ns of the first setting, and what 50 ppb/s do in one
    # synchronisation interval.
    assert np.abs(run.release_errors_ps()).max() <= 4000 + 500 + 2000
    assert run.station["counters"]["slips"] == 0


def test_a_driver_that_believes_in_too_little_prefetch_claims_frames_it_never_sent(link):
    """The mutation "horizon - 1": the simulator must be able to see it."""
    # Handed over when its slot is the sixth after the one on the wire: fetched already, and nobody
    # says so.
    stream = {"advance_ns": 52_000}
    lying = link(
        {"nic": {"prefetch_slots": 6}, "probe": {"declared_prefetch_slots": 4}}, stream=stream
    ).run(100)
    assert lying.summary["ghosts"] > 80
    honest = link({"nic": {"prefetch_slots": 6}}, stream=stream).run(100)
    assert honest.summary["ghosts"] == 0
    assert honest.summary["verdicts"]["late"] > 80


def test_an_index_one_too_high_loses_frames(link):
    """The mutation "index + 1"."""
    run = link({"probe": {"index_offset_slots": 1, "head_interval_ns": 20_000}}).run(100)
    heads = run.sim.head_check(run.a)
    assert heads["violations"] > 0 or heads["invalid"] > heads["samples"] // 2


def test_placeholders_die_at_the_first_hop():
    """A4: nothing but frames gets through, and every other slot is counted."""
    sim = _sim.Simulation(3)
    a = sim.add_station("a", {"driver": "keepon", "keepon": {"slot_bytes": 230, "batch_slots": 16}})
    b = sim.add_station("b", {})
    bridge = sim.add_bridge("br", {})
    sim.add_link(a, bridge, GIGABIT, 50)
    sim.add_link(bridge, b, GIGABIT, 50)
    flow = sim.add_stream(
        {
            "id": "x",
            "talker": a,
            "listeners": [b],
            "routes": [[bridge]],
            "period_ns": MS,
            "frame_bytes": 200,
        }
    )
    sim.run(200 * MS)
    ports = sim.bridge(bridge)["ports"]
    assert ports[a]["received"] == sim.stream(flow)["delivered"] == ports[b]["forwarded"]
    assert ports[b]["received"] == 0
    # What leaves the bridge are the bytes of frames, padded to the slot, and the listener knows all
    # of them.
    assert ports[b]["forwarded_bytes"] == 230 * ports[b]["forwarded"]
    assert sim.station(b)["foreign_frames"] == 0
    nic = sim.station(a)["nic"]
    # The core counts slots by the index, the NIC what it fetched: they differ by what is in the
    # FIFO at most.
    fetched = nic["placeholders"] + nic["frames"]
    assert 0 <= fetched - sim.station(a)["counters"]["slots_completed"] <= 16
    # The wire was never idle: slots of 2 us for 200 ms, less the restart at the beginning; some are
    # in the FIFO.
    assert abs(nic["placeholders"] + nic["frames"] - 100_000) <= 40
    assert nic["underruns"] == 0


@pytest.mark.parametrize("share", [2, 4, 5])
def test_throughput_and_spacing_are_the_share_of_data_slots(share):
    """A5, A6: one slot in `share` carries data, so throughput is that share and frames are `share`
    slots apart.
    """
    sim = _sim.Simulation(share)
    partition = [2] + [4] * (share - 1)
    a = sim.add_station(
        "a",
        {
            "driver": "keepon",
            "keepon": {"slot_bytes": 1230, "batch_slots": 8, "partition": partition},
        },
    )
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    load = sim.add_load(
        {
            "id": "bg",
            "talker": a,
            "listener": b,
            "kind": "saturate",
            "frame_bytes": 1200,
            "tc": 1,
            "window_frames": 128,
        }
    )
    sim.run(50 * MS)
    before = sim.load(load)["delivered"]
    sim.run(450 * MS)
    sent = sim.load(load)["delivered"] - before
    assert abs(sent - 40_000 / share) <= 1 + share
    assert sim.load(load)["wrong_bytes"] == sim.load(load)["torn"] == 0


@pytest.mark.parametrize("batch", [1, 4, 16, 64])
@pytest.mark.parametrize("late_us", [0, 10, 100, 1000])
def test_a_late_poll_empties_a_ring_of_depth_batch(link, batch, late_us):
    """A29 (Table 3): with depth = batch the wire carries batch slots per poll period, and never
    more than all.
    """
    slot_ns = 320 * 8
    run = link(
        {
            "host": {"poll": {"base_ns": late_us * 1000}},
            "nic": {"prefetch_slots": 0, "fetch_ns": 1, "restart_ns": 1, "index_read_ns": 0},
            "keepon": {
                "slot_bytes": 300,
                "mode": "paper",
                "batch_slots": batch,
                "ring_slots": 128,
                "poll_overhead_ns": slot_ns if batch > 1 else 0,
                "dither": False,
            },
        }
    ).run(200)
    nic = run.station["nic"]
    used = (nic["placeholders"] + nic["frames"]) * slot_ns / 200e6
    # A poll that finds the ring empty posts a batch; one that comes in time posts what has left.
    period_ns = max(batch * slot_ns - (slot_ns if batch > 1 else 0), 200) + late_us * 1000
    expected = min(1.0, batch * slot_ns / period_ns)
    if batch == 1 and late_us == 0:
        # Without the overhead a poll comes just before its one slot has left, and a slot later.
        expected = 0.5
    # 200 ms hold so many batches; the last is cut, and the wire starts after the first poll.
    assert used == pytest.approx(expected, rel=1e-3, abs=2 * batch * slot_ns / 200e6)


def test_paper_mode_slips_by_a_slot_as_the_crystal_drifts(link, accounts):
    run = link(
        {"nic_ppm": 50.0, "keepon": {"mode": "paper", "batch_slots": 8, "ring_slots": 64}},
        stream={"advance_ns": 300_000},
    ).run(1500)
    accounts(run.summary)
    errors_ns = run.release_errors_ps() / 1000
    assert run.summary["verdicts"]["on_time"] > 1450
    # Slots pass the txtime at 50 ns a millisecond and fall back by one slot of 10 us each 200
    # frames.
    steps = np.diff(errors_ns)
    assert np.sum(np.abs(steps) > 5000) in (6, 7, 8)
    assert errors_ns.max() - errors_ns.min() > 9500
    assert run.station["nic"]["underruns"] == 0


def test_phase_locked_boundaries_keep_the_promised_error(link):
    for ppm in (-100.0, 0.0, 80.0):
        probe = {"boundaries": True, "boundary_bound_ps": 0}
        bound = link({"probe": probe}).sim.boundary_bounds(0, 200_000, 0)["boundary_error_ps"]
        probe["boundary_bound_ps"] = bound
        run = link({"nic_ppm": ppm, "probe": probe}).run(500)
        errors = run.sim.boundary_errors(run.a)
        assert errors["skipped_slots"] == 0
        assert errors["locked_slots"] > 49_000
        assert errors["violations"] == 0, errors
        assert errors["locked_max_ps"] <= bound


def test_head_interval_contains_the_wire(link):
    run = link(
        {
            "nic_ppm": 60.0,
            "cpu_ppm": -60.0,
            "wander_ppb_per_s": 300.0,
            "probe": {"head_interval_ns": 5_000},
        }
    ).run(500)
    heads = run.sim.head_check(run.a)
    assert heads["samples"] > 90_000
    assert heads["violations"] == heads["seq_violations"] == heads["invalid"] == 0
    assert len(heads["widths_ps"]) == heads["samples"]


def test_stalled_polls_are_noticed_and_survived(link, accounts):
    run = link()
    run.sim.add_fault("poll-stall", run.a, 100_300_000, 5 * MS)
    run.run(600)
    accounts(run.summary)
    counters = run.station["counters"]
    assert counters["underruns"] >= 1
    assert run.station["nic"]["underruns"] >= 1
    assert run.station["disturbances"] >= 1
    # Synchronised again one interval later: the last frames are on time and on the grid.
    assert (run.frames["verdict"][-200:-1] == 0).all()
    assert np.abs(run.release_errors_ps()[-200:]).max() <= 4500


@pytest.mark.parametrize("step_ns", [-1_000_000, -7, 13, 250_000, 40_000_000])
def test_after_a_clock_step_frames_follow_the_new_time(link, accounts, step_ns):
    run = link()
    run.sim.add_fault("clock-step", run.a, 100_300_000, step_ns)
    run.run(400)
    accounts(run.summary)
    errors = run.release_errors_ps()
    assert np.abs(errors[:80]).max() <= 4500
    # The station's time runs ahead by the step, so true departures come earlier by it.
    assert np.abs(errors[-100:] + step_ns * 1000).max() <= 4500
    assert run.station["counters"]["steps"] >= 2


def test_late_submission_is_dropped_by_strict_and_moved_by_relaxed(link, accounts):
    for late, verdict in (("strict", "late"), ("relaxed", "moved")):
        run = link({"keepon": {"classes": {0: (late, "up")}}})
        run.sim.add_fault("late-submit", run.a, 100_000_000, 200_000)
        run.run(200)
        accounts(run.summary)
        assert run.summary["verdicts"][verdict] == 1
        assert run.summary["verdicts"]["on_time"] >= 187


def test_padding_is_carried_and_counted(link):
    run = link().run(100)
    # 200-byte frames fill a 1230-byte slot on the first link; what is delivered counts the frame.
    assert run.summary["delivered_bytes"] == 200 * run.summary["delivered"]
    nic = run.station["nic"]
    assert math.isclose(nic["frame_bytes"] / nic["frames"], 1230, rel_tol=0.02)


def test_scheduled_frames_get_slots_of_their_class_only(accounts):
    """The mutation "ownership off": class 1 owns every fourth slot, and nothing else is given to
    it.
    """
    sim = _sim.Simulation(4)
    keepon = {
        "slot_bytes": 1230,
        "batch_slots": 8,
        "partition": [2, 4, 4, 4],
        "classes": {1: ("strict", "up")},
    }
    a = sim.add_station("a", {"driver": "keepon", "keepon": keepon})
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    spec = {
        "talker": a,
        "listeners": [b],
        "period_ns": MS,
        "frame_bytes": 200,
        "tc": 1,
        "advance_ns": 150_000,
    }
    flows = [
        sim.add_stream({**spec, "id": str(i), "offset_ns": 200_064 + i * 10_000}) for i in range(4)
    ]
    sim.run(100 * MS)
    names = ["not_allowed"] * 4
    names[-(EPOCH_NS // 10_000 + 20) % 4] = "on_time"
    for flow, name in zip(flows, names, strict=True):
        summary = sim.stream(flow)
        accounts(summary)
        assert summary["verdicts"][name] + summary["pending"] == summary["submitted"] >= 89


@pytest.mark.parametrize("padding", ["deferred", "on-demand"])
def test_short_frame_after_a_long_one_carries_none_of_its_bytes(accounts, padding):
    """C13, C14: both use the same descriptors in turn; padding is zero on the wire."""
    sim = _sim.Simulation(4)
    keepon = {
        "slot_bytes": 1230,
        "batch_slots": 8,
        "ring_slots": 64,
        "depth_slots": 32,
        "padding": padding,
    }
    a = sim.add_station("a", {"driver": "keepon", "keepon": keepon})
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    spec = {"talker": a, "listeners": [b], "period_ns": 1_280_000, "advance_ns": 150_000}
    long = sim.add_stream({**spec, "id": "long", "offset_ns": 200_064, "frame_bytes": 1200})
    short = sim.add_stream({**spec, "id": "short", "offset_ns": 840_064, "frame_bytes": 64})
    sim.run(200 * MS)
    for flow in (long, short):
        accounts(sim.stream(flow))
        assert sim.stream(flow)["delivered"] > 140
    assert sim.station(a)["config"]["padding"] == padding


@pytest.mark.parametrize("advance_ns", [15_000, 18_000, 25_000, 60_000])
def test_insertion_looks_at_the_wire_of_now_not_of_the_last_poll(link, accounts, advance_ns):
    """The mutation "cached head": polls are 300 us late, so the head of the last one is 30 slots
    old.
    """
    run = link(
        {"host": {"poll": {"base_ns": 300_000}}, "keepon": {"ring_slots": 256, "depth_slots": 128}},
        stream={"advance_ns": advance_ns},
    ).run(300)
    accounts(run.summary)
    # Two slots beyond the one on the wire are fetched, the second of them 20 us before it starts.
    wanted = "late" if advance_ns < 20_000 else "on_time"
    assert run.summary["verdicts"][wanted] >= 280


@pytest.mark.parametrize("batch", [1, 4, 8, 16, 32])
@pytest.mark.parametrize("batches", [1.5, 2, 2.5, 3, 5])
def test_the_wire_never_idles_at_any_depth(link, batch, batches):
    """A12: a dithered poll that finds less than a batch leaves posting to the next only if that is
    not too late.
    """
    depth = round(batch * batches) + 6
    run = link(
        {
            "keepon": {
                "batch_slots": batch,
                "depth_slots": depth,
                "poll_overhead_ns": 1500 * (batch > 1),
            }
        }
    ).run(110)
    assert run.station["nic"]["underruns"] == 0
    assert run.station["counters"]["underruns"] == 0
    exact = link(
        {
            "keepon": {
                "batch_slots": 32,
                "depth_slots": round(32 * batches),
                "poll_overhead_ns": 5000,
            }
        }
    ).run(110)
    assert exact.station["nic"]["underruns"] == 0
