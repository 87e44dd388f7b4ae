# SPDX-License-Identifier: BSD-3-Clause
"""Limits of solving one problem, and its progress callback. Imports no solver."""

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
"""Callback with a few words on the current step and the best result so far."""
Clock = Callable[[], float]


LOOK_S = 0.0005
"""Work between two looks at a WorkClock, in seconds: about one stream placed by first fit
(chosen).
"""


class WorkClock:
    """Seconds of work, not wall time: a search limited by it ends at the same place on every
    machine.

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
    """Ignore progress."""


class TimeUpError(KeeponError):
    """The time limit ended an unfinished step; the message names the step."""

    exit_code = EXIT_MISSED


@dataclass
class Limits:
    """Limits of one problem.

    Attributes:
        deadline_s: instant of time.monotonic(); math.inf for none.
        seed: seed of every random choice.
        workers: threads of CP-SAT; with one, answers that need no time limit repeat exactly.
        progress: callback, called now and then.
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
            TimeUpError: the time is over; `doing` names the step.
        """
        if self.over():
            raise TimeUpError(doing)

    def share(self, part: float) -> Limits:
        """The limits with only a share of the time that is left."""
        left = self.left_s()
        return self if left == math.inf else self.within(max(0.0, left) * part)

    def within(self, seconds: float) -> Limits:
        """The limits with at most so many seconds from now."""
        return replace(self, deadline_s=min(self.deadline_s, self.clock() + seconds))
