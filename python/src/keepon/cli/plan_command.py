# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` does: plan, check, try in the simulator, show it, give the exit code."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from keepon.errors import (
    EXIT_INTERRUPTED,
    EXIT_MET,
    EXIT_MISSED,
    ConfigError,
    one_line,
)
from keepon.model import documents
from keepon.model.plan import Plan, read
from keepon.model.scenario import Scenario
from keepon.planner.network import keeping
from keepon.planner.network.plan import plan as make_plan
from keepon.planner.network.solve import INTERRUPTED
from keepon.planner.parameters import rationale
from keepon.planner.partition.limits import TIME_LIMIT_MAX_S, Limits, Progress, silent
from keepon.planner.verify import verify
from keepon.report import tables
from keepon.trial.trial import trial

STREAMS_SHOWN_MAX = 20


@contextmanager
def _progress() -> Iterator[Progress]:
    """One line on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield silent
        return
    with Console(stderr=True).status("planning") as status:
        yield lambda what: status.update(what)


def run(
    scenario: Scenario, out: Path | None, keep: Path | None, time_limit_s: float, workers: int, as_json: bool
) -> int:
    """Plan a scenario and show it; a plan that is printed has passed the checker and a run in the simulator.

    Raises:
        ConfigError: the scenario or an option is wrong.
        PlanRejectedError: the plan failed a check, which is a defect of the planner.
    """
    if not 0 < time_limit_s <= TIME_LIMIT_MAX_S:
        raise ConfigError(
            f"option --time-limit = {time_limit_s}: must be above 0 and at most {TIME_LIMIT_MAX_S:g} seconds; choose "
            "one in this range"
        )
    earlier = None
    if keep is not None:
        earlier = read(keep)
        if earlier.get("status") != "feasible":
            raise ConfigError(
                f'{keep}: key `status` = "{one_line(earlier.get("status"))}": must be "feasible"; name such a plan'
            )
        keeping.check(earlier, str(keep))
    with _progress() as told:
        limits = Limits(time.monotonic() + time_limit_s, scenario.seed, workers, told)
        plan = verify(scenario, make_plan(scenario, limits, earlier))
        if plan["status"] == "feasible" and scenario.stream:
            told("trying the plan in the simulator")
            plan["trial"] = trial(scenario, plan)
    if out is not None:
        documents.write(out, plan)
    if as_json:
        print(json.dumps(plan, indent=1, allow_nan=False))
    else:
        _show(plan)
    if "why" in plan and plan["why"]["constraint"] == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_MET if plan["status"] == "feasible" else EXIT_MISSED


def _show(plan: Plan) -> None:
    if plan["status"] != "feasible":
        why = plan["why"]
        print(f"{plan['status']}: {why['message']}; nearest change: {why['nearest_change']}")
        if len(why["streams"]) > 1:
            shown = why["streams"][:STREAMS_SHOWN_MAX]
            print(f"streams: {', '.join(shown)}{' and others' if len(shown) < len(why['streams']) else ''}")
        return
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=240)
    print(f"{plan['scenario']}: plan ({plan['method']})")
    console.print(tables.plan_table(plan))
    for table in tables.plan_parts(plan):
        console.print(table)
    for line in rationale.text(plan):
        print(line)
    if "kept" in plan:
        print(f"kept as they were: {len(plan['kept'])} streams")
    tried = plan.get("trial")
    if tried:
        print(
            f"checked independently, and in the simulator over {tried['duration_s']:g} s: {tried['delivered']} frames "
            "within every bound"
        )
        for name, verdicts in tried["unsent"].items():
            told = ", ".join(f"{key} {count}" for key, count in verdicts.items())
            print(f"{name}: not sent: {told}; the host model hands over too late or clocks have not settled: raise "
                  "advance_ns or warmup_s")  # fmt: skip
    else:
        print("checked independently")
    print(f"planned in {plan['seconds']:.3f} s")
