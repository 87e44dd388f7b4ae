# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon partition` does: solve a file of instances or check a file of answers, show it, give
the exit code.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from keepon.errors import EXIT_INTERRUPTED, EXIT_MET, EXIT_MISSED, ConfigError
from keepon.planner.partition import check, files
from keepon.planner.partition.limits import TIME_LIMIT_MAX_S
from keepon.planner.partition.problem import UNKNOWN
from keepon.report import terminal

REJECTED_SHOWN_MAX = 20


@contextmanager
def _progress() -> Iterator[files.OnProgress | None]:
    """A bar on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        BarColumn(),
        TextColumn("{task.completed}/{task.total} {task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, count, what: bar.update(
            task, completed=done, total=count, description=what
        )


def _summary(answers: files.Answers) -> dict[str, Any]:
    """Counts by answer and by method, and what it took."""
    rows = answers.document["instances"]
    methods: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        methods.setdefault((row["answer"], row["answer_method"]), []).append(row["seconds"])
    return {
        "instances": len(rows),
        "decided": sum(row["answer"] != UNKNOWN for row in rows),
        "answers": answers.counts(),
        "methods": [
            {
                "answer": answer,
                "method": method,
                "count": len(times),
                "median_seconds": statistics.median(times),
                "max_seconds": max(times),
            }
            for (answer, method), times in sorted(methods.items())
        ],
        "seconds": round(sum(row["seconds"] for row in rows), 6),
        "interrupted": answers.interrupted,
    }


def _show(summary: dict[str, Any], out: Path) -> None:
    table = Table()
    for column in ("answer", "method", "instances", "median ms", "max ms"):
        table.add_column(column, justify="left" if column in ("answer", "method") else "right")
    for row in summary["methods"]:
        times = (f"{row[key] * 1e3:.2f}" for key in ("median_seconds", "max_seconds"))
        table.add_row(row["answer"], row["method"], str(row["count"]), *times)
    terminal.show(table)
    print(
        f"{summary['decided']} of {summary['instances']} decided in {summary['seconds']:.3f} s;"
        f" answers: {out}"
    )


def solve(
    source: Path, out: Path, time_limit_s: float, seed: int, workers: int, as_json: bool
) -> int:
    """Solve all instances of a file into another; the exit code.

    Args:
        time_limit_s: for each instance.

    Raises:
        KeeponError: what is wrong with an input or with the place for the answers; nothing was
            written.
    """
    if not 0 < time_limit_s <= TIME_LIMIT_MAX_S:
        raise ConfigError(
            f"option --time-limit = {time_limit_s:g}: must be above 0 and at most"
            f" {TIME_LIMIT_MAX_S:g} seconds; choose one in this range"
        )
    loaded = files.load(source)
    files.check_target(source, out)
    with _progress() as on_progress:
        answers = files.solve_all(loaded, time_limit_s, seed, workers, on_progress)
    files.write(out, answers)
    summary = _summary(answers)
    if as_json:
        print(json.dumps(summary, indent=1))
    else:
        _show(summary, out)
    if answers.interrupted:
        done = f"{answers.attempted} of {summary['instances']}"
        print(
            f"interrupted; {done} instances were attempted, the others stand as unknown in {out}",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    return EXIT_MET if summary["decided"] == summary["instances"] else EXIT_MISSED


def verify(answers: Path, as_json: bool) -> int:
    """Check a file of answers; the exit code, which is not 0 if any answer is rejected.

    Raises:
        KeeponError: the file is no file of instances.
    """
    found = files.check_all(answers)
    states = {state: sum(v.state == state for _, _, v in found) for state in check.STATES}
    failed = [
        (name, answer, verdict)
        for name, answer, verdict in found
        if verdict.state == check.REJECTED
    ]
    if as_json:
        rows = [
            {"id": name, "answer": a, "state": v.state, "reason": v.reason} for name, a, v in found
        ]
        print(json.dumps(states | {"instances": rows}, indent=1))
    else:
        for name, answer, verdict in failed[:REJECTED_SHOWN_MAX]:
            print(f'{answers}: instance "{name}": {answer} is rejected: {verdict.reason}')
        print(
            f"{len(found)} answers: {states[check.PASSED]} passed, {states[check.REJECTED]}"
            f" rejected, {states[check.UNCHECKABLE]} cannot be checked (unknown, or infeasible by"
            " search)"
        )
    return EXIT_MISSED if failed else EXIT_MET
