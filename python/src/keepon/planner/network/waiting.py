# SPDX-License-Identifier: BSD-3-Clause
"""How long a flow is kept at bridges so that it meets nothing: added up, not laid hop by hop."""

from __future__ import annotations

from keepon.model.wire import PS_PER_NS, ceil_ns
from keepon.planner.network.flows import Placement, Step
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import Claim, Obstacles, Occupancy


def settled(
    ground: Ground,
    steady: Placement,
    by_ps: int,
    obstacles: Obstacles,
    occupancy: Occupancy,
    wait_ps: int | None,
) -> Placement | int:
    """What `Ground.lay` gives for a flow that moves with its release: where it is, or how much
    later.

    Args:
        ground: where the flow is.
        steady: the flow alone.
        by_ps: by how much later it is released than that.
        obstacles: what its claims there must not meet, of
        occupancy: all that is placed.
        wait_ps: how long it may be kept altogether; None: at each, an eighth of its wire time.
    """
    flow, tree = steady.flow, steady.tree
    legs = list(zip(tree.legs, ground.steps(flow, tree), strict=True))
    kept_ps: list[int] = []  # so far, by leg
    waits_ns: list[int] = []
    number = len(steady.claims) - sum(1 + step.gated for leg, step in legs if leg.parent >= 0)
    for own in range(number):
        if shift_ps := obstacles.shift_ps(own, by_ps):
            return shift_ps
    for leg, step in legs:
        if leg.parent < 0:
            kept_ps.append(0)
            continue
        at_ps = by_ps + kept_ps[leg.parent]
        own_ps = _wire_wait_ps(obstacles, number, at_ps, step, wait_ps)
        if own_ps < 0:
            return -own_ps
        number += 1
        if step.gated:
            queue = steady.claims[number]
            shift_ps = obstacles.shift_ps(number, at_ps)
            if own_ps:
                shift_ps = occupancy.shift_ps(_kept(queue, at_ps, own_ps))
            if shift_ps:
                return shift_ps
            number += 1
        if wait_ps is not None:
            wait_ps -= own_ps
        kept_ps.append(kept_ps[leg.parent] + own_ps)
        waits_ns.append(own_ps // PS_PER_NS)
    laid = ground.lay(flow, tree, steady.release_ps + by_ps, None, None, tuple(waits_ns))
    assert not isinstance(laid, int)
    return ground.excess_ps(laid) or laid


def _wire_wait_ps(
    obstacles: Obstacles, number: int, at_ps: int, step: Step, wait_ps: int | None
) -> int:
    """How long a frame is kept for a wire; negative: not so long, it must be released later by
    this.
    """
    limit_ps = step.limit_ps if wait_ps is None else wait_ps
    own_ps = 0
    while shift_ps := obstacles.shift_ps(number, at_ps + own_ps):
        if not step.gated:
            return -shift_ps
        shift_ps = ceil_ns(shift_ps) * PS_PER_NS
        if own_ps + shift_ps > limit_ps:
            return -max(1, own_ps + shift_ps - limit_ps)
        own_ps += shift_ps
    return own_ps


def _kept(queue: Claim, by_ps: int, own_ps: int) -> Claim:
    """The claim on a queue of a frame that comes later by `by_ps` and is kept for `own_ps`."""
    whole = (queue.start_ps, queue.end_ps) == (queue.start_2_ps, queue.end_2_ps)
    start_2_ps = queue.start_2_ps if whole else queue.start_2_ps + own_ps
    end_ps = queue.end_ps + own_ps if whole else queue.end_ps
    return Claim(
        queue.resource, queue.start_ps + by_ps, end_ps + by_ps,
        start_2_ps + by_ps, queue.end_2_ps + own_ps + by_ps,
        queue.period_ps, queue.group, queue.modulus_ps,
    )  # fmt: skip
