# SPDX-License-Identifier: BSD-3-Clause
"""The sets of flows of the experiment, and what is found out about one of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from keepon_papers.partitions.generate import generate
from keepon_papers.partitions.settings import TABLE5, Settings


@dataclass(frozen=True)
class Task:
    """One set to decide: position among all, instance, seconds at most, seed of random choices."""

    position: int
    instance: dict[str, Any]
    time_limit_s: float
    seed: int


@dataclass(frozen=True)
class Finding:
    """What was found about one set.

    Attributes:
        position: of the set among all.
        name: its id.
        level_percent, actual_percent: utilisation that was asked for, and what the set has.
        flows, classes: how many.
        answer: "feasible", "proven_infeasible" or "unknown" (not within the limit).
        method: what decided it.
        seconds: time to decide.
        checked: the independent checker has confirmed it; an infeasible answer by exhaustive search
            it can not.
        owned_slots: ring slots with an owner in the schedule found, which need not be the fewest;
            None without one.
        shared_answer: the answer with all classes sharing their slots; "feasible" wherever `answer`
            is.
        shared_seconds: time to decide that; 0 where it follows, from `answer` or from there being
            one class.
    """

    position: int
    name: str
    level_percent: int
    actual_percent: float
    flows: int
    classes: int
    answer: str
    method: str
    seconds: float
    checked: bool
    owned_slots: int | None
    shared_answer: str
    shared_seconds: float


def tasks(settings: Settings) -> list[Task]:
    """All sets, the first of each utilisation first, so that an experiment that is ended has seen
    all utilisations.

    Raises:
        ConfigError: a utilisation cannot be reached with these numbers of flows.
    """
    instances = generate(settings.parameters, settings.seed)["instances"]
    levels = len(settings.all_levels_percent)
    order = [
        level * settings.sets + number for number in range(settings.sets) for level in range(levels)
    ]
    return [Task(place, instances[place], settings.time_limit_s, settings.seed) for place in order]


def outside(instance: dict[str, Any], flow_counts: list[int], chain: bool) -> str:
    """What an instance does not keep of Table 5 and of the definition of utilisation; empty if it
    keeps all.

    Computed from the flows alone: packets per ring cycle by slots of the ring, over the whole cycle
    L.
    """
    slot, ring, flows = instance["slot_us"], instance["ring_slots"], instance["flows"]
    periods = [flow["period_us"] for flow in flows]
    cycle_us = lcm(*periods, slot * ring)
    packets_per_ring = Fraction(
        sum(cycle_us // period for period in periods), cycle_us // (slot * ring)
    )
    level = Fraction(instance["util_level_percent"], 100)
    low, high = TABLE5["jitter_percent_of_period"]
    if slot != TABLE5["slot_us"] or ring != TABLE5["ring_slots"]:
        return f"{ring} slots of {slot} us"
    if len(flows) not in flow_counts:
        return f"{len(flows)} flows"
    if abs(packets_per_ring / ring - level) > level / 20:
        return f"utilisation {float(100 * packets_per_ring / ring):.2f} %"
    if any(p % TABLE5["period_step_us"] or not 0 < p <= TABLE5["period_max_us"] for p in periods):
        return f"periods {periods}"
    if chain and any(b % a for a, b in zip(sorted(periods), sorted(periods)[1:], strict=False)):
        return f"periods {periods} are no chain"
    if any(
        not low * f["period_us"] <= 100 * Fraction(str(f["jitter_us"])) <= high * f["period_us"]
        for f in flows
    ):
        return "jitter"
    classes = {flow["class"] for flow in flows}
    if classes != set(range(instance["n_classes"])) or len(classes) > TABLE5["classes_max"]:
        return f"classes {sorted(classes)}"
    return ""
