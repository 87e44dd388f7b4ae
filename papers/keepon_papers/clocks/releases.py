# SPDX-License-Identifier: BSD-3-Clause
"""What became of one stream's frames: releases in network time, the clock's part in their errors,
and their counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keepon.measure.results import SENT_VERDICTS
from keepon.model.result import StreamResult
from keepon_papers.clocks.clockruns import ClockTrack
from keepon_papers.clocks.networks import Array


@dataclass(frozen=True)
class Frames:
    """Counts of one stream in the measured time, by what became of its frames.

    Attributes:
        due: times of the period that lie in the measured time.
        moved: sent, but not when due.
        ended: not sent, ended by a verdict.
        lost: sent and not delivered, at any place.
    """

    due: int
    submitted: int
    sent: int
    moved: int
    ended: int
    pending: int
    delivered: int
    lost: int
    in_flight: int

    @property
    def add_up(self) -> bool:
        """Every frame due was submitted, and each has one end and one only."""
        return (
            self.due == self.submitted == self.sent + self.ended + self.pending
            and self.sent == self.delivered + self.lost + self.in_flight
        )


def times_due(start_ns: int, end_ns: int, period_ns: int, first_ns: int) -> int:
    """How many times of a period lie in [start, end).

    Args:
        first_ns: any one of them, of the same clock.

    >>> times_due(0, 10, 4, 1), times_due(0, 10, 4, 3), times_due(2, 10, 4, 1)
    (3, 2, 2)
    """
    return max(0, -(-(end_ns - start_ns - (first_ns - start_ns) % period_ns) // period_ns))


def frames(stream: StreamResult, due: int) -> Frames:
    """Counts of a stream with one listener.

    Args:
        stream: its part of a result.
        due: what `times_due` gives.
    """
    verdicts = stream["verdicts"]
    return Frames(
        due,
        stream["submitted"],
        stream["sent"],
        verdicts["moved"],
        sum(count for name, count in verdicts.items() if name not in SENT_VERDICTS),
        stream["pending"],
        stream["delivered"],
        sum(stream["lost"].values()),
        stream["in_flight"],
    )


@dataclass(frozen=True)
class Releases:
    """One run; ns.

    Attributes:
        error: release in network time minus txtime, per frame sent, shape (n,).
        by_clock: part of it that is the clock's error at that instant, of frames around which the
            rate was not set.
        rest: the other part, of the same frames, shape as by_clock.
        clock: offsets of the talker's clock from network time, sampled.
        frames: what became of all frames due.
        fetched_late: by a launch-time NIC, frames.
    """

    error: Array
    by_clock: Array
    rest: Array
    clock: Array
    frames: Frames
    fetched_late: int

    def shares_percent(self) -> tuple[float, float, float, float]:
        """Shares of the mean square of the release error.

        Returns:
            the mean of the clock's error; its spread about that; the rest; and what they have in
            common, which is negative where they cancel. Together 100, or 0 each if there is no
            error.
        """
        mean = float(self.by_clock.mean())
        parts = (mean**2, float(self.by_clock.var()), float(np.square(self.rest).mean()))
        whole = float(np.square(self.by_clock + self.rest).mean())
        if whole == 0:
            return 0.0, 0.0, 0.0, 0.0
        constant, spread, rest = (100 * part / whole for part in parts)
        return constant, spread, rest, 100 - constant - spread - rest


def causes(track: ClockTrack, at_ns: Array, error: Array) -> tuple[Array, Array]:
    """Release errors split into what the clock was off by and the rest, ns, of the frames for which
    that is known.

    A clock is sampled every 10 ms. Between two samples with one rate its offset is a straight line;
    where the rate was set in between it is not, and the frames there, some in ten, are left out.

    Args:
        at_ns: network times of the releases since the start, shape (n,).
        error: of these releases, shape (n,).

    Returns:
        the clock's part and the rest, shape (m,) each, m <= n.
    """
    sampled_ns = track.network_ps / 1000
    after = np.clip(np.searchsorted(sampled_ns, at_ns), 1, sampled_ns.size - 1)
    steady = track.rate_ppb[after] == track.rate_ppb[after - 1]
    behind: Array = -np.interp(at_ns, sampled_ns, track.offset_ps / 1000)[steady]
    rest: Array = error[steady] - behind
    return behind, rest
