# SPDX-License-Identifier: BSD-3-Clause
"""Error ranges of the four stamps and what they bound, exactly (KeepON paper section A.9, Eq. 3, 5
and 6; Eq. 4 is keepon's own, keepon.planner.parameters.synchronisation).

Every time is an int or a Fraction in ns, every rate a Fraction; nothing here is rounded. `brute_*`
try every corner of the ranges instead of using a formula, so that the formulas can be compared with
something they are not made of.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from keepon.errors import ConfigError
from keepon.planner.parameters.synchronisation import Exact, StampErrors, g_eff

Range = tuple[Fraction, Fraction]


def alike(granularity: Exact, jitter: Exact) -> StampErrors:
    """Both clocks with this granularity and all four delays up to `jitter`, ns: the sweeps of
    Figure 28.
    """
    return StampErrors(granularity, granularity, jitter, jitter, jitter, jitter)


def ranges(errors: StampErrors) -> tuple[Range, Range, Range, Range]:
    """Eq. 3: lowest and highest error of t1, t2, t3, t4 in ns.

    >>> errors = StampErrors(g_master=8, g_slave=4, j_slave_in=3)
    >>> [tuple(map(str, span)) for span in ranges(errors)][:2]
    [('-4', '4'), ('-2', '5')]
    """

    def span(granularity: Exact, delay: Exact) -> Range:
        half = Fraction(granularity) / 2
        return -half, half + delay

    return (
        span(errors.g_master, errors.j_master_out),
        span(errors.g_slave, errors.j_slave_in),
        span(errors.g_slave, errors.j_slave_out),
        span(errors.g_master, errors.j_master_in),
    )


def offset_error(e1: Exact, e2: Exact, e3: Exact, e4: Exact) -> Fraction:
    """Error in ns of the offset [(t2 - t1) - (t4 - t3)] / 2 when the stamps are off by e1 to e4
    (H3).

    >>> offset_error(1, 5, 2, 4)
    Fraction(1, 1)
    """
    return ((Fraction(e2) - e1) - (Fraction(e4) - e3)) / 2


def brute_delta_ts(errors: StampErrors, steps: int = 1) -> Fraction:
    """Greatest |offset error| in ns over every combination of `steps` + 1 points in each range of
    Eq. 3.
    """
    return max(abs(offset_error(*combination)) for combination in _grid(ranges(errors), steps))


def _grid(spans: tuple[Range, ...], steps: int) -> Iterator[tuple[Fraction, ...]]:
    axes = [
        [low + (high - low) * Fraction(step, steps) for step in range(steps + 1)]
        for low, high in spans
    ]
    return itertools.product(*axes)


def measured_ratio(
    elapsed_master: Exact, elapsed_slave: Exact, e_master: Exact, e_slave: Exact
) -> Fraction:
    """Eq. 5: the frequency ratio from two successive syncs, (dt_M + e_M) / (dt_S + e_S).

    Args:
        elapsed_master, elapsed_slave: true advance of each clock between the syncs, ns.
        e_master, e_slave: next stamp's error less this one's, ns, within +-(gM + jM_out) and +-(gS
            + jS_in).

    Raises:
        ConfigError: the errors swallow the interval, so that a ratio has no meaning.
    """
    if elapsed_slave + e_slave <= 0 or elapsed_master + e_master <= 0:
        raise ConfigError(
            f"key `interval` = {min(elapsed_master, elapsed_slave)}: must be more than the stamps'"
            f" errors ({e_master} and {e_slave} ns); lengthen it"
        )
    return (Fraction(elapsed_master) + e_master) / (Fraction(elapsed_slave) + e_slave)


def _check_interval(errors: StampErrors, interval: Exact, elapsed_slave: Exact) -> None:
    longest = max(errors.span_slave, errors.span_master)
    shortest = min(Fraction(interval), Fraction(elapsed_slave))
    if shortest <= longest:
        raise ConfigError(
            f"key `interval` = {shortest}: must be more than {longest} ns, the greatest error of"
            " the time between two stamps; lengthen it"
        )


def drift_printed(errors: StampErrors, interval: Exact, rho_master: Exact = 1) -> Fraction:
    """Eq. 6 as printed, ns: I rho_M max[(gS+jS_in)/(I-gS-jS_in), (gM+jM_out)/(I+gS+jS_in)].

    Each term has one clock's error in its numerator only; `drift_corrected` has both.
    """
    _check_interval(errors, interval, interval)
    over = errors.span_slave / (interval - errors.span_slave)
    under = errors.span_master / (interval + errors.span_slave)
    return interval * rho_master * max(over, under)


def drift_corrected(
    errors: StampErrors, interval: Exact, ratio: Exact = 1, rho_slave: Exact = 1
) -> Fraction:
    """The greatest drift in ns over one interval that Eq. 5 allows.

    Derivation. Between two syncs the slave's clock advances dt_S and the master's dt_M = r dt_S,
    where r is the true ratio. With Eq. 5

        r_meas - r = (r dt_S + e_M) / (dt_S + e_S) - r = (e_M - r e_S) / (dt_S + e_S)

    and with H6 the drift over I is I rho_S |r_meas - r|. Its derivative by e_M is 1 / (dt_S + e_S)
    > 0, that by e_S is -(r dt_S + e_M) / (dt_S + e_S)^2 < 0 as long as the errors are shorter than
    the interval. So r_meas - r is greatest at e_M = +E_M, e_S = -E_S and least at e_M = -E_M, e_S =
    +E_S, where E_M = gM + jM_out, E_S = gS + jS_in:

        over:   I rho_S (E_M + r E_S) / (dt_S - E_S)          under:   I rho_S (E_M + r E_S) / (dt_S
            + E_S)

    The first is always the greater. With r = 1 and dt_S = I, as the paper takes them, I rho (E_M +
    E_S) / (I - E_S). The printed terms lack E_M in the first and E_S in the second, although the
    text beside them names both errors; they agree with this one only where one clock has no error
    at all, and with equal errors are half of it (D-EQ6).

    Args:
        errors: of both clocks, ns.
        interval: between syncs on the master's clock, which drift is counted over, ns; dt_S is
            taken as interval / ratio.
        ratio: r = rho_M / rho_S.
        rho_slave: rate of the slave's clock.
    """
    elapsed_slave = Fraction(interval) / ratio
    _check_interval(errors, interval, elapsed_slave)
    return (
        interval
        * rho_slave
        * (errors.span_master + ratio * errors.span_slave)
        / (elapsed_slave - errors.span_slave)
    )


def brute_drift(
    errors: StampErrors, interval: Exact, ratio: Exact = 1, rho_slave: Exact = 1, steps: int = 1
) -> Range:
    """Least and greatest drift in ns over one interval, I rho_S (r_meas - r), over every
    combination of stamp errors.

    Goes through the errors of the two t1 and the two t2 themselves (Eq. 3), `steps` + 1 points in
    each range, so that it also shows that the ranges of e_M and e_S stated with Eq. 5 are those
    differences.
    """
    elapsed_slave = Fraction(interval) / ratio
    _check_interval(errors, interval, elapsed_slave)
    first, second, _, _ = ranges(errors)
    drifts = [
        interval
        * rho_slave
        * (measured_ratio(interval, elapsed_slave, e1_next - e1, e2_next - e2) - ratio)
        for e1, e1_next, e2, e2_next in _grid((first, first, second, second), steps)
    ]
    return min(drifts), max(drifts)


def sleep_time(batch_slots: int, slot_time: Exact, overhead: Exact) -> Fraction:
    """How long the published poll thread sleeps between two batches, ns: what is left of a batch
    after `overhead`.

    Source: KeepON paper section A.3 (the published overhead is 100 us).
    """
    return max(Fraction(0), g_eff(batch_slots, slot_time) - overhead)


def knee_batch_slots(slot_time: Exact, overhead: Exact) -> int:
    """The greatest batch with which the thread never sleeps.

    >>> knee_batch_slots(2560, 100_000)
    39
    """
    return int(Fraction(overhead) // slot_time)


def g_polled(batch_slots: int, slot_time: Exact, overhead: Exact) -> Fraction:
    """Least time in ns between two updates of the counted clock under the sleep rule: max(slot
    time, sleep).

    A thread that does not sleep polls on and sees every slot, if a poll takes no longer than a
    slot; one that sleeps cannot update anything meanwhile. What waking up and polling add is not in
    it.
    """
    return max(Fraction(slot_time), sleep_time(batch_slots, slot_time, overhead))
