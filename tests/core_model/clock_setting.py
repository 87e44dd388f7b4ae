# SPDX-License-Identifier: BSD-3-Clause
"""The clock is set, shifted or given another rate: what is refused, where the law changes, and
that a stopped device takes it too.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

from core_model import model
from core_model.cases import COUNTER
from core_model.core import EINVAL, ERANGE
from core_model.model import Law
from core_model.polling import Polling
from core_model.twin import FRACTION, RATE_ROUNDING, ROUNDING_NS, require


class ClockSetting(Polling):
    """A case whose clock is set."""

    def adjfine(self, scaled_ppm: int) -> None:
        """Another rate from now on: continuous, counts untouched (B8, B9)."""
        before = self.now
        error = self.core.adjfine(scaled_ppm)
        if abs(scaled_ppm) > model.ADJ_SCALED_PPM_MAX:
            require(error == ERANGE, "a rate beyond the limit was not refused", error=error)
            self.settle("adjfine refused")
            return
        require(error == 0, "a rate was refused", error=error, scaled_ppm=scaled_ppm)
        now = self.read_report()
        if self.case.params["call_ps"] == 0 and before.head_valid and not self.down:
            jump_ns = now.read_ns - before.read_ns + (now.read_frac - before.read_frac) * FRACTION
            require(
                abs(jump_ns) <= ROUNDING_NS, "the time jumped with the rate", jump_ns=float(jump_ns)
            )
        self.check_anchor(now)
        old_ppb = round(self.law.adjustment * 10**9)
        self.law_error_ns += (
            ROUNDING_NS + abs(now.anchor_ps - before.anchor_ps) * RATE_ROUNDING / 1000
        )
        adjustment = model.adjustment_of(scaled_ppm)
        self.law = Law(now.anchor_ps, self.law.at(now.anchor_ps), adjustment)
        if self.down:
            self.down.follow(lambda law, at: Law(at, law.at(at), adjustment), now)
        new_ppb = round(self.law.adjustment * 10**9)
        require(
            abs(Fraction(now.mult, 1 << 72) * 1000 - 1 - self.law.adjustment) <= RATE_ROUNDING,
            "the rate is not what was asked for",
            mult=now.mult,
            scaled_ppm=scaled_ppm,
        )
        self.rate_ppb = max(self.rate_ppb, abs(new_ppb) + 1)
        # a staircase sets the rate at the head of the last poll, however long ago that was
        late_poll = self.case.params["clock_read"] == COUNTER and (
            before.now_ps - self.poll_ps > 2 * self.case.params["batch_slots"] * self.shape.slot_ps
            or 2 * (before.tail_seq - before.wire_seq) < self.case.params["depth_slots"]
        )
        if late_poll or before.head_upper_ps - before.head_lower_ps > self.case.strip_ps():
            # suspected underruns have made the head so uncertain that more slots than promised keep
            # their lengths
            posted_ps = (before.tail_seq - before.head_seq) * self.shape.slot_ps
            self.unsure_until_ps = now.now_ps + posted_ps + self.limits(0).lock_ns * 1000
        self.rate_changes.append((now.position_ps, abs(new_ppb - old_ppb) + 1))
        self.settle("adjfine")

    def adjtime(self, delta_ns: int) -> None:
        """The clock is shifted; refused if it would become negative (B7)."""
        head_ns = self.law.at(self.now.position_ps)
        error = self.core.adjtime(delta_ns)
        if error:
            require(
                error == ERANGE and head_ns + delta_ns < 2 * self.case.window_ns(),
                "a shift was refused",
                error=error,
            )
        else:
            require(head_ns + delta_ns >= 0, "the clock became negative", delta_ns=delta_ns)
            self.law = Law(self.law.position_ps, self.law.time_ns + delta_ns, self.law.adjustment)
            if self.down:
                self.down.follow(
                    lambda law, at: Law(at, law.at(at) + delta_ns, law.adjustment), self.now
                )
        self.settle("adjtime")
        require(
            error != 0 or self.now.synchronised == (not self.down),
            "setting the clock does not synchronise it",
        )

    def settime(self, delta_ns: int, frac: int) -> None:
        """The clock is set, to so much after what it read."""
        self.settime_at(self.now.read_ns + delta_ns, frac)

    def settime_at(self, ns: int, frac: int) -> None:
        """The clock is set to this."""
        before = self.now
        error = self.core.settime(ns, frac)
        if ns < 0:
            require(error == EINVAL, "a negative time was not refused", error=error)
            self.settle("settime refused")
            return
        require(error == 0, "a time was refused", error=error)
        now = self.read_report()
        time = ns + frac * FRACTION
        if self.case.params["call_ps"] == 0 and before.head_valid:
            require(
                before.head_lower_ps <= now.anchor_ps <= before.head_upper_ps,
                "the time was set at a place that is not now",
                anchor_ps=now.anchor_ps,
            )
        require(
            now.anchor_ns + now.anchor_frac * FRACTION == time,
            "another time was set",
            ns=now.anchor_ns,
        )
        self.check_anchor(now)
        self.law = Law(now.anchor_ps, time, self.law.adjustment)
        self.law_error_ns = ROUNDING_NS
        if self.down:
            self.down.follow(lambda law, at: Law(at, time, law.adjustment), now)
        self.settle("settime")
        require(
            self.now.synchronised == (not self.down), "setting the clock does not synchronise it"
        )

    def check_anchor(self, now: SimpleNamespace) -> None:
        """The clock of a stopped pacer stands at the head; it is set there."""
        if self.down:
            head_ps = self.end_ps[now.head_seq]
            require(
                now.anchor_ps == head_ps,
                "a stopped clock was set elsewhere than at the head",
                head_ps=head_ps,
            )
