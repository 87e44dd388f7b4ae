# SPDX-License-Identifier: BSD-3-Clause
"""What commands share: reading and planning a scenario, tables, JSON, progress, a run's end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from keepon import errors
from keepon.cli import edge, session
from keepon.errors import EXIT_INTERRUPTED, ConfigError, shell_path
from keepon.model import documents, loading, outcomes
from keepon.model.plan import Plan
from keepon.model.result import Result
from keepon.model.scenario import Scenario
from keepon.report import tables, terminal, verdict
from keepon.targets.runs import Outcome

EXIT_CODES = (
    "Exit codes: 0 met; 1 missed (a frame due, a bound or a deadline), or no plan; 2 usage or"
    " input; 3 environment; 4 nothing checked (no bound on the delay and no deadline, or too few"
    " frames for a bound); 5 no frames were due; 6 a plan that was not tried; 70 a defect of"
    " Keepon, with a line to report; 130 interrupted."
)


def print_delays(result: Result) -> None:
    terminal.say(f"{result['scenario']}: delay from schedule to delivery, us")
    for table in tables.delays(result, terminal.width()):
        terminal.show(table)
    for line in (*tables.delay_notes(result), *verdict.summary_lines(result)):
        terminal.say(line)


def print_json(document: Any) -> None:
    print(json.dumps(document, indent=1, allow_nan=False))


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None] | None]:
    """A progress bar on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        known: dict[str, Any] = {}

        def on_progress(what: str, share: float) -> None:
            if what not in known:
                known[what] = bar.add_task(what, total=1.0)
            bar.update(known[what], completed=min(share, 1.0))

        yield on_progress


def load(path: Path, seed: int | None, duration_s: float | None) -> Scenario:
    edge.Settings.source = str(path)
    scenario = loading.load(path)
    changes: dict[str, Any] = {}
    if seed is not None:
        changes["seed"] = seed
    if duration_s is not None:
        if not 0.001 <= duration_s <= 86_400:
            raise ConfigError(
                f"option --duration = {duration_s}: must be between 0.001 and 86400 seconds; choose"
                " one in this range"
            )
        changes["duration_s"] = duration_s
    return scenario.model_copy(update=changes)


def feasible(load: Callable[[], Scenario], time_limit_s: float) -> tuple[Scenario, Plan]:
    """A scenario with a plan for it, both within the time limit.

    Raises:
        InfeasibleError: there is no plan, or none was found in that time.
    """
    scenario, plan = session.read_and_planned(load, time_limit_s)
    if plan["status"] != "feasible":
        why = plan["why"]
        raise errors.InfeasibleError(
            f"no plan: {why['message']}; nearest change: {why['nearest_change']}",
            why["constraint"],
            why["streams"],
            why["nearest_change"],
        )
    return scenario, plan


def conclude(outcome: Outcome, folder: Path, as_json: bool, interrupted: bool) -> int:
    """Print what a run gave and return its exit code: the first driver is judged, the others are
    its peers.
    """
    if not outcome.runs:
        edge.say("keepon: interrupted before the first driver was complete; nothing was written")
        edge.Settings.concluded = True
        return EXIT_INTERRUPTED
    if as_json:
        print_json(outcome.result)
    else:
        print_delays(outcome.result)
        page = shell_path(folder / documents.REPORT_FILE)
        terminal.say(f"result folder: {shell_path(folder)}  (report: {page})")
    if interrupted:
        done = ", ".join(run.driver for run in outcome.runs)
        edge.say(f"interrupted; complete and written: {done}")
        edge.Settings.concluded = True
        return EXIT_INTERRUPTED
    return outcomes.EXIT_CODES[outcome.runs[0].document["outcome"]]
