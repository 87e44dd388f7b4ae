# SPDX-License-Identifier: BSD-3-Clause
"""Random networks with everything the planner knows: a plan passes the checker and its trial, or
there is none.
"""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.planner import plan as make_plan
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems
from keepon.trial.trial import trial

PLAN_S = 5.0


def _rate(draw: random.Random, *rates: int) -> str:
    return f"rate_bps = {draw.choice(rates)}\n" if draw.random() < 0.5 else ""


def _head(draw: random.Random, seed: int, gptp: bool) -> str:
    text = f'schema = "keepon.scenario/1"\nname = "c{seed}"\nduration_s = 0.1\nseed = {seed}\n'
    text += f"warmup_s = {20.0 if gptp else 0.2}\n[planner]\n"
    text += f'isolation = "{draw.choice(["order", "frame"])}"\nroutes = {draw.choice([1, 3])}\n'
    return text + ('[sync]\nmode = "gptp"\ngrandmaster = "b0"\npriority = 7\n' if gptp else "")


def _ppm(draw: random.Random) -> str:
    return f"clock_ppm = {round(draw.uniform(-60, 60), 1) if draw.random() < 0.5 else 0.0}\n"


def _bridges(draw: random.Random, count: int) -> str:
    text = ""
    for number in range(count):
        text += (
            f'[[bridge]]\nname = "b{number}"\nprocessing_ns ='
            f" {draw.choice([0, 500, 1500, 3217])}\n{_ppm(draw)}"
        )
        text += f'gates = "{draw.choice(["auto", "auto", "auto", "none"])}"\n'
        if number:
            text += f'[[link]]\nends = ["b{number}", "b{draw.randrange(number)}"]\n'
            text += _rate(draw, 10**8, 10**9, 2_500_000_000, 10**10)
    return text


def _stations(draw: random.Random, drivers: list[str], bridges: int, gptp: bool) -> str:
    text = ""
    for number, driver in enumerate(drivers):
        host = "raspberry-pi-4" if driver == "keepon" else "tsn-end-station"
        text += (
            f'[[station]]\nname = "s{number}"\ndriver = "{driver}"\nhost = "{host}"\n{_ppm(draw)}'
        )
        if driver == "keepon":
            text += "ingress_latency_ns = 4400\n" if gptp else ""
            late = [
                f'{{ tc = {tc}, late = "{draw.choice(["strict", "relaxed", "reschedule"])}" }}'
                for tc in range(3)
            ]
            text += (
                f'keepon = {{ classes = [{", ".join(late)}, {{ tc = 7, slots = "rest", late ='
                ' "reschedule" }] }\n'
            )
        text += f'[[link]]\nends = ["s{number}", "b{draw.randrange(bridges)}"]\n'
        text += f"propagation_ns = {draw.randint(0, 900)}\n" + _rate(draw, 10**8, 2_500_000_000)
    return text


def _streams(draw: random.Random, stations: int) -> str:
    text = ""
    for number in range(draw.randint(1, 24)):
        talker, *listeners = draw.sample(range(stations), min(stations, draw.choice([2, 2, 2, 3])))
        period_ns, tc = (
            draw.choice([250_000, 500_000, 1_000_000, 2_000_000, 4_000_000]),
            draw.choice([0, 1, 2]),
        )
        names = ", ".join(f'"s{listener}"' for listener in listeners)
        text += (
            f'[[stream]]\nid = "f{number}"\ntalker = "s{talker}"\nlisteners = [{names}]\nperiod_ns'
            f" = {period_ns}\n"
        )
        text += f"frame_bytes = {draw.choice([64, 100, 128, 200, draw.randint(64, 700)])}\n"
        text += f"tc = {tc}\npriority = {6 - tc}\n"
        text += "advance_ns = 2_000_000\n" if draw.random() < 0.8 else ""
        text += (
            f"deadline_ns = {draw.choice([200_000, 500_000, period_ns])}\n"
            if draw.random() < 0.4
            else ""
        )
        text += (
            f"jitter_ns = {draw.choice([1_000, 20_000, 100_000, 200_000])}\n"
            if draw.random() < 0.4
            else ""
        )
    return text


def network(seed: int) -> str:
    """A scenario by its seed."""
    draw = random.Random(seed)
    gptp = draw.random() < 0.15
    bridges, stations = draw.randint(1, 4), draw.randint(2, 7)
    drivers = [draw.choice(["keepon", "keepon", "launchtime"]) for _ in range(stations)]
    text = (
        _head(draw, seed, gptp) + _bridges(draw, bridges) + _stations(draw, drivers, bridges, gptp)
    )
    text += _streams(draw, stations)
    for number in range(draw.randint(0, 2)):
        talker, listener = draw.sample(range(stations), 2)
        longest = 200 if drivers[talker] == "keepon" else draw.choice([100, 600, 1500])
        text += f'[[load]]\nid = "l{number}"\ntalker = "s{talker}"\nlistener = "s{listener}"\n'
        text += f"rate_bps = {draw.choice([5_000_000, 30_000_000])}\nframe_bytes = {longest}\n"
        text += f"priority = {draw.choice([0, 1])}\n"
    return text


def _campaign(seeds: range) -> Counter[str]:
    """How often each outcome came; what is wrong fails with its seed."""
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        try:
            scenario = loading.parse(network(seed), f"network {seed}")
            plan = make_plan(scenario, Limits(time.monotonic() + PLAN_S, seed))
        except ConfigError:
            outcomes["refused"] += 1
            continue
        outcomes[plan["status"]] += 1
        if plan["status"] != "feasible":
            continue
        assert problems(scenario, plan) == [], f"seed {seed}"
        try:
            trial(scenario, plan)
        except ConfigError:
            outcomes["clocks"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    return outcomes


def _holds(seeds: range) -> None:
    outcomes = _campaign(seeds)
    assert outcomes["feasible"] >= 0.4 * len(seeds), outcomes


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 100, 25))
def test_no_plan_of_a_random_network_fails_the_checker_or_its_trial(first: int) -> None:
    _holds(range(first, first + 25))


@pytest.mark.parametrize("seed", [11119])
def test_networks_whose_plan_once_failed(seed: int) -> None:
    """11119: at 100 Mb/s a frame without txtime begins a byte after the match and is sent before
    the one it is for.
    """
    assert _campaign(range(seed, seed + 1))["feasible"] == 1


@pytest.mark.soak
@pytest.mark.parametrize("first", range(10_000, 20_000, 100))
def test_no_plan_of_ten_thousand_random_networks_fails_the_checker_or_its_trial(first: int) -> None:
    _holds(range(first, first + 100))
