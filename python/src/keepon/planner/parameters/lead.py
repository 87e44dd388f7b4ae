# SPDX-License-Identifier: BSD-3-Clause
"""How long before its txtime a frame must be there: what the core needs, and what the host takes to
bring it.

A frame may have a slot that is at least `lead_slots` ahead of the greatest possible head at the
moment of submission (docs/model.md). With w the width of the interval in which the wire is known to
be, and s the slot time, that holds for every slot whose start is more than (lead_slots - 1) s + w
away. Right after one reading of the index w is a slot and what the reading leaves open; more
readings only narrow it (docs/model.md), usually to some per cent of a slot. So `lead_time_ns` is
enough whatever was read before, and about a slot more than what is usually needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from keepon.model.hosts import etf_delta_ns
from keepon.model.qdiscs import stations
from keepon.model.scenario import Station
from keepon.model.wire import byte_time_ps, ceil_ns, preamble_time_ps
from keepon.planner.parameters.hardware import NIC, Host, Nic, tail_over
from keepon.planner.parameters.polls import Posting, interval_ns, slack_ns

SPAN_STORE_NS = 200
"""What the core reckons for each slot of a frame that takes several (KPN_SPAN_STORE_NS)."""


def lead_slots(posting: Posting, nic: Nic = NIC) -> int:
    """Slots from the greatest possible head to the first that may be changed; in paper mode at
    least a batch (C3).

    Where there are frames of several slots it is one more, and where streams share slots with them
    the others of the longest, which keeps those that it has begun.
    """
    fetched = nic.prefetch_slots + 1
    if not posting.locked:
        return max(posting.batch_slots, fetched)
    spanned = posting.span_slots - 1
    return fetched + (spanned > 0) + (spanned if posting.shared else 0)


def strip_width_ns(posting: Posting, trim_up_ps: int, nic: Nic = NIC) -> int:
    """Width in ns of what is known of the wire just before the next poll, from one reading alone.

    A reading leaves open a slot, trimmed longer at most, the range of the index's lag, the duration
    of the read and a tick of the CPU counter before it and one now; until the next poll the stated
    drift between the crystals is added, twice as either may be the faster.
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
    """From the hand-over to the driver to the txtime at least, in ns, so that no frame is late.

    Slots of mode "phase-locked" start on the grid, and so does the one a txtime means. In mode
    "paper" their phase is arbitrary and the slot in progress at the txtime is taken, which may have
    begun a slot earlier. A poll under way keeps a submission waiting for two reads of the index.

    Args:
        posting: slot, batch, depth.
        rate_bps: of the link.
        trim_up_bytes: how much longer a slot may be made; 0 in paper mode.

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
    """How much longer the lead time is for frames of several slots, in ns: one of which some are
    posted and others are not waits for the next poll, which posts them, and takes them by the one
    after that. So do those behind it. Nothing where what is posted always reaches far enough.
    """
    poll_ns = interval_ns(posting, nic) + host.poll_late_usual_ns + 2 * nic.index_read_ns
    left_ns = slack_ns(posting, nic) - host.poll_late_usual_ns
    if left_ns - poll_ns >= lead_ns + ceil_ns(slots * posting.slot_ps):
        return 0
    return 2 * poll_ns


@dataclass(frozen=True)
class HandOver:
    """How a frame gets from its application to the driver.

    Attributes:
        usual_ns: from txtime - advance to the driver, tails aside.
        worst_ns: the same with every stage at its cap.
        limit_ns: with ETF or guard in front, hand-over starts no earlier than this before the
            txtime; None without.
        limited_ns: what follows that: its timer and the driver.
    """

    usual_ns: int
    worst_ns: int
    limit_ns: int | None = None
    limited_ns: int = 0


def hand_over(station: Station, host: Host) -> HandOver | None:
    """The way of a frame with a txtime; None where frames carry none (release "sleep")."""
    if station.release == "sleep":
        return None
    stages = [host.stages[name] for name in ("wakeup", "stack", "driver")]
    usual = sum(stage.usual_ns for stage in stages) + host.shared_ns
    worst = sum(stage.worst_ns for stage in stages) + host.shared_ns
    tree = stations.tree_of(station)
    if tree is not None:
        limit_ns = stations.held_back_ns(tree)
    else:
        limit_ns = etf_delta_ns(station) if station.release == "etf" else None
    if limit_ns is None:
        return HandOver(usual, worst)
    behind_ns = host.stages["timer"].usual_ns + host.stages["driver"].usual_ns
    return HandOver(usual, worst, limit_ns, behind_ns + host.shared_ns)


def late_probability(advance_ns: int, lead_ns: int, way: HandOver, host: Host) -> float:
    """Probability that the tail of waking up makes a frame late, by the host's model; 0 if that
    cannot be.
    """
    return tail_over(host.stages["wakeup"], advance_ns - lead_ns - way.usual_ns)


def least_advance_ns(lead_ns: int, way: HandOver) -> int:
    """Shortest advance_ns with which frames are usually in time."""
    return lead_ns + way.usual_ns
