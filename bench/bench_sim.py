# SPDX-License-Identifier: BSD-3-Clause
"""Speed and memory of the simulator: prints a table, writes out/bench/sim.json.

Each case runs in a process of its own, three times; the median counts. `habitat_realtime_ratio` and
`link_realtime_ratio` are simulated wire time over CPU time of Simulation.run(), whose events are
all there is to simulate; the ratios `*_with_statistics` include building the network, copying every
frame's record to numpy and all statistics of a result. `peak_rss_mb` is the largest resident memory
of any of these processes, the interpreter and numpy included.

Then ns-3 runs the link, a line of bridges and the habitat case study, and its CPU time is set
beside ours (sim_peers.py); where it is not installed one sentence says so. Exit code 0 whether
targets are met or not: the table says which are; 1 if ns-3 is there and its program fails.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import sim_peers
from ns3_peer import PeerError

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "out" / "bench" / "sim.json"
REPEATS = 3
CASES = {"habitat": "examples/habitat.toml", "link": "examples/two-stations.toml"}
TARGETS = {"habitat_realtime_ratio": 40.0, "link_realtime_ratio": 400.0, "peak_rss_mb": 500.0}
KIB_PER_MB = 1000 * 1000 / 1024


def measure(name: str) -> dict[str, Any]:
    """One case in this process: the first driver of the scenario, its whole duration."""
    from keepon.cli import session
    from keepon.model.loading import load
    from keepon.targets.sim import build, runner

    scenario = load(ROOT / CASES[name])
    plan = session.planned(scenario)
    driver = scenario.drivers()[0]
    wire_s = scenario.warmup_s + scenario.duration_s
    build = build.Build(scenario, plan, driver, scenario.seed)
    began = time.process_time()
    build.simulation.run(round(wire_s * 1e9), None)
    run_s = time.process_time() - began
    stations = [
        build.simulation.station(number)
        for number in build.nodes.values()
        if is_station(build, number)
    ]
    events = build.simulation.event_count
    del build
    began = time.process_time()
    runner.simulate(scenario, plan, driver, scenario.seed)
    whole_s = time.process_time() - began
    return {
        "wire_s": wire_s,
        "run_s": run_s,
        "whole_s": whole_s,
        "events": events,
        "polls": sum(station["counters"]["polls"] for station in stations if "counters" in station),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_MB,
    }


def is_station(build: Any, number: int) -> bool:
    return number in {build.nodes[station.name] for station in build.scenario.station}


def repeated(name: str) -> dict[str, float]:
    runs = []
    for _ in range(REPEATS):
        done = subprocess.run(
            [sys.executable, __file__, "--case", name],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        runs.append(json.loads(done.stdout))
    merged = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    merged["rss_mb"] = max(run["rss_mb"] for run in runs)
    merged["run_s_spread"] = max(run["run_s"] for run in runs) - min(run["run_s"] for run in runs)
    return merged


def main() -> int:
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(measure(sys.argv[2])))
        return 0
    cases = {name: repeated(name) for name in CASES}
    figures = {
        f"{name}_realtime_ratio": case["wire_s"] / case["run_s"] for name, case in cases.items()
    }
    figures["peak_rss_mb"] = max(case["rss_mb"] for case in cases.values())
    met = {
        key: figures[key] <= target if key == "peak_rss_mb" else figures[key] >= target
        for key, target in TARGETS.items()
    }
    document: dict[str, Any] = {
        "schema": "keepon.bench/1",
        "name": "sim",
        **{key: round(value, 1) for key, value in figures.items()},
        **{
            f"{name}_realtime_ratio_with_statistics": round(case["wire_s"] / case["whole_s"], 1)
            for name, case in cases.items()
        },
        "cases": cases,
        "targets": TARGETS,
        "met": met,
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
        },
    }
    print(f"{'figure':<28}{'value':>10}{'target':>10}")
    for key, target in TARGETS.items():
        bound = "at most" if key == "peak_rss_mb" else "at least"
        print(
            f"{key:<28}{figures[key]:>10.1f}{target:>10.0f}  {bound}:"
            f" {'met' if met[key] else 'MISSED'}"
        )
    for name, case in cases.items():
        print(
            f"{name}: {case['wire_s']:.1f} s of wire time in {case['run_s']:.2f} s of CPU"
            f" ({case['whole_s']:.2f} s with statistics); {case['polls'] / case['run_s'] / 1e6:.2f}"
            f" million polls and {case['events'] / case['run_s'] / 1e6:.2f} million events a second"
        )
    code = 0
    try:
        document["ns3"] = sim_peers.beside()
        print("\n".join(sim_peers.lines(document["ns3"])))
    except PeerError as error:
        print(f"ns-3 is not measured: {error}", file=sys.stderr)
        code = 1
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=2) + "\n")
    print(f"{RESULT.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
