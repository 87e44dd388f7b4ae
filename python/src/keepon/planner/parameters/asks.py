# SPDX-License-Identifier: BSD-3-Clause
"""Refusals that say how far a slot length is from serving, so that of those of several the one that
comes nearest is shown: what it asks for helps, and less does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from keepon.errors import ConfigError

BATCH, OVERHEAD, FETCH, ROOM, POLLS, TIMER, STREAMS = range(7)
"""What is checked of a slot length, in order; then stream by stream, then what they need together.
"""
TOGETHER = 1 << 30


class AskError(ConfigError):
    """A refusal by a check of a value that is `short` away from one that would do, in its unit; or
    what is in the same order.
    """

    def __init__(self, message: str, check: int = 0, short: int = 0) -> None:
        super().__init__(message)
        self.check = check
        self.short = short


def nearest(refusals: Iterable[AskError]) -> AskError:
    """The refusal by the last check, of equal ones that which asks least, or the first.

    With what it asks for its slot length comes further than all others.
    """
    return min(refusals, key=lambda error: (-error.check, error.short))


def most(low: int, high: int, does: Callable[[int], bool]) -> int:
    """A value that does and whose next one does not; low does, and high does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if does(middle) else (low, middle)
    return low
