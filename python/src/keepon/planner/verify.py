# SPDX-License-Identifier: BSD-3-Clause
"""Independent checker of plans: every frame at every port, at both ends of its release interval.

It shares no code with the planner: it computes slot times, gate lists and routes again from the
scenario. It does not show how drivers other than the planned one behave, nor what best-effort
frames do outside windows.
"""

from __future__ import annotations

from collections.abc import Callable

from keepon.errors import PlanRejectedError
from keepon.model.plan import Draft, Plan
from keepon.model.scenario import Scenario
from keepon.planner.checker import (
    cqf,
    foreign,
    gatelists,
    policing,
    queues,
    rules,
    shaped,
    streams,
)
from keepon.planner.checker.given import Given
from keepon.planner.checker.replay import Replay
from keepon.planner.checker.steady import Steady
from keepon.planner.checker.unplanned import Unplanned, check_unplanned

_FOLLOWED_MAX = 250_000
"""Most frames, counted at every port, that are followed through the network until their streams
repeat: 200 MB.
"""

Look = Callable[[], None]


def _never() -> None:
    """The default of `look`: no time limit."""


def problems(scenario: Scenario, plan: Draft, look: Look = _never) -> list[str]:
    """Everything wrong with a feasible plan; empty if the plan holds.

    Args:
        scenario, plan: the scenario, and its plan.
        look: called now and then; it may raise to end the check.
    """
    own, timed, theirs = foreign.apart(scenario, plan)
    given = Given(own, timed)
    if found := streams.check_shape(given) + foreign.check(given, plan, theirs):
        return found
    found = rules.check_stations(given, look)
    found += streams.check_releases(given)
    look()
    unplanned = Unplanned(given)
    found += check_unplanned(given, unplanned) + shaped.check(given, unplanned, plan, theirs)
    if found:
        return found
    if not given.streams:
        return gatelists.check(given, unplanned, look)
    found = queues.check_wires(given, look) + gatelists.check(given, unplanned, look)
    steady = Steady(given, unplanned)
    found += cqf.check(given, steady, unplanned)
    found += streams.check_copies(given, steady)
    found = found or _check_times(given, unplanned, steady, look) + policing.check(given, steady)
    return found or queues.check_talkers_without_bounds(given)


def _check_times(given: Given, unplanned: Unplanned, steady: Steady, look: Look) -> list[str]:
    """Check windows, queues and bounds: port by port where that is enough, else by following the
    frames of all streams that share a port directly or indirectly.
    """
    shown = dict.fromkeys(given.streams)
    found = list(steady.crowded())
    for place in steady.unclear(look):
        names = given.together(place)
        if names[0] not in shown:
            continue  # these frames were followed already
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
    """Refuse a feasible plan that is wrong.

    Args:
        scenario, plan: the scenario, and its plan.
        look: called now and then; it may raise to end the check.

    Raises:
        PlanRejectedError: the plan does not hold; the message names the first reasons.
    """
    if found := problems(scenario, plan, look):
        raise PlanRejectedError("the plan failed its independent check: " + "; ".join(found[:3]))


def verify(scenario: Scenario, plan: Plan, look: Look = _never) -> Plan:
    """The plan marked `verified`, if it holds or is not feasible.

    `look` is called now and then; it may raise to end the check.

    Raises:
        PlanRejectedError: the plan does not hold; the message names the first reasons.
    """
    if plan["status"] != "feasible":
        return plan
    check(scenario, plan, look)
    return {**plan, "verified": True}
