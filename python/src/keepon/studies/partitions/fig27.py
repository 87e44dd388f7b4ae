# SPDX-License-Identifier: BSD-3-Clause
"""What was found about the sets as parts of a document: Figure 27 beside the published, and the limit of partitions.

Three answers are never mixed: feasible, proven infeasible, unknown within the limit. What the published experiment
would have counted, infeasible where its solver gave no answer in 150 s, has a column of its own.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from keepon.model.study import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon.planner.partition.answer import FEASIBLE, INFEASIBLE, UNKNOWN
from keepon.studies.partitions.sets import Finding, Task, outside
from keepon.studies.partitions.settings import FIGURE27, TABLE5, Settings

SOURCE = "KeepON paper, section A.8"
PUBLISHED_LIMIT_S: int = TABLE5["time_limit_s"]
ALMOST_ALL_PERCENT = 95
"""What is taken for the published "almost 100 %"."""
ANSWERS = (FEASIBLE, INFEASIBLE, UNKNOWN)
WORDS = {FEASIBLE: "feasible", INFEASIBLE: "infeasible, proven", UNKNOWN: "unknown"}
RAW_COLUMNS = (
    "id", "utilisation_level_percent", "utilisation_percent", "flows", "classes", "answer", "method", "seconds",
    "no_answer_in_150_s_or_limit", "confirmed_by_checker", "owned_slots", "answer_without_partition",
    "seconds_without_partition",
)  # fmt: skip


def raw(findings: Sequence[Finding]) -> dict[str, list[str] | list[list[Cell]]]:
    """Every set in one row, as it stands in the result file."""
    rows: list[list[Cell]] = [
        [
            f.name, f.level_percent, f.actual_percent, f.flows, f.classes, f.answer, f.method, round(f.seconds, 6),
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
    """Would the published experiment have had no answer: none in its 150 s, or none in our limit?"""
    return finding.seconds > PUBLISHED_LIMIT_S or finding.answer == UNKNOWN


def published_percent(findings: Sequence[Finding]) -> float:
    """Feasible as the published experiment counts: found within 150 s."""
    return 100 * sum(f.answer == FEASIBLE and not unanswered(f) for f in findings) / len(findings)


def percentile(values: Iterable[float], percent: int) -> float:
    """Nearest-rank percentile, 1 to 100, of at least one value.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50), percentile([1.0, 2.0], 90)
    (2.0, 2.0)
    """
    ordered: list[float] = sorted(values)
    return ordered[-(-percent * len(ordered) // 100) - 1]


def _counts(findings: Iterable[Finding]) -> str:
    counted = Counter(finding.answer for finding in findings)
    return ", ".join(f"{counted[answer]} {WORDS[answer]}" for answer in ANSWERS)


def _by_level(findings: Sequence[Finding], limit_s: float) -> Table:
    columns = [
        Column("utilisation (%)"), Column("sets"), Column("feasible"), Column("infeasible, proven"), Column("unknown"),
        Column("feasible (%)", 1), Column("feasible within 150 s (%)", 1), Column("median (ms)", 2),
        Column("p90 (ms)", 2), Column("mean (ms)", 1), Column("max (s)", 3),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for level in levels(findings):
        here = at(findings, level)
        counted = Counter(finding.answer for finding in here)
        seconds = [finding.seconds for finding in here]
        rows.append(
            [
                level, len(here), *(counted[answer] for answer in ANSWERS), share_percent(here, FEASIBLE),
                published_percent(here), percentile(seconds, 50) * 1e3, percentile(seconds, 90) * 1e3,
                statistics.fmean(seconds) * 1e3, max(seconds),
            ]
        )  # fmt: skip
    note = (
        f"unknown: not decided within {limit_s:g} s, and such a set's time is that limit. The published experiment has "
        "no such column and counts these as infeasible"
    )
    return Table("Answers and solving time by utilisation", "calculated", columns, rows, note)


def _by_flows(findings: Sequence[Finding]) -> Table:
    counts = sorted({finding.flows for finding in findings})
    rows: list[list[Cell]] = []
    for level in levels(findings):
        row: list[Cell] = [level]
        for count in counts:
            here = [finding for finding in at(findings, level) if finding.flows == count]
            row.append(f"{sum(f.answer == FEASIBLE for f in here)}/{len(here)}" if here else None)
        rows.append(row)
    columns = [Column("utilisation (%)"), *(Column(f"{count} flows") for count in counts)]
    note = "-: no set was drawn; few flows cannot reach every utilisation with periods that divide each other"
    return Table("Feasible of all, by number of flows", "calculated", columns, rows, note)


def _methods(findings: Sequence[Finding]) -> Table:
    times: dict[tuple[str, str], list[float]] = {}
    for finding in findings:
        times.setdefault((WORDS[finding.answer], finding.method), []).append(finding.seconds)
    rows: list[list[Cell]] = [
        [answer, method, len(found), percentile(found, 50) * 1e3, max(found)]
        for (answer, method), found in sorted(times.items())
    ]
    columns = [Column("answer"), Column("method"), Column("sets"), Column("median (ms)", 2), Column("max (s)", 3)]
    return Table("What decided", "calculated", columns, rows)


def _plot(findings: Sequence[Finding]) -> Plot:
    there = levels(findings)
    x = [float(level) for level in there]
    here = [at(findings, level) for level in there]
    shares = [Curve(WORDS[answer], x, [share_percent(group, answer) for group in here]) for answer in ANSWERS]
    low, high = FIGURE27["near_full_percent_range"]
    falls = FIGURE27["falls_beyond_percent"]
    shares += [
        Curve('published: "almost 100 %"', [low, high], [100.0, 100.0], "points"),
        Curve("published: falls from here", [falls, falls], [0.0, 100.0], "dashed"),
    ]
    below, above = (float(FIGURE27[f"seconds_{key}_percent"]) for key in ("below_at_5", "above_at_40_to_50"))
    seconds = [[finding.seconds for finding in group] for group in here]
    times = [
        Curve("mean, as published", x, [statistics.fmean(group) for group in seconds]),
        Curve("median", x, [percentile(group, 50) for group in seconds]),
        Curve("longest", x, [max(group) for group in seconds], "dashed"),
        Curve("published: less at 5 %, more from 40 %", [5.0, 40.0, 50.0], [below, above, above], "points"),
    ]  # fmt: skip
    panels = [
        Panel("(a) what sets are", "utilisation (%)", "share of sets (%)", shares),
        Panel("(b) time to decide a set", "utilisation (%)", "s", times, log_y=True),
    ]
    note = "The published curves have no numbers; drawn is what the text says of them."
    return Plot("fig27", "Sets with a partition, and time to know, over utilisation", "calculated", panels, note)


def _compared(findings: Sequence[Finding]) -> list[Comparison]:
    source = FIGURE27["id"]
    low, high = FIGURE27["near_full_percent_range"]
    falls = FIGURE27["falls_beyond_percent"]
    dense_low, dense_high = 40, 50
    light = [f for f in findings if low <= f.level_percent <= high]
    heavy = [f for f in findings if f.level_percent > falls]
    groups: list[tuple[str, Cell, Cell, str]] = [
        ("sets", len(findings), FIGURE27["sets"], "896 is 14 x 64, the utilisations are ten: which are 14 is not said")
    ]
    if light:
        groups.append((f"feasible at {low} to {high} %, %", share_percent(light, FEASIBLE), "almost 100", ""))
    if heavy:
        remark = "the fall counts what Z3 did not answer in 150 s as infeasible; here the three answers are kept apart"
        groups += [
            (f"feasible beyond {falls} %, %", share_percent(heavy, FEASIBLE), "decreases sharply", remark),
            (f"proven infeasible beyond {falls} %, %", share_percent(heavy, INFEASIBLE), None, "not told apart there"),
            (f"unknown beyond {falls} %, %", share_percent(heavy, UNKNOWN), None, "not told apart there"),
        ]
    for name, group, text in (
        ("mean time at 5 %, ms", at(findings, 5), f"< {1000 * FIGURE27['seconds_below_at_5_percent']:g}"),
        (
            f"mean time at {dense_low} to {dense_high} %, ms",
            [f for f in findings if dense_low <= f.level_percent <= dense_high],
            f"> {1000 * FIGURE27['seconds_above_at_40_to_50_percent']}",
        ),
    ):
        if group:
            groups.append((name, 1000 * statistics.fmean(f.seconds for f in group), text, "another method and machine"))
    over = sum(map(unanswered, findings))
    rows = [Comparison(name, ours, published, source, "calculated", remark) for name, ours, published, remark in groups]
    rows.append(Comparison("sets without an answer in 150 s, or in the limit if less", over, None, TABLE5["id"],
                           "calculated", "counted as infeasible in the published experiment"))  # fmt: skip
    return rows


def _checks(findings: Sequence[Finding], tasks: Sequence[Task], settings: Settings) -> list[Check]:
    instances = {task.position: task.instance for task in tasks}
    wrong = []
    for finding in findings:
        reason = outside(instances[finding.position], settings.flow_counts, settings.periods == "chain")
        if reason:
            wrong.append(f"{finding.name}: {reason}")
    kept = f"{len(findings) - len(wrong)} of {len(findings)} sets do" + (f"; {wrong[0]}" if wrong else "")
    checks = [
        Check(
            "sets keep the ranges of Table 5, and their packets per ring cycle by its slots are the utilisation within "
            "a twentieth (A.8)", not wrong, kept,
        )
    ]  # fmt: skip
    low, high = FIGURE27["near_full_percent_range"]
    light = [f for f in findings if low <= f.level_percent <= high]
    if light and settings.periods == "chain":
        share = share_percent(light, FEASIBLE)
        checks.append(
            Check(
                f"at {low} to {high} % almost all sets are feasible: at least {ALMOST_ALL_PERCENT} %",
                share >= ALMOST_ALL_PERCENT, f"{share:.1f} %",
            )
        )  # fmt: skip
    return checks


def _fall(findings: Sequence[Finding], limit_s: float) -> list[str]:
    falls = FIGURE27["falls_beyond_percent"]
    light = [f for f in findings if f.level_percent <= falls]
    heavy = [f for f in findings if f.level_percent > falls]
    if not light or not heavy:
        return []
    before, after = share_percent(light, FEASIBLE), share_percent(heavy, FEASIBLE)
    told = f"beyond {falls} % {after:.1f} % of the sets are feasible, up to there {before:.1f} % ({_counts(heavy)})"
    # Below this the fall would be at least as much the problem's as the solver's.
    if after >= ALMOST_ALL_PERCENT:
        return [
            told + ": with sets drawn as here the published fall does not come from the problem. What is left is its "
            f"solver: no answer in {PUBLISHED_LIMIT_S} s counts as infeasible (docs/planner.md has Z3 on such sets)"
        ]
    return [told + f", with {limit_s:g} s for each set"]


def schedulability(findings: Sequence[Finding], tasks: Sequence[Task], settings: Settings) -> Part:
    """Figure 27 from what was found at its utilisations, at least one set."""
    return Part(
        "fig27",
        "Figure 27: which sets of flows have a partition, and how long it takes to know",
        f"{SOURCE}, Table 5, Figure 27",
        compared=_compared(findings),
        checks=_checks(findings, tasks, settings),
        tables=[_by_level(findings, settings.time_limit_s), _by_flows(findings), _methods(findings)],
        plots=[_plot(findings)],
        findings=_fall(findings, settings.time_limit_s),
        by_construction=[
            "every schedule was confirmed over the whole cycle by a checker that shares nothing with the planner; had "
            "it refused one, there would be no result",
            "each set has exactly one of the three answers",
        ],
    )


def _limit_row(level: int, here: Sequence[Finding], ring_slots: int) -> list[Cell]:
    without = [finding for finding in here if finding.answer != FEASIBLE]
    shared = Counter(finding.shared_answer for finding in without)
    owned = [finding.owned_slots for finding in here if finding.owned_slots is not None]
    return [
        level, len(here), share_percent(here, FEASIBLE), share_percent(here, INFEASIBLE), share_percent(here, UNKNOWN),
        len(without), *(shared[answer] for answer in ANSWERS),
        100 * percentile(map(float, owned), 50) / ring_slots if owned else None,
    ]  # fmt: skip


def _by_classes(findings: Sequence[Finding]) -> Table:
    rows: list[list[Cell]] = []
    for count in sorted({finding.classes for finding in findings}):
        here = [finding for finding in findings if finding.classes == count]
        counted = Counter(finding.answer for finding in here)
        rows.append([count, len(here), *(counted[answer] for answer in ANSWERS), share_percent(here, INFEASIBLE)])
    columns = [
        Column("classes"), Column("sets"), Column("feasible"), Column("infeasible, proven"), Column("unknown"),
        Column("infeasible, proven (%)", 1),
    ]  # fmt: skip
    return Table("By number of classes, all utilisations", "calculated", columns, rows)


def _limit_findings(findings: Sequence[Finding]) -> list[str]:
    proven = [finding for finding in findings if finding.answer == INFEASIBLE]
    if not proven:
        return ["no set was proven infeasible: at these utilisations partitions cost no schedulability"]
    shared = Counter(finding.shared_answer for finding in proven)
    lowest = min(finding.level_percent for finding in proven)
    overloaded = sum(finding.actual_percent > 100 for finding in proven)
    bounds = sum(finding.method == "analytic-bound" for finding in proven)
    return [
        f"of {len(findings)} sets {len(proven)} have no partition, the first at {lowest} %; {bounds} of them are known "
        "from a bound that counts the slots classes need at least",
        f"{shared[FEASIBLE]} of these {len(proven)} are feasible when all classes share their slots: there the static "
        f"partition is the limit; {shared[INFEASIBLE]} are infeasible even then ({overloaded} of them carry more than "
        f"one frame a slot), {shared[UNKNOWN]} unknown",
    ]


def limit(findings: Sequence[Finding], settings: Settings) -> Part:
    """What the partition itself costs: all utilisations, with a partition and with all classes sharing their slots."""
    there = levels(findings)
    here = [at(findings, level) for level in there]
    ring = TABLE5["ring_slots"]
    columns = [
        Column("utilisation (%)"), Column("sets"), Column("feasible (%)", 1), Column("infeasible, proven (%)", 1),
        Column("unknown (%)", 1), Column("not feasible"), Column("of these without partition: feasible"),
        Column("infeasible"), Column("unknown"), Column("ring owned, median (%)", 1),
    ]  # fmt: skip
    rows = [_limit_row(level, group, ring) for level, group in zip(there, here, strict=True)]
    x = [float(level) for level in there]
    unpartitioned = [100 * sum(finding.shared_answer == FEASIBLE for finding in group) / len(group) for group in here]
    curves = [
        Curve("feasible with a partition", x, [share_percent(group, FEASIBLE) for group in here]),
        Curve("feasible, classes sharing all slots", x, unpartitioned),
        Curve("not proven infeasible (partition)", x, [100 - share_percent(g, INFEASIBLE) for g in here], "dashed"),
    ]
    owners = [(level, row[-1]) for level, row in zip(x, rows, strict=True) if isinstance(row[-1], float)]
    slots = [
        Curve("ring owned, median of schedules found", [level for level, _ in owners], [share for _, share in owners]),
        Curve("utilisation", x, x, "dashed"),
    ]
    panels = [Panel("(a) sets", "utilisation (%)", "share of sets (%)", curves)]
    if owners:
        panels.append(Panel("(b) slots that have an owner", "utilisation (%)", "share of the ring (%)", slots))
    return Part(
        "partition-limit",
        "The limit of static partitions: the same sets, with a partition and without",
        SOURCE,
        tables=[
            Table(
                "With a partition, and with all classes sharing their slots", "calculated", columns, rows,
                f"ring owned: of {ring} slots, in the schedule found, which need not be the one with the fewest; what "
                "a class owns and does not use is lost to the other classes and to best effort",
            ),
            _by_classes(findings),
        ],
        plots=[
            Plot("partition-limit", "What the partition costs", "calculated", panels,
                 "Sets are feasible without partition wherever they are with one: the same schedule will do.")
        ],
        findings=_limit_findings(findings),
        by_construction=["a set that has a partition is feasible without one"],
    )  # fmt: skip
