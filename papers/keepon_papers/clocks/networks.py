# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios the studies run: two stations on one link, or with two gPTP bridges between them; and
what is read off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from keepon.model.hosts import RX_STAGE, Stage
from keepon.model.scenario import Scenario
from keepon_papers import inputs
from keepon_papers.clocks import clockruns
from keepon_papers.clocks.clockruns import ClockRun, ClockTrack
from keepon_papers.clocks.settings import Common
from keepon_papers.planned import planned_run
from keepon_papers.spread import Spread

Array = NDArray[np.float64]
S = TypeVar("S", bound=Common)
V = TypeVar("V")
R = TypeVar("R")

MASTER, SLAVE = "master", "slave"
WIRE_OVERHEAD_BYTES = 20
PTP_FRAME_BYTES = 64
"""On the wire Sync, Delay_Req and their answers have 58 to 68 bytes; short ones are padded."""


@dataclass(frozen=True)
class Kind:
    """What a station is.

    Attributes:
        driver: "keepon", "standard" or "launchtime".
        clock: of driver keepon: "counter", "interpolated" or "dual".
        mode: of driver keepon: "paper" or "phase-locked".
        merge: of clock "dual": "published" or "strip".
        ingress_ns: taken off stamps of reception.
        rx: what software's stamps of reception are late by.
    """

    name: str
    driver: str
    clock: str = "interpolated"
    mode: str = "phase-locked"
    merge: str | None = None
    ingress_ns: int = 0
    rx: Stage = RX_STAGE


HARDWARE = Kind("hardware stamps", "launchtime")
SOFTWARE = Kind("software stamps", "standard")
PAPER = Kind("keepon, single clock as published", "keepon", "counter", "paper")
COUNTER = Kind("keepon, single clock, counter", "keepon", "counter")
SINGLE = Kind("keepon, single clock, ours", "keepon")
DUAL_PUBLISHED = Kind("keepon, dual clock, published merge", "keepon", "dual", merge="published")
DUAL = Kind("keepon, dual clock, ours", "keepon", "dual")


def mean_rx_delay_ns(scale: float = 1.0, stage: Stage = RX_STAGE) -> int:
    """Mean of what software's stamps of reception are late by: the delay, and a frame's bytes after
    the SFD.

    What one would measure once on a machine and give to ptp4l as ingressLatency.
    """
    return round(scale * stage.mean_ns + PTP_FRAME_BYTES * 8)


def rx_spread_ns(scale: float = 1.0) -> float:
    """Standard deviation of what software's stamps of reception are late by."""
    return scale * RX_STAGE.stddev_ns


def calibrated(kind: Kind, scale: float = 1.0) -> Kind:
    """The same with the mean delay of reception taken off."""
    return replace(kind, ingress_ns=mean_rx_delay_ns(scale, kind.rx))


def _stage_table(kind: Kind) -> dict[str, int | float]:
    """The host's table of reception."""
    return {"median_ns": kind.rx.median_ns, "sigma": kind.rx.sigma, "limit_ns": kind.rx.limit_ns}


def slot_ns(settings: Common) -> float:
    """Time of a slot at 1 Gb/s, preamble and gap included."""
    return (settings.slot_bytes + WIRE_OVERHEAD_BYTES) * 8.0


def crystals(settings: Common, seed: int, count: int) -> list[float]:
    """Deviations in ppm, uniform within +-crystal_ppm, the same for all kinds compared under one
    seed.
    """
    random = np.random.default_rng([seed, 22])
    return [
        float(value) for value in random.uniform(-settings.crystal_ppm, settings.crystal_ppm, count)
    ]


def station(
    name: str, kind: Kind, settings: Common, ppm: tuple[float, float], **keepon: Any
) -> dict[str, Any]:
    """One [[station]]; ppm of the NIC's and of the CPU's crystal, further keys of its keepon table.

    As published, one batch is posted ahead in paper mode, and a frame has one slot. As many
    frames may wait as when the figures in docs were made, not as by default.
    """
    table = {
        "slot_bytes": settings.slot_bytes,
        "batch_slots": settings.batch_slots,
        "depth_slots": settings.batch_slots if kind.mode == "paper" else settings.depth_slots,
        "ring_slots": settings.ring_slots,
        "clock": kind.clock,
        "mode": kind.mode,
        "frame_bytes_max": 0,
        "prebuffer_frames": 64,
        **({"merge": kind.merge} if kind.merge else {}),
        **keepon,
    }
    return {
        "name": name,
        "driver": kind.driver,
        "clock_ppm": ppm[0],
        "cpu_ppm": ppm[1],
        "wander_ppb_per_s": settings.wander_ppb_per_s,
        "ingress_latency_ns": kind.ingress_ns if kind.driver == "keepon" else 0,
        "keepon": table,
        **({"host": {"rx": _stage_table(kind)}} if kind.rx != RX_STAGE else {}),
    }


def pair(
    master: Kind,
    slave: Kind,
    settings: Common,
    seed: int,
    keepon: dict[str, Any] | None = None,
    **sync: Any,
) -> Scenario:
    """Two stations on one link, the grandmaster first; crystals are drawn from `seed`, which is the
    run's, too.
    """
    ppm = crystals(settings, seed, 4)
    own = keepon or {}
    return Scenario.model_validate(
        {
            "schema": "keepon.scenario/1",
            "name": "pair",
            "duration_s": float(settings.duration_s),
            "warmup_s": float(settings.warmup_s),
            "seed": seed,
            "sync": {
                "mode": settings.sync_mode,
                "grandmaster": MASTER,
                "interval_ms": settings.interval_ms,
                **sync,
            },
            "station": [
                station(MASTER, master, settings, (ppm[0], ppm[1]), **own),
                station(SLAVE, slave, settings, (ppm[2], ppm[3]), **own),
            ],
            "link": [{"ends": [MASTER, SLAVE]}],
        }
    )


def measured_ns(track: ClockTrack, scenario: Scenario) -> tuple[Array, Array]:
    """Offsets in ns of the samples after the warm-up: of the clock itself, and of what software
    reads.
    """
    within = track.at_ps >= scenario.warmup_s * 1e12
    return track.offset_ps[within] / 1000, track.read_offset_ps[within] / 1000


def run(scenario: Scenario) -> ClockRun:
    """One run of a scenario made here; no station of it is under test."""
    found = clockruns.measure(scenario)
    inputs.note_nodes(found.used)
    return found


def every_seed(
    spread: Spread, measure: Callable[[V, S, int], R], variants: Sequence[V], settings: S
) -> list[list[R]]:
    """`measure(variant, settings, seed)` for all variants and the seeds of the settings, a list for
    each variant.
    """
    seeds = range(settings.seed, settings.seed + settings.seeds)
    found = spread.in_order(
        measure, [(variant, settings, seed) for variant in variants for seed in seeds]
    )
    return [found[first : first + settings.seeds] for first in range(0, len(found), settings.seeds)]


@dataclass(frozen=True)
class Seen:
    """Offsets of one node after the warm-up, ns, one array per quantity.

    Attributes:
        offset_ns: of the clock itself from network time.
        read_ns: of what software gets that asks.
        reported_ns: from its master as PTP software reports them: by stamps, their errors included.
            Empty for a grandmaster.
    """

    offset_ns: Array
    read_ns: Array
    reported_ns: Array


def observe(scenario: Scenario) -> dict[str, Seen]:
    """One run of a scenario made by `pair`: what is known of MASTER's and SLAVE's clock, by either
    name.
    """
    build = planned_run(scenario).build
    inputs.note_nodes(build.used_sources())
    start_ps = scenario.warmup_s * 1e12
    found = {}
    for name in (MASTER, SLAVE):
        raw = build.simulation.clock(build.nodes[name])
        sampled = np.asarray(raw["at_ps"]) >= start_ps
        reported = np.asarray(raw["reported_at_ps"]) >= start_ps
        found[name] = Seen(
            np.asarray(raw["offset_ps"])[sampled] / 1000,
            np.asarray(raw["read_offset_ps"])[sampled] / 1000,
            np.asarray(raw["reported_ps"])[reported] / 1000,
        )
    return found


def quantile(values: Array, share: float) -> float:
    """Nearest-rank quantile of the absolute values."""
    ordered = np.sort(np.abs(values))
    return float(ordered[max(0, int(np.ceil(share * ordered.size)) - 1)])
