# SPDX-License-Identifier: BSD-3-Clause
"""A simulation without the program round it: the recorded calls that build it, repeated.

`record` keeps the calls that build a scenario's network. This file as a program repeats them, runs
and prints as JSON what it cost and what was counted. It loads nothing but the extension, so that
repeating is quick and can be done under a counter of instructions.

    python bench/recorded.py CALLS UNTIL_NS [--bare]     # --bare: collect nothing afterwards
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepon.model.scenario import Scenario

Calls = list[tuple[str, tuple[Any, ...]]]
PS_PER_NS = 1000


def plain(value: Any) -> Any:
    """A specification as a dict of what it does not leave to defaults, which does as well."""
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if type(value).__module__ != "keepon._sim":
        return value
    default = type(value)()
    return {
        name: plain(own)
        for name in dir(value)
        if name[0] != "_" and (own := getattr(value, name)) != getattr(default, name)
    }


class Noted:
    def __init__(self, simulation: Any, calls: Calls) -> None:
        self._simulation, self._calls = simulation, calls

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._simulation, name)

        def noted(*arguments: Any) -> Any:
            self._calls.append((name, tuple(plain(argument) for argument in arguments)))
            return method(*arguments)

        return noted


def record(scenario: Scenario, plan: dict[str, Any], path: Path) -> None:
    """Keep in `path` how the network of a scenario with one driver is built."""
    from keepon.targets.sim import build

    calls: Calls = []
    real = build.Simulation

    def noted(*arguments: Any) -> Any:
        calls.append(("Simulation", arguments))
        return Noted(real(*arguments), calls)

    build.Simulation = noted
    try:
        build.Build(scenario, plan, scenario.drivers()[0], scenario.seed)
    finally:
        build.Simulation = real
    path.write_bytes(pickle.dumps(calls))


def read(path: Path) -> Calls:
    calls: Calls = pickle.loads(path.read_bytes())
    return calls


@dataclass(frozen=True)
class Repeated:
    """The simulation again, the numbers of its stations and streams, and its epoch."""

    simulation: Any
    stations: list[int]
    streams: list[int]
    epoch_ns: int


def repeat(calls: Calls) -> Repeated:
    from keepon import _sim

    (_, (seed, epoch_ns)), *rest = calls
    simulation = _sim.Simulation(seed, epoch_ns)
    numbers: dict[str, list[int]] = {}
    for name, arguments in rest:
        numbers.setdefault(name, []).append(getattr(simulation, name)(*arguments))
    return Repeated(simulation, numbers["add_station"], numbers["add_stream"], epoch_ns)


def counted_stream(run: Repeated, number: int) -> tuple[str, dict[str, Any]]:
    """What bench/ns3 counts of a stream; instants are those of first bytes."""
    counts, frames = run.simulation.stream(number), run.simulation.frames(number)
    arrival_ps = frames["arrival_ps"][0]
    here = arrival_ps >= 0
    due_ps = (frames["txtime_ns"][here] - run.epoch_ns) * PS_PER_NS
    delay_ns = (arrival_ps[here] - due_ps) / PS_PER_NS
    return counts["id"], {
        "sent": counts["on_wire"],
        "received": counts["delivered"],
        "delay_ns": [float(delay_ns.min()), float(delay_ns.max())] if here.any() else None,
    }


def counted(run: Repeated) -> dict[str, Any]:
    """What bench/ns3 counts, of the same network, and how often drivers polled."""
    stations = [run.simulation.station(number) for number in run.stations]
    saturated = [station for station in stations if "counters" in station]
    nics = [station["nic"] for station in saturated]
    return {
        "events": run.simulation.event_count,
        "polls": sum(station["counters"]["polls"] for station in saturated),
        "slots": sum(nic["placeholders"] + nic["frames"] for nic in nics),
        "placeholders": sum(nic["placeholders"] for nic in nics),
        "streams": dict(counted_stream(run, number) for number in run.streams),
    }


def main() -> int:
    run = repeat(read(Path(sys.argv[1])))
    began = time.process_time()
    run.simulation.run(int(sys.argv[2]), None)
    cpu_s = time.process_time() - began
    if sys.argv[3:] == ["--bare"]:
        return 0
    rss_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"cpu_s": cpu_s, "rss_kib": rss_kib, **counted(run)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
