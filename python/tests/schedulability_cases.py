# SPDX-License-Identifier: BSD-3-Clause
"""Sets of flows, and findings about them, for the tests of the study of schedulability."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from keepon.planner.partition import problem
from keepon_papers.partitions import generate
from keepon_papers.partitions.sets import Finding, Task
from partition_cases import instance

HARD_SECONDS = 0.3
QUICK = ["--sets", "1", "--set", "levels_percent=[5, 30, 50]"]


def task(flows: list[tuple[int, ...]], ring_slots: int, limit_s: float = 30.0) -> Task:
    case = instance(
        flows, ring_slots, util_level_percent=50, util_actual_percent=50.0, n_flows=len(flows)
    )
    return Task(0, case, limit_s, 1)


def hard_task(limit_s: float) -> Task:
    """A set of the experiment that is not decided in 150 s."""
    drawn = generate.generate(generate.Parameters(levels_percent=(90,), per_level=23), 1)[
        "instances"
    ][22]
    return Task(0, drawn, limit_s, 1)


def made(level: int, given: str, seconds: float = 0.001, **more: Any) -> Finding:
    found = Finding(
        0, f"u{level}", level, float(level), 4, 2, given, "method", seconds, True,
        8 if given == problem.FEASIBLE else None, given, 0.0,
    )  # fmt: skip
    return replace(found, **more)
