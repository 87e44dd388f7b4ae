# SPDX-License-Identifier: BSD-3-Clause
"""Time passes and the pacer polls, at once or at the intervals it asks for: what a poll may and
must notice.
"""

from __future__ import annotations

from core_model.checker import Checker
from core_model.twin import require

GUARD_POLLS = 3000


class Polling(Checker):
    """A case whose time goes on."""

    def advance(self, span_ps: int) -> None:
        """Time passes."""
        self.disturbances += 1
        self.core.advance(span_ps)
        self.settle("advance")

    def stall(self, span_ps: int) -> None:
        """Time passes without a poll, as much as it takes."""
        self.disturbances += 1
        self.advance(span_ps)

    def poll(self) -> None:
        """One poll."""
        if self.down is not None:
            self.core.poll()
            self.settle("poll")
            require(
                self.now == self.before,
                "a poll of a stopped pacer has an effect",
                before=self.before,
            )
            return
        idle_ps = self.now.now_ps - self.wire_end_ps if self.now.idle and not self.slots else 0
        underruns = self.now.underruns
        self.core.poll()
        self.settle("poll")
        if self.case.params["index_counts_done"] and idle_ps > self.case.params["index_lag_ps_max"]:
            require(not self.now.synchronised, "synchronised after an underrun")
            if self.now.underruns == underruns:
                self.check_unfinished(idle_ps)
                return
            require(
                self.now.underruns == underruns + 1,
                "an idle wire was counted twice",
                idle_ps=idle_ps,
            )
        self.poll_ps = self.now.now_ps
        self.strip_ps = max(self.now.head_upper_ps - self.now.head_lower_ps, self.case.strip_ps())
        # every suspected underrun since the last certain one may have widened the strip by a
        # restart
        if self.now.underruns != self.before.underruns:
            self.suspected_before = self.now.suspected_underruns
        suspected = self.now.suspected_underruns - self.suspected_before
        self.strip_ps += suspected * self.case.params["restart_ps_max"]

    def check_unfinished(self, idle_ps: int) -> None:
        """An idle wire may start again later only if one poll cannot tell of all that has left."""
        moved, left = (
            self.now.head_seq - self.before.head_seq,
            self.now.tail_seq - self.now.head_seq,
        )
        require(left > 0, "an idle wire was not counted as an underrun", idle_ps=idle_ps)
        require(moved > 0, "an idle wire waits for nothing", idle_ps=idle_ps, left=left)

    def run(self, polls: int) -> None:
        """Polls at the intervals the pacer asks for."""
        for _ in range(polls):
            self.core.advance(self.core.poll_interval_ps())
            self.settle("advance")
            self.poll()

    def glide(self, polls: int) -> None:
        """As run(), but most checks are left to the rig and only every fiftieth poll is looked at
        here.
        """
        for number in range(polls):
            self.core.advance(self.core.poll_interval_ps())
            self.core.poll()
            if number % 50 == 49:
                self.settle("advance")
        self.poll_ps = self.now.now_ps

    def drain(self) -> None:
        """Polls until nothing is pending: every frame held must end."""
        for _ in range(GUARD_POLLS):
            if not self.now.pending:
                return
            self.run(1)
        require(
            False,
            "frames never end",
            pending=self.now.pending,
            frames=list(self.frames.values())[:3],
        )
