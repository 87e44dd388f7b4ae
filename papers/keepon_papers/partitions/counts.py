# SPDX-License-Identifier: BSD-3-Clause
"""What was found about the sets, counted.

Three answers are never mixed: feasible, proven infeasible, unknown within the limit. What the
published experiment would have counted, infeasible where its solver gave no answer in 150 s, has a
column of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keepon.planner.partition.problem import FEASIBLE, INFEASIBLE, UNKNOWN
from keepon_papers.document import Cell, Sets
from keepon_papers.partitions.sets import Finding
from keepon_papers.partitions.settings import TABLE5

PUBLISHED_LIMIT_S: int = TABLE5["time_limit_s"]
ANSWERS = (FEASIBLE, INFEASIBLE, UNKNOWN)
RAW_COLUMNS = (
    "id", "utilisation_level_percent", "utilisation_percent", "flows", "classes", "answer",
    "method", "seconds",
    "no_answer_in_150_s_or_limit", "confirmed_by_checker", "owned_slots",
    "answer_without_partition",
    "seconds_without_partition",
)  # fmt: skip


def raw(findings: Sequence[Finding]) -> Sets:
    """Every set in one row, as it stands in the result file."""
    rows: list[list[Cell]] = [
        [
            f.name, f.level_percent, f.actual_percent, f.flows, f.classes, f.answer, f.method,
            round(f.seconds, 6),
            int(unanswered(f)), int(f.checked), f.owned_slots, f.shared_answer,
            round(f.shared_seconds, 6),
        ]
        for f in findings
    ]  # fmt: skip
    return {"columns": list(RAW_COLUMNS), "rows": rows}


def at(findings: Iterable[Finding], level_percent: int) -> list[Finding]:
    """Those of one utilisation."""
    return [finding for finding in findings if finding.level_percent == level_percent]


def levels(findings: Iterable[Finding]) -> list[int]:
    """Utilisations anything was found at, in order."""
    return sorted({finding.level_percent for finding in findings})


def share_percent(findings: Sequence[Finding], answer: str) -> float:
    """How many of the findings, at least one, have this answer."""
    return 100 * sum(finding.answer == answer for finding in findings) / len(findings)


def unanswered(finding: Finding) -> bool:
    """Would the published experiment have had no answer: none in its 150 s, or none in
    our limit?
    """
    return finding.seconds > PUBLISHED_LIMIT_S or finding.answer == UNKNOWN


def percentile(values: Iterable[float], percent: int) -> float:
    """Nearest-rank percentile, 1 to 100, of at least one value.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50), percentile([1.0, 2.0], 90)
    (2.0, 2.0)
    """
    ordered: list[float] = sorted(values)
    return ordered[-(-percent * len(ordered) // 100) - 1]
