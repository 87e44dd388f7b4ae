# SPDX-License-Identifier: BSD-3-Clause
"""Decides a scenario by quick proofs, first fit with repair, then CP-SAT, and writes the decision
as a plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keepon.model.plan import Draft, Status, empty
from keepon.model.wire import PS_PER_NS
from keepon.planner import stations
from keepon.planner.network import bounds, documents, pairs
from keepon.planner.network.flows import Placement
from keepon.planner.network.ground import Ground
from keepon.planner.network.search import Search, jitter_room_ps
from keepon.planner.partition.limits import Limits

INTERRUPTED = "interrupted"
_WRITING = "the plan was written"
_FIRST_SHARE = 0.5
_EXACT_SHARE = 0.6
_AGAIN_SHARE = 0.7
"""Share of the time for the repeated first fit; the rest is for the explanation and the remedy."""
AGAIN_MAX = 8


@dataclass
class Outcome:
    """Result of the planner: placements by stream number, the method, and the reason if streams are
    missing.

    `untried`: streams without a place whose search was not completed. `remedy`: the advice if no
    change that was tried helps.
    """

    ground: Ground
    status: Status
    method: str
    placed: dict[int, list[Placement]] = field(default_factory=dict)
    proof: bounds.Proof | None = None
    untried: list[str] = field(default_factory=list)
    remedy: str = ""


def decide(
    ground: Ground,
    limits: Limits,
    kept: dict[int, list[Placement]] | None = None,
    once: bool = False,
) -> Outcome:
    """Feasible with all placements, infeasible with a proof, or unknown with the streams that could
    be placed.

    Args:
        ground: a network whose inputs were not refused.
        limits: time, seed, workers, progress.
        kept: streams that do not move.
        once: whether to stop if first fit finds no plan.

    Raises:
        TimeUpError: the limits were reached before any stream was tried.
    """
    kept = kept or {}
    if (proof := bounds.proof(ground, limits)) is not None:
        return Outcome(ground, "infeasible", "analytic-bound", {}, proof)
    search = Search(ground, limits)
    for placements in kept.values():
        search.put(placements)
    search.kept = set(kept)
    try:
        return _decide(ground, limits, kept, search, once)
    except KeyboardInterrupt:
        missing = [flow.stream.id for flow in search.missing()]
        return Outcome(
            ground, "unknown", "first-fit", search.placed, bounds.Proof(INTERRUPTED, "", missing)
        )


def _decide(
    ground: Ground, limits: Limits, kept: dict[int, list[Placement]], search: Search, once: bool
) -> Outcome:
    waiting = [flow for flow in ground.flows if flow.number not in kept]
    # First fit leaves time to CP-SAT only if CP-SAT can help.
    exactly = pairs.fits(ground, waiting, kept)
    search.limits = limits.share(_FIRST_SHARE) if exactly else limits
    if search.run():
        return Outcome(ground, "feasible", "first-fit", search.placed)
    if once:
        return Outcome(ground, "unknown", "first-fit", search.placed)
    if exactly:
        # CP-SAT takes a second to load.
        from keepon.planner.network import exact

        answer = exact.solve(ground, waiting, kept, limits.share(_EXACT_SHARE))
        if answer is not None and answer.placed is not None:
            return Outcome(ground, "feasible", "cp-sat", {**kept, **answer.placed})
        bendable = any(jitter_room_ps(ground, flow) >= flow.station.grid_ps for flow in waiting)
        if answer is not None and answer.impossible and not bendable:
            names = [flow.stream.id for flow in ground.flows]
            proof = bounds.Proof(
                "wire",
                "no releases exist at which no two frames meet on a link, in a queue or a slot",
                names,
            )
            return Outcome(ground, "infeasible", "cp-sat", search.placed, proof)
    best, tried = _again(limits.share(_AGAIN_SHARE), search)
    if not best.missing():
        return Outcome(ground, "feasible", "first-fit", best.placed)
    missing = [flow.stream.id for flow in best.missing()]
    untried = [flow.stream.id for flow in best.missing() if flow.number not in tried]
    return Outcome(
        ground, "unknown", "first-fit", best.placed, bounds.Proof("time", "", missing), untried
    )


def _again(limits: Limits, search: Search) -> tuple[Search, set[int]]:
    """Repeat first fit with the unplaced streams first and other random choices; return the best
    search, and all streams tried.
    """
    best, tried = search, set(search.tried)
    urgent: set[int] = set()
    for attempt in range(1, AGAIN_MAX + 1):
        if not best.missing() or limits.over():
            break
        urgent |= {flow.number for flow in search.missing()}
        limits.progress(
            f"first fit, attempt {attempt + 1}: {len(best.placed)} of {len(search.ground.flows)}"
            " placed"
        )
        search = search.again(limits, attempt)
        search.run(urgent)
        tried |= search.tried
        if len(search.placed) > len(best.placed):
            best = search
    return best, tried


def as_document(outcome: Outcome, limits: Limits | None = None) -> Draft:
    """Write a feasible outcome as `keepon.plan/1`, not yet verified.

    Raises:
        InfeasibleError: a gate list would be longer than any bridge supports, or would never close.
        TimeUpError: the limits were reached.
    """
    limits = limits or Limits()
    ground = outcome.ground
    placed = {
        stream.id: outcome.placed[number] for number, stream in enumerate(ground.scenario.stream)
    }
    document = empty(ground.scenario.name, "feasible", outcome.method)
    by_port: dict[str, documents.Placed] = {}
    for key, entries in sorted(placed.items(), key=lambda entry: entry[1][0].release_ps):
        by_port.setdefault(entries[0].flow.station.name, {})[key] = entries
    in_time: dict[str, int] = {}
    for name, station in ground.stations.items():
        limits.look(_WRITING)
        own = by_port.get(name, {})
        beside = {
            stream: entries[0].release_ps // PS_PER_NS
            for other in ground.topology.ports_of(station.port.station)
            if other.name != name
            for stream, entries in by_port.get(other.name, {}).items()
        }
        document["stations"][name] = documents.station_document(station, own, beside)
        releases_ns = {
            stream: entries[0].release_ps // PS_PER_NS for stream, entries in own.items()
        }
        in_time |= stations.advances_in_time_ns(station, beside | releases_ns)
    documents.add_shared_polls(ground, document["stations"])
    for name, entries in placed.items():
        limits.look(_WRITING)
        document["streams"][name] = documents.stream_document(ground, entries)
        if name in in_time:
            document["streams"][name]["advance_in_time_ns"] = in_time[name]
    document["bridges"] = documents.port_documents(ground, placed, limits)
    return document
