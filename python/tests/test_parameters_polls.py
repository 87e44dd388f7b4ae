# SPDX-License-Identifier: BSD-3-Clause
"""How often the ring must be filled, against the core in the simulator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from keepon import _sim
from keepon.model.wire import wire_time_ps
from keepon.planner.parameters import (
    hardware,
    polls,
)
from keepon.planner.parameters.polls import Posting
from station_cases import GIGABIT, posting

# -- polls
# --------------------------------------------------------------------------------------------------


def simulated(asked: Posting, ms: int, late_ns: int = 0) -> dict[str, Any]:
    """A station of the simulator with these values after some milliseconds; one poll of ten
    `late_ns` late.
    """
    simulation = _sim.Simulation(1)
    poll = {"tail_probability": 0.1, "tail_mean_ns": 10**9, "cap_ns": late_ns} if late_ns else {}
    keepon = {
        "slot_bytes": asked.slot_ps // 8000 - 20,
        "batch_slots": asked.batch_slots,
        "depth_slots": asked.depth_slots,
        "ring_slots": 512,
        "mode": "phase-locked" if asked.locked else "paper",
        "poll_overhead_ns": asked.poll_overhead_ns,
        "trim_down_bytes": 8,
        "trim_up_bytes": 8,
        "dither": late_ns > 0,
    }
    node = simulation.add_station(
        "a", {"driver": "keepon", "keepon": keepon, "host": {"poll": poll}}
    )
    other = simulation.add_station("b", {})
    simulation.add_link(node, other, GIGABIT, 50)
    simulation.run(ms * 1_000_000)
    return dict(simulation.station(node))


@pytest.mark.parametrize(
    "asked",
    [
        posting(230, 16, 200),
        posting(230, 100, 120),
        posting(1230, 8, 9),
        posting(1230, 8, 200, overhead_ns=15_000),
        posting(300, 16, 16, locked=False, overhead_ns=20_480),
    ],
)
def test_the_interval_between_polls_is_that_of_the_core(asked: Posting) -> None:
    station = simulated(asked, 50)
    interval_ns = 50_000_000 / station["counters"]["polls"]
    # In the simulator a poll lasts as long as it reads the index: once, or twice where it restarts.
    assert 0 < interval_ns - polls.interval_ns(asked) < 2 * hardware.NIC.index_read_ns
    assert (station["nic"]["underruns"] == 0) == (polls.slack_ns(asked) >= 0)


@given(
    st.sampled_from([105, 230, 605, 1230]),
    st.integers(1, 64),
    st.integers(0, 40),
    st.booleans(),
    st.integers(0, 2),
)
@settings(max_examples=25, deadline=None)
def test_the_wire_runs_where_polls_have_slack_and_dries_up_where_they_lack_a_slot_and_a_restart(
    slot_bytes: int, batch: int, more: int, locked: bool, quarters: int
) -> None:
    depth = batch + more if locked else batch
    asked = posting(slot_bytes, batch, depth, locked)
    asked = posting(slot_bytes, batch, depth, locked, asked.batch_ns * quarters // 4)
    assume(polls.is_accepted(asked))
    slack_ns = polls.slack_ns(asked)
    underruns = simulated(asked, 5)["nic"]["underruns"]
    if slack_ns >= 0:
        assert underruns == 0
    elif (
        slack_ns
        < -(asked.slot_ps // 1000) - 2 * hardware.NIC.index_read_ns - hardware.NIC.restart_ns
    ):
        assert underruns > 0


@pytest.mark.parametrize(("batch", "depth"), [(8, 64), (8, 20), (32, 100), (1, 30)])
def test_a_poll_may_be_as_late_as_stated_and_not_much_later(batch: int, depth: int) -> None:
    """Where depth is three batches, a dithered poll may have left posting to the one that comes
    late.
    """
    asked = posting(1230, batch, depth)
    slack_ns = polls.slack_ns(asked)
    assert simulated(asked, 500, slack_ns)["nic"]["underruns"] == 0
    assert simulated(asked, 500, slack_ns + 2 * 10_000)["nic"]["underruns"] > 0


def test_a_wire_that_polls_cannot_keep_busy_exists() -> None:
    assert polls.slack_ns(posting(230, 1, 1, locked=False)) < 0
    assert simulated(posting(230, 1, 1, locked=False), 5)["nic"]["underruns"] > 0


@pytest.mark.parametrize(
    ("slot_bytes", "fetched"), [(105, False), (230, False), (488, True), (605, True)]
)
def test_slots_shorter_than_the_nic_can_fetch_let_the_wire_run_dry(
    slot_bytes: int, fetched: bool
) -> None:
    rate_bps = 10_000_000_000
    slot_ps = wire_time_ps(slot_bytes, rate_bps)
    assert polls.can_fetch(slot_ps - 8 * 800) is fetched
    simulation = _sim.Simulation(1)
    keepon = {
        "slot_bytes": slot_bytes, "batch_slots": 32, "depth_slots": 800, "ring_slots": 1024,
        "trim_down_bytes": 8, "trim_up_bytes": 8,
    }  # fmt: skip
    node, other = (
        simulation.add_station("a", {"driver": "keepon", "keepon": keepon}),
        simulation.add_station("b", {}),
    )
    simulation.add_link(node, other, rate_bps, 50)
    simulation.run(2_000_000)
    assert (simulation.station(node)["nic"]["underruns"] == 0) is fetched


def test_defaults_of_the_nic_are_those_of_the_simulator() -> None:
    config = simulated(posting(230, 8, 64), 1)["config"]
    assert config["lead_slots"] == hardware.NIC.prefetch_slots + 1
    assert config["drift_ppb_max"] == hardware.NIC.drift_ppb
