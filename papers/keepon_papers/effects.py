# SPDX-License-Identifier: BSD-3-Clause
"""What slot size and batch do to everything else, as the paper's section A.10 has it (Table 6; G1
to G7).

These are the published relations, for comparing and explaining; a plan is made with those of this
core (polls, lead, synchronisation), which differ where the core does: more is posted than a batch,
and the clock is interpolated.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction

from keepon.model import published
from keepon.model.wire import PS_PER_NS, wire_time_ps
from keepon.planner.parameters import polls, slots
from keepon.planner.parameters.hardware import published_poll_cost
from keepon.planner.parameters.synchronisation import delta_ts, g_eff
from keepon_papers import stampbounds as bounds

METRICS = (
    "time_granularity",
    "advance_time",
    "sync_accuracy",
    "bandwidth_efficiency",
    "cpu_efficiency",
    "power_efficiency",
)


@dataclass(frozen=True)
class Effects:
    """The six metrics of Table 6 for one slot size and batch.

    Attributes:
        time_granularity: slot time in ns (G1).
        advance_time: batch x slot time in ns (G2).
        sync_accuracy: less the offset error of Eq. 4 in ns, with the granularity the sleep rule
            leaves (G3).
        bandwidth_efficiency: payload by slot size (G4).
        cpu_efficiency: share of its core that the poll thread leaves idle; 0 up to the threshold
            (G5, G15).
        power_efficiency: the same share, which power follows (G6).
    """

    time_granularity: Fraction
    advance_time: Fraction
    sync_accuracy: Fraction
    bandwidth_efficiency: Fraction
    cpu_efficiency: Fraction
    power_efficiency: Fraction


@functools.cache
def sleep_overhead_ns() -> int:
    """What the published thread keeps free of a batch before it sleeps (keepon.driver_impl)."""
    return 1000 * int(published.load()["driver_impl"]["polling_overhead_pessimistic_us"])


def idle_share(slot_ns: Fraction, batch_slots: int) -> Fraction:
    """Share of its core that the published poll thread sleeps: none of it until a batch lasts
    longer than the overhead.

    The cost of a poll is calibrated by keepon.fig19a; the threshold is not (G15).
    """
    sleep_ns = bounds.sleep_time(batch_slots, slot_ns, sleep_overhead_ns())
    return sleep_ns / (sleep_ns + int(published_poll_cost().value))


def effects(slot_bytes: int, batch_slots: int, payload_bytes: int, rate_bps: int) -> Effects:
    """Table 6's metrics; `payload_bytes` is at most `slot_bytes`.

    >>> round(float(effects(300, 54, 200, 1_000_000_000).cpu_efficiency), 3)
    0.937
    """
    slot_ns = Fraction(wire_time_ps(slot_bytes, rate_bps), PS_PER_NS)
    granularity = bounds.g_polled(batch_slots, slot_ns, sleep_overhead_ns())
    idle = idle_share(slot_ns, batch_slots)
    return Effects(
        time_granularity=slot_ns,
        advance_time=g_eff(batch_slots, slot_ns),
        sync_accuracy=-delta_ts(bounds.alike(granularity, 0)),
        bandwidth_efficiency=slots.payload_efficiency(payload_bytes, slot_bytes),
        cpu_efficiency=idle,
        power_efficiency=idle,
    )


def sustains(
    batch_slots: int, slot_bytes: int, period_ns: int, cost_ns: int, rate_bps: int
) -> bool:
    """Does a poll with a fixed period keep the wire busy? (A.3: period <= batch x slot time - cost;
    Table 3)
    """
    slot_ns = wire_time_ps(slot_bytes, rate_bps) // PS_PER_NS
    return polls.relative_throughput(batch_slots, slot_ns, period_ns, cost_ns) >= 1.0
