# SPDX-License-Identifier: BSD-3-Clause
"""The headline's runs: a periodic stream through two gPTP bridges, or over a direct link for two
clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any

from keepon.model import timing
from keepon.model.fields import Number, Whole
from keepon.model.scenario import Scenario
from keepon_papers.clocks import networks
from keepon_papers.clocks.networks import Kind
from keepon_papers.clocks.releases import Releases, causes, frames, times_due
from keepon_papers.clocks.settings import Common

TALKER, LISTENER, STREAM = "talker", "listener", "S1"
LINUXPTP = (0.7, 0.3)
ESTIMATE = 0.0163
"""A servo's first estimate of the rate takes 0.016 / ki seconds; a run waits a little longer than
that.
"""
SLOW, DELAYS = 10.0, 100
"""Servo and filter of the run that calibrates."""
PAPER_BATCH = 8
"""Paper mode posts one batch ahead. With fewer slots the wire runs dry between polls, hundreds of
thousands of times a second: there is no clock to speak of, and a simulation remembers each.
"""


class Settings(Common):
    """The headline's settings. A slot of 230 bytes takes 2 us, of which the period is a multiple,
    as slots that follow the grid of network time need it.
    """

    slot_bytes: Annotated[int, Whole(64, 1522)] = 230
    batch_slots: Annotated[int, Whole(1, 1024)] = 8
    duration_s: Annotated[float, Number(1, 86_400)] = 600.0
    warmup_s: Annotated[float, Number(2, 3600)] = 30.0
    gains_s: Annotated[float, Number(1, 3600)] = 60.0
    period_ns: Annotated[int, Whole(100_000, 100_000_000)] = 1_000_000
    seeds: Annotated[int, Whole(1, 1)] = 1


def scenario_for(kind: Kind, settings: Settings, scale: float, **sync: Any) -> Scenario:
    """Talker - bridge - bridge - listener, the first bridge is the grandmaster; dual clocks: talker
    and listener.
    """
    direct = kind.clock == "dual"
    limit = settings.crystal_ppm
    ends = [
        networks.station(TALKER, kind, settings, (limit, -0.4 * limit)),
        networks.station(LISTENER, kind, settings, (-limit, 0.7 * limit)),
    ]
    if kind.mode == "paper":
        # Of no matter to what is measured; a batch as a counter keeps no better, and the planner
        # refuses to say so.
        ends[0]["clock_error_ns"] = 100_000
    bridges = [
        {
            "name": name,
            "gates": "none",
            "clock_ppm": ppm * limit,
            "wander_ppb_per_s": settings.wander_ppb_per_s,
        }
        for name, ppm in (("br1", 0.4), ("br2", -0.6))
    ]
    chain = [TALKER, LISTENER] if direct else [TALKER, "br1", "br2", LISTENER]
    return Scenario.model_validate(
        {
            "schema": "keepon.scenario/1",
            "name": "headline",
            "duration_s": float(settings.duration_s),
            "warmup_s": float(settings.warmup_s),
            "seed": settings.seed,
            "sync": {
                "mode": settings.sync_mode if direct else "gptp",
                "grandmaster": LISTENER if direct else "br1",
                "interval_ms": settings.interval_ms,
                "rx_jitter_scale": scale,
                **sync,
            },
            "station": ends,
            "bridge": [] if direct else bridges,
            "link": [{"ends": [a, b]} for a, b in pairwise(chain)],
            "stream": [
                {
                    "id": STREAM,
                    "talker": TALKER,
                    "listeners": [LISTENER],
                    "period_ns": settings.period_ns,
                    "frame_bytes": min(200, settings.slot_bytes - 8),
                    "advance_ns": 300_000,
                }
            ],
        }
    )


def calibrated(settings: Settings, scale: float) -> Kind:
    """Our single clock with the constant part of its offset taken off, as one would measure it once
    from outside.

    A run with another seed and a slow servo, with the mean delay of reception taken off; half of
    what a stamp is late by shows in the offset, so twice the mean offset that is left is taken off
    as well.
    """
    kind = networks.calibrated(networks.SINGLE, scale)
    quiet, sync = slow(settings, SLOW, DELAYS)
    one = measure(kind, quiet.model_copy(update={"seed": settings.seed + 1000}), scale, sync)
    return replace(kind, ingress_ns=kind.ingress_ns - round(2 * float(one.clock.mean())))


def slow(settings: Settings, slower: float, delays: int) -> tuple[Settings, dict[str, Any]]:
    """Settings and keys of [sync] for a servo `slower` times as slow as linuxptp's and a median of
    `delays` delays.
    """
    proportional, integral = LINUXPTP[0] / slower, LINUXPTP[1] / slower**2
    interval_s = settings.interval_ms / 1000
    warmup_s = (
        settings.warmup_s
        + ESTIMATE / (integral * interval_s**0.4)
        + 20 * slower * interval_s
        + delays
    )
    sync = {
        "pi_proportional_scale": proportional,
        "pi_integral_scale": integral,
        "delay_filter_samples": delays,
    }
    return settings.model_copy(update={"duration_s": settings.gains_s, "warmup_s": warmup_s}), sync


def for_kind(kind: Kind, settings: Settings) -> Settings:
    """Settings of one kind: paper mode has a batch of PAPER_BATCH at least."""
    if kind.mode != "paper" or settings.batch_slots >= PAPER_BATCH:
        return settings
    return settings.model_copy(update={"batch_slots": PAPER_BATCH})


def measure(
    kind: Kind, settings: Settings, scale: float, sync: Mapping[str, Any] | None = None
) -> Releases:
    """One run; `sync` has further keys of [sync]."""
    scenario = scenario_for(kind, for_kind(kind, settings), scale, **(sync or {}))
    run = networks.run(scenario)
    track = run.clocks[TALKER]
    error = run.release_error_ps[STREAM] / 1000
    by_clock, rest = causes(track, run.txtime_ns[STREAM] + error, error)
    first_ns = int(run.txtime_ns[STREAM][0]) if error.size else 0
    due = times_due(*timing.measured_ns(scenario), settings.period_ns, first_ns)
    return Releases(
        error,
        by_clock,
        rest,
        networks.measured_ns(track, scenario)[0],
        frames(run.document["streams"][STREAM], due),
        run.document["stations"][TALKER]["nic"].get("late_launches", 0),
    )
