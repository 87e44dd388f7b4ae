# SPDX-License-Identifier: BSD-3-Clause
"""Faults of synchronisation: lost Sync, another master, steps, stalls; servos and the filter of
rates.
"""

from __future__ import annotations

import numpy as np
import pytest
from clock_networks import GIGABIT, HOST, SECOND, Chain, check_frames
from keepon import _sim

CRYSTALS = (0.0, 40.0, -30.0, 50.0)


def worst_ns(net, node, start_s, end_s):
    return float(np.abs(net.offsets_ns(node, start_s, end_s)).max())


def test_lost_syncs_are_counted_and_the_clock_holds_its_rate():
    net = Chain(ppm=CRYSTALS, wander=10.0)
    net.sim.add_fault("lost-sync", net.slave, 10 * SECOND, 5 * SECOND)
    net.run(30)
    own = net.sim.clock(net.slave)["domains"][0]
    assert own["lost"] == 40  # eight a second
    assert own["received"] == 200
    lost = [flow["lost"] for flow in net.sim.ptp_flows() if flow["lost"]]
    assert lost == [{"lost-sync fault": 40}, {"lost-sync fault": 40}]
    check_frames(net.sim)
    # Crystals wander by 10 ppb/s at most, so 5 s cost 125 ns at most; afterwards all is as before.
    assert 10 < worst_ns(net, net.slave, 10, 15.1) < 150
    assert worst_ns(net, net.slave, 20, 30) < 15
    assert net.sim.clock(net.slave)["domains"][0]["steps"] == 1


def test_a_cut_link_loses_syncs_and_delay_requests_alike():
    net = Chain(ppm=CRYSTALS)
    net.sim.add_fault("link-down", net.slave, 10 * SECOND, 2 * SECOND)
    net.run(20)
    own = net.sim.clock(net.slave)
    assert 15 <= own["domains"][0]["lost"] <= 17
    assert own["ports"][0]["lost"] == 2
    assert worst_ns(net, net.slave, 15, 20) < 15
    check_frames(net.sim)


@pytest.mark.parametrize("mode", ["ptp", "gptp"])
def test_a_change_of_master_moves_network_time_and_everybody_follows(mode):
    sim = _sim.Simulation(6)
    spec = {"sync": "ptp"} if mode == "gptp" else {}
    bridges = [sim.add_bridge(f"b{i}", {"ppm": 30.0 * i, **spec}) for i in range(2)]
    stations = [
        sim.add_station(f"s{i}", {"driver": "launchtime", "sync": "ptp", "nic_ppm": 25.0 * (i - 1)})
        for i in range(3)
    ]
    sim.add_link(bridges[0], bridges[1], GIGABIT, 50)
    for i, node in enumerate(stations):
        sim.add_link(node, bridges[i % 2], GIGABIT, 50)
    sim.set_sync(
        {"mode": mode, "domains": [(0, stations[0])], "changes": [(25 * SECOND, stations[1])]}
    )
    sim.run(50 * SECOND)
    clocks = [sim.clock(node) for node in stations]
    at_s = clocks[0]["at_ps"] / 1e12
    for clock in clocks:
        for start, end in ((20, 25), (40, 50)):
            offsets = clock["offset_ps"][(at_s > start) & (at_s < end)] / 1000
            assert np.abs(offsets).max() < 60
    # Delays to the old master are forgotten: the ways differ by a bridge, 2.6 us.
    settling = (at_s > 25) & (at_s < 35)
    assert max(np.abs(clock["offset_ps"][settling]).max() for clock in clocks) < 500_000
    before, after = (
        [bool(np.all(clock["offset_ps"][part] == 0)) for clock in clocks]
        for part in (at_s < 25, at_s > 25.001)
    )
    assert before == [True, False, False]
    assert after == [False, True, False]
    # The new master goes on at the rate it had learnt: network time does not jump or turn.
    times = np.arange(24_900, 25_100) * 10**9
    steps = np.diff(np.asarray(sim.network_time(times)))
    assert np.abs(steps - 10**9).max() < 100_000
    assert clocks[1]["domains"][0]["sent"] > 180
    check_frames(sim)


@pytest.mark.parametrize("driver", ["launchtime", "keepon", "standard"])
def test_a_stepped_clock_is_brought_back(driver):
    gains = {
        "servo": {
            "pi_proportional_scale": 0.7,
            "pi_integral_scale": 0.3,
            "step_threshold_ns": 20_000,
        }
    }
    net = Chain(slave=driver, ppm=CRYSTALS, sync=gains)
    net.sim.add_fault("clock-step", net.slave, 20 * SECOND, 1_000_000)
    net.run(45)
    assert worst_ns(net, net.slave, 20.01, 20.1) > 900_000
    assert worst_ns(net, net.slave, 40, 45) < 3_000
    assert net.sim.clock(net.slave)["domains"][0]["steps"] == 2


def test_a_stall_of_polls_disturbs_the_phc_until_the_servo_has_seen_it():
    net = Chain(slave="keepon", ppm=CRYSTALS, host=HOST)
    net.sim.add_fault("poll-stall", net.slave, 30 * SECOND, 20_000_000)
    net.run(60)
    station = net.sim.station(net.slave)
    assert station["counters"]["underruns"] >= 1
    assert worst_ns(net, net.slave, 45, 60) < 6_000
    check_frames(net.sim)


@pytest.mark.parametrize("servo", ["pi", "linreg", "ratio"])
def test_every_servo_holds_a_clock_with_hardware_stamps(servo):
    net = Chain(ppm=CRYSTALS, wander=10.0, sync={"servo": {"kind": servo}}).run(40)
    offsets = net.offsets_ns(net.slave, 20)
    assert np.abs(offsets).max() < (20 if servo != "ratio" else 40)
    steps = net.sim.clock(net.slave)["domains"][0]["steps"]
    assert steps == 1 if servo != "ratio" else steps > 300


def test_the_moving_average_of_ten_rates_makes_the_drift_smaller():
    """H11, H12: jitter of software stamps, offsets stepped away at every Sync, so what is left is
    drift.
    """
    spread = {}
    for samples in (0, 10):
        servo = {"kind": "ratio", "filter_samples": samples}
        net = Chain(
            slave="standard",
            host=HOST,
            ppm=(0.0, 1.0),
            sync={"servo": servo, "interval_ns": 100_000_000},
        )
        net.run(60)
        at_s = net.sim.clock(net.slave)["at_ps"] / 1e12
        spread[samples] = float(np.std(net.sim.clock(net.slave)["scaled_ppm"][at_s > 10] / 65.536))
    assert spread[10] < spread[0] / 5


def test_wrong_faults_are_named():
    net = Chain()
    with pytest.raises(ValueError, match="lost-sync at 5 ns for -1 ns"):
        net.sim.add_fault("lost-sync", net.slave, 5, -1)
    with pytest.raises(ValueError, match="kind"):
        net.sim.add_fault("master-change", net.slave, 5, 0)
    plain = Chain(mode="ptp")
    with pytest.raises(ValueError, match="lost-sync needs a node that PTP synchronises"):
        plain.sim.add_fault("lost-sync", plain.nodes[1], 5, 1)
