# SPDX-License-Identifier: BSD-3-Clause
"""Size of the CP-SAT model, counted before the model is made and without loading CP-SAT."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from keepon.planner.network.flows import Flow, Placement
from keepon.planner.network.ground import Ground

PAIRS_MAX = 40_000
"""With more pairs of claims the model takes too long to make, and a gigabyte of memory."""


def count(ground: Ground, flows: list[Flow], kept: dict[int, list[Placement]]) -> int:
    """Number of pairs of claims in a model of these flows on all their trees; time and memory grow
    with it.
    """
    holders: dict[tuple[str, ...], Counter[int]] = {}
    for flow in flows:
        for tree in flow.trees:
            alone = ground.alone(flow, tree)
            if not isinstance(alone, int):
                for claim in alone.claims:
                    own = holders.setdefault(claim.resource, Counter())
                    own[flow.number] += flow.stream.turns
    for placements in kept.values():
        for placement in placements:
            for claim in placement.claims:
                holders.setdefault(claim.resource, Counter())[-1] += 1
    return sum(
        (own.total() ** 2 - sum(number**2 for number in own.values())) // 2
        for own in holders.values()
    )


def fits(ground: Ground, flows: list[Flow], kept: dict[int, list[Placement]]) -> bool:
    """Whether CP-SAT can help: no explicit gate list, coarse gates or slots, and at most PAIRS_MAX
    pairs of claims.
    """
    if any(
        ground.varies(leg.here, leg.there)
        for flow in flows
        for tree in flow.trees
        for leg in tree.legs
    ):
        return False
    if any(ground.listed(flow) for flow in flows):
        return False
    return count(ground, [shortest(flow) for flow in flows], kept) <= PAIRS_MAX


def shortest(flow: Flow) -> Flow:
    """The flow with its shortest tree only."""
    return replace(flow, trees=flow.trees[:1])
