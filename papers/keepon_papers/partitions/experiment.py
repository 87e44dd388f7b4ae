# SPDX-License-Identifier: BSD-3-Clause
"""All sets are decided, and parts of a document made of what was found; after Ctrl-C of what was
found by then.

Every set is decided by itself with one thread and its own seed, so that answers do not depend on
who decides which.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from keepon_papers.document import Part
from keepon_papers.partitions import counts, sets
from keepon_papers.partitions.sets import Finding, Task
from keepon_papers.partitions.settings import Settings
from keepon_papers.spread import Spread
from keepon_papers.study import Found

S = TypeVar("S", bound=Settings)
Make = Callable[[S, Sequence[Finding], Sequence[Task]], list[Part]]
"""Parts of settings, at least one finding and all tasks."""
OnProgress = Callable[[int, int, Finding], None]
"""Sets done, sets there are, and the last one."""


@dataclass
class Results:
    """Findings in the order of their positions, and whether Ctrl-C ended the experiment early."""

    findings: list[Finding] = field(default_factory=list)
    interrupted: bool = False


@contextmanager
def progress(total: int) -> Iterator[OnProgress | None]:
    """A bar on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        BarColumn(),
        TextColumn("{task.completed}/{task.total} sets {task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=total)
        yield lambda done, _, last: bar.update(shown, completed=done, description=last.name)


def decide(tasks: Sequence[Task], spread: Spread, on_progress: OnProgress | None = None) -> Results:
    """Decide all sets; after Ctrl-C those that were decided.

    Raises:
        EnvironmentProblemError: there is no such cluster, or it or a process has died.
        PlanRejectedError: the independent checker disagrees with an answer.
    """
    # Loads CP-SAT, which takes a second that no other command should spend.
    from keepon_papers.partitions import deciding

    results = Results()
    try:
        with closing(
            spread.as_done(deciding.find, [(task,) for task in tasks], "processes")
        ) as found:
            for _, finding in found:
                results.findings.append(finding)
                if on_progress is not None:
                    on_progress(len(results.findings), len(tasks), finding)
    except KeyboardInterrupt:
        results.interrupted = True
    results.findings.sort(key=lambda finding: finding.position)
    return results


def experiment(settings: S, spread: Spread, make: Make[S]) -> Found:
    """What becomes of all sets.

    Raises:
        ConfigError: a utilisation cannot be reached with these numbers of flows.
        EnvironmentProblemError: there is no such cluster, or it or a process has died.
        KeyboardInterrupt: Ctrl-C before the first set was decided.
        PlanRejectedError: the independent checker disagrees with an answer.
    """
    tasks = sets.tasks(settings)
    with progress(len(tasks)) as on_progress:
        results = decide(tasks, spread, on_progress)
    if not results.findings:
        raise KeyboardInterrupt
    parts = make(settings, results.findings, tasks)
    return Found(parts, counts.raw(results.findings), results.interrupted)
