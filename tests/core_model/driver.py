# SPDX-License-Identifier: BSD-3-Clause
"""Applies operations to a core and its model; what each may answer is checked here, everything else
by the checker.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from core_model import model
from core_model.cases import BEST_EFFORT_LOW, COUNTER
from core_model.checker import Checker
from core_model.model import NEVER, PAPER, PHASE_LOCKED, Answer, Frame, Law, View, signed
from core_model.twin import FRACTION, RATE_ROUNDING, ROUNDING_NS, Down, require

Operation = tuple[Any, ...]

EINVAL, EBUSY, ERANGE = -22, -16, -34
GUARD_POLLS = 3000
OPERATIONS = frozenset(
    [
        "advance",
        "stall",
        "poll",
        "run",
        "submit",
        "submit_at",
        "burst",
        "adjfine",
        "adjtime",
        "settime",
        "settime_at",
        "drift",
        "glide",
        "drain",
        "cheat",
        "stop",
        "start",
        "switch",
        "vanish",
        "freeze",
    ]
)


class Driver(Checker):
    """A case under way. Offsets in operations are relative to the present, so that any part of a
    stream is a stream.
    """

    def apply(self, operation: Operation) -> None:
        """One operation with all its checks."""
        require(operation[0] in OPERATIONS, "no such operation", operation=operation)
        getattr(self, operation[0])(*operation[1:])

    def close(self) -> None:
        """End of the case: everything still held is flushed."""
        try:
            self.stop()
        finally:
            self.core.close()

    def stop(self) -> None:
        """The device goes down: everything held ends, in the ring and before it: what has left is
        sent, what the NIC had fetched is in doubt, the rest is flushed."""
        now = self.now
        held, ended = len(self.frames), sum(self.counts.values())
        if self.down is None:
            read = now.read_ns + now.read_frac * FRACTION
            self.down = Down(
                since_ps=now.now_ps,
                view=now,
                law=self.law,
                ideal=Law(now.now_ps, self.law.at(now.position_ps), self.law.adjustment),
                believed=Law(now.cpu_ps, read, self.law.adjustment),
            )
        self.core.stop()
        self.buffers.clear()
        self.down.since_ps = self.core.report().now_ps
        self.settle("stop")
        require(
            sum(self.counts.values()) == ended + held, "a stop does not end every frame", held=held
        )

    def start(self) -> None:
        """The device comes up again: the NIC is reset, the pacer initialised anew with the time of
        day carried over by the CPU counter, its rate set again. Nothing happens if it is up."""
        if self.down is None:
            return
        down, params, scaled_ppm = self.down, self.case.params, self.now.scaled_ppm
        restart_ps = (params["restart_ps_min"] + params["restart_ps_max"]) // 2
        start_ns = down.believed.at(self.now.cpu_ps + restart_ps)
        start_ns = min(max(0, int(start_ns)), model.TIME_NS_MAX)
        require(
            self.core.reset(start_ns),
            "the pacer refuses to be initialised again",
            start_ns=start_ns,
        )
        self.core.take_records()
        self.begin(start_ns)
        self.poll()
        self.submit_at(BEST_EFFORT_LOW, model.FRAME_BYTES_LEAST, None)
        if scaled_ppm:
            self.adjfine(scaled_ppm)
        self.rate_changes = []
        self.disturbances += 1
        self.down = None
        self.core.start()
        self.settle("start")
        require(
            bool(self.now.head_valid) and not self.now.synchronised,
            "what a started pacer claims",
            now=self.now,
        )
        # the first slot waits for its first bit, or has begun already
        waits = bool(self.slots) and self.slots[0].seq == 0
        self.check_carried(down, self.slots[0].start_ps if waits else self.now.now_ps, restart_ps)

    def check_carried(self, down: Down, start_ps: int, restart_ps: int) -> None:
        """After a restart the clock is wrong by what it was wrong by, the latency of the first bit,
        a few calls, and the drift while down; not by the time it took to prepare the ring."""
        if not self.case.honest:
            return
        params = self.case.params
        down_ps = start_ps - down.ideal.position_ps
        known_ps = down.error_ps + params["restart_ps_max"] - params["restart_ps_min"] + 2000
        known_ps += 4 * params["call_ps"] + 4 * params["cpu_tick_ps"]
        error_ps = abs(self.law.at(0) - down.ideal.at(start_ps)) * 1000
        allowed_ps = known_ps + abs(down_ps) * params["drift_ppb_max"] * Fraction(11, 10**10)
        require(
            error_ps <= allowed_ps, "the time of day was not carried over", error_ps=float(error_ps)
        )

    def switch(self, allowed: tuple[int, ...], offset_slots: int) -> None:
        """Another partition from so many slots after the head on; the wire runs on."""
        at = signed(self.now.head_seq + offset_slots + self.now.base)
        error = self.core.set_partition(allowed, at)
        if self.shape.mode == PAPER:
            require(error == EINVAL, "a partition was switched in paper mode", error=error)
        elif error == EBUSY:
            require(
                self.next_allowed is not None
                and self.switch_at - self.now.base < self.now.tail_seq,
                "a switch that can still be changed was kept",
                at=self.switch_at,
            )
        elif self.leaves_gap(allowed, at):
            # where it comes later than asked for, it may follow there
            require(error in (0, ERANGE), "a switch between trims", error=error)
        else:
            require(error == 0, "a switch was refused", error=error)
        if not error:
            # one that was still to come has given way
            self.next_allowed, self.switch_at = allowed, at
        self.settle("switch")

    def leaves_gap(self, allowed: tuple[int, ...], at: int) -> bool:
        """Whether slots that may be trimmed are further apart there than in the first table."""
        if self.case.params["trim"] != model.TRIM_RESERVED:
            return False
        before, after = self.shape.allowed, allowed
        ago = next(n for n in range(1, 2**17) if not before[(at - n) % len(before)])
        ahead = next(n for n in range(2**17) if not after[(at + n) % len(after)])
        first = self.case.allowed
        reserved = [slot for slot, mask in enumerate(first) if not mask]
        gaps = [b - a for a, b in pairwise([*reserved, reserved[0] + len(first)])]
        return ago + ahead > max(gaps)

    def vanish(self) -> None:
        """The card is pulled: the next poll stops the pacer."""
        self.core.fail(True)
        self.until_lost(1)

    def freeze(self) -> None:
        """The index stands still for ever: the pacer stops when the stated time has passed."""
        self.core.fail(False)
        interval_ns = max(1, self.core.poll_interval_ps() // 1000)
        self.until_lost(self.now.stall_ns // interval_ns * 2 + 10)

    def until_lost(self, polls_max: int) -> None:
        """Polls until the pacer has stopped itself, which ends every frame; only the rig looks on
        meanwhile.
        """
        now = self.now
        read = now.read_ns + now.read_frac * FRACTION
        self.unread, self.trusted = True, False
        for _ in range(polls_max):
            self.core.advance(self.core.poll_interval_ps())
            self.core.poll()
            if self.core.report().losses > now.losses:
                break
        lost = self.core.report()
        require(lost.losses == now.losses + 1, "a dead NIC was not noticed", polls=polls_max)
        most_ns = (
            now.stall_ns
            + 3 * self.core.poll_interval_ps() // 1000
            + self.case.params["read_ps"] // 250
        )
        require(lost.cpu_ns - now.cpu_ns <= most_ns, "a dead NIC was noticed late", most_ns=most_ns)
        require(
            not lost.synchronised and not lost.head_valid, "a lost pacer claims to know the time"
        )
        law, ideal = self.law, Law(now.now_ps, self.law.at(now.position_ps), self.law.adjustment)
        self.down = Down(now.now_ps, now, law, ideal, Law(now.cpu_ps, read, self.law.adjustment))
        self.stop()

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
            self.now.unhurried_first,
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

    def answers_best_effort(self, tc: int, view: View, held: list[Frame]) -> list[Answer]:
        """The first free slot of the class after its earlier frames, or a place in the FIFO."""
        room = self.shape.prebuffer_frames
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
            begin = view.unhurried_first
            for seq, frame in self.ring.items():
                if frame.tc == tc and frame.txtime_ns is None:
                    begin = max(begin, seq + 1)
            yielding = sum(frame.txtime_ns is None for frame in self.ring.values())
            seq = model.first_free(
                self.shape, tc, view.base, range(begin, view.window_end), self.ring.__contains__
            )
            if seq is not None:
                answers.append(Answer(frozenset({"PENDING"}), frozenset({seq})))
                if (
                    seq - view.unhurried_first < self.case.params["batch_slots"]
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

    def adjfine(self, scaled_ppm: int) -> None:
        """Another rate from now on: continuous, counts untouched (B8, B9)."""
        before = self.now
        error = self.core.adjfine(scaled_ppm)
        if abs(scaled_ppm) > model.ADJ_SCALED_PPM_MAX:
            require(error == ERANGE, "a rate beyond the limit was not refused", error=error)
            self.settle("adjfine refused")
            return
        require(error == 0, "a rate was refused", error=error, scaled_ppm=scaled_ppm)
        now = self.read_report()
        if self.case.params["call_ps"] == 0 and before.head_valid and not self.down:
            jump_ns = now.read_ns - before.read_ns + (now.read_frac - before.read_frac) * FRACTION
            require(
                abs(jump_ns) <= ROUNDING_NS, "the time jumped with the rate", jump_ns=float(jump_ns)
            )
        self.check_anchor(now)
        old_ppb = round(self.law.adjustment * 10**9)
        self.law_error_ns += (
            ROUNDING_NS + abs(now.anchor_ps - before.anchor_ps) * RATE_ROUNDING / 1000
        )
        adjustment = model.adjustment_of(scaled_ppm)
        self.law = Law(now.anchor_ps, self.law.at(now.anchor_ps), adjustment)
        if self.down:
            self.down.follow(lambda law, at: Law(at, law.at(at), adjustment), now)
        new_ppb = round(self.law.adjustment * 10**9)
        require(
            abs(Fraction(now.mult, 1 << 72) * 1000 - 1 - self.law.adjustment) <= RATE_ROUNDING,
            "the rate is not what was asked for",
            mult=now.mult,
            scaled_ppm=scaled_ppm,
        )
        self.rate_ppb = max(self.rate_ppb, abs(new_ppb) + 1)
        # a staircase sets the rate at the head of the last poll, however long ago that was
        late_poll = self.case.params["clock_read"] == COUNTER and (
            before.now_ps - self.poll_ps > 2 * self.case.params["batch_slots"] * self.shape.slot_ps
            or 2 * (before.tail_seq - before.wire_seq) < self.case.params["depth_slots"]
        )
        if late_poll or before.head_upper_ps - before.head_lower_ps > self.case.strip_ps():
            # suspected underruns have made the head so uncertain that more slots than promised keep
            # their lengths
            posted_ps = (before.tail_seq - before.head_seq) * self.shape.slot_ps
            self.unsure_until_ps = now.now_ps + posted_ps + self.limits(0).lock_ns * 1000
        self.rate_changes.append((now.position_ps, abs(new_ppb - old_ppb) + 1))
        self.settle("adjfine")

    def adjtime(self, delta_ns: int) -> None:
        """The clock is shifted; refused if it would become negative (B7)."""
        head_ns = self.law.at(self.now.position_ps)
        error = self.core.adjtime(delta_ns)
        if error:
            require(
                error == ERANGE and head_ns + delta_ns < 2 * self.case.window_ns(),
                "a shift was refused",
                error=error,
            )
        else:
            require(head_ns + delta_ns >= 0, "the clock became negative", delta_ns=delta_ns)
            self.law = Law(self.law.position_ps, self.law.time_ns + delta_ns, self.law.adjustment)
            if self.down:
                self.down.follow(
                    lambda law, at: Law(at, law.at(at) + delta_ns, law.adjustment), self.now
                )
        self.settle("adjtime")
        require(
            error != 0 or self.now.synchronised == (not self.down),
            "setting the clock does not synchronise it",
        )

    def settime(self, delta_ns: int, frac: int) -> None:
        """The clock is set, to so much after what it read."""
        self.settime_at(self.now.read_ns + delta_ns, frac)

    def settime_at(self, ns: int, frac: int) -> None:
        """The clock is set to this."""
        before = self.now
        error = self.core.settime(ns, frac)
        if ns < 0:
            require(error == EINVAL, "a negative time was not refused", error=error)
            self.settle("settime refused")
            return
        require(error == 0, "a time was refused", error=error)
        now = self.read_report()
        time = ns + frac * FRACTION
        if self.case.params["call_ps"] == 0 and before.head_valid:
            require(
                before.head_lower_ps <= now.anchor_ps <= before.head_upper_ps,
                "the time was set at a place that is not now",
                anchor_ps=now.anchor_ps,
            )
        require(
            now.anchor_ns + now.anchor_frac * FRACTION == time,
            "another time was set",
            ns=now.anchor_ns,
        )
        self.check_anchor(now)
        self.law = Law(now.anchor_ps, time, self.law.adjustment)
        self.law_error_ns = ROUNDING_NS
        if self.down:
            self.down.follow(lambda law, at: Law(at, time, law.adjustment), now)
        self.settle("settime")
        require(
            self.now.synchronised == (not self.down), "setting the clock does not synchronise it"
        )

    def check_anchor(self, now: SimpleNamespace) -> None:
        """The clock of a stopped pacer stands at the head; it is set there."""
        if self.down:
            head_ps = self.end_ps[now.head_seq]
            require(
                now.anchor_ps == head_ps,
                "a stopped clock was set elsewhere than at the head",
                head_ps=head_ps,
            )

    def drift(self, drift_ppb: int) -> None:
        """The CPU counter goes to another rate within the stated bounds."""
        self.core.drift(drift_ppb, self.case.params["wander_ppb_per_s_max"])

    def cheat(self, drift_ppb: int, polls: int) -> None:
        """The oscillators break the stated bounds: that must end in "unsynchronised", seen by a
        slip.
        """
        require(not self.case.honest, "only a case that is not honest may cheat")
        self.core.violate_assumptions()
        self.trusted = False
        self.core.adjtime(0)
        self.settle("adjtime")
        require(bool(self.now.synchronised), "setting the clock does not synchronise it")
        self.core.drift(drift_ppb, 0)
        for _ in range(polls):
            self.run(1)
            if self.now.slips:
                require(not self.now.head_valid, "the head is believed right after a slip")
                break
        require(
            self.now.slips > 0 and not self.now.synchronised,
            "broken bounds went unseen",
            slips=self.now.slips,
        )
