# SPDX-License-Identifier: BSD-3-Clause
"""What every study begins with: a scenario is planned, the plan is checked, and one driver is
simulated by it.
"""

from __future__ import annotations

from dataclasses import dataclass

from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import verify
from keepon.targets.runs import Run
from keepon.targets.sim.build import Build
from keepon.targets.sim.refusals import check_supported
from keepon.targets.sim.runner import simulate_build


@dataclass(frozen=True)
class Simulated:
    """A plan, the simulation that ran by it, and what its frames gave."""

    plan: Plan
    build: Build
    run: Run


def planned_run(
    scenario: Scenario, driver: str | None = None, seed: int | None = None
) -> Simulated:
    """Plan and run a scenario once.

    Args:
        scenario: a checked scenario.
        driver: what stations under test are; default the first of the scenario.
        seed: of everything random; default the scenario's.

    Raises:
        ConfigError: the scenario cannot be planned or run.
        PlanRejectedError: the plan does not hold.
        SimulationError: the frames contradict each other.
    """
    check_supported(scenario)
    plan = verify(scenario, make_plan(scenario))
    chosen = scenario.drivers()[0] if driver is None else driver
    return Simulated(
        plan, *simulate_build(scenario, plan, chosen, scenario.seed if seed is None else seed)
    )
