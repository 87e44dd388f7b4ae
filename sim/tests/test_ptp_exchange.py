# SPDX-License-Identifier: BSD-3-Clause
"""What the protocol computes where the answer is known: offsets, delays, residence times, rates (D1
to D3, D28).
"""

from __future__ import annotations

import numpy as np
import pytest
from clock_networks import GIGABIT, SECOND, Chain, check_frames
from keepon import _sim

FAR = {
    "start_offset_ns": 50_000_000
}  # far beyond what is slewed: the first update steps every clock


@pytest.mark.parametrize("mode", ["ptp", "gptp"])
@pytest.mark.parametrize("bridges", [0, 1, 4])
def test_equal_crystals_and_fine_stamps_recover_the_offset_exactly(mode, bridges):
    """50 ns a link; every instant is a whole nanosecond, so nothing is rounded and residence times
    are exact.
    """
    chain = Chain(mode=mode, bridges=bridges, resolution_ns=1, turnaround_ns=777_000, sync=FAR).run(
        8
    )
    for node in chain.nodes[1:] if mode == "gptp" else chain.nodes[-1:]:
        clock = chain.sim.clock(node)
        assert np.abs(clock["offset_ps"]).max() > 20_000_000, (
            "the clocks started together: nothing was recovered"
        )
        assert not np.any(chain.offsets_ns(node, 4))
        assert clock["domains"][0]["steps"] == 1
    if mode == "gptp":
        delays = [
            port["delay_ps"] for node in chain.nodes for port in chain.sim.clock(node)["ports"]
        ]
        assert delays == [50_000] * (2 * (bridges + 1))
    else:
        # Store and forward of 64 bytes (delay: reference plane to reference plane) and 2 us in each
        # bridge.
        per_bridge_ps = (64 + 8) * 8_000 + 2_000_000
        assert (
            chain.sim.clock(chain.slave)["domains"][0]["delay_ps"]
            == (bridges + 1) * 50_000 + bridges * per_bridge_ps
        )


@pytest.mark.parametrize("mode", ["ptp", "gptp"])
@pytest.mark.parametrize("asymmetry_ns", [600, -600])
def test_an_asymmetric_link_shifts_the_clock_by_half_of_it(mode, asymmetry_ns):
    chain = Chain(mode=mode, bridges=0, resolution_ns=1, asymmetry_ns=asymmetry_ns, sync=FAR).run(6)
    assert set(chain.offsets_ns(chain.slave, 4)) == {-asymmetry_ns / 2}


def test_asymmetries_of_links_add_up():
    chain = Chain(bridges=2, resolution_ns=1, asymmetry_ns=100, sync=FAR).run(6)
    assert [set(chain.offsets_ns(node, 4)) for node in chain.nodes[1:]] == [
        {-50.0},
        {-100.0},
        {-150.0},
    ]


def test_the_neighbours_rate_is_measured_to_the_resolution_of_stamps():
    chain = Chain(bridges=3, ppm=(0.0, 80.0, -60.0, 25.0, -90.0)).run(30)
    rates = [0.0, 80e-6, -60e-6, 25e-6]
    for i in (1, 2):  # between bridges, whose counters run free
        ratio = chain.sim.clock(chain.nodes[i])["ports"][1]["rate_ratio"]
        # Two stamps of 8 ns each end of 8 s.
        assert ratio == pytest.approx((1 + rates[i + 1]) / (1 + rates[i]), abs=2.1e-9)
    assert chain.sim.clock(chain.slave)["ports"][0]["complete"] == 30


def test_rates_of_relays_do_not_get_into_the_residence_time():
    """10 ms in each of four bridges whose crystals are off by 100 ppm: 1 us each, were it not
    corrected.
    """
    chain = Chain(
        bridges=4, ppm=(0.0, 100.0, -100.0, 100.0, 100.0, 0.0), turnaround_ns=10_000_000
    ).run(30)
    # Resolution of 8 ns a stamp: four stamps a relay, two at either end, and link delays measured
    # by the same stamps.
    assert np.abs(chain.offsets_ns(chain.slave, 15)).max() < 30


@pytest.mark.parametrize("mode", ["ptp", "gptp"])
def test_a_chain_of_bridges_stays_within_the_resolution_of_its_stamps(mode):
    for seed in (1, 2, 3):
        chain = Chain(
            mode=mode,
            bridges=5,
            ppm=(0.0, 50.0, -40.0, 30.0, -20.0, 45.0, -50.0),
            wander=10.0,
            seed=seed,
        )
        chain.run(30)
        offsets = chain.offsets_ns(chain.slave, 15)
        assert np.abs(offsets).max() < 8 * 5
        assert offsets.std() < 8
        assert chain.sim.clock(chain.slave)["state"] == "locked"


@pytest.mark.parametrize(("mode", "relayed"), [("gptp", True), ("ptp", False)])
def test_messages_of_gptp_end_at_the_next_node_and_those_of_ptp_pass_through(mode, relayed):
    """L7: a relay sends messages of its own and passes none on; the clock at the end of the chain
    is set.
    """
    chain = Chain(mode=mode, bridges=3, ppm=(0.0, 50.0, -40.0, 30.0, -20.0)).run(20)
    assert np.abs(chain.offsets_ns(chain.slave, 15)).max() < 40
    flows = chain.sim.ptp_flows()
    for bridge in chain.nodes[1:-1]:
        forwarded = sum(port["forwarded"] for port in chain.sim.bridge(bridge)["ports"].values())
        own = sum(flow["on_wire"] for flow in flows if flow["talker"] == bridge)
        assert forwarded > 150
        assert own == (forwarded if relayed else 0)


def test_frames_have_the_lengths_of_the_standards_and_are_all_accounted_for():
    chain = Chain(bridges=2).run(20)
    delivered = check_frames(chain.sim)
    assert delivered["sync"] == delivered["follow-up"] == 3 * 160
    assert (
        delivered["pdelay-req"]
        == delivered["pdelay-resp"]
        == delivered["pdelay-resp-follow-up"]
        == 6 * 20
    )
    bytes_of = {
        flow["kind"]: flow["delivered_bytes"] // flow["delivered"]
        for flow in chain.sim.ptp_flows()
        if flow["delivered"]
    }
    assert bytes_of == {
        "sync": 64,
        "follow-up": 94,
        "pdelay-req": 72,
        "pdelay-resp": 72,
        "pdelay-resp-follow-up": 72,
    }
    end_to_end = Chain(mode="ptp", bridges=2).run(20)
    assert check_frames(end_to_end.sim) == {
        "sync": 160,
        "follow-up": 160,
        "delay-req": 19,
        "delay-resp": 19,
    }  # the first timer had no Sync yet


def test_equal_seeds_give_equal_clocks():
    one, two, other = (
        Chain(ppm=(0.0, 30.0, -30.0), wander=50.0, seed=seed).run(5) for seed in (4, 4, 5)
    )
    assert one.sim.trace_hash() == two.sim.trace_hash() != other.sim.trace_hash()
    for node in one.nodes:
        assert np.array_equal(one.sim.clock(node)["offset_ps"], two.sim.clock(node)["offset_ps"])
    assert one.sim.event_count < 5 * 4 * 250, "cost must follow the frames"


def test_domains_keep_time_of_their_own_without_setting_the_clock():
    """Domain 7 is the free-running counter of a bridge with +40 ppm; domain 0 disciplines (L8)."""
    sim = _sim.Simulation(3)
    bridge = sim.add_bridge("b", {"sync": "ptp", "ppm": 40.0})
    stations = [
        sim.add_station(name, {"driver": "launchtime", "sync": "ptp"}) for name in ("a", "c")
    ]
    for node in stations:
        sim.add_link(node, bridge, GIGABIT, 50)
    sim.set_sync({"domains": [(0, stations[0]), (7, bridge)]})
    sim.run(20 * SECOND)
    for node in stations:
        clock = sim.clock(node)
        own, virtual = clock["offset_ps"][500:], clock["domains"][7]["offset_ps"][500:]
        assert np.abs(own).max() < 20_000
        assert np.abs(virtual).max() < 30_000
        assert clock["domains"][7]["steps"] == 0
    assert sim.clock(bridge)["domains"][7]["grandmaster"]
    # The two times really drift apart: 40 ppm.
    times = np.array([10 * SECOND, 20 * SECOND]) * 1000
    assert np.diff(sim.network_time(times))[0] == 10 * SECOND * 1000


def test_gates_follow_the_clock_of_their_bridge():
    """A gate open for 100 us a millisecond: its frames arrive on network time although its crystal
    is off by 80 ppm.
    """
    sim = _sim.Simulation(2)
    bridge = sim.add_bridge("b", {"sync": "ptp", "ppm": 80.0})
    a, c = (sim.add_station(name, {"driver": "launchtime", "sync": "ptp"}) for name in "ac")
    for node in (a, c):
        sim.add_link(node, bridge, GIGABIT, 50)
    sim.set_gates(bridge, c, 0, [(0x5F, 500_000), (0x20, 100_000), (0x5F, 400_000)])
    sim.set_sync({"domains": [(0, a)]})
    flow = sim.add_stream(
        {
            "id": "x",
            "talker": a,
            "listeners": [c],
            "routes": [[bridge]],
            "period_ns": 1_000_000,
            "offset_ns": 300_000,
            "frame_bytes": 200,
            "queue": 5,
        }
    )
    sim.run(10 * SECOND)
    arrival = sim.frames(flow)["arrival_ps"][0]
    phase_ns = np.asarray(sim.network_time(arrival[5000:-1])) / 1000 % 1_000_000 - 500_000
    assert phase_ns.min() > 64 + 50 - 20
    assert phase_ns.max() < 64 + 50 + 20


WRONG = [
    ({"domains": []}, "domain 0"),
    ({"domains": [(3, 0)]}, "domain 0"),
    ({"domains": [(0, 0), (128, 1)]}, "domains = 128"),
    ({"domains": [(0, 0), (5, 1), (5, 2)]}, "5 is named twice"),
    ({"domains": [(0, 9)]}, "grandmaster = 9 is no linked node"),
    ({"domains": [(0, 2)], "mode": "ptp"}, "bridges are plain"),
    ({"domains": [(0, 0)], "interval_ns": -1}, "interval_ns = -1"),
    ({"domains": [(0, 0)], "servo": {"kind": "pid"}}, "kind"),
    (
        {"domains": [(0, 0)], "servo": {"pi_proportional_norm_max": 1.5}},
        "pi_proportional_norm_max = 1.5",
    ),
    ({"domains": [(0, 0)], "colour": 1}, "colour"),
]


@pytest.mark.parametrize(("spec", "words"), WRONG)
def test_wrong_synchronisation_is_named_and_changes_nothing(spec, words):
    sim = _sim.Simulation(1)
    a, c = (sim.add_station(name, {"driver": "launchtime", "sync": "ptp"}) for name in "ac")
    bridge = sim.add_bridge("b", {"sync": "ptp"})
    for node in (a, c):
        sim.add_link(node, bridge, GIGABIT, 50)
    with pytest.raises(ValueError, match=words) as caught:
        sim.set_sync(spec)
    assert "\n" not in str(caught.value)
    sim.set_sync({"domains": [(0, a)]})
    sim.run(SECOND)
    assert sim.clock(c)["domains"][0]["received"] >= 7


def test_slots_too_short_for_ptp_are_refused():
    def linked(**keepon):
        sim = _sim.Simulation(1)
        spec = {"driver": "keepon", "sync": "ptp", "keepon": {"slot_bytes": 92, **keepon}}
        a, c = sim.add_station("a", spec), sim.add_station("c", {"sync": "ptp"})
        sim.add_link(a, c, GIGABIT, 50)
        return sim, a, c

    sim, _, c = linked()
    with pytest.raises(
        ValueError, match=r"keepon\.slot_bytes = 92 leaves 84 bytes .* PTP needs 94"
    ):
        sim.set_sync({"domains": [(0, c)]})
    # but for those of which a message takes several
    sim, a, c = linked(frame_bytes_max=101)
    sim.set_sync({"domains": [(0, a)]})
    sim.run(SECOND)
    assert sim.clock(c)["domains"][0]["received"] >= 7


def test_a_clock_to_be_set_by_ptp_needs_a_master():
    sim = _sim.Simulation(1)
    a, c = (sim.add_station(name, {"sync": "ptp"}) for name in "ac")
    sim.add_link(a, c, GIGABIT, 50)
    with pytest.raises(ValueError, match=r"set_sync\(\)"):
        sim.run(SECOND)
