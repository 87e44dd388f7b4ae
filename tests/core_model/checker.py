# SPDX-License-Identifier: BSD-3-Clause
"""Compares core and model after every operation. A difference is an AssertionError that
says what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

from core_model import model
from core_model.cases import Case
from core_model.core import CommitRecord, Core, Library, OutcomeRecord, SlotRecord
from core_model.model import NEVER, PAPER, RELAXED, RESCHEDULE, STRICT, Frame, Law, signed

FRACTION = Fraction(1, 1 << 32)
# One reading or re-anchoring rounds down to 2^-32 ns; the stated rounding is twice that.
ROUNDING_NS = Fraction(1, 1 << 31)
# The multiplier resolves 2^-54 of the rate; its nominal value is wrong by 6.5e-20.
RATE_ROUNDING = Fraction(1, 1 << 53)
# From reading the CPU counter to the first store of re-planning.
REPLAN_PS = 4_000_000
# A call may have taken the head on by this much since it decided.
LATE_SLACK_SLOTS = 1


def require(condition: bool, text: str, **values: object) -> None:
    """Raise AssertionError with the values unless the condition holds (an assert would vanish under
    -O).
    """
    if not condition:
        raise AssertionError(
            f"{text}: " + ", ".join(f"{name} = {value}" for name, value in values.items())
        )


@dataclass
class Down:
    """What was true when the device was stopped. NIC time is the ideal measure of the time it is
    down, the CPU counter what a driver has: `ideal` and `believed` are PHC time over each of
    them."""

    since_ps: int
    view: SimpleNamespace
    law: Law
    ideal: Law
    believed: Law

    @property
    def error_ps(self) -> Fraction:
        """How far apart the two were when the device was stopped or the clock last set."""
        return abs(self.believed.time_ns - self.ideal.time_ns) * 1000

    def follow(self, change: Callable[[Law, int], Law], now: SimpleNamespace) -> None:
        """The clock was set meanwhile."""
        self.ideal = change(self.ideal, now.now_ps)
        self.believed = change(self.believed, now.cpu_ps)


class Checker:
    """A core, its model, and the checks between them after every operation."""

    def __init__(self, library: Library, case: Case) -> None:
        self.case = case
        self.shape = case.shape()
        self.core = Core(
            library, case.params, list(case.allowed), list(case.late), list(case.rounding)
        )
        self.verdict_names = library.verdict_names
        self.frames: dict[int, Frame] = {}
        self.bounds: dict[tuple[int, int], SimpleNamespace] = {}
        self.counts = dict.fromkeys(self.verdict_names, 0)
        self.slots_checked = 0
        self.disturbances = 0
        self.trusted = True
        self.unread = False
        self.down: Down | None = None
        self.next_allowed: tuple[int, ...] | None = None
        self.switch_at = 0
        self.begin(case.params["start_time_ns"])
        self.core.start()
        self.settle("start")

    def begin(self, start_time_ns: int) -> None:
        """A pacer as kpn_pacer_init() leaves it: what the model knows of its ring, its clock and
        its wire.
        """
        self.ring: dict[int, Frame] = {}
        self.fifo_last: dict[int, int] = {}
        self.buffers: dict[int, int] = {}
        self.slots: deque[SlotRecord] = deque()
        self.law = Law(0, Fraction(start_time_ns), Fraction(0))
        self.law_error_ns = ROUNDING_NS
        self.rate_ppb = 0
        self.rate_changes: list[tuple[int, int]] = []
        self.strip_ps = self.case.strip_ps()
        self.suspected_before = 0
        self.unsure_until_ps = 0
        self.end_ps = {0: 0}
        self.step_seq = 0
        self.switched_seq = 0
        self.step_first = 0
        self.slot_reference: tuple[int, int] | None = None
        self.counts_before = dict(self.counts)
        self.before = self.now = self.read_report()
        self.poll_ps = self.wire_end_ps = self.disturbed_ps = self.now.now_ps

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
        # slots that were posted by a poll and have begun at once
        self.check_slots("posted", now)
        return commits, outcomes

    def follow_plan(self, before: SimpleNamespace, now: SimpleNamespace) -> None:
        """Lengths that one call could not change are left to the next polls. Those that the NIC
        comes close to before are passed over: such slots are off the grid, what follows has to get
        back to it, and no frame gets one of them."""
        if before.planned_seq >= before.tail_seq:
            return
        first = self.last_first_of_step(now)
        self.step_first = max(self.step_first, first)
        if before.planned_seq < first:
            posted_ps = (now.tail_seq - now.head_seq) * self.shape.slot_ps
            self.unsure_until_ps = now.now_ps + posted_ps + 2 * self.limits(0).lock_ns * 1000

    def last_first_of_step(self, now: SimpleNamespace) -> int:
        """Last slot that can be the first a step just now could still reach: what the core keeps
        free from reading the CPU counter to the first store of re-planning is behind the upper
        bound; slots may be trimmed."""
        if not now.head_valid:
            return int(now.tail_seq)
        return int(now.head_upper_seq + now.lead_slots + 2 * REPLAN_PS // self.shape.slot_ps + 1)

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

    def read_report(self) -> SimpleNamespace:
        """A report whose wire positions are unbounded numbers instead of numbers modulo 2^64."""
        report = self.core.report()
        for name in ("anchor_ps", "head_lower_ps", "head_upper_ps"):
            setattr(
                report,
                name,
                report.position_ps + signed(getattr(report, name) - report.position_ps),
            )
        return report

    def law_tolerance(self, position_ps: int, now: SimpleNamespace) -> Fraction:
        """How far the core's law may be from the exact one: a rounding for every change, and the
        rate's resolution.
        """
        return self.law_error_ns + abs(position_ps - now.anchor_ps) * RATE_ROUNDING / 1000

    def limits(self, rate_change_ppb: int) -> SimpleNamespace:
        """kpn_pacer_bounds() for the rates seen so far."""
        key = (self.rate_ppb, rate_change_ppb)
        if key not in self.bounds:
            self.bounds[key] = self.core.bounds(*key)
        return self.bounds[key]

    def check_slots(self, name: str, view: SimpleNamespace) -> None:
        """Every slot that has begun: its place on the grid, or its count, by the state before the
        operation.
        """
        shape = self.shape
        view = self.down.view if self.down else view
        while self.slots and self.slots[0].start_ps <= self.now.now_ps:
            slot = self.slots[0]
            if slot.seq >= view.tail_seq and name in ("poll", "start"):
                break
            self.slots.popleft()
            self.slots_checked += 1
            length_ps = (slot.frame_bytes + model.OVERHEAD_BYTES) * shape.byte_ps
            self.wire_end_ps = slot.start_ps + length_ps
            if self.slot_reference is not None:
                require(
                    self.slot_reference[0] + 1 == slot.seq
                    and self.slot_reference[1] <= slot.position_ps,
                    "slots were not sent one after another",
                    seq=slot.seq,
                )
            self.slot_reference = (slot.seq, slot.position_ps)
            if shape.mode == PAPER:
                require(
                    slot.position_ps == slot.seq * shape.slot_ps,
                    "free-running slots differ in length",
                    seq=slot.seq,
                )
                require(
                    slot.frame_bytes == shape.slot_bytes,
                    "a free-running slot was trimmed",
                    seq=slot.seq,
                )
                continue
            if len(self.slots) < 400 or slot.seq % 16 == 0:
                self.check_boundary(slot, view)
            if slot.frame_bytes != shape.slot_bytes:
                self.check_trim(slot, view)

    def check_trim(self, slot: SlotRecord, view: SimpleNamespace) -> None:
        """A trimmed slot has an allowed length and, if slots are reserved for that, no owner."""
        params = self.case.params
        difference = slot.frame_bytes - self.shape.slot_bytes
        require(
            difference % params["quantum_bytes"] == 0,
            "a trim of no whole quantum",
            difference=difference,
        )
        require(
            -params["trim_down_bytes"] <= difference <= params["trim_up_bytes"],
            "a trim beyond its range",
            difference=difference,
        )
        if params["trim"] == model.TRIM_RESERVED and slot.seq >= max(
            self.step_seq, self.switched_seq
        ):
            if self.next_allowed is not None:
                return
            net_slot = signed(slot.seq + view.base)
            require(
                self.shape.allowed[net_slot % len(self.shape.allowed)] == 0,
                "a slot that belongs to a class was trimmed",
                seq=slot.seq,
            )

    def boundary_error_ps(self, slot: SlotRecord, view: SimpleNamespace) -> Fraction:
        """Slot start in PHC time minus its place on the grid."""
        net_slot = signed(slot.seq + view.base)
        law = self.down.law if self.down else self.law
        return abs(law.at(slot.position_ps) - self.shape.grid_ns(net_slot)) * 1000

    def trimming_ps(self, rate_change_ppb: int) -> int:
        """Until when what a change of the rate has done to slots beyond change is trimmed away: the
        lock time, which is for half a slot, and as much again for every further half."""
        least, changed = self.limits(0), self.limits(rate_change_ppb)
        halves = 2 * (changed.boundary_error_ps - least.boundary_error_ps) // self.shape.slot_ps
        return int(least.lock_ns + halves * (least.lock_ns - least.span_ns)) * 1000

    def check_boundary(self, slot: SlotRecord, view: SimpleNamespace) -> None:
        if not self.trusted:
            return
        recent = 0
        for position_ps, change_ppb in reversed(self.rate_changes):
            if slot.position_ps - position_ps > self.trimming_ps(recent + change_ppb):
                break
            recent += change_ppb
        limits = self.limits(recent)
        if limits.lock_slots == NEVER:
            return
        locked = view.lock_seq != NEVER and slot.seq >= view.lock_seq
        in_time = slot.start_ps <= self.disturbed_ps + limits.lock_ns * 1000
        # as many lengths as one call changes; the rest keeps its old ones until a later poll
        unplanned = view.planned_seq <= slot.seq < view.tail_seq
        if (not locked and in_time) or slot.start_ps <= self.unsure_until_ps or unplanned:
            return
        error_ps = self.boundary_error_ps(slot, view)
        require(
            error_ps <= limits.boundary_error_ps + 1000 * self.law_error_ns,
            "a locked slot off the grid" if locked else "the grid was not reached within lock_ns",
            error_ps=float(error_ps),
            bound_ps=limits.boundary_error_ps,
            seq=slot.seq,
            lock_seq=view.lock_seq,
            lock_ns=limits.lock_ns,
            since_ns=(slot.start_ps - self.disturbed_ps) / 1000,
        )

    def follow_law(self, name: str, before: SimpleNamespace, now: SimpleNamespace) -> None:
        """Outside the setters the law changes only by an underrun or a slip, and by so much."""
        if name in ("adjfine", "adjtime", "settime"):
            return
        core_law = Law(
            now.anchor_ps, now.anchor_ns + now.anchor_frac * FRACTION, self.law.adjustment
        )
        if name == "start":
            self.law = self.started_law(core_law)
            return
        if (now.underruns, now.slips) == (before.underruns, before.slips):
            difference = abs(core_law.time_ns - self.law.at(now.anchor_ps))
            require(
                difference <= self.law_error_ns,
                "the clock law changed by itself",
                difference=float(difference),
            )
            return
        if now.underruns != before.underruns and self.trusted:
            self.check_recovery(core_law, now)
        self.law = core_law
        self.law_error_ns = ROUNDING_NS

    def started_law(self, core_law: Law) -> Law:
        """What preparing the ring took is in the clock: a few calls, however many descriptors there
        are.
        """
        took_ns = core_law.at(0) - self.law.at(0)
        calls_ns = Fraction(16 * self.case.params["call_ps"], 1000) * Fraction(1001, 1000)
        calls_ns += Fraction(self.case.params["cpu_tick_ps"], 1000)
        require(
            -ROUNDING_NS <= took_ns <= calls_ns + 1,
            "the start of the wire is not where its preparation ended",
            took_ns=float(took_ns),
            calls_ns=float(calls_ns),
        )
        return core_law

    def check_recovery(self, core_law: Law, now: SimpleNamespace) -> None:
        """After an idle wire the clock is what it would have been, within what docs/model.md
        states.
        """
        if not self.slots or self.slot_reference is None:
            return
        restart = self.slots[0]
        params = self.case.params
        idle_ps = restart.start_ps - self.wire_end_ps
        ideal_ns = self.law.at(restart.position_ps) + idle_ps * (1 + self.law.adjustment) / 1000
        # the wire starts anew when all that had left is told of, which may take several polls
        stall_ps = restart.start_ps - min(self.poll_ps, self.wire_end_ps)
        allowed_ns = Fraction(
            self.strip_ps
            + params["restart_ps_max"]
            - params["restart_ps_min"]
            + params["index_lag_ps_max"]
            + stall_ps * 2 * params["drift_ppb_max"] // 10**9
            + stall_ps * params["wander_ppb_per_s_max"] // 10**9 * stall_ps // 10**12
            + 4 * params["call_ps"]
            + 4 * params["cpu_tick_ps"]
            + 4000,
            1000,
        )
        error_ns = abs(core_law.at(restart.position_ps) - ideal_ns)
        require(
            error_ns <= allowed_ns,
            "the clock after an underrun is further off than the strip, the restart and the drift"
            " allow",
            error_ns=float(error_ns),
            allowed_ns=float(allowed_ns),
            idle_ns=idle_ps / 1000,
            strip_ns=self.strip_ps / 1000,
        )

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

    def targets(self, txtime_ns: int, tc: int, base: int) -> set[int]:
        """Slots a txtime may mean now."""
        return self.shape.targets(txtime_ns, tc, base, self.law, self.law_error_ns)

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
                first = max(self.now.unhurried_first, min(lock_seq, min(targets) + reach))
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

    def check_clock(self, now: SimpleNamespace) -> None:
        """The law at several positions, and what reading the clock gives (B1, B2, B6, B8)."""
        slot_ps = self.shape.slot_ps
        for position_ps in (
            now.position_ps,
            now.position_ps + 10**12,
            now.anchor_ps - slot_ps,
            now.anchor_ps + 1,
        ):
            ns, frac = self.core.clock_at(position_ps)
            exact = self.law.at(position_ps)
            allowed = self.law_tolerance(position_ps, now)
            difference = ns + frac * FRACTION - exact
            require(
                abs(difference) <= allowed,
                "the clock differs from its law",
                ns=float(difference),
                at_ps=position_ps,
            )
        read = now.read_ns + now.read_frac * FRACTION
        if self.case.params["clock_read"] == 1 or self.down:
            head_ps = self.end_ps[now.head_seq]
            allowed = self.law_tolerance(head_ps, now)
            require(
                abs(read - self.law.at(head_ps)) <= allowed,
                "the clock is not at the head",
                read=float(read),
            )
        elif now.head_valid and self.case.honest:
            error = abs(read - self.law.at(now.position_ps))
            width = Fraction(now.clock_error_ps + 2, 1000) * (1 + self.law.adjustment)
            width += self.law_tolerance(now.position_ps, now)
            require(
                error <= width,
                "the clock is wronger than it says",
                error=float(error),
                stated=float(width),
            )
