# SPDX-License-Identifier: BSD-3-Clause
"""Frame replication and elimination (FRER) as the simulator has it."""

from __future__ import annotations

from typing import Any

from keepon._sim import RecoverySpec, Simulation
from keepon.measure.simulated import Recovery
from keepon.model.cables import node_of
from keepon.model.plan import Plan
from keepon.model.redundancy import DUPLICATE
from keepon.model.scenario import Stream


def add(
    simulation: Simulation, nodes: dict[str, int], stream: Stream, plan: Plan, flow: int
) -> None:
    """The second way of a stream, who puts in its R-tags, and who drops copies: the bridge where
    its ways meet, which takes the tags away, or the listener.
    """
    (listener,), entry = stream.listeners, plan["streams"][stream.id]
    route, second = entry["routes"][listener], entry["second_route"]
    options = stream.frer.model_dump()
    tagged_by = stream.talker if options.pop("tagged_by") == "talker" else route[0]
    meet = node_of(route[-1]) == node_of(second[-1])
    simulation.add_way(flow, [nodes[name] for name in second])
    simulation.set_generation(nodes[tagged_by], flow)
    simulation.set_recovery(
        nodes[node_of(route[-1]) if meet else listener],
        RecoverySpec(stream=flow, untag=meet, **options),
    )


def recovered(raw: dict[str, Recovery] | None, nodes: dict[str, int]) -> dict[str, Any]:
    """`recovery` of a node: its counters by stream, those of each way by the neighbour's name;
    nothing where no copies end.
    """
    if raw is None:
        return {}
    names = {number: name for name, number in nodes.items()}
    found: dict[str, dict[str, Any]] = {}
    for stream, counters in raw.items():
        ports = {names[peer]: own for peer, own in counters.get("ports", {}).items()}
        found[stream] = {**counters, **({"ports": ports} if ports else {})}
    return {"recovery": found}


def gone(lost: dict[str, int]) -> dict[str, int]:
    """Places where frames were lost, without those where copies ended that came before."""
    return {place: count for place, count in lost.items() if not place.endswith(DUPLICATE)}
