# SPDX-License-Identifier: BSD-3-Clause
"""Decides a scenario: quick proofs, first fit with repair, then CP-SAT; and writes what was decided as a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from keepon.model.plan import Draft, Status, empty
from keepon.planner.network import bounds, documents
from keepon.planner.network.flows import Placement
from keepon.planner.network.ground import Ground
from keepon.planner.network.search import Search, jitter_room_ps
from keepon.planner.partition.limits import Limits

INTERRUPTED = "interrupted"
_FIRST_SHARE = 0.5


@dataclass
class Outcome:
    """What planning gave: placements by number of the stream, how, and why not if not all are placed."""

    ground: Ground
    status: Status
    method: str
    placed: dict[int, list[Placement]] = field(default_factory=dict)
    proof: bounds.Proof | None = None


def decide(ground: Ground, limits: Limits, kept: dict[int, list[Placement]] | None = None) -> Outcome:
    """Feasible with all placements, infeasible with a proof, or unknown with what could be placed.

    Args:
        ground: the scenario, its inputs not refused.
        limits: time, seed, workers, progress.
        kept: streams that stay where they are.
    """
    kept = kept or {}
    if (proof := bounds.proof(ground)) is not None:
        return Outcome(ground, "infeasible", "analytic-bound", {}, proof)
    search = Search(ground, limits.share(_FIRST_SHARE))
    for placements in kept.values():
        search.put(placements)
    search.kept = set(kept)
    try:
        return _decide(ground, limits, kept, search)
    except KeyboardInterrupt:
        missing = [flow.stream.id for flow in search.missing()]
        return Outcome(ground, "unknown", "first-fit", search.placed, bounds.Proof(INTERRUPTED, "", missing))


def _decide(ground: Ground, limits: Limits, kept: dict[int, list[Placement]], search: Search) -> Outcome:
    if search.run():
        return Outcome(ground, "feasible", "first-fit", search.placed)
    # CP-SAT takes a second to load: only who needs it pays.
    from keepon.planner.network import exact

    waiting = [flow for flow in ground.flows if flow.number not in kept]
    answer = exact.solve(ground, waiting, kept, limits)
    if answer is not None and answer.placed is not None:
        return Outcome(ground, "feasible", "cp-sat", {**kept, **answer.placed})
    missing = [flow.stream.id for flow in search.missing()]
    bendable = any(jitter_room_ps(ground, flow) >= flow.station.grid_ps for flow in waiting)
    if answer is not None and answer.impossible and not bendable:
        names = [flow.stream.id for flow in ground.flows]
        proof = bounds.Proof(
            "wire", "no releases exist at which no two frames meet on a link, in a queue or a slot", names
        )
        return Outcome(ground, "infeasible", "cp-sat", search.placed, proof)
    return Outcome(ground, "unknown", "first-fit", search.placed, bounds.Proof("time", "", missing))


def as_document(outcome: Outcome) -> Draft:
    """A feasible outcome as `keepon.plan/1`, not yet verified.

    Raises:
        InfeasibleError: a gate list would be longer than any bridge's, or never close.
    """
    ground = outcome.ground
    placed = {stream.id: outcome.placed[number] for number, stream in enumerate(ground.scenario.stream)}
    document = empty(ground.scenario.name, "feasible", outcome.method)
    for name, station in ground.stations.items():
        own = {key: entries for key, entries in placed.items() if entries[0].flow.stream.talker == name}
        own = dict(sorted(own.items(), key=lambda entry: entry[1][0].release_ps))
        document["stations"][name] = documents.station_document(station, own)
    document["streams"] = {name: documents.stream_document(ground, entries) for name, entries in placed.items()}
    document["bridges"] = documents.port_documents(ground, placed)
    return document
