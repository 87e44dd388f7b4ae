# SPDX-License-Identifier: BSD-3-Clause
"""A core with its model beside it: what the model knows of its frames, its ring, its clock and its
wire, and how exact that is. The checks between the two are in the modules named after what they
look at; checker.py does them all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

from core_model.cases import Case
from core_model.core import Core, Library, SlotRecord
from core_model.credit import Shaped
from core_model.model import Frame, Law, signed

FRACTION = Fraction(1, 1 << 32)
# One reading or re-anchoring rounds down to 2^-32 ns; the stated rounding is twice that.
ROUNDING_NS = Fraction(1, 1 << 31)
# The multiplier resolves 2^-54 of the rate; its nominal value is wrong by 6.5e-20.
RATE_ROUNDING = Fraction(1, 1 << 53)


def require(condition: bool, text: str, **values: object) -> None:
    """Raise AssertionError with the values unless the condition holds (an assert would vanish under
    -O).
    """
    if not condition:
        raise AssertionError(
            f"{text}: " + ", ".join(f"{name} = {value}" for name, value in values.items())
        )


@dataclass
class Down:
    """What was true when the device was stopped. NIC time is the ideal measure of the time it is
    down, the CPU counter what a driver has: `ideal` and `believed` are PHC time over each of
    them."""

    since_ps: int
    view: SimpleNamespace
    law: Law
    ideal: Law
    believed: Law

    @property
    def error_ps(self) -> Fraction:
        """How far apart the two were when the device was stopped or the clock last set."""
        return abs(self.believed.time_ns - self.ideal.time_ns) * 1000

    def follow(self, change: Callable[[Law, int], Law], now: SimpleNamespace) -> None:
        """The clock was set meanwhile."""
        self.ideal = change(self.ideal, now.now_ps)
        self.believed = change(self.believed, now.cpu_ps)


class Twin:
    """A core and what its model knows of it."""

    def __init__(self, library: Library, case: Case) -> None:
        self.case = case
        self.shape = case.shape()
        self.core = Core(
            library, case.params, list(case.allowed), list(case.late), list(case.rounding)
        )
        self.verdict_names = library.verdict_names
        self.frames: dict[int, Frame] = {}
        self.bounds: dict[tuple[int, int], SimpleNamespace] = {}
        self.counts = dict.fromkeys(self.verdict_names, 0)
        self.slots_checked = 0
        self.disturbances = 0
        self.trusted = True
        self.unread = False
        self.down: Down | None = None
        self.next_allowed: tuple[int, ...] | None = None
        self.switch_at = 0
        self.begin(case.params["start_time_ns"])

    def begin(self, start_time_ns: int) -> None:
        """A pacer as kpn_pacer_init() leaves it: what the model knows of its ring, its clock and
        its wire.
        """
        self.ring: dict[int, Frame] = {}
        self.fifo_last: dict[int, int] = {}
        self.shaped: dict[int, Shaped] = {}
        self.buffers: dict[int, int] = {}
        self.slots: deque[SlotRecord] = deque()
        # `law_of_begun` is that of slots which began before the operation under way ended
        self.law = self.law_of_begun = Law(0, Fraction(start_time_ns), Fraction(0))
        self.law_error_ns = ROUNDING_NS
        self.rate_ppb = 0
        self.rate_changes: list[tuple[int, int]] = []
        self.strip_ps = self.case.strip_ps()
        self.suspected_before = 0
        self.unsure_until_ps = 0
        self.end_ps = {0: 0}
        self.step_seq = 0
        self.switched_seq = 0
        self.step_first = 0
        self.slot_reference: tuple[int, int] | None = None
        self.first_start_ps: int | None = None
        self.counts_before = dict(self.counts)
        self.before = self.now = self.read_report()
        self.poll_ps = self.wire_end_ps = self.disturbed_ps = self.now.now_ps

    def read_report(self) -> SimpleNamespace:
        """A report whose wire positions are unbounded numbers instead of numbers modulo 2^64."""
        report = self.core.report()
        for name in ("anchor_ps", "head_lower_ps", "head_upper_ps"):
            setattr(
                report,
                name,
                report.position_ps + signed(getattr(report, name) - report.position_ps),
            )
        return report

    def law_tolerance(self, position_ps: int, now: SimpleNamespace) -> Fraction:
        """How far the core's law may be from the exact one: a rounding for every change, and the
        rate's resolution.
        """
        return self.law_error_ns + abs(position_ps - now.anchor_ps) * RATE_ROUNDING / 1000

    def limits(self, rate_change_ppb: int) -> SimpleNamespace:
        """kpn_pacer_bounds() for the rates seen so far."""
        key = (self.rate_ppb, rate_change_ppb)
        if key not in self.bounds:
            self.bounds[key] = self.core.bounds(*key)
        return self.bounds[key]

    def targets(self, txtime_ns: int, tc: int, base: int) -> set[int]:
        """Slots a txtime may mean now."""
        return self.shape.targets(txtime_ns, tc, base, self.law, self.law_error_ns)
