# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the clock: its law changes only where an operation, an underrun or a slip changes it,
what reading it gives is that law, and after an idle wire it is no further off than is stated.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

from core_model.model import Law
from core_model.twin import FRACTION, ROUNDING_NS, Twin, require


class ClockChecks(Twin):
    """The law of the core's clock against the exact one."""

    def follow_law(self, name: str, before: SimpleNamespace, now: SimpleNamespace) -> None:
        """Outside the setters the law changes only by an underrun or a slip, and by so much."""
        if name in ("adjfine", "adjtime", "settime"):
            return
        core_law = Law(
            now.anchor_ps, now.anchor_ns + now.anchor_frac * FRACTION, self.law.adjustment
        )
        if name == "start":
            self.law = self.started_law(core_law)
            return
        if (now.underruns, now.slips) == (before.underruns, before.slips):
            difference = abs(core_law.time_ns - self.law.at(now.anchor_ps))
            require(
                difference <= self.law_error_ns,
                "the clock law changed by itself",
                difference=float(difference),
            )
            return
        if now.underruns != before.underruns and self.trusted:
            self.check_recovery(core_law, now)
        self.law = core_law
        self.law_error_ns = ROUNDING_NS

    def started_law(self, core_law: Law) -> Law:
        """What preparing the ring took is in the clock: a few calls, however many descriptors there
        are.
        """
        took_ns = core_law.at(0) - self.law.at(0)
        calls_ns = Fraction(16 * self.case.params["call_ps"], 1000) * Fraction(1001, 1000)
        calls_ns += Fraction(self.case.params["cpu_tick_ps"], 1000)
        require(
            -ROUNDING_NS <= took_ns <= calls_ns + 1,
            "the start of the wire is not where its preparation ended",
            took_ns=float(took_ns),
            calls_ns=float(calls_ns),
        )
        return core_law

    def check_recovery(self, core_law: Law, now: SimpleNamespace) -> None:
        """After an idle wire the clock is what it would have been, within what docs/model.md
        states.
        """
        if not self.slots or self.slot_reference is None:
            return
        restart = self.slots[0]
        params = self.case.params
        idle_ps = restart.start_ps - self.wire_end_ps
        ideal_ns = self.law.at(restart.position_ps) + idle_ps * (1 + self.law.adjustment) / 1000
        # the wire starts again when all that had left is reported, which may take several polls
        stall_ps = restart.start_ps - min(self.poll_ps, self.wire_end_ps)
        allowed_ns = Fraction(
            self.strip_ps
            + params["restart_ps_max"]
            - params["restart_ps_min"]
            + params["index_lag_ps_max"]
            + stall_ps * 2 * params["drift_ppb_max"] // 10**9
            + stall_ps * params["wander_ppb_per_s_max"] // 10**9 * stall_ps // 10**12
            + 4 * params["call_ps"]
            + 4 * params["cpu_tick_ps"]
            + 4000,
            1000,
        )
        error_ns = abs(core_law.at(restart.position_ps) - ideal_ns)
        require(
            error_ns <= allowed_ns,
            "the clock after an underrun is further off than the strip, the restart and the drift"
            " allow",
            error_ns=float(error_ns),
            allowed_ns=float(allowed_ns),
            idle_ns=idle_ps / 1000,
            strip_ns=self.strip_ps / 1000,
        )

    def check_clock(self, now: SimpleNamespace) -> None:
        """The law at several positions, and what reading the clock gives (B1, B2, B6, B8)."""
        slot_ps = self.shape.slot_ps
        for position_ps in (
            now.position_ps,
            now.position_ps + 10**12,
            now.anchor_ps - slot_ps,
            now.anchor_ps + 1,
        ):
            ns, frac = self.core.clock_at(position_ps)
            exact = self.law.at(position_ps)
            allowed = self.law_tolerance(position_ps, now)
            difference = ns + frac * FRACTION - exact
            require(
                abs(difference) <= allowed,
                "the clock differs from its law",
                ns=float(difference),
                at_ps=position_ps,
            )
        read = now.read_ns + now.read_frac * FRACTION
        if self.case.params["clock_read"] == 1 or self.down:
            head_ps = self.end_ps[now.head_seq]
            allowed = self.law_tolerance(head_ps, now)
            require(
                abs(read - self.law.at(head_ps)) <= allowed,
                "the clock is not at the head",
                read=float(read),
            )
        elif now.head_valid and self.case.honest:
            error = abs(read - self.law.at(now.position_ps))
            width = Fraction(now.clock_error_ps + 2, 1000) * (1 + self.law.adjustment)
            width += self.law_tolerance(now.position_ps, now)
            require(
                error <= width,
                "the clock is wronger than it says",
                error=float(error),
                stated=float(width),
            )
