# SPDX-License-Identifier: BSD-3-Clause
"""Clocks that do not keep what is stated of them in the trial of a plan: which, by how much, and
what each needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keepon.errors import ConfigError
from keepon.measure.clocks import lock_time_s
from keepon.measure.due import run_ns
from keepon.measure.statistics import IntArray
from keepon.model import foreign
from keepon.model.plan import Plan, empty
from keepon.model.scenario import BRIDGE_CLOCK_ERROR_NS, Scenario
from keepon.model.topology import Topology
from keepon.targets.sim.build import Build

NAMED_MAX = 4
LONGER = 4
"""A run so many times the warm-up shows whether time is all that a clock needs."""
LONGER_S_MIN, LONGER_S_MAX = 60.0, 600.0
ROUNDED_NS = 500


@dataclass(frozen=True)
class Wrong:
    """A clock beyond its stated error; times in ns."""

    name: str
    stated_ns: int
    worst_ns: float


def stated_ns(scenario: Scenario, plan: Plan) -> dict[str, int]:
    """What is stated of every clock that the plan relies on: of talkers, and of bridges whose gates
    are used. End-to-end PTP sets none of bridges, and no stream passes gates there.
    """
    talkers = {stream.talker for stream in scenario.stream}
    talkers -= {stream.talker for _, stream in foreign.streams(scenario)}
    # The ports of a station have one driver.
    drivers = {
        port.station: plan["stations"][port.name]["driver"]
        for port in Topology(scenario).ports.values()
        if port.station in talkers
    }
    found = {
        station.name: scenario.clock_error_ns(station, drivers[station.name])
        for station in scenario.station
        if station.name in talkers
    }
    gated = {
        name
        for name, entry in plan["bridges"].items()
        for port in entry["ports"].values()
        if "entries" in port and scenario.sync.mode != "ptp"
    }
    return found | {
        name: BRIDGE_CLOCK_ERROR_NS + scenario.asymmetry_error_ns(name) for name in sorted(gated)
    }


def _offsets(build: Build, name: str) -> tuple[IntArray, IntArray]:
    """When a clock was compared with network time, ps from the start, and by how much it was off,
    ps.
    """
    raw = build.simulation.clock(build.nodes[name])
    return np.asarray(raw["at_ps"], dtype=np.int64), np.asarray(raw["offset_ps"], dtype=np.int64)


def wrong_clocks(build: Build, from_ns: int) -> list[Wrong]:
    """Clocks of a run that were further off than stated from an instant on, those that most exceed
    it first.
    """
    found = []
    from_ps = from_ns * 1000
    for name, limit_ns in stated_ns(build.scenario, build.plan).items():
        at_ps, offset_ps = _offsets(build, name)
        worst_ns = float(np.abs(offset_ps[at_ps >= from_ps]).max(initial=0)) / 1000
        if worst_ns > limit_ns:
            found.append(Wrong(name, limit_ns, worst_ns))
    return sorted(found, key=lambda wrong: wrong.worst_ns / max(1, wrong.stated_ns), reverse=True)


def refusal(
    scenario: Scenario,
    plan: Plan,
    wrong: list[Wrong],
    progress: Callable[[int], None] | None = None,
) -> ConfigError:
    """The sentence on clocks that are further off than stated, with what each needs as a longer run
    shows it.

    `progress` hears now and then how far that run is.
    """
    longer_s = min(max(LONGER * scenario.warmup_s, LONGER_S_MIN), LONGER_S_MAX)
    quiet = scenario.model_copy(
        update={"stream": [], "fault": [], "warmup_s": longer_s, "duration_s": 0.001}
    )
    own: Plan = {**empty(quiet.name, "feasible", ""), "stations": plan["stations"], "seconds": 0.0}
    build = Build(quiet, own, "keepon", scenario.seed)
    build.simulation.run(run_ns(quiet, build.plan), progress)
    reasons = []
    for clock in wrong[:NAMED_MAX]:
        at_ps, offset_ps = _offsets(build, clock.name)
        reasons.append(
            f'"{clock.name}" was off by up to {math.ceil(clock.worst_ns)} ns, {clock.stated_ns}'
            f" stated: {_need(scenario, clock, at_ps, offset_ps)}"
        )
    others = f" and {len(wrong) - NAMED_MAX} others" if len(wrong) > NAMED_MAX else ""
    key, value = _key(scenario, wrong[0])
    return ConfigError(
        f"{key} = {value}: clocks do not keep what is stated of them: {'; '.join(reasons)}{others}"
    )


def _key(scenario: Scenario, wrong: Wrong) -> tuple[str, object]:
    for index, station in enumerate(scenario.station):
        if station.name == wrong.name:
            return (
                f'key `station[{index}].clock_error_ns` (station "{wrong.name}")',
                wrong.stated_ns,
            )
    return "key `warmup_s`", scenario.warmup_s


def _need(scenario: Scenario, clock: Wrong, at_ps: IntArray, offset_ps: IntArray) -> str:
    """What lets one clock keep what is stated: time, a latency taken off its stamps, or a statement
    that is true.
    """
    lock_s = lock_time_s(at_ps, offset_ps, clock.stated_ns)
    if lock_s is not None and lock_s < 0.75 * at_ps[-1] / 1e12:
        return (
            f"raise warmup_s to {math.ceil(2.1 * lock_s)} or more, as streams are sent from half of"
            " it on"
        )
    settled_ns = offset_ps[at_ps > at_ps[-1] // 2] / 1000
    mean_ns, worst_ns = float(settled_ns.mean()), float(np.abs(settled_ns).max())
    station = next((entry for entry in scenario.station if entry.name == clock.name), None)
    if station is None:
        if any(entry.name == scenario.sync.grandmaster for entry in scenario.station):
            return 'name a bridge as sync.grandmaster, or set its gates to "none"'
        return 'move the grandmaster nearer, shorten sync.interval_ms, or set its gates to "none"'
    if station.driver in ("keepon", "under-test") and abs(mean_ns) > 0.5 * worst_ns:
        # Half of what a stamp of reception is late by shows in the offset.
        return (
            "set ingress_latency_ns to"
            f" {round((station.ingress_latency_ns - 2 * mean_ns) / 100) * 100}"
        )
    true_ns = math.ceil(1.2 * worst_ns / ROUNDED_NS) * ROUNDED_NS
    later_s = lock_time_s(at_ps, offset_ps, true_ns)
    if later_s is not None and 2.1 * later_s > scenario.warmup_s:
        return (
            f"state clock_error_ns = {true_ns}, which it keeps from {later_s:.3g} s on, and raise"
            f" warmup_s to {math.ceil(2.1 * later_s)} or more"
        )
    return f"state clock_error_ns = {true_ns}"
