# SPDX-License-Identifier: BSD-3-Clause
"""Poll interval, allowed lateness of a poll, and cost of polling.

The core has the same times (plan_polls() in core/src/pacer.c; KeepON paper section A.3); this
module computes them from the parameters alone. Times in ns unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from keepon.model.spans import Spans
from keepon.model.wire import PS_PER_NS, byte_time_ps
from keepon.planner.parameters.hardware import NIC, Host, Nic

POLL_NS_MIN = 200
"""Shortest interval that the core uses."""


@dataclass(frozen=True)
class Posting:
    """Parameters that determine the polls.

    Attributes:
        slot_ps: nominal slot time.
        slot_ps_min: slot time at the longest downward trim; slot_ps in paper mode.
        batch_slots, depth_slots: slots per doorbell; slots posted ahead of the head.
        poll_overhead_ns: time kept free in every interval.
        locked: mode phase-locked; else paper.
        span_slots: slots of the longest frame.
        shared: whether streams share slots with other classes.
    """

    slot_ps: int
    slot_ps_min: int
    batch_slots: int
    depth_slots: int
    poll_overhead_ns: int
    locked: bool
    span_slots: int = 1
    shared: bool = False

    @property
    def batch_ns(self) -> int:
        """The polling budget of section A.10, batch x slot time."""
        return self.batch_slots * self.slot_ps // PS_PER_NS


def auto_overhead_ns(batch_slots: int, depth_slots: int, slot_ps: int) -> int:
    """Time kept free in every interval by default.

    With a depth near the batch a poll must come before the batch is sent: two polls per batch leave
    half of it for a late poll. With a greater depth nothing has to be kept free.
    """
    return batch_slots * slot_ps // PS_PER_NS // 2 if depth_slots < 2 * batch_slots else 0


def unposted_ns(posting: Posting, nic: Nic = NIC) -> int:
    """Part of the posted time that is no margin, as unposted_ns() of the core: two polls, a
    restart, the slot on the wire, one slot of rounding between two readings, half a slot of a clock
    step, each slot rounded up to ns, and four ticks. The simulator's NIC has a done index without
    lag.
    """
    slots_ns = 3 * -(-posting.slot_ps // PS_PER_NS)
    return 2 * posting.poll_overhead_ns + nic.restart_ns + slots_ns + 4 * nic.cpu_tick_ns


def posted_ns(slots: int, slot_ps: int) -> int:
    """Least time that so many slots last: trims by the greatest rate shorten them by 1 %."""
    return slots * slot_ps * 99 // (100 * PS_PER_NS)


def posts_batches(posting: Posting, nic: Nic = NIC) -> bool:
    """Whether a doorbell waits until a whole batch has left, so that two poll periods may pass
    between two doorbells.
    """
    left = posting.depth_slots - 2 * posting.batch_slots
    return left >= posting.batch_slots and posted_ns(left, posting.slot_ps) >= unposted_ns(
        posting, nic
    )


def interval_ns(posting: Posting, nic: Nic = NIC) -> int:
    """Longest sleep of the poll thread between two polls; dither shortens it by up to a slot."""
    poll_ns, spent_ns = posting.batch_ns, posting.poll_overhead_ns
    if posting.locked:
        depth_ns = posted_ns(posting.depth_slots, posting.slot_ps)
        if depth_ns < poll_ns - spent_ns + unposted_ns(posting, nic):
            poll_ns, spent_ns = depth_ns, unposted_ns(posting, nic)
    return max(poll_ns - spent_ns, POLL_NS_MIN)


def is_accepted(posting: Posting, nic: Nic = NIC) -> bool:
    """Whether the core accepts the depth: it refuses one with which the wire runs dry between
    polls.
    """
    least_ns = POLL_NS_MIN + unposted_ns(posting, nic)
    return not posting.locked or posted_ns(posting.depth_slots, posting.slot_ps) >= least_ns


def slack_ns(posting: Posting, nic: Nic = NIC) -> int:
    """How late a poll may come before the wire runs dry; negative: the wire runs dry even with
    punctual polls.

    After a poll at least depth slots are posted, fewer where doorbells wait for a whole batch. The
    frame on the wire, of one slot or several, may be nearly over. The next doorbell takes effect
    after the interval, two reads of the index and a restart.
    """
    kept = posting.batch_slots - 1 if posting.locked and posts_batches(posting, nic) else 0
    left_ns = (posting.depth_slots - kept - posting.span_slots) * posting.slot_ps_min // PS_PER_NS
    return left_ns - interval_ns(posting, nic) - 2 * nic.index_read_ns - nic.restart_ns


def can_fetch(slot_ps_min: int, nic: Nic = NIC) -> bool:
    """Whether the NIC fetches frames as fast as they leave: the prefetched frames must last for one
    fetch.
    """
    return nic.prefetch_slots * slot_ps_min >= nic.fetch_ns * PS_PER_NS


def can_fetch_span(
    spans: Spans, frame_bytes: int, slot_ps_min: int, rate_bps: int, nic: Nic = NIC
) -> bool:
    """As `can_fetch`, for the shorter descriptors of a frame of several slots and of the slots
    behind it.
    """
    lasts_ps = [count * byte_time_ps(rate_bps) for count in spans.descriptors(frame_bytes)]
    lasts_ps += [slot_ps_min] * nic.prefetch_slots
    return all(
        sum(lasts_ps[first : first + nic.prefetch_slots]) >= nic.fetch_ns * PS_PER_NS
        for first in range(spans.of(frame_bytes).slots)
    )


def cpu_share(sleep_ns: int | Fraction, cost_ns: int) -> float:
    """CPU share of a thread that sleeps for `sleep_ns` and then works for `cost_ns`."""
    return float(Fraction(cost_ns) / (Fraction(cost_ns) + sleep_ns))


def expected_cpu_share(posting: Posting, host: Host, nic: Nic = NIC) -> float:
    """CPU share of the poll thread: one poll per interval, less half the dither; calibrated
    cost.
    """
    slot_ns = posting.slot_ps // PS_PER_NS
    longest_ns = interval_ns(posting, nic)
    sleep_ns = longest_ns - min(slot_ns, longest_ns // 2) // 2
    return cpu_share(sleep_ns, host.poll_cost_ns)


def relative_throughput(batch_slots: int, slot_ns: int, period_ns: int, cost_ns: int) -> float:
    """Share of line rate if each poll posts a batch, with a fixed period between polls of `cost_ns`
    each (Table 3).

    >>> relative_throughput(8, 2560, 100_000, 0)
    0.2048
    """
    return min(1.0, batch_slots * slot_ns / (period_ns + cost_ns)) if period_ns + cost_ns else 1.0
