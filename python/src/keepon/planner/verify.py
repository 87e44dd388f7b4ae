# SPDX-License-Identifier: BSD-3-Clause
"""Independent checker of plans: exact replay of every frame at both ends of its release interval, and static rules.

It shares no code with the planner: slot times, gate lists and routes are worked out again from the scenario.
What it does not show: how drivers other than the planned one behave, and what best-effort frames do outside windows.
"""

from __future__ import annotations

from keepon.errors import PlanRejectedError
from keepon.model.plan import Draft, Plan
from keepon.model.scenario import Scenario
from keepon.planner.checker import gatelists, queues, rules, streams
from keepon.planner.checker.given import Given
from keepon.planner.checker.replay import Replay
from keepon.planner.checker.unplanned import Unplanned, check_unplanned

_FRAMES_MAX = 500_000


def problems(scenario: Scenario, plan: Draft) -> list[str]:
    """Everything wrong with a feasible plan; an empty list means it holds."""
    given = Given(scenario, plan)
    if found := streams.check_shape(given):
        return found
    found = rules.check_stations(given)
    found += streams.check_releases(given)
    unplanned = Unplanned(given)
    found += check_unplanned(given, unplanned)
    if found:
        return found
    if not given.streams:
        return gatelists.check(given)
    frames = given.hyper_ps // given.shortest_ps * len(given.streams)
    if frames > _FRAMES_MAX and given.frames() > _FRAMES_MAX:
        if any("entries" in port for entry in plan["bridges"].values() for port in entry["ports"].values()):
            return [f"the hyperperiod has {given.frames()} frames, too many to follow through gates"]
        return queues.check_pairs(given) + streams.check_sums(given, unplanned)
    found = queues.check_wires(given) + gatelists.check(given)
    if found:
        return found
    early, late = Replay(given, unplanned, late=False), Replay(given, unplanned, late=True)
    early.run()
    late.run()
    return streams.check_replay(given, early, late) + queues.check_isolation(given, early, late)


def check(scenario: Scenario, plan: Draft) -> None:
    """Refuse a feasible plan with which something is wrong.

    Raises:
        PlanRejectedError: the plan does not hold; the first reasons are named.
    """
    if found := problems(scenario, plan):
        raise PlanRejectedError("the plan failed its independent check: " + "; ".join(found[:3]))


def verify(scenario: Scenario, plan: Plan) -> Plan:
    """The plan marked `verified`, if nothing is wrong with it or it is not feasible.

    Raises:
        PlanRejectedError: the plan does not hold; the first reasons are named.
    """
    if plan["status"] != "feasible":
        return plan
    check(scenario, plan)
    return {**plan, "verified": True}
