# SPDX-License-Identifier: BSD-3-Clause
"""Frame preemption byte by byte, where the planner has a formula, and HOLD in gate lists.

IEEE Std 802.3-2022 clause 99: a frame of a preemptable queue is cut behind any byte that leaves a
part of min_fragment_bytes with its mCRC before it and 64 bytes after it.
"""

from __future__ import annotations

from functools import cache

from keepon.model.plan import PlannedPort
from keepon.planner.checker.given import Given, Place, node

_MCRC_BYTES, _LAST_BYTES, _BEFORE_BYTES, _GAP_BYTES = 4, 64, 8, 12


def queues(given: Given, place: Place) -> set[int]:
    """Preemptable queues of a port; none unless both ends of its link can."""
    here, there = place[0], node(place[1])
    bridge, other = given.bridges[here], given.bridges.get(there)
    if other is not None:
        able = bool(other.preemptable)
    else:
        able = any(end.name == there and end.preemption for end in given.scenario.station)
    return {bridge.class_of(priority) for priority in bridge.preemptable or []} if able else set()


@cache
def longest_bytes(frame_bytes: int, min_fragment_bytes: int) -> int:
    """The longest that an express frame waits on the wire for a frame of at most `frame_bytes`, or
    for any rest of it: it comes as the preamble of that begins.
    """
    worst = 0
    for rest in range(1, frame_bytes + 1):
        cuts = (
            cut for cut in range(1, rest)
            if cut + _MCRC_BYTES >= min_fragment_bytes and rest - cut >= _LAST_BYTES
        )  # fmt: skip
        first = next(cuts, None)
        sent = rest if first is None else first + _MCRC_BYTES
        worst = max(worst, _BEFORE_BYTES + sent + _GAP_BYTES)
    return worst


def check_hold(given: Given, place: Place, port: PlannedPort) -> list[str]:
    """Check that preemptable frames are held back while a stream's gate is open and go at any other
    time, whatever the gates of others do.
    """
    own, planned = queues(given, place), set(port["queues"].values())
    for entry in port.get("entries", []):
        opened = {queue for queue in range(8) if int(entry["gates"], 16) >> queue & 1}
        if bool(own and opened & planned) != entry.get("hold", False):
            return ["preemptable frames are not held back exactly in windows"]
        if not own <= opened:
            return ["a gate of preemptable frames is closed"]
    return []
