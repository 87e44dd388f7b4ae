# SPDX-License-Identifier: BSD-3-Clause
"""The remedy the Mitsubishi paper proposes, and Keepon's own: what each does to best effort, and to
TC0 and TC1 on the wire (N27).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from keepon_papers.document import Cell, Check, Column, Part, Table
from keepon_papers.spread import Spread
from keepon_papers.timed import threeclasses, throughput
from keepon_papers.timed.threeclasses import BYTE_NS, STALL_S, Case, Outcome, Remedy, Settings
from keepon_papers.timed.throughput import Runs


class Way(NamedTuple):
    """A row of the table."""

    name: str
    remedy: Remedy


NOTHING, ASSIST, RESCHEDULING, KEEPON = WAYS = (
    Way("nothing: no qdiscs, applications sleep", "no qdiscs"),
    Way("taprio with txtime-assist, etf", "none"),
    Way("the same with rescheduling", "reschedule"),
    Way("keepon, slots by the same windows", "keepon"),
)
LATE = ("late", "invalid")
"""Verdicts of frames that came late, or behind one that had left."""


def _spans_ps(runs: Runs) -> tuple[int, int]:
    """TC0 and TC1 on the wire, peak to peak: the worst of all starts."""
    worst = [0, 0]
    for run in runs.outcomes:
        for place, late_ps in enumerate(run.late_ps):
            if len(late_ps):
                worst[place] = max(worst[place], int(late_ps.max() - late_ps.min()))
    return worst[0], worst[1]


def _lost(run: Outcome) -> int:
    return sum(run.verdicts.get(name, 0) for name in LATE)


def part(settings: Settings, spread: Spread) -> Part:
    """One table of all ways, with the stall of firmware that the paper leaves out, and without."""
    wanted: dict[str, tuple[Case, Settings]] = {}
    for way in WAYS:
        case = Case("TCP", remedy=way.remedy, cores=0 if way is NOTHING else None)
        wanted[way.name] = case, settings
        if way is not NOTHING:  # whose applications have a core each
            wanted[f"{way.name}; a stall"] = replace(case, stalls_s=(STALL_S,)), settings
    found = throughput.measure_all(wanted, spread)
    result = Part("remedy", "Rescheduling, and Keepon", "Mitsubishi paper sections 6.2.2 and 7")
    result.tables = [_table(found)]
    result.checks = _checks(found)
    result.findings = _findings(found)
    result.by_construction = [
        "that offloaded frames of TC0 and TC1, and those of keepon, are as even as they are: clocks"
        " are ideal, so the comparator's and the slots' grids are that of the talkers"
    ]
    return result


def _table(found: dict[str, Runs]) -> Table:
    rows: list[list[Cell]] = []
    for name, runs in found.items():
        tc0, tc1 = _spans_ps(runs)
        free = runs.case.remedy == "no qdiscs"
        rows.append(
            [
                name, runs.bps[0] / 1e6, runs.median_bps / 1e6,
                None if free else threeclasses.share_bps(runs.case) / 1e6,
                None if free else 100 * runs.bps[0] / threeclasses.share_bps(runs.case),
                sum(_lost(run) for run in runs.outcomes),
                sum(run.counter("etf_rescheduled") for run in runs.outcomes),
                sum(run.counter("etf_moved_behind") for run in runs.outcomes),
                tc0 / 1000, tc1 / 1000,
            ]
        )  # fmt: skip
    return Table(
        "TCP in TC2, and TC0 and TC1 beside it",
        "chosen",
        [
            Column("what"), Column("least, Mb/s"), Column("median"), Column("share of the window"),
            Column("least, % of it", 1), Column("best effort lost", 0),
            Column("moved, expired", 0), Column("moved, behind one that left", 0),
            Column("TC0 pk-pk, ns", 1), Column("TC1 pk-pk, ns", 1),
        ],
        rows,
        "Over all starts: least and median, sums of frames, the worst peak to peak on the wire. The"
        f" slots of keepon hold frames of {threeclasses.SLOT_BYTES - threeclasses.TRIM_BYTES}"
        " bytes, so its share is less. What TCP has behind etf alone hangs on inputs that are"
        " chosen (mitsubishi.table11).",
    )  # fmt: skip


def _checks(found: dict[str, Runs]) -> list[Check]:
    checks = []
    for way in (RESCHEDULING, KEEPON):
        for name in (way.name, f"{way.name}; a stall"):
            runs = found[name]
            share = threeclasses.share_bps(runs.case)
            lost = sum(_lost(run) for run in runs.outcomes)
            checks.append(
                Check(
                    f"{name}: no best effort is lost for being late",
                    lost == 0,
                    f"{lost} frames",
                )
            )
            checks.append(
                Check(
                    f"{name}: TCP has 90 % of its window's share, whenever it begins",
                    runs.bps[0] >= 0.9 * share,
                    f"{runs.bps[0] / 1e6:.1f} of {share / 1e6:.1f} Mb/s",
                )
            )
            checks.append(
                Check(
                    f"{name}: TC0 and TC1 within one byte time of {BYTE_NS} ns",
                    max(_spans_ps(runs)) <= BYTE_NS * 1000,
                    f"{max(_spans_ps(runs)) / 1000:.1f} ns",
                )
            )
    return checks


def _findings(found: dict[str, Runs]) -> list[str]:
    moved = found[RESCHEDULING.name].outcomes
    late = sum(run.counter("etf_rescheduled") for run in moved)
    behind = sum(run.counter("etf_moved_behind") for run in moved)
    return [
        "The paper proposes to move labelled best effort that has expired. Of what etf would drop"
        f" here without a stall {late} frames had expired and {behind} were behind a frame that had"
        " left: a remedy has to move both, and does in this model. Frames that users time are"
        " dropped and reported as ever (sim/tests/test_qdiscs.py)."
    ]
