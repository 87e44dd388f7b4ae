# SPDX-License-Identifier: BSD-3-Clause
"""Refusals that say how far a slot length is from serving. Of several slot lengths the refusal of
the nearest one is shown: the value it asks for helps, and a lesser one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from keepon.errors import ConfigError

BATCH, DEPTH, OVERHEAD, FETCH, ROOM, POLLS, TIMER, STREAMS = range(8)
"""Checks of a slot length, in order: first those of the slot, then stream by stream, then of all
streams together.
"""
TOGETHER = 1 << 30


class AskError(ConfigError):
    """A refusal by a check; `short` is the distance of the value from an acceptable one, in the
    unit of the value, or a number with the same order.
    """

    def __init__(
        self,
        message: str | Callable[[int], str],
        check: int = 0,
        short: int | Callable[[], int] = 0,
    ) -> None:
        """If a limit takes long to compute, `short` is a function and `message` makes the text of
        its result; both are called when the text is needed.
        """
        super().__init__()
        self.check = check
        self._message = message
        self._short = short

    @cached_property
    def short(self) -> int:
        """Distance of the value from an acceptable one."""
        return self._short if isinstance(self._short, int) else self._short()

    def __str__(self) -> str:
        return self._message if isinstance(self._message, str) else self._message(self.short)

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str]]:
        """Pickle the message only."""
        return ConfigError, (str(self),)


def nearest(refusals: Iterable[AskError]) -> AskError:
    """The refusal by the last check; of several the one with the least `short`, or the first.

    With the value it asks for, its slot length passes more checks than all others.
    """
    found = list(refusals)
    last = max(error.check for error in found)
    return min((error for error in found if error.check == last), key=lambda error: error.short)


def most(low: int, high: int, does: Callable[[int], bool]) -> int:
    """A value in [low, high) for which `does` holds and fails for the next one; it holds for low
    and not for high.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if does(middle) else (low, middle)
    return low
