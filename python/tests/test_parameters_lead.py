# SPDX-License-Identifier: BSD-3-Clause
"""The lead time in the simulator: with it no frame is late, a slot and some reads less and every
one is.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from keepon import _sim
from keepon.model import hosts
from keepon.model.scenario import Station
from keepon.model.wire import byte_time_ps, preamble_time_ps, wire_time_ps
from keepon.planner.parameters import lead, polls
from keepon.planner.parameters.hardware import Host, Nic
from keepon.planner.parameters.polls import Posting

GIGABIT = 1_000_000_000
FRAMES = 40
START_NS = 15_000_000
TRIM_BYTES = 8
TICKS_NS = [1, 19, 52]  # of a PC; 18.5 rounded up, of a Raspberry Pi 4; of 19.2 MHz


def posting(rate_bps: int, slot_bytes: int, batch: int, depth: int, locked: bool) -> Posting:
    slot_ps = wire_time_ps(slot_bytes, rate_bps)
    overhead_ns = polls.auto_overhead_ns(batch, depth, slot_ps)
    trim_ps = TRIM_BYTES * byte_time_ps(rate_bps) if locked else 0
    return Posting(slot_ps, slot_ps - trim_ps, batch, depth, overhead_ns, locked)


def verdicts(
    asked: Posting, rate_bps: int, advance_ns: int, seed: int, nic: Nic, ppm: float = 0.0
) -> dict[str, int]:
    """Verdicts of one stream on a host without latency, handed over that long before its
    txtimes.
    """
    simulation = _sim.Simulation(seed)
    keepon: dict[str, Any] = {
        "slot_bytes": asked.slot_ps // byte_time_ps(rate_bps) - 20,
        "batch_slots": asked.batch_slots,
        "depth_slots": asked.depth_slots,
        "ring_slots": 1024,
        "mode": "phase-locked" if asked.locked else "paper",
        "poll_overhead_ns": asked.poll_overhead_ns,
        "trim_down_bytes": TRIM_BYTES,
        "trim_up_bytes": TRIM_BYTES,
    }
    ring = {
        "prefetch_slots": nic.prefetch_slots, "index_read_ns": nic.index_read_ns,
        "index_lag_ns_min": 0, "index_lag_ns_max": nic.index_lag_ns, "restart_ns": nic.restart_ns,
        "restart_ns_max": nic.restart_ns,
    }  # fmt: skip
    talker = simulation.add_station(
        "a",
        {
            "driver": "keepon",
            "keepon": keepon,
            "nic": ring,
            "nic_ppm": ppm,
            "cpu_tick_ns": nic.cpu_tick_ns,
        },
    )
    listener = simulation.add_station("b", {})
    simulation.add_link(talker, listener, rate_bps, 50)
    # A period that is a multiple of the slot and of a whole number of ns, and no multiple of the
    # batch.
    step_ps = math.lcm(asked.slot_ps, 1000)
    period_ns = step_ps // 1000 * max(1, 97 * asked.slot_ps // step_ps)
    stream = {
        "id": "x", "talker": talker, "listeners": [listener], "period_ns": period_ns,
        "frame_bytes": 64, "tc": 0,
        "offset_ns": -(-preamble_time_ps(rate_bps) // 1000), "advance_ns": advance_ns,
        "start_ns": START_NS + advance_ns,
    }  # fmt: skip
    flow = simulation.add_stream(stream)
    simulation.run(START_NS + advance_ns + FRAMES * period_ns)
    assert simulation.station(talker)["nic"]["underruns"] == 0
    counts = simulation.stream(flow)["verdicts"]
    return {name: count for name, count in counts.items() if count}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([100_000_000, GIGABIT, 2_500_000_000]),
    st.sampled_from([105, 230, 605, 1230]),
    st.sampled_from([1, 4, 16, 64]),
    st.booleans(),
    st.sampled_from(
        [Nic(), Nic(prefetch_slots=1, index_read_ns=200), Nic(prefetch_slots=5, index_lag_ns=3_000)]
    ),
    st.sampled_from(TICKS_NS),
    st.sampled_from([0.0, 80.0, -80.0]),
    st.integers(0, 2**32),
)
def test_with_the_lead_time_no_frame_is_late_and_below_it_every_one(
    rate_bps: int,
    slot_bytes: int,
    batch: int,
    locked: bool,
    nic: Nic,
    tick_ns: int,
    ppm: float,
    seed: int,
) -> None:
    nic = dataclasses.replace(nic, cpu_tick_ns=tick_ns)
    asked = posting(rate_bps, slot_bytes, batch, 400 if locked else batch, locked)
    assume(
        polls.can_fetch(asked.slot_ps_min, nic) and polls.slack_ns(asked, nic) >= nic.index_lag_ns
    )
    lead_ns = lead.lead_time_ns(asked, rate_bps, TRIM_BYTES if locked else 0, nic)
    assert set(verdicts(asked, rate_bps, lead_ns, seed, nic, ppm)) == {"on_time"}
    # What lies between is what a reading leaves open, which more readings narrow; in paper mode the
    # phase as well.
    slots = lead.lead_slots(asked, nic) - 1
    below_ns = (
        slots * asked.slot_ps // 1000 + preamble_time_ps(rate_bps) // 1000 - TRIM_BYTES * 80 - 1
    )
    assert below_ns < lead_ns
    assume(below_ns > 0)
    assert set(verdicts(asked, rate_bps, below_ns, seed, nic, ppm)) == {"late"}


def test_what_is_more_than_needed_is_a_slot_and_three_reads() -> None:
    """The bracket of the test above is tight: nothing else is in it but drift, trims and
    a quantum.
    """
    for rate_bps, slot_bytes, batch in (
        (GIGABIT, 230, 8),
        (GIGABIT, 1230, 8),
        (100_000_000, 1230, 4),
    ):
        asked = posting(rate_bps, slot_bytes, batch, 400, True)
        lead_ns = lead.lead_time_ns(asked, rate_bps, TRIM_BYTES)
        slot_ns, byte_ns = asked.slot_ps // 1000, byte_time_ps(rate_bps) // 1000
        least_ns = 2 * slot_ns + 8 * byte_ns
        drift_ns = 2 * 200_000 * (polls.interval_ns(asked) + 800) // 10**9
        assert (
            0
            <= lead_ns - least_ns - slot_ns - 3 * 800 - drift_ns - (TRIM_BYTES + 1) * byte_ns - 2
            <= 3
        )


@pytest.mark.parametrize("tick_ns", TICKS_NS)
def test_a_coarse_cpu_counter_needs_two_ticks_more(tick_ns: int) -> None:
    """Slots of 74 ns and reads that take no time: but for most of a slot, which many readings
    narrow, ticks decide.
    """
    asked = posting(10 * GIGABIT, 72, 8, 900, True)
    nic = Nic(prefetch_slots=20, index_read_ns=0, fetch_ns=100, cpu_tick_ns=tick_ns)
    narrowed_ns = 60
    lead_ns = lead.lead_time_ns(asked, 10 * GIGABIT, TRIM_BYTES, nic)
    for seed in range(3):
        assert set(verdicts(asked, 10 * GIGABIT, lead_ns - narrowed_ns, seed, nic, 80.0)) == {
            "on_time"
        }
    fine_ns = lead.lead_time_ns(
        asked, 10 * GIGABIT, TRIM_BYTES, dataclasses.replace(nic, cpu_tick_ns=1)
    )
    assert lead_ns - fine_ns == 2 * (tick_ns - 1)
    if tick_ns == max(TICKS_NS):
        assert "late" in verdicts(asked, 10 * GIGABIT, fine_ns - narrowed_ns, 3, nic, 80.0)


def test_the_case_that_made_every_frame_late_is_below_the_lead_time() -> None:
    """100 Mb/s and 100 us: slots of 40 us leave the driver 80 us, the host takes the rest."""
    asked = posting(100_000_000, 480, 2, 24, True)
    way_ns = hosts.HOSTS["raspberry-pi-4"].driver["keepon"].usual_ns
    assert lead.lead_time_ns(asked, 100_000_000, TRIM_BYTES) + way_ns > 100_000
    assert set(verdicts(asked, 100_000_000, 80_000, 1, Nic())) == {"late"}


@pytest.mark.parametrize("batch", [4, 8, 16])
def test_in_paper_mode_the_lead_is_a_batch_and_in_ours_what_is_fetched(batch: int) -> None:
    """G2: L_min = batch x slot time, the phase and what a reading leaves open; ours does not grow
    with the batch.
    """
    slot_ns = 10_000
    paper = lead.lead_time_ns(posting(GIGABIT, 1230, batch, batch, False), GIGABIT)
    # A batch less the slot in progress, a slot of phase, and the slot that one reading leaves open.
    assert (batch + 1) * slot_ns < paper < (batch + 1) * slot_ns + 3_000
    assert lead.lead_slots(posting(GIGABIT, 1230, batch, 200, True)) == 3
    assert (
        lead.lead_time_ns(posting(GIGABIT, 1230, batch, 200, True), GIGABIT, 8)
        < 3 * slot_ns + 3 * 1_000
    )


# -- the host
# --------------------------------------------------------------------------------------------------


def test_stages_of_the_host_add_up() -> None:
    host = Host(hosts.HOSTS["raspberry-pi-4"].stages("keepon"), 1, "test")
    way = lead.hand_over(Station(name="a"), host)
    assert way is not None
    stages = hosts.HOSTS["raspberry-pi-4"].stages("keepon")
    body = [
        min(math.ceil(stage.median_ns * math.exp(3 * stage.sigma)), stage.limit_ns or 10**9)
        for stage in (stages[name] for name in ("wakeup", "stack", "driver"))
    ]
    assert way.usual_ns == sum(body)
    assert way.worst_ns == stages["wakeup"].cap_ns + sum(body[1:])
    assert lead.hand_over(Station(name="a", release="sleep"), host) is None
    behind = lead.hand_over(Station(name="a", release="etf", etf_delta_ns=60_000), host)
    assert behind is not None and behind.limit_ns == 60_000
    assert behind.limited_ns == body[0] + body[2]


def test_the_tail_makes_frames_late_with_the_probability_of_the_model() -> None:
    host = Host(hosts.HOSTS["raspberry-pi-4"].stages("keepon"), 1, "test")
    way = lead.hand_over(Station(name="a"), host)
    assert way is not None
    spare = [
        lead.late_probability(way.usual_ns + 10_000 + margin, 10_000, way, host)
        for margin in (0, 20_000, 100_000)
    ]
    assert spare[0] == pytest.approx(1e-4)
    assert spare[1] == pytest.approx(1e-4 * math.exp(-1))
    assert spare[2] == 0.0
