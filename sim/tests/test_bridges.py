# SPDX-License-Identifier: BSD-3-Clause
"""Bridges: exact delays, priorities, gates, queues, copies; every frame ends somewhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000


def line(
    bridges: int,
    processing_ns: int = 2000,
    propagation_ns: int = 50,
    talkers: int = 1,
    spec=None,
    **bridge,
):
    """Talkers at the first bridge of a line, one listener at the last."""
    sim = _sim.Simulation(7)
    nodes = [
        sim.add_bridge(f"br{i}", {"processing_ns": processing_ns, **bridge}) for i in range(bridges)
    ]
    for one, other in itertools.pairwise(nodes):
        sim.add_link(one, other, GIGABIT, propagation_ns)
    stations = [sim.add_station(f"t{i}", spec or {"driver": "launchtime"}) for i in range(talkers)]
    listener = sim.add_station("l", {})
    for station in stations:
        sim.add_link(station, nodes[0], GIGABIT, propagation_ns)
    sim.add_link(nodes[-1], listener, GIGABIT, propagation_ns)
    return sim, nodes, stations, listener


def stream(sim, talker, listener, route, **spec):
    return sim.add_stream(
        {
            "id": f"s{talker}",
            "talker": talker,
            "listeners": [listener],
            "routes": [route],
            "period_ns": MS,
            "offset_ns": 320_064,
            "frame_bytes": 200,
            **spec,
        }
    )


def delays_ns(sim, flow, row=0):
    frames = sim.frames(flow)
    got = frames["arrival_ps"][row] >= 0
    return (frames["arrival_ps"][row][got] - frames["wire_ps"][got]) / 1000


@pytest.mark.parametrize("bridges", [1, 2, 4])
def test_delay_is_frame_plus_processing_plus_preamble_a_bridge(bridges):
    sim, nodes, (talker,), listener = line(bridges)
    flow = stream(sim, talker, listener, nodes)
    sim.run(100 * MS)
    expected = bridges * (200 * 8 + 2000 + 64) + (bridges + 1) * 50
    assert len(delays_ns(sim, flow)) >= 89
    assert (delays_ns(sim, flow) == expected).all()


def test_higher_queue_overtakes_and_one_frame_blocks():
    sim, nodes, (low, high), listener = line(1, talkers=2)
    # Both are complete in the bridge while the low talker's first frame is on the wire, the low one
    # first.
    first = stream(sim, low, listener, nodes, queue=1, frame_bytes=1500)
    late = stream(sim, high, listener, nodes, queue=6, offset_ns=320_064 + 12_992, frame_bytes=64)
    behind = sim.add_stream(
        {
            "id": "behind",
            "talker": low,
            "listeners": [listener],
            "routes": [nodes],
            "period_ns": MS,
            "offset_ns": 320_064 + 12_160,
            "frame_bytes": 64,
            "queue": 1,
        }
    )
    sim.run(50 * MS)
    a, b, c = (sim.frames(flow)["arrival_ps"][0][5] for flow in (first, late, behind))
    base = 1520 * 8 * 1000
    assert b - a == base  # waits for the whole frame on the wire, gap and preamble included
    assert c - b == (64 + 20) * 8 * 1000


def test_gate_holds_a_frame_until_its_window_and_never_lets_it_run_over():
    # Open for queue 5 from 500 us to 503 us of every ms: a 200-byte frame takes 1.664 us, two do
    # not fit.
    sim, nodes, (one, two), listener = line(1, talkers=2)
    sim.set_gates(
        nodes[0], listener, EPOCH_NS + 500_000, [(1 << 5, 3_000), (0xFF & ~(1 << 5), 997_000)]
    )
    flows = [stream(sim, talker, listener, nodes, queue=5) for talker in (one, two)]
    sim.run(100 * MS)
    departures = [sim.frames(flow)["arrival_ps"][0] // 1000 - 50 - 64 for flow in flows]
    first = np.sort(np.concatenate([d[d >= 0] for d in departures]))
    phases = (first - 500_000) % MS
    assert set(phases.tolist()) == {0}
    # Two frames a period, one window each: the second waits for the next window, so the queue grows
    # by one a period.
    waiting = sim.bridge(nodes[0])["ports"][listener]["waiting"]
    assert 80 <= waiting <= 95
    assert len(first) == len(set((first // MS).tolist()))


def test_two_frames_fit_a_window_of_two():
    sim, nodes, (one, two), listener = line(1, talkers=2)
    open_ns = 2 * 220 * 8 - 12 * 8
    sim.set_gates(nodes[0], listener, 0, [(0, 400_000), (1 << 5, open_ns), (0, 600_000 - open_ns)])
    flows = [stream(sim, talker, listener, nodes, queue=5) for talker in (one, two)]
    sim.run(100 * MS)
    starts = [sim.frames(flow)["arrival_ps"][0][10] // 1000 - 114 for flow in flows]
    assert sorted(start % MS for start in starts) == [400_000, 400_000 + 220 * 8]
    assert sim.bridge(nodes[0])["ports"][listener]["waiting"] == 0


def test_frame_longer_than_every_window_is_dropped_and_counted(accounts):
    sim, nodes, (talker,), listener = line(1)
    sim.set_gates(nodes[0], listener, 0, [(1 << 5, 1_600), (0, 998_400)])
    flow = stream(sim, talker, listener, nodes, queue=5)
    sim.run(50 * MS)
    summary = sim.stream(flow)
    accounts(summary)
    assert summary["delivered"] == 0
    assert summary["lost"] == {"br0 gate to l": summary["on_wire"]}


def test_gate_schedule_follows_the_drifting_clock_of_its_bridge():
    sim, nodes, (talker,), listener = line(1, ppm=100.0)
    sim.set_gates(nodes[0], listener, 0, [(0, 500_000), (0xFF, 500_000)])
    flow = stream(sim, talker, listener, nodes, queue=5)
    sim.run(1000 * MS)
    starts = sim.frames(flow)["arrival_ps"][0] // 1000 - 114
    phases = starts[starts >= 0] % MS
    # The bridge is 100 ppm fast: its windows open 99.99 ns earlier each ms.
    assert (np.diff(phases) <= 0).all()
    assert phases[0] - phases[-1] == pytest.approx(100 / 1.0001 * (len(phases) - 1), abs=2)


def test_full_queue_drops_and_names_the_place(accounts):
    sim, nodes, (one, two), listener = line(1, talkers=2, queue_frames=8)
    loads = [
        sim.add_load(
            {
                "id": f"l{talker}",
                "talker": talker,
                "listener": listener,
                "route": nodes,
                "kind": "udp",
                "rate_bps": 700_000_000,
                "frame_bytes": 1500,
                "queue": 2,
            }
        )
        for talker in (one, two)
    ]
    sim.run(100 * MS)
    summaries = [sim.load(load) for load in loads]
    for summary in summaries:
        accounts(summary)
        assert set(summary["lost"]) <= {"br0 queue to l"}
    drops = sim.bridge(nodes[0])["ports"][listener]["queue_drops"]
    assert drops == sum(sum(summary["lost"].values()) for summary in summaries) > 1000
    goodput = sum(summary["delivered_bytes"] for summary in summaries) * 8 / 0.09
    assert goodput == pytest.approx(GIGABIT * 1500 / 1520, rel=0.01)


def test_copies_reach_every_listener_once(accounts):
    sim = _sim.Simulation(5)
    b1, b2 = (sim.add_bridge(name, {}) for name in ("b1", "b2"))
    talker, near, far, farther = (
        sim.add_station(name, {"driver": "launchtime"}) for name in ("t", "n", "f", "g")
    )
    for one, other in ((talker, b1), (b1, near), (b1, b2), (b2, far), (b2, farther)):
        sim.add_link(one, other, GIGABIT, 50)
    flow = sim.add_stream(
        {
            "id": "m",
            "talker": talker,
            "listeners": [near, far, farther],
            "routes": [[b1], [b1, b2], [b1, b2]],
            "period_ns": MS,
            "frame_bytes": 100,
        }
    )
    sim.run(100 * MS)
    summary = sim.stream(flow)
    accounts(summary)
    assert (
        summary["delivered_by_listener"].tolist() == [summary["on_wire"] - 1] * 3
    )  # the last one is on its way
    assert summary["in_flight"] == 3
    assert (
        sim.bridge(b1)["ports"][b2]["forwarded"] == summary["on_wire"] - 1
    )  # one copy on the shared link
    arrivals = sim.frames(flow)["arrival_ps"]
    assert (arrivals[1] == arrivals[2]).all()
    assert (arrivals[1][:90] > arrivals[0][:90]).all()


def test_link_down_cuts_what_is_on_it_and_accounts_for_it(accounts):
    sim, nodes, (talker,), listener = line(1)
    flow = stream(sim, talker, listener, nodes)
    # From the middle of one frame to the middle of another, five periods later.
    sim.add_fault("link-down", talker, 30 * MS + 321_000, 5 * MS)
    sim.run(60 * MS)
    summary = sim.stream(flow)
    accounts(summary)
    assert summary["lost"] == {"link t0 - br0": 6}
    assert summary["in_flight"] == 0


def test_bridges_have_up_to_eight_links_to_each_other_each_with_its_own_port(accounts):
    sim, (b1, b2), talkers, listener = line(2, talkers=3)
    ways = [b2, b2 + _sim.CABLE, b2 + 2 * _sim.CABLE]
    sim.add_link(b2, b1, GIGABIT, 1050)  # begins at the other end, and takes 1000 ns longer
    for _ in range(6):
        sim.add_link(b1, b2, GIGABIT, 50)
    with pytest.raises(ValueError, match="exists already"):
        sim.add_link(b1, b2, GIGABIT, 50)
    sim.set_loss(b2, b1 + 2 * _sim.CABLE, 1.0)
    sim.set_gates(b1, ways[1], 0, [(0xFF, MS // 2), (0, MS // 2)])
    flows = [
        stream(sim, talker, listener, [b1, way], offset_ns=number * 100_000)
        for number, (talker, way) in enumerate(zip(talkers, ways, strict=True), 1)
    ]
    sim.run(100 * MS)
    one, other = (delays_ns(sim, flow) for flow in flows[:2])
    assert (one + 1000 == other).all()
    found = [sim.stream(flow) for flow in flows]
    for summary in found:
        accounts(summary)
    assert found[2]["lost"] == {"lossy link br1 - br0#3": found[2]["on_wire"]}
    ports = sim.bridge(b1)["ports"]
    assert [ports[way]["forwarded"] for way in ways] == [each["on_wire"] for each in found]
    assert sim.bridge(b2)["ports"][b1 + _sim.CABLE]["received"] == found[1]["on_wire"]
