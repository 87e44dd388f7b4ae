# SPDX-License-Identifier: BSD-3-Clause
"""What is beyond Figure 27: up to full rings, with a partition and with all classes sharing their
slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from keepon.planner.partition.problem import FEASIBLE, INFEASIBLE, UNKNOWN
from keepon_papers.document import Cell, Column, Curve, Panel, Part, Plot, Table
from keepon_papers.partitions import fig27
from keepon_papers.partitions.counts import ANSWERS, at, levels, percentile, share_percent
from keepon_papers.partitions.experiment import experiment
from keepon_papers.partitions.sets import Finding, Task
from keepon_papers.partitions.settings import (
    OPTIONS,
    ORIGINS,
    SOURCE,
    TABLE5,
    BeyondSettings,
    Settings,
    check,
)
from keepon_papers.study import Study


def _limit_row(level: int, here: Sequence[Finding], ring_slots: int) -> list[Cell]:
    without = [finding for finding in here if finding.answer != FEASIBLE]
    shared = Counter(finding.shared_answer for finding in without)
    owned = [finding.owned_slots for finding in here if finding.owned_slots is not None]
    return [
        level, len(here), share_percent(here, FEASIBLE), share_percent(here, INFEASIBLE),
        share_percent(here, UNKNOWN),
        len(without), *(shared[answer] for answer in ANSWERS),
        100 * percentile(map(float, owned), 50) / ring_slots if owned else None,
    ]  # fmt: skip


def _by_classes(findings: Sequence[Finding]) -> Table:
    rows: list[list[Cell]] = []
    for count in sorted({finding.classes for finding in findings}):
        here = [finding for finding in findings if finding.classes == count]
        counted = Counter(finding.answer for finding in here)
        rows.append(
            [
                count,
                len(here),
                *(counted[answer] for answer in ANSWERS),
                share_percent(here, INFEASIBLE),
            ]
        )
    columns = [
        Column("classes"), Column("sets"), Column("feasible"), Column("infeasible, proven"),
        Column("unknown"),
        Column("infeasible, proven (%)", 1),
    ]  # fmt: skip
    return Table("By number of classes, all utilisations", "calculated", columns, rows)


def _limit_findings(findings: Sequence[Finding]) -> list[str]:
    proven = [finding for finding in findings if finding.answer == INFEASIBLE]
    if not proven:
        return [
            "no set was proven infeasible: at these utilisations partitions cost no schedulability"
        ]
    shared = Counter(finding.shared_answer for finding in proven)
    lowest = min(finding.level_percent for finding in proven)
    overloaded = sum(finding.actual_percent > 100 for finding in proven)
    bounds = sum(finding.method == "analytic-bound" for finding in proven)
    return [
        (
            f"of {len(findings)} sets {len(proven)} have no partition, the first at {lowest} %;"
            f" {bounds} of them are known from a bound that counts the slots classes need at least"
        ),
        (
            f"{shared[FEASIBLE]} of these {len(proven)} are feasible when all classes share their"
            f" slots: there the static partition is the limit; {shared[INFEASIBLE]} are infeasible"
            f" even then ({overloaded} of them carry more than one frame a slot), {shared[UNKNOWN]}"
            " unknown"
        ),
    ]


def limit(findings: Sequence[Finding], settings: Settings) -> Part:
    """What the partition itself costs: all utilisations, with a partition and with all classes
    sharing their slots.
    """
    there = levels(findings)
    here = [at(findings, level) for level in there]
    ring = TABLE5["ring_slots"]
    columns = [
        Column("utilisation (%)"), Column("sets"), Column("feasible (%)", 1),
        Column("infeasible, proven (%)", 1),
        Column("unknown (%)", 1), Column("not feasible"),
        Column("of these without partition: feasible"),
        Column("infeasible"), Column("unknown"), Column("ring owned, median (%)", 1),
    ]  # fmt: skip
    rows = [_limit_row(level, group, ring) for level, group in zip(there, here, strict=True)]
    x = [float(level) for level in there]
    unpartitioned = [
        100 * sum(finding.shared_answer == FEASIBLE for finding in group) / len(group)
        for group in here
    ]
    curves = [
        Curve("feasible with a partition", x, [share_percent(group, FEASIBLE) for group in here]),
        Curve("feasible, classes sharing all slots", x, unpartitioned),
        Curve(
            "not proven infeasible (partition)",
            x,
            [100 - share_percent(g, INFEASIBLE) for g in here],
            "dashed",
        ),
    ]
    owners = [
        (level, row[-1]) for level, row in zip(x, rows, strict=True) if isinstance(row[-1], float)
    ]
    slots = [
        Curve(
            "ring owned, median of schedules found",
            [level for level, _ in owners],
            [share for _, share in owners],
        ),
        Curve("utilisation", x, x, "dashed"),
    ]
    panels = [Panel("(a) sets", "utilisation (%)", "share of sets (%)", curves)]
    if owners:
        panels.append(
            Panel("(b) slots that have an owner", "utilisation (%)", "share of the ring (%)", slots)
        )
    return Part(
        "partition-limit",
        "The limit of static partitions: the same sets, with a partition and without",
        SOURCE,
        tables=[
            Table(
                "With a partition, and with all classes sharing their slots", "calculated", columns,
                rows,
                f"ring owned: of {ring} slots, in the schedule found, which need not be the one "
                "with the fewest; what a class owns and does not use is lost to the other "
                "classes and to best effort",
            ),
            _by_classes(findings),
        ],
        plots=[
            Plot("partition-limit", "What the partition costs", "calculated", panels,
                 "Sets are feasible without partition wherever they are with one: "
                 "the same schedule will do.")
        ],
        findings=_limit_findings(findings),
        by_construction=["a set that has a partition is feasible without one"],
    )  # fmt: skip


def parts(
    settings: BeyondSettings, findings: Sequence[Finding], tasks: Sequence[Task]
) -> list[Part]:
    """Figure 27 from the sets of its utilisations, if there are any, and the limit from all."""
    published = [
        finding for finding in findings if finding.level_percent in settings.levels_percent
    ]
    return [
        *(fig27.parts(settings, published, tasks) if published else []),
        limit(findings, settings),
    ]


STUDY = Study(
    "Figure 27 and beyond: up to full rings, with a partition and without (minutes)",
    BeyondSettings,
    ORIGINS,
    lambda settings, spread: experiment(settings, spread, parts),
    (check,),
    OPTIONS,
)
