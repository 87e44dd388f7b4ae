# SPDX-License-Identifier: BSD-3-Clause
"""Checks of shaped classes: what of them is on the wire."""

from __future__ import annotations

from fractions import Fraction

from core_model.core import SlotRecord
from core_model.credit import Shaped
from core_model.model import OVERHEAD_BYTES
from core_model.twin import Twin, require


class CreditChecks(Twin):
    """Frames of shaped classes as they leave."""

    def shape_class(self, tc: int, idle_slope_bps: int, high_bytes: int) -> None:
        """From the next frame that is placed on; 0: it is not shaped any more."""
        self.shaped.pop(tc, None)
        for frame in self.frames.values():
            frame.paid = False
        if idle_slope_bps:
            wire_bytes = self.shape.slot_bytes + OVERHEAD_BYTES
            cost = Fraction(self.case.params["rate_bps"], idle_slope_bps)
            self.shaped[tc] = Shaped(cost, Fraction(high_bytes, wire_bytes) * cost)

    def follow_credit(self, slot: SlotRecord) -> None:
        """A slot that the NIC has latched."""
        frame = self.frames.get(slot.frame_id)
        if frame is None or not frame.paid:
            return
        shaped = self.shaped[frame.tc]
        require(
            shaped.at_most(slot.seq),
            "a class sends more than its idle slope",
            tc=frame.tc,
            seq=slot.seq,
            sent=shaped.sent,
        )
        shaped.sent.append(slot.seq)
