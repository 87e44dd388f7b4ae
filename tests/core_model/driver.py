# SPDX-License-Identifier: BSD-3-Clause
"""Applies operations to a core and its model; what each may answer is checked where the operation
is, everything else by the checker. Here are the ways in, and the operations that change the
conditions: another partition, another drift, broken bounds.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from core_model import model
from core_model.core import EBUSY, EINVAL, ERANGE
from core_model.downtime import Downtime
from core_model.model import PAPER, signed
from core_model.twin import require

Operation = tuple[Any, ...]

OPERATIONS = frozenset(
    [
        "advance",
        "stall",
        "poll",
        "run",
        "submit",
        "submit_at",
        "burst",
        "adjfine",
        "adjtime",
        "settime",
        "settime_at",
        "drift",
        "glide",
        "drain",
        "cheat",
        "stop",
        "start",
        "switch",
        "vanish",
        "slope",
        "saturate",
        "freeze",
    ]
)


class Driver(Downtime):
    """A case under way. Offsets in operations are relative to the present, so that any part of a
    stream is a stream.
    """

    def apply(self, operation: Operation) -> None:
        """One operation with all its checks."""
        require(operation[0] in OPERATIONS, "no such operation", operation=operation)
        getattr(self, operation[0])(*operation[1:])

    def close(self) -> None:
        """End of the case: everything still held is flushed."""
        try:
            self.stop()
        finally:
            self.core.close()

    def switch(self, allowed: tuple[int, ...], offset_slots: int) -> None:
        """Another partition from so many slots after the head on; the wire runs on."""
        at = signed(self.now.head_seq + offset_slots + self.now.base)
        error = self.core.set_partition(allowed, at)
        if self.shape.mode == PAPER:
            require(error == EINVAL, "a partition was switched in paper mode", error=error)
        elif error == EBUSY:
            require(
                self.next_allowed is not None
                and self.switch_at - self.now.base < self.now.tail_seq,
                "a switch that can still be changed was kept",
                at=self.switch_at,
            )
        elif self.leaves_gap(allowed, at):
            # where it comes later than asked for, it may follow there
            require(error in (0, ERANGE), "a switch between trims", error=error)
        else:
            require(error == 0, "a switch was refused", error=error)
        if not error:
            # one that was still to come has given way
            self.next_allowed, self.switch_at = allowed, at
        self.settle("switch")

    def slope(self, tc: int, permille: int, high_bytes: int) -> None:
        """A class gets an idle slope, in thousandths of the link's rate; 0: it loses it."""
        idle_slope_bps = self.case.params["rate_bps"] * permille // 1000
        error = self.core.set_credit(tc, idle_slope_bps, high_bytes)
        require(error == 0, "an idle slope was refused", error=error)
        self.shape_class(tc, idle_slope_bps, high_bytes)
        self.settle("slope")

    def saturate(self, tc: int, polls: int, gap: int) -> None:
        """A shaped class always has frames waiting, and nothing that comes before it is sent: it
        gets its idle slope, too. `gap`: the furthest a slot of it is away."""
        since = self.now.tail_seq
        batch = self.case.params["batch_slots"]
        for _ in range(polls):
            waiting = sum(frame.seq is None and frame.tc == tc for frame in self.frames.values())
            self.burst(tc, model.FRAME_BYTES_LEAST + 46, max(0, 2 * batch - waiting))
            self.run(1)
        shaped = self.shaped.get(tc)
        if shaped is None:
            return
        require(
            shaped.at_least(since, gap),
            "a class sends less than its idle slope",
            tc=tc,
            since=since,
            sent=shaped.sent,
        )
        require(max(shaped.sent, default=0) > since, "nothing was sent", sent=shaped.sent)

    def leaves_gap(self, allowed: tuple[int, ...], at: int) -> bool:
        """Whether slots that may be trimmed are further apart there than in the first table."""
        if self.case.params["trim"] != model.TRIM_RESERVED:
            return False
        before, after = self.shape.allowed, allowed
        ago = next(n for n in range(1, 2**17) if not before[(at - n) % len(before)])
        ahead = next(n for n in range(2**17) if not after[(at + n) % len(after)])
        first = self.case.allowed
        reserved = [slot for slot, mask in enumerate(first) if not mask]
        gaps = [b - a for a, b in pairwise([*reserved, reserved[0] + len(first)])]
        return ago + ahead > max(gaps)

    def drift(self, drift_ppb: int) -> None:
        """The CPU counter goes to another rate within the stated bounds."""
        self.core.drift(drift_ppb, self.case.params["wander_ppb_per_s_max"])

    def cheat(self, drift_ppb: int, polls: int) -> None:
        """The oscillators break the stated bounds: that must end in "unsynchronised", seen by a
        slip.
        """
        require(not self.case.honest, "only a case that is not honest may cheat")
        self.core.violate_assumptions()
        self.trusted = False
        self.core.adjtime(0)
        self.settle("adjtime")
        require(bool(self.now.synchronised), "setting the clock does not synchronise it")
        self.core.drift(drift_ppb, 0)
        for _ in range(polls):
            self.run(1)
            if self.now.slips:
                require(not self.now.head_valid, "the head is believed right after a slip")
                break
        require(
            self.now.slips > 0 and not self.now.synchronised,
            "broken bounds went unseen",
            slips=self.now.slips,
        )
