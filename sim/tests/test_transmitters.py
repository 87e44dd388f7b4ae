# SPDX-License-Identifier: BSD-3-Clause
"""The conventional driver, the launch-time NIC and what stands before them."""

from __future__ import annotations

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000


def pair(spec, stream=None, seed=1, rate_bps=GIGABIT):
    sim = _sim.Simulation(seed)
    a = sim.add_station("a", spec)
    b = sim.add_station("b", {})
    sim.add_link(a, b, rate_bps, 50)
    flow = sim.add_stream(
        {
            "id": "x",
            "talker": a,
            "listeners": [b],
            "period_ns": MS,
            "offset_ns": 500_000,
            "frame_bytes": 200,
            **(stream or {}),
        }
    )
    return sim, a, b, flow


def errors_ns(sim, flow):
    frames = sim.frames(flow)
    sent = frames["wire_ps"] >= 0
    return (frames["wire_ps"][sent] - (frames["txtime_ns"][sent] - EPOCH_NS) * 1000) / 1000


def test_standard_driver_sends_when_called(accounts):
    sim, _, _, flow = pair(
        {"driver": "standard", "nic": {"fetch_ns": 1000}}, {"advance_ns": 100_000}
    )
    sim.run(100 * MS)
    accounts(sim.stream(flow))
    # Called 100 us early, 1 us to fetch, 64 ns of preamble: the txtime means nothing to it.
    assert (errors_ns(sim, flow) == -100_000 + 1000 + 64).all()


def test_standard_driver_on_a_late_host_is_late_by_as_much(accounts):
    host = {
        "wakeup": {"base_ns": 2_000, "median_ns": 3_000, "sigma": 0.8},
        "stack": {"base_ns": 4_000},
    }
    sim, _, _, flow = pair({"driver": "standard", "release": "sleep", "host": host})
    sim.run(500 * MS)
    accounts(sim.stream(flow))
    errors = errors_ns(sim, flow)
    assert errors.min() >= 6_000 + 864
    assert np.median(errors) == pytest.approx(9_864, rel=0.05)
    assert errors.std() > 1_000


def test_sleeping_application_above_keepon_has_no_txtime(accounts):
    sim, _, _, flow = pair(
        {"driver": "keepon", "release": "sleep", "keepon": {"slot_bytes": 1230, "batch_slots": 4}}
    )
    sim.run(100 * MS)
    accounts(sim.stream(flow))
    assert sim.stream(flow)["verdicts"]["best_effort"] >= 85
    assert errors_ns(sim, flow).min() > 0


def test_completions_are_reported_with_coalesced_interrupts():
    sim, a, _, flow = pair(
        {"driver": "standard", "nic": {"coalesce_ns": 5_000_000, "coalesce_frames": 100}}
    )
    pending = []
    for ms in range(80, 101):
        sim.run(ms * MS)
        pending.append(sim.stream(flow)["pending"])
    assert max(pending) == 5
    assert min(pending) == 0
    assert 15 <= sim.station(a)["nic"]["interrupts"] <= 20


def test_full_ring_holds_frames_back_until_the_interrupt(accounts):
    sim = _sim.Simulation(1)
    a = sim.add_station(
        "a",
        {
            "driver": "standard",
            "nic": {
                "ring_slots": 4,
                "queue_frames": 2,
                "coalesce_ns": 3_000_000,
                "coalesce_frames": 99,
            },
        },
    )
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    load = sim.add_load(
        {
            "id": "l",
            "talker": a,
            "listener": b,
            "kind": "udp",
            "rate_bps": 32_000_000,
            "frame_bytes": 1000,
        }
    )
    sim.run(200 * MS)
    summary = sim.load(load)
    accounts(summary)
    assert sim.station(a)["nic"]["ring_full"] > 0
    assert summary["verdicts"]["no_room"] > 0


def test_saturating_load_fills_the_wire(accounts):
    sim = _sim.Simulation(1)
    a = sim.add_station("a", {"driver": "standard"})
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    load = sim.add_load(
        {
            "id": "l",
            "talker": a,
            "listener": b,
            "kind": "saturate",
            "frame_bytes": 1518,
            "start_ns": 0,
        }
    )
    sim.run(100 * MS)
    accounts(sim.load(load))
    assert sim.load(load)["delivered_bytes"] * 8 / 0.1 == pytest.approx(
        GIGABIT * 1518 / 1538, rel=0.002
    )


@pytest.mark.parametrize("offset_ns", [500_064, 500_065, 500_072, 500_095, 500_096])
def test_launch_comparator_sees_multiples_of_32_ns(offset_ns):
    sim, _, _, flow = pair({"driver": "launchtime"}, {"offset_ns": offset_ns})
    sim.run(50 * MS)
    wanted = -(-(offset_ns - 64) // 32) * 32 + 64
    assert (errors_ns(sim, flow) == wanted - offset_ns).all()
    assert (
        sim.stream(flow)["verdicts"]["on_time"]
        == sim.stream(flow)["submitted"] - sim.stream(flow)["pending"]
    )


def test_launch_starts_on_byte_ticks_of_a_drifting_crystal():
    sim, _, _, flow = pair({"driver": "launchtime", "nic_ppm": 13.0}, {"offset_ns": 500_064})
    sim.run(500 * MS)
    errors = errors_ns(sim, flow)
    assert errors.min() >= 0
    assert 7 < errors.max() <= 8.001


def test_launch_time_that_has_passed_is_sent_at_once_and_counted():
    host = {"stack": {"base_ns": 120_000}}
    sim, a, _, flow = pair({"driver": "launchtime", "host": host}, {"advance_ns": 100_000})
    sim.run(50 * MS)
    errors = errors_ns(sim, flow)
    assert (errors >= 20_800).all()
    assert (errors <= 20_900).all()
    assert sim.station(a)["nic"]["late_launches"] == len(errors)
    assert sim.stream(flow)["verdicts"]["moved"] == len(errors)


def test_other_frames_take_no_place_of_those_with_launch_times(accounts):
    """Two queues of a NIC are two rings: more load than the link carries fills its own."""
    sim, a, b, flow = pair({"driver": "launchtime"}, {"offset_ns": 500_064})
    load = sim.add_load(
        {
            "id": "l",
            "talker": a,
            "listener": b,
            "kind": "udp",
            "rate_bps": 1_100_000_000,
            "frame_bytes": 1500,
        }
    )
    sim.run(200 * MS)
    accounts(sim.load(load))
    assert sim.load(load)["verdicts"]["no_room"] > 0
    summary = sim.stream(flow)
    assert summary["submitted"] > 180
    assert len(errors_ns(sim, flow)) == summary["submitted"] - summary["pending"]


def test_etf_drops_what_is_late_when_it_enters(accounts):
    host = {"stack": {"base_ns": 100_001}}
    sim, a, _, flow = pair(
        {"driver": "standard", "release": "etf", "host": host}, {"advance_ns": 100_000}
    )
    sim.run(50 * MS)
    accounts(sim.stream(flow))
    assert sim.stream(flow)["on_wire"] == 0
    assert sim.stream(flow)["verdicts"]["late"] == sim.station(a)["etf_drops"] >= 39


def test_etf_hands_on_delta_before_txtime_and_a_late_timer_drops(accounts):
    spec = {
        "driver": "standard",
        "release": "etf",
        "etf_delta_ns": 30_000,
        "host": {"timer": {"base_ns": 5_000}},
    }
    sim, _, _, flow = pair(spec, {"advance_ns": 200_000})
    sim.run(50 * MS)
    assert (errors_ns(sim, flow) == -30_000 + 5_000 + 800 + 64).all()
    spec["host"] = {"timer": {"base_ns": 30_001}}
    sim, a, _, flow = pair(spec, {"advance_ns": 200_000})
    sim.run(50 * MS)
    accounts(sim.stream(flow))
    assert sim.stream(flow)["on_wire"] == 0
    assert sim.station(a)["etf_drops"] >= 39


def test_etf_leaves_in_order_of_txtime_not_of_arrival():
    sim = _sim.Simulation(1)
    a = sim.add_station("a", {"driver": "standard", "release": "etf", "etf_delta_ns": 10_000})
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    spec = {"talker": a, "listeners": [b], "period_ns": MS, "frame_bytes": 64}
    late = sim.add_stream({**spec, "id": "late", "offset_ns": 700_000, "advance_ns": 600_000})
    early = sim.add_stream({**spec, "id": "early", "offset_ns": 690_000, "advance_ns": 50_000})
    sim.run(50 * MS)
    assert (
        sim.frames(early)["wire_ps"][:30] + 10_000_000 == sim.frames(late)["wire_ps"][:30]
    ).all()


def test_driver_passes_frames_in_order_and_occupied():
    spec = {"driver": "standard", "occupancy_ns": 7_000, "nic": {"fetch_ns": 1, "restart_ns": 1}}
    sim = _sim.Simulation(1)
    a = sim.add_station("a", spec)
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    flows = [
        sim.add_stream(
            {
                "id": str(i),
                "talker": a,
                "listeners": [b],
                "period_ns": MS,
                "offset_ns": 500_000,
                "frame_bytes": 64,
            }
        )
        for i in range(4)
    ]
    sim.run(30 * MS)
    submitted = np.array([sim.frames(flow)["submit_ps"][:15] for flow in flows])
    assert (np.diff(submitted, axis=0) == 7_000_000).all()


def test_stamps_have_the_resolution_of_the_listener():
    for resolution in (1, 8, 40):
        sim = _sim.Simulation(1)
        a = sim.add_station("a", {"driver": "standard"})
        b = sim.add_station("b", {"stamp_resolution_ns": resolution, "nic_ppm": 11.0})
        sim.add_link(a, b, GIGABIT, 0)
        flow = sim.add_stream(
            {"id": "x", "talker": a, "listeners": [b], "period_ns": 999_983, "frame_bytes": 64}
        )
        sim.run(200 * MS)
        frames = sim.frames(flow)
        late_ns = frames["arrival_ps"][0] / 1000 - (frames["stamp_ns"][0] - EPOCH_NS)
        assert late_ns.min() >= -0.501
        assert late_ns.max() <= resolution + 0.501
        if resolution > 1:
            assert late_ns.max() - late_ns.min() > 0.8 * resolution


def test_free_running_stations_drift_apart():
    sim, _, _, flow = pair(
        {
            "driver": "keepon",
            "sync": "none",
            "nic_ppm": 20.0,
            "keepon": {"slot_bytes": 1230, "batch_slots": 8},
        }
    )
    sim.run(1000 * MS)
    errors = errors_ns(sim, flow)
    assert errors[-1] - errors[0] == pytest.approx(-20e-6 * 0.985e9, abs=200)


@pytest.mark.parametrize("more_ns", [0, 2])
def test_frames_in_turn_leave_at_their_own_releases_counted_from_the_origin_of_time(link, more_ns):
    """Also of a rate whose period has a fraction of a ns."""
    slot_ns, turns, cycle_ns = 10_000, [200_064, 210_064, 240_064], 3 * MS + more_ns
    stream = {"offset_ns": turns[0], "turns_ns": turns, "cycle_ns": cycle_ns, "start_ns": 11 * MS}
    net = link(stream=stream).run(40)
    frames = net.frames
    sent = frames["wire_ps"] >= 0
    assert sent.sum() >= 25
    first = (int(frames["txtime_ns"][0]) - turns[0] + 1) * 3 // cycle_ns
    for number, txtime_ns in enumerate(frames["txtime_ns"], first):
        assert txtime_ns == number * cycle_ns // 3 + turns[number % 3]
    assert abs(net.release_errors_ps()).max() < slot_ns * 1000
