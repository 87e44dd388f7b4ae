# SPDX-License-Identifier: BSD-3-Clause
"""Slots that stay without an owner where only such slots may be trimmed (trim = "reserved";
docs/model.md).
"""

from __future__ import annotations

import bisect

from keepon.errors import InfeasibleError
from keepon.model.scenario import KeeponOptions, Station
from keepon.model.wire import OVERHEAD_BYTES, PS_PER_NS
from keepon.planner.parameters.hardware import NIC

GAP_SLOTS_MAX = 100
"""Greatest distance of two slots reserved for trims, even if the drift allows more: chosen."""


def gap_slots(options: KeeponOptions, slot_bytes: int) -> int:
    """Greatest distance of two slots that may be trimmed: one trim, itself shortened by the drift,
    corrects the stated drift since the last one.
    """
    least_bytes = min(options.trim_down_bytes, options.trim_up_bytes)
    slower = 10**9 - NIC.drift_ppb
    followed = least_bytes * slower // (NIC.drift_ppb * (slot_bytes + OVERHEAD_BYTES))
    return max(1, min(GAP_SLOTS_MAX, followed))


def drift_between_ps(options: KeeponOptions, slot_bytes: int, slot_ps: int, span_slots: int) -> int:
    """Greatest offset of slots from the grid by the stated drift between two trims, or within the
    longest frame if that is longer (kpn_align_bounds()); 0 where every slot may be trimmed.
    """
    gap = gap_slots(options, slot_bytes) if options.trim == "reserved" else span_slots
    return slot_ps * gap * NIC.drift_ppb // 10**9 + 1 if gap > 1 else 0


def reserve(options: KeeponOptions, slot_bytes: int, partition_slots: int) -> int:
    """Slots of a partition that must stay without a class, evenly spread; 0 where every slot may be
    trimmed.
    """
    if options.mode != "phase-locked" or options.trim != "reserved":
        return 0
    return -(-partition_slots // gap_slots(options, slot_bytes))


def reserved_slots(
    station: Station, free: list[bool], slot_bytes: int, slot_ps: int, streams: list[str]
) -> set[int]:
    """Slots that stay without a class: the fewest that keep the distance, each as late as possible.

    Args:
        station: for its trims, and for the message.
        free: by partition slot, whether no stream and no listed class uses it.
        streams: ids that the message names if free slots are missing.

    Raises:
        InfeasibleError: two free slots are further apart than trims can correct.
    """
    apart = gap_slots(station.keepon, slot_bytes)
    places = [slot for slot, is_free in enumerate(free) if is_free]
    best: list[int] | None = None
    # The table repeats: the choice of the first slot decides how the last one fits before it.
    for first in places[: apart + 1]:
        kept = _spread(places, first, len(free), apart)
        if kept is not None and (best is None or len(kept) < len(best)):
            best = kept
    if best is None:
        raise InfeasibleError(
            f'station "{station.name}": with trim "reserved" one of {apart} consecutive slots'
            f" ({apart * slot_ps // PS_PER_NS} ns) must belong to no class, and its streams leave"
            " no such slots",
            "trim",
            streams,
            'set trim = "any", or raise trim_down_bytes and trim_up_bytes',
        )
    return set(best)


def _spread(places: list[int], first: int, period: int, apart: int) -> list[int] | None:
    """Slots from `first` on, round the table, each the last free one within `apart` of the one
    before.
    """
    kept = [first]
    while kept[-1] + apart < first + period:
        last = _last_until(places, kept[-1] + apart, period)
        if last <= kept[-1]:
            return None
        kept.append(last)
    return [place % period for place in kept]


def _last_until(places: list[int], slot: int, period: int) -> int:
    """The last free slot up to `slot`, in this or the next repetition of the table; -1: there is
    none.
    """
    lap = slot // period
    index = bisect.bisect_right(places, slot - lap * period) - 1
    if index < 0:
        lap -= 1
    return places[index] + lap * period if lap >= 0 else -1
