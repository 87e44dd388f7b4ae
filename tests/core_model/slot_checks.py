# SPDX-License-Identifier: BSD-3-Clause
"""Checks of slots: every one that has begun is where the grid or its count wants it, is trimmed
only where and as far as it may be, and is on the grid within the stated time.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

from core_model import model
from core_model.core import SlotRecord
from core_model.model import NEVER, PAPER, signed
from core_model.twin import Twin, require

# From reading the CPU counter to the first store of re-planning.
REPLAN_PS = 4_000_000
SETTERS = frozenset(["adjfine", "adjtime", "settime"])


class SlotChecks(Twin):
    """Slots as the NIC latched them against the grid."""

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

    def check_slots(self, name: str, view: SimpleNamespace) -> None:
        """Every slot that has begun: its place on the grid, or its count, by the state before the
        operation. A setter takes its time, and slots that begin meanwhile do so by the clock before
        it, but for those that it could reach: they wait for the state after it.
        """
        shape = self.shape
        view = self.down.view if self.down else view
        while self.slots and self.slots[0].start_ps <= self.now.now_ps:
            slot = self.slots[0]
            if slot.seq >= view.tail_seq and name in ("poll", "start"):
                break
            if slot.seq >= view.head_upper_seq + view.lead_slots and name in SETTERS:
                break
            self.slots.popleft()
            self.slots_checked += 1
            if slot.seq == 0:
                self.first_start_ps = slot.start_ps
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
        law = self.down.law if self.down else self.law_of_begun
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
