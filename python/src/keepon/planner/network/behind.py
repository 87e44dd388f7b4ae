# SPDX-License-Identifier: BSD-3-Clause
"""Frames that share an opening of an explicit gate list: the first leaves as the gate opens, each
other one when the frame before it has left the wire, while the gate stays open.

The order is known only if the wire is busy from the instant at which a frame could leave until it
does: the bridge finishes the frame in transmission, then sends the frame of the highest queue, and
within a queue the one that arrived first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from keepon.model.gates import GateList
from keepon.model.wire import PREAMBLE_BYTES
from keepon.planner.network.flows import Flow, Placement, Step
from keepon.planner.network.occupancy import Occupancy

if TYPE_CHECKING:
    from keepon.planner.network.ground import Ground

FOLLOWED_MAX = 200_000
"""Most frames of a hyperperiod, counted at every port, for which a plan lets a frame wait behind
others: the checker must follow all of them.
"""


def wait_ps(
    ground: Ground,
    flow: Flow,
    step: Step,
    listed: GateList,
    opens_ps: tuple[int, int],
    occupancy: Occupancy,
) -> int:
    """How long after `late` a frame leaves whose gate would let it go within [early, late]; 0: it
    does not wait, or its wait is not exactly known.
    """
    early_ps, late_ps = opens_ps
    at_ps = early_ps
    while at_ps < early_ps + flow.period_ps:
        left_ps = occupancy.busy_until_ps(step.wire, at_ps, flow.period_ps, step.queue_number)
        if left_ps is None:
            break
        at_ps = left_ps
    _, most_ps = ground.frame_ps(flow, *step.wire[1:], PREAMBLE_BYTES)
    stays_open = at_ps > late_ps and (
        listed.earliest_ps(step.queue_number, at_ps, most_ps) == at_ps
    )
    return at_ps - late_ps if stays_open and is_followed(ground) else 0


def is_followed(ground: Ground) -> bool:
    """Whether the checker follows all frames one by one."""
    cycle_ps = math.lcm(*(flow.period_ps for flow in ground.flows))
    passing = (
        cycle_ps // flow.period_ps * max(len(tree.legs) for tree in flow.trees)
        for flow in ground.flows
    )
    return sum(passing) <= FOLLOWED_MAX


def loose(ground: Ground, placed: dict[int, list[Placement]], occupancy: Occupancy) -> list[int]:
    """Remove from `placed` and `occupancy` the flows that would leave sooner because flows before
    them were removed; return their numbers.
    """
    found = []
    for number, placements in list(placed.items()):
        if not any(
            hop.waits_ps and ground.explicit(hop.bridge, hop.peer) is not None
            for placement in placements
            for hop in placement.hops
        ):
            continue
        occupancy.remove(number)
        laid = [
            ground.lay(
                entry.flow,
                entry.tree,
                entry.release_ps,
                occupancy,
                sum(hop.waits_ps for hop in entry.hops),
            )
            for entry in placements
        ]
        if any(
            isinstance(again, int) or again.hops != entry.hops
            for again, entry in zip(laid, placements, strict=True)
        ):
            del placed[number]
            found.append(number)
            continue
        for placement in placements:
            occupancy.add(number, placement.claims)
    return found
