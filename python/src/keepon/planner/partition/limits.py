# SPDX-License-Identifier: BSD-3-Clause
"""What solving one problem may use, and whom it tells. Light: knows no solver."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from keepon.errors import EXIT_MISSED, KeeponError

TIME_LIMIT_S = 60.0
TIME_LIMIT_MAX_S = 86_400.0
WORKERS_MAX = 64

Progress = Callable[[str], None]
"""Told in a few words what is being done and the best so far."""
Clock = Callable[[], float]


LOOK_S = 0.0005
"""What the work between two looks at a WorkClock counts for: about one stream placed by first fit
(chosen).
"""


class WorkClock:
    """Seconds of work instead of the wall's: a search that ends by it ends at the same place on
    every machine.

    Each look counts as LOOK_S, and CP-SAT adds its own deterministic time.
    """

    def __init__(self) -> None:
        self.worked_s = 0.0

    def __call__(self) -> float:
        self.worked_s += LOOK_S
        return self.worked_s

    def add(self, seconds: float) -> None:
        self.worked_s += seconds


def silent(_: str) -> None:
    """Progress that nobody reads."""


class TimeUpError(KeeponError):
    """The time limit was over before something was finished; the message says what."""

    exit_code = EXIT_MISSED


@dataclass
class Limits:
    """What one problem may use.

    Attributes:
        deadline_s: of time.monotonic(); math.inf for none.
        seed: of every random choice.
        workers: threads of CP-SAT; with one, answers that need no time limit repeat exactly.
        progress: told now and then.
        clock: seconds; a WorkClock where the answer must not depend on the machine's load.
    """

    deadline_s: float = math.inf
    seed: int = 1
    workers: int = 1
    progress: Progress = field(default=silent)
    clock: Clock = field(default=time.monotonic)

    def left_s(self) -> float:
        return self.deadline_s - self.clock()

    def over(self) -> bool:
        return self.left_s() <= 0

    def look(self, doing: str) -> None:
        """Look at the clock.

        Raises:
            TimeUpError: the time is over; `doing` says at what.
        """
        if self.over():
            raise TimeUpError(doing)

    def share(self, part: float) -> Limits:
        """The same with only a part of the time that is left."""
        left = self.left_s()
        return self if left == math.inf else self.within(max(0.0, left) * part)

    def within(self, seconds: float) -> Limits:
        """The same with so many seconds from now at most."""
        return replace(self, deadline_s=min(self.deadline_s, self.clock() + seconds))
