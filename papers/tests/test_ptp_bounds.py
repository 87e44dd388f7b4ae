# SPDX-License-Identifier: BSD-3-Clause
"""Eq. 3 to 6 of the KeepON paper (section A.9): hand-computed values, and formulas against every
corner.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepon.errors import ConfigError
from keepon.planner.parameters.synchronisation import StampErrors, delta_ts, g_eff
from keepon_papers import stampbounds as bounds

INTERVAL_NS = 100_000_000

TIMES = st.integers(0, 20_000)
ERRORS = st.builds(StampErrors, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES)
RATIOS = st.integers(-1000, 1000).map(lambda ppm: 1 + Fraction(ppm, 1_000_000))
MIXED = StampErrors(
    g_master=10, g_slave=6, j_master_out=1, j_master_in=2, j_slave_out=4, j_slave_in=8
)


def test_ranges_are_half_a_granule_either_way_and_the_delay_above() -> None:
    assert bounds.ranges(MIXED) == ((-5, 6), (-3, 11), (-3, 7), (-5, 7))


def test_offset_error_is_half_of_what_the_two_directions_differ_by() -> None:
    assert bounds.offset_error(1, 0, 0, 0) == Fraction(-1, 2)
    assert bounds.offset_error(0, 1, 0, 0) == Fraction(1, 2)
    assert bounds.offset_error(0, 0, 1, 0) == Fraction(1, 2)
    assert bounds.offset_error(0, 0, 0, 1) == Fraction(-1, 2)
    assert bounds.offset_error(3, 10, 4, 5) == 3


def test_bound_of_the_offset_by_hand() -> None:
    # (10 + 6 + max(2 + 1, 8 + 4)) / 2
    assert delta_ts(MIXED) == 14
    assert delta_ts(StampErrors(j_master_in=2, j_master_out=5, j_slave_in=1)) == Fraction(7, 2)


@given(ERRORS)
def test_bound_of_the_offset_is_attained_and_never_exceeded(errors: StampErrors) -> None:
    assert bounds.brute_delta_ts(errors) == delta_ts(errors)


@pytest.mark.slow
@given(ERRORS, st.lists(st.fractions(0, 1), min_size=4, max_size=4))
def test_no_point_within_the_ranges_exceeds_the_bound_of_the_offset(
    errors: StampErrors, at: list[Fraction]
) -> None:
    points = [
        low + (high - low) * share
        for (low, high), share in zip(bounds.ranges(errors), at, strict=True)
    ]
    assert abs(bounds.offset_error(*points)) <= delta_ts(errors)


def test_measured_ratio_by_hand() -> None:
    assert bounds.measured_ratio(1000, 1000, 10, -10) == Fraction(1010, 990)
    assert bounds.measured_ratio(2000, 1000, 0, 0) == 2


def test_drift_bounds_by_hand() -> None:
    errors = StampErrors(g_master=20, g_slave=5, j_master_out=10, j_slave_in=15)
    # E_M = 30, E_S = 20, I = 1020: printed max(20/1000, 30/1040), corrected 50/1000, of 1020.
    assert bounds.drift_printed(errors, 1020) == 1020 * Fraction(30, 1040)
    assert bounds.drift_corrected(errors, 1020) == 51
    assert bounds.brute_drift(errors, 1020) == (-1020 * Fraction(50, 1040), 51)


def test_stamps_that_the_ratio_does_not_use_do_not_count() -> None:
    quiet = StampErrors(g_master=20, g_slave=5)
    assert bounds.drift_corrected(StampErrors(20, 5, 0, 99, 99, 0), 1020) == bounds.drift_corrected(
        quiet, 1020
    )


@given(ERRORS, RATIOS, RATIOS)
def test_corrected_bound_of_the_drift_is_attained_and_never_exceeded(
    errors: StampErrors, ratio: Fraction, rho_slave: Fraction
) -> None:
    low, high = bounds.brute_drift(errors, INTERVAL_NS, ratio, rho_slave)
    assert high == bounds.drift_corrected(errors, INTERVAL_NS, ratio, rho_slave)
    assert -low <= high


@pytest.mark.slow
@given(ERRORS, st.lists(st.fractions(0, 1), min_size=4, max_size=4))
def test_no_point_within_the_ranges_exceeds_the_corrected_drift(
    errors: StampErrors, at: list[Fraction]
) -> None:
    first, second, _, _ = bounds.ranges(errors)
    spans = zip((first, first, second, second), at, strict=True)
    e1, e1_next, e2, e2_next = (low + (high - low) * share for (low, high), share in spans)
    ratio = bounds.measured_ratio(INTERVAL_NS, INTERVAL_NS, e1_next - e1, e2_next - e2)
    assert INTERVAL_NS * abs(ratio - 1) <= bounds.drift_corrected(errors, INTERVAL_NS)


@given(ERRORS)
def test_printed_drift_bound_is_too_small_wherever_both_clocks_have_errors(
    errors: StampErrors,
) -> None:
    printed, corrected = (
        formula(errors, INTERVAL_NS) for formula in (bounds.drift_printed, bounds.drift_corrected)
    )
    if errors.span_master and errors.span_slave:
        assert printed < max(map(abs, bounds.brute_drift(errors, INTERVAL_NS)))
    else:
        assert printed == corrected


def test_printed_drift_bound_is_half_of_what_occurs_with_equal_errors() -> None:
    errors = bounds.alike(2560, 1000)
    occurs = max(map(abs, bounds.brute_drift(errors, INTERVAL_NS)))
    assert occurs / bounds.drift_printed(errors, INTERVAL_NS) == 2


def test_granularity_of_a_batch_makes_the_bound_a_straight_line() -> None:
    at = [delta_ts(bounds.alike(g_eff(batch, 2560), 0)) for batch in range(1, 101)]
    assert all(value == batch * at[0] for batch, value in enumerate(at, start=1))


def test_sleep_rule_makes_a_knee_where_the_published_one_is() -> None:
    assert bounds.knee_batch_slots(2560, 100_000) == 39
    at = [bounds.g_polled(batch, 2560, 100_000) for batch in range(1, 101)]
    assert at[:40] == [2560] * 40
    assert [after - before for before, after in itertools.pairwise(at[40:])] == [2560] * 59
    assert [bounds.sleep_time(batch, 2560, 100_000) for batch in (39, 40)] == [0, 2400]


def test_larger_slots_raise_the_bound_and_move_the_knee_down() -> None:
    slots = (960, 2560, 12_160)
    assert [bounds.knee_batch_slots(slot, 100_000) for slot in slots] == [104, 39, 8]
    assert [delta_ts(bounds.alike(bounds.g_polled(1, slot, 100_000), 0)) for slot in slots] == list(
        slots
    )


def test_wrong_arguments_are_refused_with_key_value_and_range() -> None:
    with pytest.raises(ConfigError, match=r"key `g_slave` = -1: must be 0 ns or more"):
        StampErrors(g_slave=-1)
    for formula in (bounds.drift_printed, bounds.drift_corrected, bounds.brute_drift):
        with pytest.raises(
            ConfigError, match=r"key `interval` = 3560: must be more than 3560 ns.*lengthen it"
        ):
            formula(bounds.alike(2560, 1000), 3560)
    with pytest.raises(ConfigError, match="lengthen it"):
        bounds.measured_ratio(100, 100, 0, -100)
    with pytest.raises(ConfigError, match="`batch_slots` = 0: must be 1 or more"):
        g_eff(0, 2560)
    with pytest.raises(ConfigError, match="`slot_time` = 0: must be more than 0 ns"):
        g_eff(1, 0)
