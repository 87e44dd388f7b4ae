# SPDX-License-Identifier: BSD-3-Clause
"""Figures 1 and 2 of "The TSN Building Blocks in Linux": packets every 500 us by clock_nanosleep,
and by an offloaded etf; and how much either hangs on the length of a packet (L22 to L24, L33).

The host model is calibrated to Figure 1, so what it gives there is calibrated and no result. Figure
2 hangs on the resolution of the stamps and on the crystal, which are chosen.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from keepon.measure.statistics import IntArray
from keepon.model import hosts
from keepon.model.fields import Number, Whole
from keepon.model.scenario import StageOverride
from keepon_papers import published
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.settings import Origins
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts
from keepon_papers.timed import linkruns
from keepon_papers.timed.linkruns import Method, Sender, Stamps

RUNS = 4
OFFLOADED = "etf, offloaded"
SIZES_BYTES = (64, 256, 512, 1024, 1518)
STAMPS_NS = (1, 8, 16, 32, 64)
CRYSTALS_PPM = (0.0, 1.0, 100.0)
NO_TAIL = ("wakeup", StageOverride(tail_probability=0.0))
"""Among 10000 packets there was none."""


class Settings(BaseModel):
    """Settings; units are the last part of each name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    packets: Annotated[int, Whole(100, 10_000_000)] = 10_000
    period_us: Annotated[int, Whole(100, 100_000)] = 500
    stamp_ns: Annotated[int, Whole(1, 1000)] = 8
    crystal_ppm: Annotated[float, Number(-100, 100)] = 20.0
    wander_ppb_per_s: Annotated[float, Number(0, 1000)] = 10.0
    interval_ms: Annotated[int, Whole(10, 10_000)] = 1000
    settle_s: Annotated[float, Number(1, 3600)] = 60.0
    copy_ns_per_kib: Annotated[int, Whole(0, 100_000)] = 2_000
    copy_sigma: Annotated[float, Number(0, 2)] = 0.5
    seed: Annotated[int, Whole(0, 2**31)] = 1


ORIGINS = Origins(
    calibrated={"packets": "fejes.fig1", "period_us": "fejes.fig1"},
    chosen={
        "stamp_ns": "resolution of the I225's stamps is not published in the paper",
        "crystal_ppm": "not published",
        "wander_ppb_per_s": "not published",
        "interval_ms": "ptp4l's default; not stated",
        "settle_s": "until the servo has settled",
        "copy_ns_per_kib": "not published: what a KiB more costs the send call on average",
        "copy_sigma": "not published: how unevenly",
        "seed": "of everything random",
    },
)


def _within_us(apart: IntArray, per_us: int) -> float:
    """80 % are within."""
    return float(np.quantile(np.abs(apart), 0.8)) / per_us


def fig1(settings: Settings, spread: Spread) -> Part:
    """Sleeping senders: stamps before transmission, by hardware and by software of the receiver."""
    period_ns = settings.period_us * 1000
    sender = Sender("sleep", period_ns, stages=(NO_TAIL,), stamp_ns=settings.stamp_ns)
    arguments = [(sender, settings.packets, 0.3, settings.seed + run) for run in range(RUNS)]
    done = spread.in_order(linkruns.measure, arguments)
    stamps = done[0]
    known = published.load("fejes")["fig1"]
    result = Part("fig1", "Figure 1: precision of a sleeping sender", "section on precision")
    result.compared = [
        Comparison(
            "before transmission: 80 % within, us", _within_us(stamps.sent_apart_ps, 10**6),
            known["sw_tx_80_percent_within_us"], "fejes.fig1", "calibrated",
            "the host's wake-up is calibrated to it",
        ),
        Comparison(
            "before transmission: greatest, us", float(np.abs(stamps.sent_apart_ps).max()) / 1e6,
            known["max_diff_intended_to_actual_us"], "fejes.fig1", "calibrated",
            "the host's wake-up is calibrated to it",
        ),
        Comparison(
            "by the receiver's hardware: 80 % within, us", _within_us(stamps.apart_ns, 1000),
            None, "fejes.fig1", "by construction",
            "published: dominated by the sender's software; ours is the same plus stamps",
        ),
    ]  # fmt: skip
    result.checks = [
        Check(
            "as many packets as published, none missing",
            len(stamps.late_ns) == settings.packets and stamps.missing == 0,
            f"{len(stamps.late_ns)}",
        ),
    ]
    result.by_construction = [
        "that what hardware stamps at the receiver is as precise as the sender's software (L22):"
        " behind the wake-up all takes constant times, chosen, but for a step of the stamps"
    ]
    result.tables = [_seeds(done)]
    shares = np.linspace(0.01, 0.99, 99)
    off_us = np.abs(stamps.sent_apart_ps) / 1e6
    curve = Curve("ours", [float(v) for v in np.quantile(off_us, shares)],
                  [float(v) * 100 for v in shares])  # fmt: skip
    marks = Curve("published", [known["sw_tx_80_percent_within_us"]], [80.0], style="points")
    panel = Panel("", "successive frames, off their period, us", "frames within, %", [curve, marks])
    result.plots = [Plot("fig1", "Off the period", "calibrated", [panel])]
    stage = hosts.RX_STAGE
    result.findings = [
        "Stamps of the receiver's software, 80 % within 5 us and 15 us at most, are what the"
        f" model's reception is calibrated to as well (spread {stage.stddev_ns / 1000:.1f} us);"
        " python/tests/test_hosts.py draws them again. Neither is a reproduction."
    ]
    return result


def _seeds(done: list[Stamps]) -> Table:
    rows: list[list[Cell]] = [
        [
            number + 1, _within_us(one.sent_apart_ps, 10**6),
            float(np.abs(one.sent_apart_ps).max()) / 1e6, _within_us(one.apart_ns, 1000),
            float(np.abs(one.apart_ns).max()) / 1000,
        ]
        for number, one in enumerate(done)
    ]  # fmt: skip
    return Table(
        "Successive frames, off their period",
        "calibrated",
        [
            Column("run", 0), Column("sent: 80 % within, us"), Column("greatest"),
            Column("received, by hardware: 80 % within, us"), Column("greatest "),
        ],
        rows,
        "Each of as many packets, from another seed.",
    )  # fmt: skip


def _senders(settings: Settings) -> dict[str, Sender]:
    """Those of Figure 2, and of what is chosen each alone."""
    period_ns = settings.period_us * 1000
    common: dict[str, Any] = {
        "stages": (NO_TAIL,), "synchronised": True, "interval_ms": settings.interval_ms,
        "wander_ppb_per_s": settings.wander_ppb_per_s,
    }  # fmt: skip

    def sender(method: Method, stamp_ns: int, crystal_ppm: float) -> Sender:
        return Sender(method, period_ns, stamp_ns=stamp_ns, crystal_ppm=crystal_ppm, **common)

    own_ns, own_ppm = settings.stamp_ns, settings.crystal_ppm
    senders = {"sleep": sender("sleep", own_ns, own_ppm),
               OFFLOADED: sender("txtime", own_ns, own_ppm)}  # fmt: skip
    senders |= {f"the same, stamps of {ns} ns": sender("txtime", ns, own_ppm) for ns in STAMPS_NS}
    senders |= {
        f"the same, a crystal of {ppm:g} ppm": sender("txtime", own_ns, ppm) for ppm in CRYSTALS_PPM
    }
    senders["stamps of 1 ns, one clock"] = Sender(
        "txtime", period_ns, stages=(NO_TAIL,), stamp_ns=1
    )
    return senders


def fig2(settings: Settings, spread: Spread) -> Part:
    """An offloaded etf, stamped by hardware of the receiver."""
    cases = _senders(settings)
    arguments = [
        (sender, settings.packets, settings.settle_s, settings.seed) for sender in cases.values()
    ]
    done = spread.in_order(linkruns.measure, arguments)
    found: dict[str, Stamps] = dict(zip(cases, done, strict=True))
    known = published.load("fejes")["fig2"]
    rows: list[list[Cell]] = []
    for name, stamps in found.items():
        off = np.abs(stamps.apart_ns)
        rows.append([name, float(off.mean()), int(off.max()), len(off)])
    result = Part("fig2", "Figure 2: sleeping against etf's offload", "section on SO_TXTIME")
    result.tables = [
        Table(
            "Periods by the receiver's clock, off 500 us",
            "chosen",
            [Column("sender"), Column("mean, ns", 1), Column("greatest, ns", 0),
             Column("periods", 0)],
            rows,
            "Absolute differences. Clocks by PTP with stamps of hardware, whose resolution is"
            " chosen as the crystal is; those below change one of them.",
        )
    ]  # fmt: skip
    off = np.abs(found[OFFLOADED].apart_ns)
    chosen = (
        f"with stamps of {settings.stamp_ns} ns and a crystal of {settings.crystal_ppm:g} ppm,"
        " chosen"
    )
    remark = (
        f"{chosen}: see the table; a comparator of 32 ns, of which the period is a multiple, as the"
        " I225's is not published"
    )
    result.compared = [
        Comparison("mean, ns", float(off.mean()), known["offload_avg_diff_ns"], known["id"],
                   "chosen", remark),
        Comparison("greatest, ns", int(off.max()), known["offload_max_diff_ns"], known["id"],
                   "chosen", f"a step of the stamps, {settings.stamp_ns} ns, which are chosen"),
    ]  # fmt: skip
    sleeping = np.abs(found["sleep"].apart_ns)
    result.checks = [
        Check(
            f"{chosen}: offloaded, periods are off by no more than published (L24)",
            float(off.mean()) <= known["offload_avg_diff_ns"]
            and int(off.max()) <= known["offload_max_diff_ns"],
            f"{off.mean():.2f} ns on average, {off.max()} ns at most",
        ),
        Check(
            f"{chosen}: sleeping they are off by a hundred times as much",
            float(sleeping.mean()) > 100 * max(float(off.mean()), 1.0),
            f"{sleeping.mean():.0f} ns on average",
        ),
    ]
    return result


def sizes(settings: Settings, spread: Spread) -> Part:
    """L33: a send call that costs more for longer packets, and unevenly."""
    period_ns = settings.period_us * 1000
    rows: list[list[Cell]] = []
    spans: dict[Method, list[float]] = {"sleep": [], "txtime": []}
    methods: tuple[Method, ...] = ("sleep", "txtime")
    wanted = []
    for size in SIZES_BYTES:
        copy = StageOverride(
            base_ns=5_000,
            median_ns=settings.copy_ns_per_kib * size // 1024,
            sigma=settings.copy_sigma,
        )
        stages = (NO_TAIL, ("stack", copy))
        wanted += [
            Sender(method, period_ns, size, stages, stamp_ns=settings.stamp_ns)
            for method in methods
        ]
    arguments = [(sender, settings.packets, 0.3, settings.seed) for sender in wanted]
    missing = 0
    for sender, stamps in zip(wanted, spread.in_order(linkruns.measure, arguments), strict=True):
        spans[sender.method].append(float(np.std(stamps.apart_ns)))
        missing += stamps.missing + settings.packets - len(stamps.late_ns)
    for place, size in enumerate(SIZES_BYTES):
        rows.append([size, spans["sleep"][place], spans["txtime"][place]])
    result = Part("sizes", "Jitter by the length of a packet", "section on SO_TXTIME")
    result.tables = [
        Table(
            "Standard deviation of periods",
            "chosen",
            [Column("frame, bytes", 0), Column("sleep, ns", 1), Column("etf, offloaded, ns", 1)],
            rows,
            f"The send call costs 5 us and {settings.copy_ns_per_kib} ns for each KiB, log-normal"
            f" with {settings.copy_sigma:g}: chosen, the paper has no numbers.",
        )
    ]
    sleep, timed = spans["sleep"], spans["txtime"]
    result.checks = [
        Check(
            "sleeping, jitter rises with the length as the cost of copying, chosen, does; with"
            " times it does not (L33)",
            sleep == sorted(sleep) and sleep[-1] > 1.1 * sleep[0] and max(timed) <= min(timed) + 1,
            f"{sleep[0]:.0f} to {sleep[-1]:.0f} ns; {min(timed):.1f} to {max(timed):.1f} ns",
        ),
        Check("packets of all lengths arrive, none missing", missing == 0, f"{missing} missing"),
    ]
    result.by_construction = [
        "that a sleeping sender's jitter rises: the cost of copying is set to, and without it the"
        " statement does not hold",
        "that one with times has none: there is one clock, the period is a multiple of the"
        " comparator's 32 ns, and frames are handed over before by more than copying takes",
    ]
    return result


FIG1 = Study("Figure 1: a sleeping sender, 10000 packets", Settings, ORIGINS, parts(fig1))
FIG2 = Study("Figure 2: sleeping against etf's offload", Settings, ORIGINS, parts(fig2))
SIZES = Study("jitter by the length of a packet", Settings, ORIGINS, parts(sizes))
