# SPDX-License-Identifier: BSD-3-Clause
"""Instance and answer files: read, solve all instances, write the document with answers, and check
it.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from keepon.errors import (
    ConfigError,
    EnvironmentProblemError,
    PlanRejectedError,
    TraceError,
    one_line,
)
from keepon.model import documents
from keepon.planner.partition import check
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import UNKNOWN, Outcome, Problem, parse, witness_json
from keepon.planner.partition.solve import decide

SCHEMA_VERSION = 1
INSTANCES_MAX = 100_000
NOT_ATTEMPTED = "not-attempted"
ANSWER_KEYS = ("answer", "answer_method", "witness", "proof", "best", "seconds")

OnProgress = Callable[[int, int, str], None]
"""Progress callback: number of instances done, number of instances, and the current step."""


@dataclass(frozen=True)
class InstanceFile:
    """A document with instances as in the file, and its problems."""

    path: Path
    document: dict[str, Any]
    problems: list[Problem]


def _document(path: Path, exact_decimals: bool) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
        exact = Decimal if exact_decimals else documents.finite
        return json.loads(
            text,
            parse_int=documents.whole,
            parse_float=exact,
            parse_constant=documents.finite,
        )
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except (ValueError, RecursionError) as error:
        raise TraceError(
            f"{path}: not JSON ({one_line(error, 200)}); make the file again"
        ) from error


def _instances(path: Path, document: Any) -> list[Any]:
    schema = document.get("schema") if isinstance(document, dict) else None
    version = schema.get("version") if isinstance(schema, dict) else None
    if version != SCHEMA_VERSION:
        raise TraceError(
            f"{path}: key `schema.version` = {one_line(version)}: must be {SCHEMA_VERSION}; this"
            " command reads files of partition instances of that version only"
        )
    rows = document.get("instances")
    if not isinstance(rows, list) or not 1 <= len(rows) <= INSTANCES_MAX:
        shown = f"{len(rows)} entries" if isinstance(rows, list) else one_line(repr(rows))
        raise ConfigError(
            f"{path}: key `instances` = {shown}: must be a list of 1 to {INSTANCES_MAX}; add"
            " instances"
        )
    return rows


def load(path: Path) -> InstanceFile:
    """Read a file of instances; any answers in it are ignored.

    Raises:
        TraceError: it cannot be read, is not JSON, or is of another kind.
        ConfigError: an instance is wrong, or two have one id.
    """
    problems = [
        parse(row, str(path), position)
        for position, row in enumerate(_instances(path, _document(path, True)))
    ]
    twice = [
        name for name, count in Counter(problem.name for problem in problems).items() if count > 1
    ]
    if twice:
        raise ConfigError(
            f'{path}: key `id` = "{twice[0]}": must be used once; give every instance its own id'
        )
    return InstanceFile(path, _document(path, False), problems)


def check_target(source: Path, out: Path) -> None:
    """Refuse, before any work, an output path that is the input or cannot be written.

    Raises:
        ConfigError: it is the input, a folder or a file of another kind.
        EnvironmentProblemError: its folder does not exist or cannot be written.
    """
    if out.exists() and out.samefile(source):
        raise ConfigError(
            f"option --out = {out}: is the input itself, which is never overwritten; choose another"
            " file"
        )
    documents.check_replaces("--out", out, _has_answers, "a file of answers")
    if out.is_dir():
        raise ConfigError(f"option --out = {out}: is a folder; name a file in it")
    if not out.parent.is_dir():
        raise EnvironmentProblemError(
            f"{out}: there is no folder {out.parent}; make it or choose another with --out"
        )


def _has_answers(path: Path) -> bool:
    """Whether `write` has written a file."""
    if path.stat().st_size > documents.BYTES_MAX:
        return False
    try:
        rows = _instances(path, _document(path, False))
    except (TraceError, ConfigError):
        return False
    return all(isinstance(row, dict) and "answer" in row for row in rows)


def answered(instance: dict[str, Any], problem: Problem, outcome: Outcome) -> dict[str, Any]:
    """The instance with this answer in place of any other.

    Raises:
        PlanRejectedError: the independent checker refuses the answer: a defect of the solvers,
            never of the input.
    """
    row = {key: value for key, value in instance.items() if key not in ANSWER_KEYS}
    row["answer"] = outcome.answer
    row["answer_method"] = outcome.method
    row["witness"] = None if outcome.witness is None else witness_json(problem, outcome.witness)
    if outcome.proof is not None:
        row["proof"] = outcome.proof
    if outcome.best:
        row["best"] = outcome.best
    row["seconds"] = round(outcome.seconds, 6)
    verdict = check.check(row)
    if verdict.state == check.REJECTED:
        raise PlanRejectedError(
            f'instance "{problem.name}": the answer of {outcome.method} does not hold'
            f" ({verdict.reason}); please report it with the file"
        )
    return row


@dataclass
class Answers:
    """A document with answers, the number of attempted instances, and whether Ctrl-C ended the
    run.
    """

    document: dict[str, Any]
    attempted: int = 0
    interrupted: bool = False

    def counts(self) -> dict[str, int]:
        """Number of instances by answer, most frequent first."""
        return dict(Counter(row["answer"] for row in self.document["instances"]).most_common())


def solve_all(
    loaded: InstanceFile,
    time_limit_s: float,
    seed: int,
    workers: int,
    on_progress: OnProgress | None = None,
) -> Answers:
    """Solve every instance; after Ctrl-C the undecided ones are unknown.

    Args:
        time_limit_s: limit for each instance; math.inf for none.
    """
    rows: list[dict[str, Any]] = list(loaded.document["instances"])
    answers = Answers(loaded.document | {"instances": rows})
    count = len(rows)
    try:
        for position, problem in enumerate(loaded.problems):
            outcome = _decide(problem, position, count, time_limit_s, seed, workers, on_progress)
            rows[position] = answered(rows[position], problem, outcome)
            answers.attempted = position + 1
    except KeyboardInterrupt:
        answers.interrupted = True
        for later in range(answers.attempted, count):
            rows[later] = answered(
                rows[later], loaded.problems[later], Outcome(UNKNOWN, NOT_ATTEMPTED)
            )
    return answers


def _decide(
    problem: Problem,
    position: int,
    count: int,
    time_limit_s: float,
    seed: int,
    workers: int,
    on_progress: OnProgress | None,
) -> Outcome:
    deadline_s = math.inf if time_limit_s == math.inf else time.monotonic() + time_limit_s
    limits = Limits(deadline_s, seed, workers)
    if on_progress is not None:
        limits.progress = lambda what: on_progress(position, count, f"{problem.name}: {what}")
        on_progress(position, count, problem.name)
    return decide(problem, limits)


def check_all(path: Path) -> list[tuple[str, str, check.Verdict]]:
    """Id, answer and verdict of each instance of an answer file.

    Raises:
        TraceError, ConfigError: as `load`; the checker needs readable problems.
    """
    load(path)
    rows = _document(path, True)["instances"]
    return [(row["id"], str(row.get("answer")), check.check(row)) for row in rows]


def write(path: Path, answers: Answers) -> None:
    """Write an answer file, whole or not at all."""
    documents.write(path, answers.document)
