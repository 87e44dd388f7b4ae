# SPDX-License-Identifier: BSD-3-Clause
"""Networks for the planner's benchmark, made from a seed: a ring of bridges, four stations at each,
random streams.
"""

from __future__ import annotations

import random
import time

from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems

PERIODS_NS = (1_000_000, 2_000_000, 4_000_000)
STATIONS_PER_BRIDGE = 4
SIZES = ((10, 128, 5.0), (10, 256, None), (20, 1024, 30.0))
"""Bridges, streams, and the goal in seconds."""


def network(bridges: int, streams: int, seed: int) -> Scenario:
    """Every station talks to any other; three periods, three queues, frames of 64 to 400 bytes,
    links of 1 Gb/s.
    """
    draw = random.Random(seed)
    text = [f'schema = "keepon.scenario/1"\nname = "ring-{bridges}-{streams}"']
    stations = []
    for bridge in range(bridges):
        text.append(f'[[bridge]]\nname = "b{bridge}"')
        text.append(f'[[link]]\nends = ["b{bridge}", "b{(bridge + 1) % bridges}"]')
        for place in range(STATIONS_PER_BRIDGE):
            name = f"s{bridge}-{place}"
            stations.append(name)
            driver = "keepon" if draw.random() < 0.6 else "launchtime"
            text.append(f'[[station]]\nname = "{name}"\ndriver = "{driver}"')
            text.append(f'[[link]]\nends = ["{name}", "b{bridge}"]')
    for number in range(streams):
        talker, listener = draw.sample(stations, 2)
        text.append(
            f'[[stream]]\nid = "F{number}"\ntalker = "{talker}"\nlisteners = ["{listener}"]\n'
            f"period_ns = {draw.choice(PERIODS_NS)}\nframe_bytes = {draw.randint(64, 400)}\n"
            f"priority = {draw.choice((4, 5, 6))}\nadvance_ns = 400_000"
        )
    return loading.parse("\n".join(text), "bench.toml")


def measure(seed: int) -> tuple[list[dict[str, object]], list[str]]:
    """Seconds of one core to plan and to check each size, and the names of networks whose plan the
    checker rejects.
    """
    rows, wrong = [], []
    for bridges, streams, target_s in SIZES:
        scenario = network(bridges, streams, seed)
        begin = time.process_time()
        plan = make_plan(scenario, Limits(time.monotonic() + 120))
        planned_s = time.process_time() - begin
        if plan["status"] == "feasible" and problems(scenario, plan):
            wrong.append(scenario.name)
        checked_s = time.process_time() - begin - planned_s
        rows.append(
            {
                "bridges": bridges,
                "streams": streams,
                "status": plan["status"],
                "method": plan["method"],
                "seconds": round(planned_s, 3),
                "check_seconds": round(checked_s, 3),
                "target_seconds": target_s,
                "met": plan["status"] == "feasible" and (target_s is None or planned_s < target_s),
            }
        )
    return rows, wrong
