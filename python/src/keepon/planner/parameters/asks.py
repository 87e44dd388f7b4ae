# SPDX-License-Identifier: BSD-3-Clause
"""Refusals that say how far a slot length is from serving, so that of those of several the one that
comes nearest is shown: what it asks for helps, and less does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from keepon.errors import ConfigError

BATCH, DEPTH, OVERHEAD, FETCH, ROOM, POLLS, TIMER, STREAMS = range(8)
"""What is checked of a slot length, in order; then stream by stream, then what they need together.
"""
TOGETHER = 1 << 30


class AskError(ConfigError):
    """A refusal by a check of a value that is `short` away from one that would do, in its unit; or
    what is in the same order.
    """

    def __init__(
        self,
        message: str | Callable[[int], str],
        check: int = 0,
        short: int | Callable[[], int] = 0,
    ) -> None:
        """Of a limit that takes long to find the message is made of `short`, when it is shown."""
        super().__init__()
        self.check = check
        self._message = message
        self._short = short

    @cached_property
    def short(self) -> int:
        """How far the value is from one that would do."""
        return self._short if isinstance(self._short, int) else self._short()

    def __str__(self) -> str:
        return self._message if isinstance(self._message, str) else self._message(self.short)

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str]]:
        """To another process goes what it says."""
        return ConfigError, (str(self),)


def nearest(refusals: Iterable[AskError]) -> AskError:
    """The refusal by the last check, of equal ones that which asks least, or the first.

    With what it asks for its slot length comes further than all others.
    """
    found = list(refusals)
    last = max(error.check for error in found)
    return min((error for error in found if error.check == last), key=lambda error: error.short)


def most(low: int, high: int, does: Callable[[int], bool]) -> int:
    """A value that does and whose next one does not; low does, and high does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if does(middle) else (low, middle)
    return low
