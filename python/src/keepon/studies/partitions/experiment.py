# SPDX-License-Identifier: BSD-3-Clause
"""All sets are decided, and parts of a document made of what was found; after Ctrl-C of what was found by then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from keepon import interrupts
from keepon.model.study import Part
from keepon.studies.partitions import counts, sets
from keepon.studies.partitions.sets import Finding, Task
from keepon.studies.partitions.settings import Settings
from keepon.studies.study import Found

S = TypeVar("S", bound=Settings)
Make = Callable[[S, Sequence[Finding], Sequence[Task]], list[Part]]
"""Parts of settings, at least one finding and all tasks."""


def experiment(settings: S, make: Make[S]) -> Found:
    """What becomes of all sets.

    Raises:
        ConfigError: a utilisation cannot be reached with these numbers of flows.
        EnvironmentProblemError: there is no such cluster, or it or a process has died.
        KeyboardInterrupt: Ctrl-C before the first set was decided.
        PlanRejectedError: the independent checker disagrees with an answer.
    """
    # Loads CP-SAT, which takes a second that no other command should spend.
    from keepon.studies.partitions import spread

    tasks = sets.tasks(settings)
    with spread.progress(len(tasks)) as told:
        results = spread.run(tasks, settings, told)
    if not results.findings:
        raise KeyboardInterrupt
    with interrupts.interrupts_wait() as seen:
        parts = make(settings, results.findings, tasks)
        return Found(parts, counts.raw(results.findings), results.interrupted or bool(seen))
