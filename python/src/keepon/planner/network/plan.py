# SPDX-License-Identifier: BSD-3-Clause
"""A scenario's plan, or why there is none and what would help."""

from __future__ import annotations

import time

from keepon.errors import InfeasibleError
from keepon.model.plan import Draft, Plan, empty
from keepon.model.scenario import Scenario
from keepon.planner.network import bounds, explain, keeping
from keepon.planner.network.flows import Placement
from keepon.planner.network.ground import Ground
from keepon.planner.network.solve import Outcome, as_document, decide
from keepon.planner.partition.limits import Limits


def plan(scenario: Scenario, limits: Limits | None = None, keep: Plan | None = None) -> Plan:
    """Plan of a scenario, `keepon.plan/1`, not yet verified.

    Args:
        scenario: a checked scenario.
        limits: time, seed, workers, progress; none unless given.
        keep: an earlier plan whose streams must not move.

    Returns:
        status "feasible" with everything filled in; "infeasible" or "unknown" with `why`.

    Raises:
        ConfigError: the scenario asks for something contradictory or not supported.
    """
    limits = limits or Limits()
    started = time.monotonic()
    try:
        ground = Ground(scenario if keep is None else keeping.with_its_slots(scenario, keep))
    except InfeasibleError as error:
        return {**_no_station(scenario, error, limits), "seconds": round(time.monotonic() - started, 6)}
    bounds.refuse(ground)
    kept = {} if keep is None else keeping.kept(ground, keep)
    outcome = decide(ground, limits, kept)
    document = _written(outcome, limits, kept)
    if keep is not None and document["status"] == "feasible":
        document["kept"] = [ground.scenario.stream[number].id for number in sorted(kept)]
    return {**document, "seconds": round(time.monotonic() - started, 6)}


def _no_station(scenario: Scenario, error: InfeasibleError, limits: Limits) -> Draft:
    """No slot size and partition of one station will do, whatever the network."""
    document = empty(scenario.name, "infeasible", "analytic-bound")
    document["why"] = explain.why_no_slots(scenario, error, limits)
    return document


def _written(outcome: Outcome, limits: Limits, kept: dict[int, list[Placement]]) -> Draft:
    if outcome.status == "feasible":
        try:
            return as_document(outcome)
        except InfeasibleError as error:
            proof = bounds.Proof(error.constraint, str(error), error.streams)
            outcome = Outcome(outcome.ground, "infeasible", "analytic-bound", outcome.placed, proof)
    document = empty(outcome.ground.scenario.name, outcome.status, outcome.method)
    document["why"] = explain.why(outcome, limits, kept)
    return document
