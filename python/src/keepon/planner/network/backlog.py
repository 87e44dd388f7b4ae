# SPDX-License-Identifier: BSD-3-Clause
"""How many frames wait in a queue of a bridge at once: with isolation "order" several of streams,
and where PTP has their priority its messages besides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from keepon.planner.network.flows import Placement
from keepon.planner.network.ground import Ground

Queue = tuple[str, str, int]
"""Bridge, neighbour, queue."""
_Stays = list[tuple[int, int, int]]
"""Of frames in a queue: from when, until when, after how many ps again."""


def overflow(ground: Ground, placements: Iterable[Placement]) -> tuple[Queue, int] | None:
    """The first queue that frames would find full, and how many it has to hold; None: none would.

    Where "frame" isolates them, and at a port without gates, one frame of all streams is there.
    """
    stays: dict[Queue, _Stays] = {}
    for placement in placements:
        arrivals = {claim.resource: claim for claim in placement.claims}
        for hop in placement.hops:
            place = (hop.bridge, hop.peer, hop.window.queue)
            claim = arrivals.get(("queue", hop.bridge, hop.peer, str(hop.window.queue)))
            from_ps = hop.early_ps if claim is None else claim.start_ps
            stays.setdefault(place, []).append((from_ps, hop.late_ps, placement.flow.period_ps))
    is_ordered = ground.scenario.planner.isolation == "order"
    for queue, frames in stays.items():
        bridge, peer, number = queue
        gated = ground.is_gated(bridge, peer) or ground.explicit(bridge, peer) is not None
        needed = _deepest(frames) if is_ordered and gated else 1
        needed += ground.messages_beside(bridge, peer, number)
        if needed > ground.bridges[bridge].queue_frames:
            return queue, needed
    return None


def _deepest(frames: _Stays) -> int:
    """How many are there at once at most; one that leaves as another comes may still be there."""
    cycle_ps = math.lcm(*(period_ps for _, _, period_ps in frames))
    count, changes = 0, []
    for from_ps, until_ps, period_ps in frames:
        for start_ps in range(from_ps, from_ps + cycle_ps, period_ps):
            end_ps = start_ps + until_ps - from_ps
            # Those of earlier turns of the circle that are still there as it begins.
            count += end_ps // cycle_ps - start_ps // cycle_ps
            changes += [(start_ps % cycle_ps, -1), (end_ps % cycle_ps, 1)]
    deepest = count
    for _, leaves in sorted(changes):
        count -= leaves
        deepest = max(deepest, count)
    return deepest
