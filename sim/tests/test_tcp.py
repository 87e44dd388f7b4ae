# SPDX-License-Identifier: BSD-3-Clause
"""TCP through the whole of a station and bridges: every frame ends somewhere, what is acknowledged
was delivered, and loss costs throughput. Its machines have tests of their own (test_tcp.cpp);
kernel/tests/test_tcp_compared.py sets Linux beside it.
"""

from __future__ import annotations

import itertools
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keepon import _sim

MEGABIT = 1_000_000
MS = 1_000_000
SECOND = 1000 * MS
FRAME_BYTES = 1400  # less than keepon's slot by more than what it is trimmed by
PAYLOAD_BYTES = FRAME_BYTES - 70
PROMPT = {"nic": {"coalesce_ns": 0, "coalesce_frames": 1}}
KEEPON = {"driver": "keepon", "keepon": {"slot_bytes": 1514, "batch_slots": 8}}


class Path:
    """Two stations, two bridges and the link between these, which is slow and loses."""

    def __init__(self, loss=0.0, seed=1, rate_bps=50 * MEGABIT, rtt_ns=2 * MS, **changes):
        self.sim = _sim.Simulation(seed)
        station = changes.pop("station", PROMPT)
        self.a, self.b = (self.sim.add_station(name, station) for name in "ab")
        bridge = {"queue_frames": changes.pop("queue", 100)}
        self.route = [self.sim.add_bridge(name, bridge) for name in ("near", "far")]
        self.sim.add_link(self.a, self.route[0], 1000 * MEGABIT, 0)
        self.sim.add_link(*self.route, rate_bps, rtt_ns // 2)
        self.sim.add_link(self.route[1], self.b, 1000 * MEGABIT, 0)
        if loss:
            self.sim.set_loss(*self.route, loss)
        count = changes.pop("count", 1)
        self.loads = [self.add(f"tcp{i}", **changes) for i in range(count)]

    def add(self, name, **changes):
        own = {"id": name, "talker": self.a, "listener": self.b, "route": self.route}
        own |= {"kind": "tcp", "start_ns": 0, "frame_bytes": FRAME_BYTES}
        return self.sim.add_load({**own, **changes})

    def run(self, ns):
        self.sim.run(ns)
        return self.load()

    def load(self, number=0):
        return self.sim.load(self.loads[number])


def check_accounts(load):
    """Every frame of both ways is somewhere, and nothing is acknowledged that was not delivered."""
    for flow in (load, load["acks"]):
        assert flow["submitted"] == sum(flow["verdicts"].values()) + flow["pending"]
        assert flow["on_wire"] == (
            flow["delivered"] + sum(flow["lost"].values()) + flow["in_flight"]
        )
        assert flow["wrong_bytes"] == flow["torn"] == flow["ghosts"] == 0
    tcp = load["tcp"]
    assert 0 <= tcp["acknowledged_bytes"] <= tcp["delivered_bytes"]
    assert tcp["segments"] == load["submitted"]
    assert tcp["delivered_bytes"] <= PAYLOAD_BYTES * (tcp["segments"] - tcp["retransmissions"])


@settings(max_examples=12, deadline=None)
@given(
    loss=st.sampled_from([0.0, 0.001, 0.02, 0.2]),
    rtt_ns=st.integers(0, 20 * MS),
    queue=st.integers(1, 200),
    seed=st.integers(0, 2**32),
    congestion=st.sampled_from(["reno", "cubic"]),
    station=st.sampled_from([{}, KEEPON, {"driver": "launchtime"}]),
)
def test_every_frame_ends_somewhere_and_the_same_seed_is_the_same_run(
    loss, rtt_ns, queue, seed, congestion, station
):
    hashes = []
    for _ in range(2):
        path = Path(loss, seed, rtt_ns=rtt_ns, queue=queue, station=station, congestion=congestion)
        for until in (100 * MS, 600 * MS):
            load = path.run(until)
            check_accounts(load)
        assert load["tcp"]["delivered_bytes"] > 0 or loss > 0.1
        hashes.append(path.sim.trace_hash())
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("congestion", ["reno", "cubic"])
@pytest.mark.parametrize(
    ("station", "wire_bytes"), [(PROMPT, FRAME_BYTES), (KEEPON, 1514)], ids=["standard", "keepon"]
)
def test_without_loss_it_fills_the_slowest_wire(station, wire_bytes, congestion):
    load = Path(station=station, congestion=congestion, queue=1000).run(4 * SECOND)
    share = PAYLOAD_BYTES / (wire_bytes + 20)
    bps = load["tcp"]["delivered_bytes"] * 8 / 4
    assert 0.97 * share * 50 * MEGABIT <= bps <= share * 50 * MEGABIT
    assert load["tcp"]["timeouts"] == 0
    # delayed ACKs: one for two segments, but at the start and while something is missing
    assert 0.45 <= load["acks"]["submitted"] / load["tcp"]["segments"] <= 0.62


@pytest.mark.slow
def test_throughput_falls_with_loss_and_round_trips_as_mathis_has_it():
    """Reno: segment x 1.22 / (round trip x sqrt(p)) (Mathis, Semke, Mahdavi, Ott, "The macroscopic
    behavior of the TCP congestion avoidance algorithm", 1997); its model has no timeouts.
    """
    for loss, rtt_ns in itertools.product((0.003, 0.01), (10 * MS, 20 * MS)):
        bps = [
            Path(loss, seed, rtt_ns=rtt_ns, congestion="reno").run(10 * SECOND)["tcp"]
            for seed in range(6)
        ]
        mean = statistics.mean(tcp["delivered_bytes"] * 8 / 10 for tcp in bps)
        law = PAYLOAD_BYTES * 8 * 1.22 / ((rtt_ns / 1e9 + 0.0003) * loss**0.5)
        assert 0.8 <= mean / law <= 1.25


def test_frames_are_lost_on_a_lossy_link_as_often_as_stated():
    path = Path(loss=0.02, start_ns=100 * SECOND)
    udp = path.add("udp", kind="udp", rate_bps=10 * MEGABIT)
    path.run(20 * SECOND)
    load = path.sim.load(udp)
    lost = load["lost"]["lossy link near - far"]
    expected = 0.02 * load["on_wire"]
    assert abs(lost - expected) < 5 * expected**0.5


def test_a_driver_that_tells_late_that_frames_have_left_slows_tcp_down():
    """TCP small queues: what the driver has is not more than a millisecond's, or four segments."""
    fast, slow = (
        Path(station={"nic": nic}, rtt_ns=20 * MS, loss=0.001).run(10 * SECOND)["tcp"]
        for nic in (PROMPT["nic"], {"coalesce_ns": 50 * MS, "coalesce_frames": 1000})
    )
    assert slow["delivered_bytes"] < 0.5 * fast["delivered_bytes"]


def test_two_connections_share_a_wire():
    path = Path(count=2, congestion="reno", rtt_ns=10 * MS, loss=0.001)
    path.run(30 * SECOND)
    rates = [path.load(i)["tcp"]["delivered_bytes"] for i in range(2)]
    assert min(rates) / max(rates) > 0.6


def test_the_series_of_the_window_is_thinned_out_and_in_order():
    tcp = Path(loss=0.001, congestion="reno").run(10 * SECOND)["tcp"]
    assert 256 <= len(tcp["at_ps"]) <= 1024
    assert (tcp["at_ps"][1:] > tcp["at_ps"][:-1]).all()
    assert tcp["cwnd"][0] == 10
    assert tcp["ssthresh"][0] == -1
    assert tcp["cwnd"].min() >= 1


def test_a_link_that_is_cut_is_survived():
    path = Path(congestion="cubic")
    path.sim.add_fault("link-down", path.a, 500 * MS, 700 * MS)
    load = path.run(4 * SECOND)
    check_accounts(load)
    assert load["tcp"]["timeouts"] >= 2
    bps = load["tcp"]["delivered_bytes"] * 8 / 4
    assert bps > 0.5 * 50 * MEGABIT


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_is_within_0_and_1(probability):
    path = Path()
    with pytest.raises(ValueError, match="loss_probability"):
        path.sim.set_loss(*path.route, probability)


def test_only_a_link_can_lose():
    path = Path()
    with pytest.raises(ValueError, match="no such link"):
        path.sim.set_loss(path.a, path.b, 0.1)


@pytest.mark.parametrize(
    ("way_ns", "most"),
    [
        (1_000_000, 0),
        # a quarter of the round trip is too little, until the receiver has reported copies
        (250_000, 10),
    ],
)
def test_what_is_reordered_and_not_lost_is_seldom_sent_again(way_ns, most):
    """RFC 8985 section 6.2, steps 3 and 4: labels of txtime-assist are out of order where a class
    has two windows.
    """
    sim = _sim.Simulation(1, 1_700_000_000_000_000_000)
    taprio = {
        "windows": [(1, 300_000), (0, 100_000), (1, 300_000)],
        "txtime_assist": True, "txtime_delay_ns": 40_000,
    }  # fmt: skip
    etf = {"kind": "etf", "delta_ns": 50_000, "skip_sock_check": True, "keeps_txtime": True}
    qdisc = {"leaves": [etf], "queues": [0] * 16, "taprio": taprio}
    a = sim.add_station("a", {"driver": "launchtime", "qdisc": qdisc, "host": {}})
    b = sim.add_station("b", {})
    sim.add_link(a, b, 1_000_000_000, way_ns)
    load = sim.add_load({
        "id": "t", "talker": a, "listener": b, "kind": "tcp", "start_ns": 0, "frame_bytes": 1518,
        "congestion": "cubic", "tc": 0,
    })  # fmt: skip
    sim.run(3_000_000_000)
    tcp = sim.load(load)["tcp"]
    assert tcp["out_of_order"] > 500
    assert tcp["retransmissions"] <= most
    assert tcp["acknowledged_bytes"] > 250_000_000
