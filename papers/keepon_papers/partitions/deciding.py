# SPDX-License-Identifier: BSD-3-Clause
"""What is found out about one set of flows; knows nothing of processes.

A set without a partition within the limit is decided a second time with all classes sharing their
slots: what differs between the two answers is owed to the partition alone.

Loads CP-SAT, which takes a second that no other command should spend: imported where sets are
decided, not above.
"""

from __future__ import annotations

import time
from typing import Any

from keepon.errors import PlanRejectedError
from keepon.planner.partition import check
from keepon.planner.partition.files import answered
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import FEASIBLE, UNOWNED, Outcome, parse
from keepon.planner.partition.solve import decide
from keepon_papers.partitions.sets import Finding, Task


def _decided(instance: dict[str, Any], task: Task) -> tuple[Outcome, bool]:
    """The answer, and whether the checker confirms it.

    Raises:
        PlanRejectedError: it contradicts the answer, or a feasible one is not confirmed.
    """
    problem = parse(instance, "experiment", task.position)
    outcome = decide(problem, Limits(time.monotonic() + task.time_limit_s, task.seed))
    verdict = check.check(answered(instance, problem, outcome))
    if outcome.answer == FEASIBLE and verdict.state != check.PASSED:
        raise PlanRejectedError(
            f'set "{problem.name}": the schedule of {outcome.method} is not confirmed'
            f" ({verdict.reason}); please report it with the seed"
        )
    return outcome, verdict.state == check.PASSED


def find(task: Task) -> Finding:
    """Decide one set, check the answer, and tell about it.

    Raises:
        PlanRejectedError: the independent checker disagrees: a defect of the planner, never a
            result.
    """
    instance = task.instance
    outcome, checked = _decided(instance, task)
    shared = outcome.answer, 0.0
    if outcome.answer != FEASIBLE and instance["n_classes"] > 1:
        together = instance | {"shared_classes": [list(range(instance["n_classes"]))]}
        again, _ = _decided(together, task)
        shared = again.answer, again.seconds
    owned = (
        None
        if outcome.witness is None
        else sum(owner != UNOWNED for owner in outcome.witness.owners)
    )
    return Finding(
        task.position,
        instance["id"],
        instance["util_level_percent"],
        instance["util_actual_percent"],
        instance["n_flows"],
        instance["n_classes"],
        outcome.answer,
        outcome.method,
        outcome.seconds,
        checked,
        owned,
        *shared,
    )
