# SPDX-License-Identifier: BSD-3-Clause
"""Release error in network time of a periodic stream, gPTP through two bridges, and what each cause
adds to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keepon.errors import ConfigError
from keepon_papers import published
from keepon_papers.clocks import networks
from keepon_papers.clocks.bridged import DELAYS, PAPER_BATCH, Settings, calibrated, measure, slow
from keepon_papers.clocks.networks import Array
from keepon_papers.clocks.releases import Releases
from keepon_papers.clocks.settings import COMMON_CHOICES
from keepon_papers.clocks.settings import check as check_ring
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.settings import Origins
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

GOAL_SINGLE_NS, GOAL_DUAL_NS = 200, 30
QUANTUM_NS = 8
PTP_WIRE_NS = (72 + networks.WIRE_OVERHEAD_BYTES) * 8
"""The longest frame of PTP a talker sends that is not grandmaster: Pdelay messages of 54 bytes,
framed, at 1 Gb/s.
"""
GAINS = (1.0, 3.0, 10.0, 30.0)
"""The servo's proportional gain is divided by these and the integral one by their squares: the same
damping, slower.
"""
ORIGINS = Origins(
    calibrated={},
    chosen={
        **COMMON_CHOICES,
        "slot_bytes": (
            "300 with preamble and gap takes 2560 ns, of which 1 ms is not a multiple; with "
            "period_ns=1024000 it can be set"
        ),
        "batch_slots": (
            "with 1 a run takes six times as long; clocks that interpolate do not depend on it"
        ),
        "sync_mode": "gPTP wherever there are bridges; this setting is for the direct link",
        "gains_s": "measured time of each run with other gains",
        "period_ns": "1 ms",
        "seeds": "one long run of each kind",
    },
)

SCALES = (0.5, 1.0, 2.0)
VARIANTS = {
    "paper mode": networks.PAPER,
    "ours, single clock": networks.SINGLE,
    "launch-time NIC": networks.HARDWARE,
    "ours, dual clock, direct link": networks.DUAL,
}
BEST = ("launch-time NIC", "ours, dual clock, direct link")
"""The two whose errors are of nanoseconds: drawn apart."""


def check(settings: Settings) -> None:
    """Refuse periods that are no multiple of a slot.

    Raises:
        ConfigError: one sentence.
    """
    slot = round(networks.slot_ns(settings))
    if settings.period_ns % slot:
        raise ConfigError(
            f"setting `period_ns` = {settings.period_ns}: must be a multiple of a slot's time,"
            f" {slot} ns; choose for example {settings.period_ns // slot * slot}, or slot_bytes=230"
            " for 1 ms"
        )


def part(settings: Settings, spread: Spread) -> Part:
    """All variants at three scales of the RX delay, and the table of gains."""
    ours = dict(
        zip(
            SCALES,
            spread.in_order(calibrated, [(settings, scale) for scale in SCALES]),
            strict=True,
        )
    )
    variants = {
        (name, scale): (ours[scale] if kind == networks.SINGLE else kind, settings, scale)
        for name, kind in VARIANTS.items()
        for scale in SCALES
    }
    servos = [(slower, delays) for delays in (10, DELAYS) for slower in GAINS]
    slowed = [slow(settings, slower, delays) for slower, delays in servos]
    measured = spread.in_order(
        measure, [*variants.values(), *((ours[1.0], own, 1.0, sync) for own, sync in slowed)]
    )
    runs = dict(zip(variants, measured, strict=False))
    gains = gains_table(settings, [sync for _, sync in slowed], measured[len(variants) :])
    found = Part(
        "headline",
        "Release error in network time",
        "no single figure; KeepON paper sections 4.1 and 4.2 on the clock",
    )
    found.compared = _compared(runs)
    found.checks = _checks(settings, runs)
    found.tables = [
        _release_table(runs),
        _cause_table(runs),
        _share_table(runs),
        gains,
        _frame_table(runs),
    ]
    found.plots = [_plot(settings, runs)]
    found.findings = _findings(runs, gains)
    found.by_construction = [
        "that the constant part of the single clock's offset is gone: calibrated by a run with"
        " another seed; "
        + ", ".join(
            f"ingress latency {kind.ingress_ns} ns at x{scale:g}" for scale, kind in ours.items()
        ),
        (
            "that bridges stamp with hardware and forward in a known time, and links delay both"
            " ways alike"
        ),
        "that a release error is clock error plus rest: the rest is computed as the difference",
    ]
    return found


def _p999(values: Array) -> float:
    return networks.quantile(values, 0.999)


def _compared(runs: dict[tuple[str, float], Releases]) -> list[Comparison]:
    known = published.load("keepon")
    return [
        Comparison(
            "paper mode: mean absolute clock error, us",
            float(np.abs(runs["paper mode", 1.0].clock).mean()) / 1000,
            known["fig12"]["keepon_us"]["slave"],
            known["fig12"]["id"],
            "calculated",
            "published over one hop; here gPTP, and the partner is a bridge with hardware stamps",
        ),
        Comparison(
            "ours, dual clock, direct link: mean absolute clock error, ns",
            float(np.abs(runs["ours, dual clock, direct link", 1.0].clock).mean()),
            known["fig13b"]["dual_abs_offset_ns"],
            known["fig13b"]["id"],
            "calculated",
            "published with the published merge, which does not settle here (Figure 22's study)",
        ),
    ]


def _checks(settings: Settings, runs: dict[tuple[str, float], Releases]) -> list[Check]:
    slot = networks.slot_ns(settings)
    paper = runs["paper mode", 1.0]
    dual = {scale: runs["ours, dual clock, direct link", scale] for scale in SCALES}
    hardware = runs["launch-time NIC", 1.0]
    growth = float(
        runs["ours, single clock", 2.0].clock.std() / runs["ours, single clock", 1.0].clock.std()
    )
    return [
        Check(
            "paper mode: slots slip against network time, by most of a slot",
            float(np.ptp(paper.rest)) > 0.9 * slot,
            f"peak to peak without clock error {np.ptp(paper.rest):.0f} ns, a slot is"
            f" {slot:.0f} ns",
        ),
        Check(
            f"ours, dual clock: clock error below {GOAL_DUAL_NS} ns at p99.9",
            all(_p999(one.clock) < GOAL_DUAL_NS for one in dual.values()),
            ", ".join(f"{_p999(one.clock):.1f} ns at x{scale:g}" for scale, one in dual.items())
            + f", slots of {settings.slot_bytes} bytes, batch {settings.batch_slots}",
        ),
        Check(
            f"ours: what is not clock error is half a quantum of starts, {QUANTUM_NS // 2} ns",
            all(
                _p999(one.rest) < QUANTUM_NS / 2 + 1
                for (name, _), one in runs.items()
                if name.startswith("ours")
            ),
            ", ".join(
                f"{name} x{scale:g}: {_p999(one.rest):.1f} ns"
                for (name, scale), one in runs.items()
                if name.startswith("ours")
            ),
        ),
        Check(
            "launch-time NIC: no frame waits longer than a frame of PTP takes",
            hardware.fetched_late == 0 and float(hardware.rest.max()) < PTP_WIRE_NS + QUANTUM_NS,
            f"{hardware.frames.moved} of {hardware.error.size} waited, the longest"
            f" {hardware.rest.max():.0f} ns; a frame of PTP takes {PTP_WIRE_NS} ns",
        ),
        Check(
            "every frame due is accounted for, of every talker: due = submitted = sent + ended by a"
            " verdict + pending, sent = delivered + lost + in flight",
            all(one.frames.add_up for one in runs.values()),
            f"{sum(one.frames.due for one in runs.values())} frames in {len(runs)} runs",
        ),
        Check(
            "all frames due of ours and of the launch-time NIC were sent and delivered",
            all(
                one.frames.due == one.frames.sent == one.frames.delivered
                for (name, _), one in runs.items()
                if name != "paper mode"
            ),
            f"not delivered: {sum(one.frames.due - one.frames.delivered for one in runs.values())}"
            " of all",
        ),
        Check(
            "RX jitter moves the launch-time NIC by less than its quantum",
            float(np.ptp([_p999(runs["launch-time NIC", scale].clock) for scale in SCALES]))
            < QUANTUM_NS,
            "clock error at p99.9 "
            + ", ".join(
                f"{_p999(runs['launch-time NIC', scale].clock):.1f} ns at x{scale:g}"
                for scale in SCALES
            ),
        ),
        Check(
            "RX jitter moves the single clock in proportion",
            1.5 < growth < 2.7,
            f"standard deviation at x2 over that at x1: {growth:.2f}",
        ),
    ]


def _release_table(runs: dict[tuple[str, float], Releases]) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            scale,
            float(one.error.min()),
            float(one.error.max()),
            float(np.ptp(one.error)),
            float(one.error.mean()),
            float(one.error.std()),
            _p999(one.error),
        ]
        for (name, scale), one in runs.items()
    ]
    columns = [
        Column("talker"), Column("RX delay x", 1), Column("min, ns", 1), Column("max, ns", 1),
        Column("peak to peak, ns", 1), Column("mean, ns", 1), Column("stddev, ns", 1),
        Column("p99.9 of absolute, ns", 1),
    ]  # fmt: skip
    return Table(
        "Release error: reference plane less txtime, in network time", "calculated", columns, rows
    )


def _cause_table(runs: dict[tuple[str, float], Releases]) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            scale,
            float(one.clock.mean()),
            float(one.clock.std()),
            _p999(one.clock),
            float(one.rest.min()),
            float(one.rest.max()),
            float(one.rest.std()),
        ]
        for (name, scale), one in runs.items()
    ]
    columns = [
        Column("talker"), Column("RX delay x", 1), Column("clock: mean, ns", 1),
        Column("clock: stddev, ns", 1),
        Column("clock: p99.9 of absolute, ns", 1), Column("rest: min, ns", 1),
        Column("rest: max, ns", 1),
        Column("rest: stddev, ns", 1),
    ]  # fmt: skip
    return Table(
        "What contributes: the talker's clock, and the rest (quantum and grid of starts)",
        "calculated",
        columns,
        rows,
        f"Goals for the clock at p99.9: single {GOAL_SINGLE_NS} ns, dual {GOAL_DUAL_NS} ns. The"
        " rest leaves out frames within 10 ms of a change of rate, whose clock error is not known"
        " exactly.",
    )


def _share_table(runs: dict[tuple[str, float], Releases]) -> Table:
    rows: list[list[Cell]] = [
        [name, scale, *one.shares_percent()] for (name, scale), one in runs.items()
    ]
    columns = [
        Column("talker"), Column("RX delay x", 1), Column("mean of the clock, %", 1),
        Column("spread of the clock, %", 1), Column("rest, %", 1), Column("in common, %", 1),
    ]  # fmt: skip
    return Table(
        "Shares of the mean square of the release error",
        "calculated",
        columns,
        rows,
        "Of the frames of the table before. In common: twice the mean product of the clock's part"
        " and the rest.",
    )


def _frame_table(runs: dict[tuple[str, float], Releases]) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            scale,
            one.frames.due,
            one.frames.submitted,
            one.frames.sent,
            one.frames.moved,
            one.frames.ended,
            one.frames.pending,
            one.frames.delivered,
            one.frames.lost,
            one.frames.in_flight,
        ]
        for (name, scale), one in runs.items()
    ]
    columns = [
        Column("talker"), Column("RX delay x", 1), Column("due"), Column("submitted"),
        Column("sent"),
        Column("of these not when due"), Column("ended by a verdict"), Column("pending"),
        Column("delivered"),
        Column("lost"), Column("in flight"),
    ]  # fmt: skip
    return Table("Frames of the measured time", "calculated", columns, rows)


def gains_table(
    settings: Settings, servos: Sequence[Mapping[str, Any]], found: Sequence[Releases]
) -> Table:
    """The single clock's error under slower servos, linuxptp's defaults first, and with a longer
    filter of delays.

    Args:
        servos: keys of [sync], one table for each run.
        found: the runs.
    """
    rows: list[list[Cell]] = [
        [
            *(
                sync[key]
                for key in ("pi_proportional_scale", "pi_integral_scale", "delay_filter_samples")
            ),
            float(one.clock.mean()),
            float(one.clock.std()),
            _p999(one.clock),
            _p999(one.clock - one.clock.mean()),
        ]
        for sync, one in zip(servos, found, strict=True)
    ]
    columns = [
        Column("proportional scale", 3), Column("integral scale", 5),
        Column("delays in the median"),
        Column("mean, ns", 1), Column("stddev, ns", 1), Column("p99.9 of absolute, ns", 1),
        Column("p99.9 about the mean, ns", 1),
    ]  # fmt: skip
    return Table(
        "Ours, single clock: error of the clock under slower servos",
        "calculated",
        columns,
        rows,
        f"RX delay x1, {settings.gains_s:g} s each after a longer warm-up. First row: linuxptp's"
        " defaults.",
    )


def _plot(settings: Settings, runs: dict[tuple[str, float], Releases]) -> Plot:
    shares = np.linspace(0.001, 0.999, 200)
    percent = [float(v) * 100 for v in shares]
    step = max(1, round(0.01e9 / settings.period_ns))
    count = round(min(settings.duration_s, 20.0) * 100)
    panels = []
    for group, unit, scale_ns in (
        (("paper mode", "ours, single clock"), "us", 1000),
        (BEST, "ns", 1),
    ):
        shown = {name: runs[name, 1.0].error / scale_ns for name in group}
        series = [
            Curve(
                name,
                [number * 0.01 for number in range(error[::step][:count].size)],
                error[::step][:count].tolist(),
            )
            for name, error in shown.items()
        ]
        quantiles = [
            Curve(name, percent, np.quantile(error, shares).tolist())
            for name, error in shown.items()
        ]
        panels += [
            Panel("over time", "time (s)", f"release error ({unit})", series),
            Panel("sorted", "frames below (%)", f"release error ({unit})", quantiles),
        ]
    return Plot(
        "headline-release", "Release error at the calibrated RX delay", "calculated", panels
    )


def _findings(runs: dict[tuple[str, float], Releases], gains: Table) -> list[str]:
    single = _p999(runs["ours, single clock", 1.0].clock)
    hardware = runs["launch-time NIC", 1.0]
    best = min(float(row[5]) for row in gains.rows if row[5] is not None)
    below = sum(float(row[5]) < GOAL_SINGLE_NS for row in gains.rows if row[5] is not None)
    return [
        (
            f"Goal for the single clock, {GOAL_SINGLE_NS} ns at p99.9: not met with linuxptp's"
            f" gains ({single:.0f} ns). What limits it is the spread of software's RX stamps, which"
            " the proportional gain passes on to the clock, and the median of ten link delays,"
            f" which wanders. Slower servos pass on less: of the rows of the last table {below} of"
            f" {len(gains.rows)} are within the goal, the least at {best:.0f} ns. Each is one short"
            " run, and the least one of several: an indication, not a proof that the goal is met."
            if single >= GOAL_SINGLE_NS
            else f"Goal for the single clock, {GOAL_SINGLE_NS} ns at p99.9: met ({single:.0f} ns)."
        ),
        (
            "Neither the launch-time NIC nor the dual clock has stamps of software. Their runs at"
            " x0.5, x1 and x2 differ all the same, because messages handled later set the clock"
            " later: other instants, the same statistics."
        ),
        (
            "Why the dual clock has a direct link: its receive ring counts the frames of a peer"
            " that keeps its wire full. A bridge does not: it discards placeholders, and its own"
            " wire idles."
        ),
        (
            "Ours adds half a quantum of 8 ns (a byte) to the clock error: slots follow the grid"
            " of network time. In paper mode they run free: a release is early by up to a slot"
            f" whatever the clock is worth. Its batch is {PAPER_BATCH} at least: it posts one batch"
            " ahead, and with less the wire runs dry between polls."
        ),
        (
            "A launch-time NIC starts within 8 ns after the txtime by its clock, unless its wire"
            " is busy with a Pdelay message, which has no txtime and goes at once:"
            f" {hardware.frames.moved} of {hardware.error.size} frames were due then, which is"
            f" chance. The longest waited {hardware.rest.max():.0f} ns; {hardware.fetched_late}"
            " were fetched late. With keepon such messages take slots of their own."
        ),
    ]


STUDY = Study(
    "Release error in network time over 10 minutes (minutes)",
    Settings,
    ORIGINS,
    parts(part),
    (check_ring, check),
)
