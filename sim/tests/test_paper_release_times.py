# SPDX-License-Identifier: BSD-3-Clause
"""What the paper claims of when frames leave: release errors, lead, window and delta."""

from __future__ import annotations

import numpy as np
import pytest
from keepon import _sim
from paper_links import (
    BATCH,
    EPOCH_NS,
    MS,
    PAPER,
    RING,
    SLOT_NS,
    errors_ns,
    one_link,
    stream,
    verdicts,
    wire_ps,
)

# -- when frames leave
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("driver", ["keepon", "standard"])
def test_a_later_call_with_an_earlier_time_leaves_first_and_in_time(driver):
    """A7, C27: absolute times in any order; the conventional driver keeps the order of calls and
    sends at once.
    """
    sim, a, b = one_link({"driver": driver, "keepon": {"slot_bytes": 1230, "batch_slots": 8}})
    late = stream(sim, a, b, id="late", offset_ns=500_064, advance_ns=250_000)
    early = stream(sim, a, b, id="early", offset_ns=400_064, advance_ns=120_000)
    sim.run(100 * MS)
    starts = wire_ps(sim, early)[:80] - wire_ps(sim, late)[:80]
    if driver == "keepon":
        assert (starts == -100_000_000).all()
        assert np.abs(errors_ns(sim, early)).max() <= 4.5
        assert np.abs(errors_ns(sim, late)).max() <= 4.5
    else:
        assert (starts > 0).all()
        assert errors_ns(sim, early).max() < -100_000


def test_release_errors_are_of_a_byte_and_not_of_a_comparator():
    """A32, I11: the same txtimes on slots of 5 us, which are no multiples of 32 ns."""
    spread = {}
    for driver in ("keepon", "launchtime"):
        sim, a, b = one_link(
            {"driver": driver, "nic_ppm": 0.0, "keepon": {"slot_bytes": 605, "batch_slots": 16}}
        )
        flow = stream(sim, a, b, period_ns=1_005_000)
        sim.run(200 * MS)
        assert len(errors_ns(sim, flow)) > 180
        spread[driver] = np.ptp(errors_ns(sim, flow))
        assert (np.diff(wire_ps(sim, flow)) % 8_000 == 0).all()
    assert spread["keepon"] == 0
    assert spread["launchtime"] == 24


# Slots of 2 us, of which the NIC has fetched one and a batch of two is behind it.
SHORT = {"driver": "keepon", "nic_ppm": 0.0,
         "keepon": {"slot_bytes": 230, "batch_slots": 2, "ring_slots": 128}}  # fmt: skip


def intervals_ps(**spec):
    sim, a, b = one_link(SHORT)
    flow = stream(sim, a, b, **spec)
    sim.run(300 * MS)
    return verdicts(sim, flow), np.diff(wire_ps(sim, flow))


@pytest.mark.parametrize("advance_us", [5, 10, 20, 30, 50])
def test_jitter_does_not_depend_on_the_advance_once_it_is_enough(advance_us):
    """I12, keepon.fig16a: at most 10 ns from 5 us on; with less, frames are late."""
    ended, intervals = intervals_ps(advance_ns=advance_us * 1000)
    assert list(ended) == ["on_time"]
    assert len(intervals) > 280
    assert (intervals == MS * 1000).all()


def test_an_advance_below_the_lead_is_late_and_not_inexact():
    assert list(intervals_ps(advance_ns=3_000)[0]) == ["late"]


@pytest.mark.parametrize("period_us", [20, 30, 50, 100])
def test_jitter_does_not_depend_on_the_period(period_us):
    """I13, keepon.fig16b: below 10 ns at 20 us."""
    ended, intervals = intervals_ps(
        advance_ns=100_000, period_ns=period_us * 1000, offset_ns=10_064
    )
    assert list(ended) == ["on_time"]
    assert len(intervals) > 280_000 // period_us
    assert (intervals == period_us * 1_000_000).all()


@pytest.mark.parametrize("ppm", [-37.0, 25.0])
def test_starts_are_on_the_byte_lattice_of_the_crystal(ppm):
    """A32: phase-locked to true time by whole bytes of a wire that runs at another rate."""
    sim, a, b = one_link(
        {"driver": "keepon", "nic_ppm": ppm, "keepon": {"slot_bytes": 1230, "batch_slots": 8}}
    )
    flow = stream(sim, a, b)
    sim.run(300 * MS)
    starts = wire_ps(sim, flow)[10:]

    def off_lattice_ps(byte_ps):
        phase = (starts - starts[0]) / byte_ps
        return np.abs(phase - np.round(phase)).max() * byte_ps

    assert off_lattice_ps(8_000 / (1 + ppm * 1e-6)) < 10
    assert off_lattice_ps(8_000) > 2_000
    assert np.abs(errors_ns(sim, flow)).max() <= 4.5


HOST_DELAYS = [
    ("wakeup", "sleep"),
    ("stack", "sleep"),
    ("driver", "etf"),
    ("timer", "etf"),
]


def mean_error_ns(driver, release, host, **spec):
    keepon = {"slot_bytes": 1230, "batch_slots": 8}
    sim, a, b = one_link(
        {"driver": driver, "release": release, "host": host, "keepon": keepon, **spec}
    )
    flow = stream(sim, a, b, advance_ns=400_000)
    sim.run(100 * MS)
    errors = errors_ns(sim, flow)
    assert len(errors) > 85
    return errors.mean()


@pytest.mark.parametrize(("stage", "release"), HOST_DELAYS)
def test_a_slower_host_moves_the_conventional_driver_only(stage, release):
    """A37: 20 us more in one stage of the host."""
    slow = {stage: {"base_ns": 20_000}}
    quick = {stage: {"base_ns": 0}}
    etf = {"etf_delta_ns": 150_000}
    moved = mean_error_ns("standard", release, slow, **etf) - mean_error_ns(
        "standard", release, quick, **etf
    )
    assert moved == pytest.approx(20_000, abs=1)
    own = "etf" if release == "etf" else "txtime"
    assert mean_error_ns("keepon", own, slow, **etf) == mean_error_ns("keepon", own, quick, **etf)


@pytest.mark.parametrize("driver", ["keepon", "launchtime", "standard"])
def test_etf_before_it_times_the_conventional_driver_and_only_buffers_for_the_others(driver):
    """F12: three configurations, a timer of varying latency in all of them."""
    host = {"timer": {"base_ns": 1_000, "median_ns": 4_000, "sigma": 0.6, "cap_ns": 40_000}}
    keepon = {"slot_bytes": 1230, "batch_slots": 8}
    sim, a, b = one_link(
        {
            "driver": driver,
            "release": "etf",
            "etf_delta_ns": 150_000,
            "host": host,
            "keepon": keepon,
        }
    )
    flow = stream(sim, a, b, advance_ns=400_000)
    sim.run(200 * MS)
    spread_ns = np.ptp(errors_ns(sim, flow))
    assert len(errors_ns(sim, flow)) > 185
    if driver == "standard":
        assert spread_ns > 5_000
        assert errors_ns(sim, flow).mean() < -130_000
    else:
        assert spread_ns == 0


# -- lead, window and delta
# --------------------------------------------------------------------------------------------


def with_lead(lead_ns, **spec):
    """Verdicts of frames that reach the driver so long before the start of their slot."""
    sim, a, b = one_link({"driver": "keepon", "keepon": PAPER, **spec})
    flow = stream(sim, a, b, offset_ns=500_000, advance_ns=lead_ns)
    sim.run(100 * MS)
    assert sim.stream(flow)["submitted"] > 85
    return verdicts(sim, flow)


def test_a_frame_needs_a_batch_of_lead_and_less_than_the_ring():
    """C4, C7: paper mode; a batch is 80 us, the ring 320 us, each refusal has its own verdict."""
    assert list(with_lead(BATCH * SLOT_NS - SLOT_NS)) == ["late"]
    assert list(with_lead(BATCH * SLOT_NS + 2 * SLOT_NS)) == ["on_time"]
    assert list(with_lead((RING - BATCH - 2) * SLOT_NS)) == ["on_time"]
    assert list(with_lead((RING + 2) * SLOT_NS)) == ["too_early"]


@pytest.mark.parametrize("latency_ns", [0, 30_000])
def test_delta_must_cover_latency_and_lead_and_stay_below_the_ring(latency_ns):
    """F9, F17: ETF in front, no pre-buffer behind it."""

    def of(delta_ns):
        host = {"timer": {"base_ns": latency_ns}}
        sim, a, b = one_link(
            {
                "driver": "keepon",
                "release": "etf",
                "etf_delta_ns": delta_ns,
                "host": host,
                "keepon": PAPER,
            }
        )
        flow = stream(sim, a, b, offset_ns=500_000, advance_ns=600_000)
        sim.run(100 * MS)
        return list(verdicts(sim, flow))

    assert of(BATCH * SLOT_NS + latency_ns - SLOT_NS) == ["late"]
    for delta_ns in range(
        BATCH * SLOT_NS + latency_ns + 2 * SLOT_NS, (RING - BATCH) * SLOT_NS, 25_000
    ):
        assert of(delta_ns) == ["on_time"], delta_ns
    assert of((RING + 2) * SLOT_NS + latency_ns) == ["too_early"]


def test_37_seconds_between_the_clocks_leave_no_frame_in_the_window():
    """C30: a txtime in TAI on a clock of UTC, and calls that come after their txtimes by
    as much.
    """
    tai_ns = 37_000_000_000
    for lead_ns, name in ((150_000 + tai_ns, "too_early"), (150_000, "on_time")):
        sim, a, b = one_link({"driver": "keepon", "keepon": PAPER})
        flow = stream(sim, a, b, advance_ns=lead_ns, start_ns=tai_ns + MS)
        sim.run(tai_ns + 100 * MS)
        assert list(verdicts(sim, flow)) == [name]
    sim, a, b = one_link({"driver": "keepon", "keepon": PAPER})
    flow = stream(sim, a, b, period_ns=100 * MS)
    sim.add_fault("late-submit", a, 500 * MS, tai_ns)
    sim.run(tai_ns + 1000 * MS)
    frames = sim.frames(flow)
    behind = frames["submit_ps"] // 1000 > frames["txtime_ns"] - EPOCH_NS
    assert np.count_nonzero(behind) > 300  # the caller was held up, and all its frames with it
    names = _sim.verdict_names()
    assert {names[number] for number in frames["verdict"][behind]} == {"late"}
    assert names[frames["verdict"][0]] == names[frames["verdict"][-2]] == "on_time"
