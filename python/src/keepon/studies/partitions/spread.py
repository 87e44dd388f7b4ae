# SPDX-License-Identifier: BSD-3-Clause
"""Decides many sets at once, in this process, in several of this machine, or on a cluster; Ctrl-C keeps what is done.

Every set is decided by itself with one thread and its own seed, so that answers do not depend on who decides which.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from keepon import interrupts
from keepon.errors import EnvironmentProblemError
from keepon.studies.partitions import cluster
from keepon.studies.partitions.deciding import find
from keepon.studies.partitions.sets import Finding, Task
from keepon.studies.partitions.settings import Settings

Told = Callable[[int, int, Finding], None]
"""Sets done, sets there are, and the last one."""


@dataclass
class Results:
    """Findings in the order of their positions, and whether Ctrl-C ended the experiment early."""

    findings: list[Finding] = field(default_factory=list)
    interrupted: bool = False


@contextmanager
def progress(total: int) -> Iterator[Told | None]:
    """A bar on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), TextColumn("{task.completed}/{task.total} sets {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=total)
        yield lambda done, _, last: bar.update(shown, completed=done, description=last.name)


@contextmanager
def _interrupts_not_inherited() -> Iterator[None]:
    """Processes started here do not see Ctrl-C, from their first moment on; it reaches this one a little later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def by_processes(tasks: list[Task], processes: int) -> Generator[Finding, None, None]:
    """Findings as they come. Closing the iterator early ends the processes at once, whatever they do.

    Raises:
        EnvironmentProblemError: a process has died.
    """
    others = set(multiprocessing.active_children())
    # Not forked: a fork would copy threads of progress bars and solvers in whatever state they are.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    complete = False
    try:
        with _interrupts_not_inherited():
            futures = [pool.submit(find, task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()
        complete = True
    except BrokenProcessPool as error:
        raise EnvironmentProblemError(
            "a process of the experiment has died, killed from outside or for want of memory; use fewer with --workers"
        ) from error
    finally:
        with interrupts.interrupts_wait():
            if not complete:
                for child in set(multiprocessing.active_children()) - others:
                    child.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _found(tasks: list[Task], settings: Settings) -> Generator[Finding, None, None]:
    if settings.cluster:
        yield from cluster.by_cluster(tasks, settings.cluster)
    elif settings.processes == 1:
        yield from map(find, tasks)
    else:
        yield from by_processes(tasks, min(settings.processes, len(tasks)))


def run(tasks: list[Task], settings: Settings, told: Told | None = None) -> Results:
    """Decide all sets; after Ctrl-C those that were decided.

    Raises:
        EnvironmentProblemError: there is no such cluster, or it or a process has died.
        PlanRejectedError: the independent checker disagrees with an answer.
    """
    results = Results()
    try:
        with closing(_found(tasks, settings)) as found:
            for finding in found:
                results.findings.append(finding)
                if told is not None:
                    told(len(results.findings), len(tasks), finding)
    except KeyboardInterrupt:
        results.interrupted = True
    results.findings.sort(key=lambda finding: finding.position)
    return results
