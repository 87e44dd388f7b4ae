# SPDX-License-Identifier: BSD-3-Clause
"""Eq. 4, the bound of the offset error, against every corner of the stamp errors and the simulator
(A.9, A.10).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from keepon.model import wire
from keepon.planner.parameters.synchronisation import StampErrors, delta_ts, g_eff
from keepon_papers import published
from keepon_papers import stampbounds as bounds
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.ptperrors import exchange
from keepon_papers.ptperrors.cases import CASES, CORNER_STEPS, us
from keepon_papers.ptperrors.settings import NS_PER_US, ORIGINS, Settings, check
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

LINE_RATE_BPS = 1_000_000_000
PAPER_SLOT_BYTES = 300
SLOT_BYTES_SHOWN = (100, 200, 300, 600, 1000, 1500)
BATCHES_SHOWN = (1, 8, 16, 32, 38, 39, 40, 41, 48, 64, 80)
PS_PER_NS = 1000


def _slot_time_ns(slot_bytes: int) -> Fraction:
    return Fraction(wire.wire_time_ps(slot_bytes, LINE_RATE_BPS), PS_PER_NS)


def tried(errors: StampErrors, settings: Settings, salt: int) -> tuple[Fraction, list[float]]:
    """The greatest offset error of one case, ns: over every corner, and simulated, as set and with
    extremes.
    """
    extremes = settings.model_copy(update={"distribution": "extremes"})
    tracks = [
        exchange.simulate(errors, kind, settings.intervals, salt) for kind in (settings, extremes)
    ]
    largest = [float(np.abs(track.offset_error_ns).max()) for track in tracks]
    return bounds.brute_delta_ts(errors, CORNER_STEPS), largest


def part(settings: Settings, spread: Spread) -> Part:
    """Eq. 4: the formula, every corner and the simulator; then what batches make of the
    granularity.
    """
    rows: list[list[Cell]] = []
    gaps, above = [], []
    tasks = [(case.errors, settings, salt) for salt, case in enumerate(CASES)]
    for case, (corners, largest) in zip(
        CASES, spread.in_order(tried, tasks, "processes if long"), strict=True
    ):
        bound = delta_ts(case.errors)
        gaps.append(corners - bound)
        above.append(max(largest) - float(bound))
        rows.append([case.name, us(bound), us(corners), *map(us, largest)])
    overhead_ns = (
        published.load("keepon")["driver_impl"]["polling_overhead_pessimistic_us"] * NS_PER_US
    )
    knee = bounds.knee_batch_slots(_slot_time_ns(PAPER_SLOT_BYTES), overhead_ns)
    found = Part("eq4", "Eq. 4: offset error", "KeepON paper sections A.9 and A.10")
    found.checks = [
        Check(
            "Eq. 4 equals the greatest error over every corner of Eq. 3",
            all(gap == 0 for gap in gaps),
            f"{len(CASES)} cases, {(CORNER_STEPS + 1) ** 4} combinations each, exact: "
            f"greatest difference {float(max(map(abs, gaps))):g} ns",
        ),
        Check(
            "no simulated offset error exceeds Eq. 4",
            max(above) <= 1e-3,
            f"{2 * len(CASES) * settings.seeds * settings.intervals} exchanges; nearest "
            f"{max(0.0, -max(above)):.4f} ns below",
        ),
    ]
    columns = [
        "case",
        "Eq. 4, us",
        "every corner, us",
        f"simulated max, {settings.distribution}, us",
    ]
    found.tables = [
        Table(
            "Greatest offset error",
            "calculated",
            [Column(name) for name in (*columns, "simulated max, extremes, us")],
            rows,
            "Cases are chosen. Extremes: every error at one end of its range, either equally"
            " likely.",
        ),
        _batch_table(overhead_ns),
        _slot_table(overhead_ns),
    ]
    found.plots = [_batch_plot(overhead_ns)]
    found.compared = [_compared(knee)]
    found.findings = [
        (
            "Section A.10's g_eff = batch x slot time makes Eq. 4 a straight line through the"
            " origin; it contains no knee. The published sleep rule does: a thread that does not"
            f" sleep polls on and sees single slots, until {knee} slots of 300 bytes."
        ),
        (
            "The rule gives a bend, from which the time between updates grows with the batch, not a"
            " jump. What makes the published transition abrupt (waking up, the poll itself) and the"
            " offset in us are not in it and are left to the simulator."
        ),
    ]
    found.by_construction = [
        (
            "that simulated offset errors reach the corners with extremes: their errors are drawn"
            " there"
        ),
        (
            "that the clock's granularity below the knee is one slot: assumes a poll is shorter"
            " than a slot"
        ),
    ]
    return found


def _compared(knee: int) -> Comparison:
    fig8 = published.load("keepon")["fig8"]
    return Comparison(
        "batch up to which the offset is small (300-byte slots)",
        knee,
        fig8["batch_slots_below_which_negligible"],
        fig8["id"],
        "calculated",
        "last batch no longer than the 100 us the thread allows for a poll (keepon.driver_impl), so"
        " that it does not sleep; published: below 39",
    )


def _batch_table(overhead_ns: int) -> Table:
    slot_ns = _slot_time_ns(PAPER_SLOT_BYTES)
    rows: list[list[Cell]] = []
    for batch in BATCHES_SHOWN:
        linear, polled = g_eff(batch, slot_ns), bounds.g_polled(batch, slot_ns, overhead_ns)
        sleep = bounds.sleep_time(batch, slot_ns, overhead_ns)
        rows.append(
            [batch, *map(us, (linear, _bound_of(linear), sleep, polled, _bound_of(polled)))]
        )
    names = (
        "batch, slots",
        "g_eff = batch x slot, us",
        "Eq. 4 with it, us",
        "sleep, us",
        "least update time, us",
    )
    return Table(
        "300-byte slots at 1 Gb/s: granularity by batch",
        "calculated",
        [Column(name, 2) for name in (*names, "Eq. 4 with that, us")],
        rows,
        "Both clocks with this granularity, no delays. Sleep: batch x slot less 100 us"
        " (keepon.driver_impl).",
    )


def _slot_table(overhead_ns: int) -> Table:
    rows: list[list[Cell]] = []
    for slot_bytes in SLOT_BYTES_SHOWN:
        slot_ns = _slot_time_ns(slot_bytes)
        knee = bounds.knee_batch_slots(slot_ns, overhead_ns)
        rows.append([slot_bytes, us(slot_ns), us(_bound_of(slot_ns)), knee])
    names = ("slot, bytes", "slot time, us", "Eq. 4 at batch 1, us", "last batch without sleep")
    return Table(
        "Granularity by slot, 1 Gb/s", "calculated", [Column(name, 2) for name in names], rows
    )


def _bound_of(granularity_ns: Fraction) -> Fraction:
    return delta_ts(bounds.alike(granularity_ns, 0))


def _batch_plot(overhead_ns: int) -> Plot:
    batches = list(range(1, BATCHES_SHOWN[-1] + 1))
    panels = []
    for slot_bytes in (PAPER_SLOT_BYTES, 1500):
        slot_ns = _slot_time_ns(slot_bytes)
        linear = [us(_bound_of(g_eff(batch, slot_ns))) for batch in batches]
        polled = [us(_bound_of(bounds.g_polled(batch, slot_ns, overhead_ns))) for batch in batches]
        curves = [
            Curve(
                "g_eff = batch x slot time (A.10)",
                [float(batch) for batch in batches],
                linear,
                "dashed",
            ),
            Curve(
                "least time between updates, sleep rule (A.3)",
                [float(batch) for batch in batches],
                polled,
            ),
        ]
        knee = bounds.knee_batch_slots(slot_ns, overhead_ns)
        title = f"{slot_bytes}-byte slots: no sleep up to batch {knee}"
        panels.append(Panel(title, "batch (slots)", "bound of the offset error (us)", curves))
    note = (
        "Compare keepon.fig8: the offset stays within 1 us while the batch is below 39, then rises"
        " abruptly."
    )
    return Plot(
        "eq4-batch", "Eq. 4 with the granularity that batches give", "calculated", panels, note
    )


STUDY = Study(
    "Eq. 4: bound of the PTP offset error, and the granularity that batches give it",
    Settings,
    ORIGINS,
    parts(part),
    (check,),
)
