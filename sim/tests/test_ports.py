# SPDX-License-Identifier: BSD-3-Clause
"""Stations with several links: a port for each, which shares nothing with the others but the host;
frames leave by the port of their way and are heard on all.
"""

from __future__ import annotations

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
SECOND = 1_000_000_000
EPOCH_NS = 1_700_000_000_000_000_000
SLOT_NS = 10_000  # 1230 bytes at 1 Gb/s
HOST = {
    "wakeup": {"base_ns": 1_000, "median_ns": 2_000, "sigma": 0.6, "tail_probability": 0.02,
               "tail_mean_ns": 20_000},
    "stack": {"base_ns": 3_000, "median_ns": 1_000, "sigma": 0.4},
    "driver": {"median_ns": 500, "sigma": 0.3},
    "timer": {"median_ns": 1_000, "sigma": 0.5},
    "poll": {"median_ns": 1_000, "sigma": 0.9},
}  # fmt: skip
DRIVERS = (
    {"driver": "keepon", "keepon": {"slot_bytes": 1230, "batch_slots": 8}},
    {"driver": "launchtime", "release": "etf"},
    {"driver": "standard", "release": "etf"},
    {"driver": "standard", "release": "sleep"},
)


class Star:
    """A station with a link to each of several others, one after another."""

    def __init__(self, spec, links=2, rates=(GIGABIT, GIGABIT, GIGABIT), peer=None, seed=3):
        self.sim = _sim.Simulation(seed)
        self.hub = self.sim.add_station("hub", spec)
        self.peers = [self.sim.add_station(f"p{i}", peer or {}) for i in range(links)]
        for rate, node in zip(rates, self.peers, strict=False):
            self.sim.add_link(self.hub, node, rate, 50)

    def stream(self, peer, back=False, **more):
        ends = (self.peers[peer], self.hub) if back else (self.hub, self.peers[peer])
        spec = {
            "id": f"s{peer}{back}", "talker": ends[0], "listeners": [ends[1]], "period_ns": MS,
            "offset_ns": 20 * SLOT_NS + 64, "frame_bytes": 200, "tc": 0, "advance_ns": 150_000,
        }  # fmt: skip
        return self.sim.add_stream({**spec, **more})

    def load(self, peer, **more):
        spec = {"id": f"l{peer}", "talker": self.hub, "listener": self.peers[peer]}
        return self.sim.add_load({**spec, "kind": "saturate", **more})

    def port(self, number):
        return self.sim.station(self.hub)["ports"][f"hub.{number}"]


@pytest.mark.parametrize("spec", DRIVERS)
def test_a_stream_leaves_by_each_port_as_it_would_by_the_only_one(spec, accounts):
    both, alone = Star(spec), Star(spec, links=1)
    flows = [both.stream(0), both.stream(1), alone.stream(0)]
    for star in (both, alone):
        star.sim.run(100 * MS)
    first, second, only = (
        star.sim.frames(flow) for star, flow in zip((both, both, alone), flows, strict=True)
    )
    assert (only["wire_ps"] > 0).sum() >= 90
    for frames in (first, second):
        assert (frames["wire_ps"] == only["wire_ps"]).all()
        assert (frames["arrival_ps"] == only["arrival_ps"]).all()
    for star, flow in zip((both, both, alone), flows, strict=True):
        accounts(star.sim.stream(flow))


@pytest.mark.parametrize("spec", DRIVERS)
def test_a_port_that_is_full_holds_up_no_other(spec, accounts):
    """By one port the same load makes frames late, or takes slots from others."""
    quiet, other, same = (Star({**spec, "nic": {"queue_frames": 40}}) for _ in range(3))
    flows = [star.stream(1) for star in (quiet, other, same)]
    full = other.load(0, frame_bytes=1200, tc=1, window_frames=40)
    same.load(1, frame_bytes=1200, tc=1, window_frames=40)
    for star in (quiet, other, same):
        star.sim.run(50 * MS)
    wires = [
        star.sim.frames(flow)["wire_ps"]
        for star, flow in zip((quiet, other, same), flows, strict=True)
    ]
    assert (wires[1] == wires[0]).all()
    if spec["driver"] == "standard":
        assert (wires[2] > wires[0]).any()
    accounts(other.sim.load(full))
    # 40 ms of 1220 bytes with preamble and gap, or of slots of 10 us.
    assert other.sim.load(full)["sent"] >= 0.9 * 40e6 / SLOT_NS


def test_frames_leave_by_the_port_of_their_way_and_are_counted_there():
    star = Star({"driver": "standard"}, links=3, rates=(GIGABIT, GIGABIT // 10, GIGABIT))
    flows = [star.stream(0), star.stream(1, period_ns=2 * MS), star.stream(1, id="more")]
    star.sim.run(30 * MS)
    sent = [star.sim.stream(flow)["on_wire"] for flow in flows]
    assert sent == [20, 10, 20]
    assert list(star.sim.station(star.hub)["ports"]) == ["hub.0", "hub.1", "hub.2"]
    assert [star.port(i)["nic"]["frames"] for i in range(3)] == [20, 30, 0]
    assert [star.port(i)["foreign_frames"] for i in range(3)] == [0, 0, 0]
    for flow, rate in zip(flows, (GIGABIT, GIGABIT // 10, GIGABIT // 10), strict=True):
        frames = star.sim.frames(flow)
        ways = frames["arrival_ps"][0] - frames["wire_ps"]
        assert (ways == 50_000).all(), rate
    # 208 bytes with preamble before the second frame of 100 Mb/s may begin, and the gap.
    first, second = (star.sim.frames(flow)["wire_ps"] for flow in flows[1:])
    together = np.isin(second // (2 * MS * 1000), first // (2 * MS * 1000))
    gaps = (second[together][::2] - first)[: len(first)]
    assert (np.abs(gaps) >= 220 * 80_000).all()
    # With one link there is no such name.
    assert "ports" not in star.sim.station(star.peers[0])
    assert star.sim.station(star.peers[0])["nic"]["frames"] == 0


def test_frames_are_heard_on_every_port():
    star = Star({}, peer={"driver": "launchtime", "release": "etf"})
    flows = [star.stream(i, back=True) for i in range(2)]
    star.sim.run(30 * MS)
    for flow in flows:
        assert star.sim.stream(flow)["delivered"] == 20
        frames = star.sim.frames(flow)
        assert (frames["arrival_ps"][0] - frames["wire_ps"] == 50_000).all()
    assert star.sim.station(star.hub)["ports"]["hub.0"]["nic"]["frames"] == 0


def test_two_ways_between_two_stations_and_a_fault_of_one_of_them(accounts):
    """Redundant: each frame twice, by a bridge each; one link is down for 5 ms and loses 5."""
    sim = _sim.Simulation(1)
    ends = [sim.add_station(name, {"driver": "launchtime", "release": "etf"}) for name in "ab"]
    bridges = [sim.add_bridge(f"br{i}", {"processing_ns": 2000 * (i + 1)}) for i in range(2)]
    for bridge in bridges:
        for end in ends:
            sim.add_link(end, bridge, GIGABIT, 50)
    flows = [
        sim.add_stream(
            {"id": f"s{i}", "talker": ends[0], "listeners": [ends[1]], "routes": [[bridge]],
             "period_ns": MS, "offset_ns": 500_064, "frame_bytes": 200}
        )
        for i, bridge in enumerate(bridges)
    ]  # fmt: skip
    sim.add_fault("link-down", ends[0], 20 * MS, 5 * MS, 1)
    sim.run(40 * MS)
    first, second = (sim.stream(flow) for flow in flows)
    assert first["delivered"] == 30
    assert second["delivered"] == 25
    assert second["lost"] == {"link a - br1": 5}
    for i, flow in enumerate(flows):
        accounts(sim.stream(flow))
        frames = sim.frames(flow)
        got = frames["arrival_ps"][0] >= 0
        delays = frames["arrival_ps"][0][got] - frames["wire_ps"][got]
        assert (delays == (2 * 50 + 2000 * (i + 1) + 208 * 8) * 1000).all()
    assert [sim.bridge(bridge)["ports"][ends[1]]["forwarded"] for bridge in bridges] == [30, 25]


def test_a_pause_holds_the_wire_of_one_port():
    star = Star({"driver": "standard"})
    flows = [star.stream(i) for i in range(2)]
    star.sim.add_fault("wire-pause", star.hub, 20 * MS, MS // 2, 0)
    star.sim.run(30 * MS)
    held, other = (star.sim.frames(flow)["wire_ps"] for flow in flows)
    late = held - other
    assert (late > 0).sum() == 1
    # The frame of 20.05 ms waits until 20.5 ms.
    assert held[late > 0] == 20_500_000_000 + 64_000
    assert (late[late <= 0] == 0).all()


def test_each_port_of_keepon_has_a_partition_of_its_own():
    """A frame of class 0 asks for slot 20 of each millisecond, an even one."""
    keepon = {"slot_bytes": 1230, "batch_slots": 8}
    even, odd = ({**keepon, "partition": classes} for classes in ([1, 2], [2, 1]))
    star = Star(
        {"driver": "keepon", "keepon": keepon, "ports": [{"keepon": even}, {"keepon": odd}]}
    )
    flows = [star.stream(i) for i in range(2)]
    star.sim.run(30 * MS)
    assert star.sim.stream(flows[0])["verdicts"]["on_time"] == 20
    assert star.sim.stream(flows[1])["sent"] == 0
    assert star.sim.stream(flows[1])["verdicts"]["not_allowed"] == 20
    assert [star.port(i)["verdicts"]["on_time"] for i in range(2)] == [20, 0]


def test_ports_have_crystals_of_their_own():
    """Free running, so that each port's slots are where its own crystal has them."""
    ports = [{"nic_ppm": 0.0}, {"nic_ppm": 40.0}]
    star = Star({"driver": "launchtime", "release": "etf", "sync": "none", "ports": ports})
    flows = [star.stream(i) for i in range(2)]
    star.sim.run(100 * MS)
    first, second = (star.sim.frames(flow) for flow in flows)
    ahead_ns = (first["wire_ps"] - second["wire_ps"]) / 1000
    expected_ns = first["wire_ps"] / 1000 * 40e-6
    assert np.abs(ahead_ns - expected_ns).max() < 16  # a byte time of each
    assert expected_ns.max() > 3000


def test_arrivals_are_stamped_by_the_crystal_of_the_port_they_came_by():
    ports = [{"nic_ppm": -25.0}, {"nic_ppm": 40.0}]
    star = Star({"driver": "launchtime", "sync": "none", "ports": ports})
    flows = [star.stream(i, back=True) for i in range(2)]
    star.sim.run(100 * MS)
    for flow, port in zip(flows, ports, strict=True):
        frames = star.sim.frames(flow)
        assert len(frames["seq"]) >= 89
        local_ns = frames["arrival_ps"][0] / 1000 * (1 + port["nic_ppm"] * 1e-6)
        late_ns = frames["stamp_ns"][0] - EPOCH_NS - local_ns
        assert (late_ns > -8.5).all()  # the tick before
        assert (late_ns < 0.5).all()
        assert ((frames["stamp_ns"][0] - EPOCH_NS) % 8 == 0).all()


@pytest.mark.parametrize("cores", [1, 2])
def test_ports_share_the_cores_of_their_station(cores):
    """Two threads are ready at one instant, and each needs 30 us."""
    host = {"stack": {"base_ns": 30_000}}
    star = Star({"driver": "standard", "release": "sleep", "host": host, "cpu": {"cores": cores}})
    flows = [star.stream(i) for i in range(2)]
    star.sim.run(20 * MS)
    first, second = (star.sim.frames(flow)["submit_ps"] for flow in flows)
    assert len(first) >= 10
    assert (np.abs(first - second) == (30_000_000 if cores == 1 else 0)).all()


def test_tcp_goes_and_is_answered_by_the_port_of_its_way():
    star = Star({"driver": "standard"}, peer={"driver": "standard"})
    load = star.load(1, kind="tcp", frame_bytes=1518)
    star.sim.run(100 * MS)
    tcp = star.sim.load(load)["tcp"]
    assert tcp["acknowledged_bytes"] > 0.8 * 90e-3 * GIGABIT / 8
    assert tcp["delivered_bytes"] - tcp["acknowledged_bytes"] < 1_000_000
    assert star.port(0)["nic"]["frames"] == 0
    assert star.port(1)["nic"]["frames"] == star.sim.load(load)["on_wire"]


def sync(grandmaster, mode="gptp"):
    # Stamps without latency are as good as hardware's, whose servo does not wait for a minute.
    servo = {"pi_proportional_scale": 0.7, "pi_integral_scale": 0.3}
    return {
        "mode": mode, "domains": [(0, grandmaster)], "start_offset_ns": 200_000, "servo": servo,
    }  # fmt: skip


def offsets_ns(sim, node, from_s):
    clock = sim.clock(node)
    return clock["offset_ps"][clock["at_ps"] >= from_s * 1e12] / 1000


def ptp_star(mode, links, master):
    """A hub with software stamps between stations of other crystals, each by a link of its own."""
    sim = _sim.Simulation(5)
    names = ["hub", *(f"p{i}" for i in range(links))]
    nodes = [
        sim.add_station(name, {"driver": "standard", "sync": "ptp", "cpu_ppm": 30.0 * i})
        for i, name in enumerate(names)
    ]
    for node in nodes[1:]:
        sim.add_link(nodes[0], node, GIGABIT, 50)
    sim.set_sync(sync(nodes[master], mode))
    sim.run(20 * SECOND)
    return sim, nodes


def test_a_grandmaster_sends_sync_by_all_its_ports():
    sim, nodes = ptp_star("gptp", 3, 0)
    for node in nodes[1:]:
        assert np.abs(offsets_ns(sim, node, 15)).max() < 200
        assert sim.clock(node)["domains"][0]["received"] > 100


@pytest.mark.parametrize("mode", ["gptp", "ptp"])
def test_a_slave_is_set_by_the_port_towards_its_master_and_hands_nothing_on(mode):
    sim, nodes = ptp_star(mode, 2, 2)
    assert np.abs(offsets_ns(sim, nodes[0], 15)).max() < 200
    assert sim.clock(nodes[0])["domains"][0]["received"] > 100
    assert sim.clock(nodes[1])["domains"][0]["received"] == 0
    frames = [port["nic"]["frames"] for port in sim.station(nodes[0])["ports"].values()]
    assert frames[1] > 0
    assert (frames[0] > 0) == (mode == "gptp")  # measures the delay to each neighbour


def busy(spec, seed):
    """ETF's timers come when all threads sleep: they are what is done ahead of time."""
    spec = {**spec, "host": HOST, "etf_delta_ns": 20_000}
    star = Star(spec, links=3, peer={"host": HOST, **DRIVERS[1]}, seed=seed)
    for peer in range(3):
        star.stream(peer, offset_ns=(20 + peer) * SLOT_NS + 64, period_ns=MS // (peer + 1))
        star.stream(peer, back=True, offset_ns=(21 + peer) * SLOT_NS + 64)
    if seed == 1:  # nobody knows when a load sends next
        star.load(2, kind="udp", rate_bps=5_000_000, frame_bytes=700, tc=1)
    return star


@pytest.mark.parametrize("spec", DRIVERS)
def test_what_is_done_ahead_of_time_is_what_events_would_have_done(spec):
    for seed in (1, 2):
        at_once, stepwise, faulty = (busy(spec, seed) for _ in range(3))
        faulty.sim.add_fault("late-submit", faulty.hub, 51 * MS, 1)
        for until_ns in range(0, 50 * MS, 37_003):
            stepwise.sim.run(until_ns)
        for star in (at_once, stepwise, faulty):
            star.sim.run(50 * MS)
        assert stepwise.sim.trace_hash() == at_once.sim.trace_hash()
        assert faulty.sim.trace_hash() == at_once.sim.trace_hash()
        assert stepwise.sim.event_count > at_once.sim.event_count


def test_what_ports_cannot_do_is_refused():
    star = Star({"ports": [{}, {}]})
    sim, hub, peers = star.sim, star.hub, star.peers
    further = sim.add_station("further", {})
    both = {"id": "x", "talker": hub, "listeners": peers, "period_ns": MS, "frame_bytes": 64}
    keepon = Star(DRIVERS[0])
    ptp = _sim.Simulation(1)
    nodes = [
        ptp.add_station(f"n{i}", {"driver": driver, "sync": "ptp"})
        for i, driver in enumerate(("launchtime", "standard", "standard", "standard"))
    ]
    for a, b in ((0, 1), (1, 2), (2, 3)):
        ptp.add_link(nodes[a], nodes[b], GIGABIT, 50)
    cases = (
        (lambda: sim.add_stream(both), 'listeners "p0" and "p1" leave by different ports'),
        (lambda: sim.add_link(hub, further, GIGABIT, 50), '"hub" has another link, and 2 entries'),
        (lambda: sim.add_station("y", {"ports": 3}), "ports = 3 has another type"),
        (lambda: sim.add_station("y", {"ports": [{"driver": "keepon"}]}), "driver"),
        (lambda: sim.add_station("y", {"ports": [{"nic_ppm": 5000}]}), "nic_ppm"),
        (lambda: sim.add_fault("link-down", hub, 0, 1, 2), "port = 2 is not within 0 to 1"),
        (lambda: sim.add_fault("link-down", hub, 0, 1, -1), "port"),
        (lambda: keepon.sim.head_check(keepon.hub, 2), "port = 2 of station \"hub\""),
        (lambda: ptp.add_link(nodes[0], nodes[3], GIGABIT, 50), '"n0" has another link: each NIC'),
        (lambda: ptp.set_sync(sync(nodes[1], "ptp")), '"n1" has 2 links'),
    )  # fmt: skip
    for what, said in cases:
        with pytest.raises((ValueError, TypeError), match=said):
            what()
    # Nothing has changed by that.
    sim.add_stream({**both, "listeners": peers[:1]})
    sim.run(20 * MS)
    assert list(sim.station(hub)["ports"]) == ["hub.0", "hub.1"]
