# SPDX-License-Identifier: BSD-3-Clause
"""The published simulator: a slave follows a master by two-step exchanges whose four stamps are
wrong by Eq. 3.

One call simulates many seeds at once; a seed's numbers do not depend on how many others run beside
it. Times are float64 ns counted from true time, so that nothing large is subtracted: the master is
right by definition, a slave's state is how far it is ahead.

What happens in interval n (KeepON paper section 4.1, Figure 11):

    master  --+ t1 = n I -----------------------------+ t4
               \\ delay + asymmetry                   /  delay
    slave   ----+ t2 --------- turnaround --------- + t3 offset and rate are corrected when t4 is
                                                        known
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keepon.planner.parameters.synchronisation import StampErrors
from keepon_papers.ptperrors.settings import NS_PER_US, Distribution, RatioFrom, Settings

Array = npt.NDArray[np.float64]

PPM = 1e-6
PPB = 1e-9
# Mean of the exponential delay before it is cut at the end of its range, as a share of that range.
_EXPONENTIAL_MEAN = 0.2


@dataclass(frozen=True)
class Track:
    """What a simulation saw, each array float64 of shape (seeds, intervals).

    Attributes:
        offset_error_ns: calculated offset less true offset: what Eq. 4 bounds.
        after_ns: the slave's error right after each correction.
        before_ns: the slave's error at the next sync, so with the drift of the interval.
        drift_ns: what the rate in force after each correction adds in one interval: what Eq. 6
            bounds.
        ratio_error_ppb: frequency ratio in force less the true one.
    """

    offset_error_ns: Array
    after_ns: Array
    before_ns: Array
    drift_ns: Array
    ratio_error_ppb: Array


@dataclass(frozen=True)
class _Draws:
    """Unit draws of one simulation: where in its range every error lies."""

    grain: Array  # (seeds, intervals, 4), -1/2 ... 1/2
    delay: Array  # (seeds, intervals, 4), 0 ... 1
    pair: Array  # (seeds, intervals, 2), -1 ... 1: errors of a difference drawn by themselves
    phase: (
        Array  # (seeds, 2), 0 ... 1: where the first sync falls in the granules of master and slave
    )


def offset_of(t1: Array, t2: Array, t3: Array, t4: Array) -> Array:
    """Offset of the slave from four stamps, [(t2 - t1) - (t4 - t3)] / 2 (D2); units as
    the stamps.
    """
    return ((t2 - t1) - (t4 - t3)) / 2


def ratio_of(t1: Array, t2: Array, t1_next: Array, t2_next: Array) -> Array:
    """Frequency ratio master / slave from two successive syncs (D3)."""
    return (t1_next - t1) / (t2_next - t2)


def _draw(settings: Settings, intervals: int, salt: int) -> _Draws:
    """Draws of every seed from a generator of its own, so that seeds are independent of each other
    and of `salt`.
    """
    seeds = settings.seeds
    grain, delay = np.empty((seeds, intervals, 4)), np.empty((seeds, intervals, 4))
    pair, phase = np.empty((seeds, intervals, 2)), np.empty((seeds, 2))
    for index in range(seeds):
        source = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence([settings.seed, index, salt]))
        )
        grain[index] = source.random((intervals, 4))
        delay[index] = source.random((intervals, 4))
        pair[index] = source.random((intervals, 2))
        phase[index] = source.random(2)
    return _Draws(*_shape(settings.distribution, grain, delay), 2 * pair - 1, phase)


def _shape(distribution: Distribution, grain: Array, delay: Array) -> tuple[Array, Array]:
    """Uniform draws in 0 ... 1 given the chosen distribution over -1/2 ... 1/2 and 0 ... 1."""
    if distribution == "extremes":
        return np.where(grain < 0.5, -0.5, 0.5), np.where(delay < 0.5, 0.0, 1.0)
    if distribution == "exponential":
        rest = np.exp(-1 / _EXPONENTIAL_MEAN)
        return grain - 0.5, -_EXPONENTIAL_MEAN * np.log1p(-delay * (1 - rest))
    return grain - 0.5, delay


def _rounded(event: Array, late: Array, granule: float) -> Array:
    """Error of a stamp that is the clock's reading `late` after the event, rounded to its
    granule.
    """
    if granule == 0:
        return late
    return np.round((event + late) / granule) * granule - event


class _Stamper:
    """Turns the draws into errors of stamps."""

    def __init__(self, errors: StampErrors, settings: Settings, draws: _Draws) -> None:
        self._rounding = settings.distribution == "rounding"
        self._draws = draws
        self._granules = [
            float(g) for g in (errors.g_master, errors.g_slave, errors.g_slave, errors.g_master)
        ]
        self._delays = [
            float(j)
            for j in (
                errors.j_master_out,
                errors.j_slave_in,
                errors.j_slave_out,
                errors.j_master_in,
            )
        ]
        # The clocks' phases are arbitrary: clock readings at the first event, whole granules left
        # out.
        self._origin = [
            draws.phase[:, side] * self._granules[which] for which, side in enumerate((0, 1, 1, 0))
        ]

    def error(self, which: int, interval: int, reading: Array) -> Array:
        """Error in ns of stamp t(which + 1); `reading` is what its clock truly shows, ns from the
        first sync.
        """
        late = self._draws.delay[:, interval, which] * self._delays[which]
        if self._rounding:
            return _rounded(reading + self._origin[which], late, self._granules[which])
        return self._draws.grain[:, interval, which] * self._granules[which] + late


def simulate(errors: StampErrors, settings: Settings, intervals: int, salt: int = 0) -> Track:
    """Exchanges of `settings.seeds` slaves over `intervals` intervals; the same arguments give the
    same numbers.

    `settings.ratio_from` says what the frequency ratio is formed from, which the paper leaves open:

    - "clock": the stamps t2 as the slave's clock shows them, steps of the offset correction between
      two syncs included, times the rate in force. This is D3 taken literally.
    - "counter": stamps of the free-running counter under the slave's clock, which no correction
      touches.
    - "independent": as counter, but with errors of each difference drawn by themselves over the
      ranges of Eq. 5.

    The rate in force is the mean of the last `filter_window_samples` ratios, of fewer in the
    beginning.

    Args:
        errors: ranges of the stamps' errors, ns.
        settings: everything else; checked by `settings.check`.
        intervals: how many, at least 1.
        salt: tells draws of one study apart, such as the points of a sweep.
    """
    draws = _draw(settings, intervals, salt)
    stamper = _Stamper(errors, settings, draws)
    source: RatioFrom = settings.ratio_from
    interval = settings.interval_ns
    back = settings.delay_us * NS_PER_US
    out = back + settings.asymmetry_us * NS_PER_US
    turnaround = settings.turnaround_us * NS_PER_US
    raw_rate = 1 + settings.frequency_ppm * PPM
    true_ratio = 1 / raw_rate
    spans = float(errors.span_master), float(errors.span_slave)

    shape = (settings.seeds, intervals)
    track = Track(*(np.empty(shape) for _ in range(5)))
    ahead = np.zeros(settings.seeds)  # the slave's clock less true time, ns, at the event looked at
    rate = np.full(settings.seeds, raw_rate - 1)  # how fast that grows
    adjusted = np.ones(settings.seeds)  # what the slave multiplies its raw rate with
    window = settings.filter_window_samples
    history = np.empty((window, settings.seeds))
    before: tuple[Array, Array, Array] | None = None

    for number in range(intervals):
        start = number * interval
        at_t2 = ahead + rate * out
        at_t3 = at_t2 + rate * turnaround
        at_t4 = at_t3 + rate * back
        e1 = stamper.error(0, number, np.full(settings.seeds, start))
        e2 = stamper.error(1, number, start + out + at_t2)
        e3 = stamper.error(2, number, start + out + turnaround + at_t3)
        e4 = stamper.error(3, number, np.full(settings.seeds, start + out + turnaround + back))
        # Stamps counted from the sync that opens this interval.
        offset = offset_of(
            e1, out + at_t2 + e2, out + turnaround + at_t3 + e3, out + turnaround + back + e4
        )
        if before is not None:
            last_e1, last_t2, last_e2 = before
            if source == "clock":
                ratio = adjusted * ratio_of(last_e1, last_t2, interval + e1, interval + at_t2 + e2)
            elif source == "counter":
                ratio = ratio_of(last_e1, last_e2, interval + e1, interval * raw_rate + e2)
            else:
                difference = draws.pair[:, number]
                ratio = (interval + difference[:, 0] * spans[0]) / (
                    interval * raw_rate + difference[:, 1] * spans[1]
                )
            history[(number - 1) % window] = ratio
            adjusted = history[: min(number, window)].mean(axis=0)
        before = e1, at_t2 + e2, e2
        rate = raw_rate * adjusted - 1
        track.offset_error_ns[:, number] = offset - (at_t2 + at_t3) / 2
        track.after_ns[:, number] = at_t4 - offset
        track.drift_ns[:, number] = rate * interval
        track.ratio_error_ppb[:, number] = (adjusted - true_ratio) / PPB
        ahead = at_t4 - offset + rate * (interval - out - turnaround - back)
        track.before_ns[:, number] = ahead
    return track
