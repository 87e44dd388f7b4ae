# SPDX-License-Identifier: BSD-3-Clause
"""Compares core and model after every operation: slots, clock and frames by their own checks, here
their order, the counts, and what holds of a stopped device. A difference is an AssertionError that
says what.

Calls take time (call_ps), and the wire goes on meanwhile: what a slot that begins during a call has
to be follows from the state before it, what the call could still reach from the state after it.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from core_model import model
from core_model.cases import Case
from core_model.clock_checks import ClockChecks
from core_model.core import CommitRecord, Library, OutcomeRecord, SlotRecord
from core_model.credit_checks import CreditChecks
from core_model.frame_checks import FrameChecks
from core_model.model import PAPER, signed
from core_model.slot_checks import SlotChecks
from core_model.twin import require


class Checker(SlotChecks, ClockChecks, FrameChecks, CreditChecks):
    """A core, its model, and the checks between them after every operation."""

    def __init__(self, library: Library, case: Case) -> None:
        super().__init__(library, case)
        self.core.start()
        self.settle("start")

    def settle(self, name: str) -> tuple[list[CommitRecord], list[OutcomeRecord]]:
        """Take what happened, follow the frames, check slots and clock."""
        violation = self.core.violation()
        require(violation is None, str(violation), operation=name)
        before, now = self.now, self.read_report()
        self.before, self.now = before, now
        slots, commits, outcomes = self.core.take_records()
        self.slots.extend(slots)
        for slot in slots:
            self.end_ps[slot.seq + 1] = (
                slot.position_ps + (slot.frame_bytes + model.OVERHEAD_BYTES) * self.shape.byte_ps
            )
        for seq in range(before.head_seq, now.head_seq):
            self.end_ps.pop(seq, None)
        self.follow_plan(before, now)
        self.check_slots(name, before)
        self.follow_law(name, before, now)
        if now.base != before.base or now.steps != before.steps:
            self.step_seq = now.tail_seq
            self.step_first = max(self.step_first, self.last_first_of_step(now))
        if (now.steps, now.underruns, now.suspected_underruns, now.scaled_ppm) != (
            before.steps,
            before.underruns,
            before.suspected_underruns,
            before.scaled_ppm,
        ):
            self.disturbances += 1
        self.follow_commits(commits)
        for slot in slots:
            self.follow_credit(slot)
        self.check_buffers(commits)
        if self.next_allowed is not None and now.partitions != before.partitions:
            self.shape = replace(self.shape, allowed=self.next_allowed)
            self.next_allowed = None
            self.switched_seq = now.tail_seq
        if self.shape.mode == PAPER and now.steps != before.steps:
            for frame in self.ring.values():
                frame.stale = True
        if now.base != before.base:
            self.mark_stale(now.base)
            idle = name == "poll" and now.underruns != before.underruns
            kept = [frame.id for frame in self.ring.values() if idle and frame.stale]
            taken = sum(not commit.placed for commit in commits)
            # more than one call may take back are left to the next polls
            require(
                not kept or taken >= self.case.params["budget_frames"],
                "frames kept their slots though the wire had been idle",
                ids=kept,
            )
        for outcome in outcomes:
            self.check_outcome(name, outcome, before)
        self.check_clock(now)
        self.check_counts(name, before, now)
        if self.down:
            self.check_down(name, slots, commits)
        require(now.doubts == before.doubts, "a doubt, though nobody is held up", operation=name)
        if now.slips != before.slips:
            self.trusted = False
            require(not self.case.honest, "a slip although all stated bounds hold", operation=name)
        require(now.index_errors == 0, "an index error", operation=name)
        # the lock time is promised for a wire that does not stop
        if (now.steps, now.underruns, now.suspected_underruns) != (
            before.steps,
            before.underruns,
            before.suspected_underruns,
        ):
            self.disturbed_ps = now.now_ps
            if any(
                not self.shape.allowed[signed(seq + now.base) % len(self.shape.allowed)]
                for seq in self.ring
            ):
                # frames that need all of a slot that would be trimmed now: the way to the grid
                # takes others
                self.disturbed_ps += (now.tail_seq - now.head_seq) * self.shape.slot_ps
        self.law_of_begun = self.law
        # slots that were posted by a poll and have begun at once
        self.check_slots("posted", now)
        return commits, outcomes

    def check_counts(self, name: str, before: SimpleNamespace, now: SimpleNamespace) -> None:
        """Every frame submitted since the pacer was initialised has ended or is held, as the model
        counts them.
        """
        ended = sum(self.counts.values()) - sum(self.counts_before.values())
        flushed = self.counts["FLUSHED"] - self.counts_before["FLUSHED"]
        require(
            now.submitted == ended + len(self.frames)
            and now.pending == len(self.frames)
            and now.flushed == flushed,
            "frames are counted wrongly",
            operation=name,
            submitted=now.submitted,
            ended=ended,
            held=len(self.frames),
            pending=now.pending,
            flushed=(now.flushed, flushed),
        )

    def check_down(self, name: str, slots: list[SlotRecord], commits: list[CommitRecord]) -> None:
        """A stopped pacer touches nothing and claims nothing; only what the NIC had latched before
        still leaves.
        """
        require(self.down is not None, "the device is up", operation=name)
        before, now = self.before, self.now
        require(
            not (now.synchronised or now.head_valid or now.window_valid or now.pending),
            "a stopped pacer claims to know the time or to hold frames",
            operation=name,
            report=now,
        )
        require(
            (now.tail_seq, now.trims) == (before.tail_seq, before.trims)
            and (now.head_seq == before.head_seq or name == "stop"),
            "a stopped pacer moves its ring",
            operation=name,
        )
        require(not self.frames and not self.ring, "frames are left after the stop", ring=self.ring)
        touched = [commit for commit in commits if commit.placed or name != "stop"]
        require(
            not touched, "a stopped pacer puts frames into slots or takes them out", operation=name
        )
        for slot in slots:
            require(
                not slot.frame_id or slot.latch_ps <= self.down.since_ps,
                "a flushed frame left although the NIC had not latched it",
                id=slot.frame_id,
                seq=slot.seq,
            )
