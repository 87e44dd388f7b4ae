# SPDX-License-Identifier: BSD-3-Clause
"""What an idle slope allows, from its definition and in exact fractions: every window of the wire
is looked at, and nothing of the core's own counting is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

# Costs are rounded up to this part of a slot.
PART = Fraction(1, 1 << 24)


@dataclass
class Shaped:
    """A class with credit. `cost`: slots in which its idle slope brings a frame back; `high`: slots
    that it may save up; `sent`: slots of its frames on the wire.
    """

    cost: Fraction
    high: Fraction
    sent: list[int] = field(default_factory=list)

    def at_most(self, seq: int) -> bool:
        """Whether a frame in this slot keeps every window that ends with it within the slope: what
        is sent between the first and the last frame of a window, one of them left out, takes as
        long as the slope needs for it, but for what was saved up.
        """
        count = len(self.sent)
        return all(
            (count - number) * self.cost <= seq - first + self.high
            for number, first in enumerate(self.sent)
        )

    def at_least(self, since: int, gap: int) -> bool:
        """Whether no window since a slot has less, if a frame always waited and a slot of the class
        was never further away than `gap`.
        """
        sent = [seq for seq in self.sent if seq >= since]
        return all(
            last - first < (behind + 1) * (self.cost + PART) + gap
            for number, first in enumerate(sent)
            for behind, last in enumerate(sent[number + 1 :])
        )
