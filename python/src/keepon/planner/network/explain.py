# SPDX-License-Identifier: BSD-3-Clause
"""Explains why no plan exists: a minimal conflicting set of streams, and a change that was
verified.

The set results from leaving out one stream after another as long as the rest is still proven
infeasible. A change is reported only after the changed scenario was planned and its plan passed the
independent checker.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from keepon.errors import InfeasibleError, KeeponError
from keepon.model.plan import BestFound, Why
from keepon.model.scenario import Scenario, Stream
from keepon.model.topology import Topology
from keepon.model.wire import PS_PER_NS
from keepon.planner.network import bounds, solve
from keepon.planner.network.flows import Placement
from keepon.planner.network.ground import Ground
from keepon.planner.network.search import Search
from keepon.planner.network.solve import Outcome
from keepon.planner.partition.limits import Limits, TimeUpError
from keepon.planner.verify import check

_PROBE_S = 10.0
_CONFLICT_SHARE = 0.5
"""Of the time that is left; changes are tried in the rest."""
_CHANGE_S = 3.0
_CHANGES_S = 20.0
_CHANGES_MAX = 48
_CHECKED = "{} (planned and checked: feasible with it)"
_NONE_HELPS = (
    "none of the single changes tried makes it feasible; remove or lengthen the periods of several"
    " streams"
)
LONGER = "a longer --time-limit; no change of the scenario was tried"
NAMED_MAX = 5


def why(outcome: Outcome, limits: Limits, kept: dict[int, list[Placement]]) -> Why:
    """The `why` of a plan that is not feasible: constraint, message, streams, nearest_change, and
    `best` if the status is unknown.
    """
    ground, proof = outcome.ground, outcome.proof
    assert proof is not None
    streams = proof.streams
    message = proof.message
    # All streams have places, but the gate lists are too long: no stream is missing, and nothing is
    # proven.
    missing = [] if message else streams
    best: BestFound | None = None
    if outcome.status == "infeasible" and outcome.method == "cp-sat":
        streams = _conflict(ground, limits.share(_CONFLICT_SHARE), kept)
        message = _conflict_message(ground, streams, kept)
    elif outcome.status == "unknown":
        message = message or _unfinished(outcome)
        best = {
            "placed": len(outcome.placed),
            "of": len(ground.flows),
            "missing": missing,
            "not_tried": outcome.untried,
            "releases_ns": {
                ground.flows[number].stream.id: placements[0].release_ps // PS_PER_NS
                for number, placements in sorted(outcome.placed.items())
            },
        }
        if proof.constraint == solve.INTERRUPTED:
            return _why(proof.constraint, message, [], "run it again to decide", best)
    if outcome.untried:
        remedy = LONGER
    elif kept:
        remedy = "plan without --keep, so that the other streams may move"
    else:
        # A least bound is that of these slots.
        sizes = {name: (port.slot_bytes,) for name, port in ground.stations.items()}
        remedy = _nearest_change(
            ground.scenario,
            streams,
            limits,
            proof,
            outcome.remedy or _NONE_HELPS,
            {} if proof.least_ns is None else sizes,
        )
        remedy = outcome.remedy if outcome.remedy and remedy == LONGER else remedy
    return _why(proof.constraint, message, streams, remedy, best)


def _why(
    constraint: str,
    message: str,
    streams: list[str],
    nearest_change: str,
    best: BestFound | None,
) -> Why:
    found: Why = {
        "constraint": constraint,
        "message": message,
        "streams": streams,
        "nearest_change": nearest_change,
    }
    if best is not None:
        found["best"] = best
    return found


def _unfinished(outcome: Outcome) -> str:
    assert outcome.proof is not None
    missing, total = outcome.proof.streams, len(outcome.ground.flows)
    if outcome.proof.constraint == solve.INTERRUPTED:
        return f"interrupted; {len(outcome.placed)} of {total} streams have a place so far"
    untried = set(outcome.untried)
    without = [name for name in missing if name not in untried]
    sentences = []
    if without:
        sentences.append(
            f"no place was found for {len(without)} of {total} streams within the limits, nor a"
            f" proof that there is none; without a place: {_some(without)}"
        )
    if untried:
        sentences.append(
            f"the time limit was reached before {len(untried)} of {total} streams were tried:"
            f" {_some(outcome.untried)}"
        )
    return "; ".join(sentences)


def _some(names: list[str]) -> str:
    return f"{', '.join(names[:NAMED_MAX])}{' and others' if len(names) > NAMED_MAX else ''}"


def why_no_time(scenario: Scenario, at: str, placed: bool) -> Why:
    """The `why` of a plan whose time ended before the first stream was tried, or after all streams
    had places.

    Args:
        scenario: the scenario to plan.
        at: the step in progress, as a clause.
        placed: whether all streams had a place.
    """
    names = [stream.id for stream in scenario.stream]
    state = (
        f"places for all {len(names)} streams were found"
        if placed
        else f"none of {len(names)} streams was tried"
    )
    left = [] if placed else names
    return {
        "constraint": "time",
        "message": f"the time limit was reached while {at}; {state}, "
        "and no plan is printed that was not checked",
        "streams": left,
        "nearest_change": LONGER,
        "best": {
            "placed": len(names) - len(left), "of": max(1, len(names)),
            "missing": left, "not_tried": left, "releases_ns": {},
        },
    }  # fmt: skip


def why_no_slots(scenario: Scenario, error: InfeasibleError, limits: Limits) -> Why:
    """The `why` of a scenario with a station for which no slot length and partition fit."""
    proof = bounds.Proof(error.constraint, str(error), error.streams)
    nearest_change = _nearest_change(scenario, error.streams, limits, proof, error.nearest_change)
    return {
        "constraint": error.constraint, "message": str(error), "streams": error.streams,
        "nearest_change": nearest_change,
    }  # fmt: skip


def _without(ground: Ground, names: set[str]) -> Ground:
    """The network with only some of the streams; slots and everything else stay the same."""
    copy = object.__new__(Ground)
    copy.__dict__.update(ground.__dict__)
    copy.flows = [flow for flow in ground.flows if flow.stream.id in names]
    return copy


def _conflict(ground: Ground, limits: Limits, kept: dict[int, list[Placement]]) -> list[str]:
    """A minimal set of streams that do not fit together; kept streams are not part of it."""
    from keepon.planner.network import exact

    names = [flow.stream.id for flow in ground.flows if flow.number not in kept]

    def impossible(some: list[str]) -> bool:
        flows = _without(ground, set(some)).flows
        answer = exact.solve(ground, flows, kept, limits.within(_PROBE_S))
        return answer is not None and answer.impossible

    part = max(1, len(names) // 2)
    while part >= 1 and not limits.over():
        position = 0
        while position < len(names) and not limits.over():
            rest = names[:position] + names[position + part :]
            if rest and impossible(rest):
                names = rest
            else:
                position += part
        part //= 2
    return names


def _conflict_message(ground: Ground, streams: list[str], kept: dict[int, list[Placement]]) -> str:
    flows = [flow for flow in ground.flows if flow.stream.id in set(streams)]
    shared = set.intersection(
        *({(leg.here, leg.there) for tree in flow.trees for leg in tree.legs} for flow in flows)
    )
    where = ", ".join(f'"{here}" to "{there}"' for here, there in sorted(shared)[:3])
    beside = " beside those that are kept" if kept else ""
    place = f"; links they share: {where}" if where else ""
    return (
        f"{', '.join(streams)}: no releases exist at which no two of their frames{beside} meet on a"
        f" link, in a queue or a slot{place}; without any one of them that is not so, as far as"
        " could be shown"
    )


# -- changes
# --------------------------------------------------------------------------------------------------


def _nearest_change(
    scenario: Scenario,
    streams: list[str],
    limits: Limits,
    proof: bounds.Proof,
    otherwise: str = _NONE_HELPS,
    sizes: Mapping[str, tuple[int, ...]] | None = None,
) -> str:
    """The first change, smallest first, that gives a plan accepted by the checker; or a sentence
    that none was found.
    """
    until = limits.within(_CHANGES_S)
    tried = 0
    for change, changed in itertools.islice(_changes(scenario, streams, proof), _CHANGES_MAX):
        if until.over():
            break
        limits.progress(f"trying: {change}")
        left = until.within(_CHANGE_S)
        try:
            ground = Ground(changed, left, sizes=sizes)
            bounds.refuse(ground, left)
            search = Search(ground, left)
            placed = bounds.proof(ground, left) is None and search.run(to_the_end=False)
            left.look("a change was tried")
            if placed:
                found = solve.as_document(
                    Outcome(ground, "feasible", "first-fit", search.placed), left
                )
                check(changed, found, functools.partial(left.look, "a change was checked"))
                return _CHECKED.format(change)
        except TimeUpError:
            continue
        except KeeponError:
            pass
        tried += 1
    return otherwise if tried or not until.over() else LONGER


def _with_stream(scenario: Scenario, name: str, **update: Any) -> Scenario:
    update |= {"rate_hz": None} if "period_ns" in update else {}
    streams = [
        stream.model_copy(update=update) if stream.id == name else stream
        for stream in scenario.stream
    ]
    return scenario.model_copy(update={"stream": streams})


def _is_reached(scenario: Scenario, name: str) -> bool:
    """Whether the port that a stream would leave by reaches all its listeners."""
    (stream,) = (stream for stream in scenario.stream if stream.id == name)
    topology = Topology(scenario)
    return topology.reaches(topology.port_of(stream), stream.listeners)


def _changes(
    scenario: Scenario, streams: list[str], proof: bounds.Proof
) -> Iterator[tuple[str, Scenario]]:
    """Changes of one key each, the cheapest for the user first."""
    involved = [stream for stream in scenario.stream if stream.id in set(streams)]
    for stream in involved:
        if stream.offset_ns != "auto":
            yield (
                f'set offset_ns of "{stream.id}" to "auto"',
                _with_stream(scenario, stream.id, offset_ns="auto"),
            )
    for stream in involved:
        freed = _with_stream(scenario, stream.id, route="auto")
        if stream.route != "auto" and _is_reached(freed, stream.id):
            yield f'set route of "{stream.id}" to "auto"', freed
    yield from _looser(scenario, involved, proof)
    yield from _opened(scenario, {stream.talker for stream in involved})
    for stream in involved:
        if stream.jitter_ns is None and len(involved) > 1:
            allowed_ns = max(1_000, stream.period_ns // 10)
            yield (
                f'allow "{stream.id}" jitter_ns = {allowed_ns}',
                _with_stream(scenario, stream.id, jitter_ns=allowed_ns),
            )
    for stream in sorted(involved, key=lambda entry: entry.period_ns):
        for other in involved:
            # A rate repeats with its cycle alone, and has no longer period in whole ns.
            step_ns = stream.cycle_ns
            if (
                other.turns == 1
                and other.period_ns > stream.period_ns
                and other.period_ns % step_ns
            ):
                longer_ns = math.ceil(other.period_ns / step_ns) * step_ns
                yield (
                    f'lengthen period_ns of "{other.id}" from {other.period_ns} to {longer_ns}, '
                    f'a multiple of {step_ns}',
                    _with_stream(scenario, other.id, period_ns=longer_ns),
                )  # fmt: skip
    for stream in sorted(involved, key=lambda entry: entry.period_ns):
        if stream.turns > 1:
            continue
        yield (
            (
                f'lengthen period_ns of "{stream.id}" from {stream.period_ns} to'
                f" {2 * stream.period_ns}"
            ),
            _with_stream(scenario, stream.id, period_ns=2 * stream.period_ns),
        )
    for stream in reversed(involved):
        rest = [entry for entry in scenario.stream if entry.id != stream.id]
        if rest:
            yield f'remove stream "{stream.id}"', scenario.model_copy(update={"stream": rest})


def _looser(
    scenario: Scenario, involved: list[Stream], proof: bounds.Proof
) -> Iterator[tuple[str, Scenario]]:
    """Raise deadline and jitter to what the network can meet."""
    for stream in involved:
        for key, constraint in (("deadline_ns", "deadline"), ("jitter_ns", "jitter")):
            limit_ns = getattr(stream, key)
            if limit_ns is None or (
                proof.constraint in ("deadline", "jitter") and proof.constraint != constraint
            ):
                continue
            if proof.least_ns is not None and proof.constraint == constraint:
                wanted_ns = proof.least_ns
            else:
                wanted_ns = 2 * limit_ns if limit_ns else 1_000
            yield (
                f'allow "{stream.id}" {key} = {wanted_ns}',
                _with_stream(scenario, stream.id, **{key: wanted_ns}),
            )


def _opened(scenario: Scenario, talkers: set[str]) -> Iterator[tuple[str, Scenario]]:
    """Leave to the planner what the scenario fixes."""
    for index, station in enumerate(scenario.station):
        for key in (
            ("slot_bytes", "partition_slots", "ring_slots") if station.name in talkers else ()
        ):
            if getattr(station.keepon, key) != "auto":
                options = station.keepon.model_copy(update={key: "auto"})
                stations = list(scenario.station)
                stations[index] = station.model_copy(update={"keepon": options})
                yield (
                    f'set {key} of station "{station.name}" to "auto"',
                    scenario.model_copy(update={"station": stations}),
                )
        if station.name in talkers and any(
            isinstance(entry.slots, list) for entry in station.keepon.classes
        ):
            classes = [
                entry.model_copy(update={"slots": "auto"})
                if isinstance(entry.slots, list)
                else entry
                for entry in station.keepon.classes
            ]
            stations = list(scenario.station)
            stations[index] = station.model_copy(
                update={"keepon": station.keepon.model_copy(update={"classes": classes})}
            )
            yield (
                f'set slots of the classes of station "{station.name}" to "auto"',
                scenario.model_copy(update={"station": stations}),
            )
    for index, bridge in enumerate(scenario.bridge):
        if isinstance(bridge.gates, dict):
            bridges = list(scenario.bridge)
            bridges[index] = bridge.model_copy(update={"gates": "auto"})
            yield (
                f'set gates of bridge "{bridge.name}" to "auto"',
                scenario.model_copy(update={"bridge": bridges}),
            )
    if scenario.planner.routes < 8:
        wider = scenario.planner.model_copy(update={"routes": 8})
        yield "set planner.routes to 8", scenario.model_copy(update={"planner": wider})
