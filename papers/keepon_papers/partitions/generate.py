# SPDX-License-Identifier: BSD-3-Clause
"""Seeded partition instances with the parameters of KeepON paper section A.8, Table 5, in the
schema of instance files.

This module decides what the table leaves open: flow counts are drawn among those that can reach the
utilisation with the shortest period; periods form a divisibility chain ("chosen as harmonic"),
drawn at random among the multiples of 80 us; jitter is uniform in 5 to 20 % of the period, to 0.1
us; classes are drawn uniformly, each used at least once.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from keepon.errors import ConfigError

SEMANTICS = (
    "integer slot starts; schedule periodic in cycle_slots = L = lcm(hyperperiod, ring cycle) /"
    " slot; ownership: owner[tx_slot mod ring_slots] == class for every tx over L; no two tx in the"
    " same slot; jitter is peak-to-peak of (t_l - l * period) over L plus wrap; -1 = unowned (best"
    " effort); answer in {feasible, proven_infeasible, unknown}"
)
ATTEMPTS_MAX = 10_000
MOVES_MAX = 200


@dataclass(frozen=True)
class Parameters:
    """Distribution of the instances; the defaults are Table 5.

    Attributes:
        levels_percent: utilisations, 1 ... 100; that of an instance is within `tolerance` of its
            level.
        per_level: instances of each level.
        flow_counts: possible numbers of flows.
        period_step_us, period_max_us: periods are multiples of the step up to the maximum.
        jitter_percent: least and greatest jitter in percent of the period.
        harmonic: periods form a chain; otherwise any multiples of the step with a hyperperiod of at
            most `hyperperiod_max_us`.
    """

    levels_percent: tuple[int, ...] = tuple(range(5, 55, 5))
    per_level: int = 64
    flow_counts: tuple[int, ...] = (2, 4, 8, 12, 16)
    period_step_us: int = 80
    period_max_us: int = 1600
    jitter_percent: tuple[int, int] = (5, 20)
    slot_us: int = 10
    ring_slots: int = 32
    classes_max: int = 8
    tolerance: Fraction = Fraction(1, 20)
    harmonic: bool = True
    hyperperiod_max_us: int = 2400


def _periods(parameters: Parameters, chance: random.Random) -> list[int]:
    """Possible periods of an instance, in us."""
    step, most = parameters.period_step_us, parameters.period_max_us
    every = list(range(step, most + 1, step))
    if not parameters.harmonic:
        hyper = chance.choice(range(step, parameters.hyperperiod_max_us + 1, step))
        return [period for period in every if hyper % period == 0]
    chain = [chance.choice(every[: max(1, len(every) // 4)])]
    while True:
        further = [period for period in every if period > chain[-1] and period % chain[-1] == 0]
        if not further or chance.random() < 0.15:
            return chain
        chain.append(chance.choice(further))


def utilisation(slot_us: int, periods_us: list[int]) -> Fraction:
    """Packets per ring cycle divided by slots of the ring: sum of slot / period (KeepON paper
    section A.8).
    """
    return sum((Fraction(slot_us, period) for period in periods_us), Fraction(0))


def _drawn(
    parameters: Parameters, level: Fraction, count: int, chance: random.Random
) -> list[int] | None:
    """Periods of `count` flows with a utilisation near the level; None if this draw does not reach
    it.
    """
    choices = _periods(parameters, chance)
    # Frames in a time that makes the wanted number of them whole.
    common = math.lcm(*choices) * parameters.slot_us * level.denominator
    frames = {period: common // period for period in choices}
    wanted = int(level * common / parameters.slot_us)
    nearby = int(wanted * parameters.tolerance)
    periods = [chance.choice(choices) for _ in range(count)]
    total = sum(frames[period] for period in periods)
    for _ in range(MOVES_MAX):
        if abs(total - wanted) <= nearby:
            return periods
        place = chance.randrange(count)
        rest = total - frames[periods[place]]
        closest = min(choices, key=lambda period: abs(rest + frames[period] - wanted))
        periods[place] = closest if chance.random() < 0.7 else chance.choice(choices)
        total = rest + frames[periods[place]]
    return None


def _classes(parameters: Parameters, count: int, chance: random.Random) -> list[int]:
    n_classes = chance.randint(1, min(parameters.classes_max, count))
    classes = list(range(n_classes)) + [
        chance.randrange(n_classes) for _ in range(count - n_classes)
    ]
    chance.shuffle(classes)
    return classes


def _instance(
    parameters: Parameters, percent: int, number: int, chance: random.Random
) -> dict[str, Any]:
    level = Fraction(percent, 100)
    shortest = parameters.period_step_us
    counts = [
        n for n in parameters.flow_counts if Fraction(n * parameters.slot_us, shortest) >= level
    ]
    for _ in range(ATTEMPTS_MAX if counts else 0):
        periods = _drawn(parameters, level, chance.choice(counts), chance)
        if periods is not None:
            break
    else:
        raise ConfigError(
            f"utilisation level {percent} %: no {' or '.join(map(str, parameters.flow_counts))}"
            f" flows with periods from {shortest} us reach it; choose a lower level or more flows"
        )
    classes = _classes(parameters, len(periods), chance)
    low, high = parameters.jitter_percent
    flows = [
        {
            "flow": index,
            "class": classes[index],
            "period_us": period,
            "jitter_us": chance.randint(period * low // 10, period * high // 10) / 10,
        }
        for index, period in enumerate(periods)
    ]
    hyper_us, ring_us = math.lcm(*periods), parameters.ring_slots * parameters.slot_us
    return {
        "id": f"{'chain' if parameters.harmonic else 'bounded'}-u{percent:03d}-{number:02d}",
        "util_level_percent": percent,
        "util_actual_percent": round(float(100 * utilisation(parameters.slot_us, periods)), 3),
        "n_flows": len(periods),
        "n_classes": max(classes) + 1,
        "slot_us": parameters.slot_us,
        "ring_slots": parameters.ring_slots,
        "hyperperiod_us": hyper_us,
        "ring_cycle_us": ring_us,
        "super_cycle_us": math.lcm(hyper_us, ring_us),
        "flows": flows,
    }


def generate(parameters: Parameters, seed: int) -> dict[str, Any]:
    """A document of instances without answers; the same seed gives the same document.

    Each instance has its own random stream, so that more levels or instances do not change the
    others.

    Raises:
        ConfigError: a utilisation cannot be reached with these flow counts and periods.
    """
    kind = "chain" if parameters.harmonic else "bounded"
    return {
        "schema": {"version": 1, "units": "*_us microseconds; *_slots integers in slots of slot_us",
                   "semantics": SEMANTICS},
        "generator_seed": seed,
        "instances": [
            _instance(parameters, percent, number,
            random.Random(f"{seed}/{kind}/{percent}/{number}"))
            for percent in parameters.levels_percent
            for number in range(parameters.per_level)
        ],
    }  # fmt: skip
