# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios with stations of several ports, as text; and what becomes of them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import verify
from keepon.targets.sim.build import Build
from keepon.targets.sim.refusals import check_supported
from keepon.targets.sim.runner import simulate_build


def value(entry: Any) -> str:
    if isinstance(entry, list):
        return "[" + ", ".join(map(value, entry)) + "]"
    if isinstance(entry, bool):
        return str(entry).lower()
    return f'"{entry}"' if isinstance(entry, str) else str(entry)


def table(kind: str, keys: dict[str, Any]) -> str:
    return f"[[{kind}]]\n" + "".join(f"{key} = {value(entry)}\n" for key, entry in keys.items())


def link(one: str, other: str, **keys: Any) -> str:
    return table("link", {"ends": [one, other], **keys})


def stream(name: str, talker: str, *listeners: str, **keys: Any) -> str:
    own = {"period_ns": 1_000_000, "frame_bytes": 200, "advance_ns": 800_000}
    return table("stream", {"id": name, "talker": talker, "listeners": [*listeners], **own, **keys})


def station(name: str, driver: str = "keepon", host: str = "raspberry-pi-4", more: str = "") -> str:
    return table("station", {"name": name, "driver": driver, "host": host}) + more


def leaf(name: str) -> str:
    return station(name, "launchtime", "tsn-end-station")


def bridge(name: str, gates: str = "auto") -> str:
    return table("bridge", {"name": name, "gates": gates})


def text_of(*parts: str, head: str = "") -> str:
    begin = 'schema = "keepon.scenario/1"\nname = "ports"\nduration_s = 0.05\nwarmup_s = 0.05\n'
    return begin + head + "".join(parts)


def scenario_of(*parts: str, head: str = "") -> Scenario:
    return loading.parse(text_of(*parts, head=head), "ports.toml")


def gateway(*more: str, rates: tuple[int, ...] = (10**9, 10**9), driver: str = "keepon",
            head: str = "", host: str = "") -> Scenario:  # fmt: skip
    """ "gw" with a port towards each of the bridges b0, b1 ..., each with a station s0, s1 ..."""
    parts = [station("gw", driver, more=host)]
    for number, rate in enumerate(rates):
        name = f"b{number}"
        parts += [leaf(f"s{number}"), bridge(name), link("gw", name, rate_bps=rate)]
        parts.append(link(name, f"s{number}", rate_bps=rate))
    return scenario_of(*parts, *more, head=head)


def ring(*more: str, head: str = "") -> Scenario:
    """Bridges b0 to b3 in a ring, "gw" at b0 and at b2, stations a at b0, c at b1 and e at b2."""
    names = [f"b{number}" for number in range(4)]
    parts = [station("gw"), *map(bridge, names), leaf("a"), leaf("c"), leaf("e")]
    parts += [link("gw", "b0"), link("gw", "b2")]
    parts += [link(one, other) for one, other in itertools.pairwise([*names, "b0"])]
    parts += [link("a", "b0"), link("c", "b1"), link("e", "b2")]
    return scenario_of(*parts, *more, head=head)


def run_keepon(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "keepon", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def planned(scenario: Scenario) -> Plan:
    plan = make_plan(scenario)
    assert plan["status"] == "feasible", plan.get("why")
    return verify(scenario, plan)


def ran(scenario: Scenario, plan: Plan | None = None) -> tuple[Build, dict[str, Any]]:
    check_supported(scenario)
    build, run = simulate_build(scenario, plan or planned(scenario), scenario.drivers()[0], 1)
    return build, dict(run.document)


def left_by_port(build: Build, result: dict[str, Any], name: str) -> list[int]:
    """Frames that left by each port, as the ports' NICs have counted them."""
    ports = result["stations"][name]["ports"]
    return [ports[port.name]["nic"]["frames"] for port in build.topology.ports_of(name)]
