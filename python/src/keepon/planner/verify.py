# SPDX-License-Identifier: BSD-3-Clause
"""Independent checker of plans: every frame at every port, at both ends of its release interval.

It shares no code with the planner: slot times, gate lists and routes are worked out again from the
scenario. What it does not show: how drivers other than the planned one behave, and what best-effort
frames do outside windows.
"""

from __future__ import annotations

from collections.abc import Callable

from keepon.errors import PlanRejectedError
from keepon.model.plan import Draft, Plan
from keepon.model.scenario import Scenario
from keepon.planner.checker import gatelists, queues, rules, streams
from keepon.planner.checker.given import Given
from keepon.planner.checker.replay import Replay
from keepon.planner.checker.steady import Steady
from keepon.planner.checker.unplanned import Unplanned, check_unplanned

_FOLLOWED_MAX = 250_000
"""Frames of streams that meet, until all repeats, counted at every port, that are followed through
the network: 200 MB.
"""

Look = Callable[[], None]


def _never() -> None:
    """Who has all the time there is looks at no clock."""


def problems(scenario: Scenario, plan: Draft, look: Look = _never) -> list[str]:
    """Everything wrong with a feasible plan; an empty list means it holds.

    Args:
        scenario, plan: what is checked against what.
        look: called now and then; it may raise to end the check.
    """
    given = Given(scenario, plan)
    if found := streams.check_shape(given):
        return found
    found = rules.check_stations(given, look)
    found += streams.check_releases(given)
    look()
    unplanned = Unplanned(given)
    found += check_unplanned(given, unplanned)
    if found:
        return found
    if not given.streams:
        return gatelists.check(given, look)
    found = queues.check_wires(given, look) + gatelists.check(given, look)
    return found or _check_times(given, unplanned, look)


def _check_times(given: Given, unplanned: Unplanned, look: Look) -> list[str]:
    """Windows, queues, bounds: port by port where that shows enough, else by following the frames
    of streams that meet there or on their ways.
    """
    steady, shown = Steady(given, unplanned), dict.fromkeys(given.streams)
    found = list(steady.crowded())
    for place in steady.unclear(look):
        names = given.together(place)
        if names[0] not in shown:
            continue  # followed already
        for name in names:
            del shown[name]
        early, late = (Replay(given, unplanned, names, late=late) for late in (False, True))
        if early.frames > _FOLLOWED_MAX:
            return [f"it is not shown that frames leave {' towards '.join(place)} in their windows"]
        early.run(look)
        late.run(look)
        found += streams.check_replay(given, early, late)
        found += queues.check_isolation(given, early, late)
    return found + streams.check_steady(given, steady, shown)


def check(scenario: Scenario, plan: Draft, look: Look = _never) -> None:
    """Refuse a feasible plan with which something is wrong.

    Args:
        scenario, plan: what is checked against what.
        look: called now and then; it may raise to end the check.

    Raises:
        PlanRejectedError: the plan does not hold; the first reasons are named.
    """
    if found := problems(scenario, plan, look):
        raise PlanRejectedError("the plan failed its independent check: " + "; ".join(found[:3]))


def verify(scenario: Scenario, plan: Plan, look: Look = _never) -> Plan:
    """The plan marked `verified`, if nothing is wrong with it or it is not feasible.

    `look` is called now and then; it may raise to end the check.

    Raises:
        PlanRejectedError: the plan does not hold; the first reasons are named.
    """
    if plan["status"] != "feasible":
        return plan
    check(scenario, plan, look)
    return {**plan, "verified": True}
