# SPDX-License-Identifier: BSD-3-Clause
"""Lead time: how long before its txtime the driver must have a frame, and how long the host takes
to hand it over.

A frame may take a slot that is at least `lead_slots` ahead of the greatest possible head at its
submission (docs/model.md). With slot time s, and w the width of the interval in which the position
of the wire is known to be, these are the slots that start more than (lead_slots - 1) s + w later.
Right after one reading of the index w is a slot and the uncertainty of the reading; more readings
only narrow w (docs/model.md), usually to some per cent of a slot. So `lead_time_ns` suffices after
any readings, and usually about a slot less would.
"""

from __future__ import annotations

from dataclasses import dataclass

from keepon.model import guests
from keepon.model.hosts import etf_delta_ns
from keepon.model.qdiscs import stations
from keepon.model.scenario import Station
from keepon.model.wire import byte_time_ps, ceil_ns, preamble_time_ps
from keepon.planner.parameters.hardware import NIC, Host, Nic, tail_over
from keepon.planner.parameters.polls import Posting, interval_ns, slack_ns

SPAN_STORE_NS = 200
"""Time that the core allows for each slot of a frame that takes several (KPN_SPAN_STORE_NS)."""


def lead_slots(posting: Posting, nic: Nic = NIC) -> int:
    """Slots from the greatest possible head to the first that may be changed; in paper mode at
    least a batch (C3).

    With frames of several slots it is one more; where streams share slots with such frames, also
    the remaining slots of the longest frame, which keeps the slots that it has begun.
    """
    fetched = nic.prefetch_slots + 1
    if not posting.locked:
        return max(posting.batch_slots, fetched)
    spanned = posting.span_slots - 1
    return fetched + (spanned > 0) + (spanned if posting.shared else 0)


def strip_width_ns(posting: Posting, trim_up_ps: int, nic: Nic = NIC) -> int:
    """Width in ns of the interval in which the wire is known to be just before the next poll, from
    one reading alone.

    The uncertainty of a reading is a slot at its longest trim, the range of the index's lag, the
    duration of the read, and two ticks of the CPU counter, one before the reading and one now.
    Until the next poll the stated drift between the crystals adds twice, as either crystal may be
    the faster.
    """
    drift_ns = -(-2 * nic.drift_ppb * (interval_ns(posting, nic) + nic.index_read_ns) // 10**9)
    return (
        ceil_ns(posting.slot_ps + trim_up_ps)
        + nic.index_lag_ns
        + nic.index_read_ns
        + nic.tick_blur_ns
        + drift_ns
    )


def lead_time_ns(posting: Posting, rate_bps: int, trim_up_bytes: int = 0, nic: Nic = NIC) -> int:
    """Least time in ns from the hand-over to the driver to the txtime with which no frame is late.

    In mode "phase-locked" the slot of a txtime starts on the grid. In mode "paper" the phase of
    slots is arbitrary, and a frame takes the slot in progress at its txtime, which may have begun a
    slot earlier. A poll in progress delays a submission by two reads of the index.

    Args:
        posting: slot, batch, depth.
        rate_bps: rate of the link.
        trim_up_bytes: longest extension of a slot; 0 in paper mode.

    Source: KeepON paper section 3.3 (C3) and A.10 (G2: batch x slot time); the terms beyond that
    are this core's.
    """
    byte_ps = byte_time_ps(rate_bps)
    slots = lead_slots(posting, nic) - 1
    ahead_ps = slots * posting.slot_ps + preamble_time_ps(rate_bps) + byte_ps
    if not posting.locked:
        ahead_ps += posting.slot_ps
    width_ns = strip_width_ns(posting, trim_up_bytes * byte_ps, nic)
    stores_ns = posting.span_slots * SPAN_STORE_NS if posting.span_slots > 1 else 0
    return ceil_ns(ahead_ps) + width_ns + stores_ns + 2 * nic.index_read_ns + 1


def tail_ns(posting: Posting, slots: int, lead_ns: int, host: Host, nic: Nic = NIC) -> int:
    """How much longer the lead time is for frames of several slots, in ns.

    A frame of which only some slots are posted waits for two polls: the next poll posts the other
    slots, and the one after it takes the frame. Frames behind it wait, too. 0 if posted slots
    always reach far enough.
    """
    poll_ns = interval_ns(posting, nic) + host.poll_late_usual_ns + 2 * nic.index_read_ns
    left_ns = slack_ns(posting, nic) - host.poll_late_usual_ns
    if left_ns - poll_ns >= lead_ns + ceil_ns(slots * posting.slot_ps):
        return 0
    return 2 * poll_ns


@dataclass(frozen=True)
class HandOver:
    """The way of a frame from its application to the driver.

    Attributes:
        usual_ns: time from txtime - advance to the driver, tails excluded.
        worst_ns: the same with every stage at its cap.
        limit_ns: with ETF or guard in front, the earliest hand-over before the txtime; None
            without.
        limited_ns: time of the stages after that: its timer and the driver.
    """

    usual_ns: int
    worst_ns: int
    limit_ns: int | None = None
    limited_ns: int = 0


def hand_over(station: Station, host: Host) -> HandOver | None:
    """The way of a frame with a txtime; None where frames have no txtime (release "sleep")."""
    if station.release == "sleep":
        return None
    stages = [host.stages[name] for name in ("wakeup", "stack", "driver")]
    usual_ns, worst_ns = guests.out_ns(station)
    usual = sum(stage.usual_ns for stage in stages) + host.shared_ns + usual_ns
    worst = sum(stage.worst_ns for stage in stages) + host.shared_ns + worst_ns
    tree = stations.tree_of(station)
    if tree is not None:
        limit_ns = stations.held_back_ns(tree)
    else:
        limit_ns = etf_delta_ns(station) if station.release == "etf" else None
    if limit_ns is None:
        return HandOver(usual, worst)
    behind_ns = host.stages["timer"].usual_ns + host.stages["driver"].usual_ns + usual_ns
    return HandOver(usual, worst, limit_ns, behind_ns + host.shared_ns)


def late_probability(advance_ns: int, lead_ns: int, way: HandOver, host: Host) -> float:
    """Probability that the tail of the wake-up makes a frame late, by the host model; 0 if it
    cannot.
    """
    return tail_over(host.stages["wakeup"], advance_ns - lead_ns - way.usual_ns)


def least_advance_ns(lead_ns: int, way: HandOver) -> int:
    """Shortest advance_ns with which frames are usually in time."""
    return lead_ns + way.usual_ns
