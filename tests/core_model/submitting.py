# SPDX-License-Identifier: BSD-3-Clause
"""Frames are handed over, and what submit may answer to each by the model: more than one answer
only where a txtime lies on a boundary or the core alone can know.
"""

from __future__ import annotations

from fractions import Fraction

from core_model import model
from core_model.model import NEVER, PAPER, PHASE_LOCKED, Answer, Frame, View, signed
from core_model.polling import Polling
from core_model.twin import require


class Submitting(Polling):
    """A case whose pacer is given frames."""

    def frame_time(self, offset_slots: int, offset_ns: int) -> int:
        """A txtime for the slot `offset_slots` after the first that can be changed, moved by
        `offset_ns`.
        """
        seq = self.now.window_first + offset_slots
        if self.shape.mode == PAPER:
            return int(self.law.at(seq * self.shape.slot_ps)) + offset_ns
        return (
            int(self.shape.grid_ns(signed(seq + self.now.base)) + Fraction(self.shape.sfd_ps, 1000))
            + offset_ns
        )

    def check_window_begin(self) -> None:
        """A lead after the head's upper bound; after a step not before the first slot the step
        could still reach.
        """
        beyond = self.now.window_first - self.now.head_upper_seq - self.now.lead_slots
        # the upper bound at the step may have been far above the wire, and has come down since
        late = self.now.window_first > self.step_first
        # what was never posted cannot have been fetched
        clamped = self.shape.mode == PHASE_LOCKED and self.now.window_first == self.now.tail_seq
        require(
            beyond == 0 or (beyond < 0 and clamped) or (beyond > 0 and not late),
            "the window does not begin a lead after the upper bound",
            beyond=beyond,
        )

    def submit(
        self, tc: int, frame_bytes: int, offset_slots: int | None, offset_ns: int = 0
    ) -> None:
        """A frame; scheduled unless `offset_slots` is None."""
        self.submit_at(
            tc,
            frame_bytes,
            None if offset_slots is None else self.frame_time(offset_slots, offset_ns),
        )

    def submit_at(self, tc: int, frame_bytes: int, txtime_ns: int | None) -> None:
        """A frame with this txtime, or none."""
        view = View(
            bool(self.now.head_valid),
            self.now.window_first,
            self.now.margin_first,
            self.now.window_end,
            self.now.lock_seq,
            self.now.base,
            self.now.head_seq,
        )
        # where calls take time, the window has moved on when the frame gets there
        certain = self.down is not None or (
            self.case.params["call_ps"] == 0 and self.next_allowed is None
        )
        answers = self.answers(tc, frame_bytes, txtime_ns, view) if certain else []
        behind = txtime_ns is not None and any(
            self.due_before(target, view) for target in self.targets(txtime_ns, tc, view.base)
        )
        verdict, frame_id = self.core.submit(frame_bytes, tc, txtime_ns)
        if not verdict:
            return
        if verdict == "PENDING":
            self.frames[frame_id] = Frame(frame_id, tc, txtime_ns, frame_bytes)
        else:
            self.counts[verdict] += 1
        self.settle("submit")
        if self.now.head_valid:
            self.check_window_begin()
        seq = None
        if verdict == "PENDING":
            frame = self.frames[frame_id]
            seq = frame.seq
            frame.held_in_time = (
                seq is None and txtime_ns is not None and view.window_valid and not behind
            )
            frame.disturbances = self.disturbances
        for answer in answers:
            if verdict in answer.verdicts and (
                verdict != "PENDING" or not answer.seqs or seq in answer.seqs
            ):
                return
        require(
            not answers,
            "submit differs from the model",
            verdict=verdict,
            seq=seq,
            expected=answers,
            view=view,
            tc=tc,
            txtime_ns=txtime_ns,
        )

    def due_before(self, target: int, view: View) -> bool:
        """Whether frames handed over earlier are due by slot `target` and have not had their turn:
        more than one poll places, or another slot's after a step."""
        if not (
            view.window_valid
            and self.shape.prebuffer_frames
            and view.window_first <= target < view.window_end
        ):
            return False
        waiting = (
            frame
            for frame in self.frames.values()
            if frame.seq is None and frame.txtime_ns is not None
        )
        return any(
            min(self.targets(frame.txtime_ns, frame.tc, view.base)) <= target for frame in waiting
        )

    def answers(self, tc: int, frame_bytes: int, txtime_ns: int | None, view: View) -> list[Answer]:
        """What the model allows submit to say; more than one answer only where a txtime lies on a
        boundary.
        """
        if (
            tc >= 16
            or frame_bytes < model.FRAME_BYTES_LEAST
            or (txtime_ns is not None and txtime_ns < 0)
        ):
            reasons = {"INVALID"} | (
                {"NOT_ALLOWED"} if tc < 16 and not self.shape.has_slots(tc) else set()
            )
            return [Answer(frozenset(reasons))]
        if frame_bytes > self.shape.real_bytes_max:
            return [Answer(frozenset({"OVERSIZE"}))]
        if not self.shape.has_slots(tc):
            return [Answer(frozenset({"NOT_ALLOWED"}))]
        if self.down is not None:
            return [Answer(frozenset({"FLUSHED"}))]
        held = [frame for frame in self.frames.values() if frame.seq is None and frame.tc == tc]
        frame = Frame(0, tc, txtime_ns)
        if txtime_ns is None:
            return self.answers_best_effort(tc, view, held)
        scheduled = sum(other.txtime_ns is not None for other in held)
        answers = []
        for target in self.targets(txtime_ns, tc, view.base):
            # moved frames wait in the FIFO, others in the heap: how many of which only the core
            # knows
            for moved in range(scheduled + 1) if self.shape.late[tc] != model.STRICT else (0,):
                answers.append(
                    model.answer_scheduled(
                        self.shape,
                        frame,
                        view,
                        lambda seq: seq in self.ring and self.ring[seq].txtime_ns is not None,
                        scheduled - moved,
                        len(held) - scheduled + moved,
                        target,
                    )
                )
            if self.due_before(target, view):
                # it takes its turn behind them in the heap
                answers.append(Answer(frozenset({"PENDING", "NO_ROOM"}), frozenset({None})))
            if (
                view.lock_seq == NEVER
                and self.shape.mode == PHASE_LOCKED
                and target < view.window_end
            ):
                # slots that will certainly be on the grid may be had before the first one there is
                # planned
                answers.append(
                    Answer(
                        frozenset(
                            {
                                "PENDING",
                                "LATE",
                                "UNLOCKED",
                                "NOT_ALLOWED",
                                "OCCUPIED",
                                "NO_SLOT",
                                "NO_ROOM",
                            }
                        )
                    )
                )
        return answers

    def waiting_above(self, tc: int) -> list[Frame]:
        """Best effort of higher classes that waits before the ring."""
        return [
            frame
            for frame in self.frames.values()
            if frame.seq is None and frame.txtime_ns is None and frame.tc > tc
        ]

    def wanted(self, seq: int, waiting: list[Frame], view: View) -> bool:
        """Whether a slot is one that those frames wait for; what needs credit does so for later
        ones."""
        net_slot = signed(seq + view.base)
        allowed = self.shape.allowed[net_slot % len(self.shape.allowed)]
        return any(frame.tc not in self.shaped and allowed >> frame.tc & 1 for frame in waiting)

    def answers_best_effort(self, tc: int, view: View, held: list[Frame]) -> list[Answer]:
        """The first free slot of the class after its earlier frames, or a place in the FIFO."""
        room = self.shape.prebuffer_frames
        if tc in self.shaped:
            # when is for its credit to say, which is seen on the wire
            return [Answer(frozenset({"PENDING", "NO_ROOM" if room else "NO_SLOT"}))]
        waiting = sum(frame.txtime_ns is None for frame in held)
        full = Answer(frozenset({"NO_ROOM"} if room else {"NO_SLOT"}))
        fifo = (
            Answer(frozenset({"PENDING"}), frozenset({None}))
            if len(held) < room or waiting < room
            else full
        )
        answers = [fifo]
        if waiting >= room or len(held) >= room:
            answers.append(full)
        if view.window_valid and not waiting:
            begin = view.margin_first
            for seq, frame in self.ring.items():
                if frame.tc == tc and frame.txtime_ns is None:
                    begin = max(begin, seq + 1)
            yielding = sum(frame.txtime_ns is None for frame in self.ring.values())
            seq = model.first_free(
                self.shape, tc, view.base, range(begin, view.window_end), self.ring.__contains__
            )
            before = self.waiting_above(tc) if room else []
            if seq is not None and not self.wanted(seq, before, view):
                answers.append(Answer(frozenset({"PENDING"}), frozenset({seq})))
                if (
                    not before
                    and seq - view.margin_first < self.case.params["batch_slots"]
                    and not held
                    and yielding < self.case.params["budget_frames"]
                ):
                    # a free slot this near is taken at once
                    answers = answers[-1:]
        return answers

    def burst(self, tc: int, frame_bytes: int, count: int) -> None:
        """Best effort, several at once."""
        for _ in range(count):
            self.submit(tc, frame_bytes, None)
