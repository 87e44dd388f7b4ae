# SPDX-License-Identifier: BSD-3-Clause
"""Runs for studies of clocks: one variant of a scenario in, arrays of clock offsets and release
errors out.

What `keepon reproduce` and sweeps are built on. Nothing is written; figures and tables are made
elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keepon.measure.clocks import clock_document
from keepon.measure.results import NONE
from keepon.measure.statistics import IntArray
from keepon.model import timing
from keepon.model.hosts import Sourced
from keepon.model.result import Clock, RunResult
from keepon.model.scenario import Scenario
from keepon_papers.planned import planned_run


@dataclass(frozen=True)
class ClockTrack:
    """One clock over a run.

    Attributes:
        at_ps: true times of the samples from the start, shape (n,).
        network_ps: the same in network time, shape (n,).
        offset_ps: exact reading minus network time, shape (n,).
        read_offset_ps: what software got that asked then, minus network time, shape (n,).
        read_at_ps: true times at which software had it, a poll under way having ended first, shape
            (n,).
        reading_ps: what software got, since the epoch, shape (n,).
        rate_ppb: rate set on the clock, shape (n,).
        document: the same as `stations.NAME.clock` of a result.
    """

    at_ps: IntArray
    network_ps: IntArray
    offset_ps: IntArray
    read_offset_ps: IntArray
    read_at_ps: IntArray
    reading_ps: IntArray
    rate_ppb: Any
    document: Clock


@dataclass(frozen=True)
class ClockRun:
    """One run: clocks by node, release errors by stream.

    Attributes:
        release_error_ps: reference plane minus txtime in network time per frame sent in the
            measured time, by stream.
        txtime_ns: the txtimes of these frames since the start, by stream.
        document: the run's part of a result file.
        used: by node, the numbers of host and NIC that mattered.
    """

    driver: str
    clocks: dict[str, ClockTrack]
    release_error_ps: dict[str, IntArray]
    txtime_ns: dict[str, IntArray]
    document: RunResult
    used: dict[str, list[Sourced]]


def variant(scenario: Scenario, **changes: Any) -> Scenario:
    """The scenario with some keys changed.

    Args:
        changes: keys of [sync] as they are, of every station as `station_KEY`, of every keepon
            table as `keepon_KEY`, of the scenario itself as `scenario_KEY`.

    Raises:
        pydantic.ValidationError: a value is out of range.
    """
    document = scenario.effective()
    for key, value in changes.items():
        where, _, rest = key.partition("_")
        if where == "scenario":
            document[rest] = value
        elif where == "station":
            for station in document["station"]:
                station[rest] = value
        elif where == "keepon":
            for station in document["station"]:
                station["keepon"][rest] = value
        else:
            document["sync"][key] = value
    return Scenario.model_validate(document)


def _column(values: IntArray) -> IntArray:
    return np.asarray(values, dtype=np.int64)


def measure(scenario: Scenario, driver: str | None = None, seed: int | None = None) -> ClockRun:
    """Plan and run a scenario whose clocks are set by PTP.

    Args:
        scenario: sync.mode "ptp" or "gptp".
        driver: what stations under test are; default the first of the scenario.
        seed: default the scenario's.

    Raises:
        ConfigError: the scenario cannot be run.
        SimulationError: the frames contradict each other.
    """
    simulated = planned_run(scenario, driver, seed)
    build, run = simulated.build, simulated.run
    start_ns, end_ns = timing.measured_ns(scenario)
    clocks: dict[str, ClockTrack] = {}
    for node in build.clocked():
        raw = build.simulation.clock(build.nodes[node])
        at_ps, read_at_ps = _column(raw["at_ps"]), _column(raw["read_at_ps"])
        read_offset_ps = _column(raw["read_offset_ps"])
        clocks[node] = ClockTrack(
            at_ps=at_ps,
            offset_ps=_column(raw["offset_ps"]),
            read_offset_ps=read_offset_ps,
            read_at_ps=read_at_ps,
            reading_ps=_column(build.simulation.network_time(read_at_ps)) + read_offset_ps,
            network_ps=_column(build.simulation.network_time(at_ps)),
            rate_ppb=np.asarray(raw["scaled_ppm"], dtype=np.float64) * 1000 / 65536,
            document=clock_document(raw, start_ns, end_ns, scenario.sync.lock_bound_ns),
        )
    errors: dict[str, IntArray] = {}
    times: dict[str, IntArray] = {}
    for stream, frames in run.frames.items():
        sent = frames.wire_ps != NONE
        errors[stream] = (frames.wire_ps - frames.txtime_ps)[sent]
        times[stream] = (frames.txtime_ns - frames.epoch_ns)[sent]
    return ClockRun(run.driver, clocks, errors, times, run.document, build.used_sources())
