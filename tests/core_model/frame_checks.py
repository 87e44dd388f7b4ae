# SPDX-License-Identifier: BSD-3-Clause
"""Checks of frames: where each one is placed and taken back as the NIC saw it, what its buffer
holds, and the verdict it ends with against all that the model knows of it.
"""

from __future__ import annotations

from types import SimpleNamespace

from core_model import model
from core_model.core import CommitRecord, OutcomeRecord
from core_model.model import PAPER, RELAXED, RESCHEDULE, STRICT, Frame
from core_model.twin import Twin, require

# A call may have taken the head on by this much since it decided.
LATE_SLACK_SLOTS = 1


class FrameChecks(Twin):
    """Frames from their commit to their verdict."""

    def follow_commits(self, commits: list[CommitRecord]) -> None:
        """Where frames are: placed and taken back as the NIC saw it."""
        for commit in commits:
            frame = self.frames[commit.frame_id]
            self.follow_buffer(commit, frame)
            if not commit.placed:
                require(
                    self.ring.pop(commit.seq, None) is frame,
                    "a frame was taken from a slot it was not in",
                    id=frame.id,
                )
                frame.seq = None
                frame.recalled = True
                continue
            require(commit.seq not in self.ring, "a slot was given away twice", seq=commit.seq)
            self.ring[commit.seq] = frame
            frame.seq = commit.seq
            frame.stale = False
            frame.base = commit.base
            frame.paid = frame.tc in self.shaped and frame.txtime_ns is None
            if frame.txtime_ns is None:
                last = self.fifo_last.get(frame.tc, -1)
                self.fifo_last[frame.tc] = max(last, commit.seq)
            else:
                frame.targets = self.targets(frame.txtime_ns, frame.tc, commit.base)

    def follow_buffer(self, commit: CommitRecord, frame: Frame) -> None:
        """What its descriptor's buffer holds when a frame is placed or its slot a placeholder
        again: the frame and nothing else (C13); on demand its bytes stay until the next one comes
        (C14)."""
        if self.down is not None:
            return
        desc = commit.seq % self.shape.ring_slots
        if commit.placed:
            self.buffers[desc] = model.buffer_bytes(frame)
        elif self.case.params["padding"] == model.DEFERRED:
            self.buffers[desc] = 0

    def check_buffers(self, commits: list[CommitRecord]) -> None:
        """Buffers of slots that were touched. Where calls take time a slot can be lost while it is
        written.
        """
        if self.case.params["call_ps"] or self.down is not None:
            return
        for desc in {commit.seq % self.shape.ring_slots for commit in commits}:
            used, expected = self.core.used_bytes(desc), self.buffers.get(desc, 0)
            require(
                used == expected,
                "a buffer holds more or less than it ought to",
                desc=desc,
                used=used,
                expected=expected,
            )

    def mark_stale(self, base: int) -> None:
        """Frames that kept their slots when the base changed."""
        for frame in self.ring.values():
            frame.stale = frame.stale or frame.base != base

    def before_the_grid(self, seq: int, view: SimpleNamespace) -> bool:
        """Whether slot `seq` comes before those that are on the grid; it was not when its frame was
        placed.
        """
        return self.shape.mode != PAPER and seq < view.lock_seq

    def check_outcome(self, name: str, outcome: OutcomeRecord, before: SimpleNamespace) -> None:
        """A verdict against what the model knows of the frame."""
        frame = self.frames.pop(outcome.frame_id)
        if self.down and frame.seq is not None:
            # a halted ring is not touched any more: the NIC may still read it
            require(
                self.ring.pop(frame.seq, None) is frame,
                "a frame ended in a slot it was not in",
                id=frame.id,
            )
        verdict = self.verdict_names[outcome.verdict]
        self.counts[verdict] += 1
        seq = outcome.wire_seq
        scheduled = frame.txtime_ns is not None
        policy = self.shape.late[frame.tc]
        stepped = self.now.base != before.base
        own = self.shape.mode == PAPER and seq in self.targets(
            frame.txtime_ns or 0, frame.tc, self.now.base
        )
        if verdict == "ON_TIME":
            still_its_own = own or (self.shape.mode == PAPER and self.now.steps != before.steps)
            require(
                scheduled and (not frame.stale or still_its_own),
                "on_time for a frame without txtime or after a step",
                id=frame.id,
            )
            off_grid = all(self.before_the_grid(seq, view) for view in (before, self.now))
            require(
                not off_grid,
                "on_time before the grid is reached",
                seq=seq,
                lock_seq=before.lock_seq,
            )
            require(
                seq in frame.targets,
                "an on-time frame left in another slot",
                seq=seq,
                expected=frame.targets,
            )
        elif verdict == "SENT_STALE":
            # the NIC may have overtaken lengths that one call could not change
            excused = (
                (self.shape.mode == PAPER and not own)
                or frame.stale
                or any(
                    self.before_the_grid(seq, view) or view.planned_seq < seq < view.tail_seq
                    for view in (before, self.now)
                )
            )
            require(scheduled and excused, "sent_stale without a step", id=frame.id)
        elif verdict == "MOVED":
            require(scheduled and policy != STRICT, "a strict frame was moved", id=frame.id)
            targets = [frame.targets]
            if frame.stale:
                targets = [
                    self.targets(frame.txtime_ns or 0, frame.tc, view.base)
                    for view in (before, self.now)
                ]
            early = all(seq < min(group, default=0) for group in targets)
            require(not early, "a moved frame left before its own slot", seq=seq, targets=targets)
        elif verdict == "BEST_EFFORT":
            require(not scheduled, "best_effort for a scheduled frame", id=frame.id)
        elif verdict == "LATE" and frame.held_in_time and frame.disturbances == self.disturbances:
            require(
                self.now.window_end - self.now.window_first
                < 4 * self.case.params["batch_slots"] + 8,
                "a frame held in time was late",
                id=frame.id,
            )
        elif verdict == "LATE" and not stepped:
            targets = self.targets(frame.txtime_ns or 0, frame.tc, self.now.base)
            # a relaxed frame is late when the last slot it may have is
            reach = self.shape.ring_slots if policy == RELAXED else 0
            first = self.now.window_first
            if policy == RELAXED:
                # nor one that is off the grid
                # as far as that was known when it was decided
                lock_seq = max(before.lock_seq, self.now.lock_seq)
                first = max(self.now.margin_first, min(lock_seq, min(targets) + reach))
            require(
                scheduled
                and policy != RESCHEDULE
                and min(targets) + reach < first + LATE_SLACK_SLOTS,
                "late although its slot can be changed",
                targets=targets,
                first=self.now.window_first,
            )
        elif (
            verdict == "NOT_ALLOWED"
            and not stepped
            and self.next_allowed is None
            and self.shape.has_slots(frame.tc)
        ):
            targets = self.targets(frame.txtime_ns or 0, frame.tc, self.now.base)
            require(
                not all(self.shape.allows(target, self.now.base, frame.tc) for target in targets),
                "not_allowed in a slot of its class",
                targets=targets,
            )
        elif verdict == "STEPPED":
            require(
                scheduled and frame.recalled, "stepped, though it never was in a slot", id=frame.id
            )
        elif verdict == "IN_DOUBT":
            self.check_doubt(name, frame, before)
        elif verdict == "FLUSHED":
            require(name == "stop", "flushed without a stop", id=frame.id)

    def check_doubt(self, name: str, frame: Frame, before: SimpleNamespace) -> None:
        """Only a CPU held up within a call, or a NIC that is halted, leaves it open whether a frame
        has left: one that could have been fetched by then."""
        params = self.case.params
        if params["call_ps"] or self.unread:
            return
        require(name == "stop", "doubt, though no time passes within a call", id=frame.id)
        if frame.seq is not None and before.head_valid:
            last = min(before.head_upper_seq + params["prefetch_slots"], before.tail_seq - 1)
            require(
                frame.seq <= last, "doubt of a frame that was not fetched", seq=frame.seq, last=last
            )
