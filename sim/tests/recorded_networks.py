# SPDX-License-Identifier: BSD-3-Clause
"""The examples as input of the simulator, and what became of every frame.

`recorded/NAME.json` holds the calls that built a network, so that neither planner nor Python side
has a part in it; `recorded/traces.json` what runs of it gave, one entry for each seed: the trace
hash, a digest of all results, frames and events. A change of the simulator that means to change no
behaviour leaves hashes and digests as they are, and events no more than they were.

    python sim/tests/recorded_networks.py              compare; events and time per frame
    ... --traces           record traces.json again: behaviour was changed
    ... --networks         record the networks again: examples were changed
    ... --instructions     instructions per frame, under valgrind
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from keepon import _sim

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = HERE / "recorded"
TRACES = FOLDER / "traces.json"
SEEDS = (1, 2)


@dataclass(frozen=True)
class Case:
    """A network: an example, one driver of it, and what is changed to have results soon."""

    example: str
    driver: str
    warmup_s: float
    duration_s: float
    sync: dict[str, Any] | None = None


CASES = {
    "two-stations": Case("two-stations", "keepon", 0.02, 0.4),
    "three-stations": Case("three-stations", "keepon", 0.02, 0.3),
    "habitat-keepon": Case("habitat", "keepon", 0.02, 0.2),
    "habitat-standard": Case("habitat", "standard", 0.02, 0.2),
    "habitat-launchtime": Case("habitat", "launchtime", 0.02, 0.2),
    "habitat-gptp": Case(
        "habitat",
        "standard",
        1.0,
        0.2,
        {"mode": "gptp", "grandmaster": "rt-simulator", "priority": 7},
    ),
    "gptp-keepon": Case("gptp", "keepon", 4.0, 0.5),
    "gptp-launchtime": Case("gptp", "launchtime", 4.0, 0.5),
    "ptp-keepon": Case("gptp", "keepon", 4.0, 0.5, {"mode": "ptp", "grandmaster": "talker"}),
    "ptp-standard": Case("gptp", "standard", 4.0, 0.5, {"mode": "ptp", "grandmaster": "listener"}),
    "free-running": Case("gptp", "launchtime", 0.1, 0.3, {"mode": "none"}),
    "robot-cell": Case("robot-cell", "keepon", 2.0, 0.1),
}
NAMES = (*CASES, "mixed")


class Recorder:
    """Stands for a Simulation while it is built, and records the calls."""

    def __init__(self, epoch_ns: int) -> None:
        self.real = _sim.Simulation(1, epoch_ns)
        self.network: dict[str, Any] = {"epoch_ns": epoch_ns, "calls": []}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)

        def call(*arguments: Any) -> Any:
            self.network["calls"].append([name, *arguments])
            return method(*arguments)

        return call


def plain(value: Any) -> Any:
    """As JSON has it, and back: dict keys that are numbers as strings, specifications as what
    they do not leave to defaults.
    """
    if type(value).__module__ == "keepon._sim":
        default = type(value)()
        value = {
            name: own
            for name in dir(value)
            if name[0] != "_" and (own := getattr(value, name)) != getattr(default, name)
        }
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def record(case: Case) -> dict[str, Any]:
    """The calls that build a network, and until when it is run."""
    import tomllib

    import tomli_w
    from keepon.cli import session
    from keepon.measure.due import run_ns
    from keepon.model.loading import parse
    from keepon.model.timing import epoch_ns_for, measured_ns
    from keepon.targets.sim import build

    document = tomllib.loads((ROOT / "examples" / f"{case.example}.toml").read_text())
    document |= {"warmup_s": case.warmup_s, "duration_s": case.duration_s}
    document["sync"] = {**document.get("sync", {}), **(case.sync or {})}
    if document["sync"].get("mode") == "none":
        document["sync"] = {"mode": "none"}
    if case.driver == "standard":
        document["compare"] = {"drivers": ["standard"]}
    scenario = parse(tomli_w.dumps(document), case.example)
    plan = session.planned(scenario)
    recorder = Recorder(epoch_ns_for(scenario))

    build.Simulation = lambda seed, epoch_ns: recorder  # type: ignore[assignment,misc]
    try:
        built = build.Build(scenario, plan, case.driver, 1)
    finally:
        build.Simulation = _sim.Simulation  # type: ignore[misc]
    recorder.set_window(*measured_ns(scenario))
    return {
        **plain(recorder.network),
        "nodes": plain(built.nodes),
        "bridges": sorted(built.nodes[bridge.name] for bridge in scenario.bridge),
        "streams": sorted(built.streams.values()),
        "loads": sorted(built.loads.values()),
        "ptp": scenario.sync.by_ptp,
        "until_ns": run_ns(scenario, plan),
    }


def mixed() -> dict[str, Any]:
    """What the examples have not: loads that saturate, faults, two listeners, bounded queues."""
    gigabit, ms = 1_000_000_000, 1_000_000
    host = {
        "wakeup": {"base_ns": 1_000, "median_ns": 2_000, "sigma": 0.6, "tail_probability": 0.01,
                   "tail_mean_ns": 20_000},
        "stack": {"base_ns": 3_000, "median_ns": 1_000, "sigma": 0.4},
        "driver": {"median_ns": 500, "sigma": 0.3},
        "timer": {"median_ns": 1_000, "sigma": 0.5},
        "poll": {"median_ns": 1_000, "sigma": 0.9},
    }  # fmt: skip
    keepon = {
        "slot_bytes": 230, "batch_slots": 32, "ring_slots": 256, "depth_slots": 128,
        "trim_down_bytes": 16, "trim_up_bytes": 16,
    }  # fmt: skip
    specs: dict[str, dict[str, Any]] = {
        "k": {"driver": "keepon", "keepon": keepon, "nic_ppm": 30.0, "wander_ppb_per_s": 100.0},
        "s": {"driver": "standard", "release": "etf", "occupancy_ns": 700},
        "i": {"driver": "launchtime", "cpu_ppm": -20.0, "sync": "none"},
        "b": {"driver": "standard", "release": "sleep", "nic": {"coalesce_ns": 50_000}},
    }
    recorder = Recorder(1_700_000_000 * gigabit)
    bridges = [
        recorder.add_bridge(name, {"queue_frames": 20, "ppm": ppm})
        for name, ppm in (("b1", 0.0), ("b2", 12.0))
    ]
    nodes = {
        name: recorder.add_station(name, {**spec, "host": host}) for name, spec in specs.items()
    }
    ends = {name: recorder.add_station(name, {}) for name in ("l", "m")}
    for node in [*nodes.values(), ends["m"]]:
        recorder.add_link(node, bridges[0], gigabit, 50)
    recorder.add_link(bridges[0], bridges[1], gigabit, 70, 20)
    recorder.add_link(bridges[1], ends["l"], gigabit // 10, 50)
    recorder.set_gates(bridges[1], ends["l"], 0, [(0xFE, 150_000), (0x01, 350_000)])
    streams = [
        recorder.add_stream(
            {
                "id": name, "talker": nodes[name], "listeners": list(ends.values()),
                "routes": [bridges, bridges[:1]], "period_ns": ms // 2, "offset_ns": 100_064,
                "frame_bytes": 200, "queue": 5, "turns_ns": [100_064, 350_064],
            }
        )
        for name in ("k", "s", "i")
    ]  # fmt: skip
    common = {"talker": nodes["b"], "route": bridges[:1], "window_frames": 4}
    loads = [
        recorder.add_load({**common, "id": "full", "listener": ends["m"], "kind": "saturate"}),
        recorder.add_load(
            {**common, "id": "some", "listener": nodes["i"], "rate_bps": 10**8, "queue": 2,
             "frame_bytes": 700}
        ),
        recorder.add_load(
            {"id": "slots", "talker": nodes["k"], "listener": nodes["s"], "route": bridges[:1],
             "kind": "saturate", "frame_bytes": 100, "queue": 1}
        ),
    ]  # fmt: skip
    for kind, name, at_ms, value_ns in (
        ("link-down", "s", 40, 3 * ms), ("late-submit", "i", 60, 700_000),
        ("wire-pause", "i", 80, 200_000), ("wire-pause", "k", 90, 200_000),
        ("poll-stall", "k", 110, 900_000), ("clock-step", "s", 130, 40_000),
        ("rate-step", "k", 150, 3_000),
    ):  # fmt: skip
        recorder.add_fault(kind, nodes[name], at_ms * ms, value_ns)
    return {
        **plain(recorder.network),
        "nodes": {**nodes, **ends, "b1": bridges[0], "b2": bridges[1]},
        "bridges": bridges,
        "streams": streams,
        "loads": loads,
        "ptp": False,
        "until_ns": 200 * ms,
    }


def build_from(network: dict[str, Any], seed: int) -> Any:
    """A simulation built by the calls of a recorded network."""
    sim = _sim.Simulation(seed, network["epoch_ns"])
    for name, *arguments in network["calls"]:
        getattr(sim, name)(*(typed(value) for value in arguments))
    return sim


def typed(value: Any) -> Any:
    """JSON has neither tuples nor numbers as keys: gates, domains and classes have both."""
    if isinstance(value, dict):
        return {
            int(key) if key.isdigit() else key: typed(entry)
            if key not in ("classes", "domains", "changes")
            else tuples(entry)
            for key, entry in value.items()
        }
    if isinstance(value, list):
        return [
            tuple(entry) if isinstance(entry, list) and pair(entry) else entry for entry in value
        ]
    return value


def pair(entry: list[Any]) -> bool:
    return len(entry) == 2 and all(isinstance(part, int) for part in entry)


def tuples(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {int(key): tuple(value) for key, value in entry.items()}
    return [tuple(value) for value in entry]


def digest(value: Any, into: Any) -> None:
    """Feed everything of a result into a hash, whatever the order of keys."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            into.update(str(key).encode())
            digest(value[key], into)
    elif isinstance(value, np.ndarray):
        into.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        for entry in value:
            digest(entry, into)
    else:
        into.update(repr(value).encode())


def results(network: dict[str, Any], sim: Any) -> str:
    """Digest of all that can be asked: every frame, every counter, every clock."""
    into = hashlib.sha256()
    for stream in network["streams"]:
        digest(sim.frames(stream), into)
        digest(sim.stream(stream), into)
    for load in network["loads"]:
        digest(sim.load(load), into)
    for node in network["nodes"].values():
        digest(sim.bridge(node) if node in network["bridges"] else sim.station(node), into)
    if network["ptp"]:
        digest(sim.ptp_flows(), into)
        for node in network["nodes"].values():
            try:
                digest(sim.clock(node), into)
            except ValueError:  # a plain bridge, which knows nothing of PTP
                into.update(b"-")
    return into.hexdigest()[:16]


def frames_of(network: dict[str, Any], sim: Any) -> int:
    """Frames handed over by all talkers, those of PTP too."""
    flows = [sim.stream(stream) for stream in network["streams"]]
    flows += [sim.load(load) for load in network["loads"]]
    flows += sim.ptp_flows() if network["ptp"] else []
    return int(sum(flow["submitted"] for flow in flows))


def read(name: str) -> dict[str, Any]:
    network: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return network


def trace(name: str, seed: int) -> dict[str, Any]:
    """What a run of a recorded network gives."""
    network = read(name)
    sim = build_from(network, seed)
    sim.run(network["until_ns"])
    return {
        "trace": f"{sim.trace_hash():016x}",
        "entries": sim.trace_count,
        "results": results(network, sim),
        "frames": frames_of(network, sim),
        "events": sim.event_count,
    }


def write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n")


def write_traces(traces: dict[str, dict[str, Any]]) -> None:
    """One line for each run, so that a difference shows which."""
    lines = [f' "{name}": {json.dumps(traces[name], sort_keys=True)}' for name in sorted(traces)]
    TRACES.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def instructions(name: str) -> float:
    """Instructions of the second half of a run, per frame, under valgrind.

    The interpreter's own differ by some million from run to run: compare networks of many frames.
    """
    counts = []
    for share in ("0.5", "1"):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [
                    "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                    sys.executable, __file__, "--run", name, share,
                ],
                check=True, capture_output=True, text=True,
                env={**os.environ, "PYTHONHASHSEED": "0"},
            )  # fmt: skip
        collected = re.search(r"Collected : (\d+)", done.stderr)
        assert collected
        counts.append((int(collected[1]), int(done.stdout)))
    (least, few), (most, many) = counts
    return (most - least) / (many - few)


def run_part(name: str, share: float) -> None:
    network = read(name)
    sim = build_from(network, 1)
    sim.run(round(network["until_ns"] * share))
    print(frames_of(network, sim))


def compare() -> int:
    recorded = json.loads(TRACES.read_text())
    differ = 0
    print(f"{'network':<22}{'frames':>8}{'events':>9}{'a frame':>9}{'before':>8}{'x time':>8}")
    for name in NAMES:
        network = read(name)
        for seed in SEEDS:
            sim = build_from(network, seed)
            began = time.process_time()
            sim.run(network["until_ns"])
            ratio = network["until_ns"] / 1e9 / (time.process_time() - began)
            now, before = trace(name, seed), recorded[f"{name} {seed}"]
            wrong = [
                key for key in ("trace", "entries", "results", "frames") if now[key] != before[key]
            ]
            differ += bool(wrong)
            print(
                f"{name:<22}{now['frames']:>8}{now['events']:>9}"
                f"{now['events'] / now['frames']:>9.2f}{before['events'] / before['frames']:>8.2f}"
                f"{ratio:>8.1f}  {'differs: ' + ', '.join(wrong) if wrong else 'same'}"
            )
    return int(differ > 0)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--run"]:
        run_part(arguments[1], float(arguments[2]))
    elif arguments == ["--networks"]:
        FOLDER.mkdir(exist_ok=True)
        for name, case in CASES.items():
            write(FOLDER / f"{name}.json", record(case))
        write(FOLDER / "mixed.json", mixed())
    elif arguments == ["--traces"]:
        write_traces({f"{name} {seed}": trace(name, seed) for name in NAMES for seed in SEEDS})
    elif arguments[:1] == ["--instructions"]:
        for name in arguments[1:] or NAMES:
            print(f"{name:<22}{instructions(name):>10.0f} instructions a frame", flush=True)
    else:
        return compare()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
