# SPDX-License-Identifier: BSD-3-Clause
"""Statistics, accounting and bound checks, on frame arrays made by hand."""

from __future__ import annotations

import dataclasses
import math
import statistics as reference
from fractions import Fraction

import numpy as np
import pytest
from helpers import bounds, frames
from hypothesis import example, given
from hypothesis import strategies as st
from keepon.errors import SimulationError
from keepon.measure import results
from keepon.measure.statistics import summary

NAMES = ["on_time", "moved", "best_effort", "sent_stale", "late", "occupied"]


@example([10**15 - 250, 10**15 - 250, 10**15 - 249])
@given(st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=200))
def test_statistics_equal_the_textbook(values: list[int]) -> None:
    got = summary(np.array(values, dtype=np.int64), 1000)
    ordered = sorted(values)
    assert (got["min"], got["max"], got["count"]) == (
        ordered[0] / 1000,
        ordered[-1] / 1000,
        len(values),
    )
    for name, share in (
        ("p50", Fraction(1, 2)),
        ("p99", Fraction(99, 100)),
        ("p9999", Fraction(9999, 10_000)),
    ):
        assert got[name] == ordered[math.ceil(share * len(values)) - 1] / 1000
    assert got["mean"] == pytest.approx(
        float(Fraction(sum(values), len(values)) / 1000), rel=1e-12, abs=1e-12
    )
    assert got["stddev"] == pytest.approx(reference.pstdev(values) / 1000, rel=1e-6, abs=1e-6)


def test_no_frames_give_no_numbers_rather_than_zero() -> None:
    got = summary(np.zeros(0, dtype=np.int64), 1000)
    assert got.pop("count") == 0
    assert set(got.values()) == {None}


def test_delay_is_from_schedule_to_delivery_and_stamps_are_kept_apart() -> None:
    got = results.quantities(frames([1_001_000, 1_003_000]))
    assert got["delay_ns"]["mean"] == 1002.0
    assert got["interarrival_ns"]["mean"] == 1_000_002.0
    assert got["listener"]["interarrival_ns"]["mean"] == 1_000_000.0


def test_every_frame_is_accounted_for() -> None:
    counts = results.accounting(frames([1000, None, 1000]), NAMES, {}, "F1")
    assert (counts["submitted"], counts["sent"], counts["delivered"], counts["in_flight"]) == (
        3,
        3,
        2,
        1,
    )
    counts = results.accounting(frames([1000, None, 1000]), NAMES, {"bridge": 1}, "F1")
    assert (counts["lost"], counts["in_flight"]) == ({"bridge": 1}, 0)


def test_a_frame_on_the_wire_without_a_verdict_is_sent_and_pending() -> None:
    counts = results.accounting(frames([1000, None], verdict=-1), NAMES, {}, "F1")
    assert (counts["submitted"], counts["pending"], sum(counts["verdicts"].values())) == (2, 2, 0)
    assert (counts["sent"], counts["delivered"], counts["in_flight"]) == (2, 1, 1)


def test_more_lost_than_sent_is_an_error() -> None:
    with pytest.raises(SimulationError, match="less than delivered"):
        results.accounting(frames([1000]), NAMES, {"bridge": 1}, "F1")


def test_a_refused_frame_on_the_wire_is_an_error() -> None:
    with pytest.raises(SimulationError, match="frame 0 was refused and yet on the wire"):
        results.accounting(frames([1000], verdict=NAMES.index("late")), NAMES, {}, "F1")


def test_a_frame_in_doubt_may_have_been_on_the_wire_or_not() -> None:
    names = [*NAMES, "in_doubt"]
    for arrival_ps, sent in ((1000, 1), (None, 0)):
        made = frames([arrival_ps], verdict=len(NAMES))
        made = made if sent else dataclasses.replace(made, wire_ps=np.array([-1]))
        counts = results.accounting(made, names, {}, "F1")
        assert (counts["sent"], counts["verdicts"]["in_doubt"], counts["pending"]) == (sent, 1, 0)


def test_a_sent_frame_that_never_was_on_the_wire_is_an_error() -> None:
    made = frames([None])
    made = dataclasses.replace(made, wire_ps=np.array([-1]))
    with pytest.raises(SimulationError, match="never on the wire"):
        results.accounting(made, NAMES, {}, "F1")


def test_an_arrival_without_sending_is_an_error() -> None:
    made = dataclasses.replace(frames([1000], verdict=-1), wire_ps=np.array([-1]))
    with pytest.raises(SimulationError, match="arrived without having been sent"):
        results.accounting(made, NAMES, {}, "F1")


def test_counts_that_differ_from_the_simulator_are_an_error() -> None:
    whole = {
        "submitted": 2, "on_wire": 2, "delivered": 2, "verdicts": {"on_time": 2}, "pending": 0,
        "lost": {},
        "in_flight": 0, "wrong_bytes": 0, "duplicates": 0, "ghosts": 0,
    }  # fmt: skip
    made = frames([1000, 1000])
    results.check_whole_run(made, NAMES, whole, "F1")
    wrong = {
        "delivered": 1, "pending": 1, "in_flight": 1, "wrong_bytes": 1, "duplicates": 2,
        "ghosts": 1, "on_wire": 3,
        "lost": {"bridge": 1}, "verdicts": {"on_time": 1, "moved": 1},
    }  # fmt: skip
    for key, value in wrong.items():
        with pytest.raises(SimulationError, match="F1"):
            results.check_whole_run(made, NAMES, {**whole, key: value}, "F1")


def test_a_missed_bound_is_found_with_its_frame() -> None:
    made = frames([1_000_000, 1_000_000, 1_002_001, 1_000_000])
    plan = bounds(delay_ns=1002, jitter_ns=2, release_error_ns=0)
    got = results.stream_result(made, NAMES, {}, plan, "F1", 1_000_000, None)
    assert got["bound_check"]["delay_ns"] == {
        "bound_ns": 1002, "worst_ns": 1002.001, "met": False, "outcome": "missed",
    }  # fmt: skip
    assert not got["bound_check"]["jitter_ns"]["met"]
    assert got["bound_check"]["release_error_ns"]["met"]
    assert got["first_bad"]["seq"] == got["worst"]["seq"] == 2


def test_a_bound_just_kept_is_kept() -> None:
    plan = bounds(delay_ns=1002, jitter_ns=2)
    got = results.stream_result(
        frames([1_000_000, 1_002_000]), NAMES, {}, plan, "F1", 1_000_000, 1002
    )
    assert all(check["met"] for check in got["bound_check"].values())
    assert got["first_bad"] is None
    assert got["outcome"] == "met"


def test_the_age_of_data_is_no_check_of_its_own() -> None:
    """It is the delay and a constant on both sides: it cannot fail where the delay does not."""
    got = results.bound_check(
        frames([1000, 1000]), bounds(delay_ns=1, data_age_ns=100_001), 1_000_000
    )
    assert list(got) == ["delay_ns"]


def test_a_missing_frame_spoils_a_run_whose_bounds_are_kept() -> None:
    got = results.stream_result(
        frames([1000, None]), NAMES, {}, bounds(delay_ns=1), "F1", 1_000_000, None
    )
    assert got["missing"] == 1
    assert got["first_bad"] == {
        "seq": 1,
        "txtime_ns": got["first_bad"]["txtime_ns"],
        "delay_ns": None,
    }
    assert got["outcome"] == "missed"


def test_a_frame_that_was_not_handed_over_cannot_have_ended() -> None:
    made = dataclasses.replace(frames([1000]), submit_ps=np.array([-1]))
    with pytest.raises(SimulationError, match="frame 0 was not handed over"):
        results.accounting(made, NAMES, {}, "F1")


def test_a_lost_frame_does_not_look_like_jitter() -> None:
    got = results.bound_check(frames([1000, None, 1000]), bounds(jitter_ns=5), 1_000_000)
    assert got == {
        "jitter_ns": {"bound_ns": 5, "worst_ns": None, "met": False, "outcome": "nothing checked"}
    }


def test_jitter_of_a_rate_is_counted_from_its_exact_period() -> None:
    made = frames([1000, 1000 + 208_334_000 - 1_000_000_000])
    got = results.bound_check(made, bounds(jitter_ns=0), Fraction(625_000, 3))
    assert got["jitter_ns"]["worst_ns"] == 0.667


def test_free_running_slots_are_counted_by_the_slot_a_frame_left_in() -> None:
    slot_ps, preamble_ps = 2_000_000, 64_000
    inside = results.slips(frames([1000] * 4, error_ps=preamble_ps), slot_ps, preamble_ps)
    assert (inside["in_wrong_slot"], inside["slip_count"]) == (0, 0)
    early = results.slips(frames([1000] * 4, error_ps=preamble_ps - slot_ps), slot_ps, preamble_ps)
    assert (early["in_wrong_slot"], early["slots_first"]) == (4, -1)
    made = frames([1000] * 4)
    drifting = dataclasses.replace(
        made, wire_ps=made.wire_ps + np.array([0, 900_000, 1_800_000, 2_700_000])
    )
    got = results.slips(drifting, slot_ps, preamble_ps)
    assert (got["in_wrong_slot"], got["slip_count"], got["slots_last"]) == (3, 2, 2)
    assert got["drift_ppm"] == pytest.approx(900, rel=1e-6)
