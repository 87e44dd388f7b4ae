# SPDX-License-Identifier: BSD-3-Clause
"""Random networks with random stacks of TSN blocks: policing, cyclic queuing, shapers, preemption,
redundancy and several links beside gates, with bought devices and best effort among the talkers.
Each frame ends in one named place, the frames of a stream stay in order, and no bound is exceeded.
"""

from __future__ import annotations

import random
import time
from collections import Counter

import numpy as np
import pytest
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems
from keepon.targets.sim.build import Build
from keepon.targets.sim.runner import simulate_build
from keepon.trial.trial import trial

PLAN_S = 5.0
PS = 1000
SHAPED = (3, 4)
"""Priorities of bought devices."""


def _bridges(draw: random.Random, count: int, kind: str, ring: bool) -> str:
    text, cycle_ns, buffers = "", draw.choice([125_000, 250_000]), draw.choice([2, 3])
    preempts = kind == "gates" and draw.random() < 0.4
    for number in range(count):
        text += f'[[bridge]]\nname = "b{number}"\nprocessing_ns = {draw.choice([0, 1500, 3217])}\n'
        if kind != "cycles":
            text += f'police = "{draw.choice(["none", "edge", "edge" if ring else "all"])}"\n'
        if kind == "cycles":
            text += f'gates = "cqf"\ncqf_cycle_ns = {cycle_ns}\ncqf_buffers = {buffers}\n'
        elif kind == "gates":
            text += f'gates = "{draw.choice(["auto", "auto", "none"])}"\n'
        else:
            text += 'gates = "none"\n'
        if preempts:
            text += "preemptable = [0, 1, 2]\n"
            text += f"min_fragment_bytes = {draw.choice([64, 128])}\n"
        if kind == "shapers":
            for priority in draw.sample(SHAPED, draw.randint(1, 2)):
                slope = f"idle_slope_bps = {draw.choice([100, 200])}_000_000"
                sort = draw.choice(['kind = "asynchronous"', slope])
                text += f"[[bridge.shaper]]\npriority = {priority}\n{sort}\n"
    ends = [(number, number + 1) for number in range(count - 1)]
    if ring:
        ends.append((count - 1, 0))
    if kind != "cycles":
        ends += [pair for pair in ends if draw.random() < 0.2]
    return text + "".join(f'[[link]]\nends = ["b{one}", "b{other}"]\n' for one, other in ends)


def _stations(draw: random.Random, drivers: list[str], places: list[int]) -> str:
    text = ""
    for number, (driver, place) in enumerate(zip(drivers, places, strict=True)):
        host = "raspberry-pi-4" if driver == "keepon" else "tsn-end-station"
        text += f'[[station]]\nname = "s{number}"\ndriver = "{driver}"\n'
        if driver == "foreign":
            text += f"clock_ppm = {draw.randint(-100, 100)}.0\njitter_ns = 20_000\n"
        else:
            text += f'host = "{host}"\n'
        text += "preemption = true\n" if driver != "keepon" else ""
        text += f'[[link]]\nends = ["s{number}", "b{place}"]\n'
        text += f"propagation_ns = {draw.randint(0, 900)}\n"
    return text


def _streams(
    draw: random.Random, drivers: list[str], places: list[int], kind: str, ring: bool
) -> str:
    text = ""
    for number in range(draw.randint(2, 12)):
        talker, listener = draw.sample(range(len(drivers)), 2)
        if drivers[talker] == "standard":
            continue
        foreign = drivers[talker] == "foreign"
        period_ns = draw.choice([500_000, 1_000_000, 2_000_000])
        if foreign and kind != "cycles":
            period_ns = draw.choice([period_ns, 777_777, 1_250_000])
        text += f'[[stream]]\nid = "f{number}"\ntalker = "s{talker}"\n'
        text += f'listeners = ["s{listener}"]\nperiod_ns = {period_ns}\n'
        text += f"frame_bytes = {draw.randint(64, 600)}\n"
        text += f"priority = {draw.choice(SHAPED) if foreign else draw.choice([5, 6])}\n"
        if not foreign:
            text += "advance_ns = 2_000_000\n"
            if ring and places[talker] != places[listener] and draw.random() < 0.4:
                text += "redundancy = 2\n"
                text += f'frer = {{ tagged_by = "{draw.choice(["bridge", "talker"])}" }}\n'
    return text


def stacked(seed: int) -> str:
    """A scenario by its seed."""
    draw = random.Random(f"blocks {seed}")
    kind = draw.choice(["gates", "gates", "shapers", "shapers", "cycles"])
    bridges = draw.randint(1, 5)
    drivers = [draw.choice(["keepon", "launchtime"]) for _ in range(draw.randint(2, 4))]
    drivers += ["foreign"] * draw.randint(0, 2) + ["standard"] * draw.randint(0, 1)
    ring = bridges > 2 and kind != "cycles" and draw.random() < 0.7
    places = [draw.randrange(bridges) for _ in drivers]
    text = (
        f'schema = "keepon.scenario/1"\nname = "blocks{seed}"\nduration_s = 0.05\nseed = {seed}\n'
    )
    text += "warmup_s = 0.0\nhost_tail_scale = 0.0\n"
    text += _bridges(draw, bridges, kind, ring) + _stations(draw, drivers, places)
    text += _streams(draw, drivers, places, kind, ring)
    if drivers[-1] == "standard":
        text += f'[[load]]\nid = "files"\ntalker = "s{len(drivers) - 1}"\nlistener = "s0"\n'
        text += f"rate_bps = {draw.choice([30, 200])}_000_000\n"
        text += f"frame_bytes = {draw.choice([200, 1500])}\npriority = {draw.choice([0, 1])}\n"
    return text


def _accounted(scenario: Scenario, plan: Plan, build: Build, bounded: bool) -> int:
    """Each frame in one place, in order, and within its bound. Returns the frames that came."""
    redundancy = {stream.id: stream.redundancy for stream in scenario.stream}
    came_in_all = 0
    for name, flow in build.streams.items():
        found, frames = build.simulation.stream(flow), build.simulation.frames(flow)
        assert found["submitted"] == sum(found["verdicts"].values()) + found["pending"]
        places = found["delivered"] + sum(found["lost"].values()) + found["in_flight"]
        ways = redundancy[name]
        assert found["on_wire"] <= places <= ways * found["on_wire"], name
        assert ways == 2 or places == found["on_wire"], name
        for spoilt in ("torn", "wrong_bytes", "duplicates", "ghosts"):
            assert found[spoilt] == 0, (name, spoilt)
        (arrival_ps,) = frames["arrival_ps"]
        came = arrival_ps >= 0
        assert (np.diff(arrival_ps[came]) > 0).all(), name
        bound_ns = plan["streams"][name]["bounds"]["delay_ns"]
        if bound_ns is not None and bounded:
            assert (arrival_ps[came] - frames["wire_ps"][came]).max(initial=0) <= bound_ns * PS
        came_in_all += int(came.sum())
    return came_in_all


def outcome(seed: int) -> str:
    """What came of the network of a seed; what is wrong raises."""
    try:
        scenario = loading.parse(stacked(seed), f"blocks {seed}")
        if not scenario.stream:
            return "empty"
        plan = make_plan(scenario, Limits(time.monotonic() + PLAN_S, seed))
        if plan["status"] != "feasible":
            return plan["status"]
        assert problems(scenario, plan) == []
        tried = trial(scenario, plan)
        build, _ = simulate_build(scenario, plan, scenario.drivers()[0], seed)
    except ConfigError:
        return "refused"
    assert _accounted(scenario, plan, build, not tried["unsent"]) > 0
    return "late" if tried["unsent"] else "in time"


def _campaign(seeds: range) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        try:
            outcomes[outcome(seed)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    return outcomes


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_every_frame_of_a_stack_of_blocks_is_accounted_for(first: int) -> None:
    outcomes = _campaign(range(first, first + 20))
    assert outcomes["in time"] >= 8, outcomes


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 11_000, 100))
def test_every_frame_of_ten_thousand_stacks_is_accounted_for(first: int) -> None:
    assert _campaign(range(first, first + 100))["in time"] >= 40
