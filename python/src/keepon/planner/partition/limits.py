# SPDX-License-Identifier: BSD-3-Clause
"""What solving one problem may use, and whom it tells. Light: knows no solver."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

TIME_LIMIT_S = 60.0
TIME_LIMIT_MAX_S = 86_400.0
WORKERS_MAX = 64

Progress = Callable[[str], None]
"""Told in a few words what is being done and the best so far."""


def silent(_: str) -> None:
    """Progress that nobody reads."""


@dataclass
class Limits:
    """What one problem may use.

    Attributes:
        deadline_s: of time.monotonic(); math.inf for none.
        seed: of every random choice.
        workers: threads of CP-SAT; with one, answers that need no time limit repeat exactly.
        progress: told now and then.
    """

    deadline_s: float = math.inf
    seed: int = 1
    workers: int = 1
    progress: Progress = field(default=silent)

    def left_s(self) -> float:
        return self.deadline_s - time.monotonic()

    def over(self) -> bool:
        return self.left_s() <= 0

    def share(self, part: float) -> Limits:
        """The same with only a part of the time that is left."""
        left = self.left_s()
        deadline = math.inf if left == math.inf else time.monotonic() + max(0.0, left) * part
        return Limits(deadline, self.seed, self.workers, self.progress)
