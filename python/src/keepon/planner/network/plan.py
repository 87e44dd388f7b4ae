# SPDX-License-Identifier: BSD-3-Clause
"""Plans a scenario, or explains why there is no plan and what would help."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress

from keepon.errors import ConfigError, InfeasibleError
from keepon.model.foreign import as_loads
from keepon.model.plan import Draft, Plan, Status, empty
from keepon.model.scenario import KeeponOptions, Scenario
from keepon.planner.network import bounds, documents, explain, foreign, keeping
from keepon.planner.network.flows import Placement
from keepon.planner.network.ground import Ground
from keepon.planner.network.solve import INTERRUPTED, Outcome, as_document, decide
from keepon.planner.partition.limits import Limits, TimeUpError

KEPT_BACK, KEPT_BACK_GATED = 2.0, 2.5
"""Time reserved to write and check a plan, as a multiple of the preparation time, without and with
gate lists: measured.
"""

WIDE_SHARE = 0.5
"""Share of the time for the search of a plan with room for best effort."""


def plan(scenario: Scenario, limits: Limits | None = None, keep: Plan | None = None) -> Plan:
    """Plan a scenario: `keepon.plan/1`, not yet verified.

    Args:
        scenario: a checked scenario.
        limits: time, seed, workers, progress; by default no limit.
        keep: an earlier plan whose streams must not move.

    Returns:
        a complete plan of status "feasible", or status "infeasible" or "unknown" with `why`.

    Raises:
        ConfigError: the scenario asks for something contradictory or not supported.
    """
    limits = limits or Limits()
    started_s = limits.clock()
    own, places = as_loads(scenario)
    try:
        document = foreign.add(scenario, _planned(own, limits, keep))
    except TimeUpError as error:
        document = without_time(scenario, str(error), placed=False)
    except ConfigError as error:
        raise foreign.named(error, scenario, places) from error
    return {**document, "seconds": round(limits.clock() - started_s, 6)}


def without_time(scenario: Scenario, at: str, placed: bool) -> Draft:
    """The plan of a scenario whose time limit was reached; `at` and `placed` as in
    `explain.why_no_time`.
    """
    document = empty(scenario.name, "unknown", "first-fit")
    document["why"] = explain.why_no_time(scenario, at, placed)
    return document


def _planned(scenario: Scenario, limits: Limits, keep: Plan | None) -> Draft:
    """Plan with the first slot lengths that the network does not rule out, or explain why the first
    choice has no plan; where a bound is too great, why the choice with the least one has none.

    Raises:
        ConfigError: the scenario asks for something contradictory or not supported.
    """
    started_s = limits.clock()
    own = None if keep is None else keeping.slots_of_ports(scenario, keep)
    given = scenario if keep is None else keeping.with_its_slots(scenario, keep)
    trying: Ground | None
    try:
        trying = Ground(given, limits, own)
    except InfeasibleError as error:
        return _no_station(scenario, error, limits)
    gated = any(bridge.gates != "none" for bridge in scenario.bridge)
    kept_back_s = (limits.clock() - started_s) * (KEPT_BACK_GATED if gated else KEPT_BACK)
    first: Outcome | bounds.CapacityError | None = None
    sizes: dict[str, tuple[int, ...]] = {}
    while trying is not None:
        found, document = _tried(trying, limits, kept_back_s, keep)
        if document is not None:
            return document
        first = found if first is None or _is_nearer(found, first) else first
        trying = None if limits.over() else _with_shorter(trying, limits, own, found, sizes)
    assert first is not None
    if isinstance(first, bounds.CapacityError):
        raise first
    return _written(first, limits, _kept(first.ground, keep))


def _is_nearer(
    found: Outcome | bounds.CapacityError, first: Outcome | bounds.CapacityError
) -> bool:
    own, other = (each.proof if isinstance(each, Outcome) else None for each in (found, first))
    return own is not None and other is not None and own.is_nearer(other)


def _tried(
    ground: Ground, limits: Limits, kept_back_s: float, keep: Plan | None
) -> tuple[Outcome | bounds.CapacityError, Draft | None]:
    """Plan with room for best-effort frames of MTU 1500, or without it if first fit finds no such
    plan; return the decision, and the plan if there is one or Ctrl-C ended the search.
    """
    try:
        bounds.refuse(ground, limits)
    except bounds.CapacityError as error:
        return error, None
    with suppress(ConfigError, InfeasibleError):  # kept streams or a window leave no such room
        if (wide := ground.with_room(limits)) is not None:
            bounds.refuse(wide, limits)  # it also takes trees away
            most = _without(limits.share(WIDE_SHARE), kept_back_s)
            outcome, document = _decided(wide, most, limits, keep, once=True)
            if document is not None:
                return outcome, document
    return _decided(ground, _without(limits, kept_back_s), limits, keep, once=False)


def _decided(
    ground: Ground, most: Limits, limits: Limits, keep: Plan | None, once: bool
) -> tuple[Outcome, Draft | None]:
    """The decision, and the plan if there is one or Ctrl-C ended the search.

    Args:
        ground: a network whose inputs were not refused.
        most, limits: limits of the search, and of everything.
        keep: an earlier plan whose streams must not move.
        once: whether to stop if first fit finds no plan or its plan has no valid gate lists.
    """
    kept = _kept(ground, keep)
    outcome = decide(ground, most, kept, once)
    interrupted = outcome.proof is not None and outcome.proof.constraint == INTERRUPTED
    if outcome.status != "feasible" and not interrupted:
        return outcome, None

    def repeated(error: documents.TooLongError) -> Outcome | None:
        if not ground.repeat(error.cycles_ps):
            return None
        limits.progress("a gate list is too long: windows at its port repeat in a shorter cycle")
        try:
            other = decide(ground, most, _kept(ground, keep), once)
        except ConfigError:  # kept streams overlap in the shorter cycle
            return None
        return other if other.status == "feasible" else None

    document = _written(outcome, limits, kept, repeated)
    if once and not interrupted and document["status"] != "feasible":
        return outcome, None
    if keep is not None and document["status"] == "feasible":
        document["kept"] = [ground.scenario.stream[number].id for number in sorted(kept)]
    return outcome, document


def _kept(ground: Ground, keep: Plan | None) -> dict[int, list[Placement]]:
    return {} if keep is None else keeping.kept(ground, keep)


def _with_shorter(
    ground: Ground,
    limits: Limits,
    own: Mapping[str, KeeponOptions] | None,
    found: Outcome | bounds.CapacityError,
    sizes: dict[str, tuple[int, ...]],
) -> Ground | None:
    """The network with the next shorter slots for the talkers of streams that do not fit; None:
    there are no shorter slots.

    Args:
        ground, limits, own: the last network, and options of single ports.
        found: why it has no plan.
        sizes: slot lengths that each port has left to try; changed here.
    """
    if isinstance(found, bounds.CapacityError):
        streams = found.streams
    else:
        streams = found.proof.streams if found.proof and found.status == "infeasible" else []
    ports = {flow.station.name: flow.station for flow in ground.flows if flow.stream.id in streams}
    fewer = {name: left for name, port in ports.items() if (left := port.sizes_left())}
    sizes.update(fewer)
    try:
        return Ground(ground.scenario, limits, own, sizes=sizes) if fewer else None
    except (ConfigError, InfeasibleError):
        return None


def _without(limits: Limits, kept_back_s: float) -> Limits:
    """The limits of the search, which reserve some of the time, at most half."""
    left_s = limits.left_s()
    return limits if left_s == math.inf else limits.within(left_s - min(kept_back_s, left_s / 2))


def _no_station(scenario: Scenario, error: InfeasibleError, limits: Limits) -> Draft:
    """The plan of a scenario with a station that no slot size and partition fit, whatever the
    network.
    """
    document = empty(scenario.name, "infeasible", "analytic-bound")
    document["why"] = explain.why_no_slots(scenario, error, limits)
    return document


def _written(
    outcome: Outcome,
    limits: Limits,
    kept: dict[int, list[Placement]],
    repeated: Callable[[documents.TooLongError], Outcome | None] = lambda _: None,
) -> Draft:
    """The plan of a decision; `repeated` decides again with shorter cycles of gate lists."""
    if outcome.status == "feasible":
        try:
            return as_document(outcome, limits)
        except documents.TooLongError as error:
            if (other := repeated(error)) is not None:
                return _written(other, limits, kept, repeated)
            return _refused(outcome, error, limits, kept)
        except TimeUpError as error:
            return without_time(outcome.ground.scenario, str(error), placed=True)
        except InfeasibleError as error:
            return _refused(outcome, error, limits, kept)
    return _without_plan(outcome, limits, kept)


def _refused(
    outcome: Outcome, error: InfeasibleError, limits: Limits, kept: dict[int, list[Placement]]
) -> Draft:
    """The answer where streams have places that cannot be written as a plan."""
    proof = bounds.Proof(error.constraint, str(error), error.streams)
    proven = not isinstance(error, documents.UnprovenError)
    status: Status = "infeasible" if proven else "unknown"
    method = "analytic-bound" if proven else outcome.method
    refused = Outcome(
        outcome.ground, status, method, outcome.placed, proof, remedy=error.nearest_change
    )
    return _without_plan(refused, limits, kept)


def _without_plan(outcome: Outcome, limits: Limits, kept: dict[int, list[Placement]]) -> Draft:
    document = empty(outcome.ground.scenario.name, outcome.status, outcome.method)
    document["why"] = explain.why(outcome, limits, kept)
    return document
