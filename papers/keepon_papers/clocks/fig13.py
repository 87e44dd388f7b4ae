# SPDX-License-Identifier: BSD-3-Clause
"""Figure 13: stability with held-up polls and accuracy, of one clock, of two, of software, of
hardware.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from keepon.model.fields import Number, Whole
from keepon.model.scenario import Fault, Scenario
from keepon_papers import published
from keepon_papers.clocks import networks
from keepon_papers.clocks.networks import Array, Kind
from keepon_papers.clocks.settings import COMMON_CHOICES, Common
from keepon_papers.clocks.settings import check as check_ring
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.settings import Origins
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

SAMPLE_S = 0.01
"""The simulator compares clocks with network time this often."""


class Settings(Common):
    """Figure 13's settings; polls of the transmit ring are held up in the second half of
    `duration_s`.
    """

    duration_s: Annotated[float, Number(2, 86_400)] = 20.0
    warmup_s: Annotated[float, Number(0, 3600)] = 10.0
    software_warmup_s: Annotated[float, Number(0, 3600)] = 200.0
    stall_us: Annotated[float, Number(1, 300)] = 30.0
    stalled_percent: Annotated[float, Number(0, 50)] = 3.0
    seeds: Annotated[int, Whole(1, 1000)] = 1


ORIGINS = Origins(
    calibrated={"slot_bytes": "keepon.fig12", "batch_slots": "keepon.fig12"},
    chosen={
        **COMMON_CHOICES,
        "software_warmup_s": "the first estimate of the rate alone takes 40 s",
        "stall_us": "not published: how long a poll is held up",
        "stalled_percent": (
            "not published: how often; of all readings, those that fall into such a time"
        ),
    },
)

KINDS = (
    networks.COUNTER,
    networks.SINGLE,
    networks.DUAL_PUBLISHED,
    networks.DUAL,
    networks.SOFTWARE,
    networks.HARDWARE,
)


@dataclass(frozen=True)
class Clock:
    """Offsets from network time, ns: of what is read in the quiet half and in the stalled one, of
    the clock itself.
    """

    quiet_ns: Array
    stalled_ns: Array
    exact_ns: Array

    def stability_us(self, share: float | None = None) -> float:
        """Deviation from the median of the quiet half while polls are held up: mean absolute, or a
        quantile of it.
        """
        deviation = self.stalled_ns - np.median(self.quiet_ns)
        value = np.abs(deviation).mean() if share is None else networks.quantile(deviation, share)
        return float(value) / 1000

    def quiet_us(self, share: float) -> float:
        """A quantile of the same deviation while none is held up."""
        return networks.quantile(self.quiet_ns - np.median(self.quiet_ns), share) / 1000

    @property
    def error_ns(self) -> float:
        """Mean absolute offset read, quiet."""
        return float(np.abs(self.quiet_ns).mean())


def with_stalls(scenario: Scenario, settings: Settings, seed: int) -> Scenario:
    """Polls of the slave held up around some of the readings of the second half, from a random time
    before each.
    """
    random = np.random.default_rng([seed, 13])
    first = round((settings.warmup_s + settings.duration_s / 2) / SAMPLE_S)
    last = round((settings.warmup_s + settings.duration_s) / SAMPLE_S)
    numbers = np.arange(first, last)
    hit = numbers[random.random(numbers.size) < settings.stalled_percent / 100]
    faults = [
        Fault(
            at_s=float(number) * SAMPLE_S - float(random.uniform(0, settings.stall_us)) * 1e-6,
            kind="poll-stall",
            node=networks.SLAVE,
            value_ns=round(settings.stall_us * 1000),
        )
        for number in hit
    ]
    return scenario.model_copy(update={"fault": faults})


def measure(kind: Kind, settings: Settings, seed: int) -> Clock:
    """One run; slave and master of the same kind."""
    warmup_s = settings.software_warmup_s if kind == networks.SOFTWARE else settings.warmup_s
    own = settings.model_copy(update={"warmup_s": warmup_s})
    scenario = networks.pair(kind, kind, own, seed)
    if kind.driver == "keepon":
        scenario = with_stalls(scenario, own, seed)
    clock, read = networks.measured_ns(networks.run(scenario).clocks[networks.SLAVE], scenario)
    half = round(settings.duration_s / 2 / SAMPLE_S)
    return Clock(read[: half - 1], read[half:], clock[: half - 1])


def together(runs: Sequence[Clock]) -> Clock:
    """One kind, run by run."""
    return Clock(
        np.concatenate([run.quiet_ns for run in runs]),
        np.concatenate([run.stalled_ns for run in runs]),
        np.concatenate([run.exact_ns for run in runs]),
    )


def part(settings: Settings, spread: Spread) -> Part:
    """All six clocks, both panels."""
    found = networks.every_seed(spread, measure, KINDS, settings)
    clocks = {kind.name: together(runs) for kind, runs in zip(KINDS, found, strict=True)}
    figure = Part(
        "fig13",
        "Figure 13: one clock, two clocks, software, hardware",
        "KeepON paper section 4.2, Figure 13",
    )
    figure.compared = _compared(clocks)
    figure.checks = _checks(settings, clocks)
    figure.tables = [_table(clocks)]
    figure.plots = [_plot(clocks)]
    figure.findings = _findings(settings, clocks)
    figure.by_construction = [
        (
            "that a stall meets the poller of the transmit ring only: two threads on two cores,"
            " held up independently"
        ),
        "that standard and launch-time stations have no polls to hold up",
    ]
    return figure


def _compared(clocks: dict[str, Clock]) -> list[Comparison]:
    known = published.load("keepon")
    fig13a, fig13b = known["fig13a"], known["fig13b"]
    rows = [
        ("stability, mean, us", networks.COUNTER, None, fig13a["single_abs_offset_us"], "single"),
        ("stability, p99, us", networks.COUNTER, 0.99, fig13a["single_p99_us"], "single"),
        (
            "stability, mean, us",
            networks.DUAL_PUBLISHED,
            None,
            fig13a["dual_abs_offset_us"],
            "dual",
        ),
        ("stability, p99, us", networks.DUAL_PUBLISHED, 0.99, fig13a["dual_p99_us"], "dual"),
        ("stability, mean, us", networks.DUAL, None, fig13a["dual_abs_offset_us"], "dual"),
        ("stability, p99, us", networks.DUAL, 0.99, fig13a["dual_p99_us"], "dual"),
    ]
    compared = [
        Comparison(
            f"{kind.name}: {quantity}",
            clocks[kind.name].stability_us(share),
            value,
            fig13a["id"],
            "calculated",
            f"published for '{which}'; depends on how often and how long polls are held up, which"
            " is not published",
        )
        for quantity, kind, share, value, which in rows
    ]
    accuracy = (
        (
            networks.COUNTER,
            "single_abs_offset_ns",
            "both ends are keepon: equal constant delays cancel",
        ),
        (
            networks.DUAL_PUBLISHED,
            "dual_abs_offset_ns",
            "does not settle: two crystals, one rate (Figure 22's study)",
        ),
        (
            networks.DUAL,
            "dual_abs_offset_ns",
            "the same quantity, reached without the published merge",
        ),
        (
            networks.HARDWARE,
            "hardware_abs_offset_ns",
            "stamps of 8 ns; PHYs and cables add nothing here",
        ),
    )
    return compared + [
        Comparison(
            f"{kind.name}: mean absolute offset, ns",
            clocks[kind.name].error_ns,
            fig13b[key],
            fig13b["id"],
            "calculated",
            remark,
        )
        for kind, key, remark in accuracy
    ]


def _checks(settings: Settings, clocks: dict[str, Clock]) -> list[Check]:
    single, ours = clocks[networks.COUNTER.name], clocks[networks.DUAL.name]
    merged, hard = clocks[networks.DUAL_PUBLISHED.name], clocks[networks.HARDWARE.name]
    interpolated = clocks[networks.SINGLE.name]
    checks = [
        Check(
            "dual clock, ours: more accurate than the single clock by ten times at least, and"
            " within 30 ns on average",
            10 * ours.error_ns < min(single.error_ns, interpolated.error_ns) and ours.error_ns < 30,
            f"{ours.error_ns:.1f} ns against {interpolated.error_ns:.0f} (interpolated),"
            f" {single.error_ns:.0f} (counter)",
        ),
        Check(
            "dual clock, published merge: less accurate than ours by a hundred times at least",
            merged.error_ns > 100 * ours.error_ns,
            f"{merged.error_ns:.0f} ns",
        ),
        Check(
            "hardware stamps are the most accurate without a dual clock (D29)",
            hard.error_ns
            < min(single.error_ns, interpolated.error_ns, clocks[networks.SOFTWARE.name].error_ns),
            f"{hard.error_ns:.1f} ns",
        ),
    ]
    if settings.stalled_percent >= 2:
        checks.append(
            Check(
                "dual clock, published merge: not steadier than the single clock (published: it is,"
                " D18)",
                merged.stability_us() > 2 * single.stability_us(),
                f"mean deviation {merged.stability_us():.2f} us against"
                f" {single.stability_us():.2f} us",
            )
        )
        # What a clock is off by anyway is no effect of a poll held up.
        stalled = (single, interpolated, ours)
        added = [one.stability_us(0.99) - one.quiet_us(0.99) for one in stalled]
        checks.append(
            Check(
                "a poll held up shows in the single clock read as counter, hardly if interpolated"
                " or in ours",
                added[0] > 2 * networks.slot_ns(settings) / 1000
                and added[1] < networks.slot_ns(settings) / 1000
                and ours.stability_us(0.99) < 0.5,
                "p99 "
                + ", ".join(f"{one.stability_us(0.99):.3f}" for one in stalled)
                + " us held up, "
                + ", ".join(f"{one.quiet_us(0.99):.3f}" for one in stalled)
                + " us not",
            )
        )
    return checks


def _table(clocks: dict[str, Clock]) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            clock.stability_us(),
            clock.stability_us(0.99),
            clock.quiet_us(0.99),
            clock.error_ns,
            networks.quantile(clock.quiet_ns, 0.999),
            float(np.abs(clock.exact_ns).mean()),
            networks.quantile(clock.exact_ns, 0.999),
        ]
        for name, clock in clocks.items()
    ]
    columns = [
        Column("clock"), Column("(a) mean deviation, us"), Column("(a) p99, us"),
        Column("p99, none held up, us"),
        Column("(b) mean |offset| read, ns", 1), Column("(b) p99.9 of it, ns", 1),
        Column("mean |offset| of the clock itself, ns", 1), Column("p99.9 of it, ns", 1),
    ]  # fmt: skip
    return Table(
        "Stability with held-up polls, and accuracy without",
        "calculated",
        columns,
        rows,
        "(a) what is read less network time, about its median, some polls held up; (b) about zero,"
        " none held up.",
    )


def _plot(clocks: dict[str, Clock]) -> Plot:
    shares = np.linspace(0.005, 0.995, 100)
    percent = [float(v) * 100 for v in shares]
    stability, accuracy = [], []
    for name, clock in clocks.items():
        deviation = np.abs(clock.stalled_ns - np.median(clock.quiet_ns))
        stability.append(
            Curve(
                name.removeprefix("keepon, "),
                percent,
                [max(float(v), 0.1) for v in np.quantile(deviation, shares)],
            )
        )
        offset = np.abs(clock.quiet_ns)
        accuracy.append(
            Curve(
                name.removeprefix("keepon, "),
                percent,
                [max(float(v), 0.1) for v in np.quantile(offset, shares)],
            )
        )
    panels = [
        Panel(
            "(a) some polls held up",
            "readings below (%)",
            "deviation from the median (ns)",
            stability,
            log_y=True,
        ),
        Panel(
            "(b) no poll held up",
            "readings below (%)",
            "absolute offset (ns)",
            accuracy,
            log_y=True,
        ),
    ]
    return Plot("fig13-offsets", "What software reads, against network time", "calculated", panels)


def _findings(settings: Settings, clocks: dict[str, Clock]) -> list[str]:
    quarter = networks.slot_ns(settings) / 4000
    return [
        (
            "That a second clock covers for a poller that is held up is true of the published"
            " merge's idea, but needs the two clocks to agree first, which they do not (Figure 22's"
            " study). Ours needs no second clock for that: a reading between polls is interpolated"
            " from the CPU's counter, held up or not."
        ),
        (
            "The published mean deviation of the single clock, 0.64 us, is what a staircase of"
            f" {settings.slot_bytes}-byte slots has about its mean: a quarter of a slot,"
            f" {quarter:.2f} us. This is arithmetic, no result of the runs."
        ),
        (
            "In (b) both ends are alike, so equal constant delays cancel. What is left of"
            " software's error, with the slowest servo, is"
            f" {clocks[networks.SOFTWARE.name].error_ns:.0f} ns; keepon's single clock has"
            f" {clocks[networks.SINGLE.name].error_ns:.0f} ns interpolated and"
            f" {clocks[networks.COUNTER.name].error_ns:.0f} ns read as counter. Of the order of D29"
            " only hardware in front is left here; Figure 12's study has the rest."
        ),
        (
            "The p99 of (a) is set by stalled_percent and stall_us, which nothing published gives:"
            " its order among clocks means something, its size does not."
        ),
    ]


STUDY = Study(
    "Figure 13: one clock, two clocks, software, hardware",
    Settings,
    ORIGINS,
    parts(part),
    (check_ring,),
)
