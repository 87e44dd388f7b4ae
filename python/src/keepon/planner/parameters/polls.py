# SPDX-License-Identifier: BSD-3-Clause
"""How often the ring is polled, how late a poll may come, and what polling costs.

The times are those of the core (plan_polls() in core/src/pacer.c; KeepON paper section A.3),
computed here again from the parameters alone. Times in ns unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from keepon.model.spans import Spans
from keepon.model.wire import PS_PER_NS, byte_time_ps
from keepon.planner.parameters.hardware import NIC, Host, Nic

POLL_NS_MIN = 200
"""The core never asks for a shorter interval."""


@dataclass(frozen=True)
class Posting:
    """What decides about polls.

    Attributes:
        slot_ps: nominal slot time.
        slot_ps_min: the same trimmed as far as allowed; slot_ps in paper mode.
        batch_slots, depth_slots: per doorbell, and posted ahead of the head.
        poll_overhead_ns: kept free of every interval.
        locked: mode phase-locked; else paper.
        span_slots: of the longest frame.
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
    """What is kept free of every interval if nobody says.

    With a depth near the batch a poll must come before the batch is sent: twice per batch leaves
    half of it for a late poll. With more posted nothing has to be kept free.
    """
    return batch_slots * slot_ps // PS_PER_NS // 2 if depth_slots < 2 * batch_slots else 0


def unposted_ns(posting: Posting, nic: Nic = NIC) -> int:
    """How long posted slots last without being of use (unposted_ns() of the core; the simulator's
    NIC has a done index without lag): two polls, a restart, the slot under way, one by which two
    readings round differently, half a slot of a step, each slot rounded up to ns; four ticks."""
    slots_ns = 3 * -(-posting.slot_ps // PS_PER_NS)
    return 2 * posting.poll_overhead_ns + nic.restart_ns + slots_ns + 4 * nic.cpu_tick_ns


def posted_ns(slots: int, slot_ps: int) -> int:
    """How long so many slots last at least: trimmed by the greatest rate they are 1 % shorter."""
    return slots * slot_ps * 99 // (100 * PS_PER_NS)


def posts_batches(posting: Posting, nic: Nic = NIC) -> bool:
    """Whether a doorbell waits until a whole batch has left; then two periods may pass
    between two.
    """
    left = posting.depth_slots - 2 * posting.batch_slots
    return left >= posting.batch_slots and posted_ns(left, posting.slot_ps) >= unposted_ns(
        posting, nic
    )


def interval_ns(posting: Posting, nic: Nic = NIC) -> int:
    """Longest time the poll thread sleeps between two polls; dither takes up to a slot off it."""
    poll_ns, spent_ns = posting.batch_ns, posting.poll_overhead_ns
    if posting.locked:
        depth_ns = posted_ns(posting.depth_slots, posting.slot_ps)
        if depth_ns < poll_ns - spent_ns + unposted_ns(posting, nic):
            poll_ns, spent_ns = depth_ns, unposted_ns(posting, nic)
    return max(poll_ns - spent_ns, POLL_NS_MIN)


def is_accepted(posting: Posting, nic: Nic = NIC) -> bool:
    """Whether the core takes such a depth: it refuses one that runs dry between two polls."""
    least_ns = POLL_NS_MIN + unposted_ns(posting, nic)
    return not posting.locked or posted_ns(posting.depth_slots, posting.slot_ps) >= least_ns


def slack_ns(posting: Posting, nic: Nic = NIC) -> int:
    """How late a poll may come before the wire runs dry; negative: it does even if polls are never
    late.

    After a poll at least depth slots are posted - less where doorbells wait for a whole batch. The
    frame on the wire, of one slot or several, may be nearly over. Until the next doorbell takes
    effect pass the interval, two reads of the index and a restart.
    """
    kept = posting.batch_slots - 1 if posting.locked and posts_batches(posting, nic) else 0
    left_ns = (posting.depth_slots - kept - posting.span_slots) * posting.slot_ps_min // PS_PER_NS
    return left_ns - interval_ns(posting, nic) - 2 * nic.index_read_ns - nic.restart_ns


def can_fetch(slot_ps_min: int, nic: Nic = NIC) -> bool:
    """Does the NIC get frames as fast as they leave? What it has fetched ahead must last while it
    fetches one more.
    """
    return nic.prefetch_slots * slot_ps_min >= nic.fetch_ns * PS_PER_NS


def can_fetch_span(
    spans: Spans, frame_bytes: int, slot_ps_min: int, rate_bps: int, nic: Nic = NIC
) -> bool:
    """The same at the shorter descriptors of a frame of several slots, and of those behind it."""
    lasts_ps = [count * byte_time_ps(rate_bps) for count in spans.descriptors(frame_bytes)]
    lasts_ps += [slot_ps_min] * nic.prefetch_slots
    return all(
        sum(lasts_ps[first : first + nic.prefetch_slots]) >= nic.fetch_ns * PS_PER_NS
        for first in range(spans.of(frame_bytes).slots)
    )


def cpu_share(sleep_ns: int | Fraction, cost_ns: int) -> float:
    """Share of its core that a thread takes which sleeps for `sleep_ns` and then works for
    `cost_ns`.
    """
    return float(Fraction(cost_ns) / (Fraction(cost_ns) + sleep_ns))


def expected_cpu_share(posting: Posting, host: Host, nic: Nic = NIC) -> float:
    """Share of its core that the poll thread takes: one poll per interval, less half the dither;
    calibrated cost.
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
