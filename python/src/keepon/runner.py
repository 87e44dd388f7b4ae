# SPDX-License-Identifier: BSD-3-Clause
"""Runs a planned scenario in the simulator, one driver after the other, and hands back numbers.

The simulator is told what the plan says and nothing more; the listener's clock is never a talker's input.
"""

from __future__ import annotations

import importlib
import math
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from keepon import __version__, outcomes, results, timesync
from keepon.due import Schedule, allowed_ns, on_schedule
from keepon.errors import ConfigError, EnvironmentProblemError, SimulationError
from keepon.hosts import ETF_DELTA_NS, Sourced, chosen, etf_delta, host_of
from keepon.planner.gates import ALL_GATES
from keepon.results import FrameArrays
from keepon.scenario import NicOptions, Scenario, Station, Stream
from keepon.statistics import IntArray
from keepon.topology import Topology

Progress = Callable[[str, float], None]

EPOCH_NS = 1_700_000_000_000_000_000
SERIES_FRAMES = 500
DRAIN_NS_MIN = 20_000_000
WANDER_PPM_MAX = 1.0
"""The simulator's oscillators wander by no more."""
START_NS = 10_000_000
CLASS_COUNT = 16
FAULT_NS_MAX = 10**15
PAUSE_NS_MAX = 10**12
SYNC_FAULTS = ("lost-sync", "master-change")


def simulator() -> ModuleType:
    """The extension module.

    Raises:
        EnvironmentProblemError: it was not built.
    """
    try:
        return importlib.import_module("keepon._sim")
    except ImportError as error:
        raise EnvironmentProblemError(
            f"the simulator module cannot be loaded ({error}); build it with `make run`"
        ) from error


def _check_dual_clock(scenario: Scenario, index: int, station: Station) -> None:
    """A receive ring is a clock where the frames of another keepon station fill it."""
    options = station.keepon
    where = f"key `station[{index}].keepon"
    if options.clock != "dual":
        for key, default in (("merge", "strip"), ("tau_ns", "auto")):
            if getattr(options, key) != default:
                raise ConfigError(
                    f'{where}.{key}` = {getattr(options, key)}: goes with clock = "dual" only, not "{options.clock}"'
                )
        return
    neighbours = {end for link in scenario.link if station.name in link.ends for end in link.ends} - {station.name}
    stations = {other.name for other in scenario.station if other.driver in ("keepon", "under-test")}
    if not neighbours <= stations:
        raise ConfigError(
            f'{where}.clock` = "dual": must be "interpolated" or "counter" where the other end of the link is no '
            f"keepon station ({', '.join(sorted(neighbours))}); nobody else sends without a pause"
        )


def check_supported(scenario: Scenario) -> None:
    """Refuse what the simulator cannot do, before any work.

    Raises:
        ConfigError: one sentence on the first such key.
    """
    for index, station in enumerate(scenario.station):
        _check_dual_clock(scenario, index, station)
    for index, load in enumerate(scenario.load):
        if load.kind == "tcp":
            raise ConfigError(
                f'key `load[{index}].kind` = "tcp": must be "udp" or "saturate"; the simulator has no TCP yet'
            )
    kinds = ("poll-stall", "clock-step", "link-down", "late-submit", "wire-pause", "lost-sync", "master-change")
    for index, fault in enumerate(scenario.fault):
        if fault.kind not in kinds:
            raise ConfigError(
                f'key `fault[{index}].kind` = "{fault.kind}": must be one of {", ".join(kinds)}; the simulator '
                "knows no other yet"
            )
        if fault.kind in SYNC_FAULTS and not scenario.sync.by_ptp:
            raise ConfigError(
                f'key `fault[{index}].kind` = "{fault.kind}": needs sync.mode "ptp" or "gptp", not '
                f'"{scenario.sync.mode}"; with that nobody sends Sync'
            )
        longest_ns = PAUSE_NS_MAX if fault.kind == "wire-pause" else FAULT_NS_MAX
        if fault.kind != "clock-step" and not 0 <= fault.value_ns <= longest_ns:
            raise ConfigError(
                f"key `fault[{index}].value_ns` = {fault.value_ns}: must be within 0 to {longest_ns}; for "
                f'"{fault.kind}" it is a length of time'
            )


@dataclass
class Run:
    """One driver's run: its part of the result file, and the arrays of the frames that were measured."""

    driver: str
    document: dict[str, Any]
    frames: dict[str, FrameArrays]
    trace_hash: str


@dataclass
class Outcome:
    """Everything a scenario's runs gave; `interrupted` if the user stopped before the last."""

    result: dict[str, Any]
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False


def talk_start_ns(scenario: Scenario) -> int:
    """When streams begin, from the start of the run.

    With PTP half of the warm-up is left to the clocks: frames sent before would miss their windows in gated bridges,
    and a window that fits one frame a cycle never catches up.
    """
    settled_ns = round(scenario.warmup_s * 1e9) // 2 if scenario.sync.by_ptp else 0
    return max(START_NS, settled_ns, *(stream.advance_ns for stream in scenario.stream), 0)


def epoch_ns_for(scenario: Scenario) -> int:
    """Network time of the start: a multiple of every period, so that cycles begin with the run."""
    cycle_ns = math.lcm(*(stream.period_ns for stream in scenario.stream))
    return -(-EPOCH_NS // cycle_ns) * cycle_ns


def _classes(planned: dict[str, Any], paper: bool) -> dict[int, tuple[str, str]]:
    """Late policy and rounding per class; the paper rounds down whatever the class, also those nobody uses."""
    classes = {int(tc): (entry["late"], entry["round"]) for tc, entry in planned["classes"].items()}
    if paper:
        return {tc: (classes.get(tc, ("strict", ""))[0], "floor") for tc in range(CLASS_COUNT)}
    return classes


def nic_spec(station: Station, driver: str) -> tuple[dict[str, int], list[Sourced]]:
    """What the simulator is told of a station's NIC, and the values that matter to its driver; all of them chosen."""
    own = station.nic
    ring = ["prefetch_slots", "fetch_ns", "restart_ns", "index_read_ns"]
    matters = {
        "keepon": ring + (["rx_lag_ns"] if station.keepon.clock == "dual" else []),
        "standard": ["fetch_ns", "coalesce_ns", "coalesce_frames"],
        "launchtime": ["fetch_ns"],
    }[driver]
    # A ring that is kept full fetches from the start on, the others when a frame has passed the driver.
    stage = "" if driver == "keepon" else "driver"
    used = [
        chosen(
            f"nic: {key}",
            getattr(own, key),
            "no published value" if getattr(own, key) == NicOptions.model_fields[key].default else "scenario",
            stage,
        )
        for key in matters
    ]
    spec = {key: getattr(own, key) for key in (*ring, "coalesce_ns", "coalesce_frames")}
    return {**spec, "rx_lag_ns_min": own.rx_lag_ns, "rx_lag_ns_max": own.rx_lag_ns}, used


def station_spec(
    scenario: Scenario, station: Station, run: str, plan: dict[str, Any]
) -> tuple[dict[str, Any], list[Sourced]]:
    """What the simulator is told of a station, and the sources of its host's numbers."""
    driver = scenario.driver_of(station, run)
    stages, sources = host_of(station.host, driver, scenario.host_tail_scale)
    # Neither other driver orders frames by txtime: ETF is the conventional driver's timing control and sorts for the
    # launch-time NIC, whose queue is a FIFO (KeepON paper section 6.1; the RFC's "current limitations").
    release = "etf" if driver != "keepon" and station.release == "txtime" else station.release
    delta_ns = ETF_DELTA_NS if station.etf_delta_ns == "auto" else int(station.etf_delta_ns)
    if release == "etf":
        if station.etf_delta_ns == "auto":
            delta = etf_delta(driver)
        else:
            delta = chosen(f"etf_delta_ns ({driver})", delta_ns, "scenario", "timer")
        sources = [*sources, delta]
    nic, used = nic_spec(station, driver)
    sources = [*sources, *used]
    spec: dict[str, Any] = {
        "driver": driver,
        "release": release,
        "host": {name: vars(stage) for name, stage in stages.items()},
        "occupancy_ns": stages["driver"].base_ns + stages["driver"].median_ns,
        "etf_delta_ns": delta_ns,
        "nic_ppm": station.clock_ppm,
        "cpu_ppm": station.cpu_ppm,
        "cpu_tick_ns": station.cpu_tick_ns,
        "wander_ppb_per_s": station.wander_ppb_per_s,
        "sync": scenario.sync.mode,
        "stamp_resolution_ns": station.stamp_resolution_ns,
        "nic": nic,
    }
    synchronised, used = timesync.station_spec(scenario, station, driver)
    if synchronised:
        spec["host"]["rx"] = synchronised.pop("rx")
        spec.update(synchronised)
        sources = [*sources, *used]
    if driver == "keepon":
        planned = plan["stations"][station.name]
        options = station.keepon
        spec["keepon"] = {
            "mode": planned["mode"],
            "slot_bytes": planned["slot_bytes"],
            "ring_slots": planned["ring_slots"],
            "partition": planned["allowed"],
            "batch_slots": planned["batch_slots"],
            "depth_slots": planned["depth_slots"],
            "trim_down_bytes": options.trim_down_bytes,
            "trim_up_bytes": options.trim_up_bytes,
            "trim": options.trim,
            "clock": options.clock if planned["mode"] != "paper" or options.clock == "dual" else "counter",
            "placeholder": planned["placeholder"],
            "poll_overhead_ns": planned["poll_overhead_ns"],
            "prebuffer_frames": options.prebuffer_frames,
            "dither": options.dither,
            "classes": _classes(planned, options.mode == "paper"),
        }
        if options.clock == "dual":
            spec["keepon"]["merge"] = options.merge
            if options.tau_ns != "auto":
                spec["keepon"]["tau_ns"] = options.tau_ns
        if options.tolerance_ns != "auto":
            spec["keepon"]["tolerance_ns"] = options.tolerance_ns
    return spec, sources


class Build:
    """A simulation built from scenario and plan."""

    def __init__(self, scenario: Scenario, plan: dict[str, Any], run: str, seed: int) -> None:
        module = simulator()
        self.scenario, self.plan, self.run = scenario, plan, run
        self.epoch_ns = epoch_ns_for(scenario)
        self.simulation = module.Simulation(seed, self.epoch_ns)
        self.nodes: dict[str, int] = {}
        self.sources: dict[str, list[Sourced]] = {}
        for station in scenario.station:
            spec, sources = station_spec(scenario, station, run, plan)
            self.nodes[station.name] = self.simulation.add_station(station.name, spec)
            self.sources[f"{station.name} ({spec['driver']})"] = sources
        for bridge in scenario.bridge:
            self.nodes[bridge.name] = self.simulation.add_bridge(bridge.name, timesync.bridge_spec(scenario, bridge))
        self.sources.update(timesync.bridge_sources(scenario))
        topology = Topology(scenario)
        for link in scenario.link:
            there, back = (topology.wires[ends[0], ends[1]] for ends in (link.ends, link.ends[::-1]))
            self.simulation.add_link(
                self.nodes[link.ends[0]],
                self.nodes[link.ends[1]],
                there.rate_bps,
                min(there.propagation_ns, back.propagation_ns),
                there.propagation_ns - back.propagation_ns,
            )
        for name, entry in plan["bridges"].items():
            for peer, port in entry["ports"].items():
                if "entries" in port:
                    gates = [(int(gate["gates"], 16) & ALL_GATES, gate["ns"]) for gate in port["entries"]]
                    self.simulation.set_gates(self.nodes[name], self.nodes[peer], port["base_ns"], gates)
        self.start_ns = talk_start_ns(scenario)
        self.streams = {stream.id: self._add_stream(stream) for stream in scenario.stream}
        self.loads = {load.id: self._add_load(load.id, topology) for load in scenario.load}
        if scenario.sync.by_ptp:
            self.simulation.set_sync(timesync.sync_spec(scenario, self.nodes))
        driven = {station.name: scenario.driver_of(station, run) for station in scenario.station}
        tested = {station.name for station in scenario.station if station.driver == "under-test"}
        for fault in scenario.fault:
            if fault.kind == "poll-stall" and fault.node in tested and driven[fault.node] != "keepon":
                continue  # only keepon polls; the fault concerns the station in its other runs
            if fault.kind == "master-change":
                continue  # a part of sync_spec()
            self.simulation.add_fault(fault.kind, self.nodes[fault.node], round(fault.at_s * 1e9), fault.value_ns)

    def _add_stream(self, stream: Stream) -> int:
        entry = self.plan["streams"][stream.id]
        number: int = self.simulation.add_stream(
            {
                "id": stream.id,
                "talker": self.nodes[stream.talker],
                "listeners": [self.nodes[listener] for listener in stream.listeners],
                "routes": [
                    [self.nodes[bridge] for bridge in entry["routes"][listener]] for listener in stream.listeners
                ],
                "period_ns": stream.period_ns,
                "offset_ns": entry["release_ns"],
                "turns_ns": entry.get("turns_ns", []),
                "start_ns": self.start_ns,
                "frame_bytes": stream.frame_bytes,
                "tc": stream.tc,
                "queue": stream.priority,
                "advance_ns": stream.advance_ns,
            }
        )
        return number

    def _add_load(self, name: str, topology: Topology) -> int:
        load = next(entry for entry in self.scenario.load if entry.id == name)
        number: int = self.simulation.add_load(
            {
                "id": load.id,
                "talker": self.nodes[load.talker],
                "listener": self.nodes[load.listener],
                "route": [self.nodes[node] for node in topology.shortest(load.talker, load.listener)[1:-1]],
                "kind": load.kind,
                "rate_bps": load.rate_bps,
                "frame_bytes": load.frame_bytes,
                "tc": load.tc,
                "queue": load.priority,
            }
        )
        return number

    def frames(self, name: str) -> FrameArrays:
        raw = self.simulation.frames(self.streams[name])
        arrays: dict[str, Any] = {
            key: np.asarray(raw[key], dtype=np.int64)
            for key in ("seq", "txtime_ns", "submit_ps", "verdict", "wire_ps", "arrival_ps", "stamp_ns")
        }
        if self.scenario.sync.by_ptp:
            for key in ("submit_ps", "wire_ps", "arrival_ps"):
                arrays[key] = self._network_time(arrays[key])
        return FrameArrays(epoch_ns=self.epoch_ns, **arrays)

    def _network_time(self, times_ps: IntArray) -> IntArray:
        """True times as network time since the epoch; what did not happen stays so."""
        flat = np.ascontiguousarray(times_ps).reshape(-1)
        network = np.asarray(self.simulation.network_time(flat), dtype=np.int64)
        converted: IntArray = np.where(flat == results.NONE, results.NONE, network).reshape(times_ps.shape)
        return converted

    def used_sources(self) -> dict[str, list[Sourced]]:
        """Of every station and bridge, the numbers that mattered in the run that has been: stages gone through."""
        used = {}
        for name, entries in self.sources.items():
            node = self.nodes[name.rpartition(" (")[0]]
            if name.endswith("(bridge)"):
                used[name] = entries
                continue
            raw = self.simulation.station(node)
            used[name] = [entry for entry in entries if entry.was_used(raw["host_draws"], raw["host_tails"])]
        return used

    def clocked(self) -> list[str]:
        """Nodes whose clocks PTP sets or distributes."""
        if not self.scenario.sync.by_ptp:
            return []
        bridges = [bridge.name for bridge in self.scenario.bridge] if self.scenario.sync.mode == "gptp" else []
        return [station.name for station in self.scenario.station] + bridges


def measured_ns(scenario: Scenario) -> tuple[int, int]:
    """Start and end of what is measured, ns from the start."""
    start_ns = round(scenario.warmup_s * 1e9)
    return start_ns, start_ns + round(scenario.duration_s * 1e9)


def schedule(build: Build, stream: Stream) -> Schedule:
    """When frames of a stream are due in the simulator, from scenario and plan."""
    entry = build.plan["streams"][stream.id]
    releases_ns = tuple(entry.get("turns_ns", [entry["release_ns"]]))
    return Schedule(stream.period_ns, releases_ns, build.epoch_ns + build.start_ns)


def run_ns(scenario: Scenario, plan: dict[str, Any]) -> int:
    """True time after which every frame that is measured has left and arrived.

    What is measured ends in network time, by clocks of talkers and the grandmaster; a slow crystal gets there later.
    """
    _, end_ns = measured_ns(scenario)
    over_ns = end_ns + max(DRAIN_NS_MIN, allowed_ns(scenario, plan))
    if scenario.sync.mode == "ideal":
        return over_ns
    crystals = [ppm for station in scenario.station for ppm in (station.clock_ppm, station.cpu_ppm)]
    slowest_ppm = min(0.0, *crystals, *(bridge.clock_ppm for bridge in scenario.bridge)) - WANDER_PPM_MAX
    return over_ns + math.ceil(-slowest_ppm * 1e-6 * end_ns)


def simulate(
    scenario: Scenario, plan: dict[str, Any], driver: str, seed: int, progress: Progress | None = None
) -> tuple[Run, dict[str, list[Sourced]]]:
    """One run.

    Args:
        scenario: a checked scenario that `check_supported` accepts.
        plan: its verified, feasible plan.
        driver: what stations under test are in this run.
        seed: of everything random.
        progress: told (driver, share done) now and then.

    Raises:
        KeyboardInterrupt: the user stopped it; nothing of this run is kept.
        SimulationError: the frames contradict each other.
    """
    build, run = simulate_build(scenario, plan, driver, seed, progress)
    return run, build.used_sources()


def simulate_build(
    scenario: Scenario, plan: dict[str, Any], driver: str, seed: int, progress: Progress | None = None
) -> tuple[Build, Run]:
    """`simulate`, with the simulation itself for those who want more of it."""
    try:
        build = Build(scenario, plan, driver, seed)
    except ValueError as error:
        raise ConfigError(f"the simulator refuses the scenario: {error}") from error
    start_ns, end_ns = measured_ns(scenario)
    until_ns = run_ns(scenario, plan)

    def told(now_ns: int) -> None:
        if progress is not None:
            progress(driver, now_ns / until_ns)

    build.simulation.set_window(start_ns, end_ns)
    build.simulation.run(until_ns, told if progress is not None else None)
    verdict_names = list(simulator().verdict_names())
    streams: dict[str, Any] = {}
    arrays: dict[str, FrameArrays] = {}
    for stream in scenario.stream:
        told(until_ns)
        arrays[stream.id], streams[stream.id] = _stream_document(build, stream, (start_ns, end_ns), verdict_names)
    document: dict[str, Any] = {
        "driver": driver,
        "streams": streams,
        "window_ns": [start_ns, end_ns],
        "stations": {
            station.name: _station_document(build, station.name, (end_ns - start_ns) / 1e9)
            for station in scenario.station
        },
        "bridges": {
            bridge.name: _bridge_document(build.simulation.bridge(build.nodes[bridge.name]), build.nodes)
            for bridge in scenario.bridge
        },
        "loads": {
            name: _load_document(build.simulation.load(number), (end_ns - start_ns) / 1e9)
            for name, number in build.loads.items()
        },
        "trace_hash": f"{build.simulation.trace_hash():016x}",
    }
    _add_clocks(build, document, start_ns, end_ns)
    document["outcome"] = outcomes.of_run(document)
    document["met"] = document["outcome"] == outcomes.MET
    document["onset"] = mark_onset(scenario, streams, arrays)
    return build, Run(driver, document, arrays, document["trace_hash"])


def _stream_document(
    build: Build, stream: Stream, window_ns: tuple[int, int], verdict_names: list[str]
) -> tuple[FrameArrays, dict[str, Any]]:
    """Frames of a stream that were due in the window, and what the result says of them."""
    scenario, plan = build.scenario, build.plan
    every, entry = build.frames(stream.id), plan["streams"][stream.id]
    frames = on_schedule(every, schedule(build, stream), window_ns, stream.id)
    padded = scenario.driver_of(scenario.station_named(stream.talker), build.run) == "keepon"
    whole = build.simulation.stream(build.streams[stream.id])
    results.check_whole_run(every, verdict_names, whole, stream.id)
    document = results.stream_result(
        frames, verdict_names, results.losses(frames, whole["lost"]), results.bounds_of(entry, padded), stream.id,
        stream.period_ns, stream.deadline_ns,
    )  # fmt: skip
    document["first_delays_ns"] = first_delays(frames, SERIES_FRAMES)
    if padded:
        station = plan["stations"][stream.talker]
        document["slots"] = results.slips(frames, station["slot_time_ps"], station["preamble_ps"])
    return frames, document


def _add_clocks(build: Build, document: dict[str, Any], start_ns: int, end_ns: int) -> None:
    """With PTP: `clock` of every node, and the frames it took."""
    for name in build.clocked():
        raw = build.simulation.clock(build.nodes[name])
        clock = timesync.clock_document(raw, start_ns, end_ns, build.scenario.sync.lock_bound_ns)
        node = document["stations" if name in document["stations"] else "bridges"][name]
        node["clock"] = {**node.get("clock", {}), **clock}
    if build.scenario.sync.by_ptp:
        try:
            document["ptp_frames"] = timesync.frames_document(build.simulation.ptp_flows())
        except ValueError as error:
            raise SimulationError(f"PTP: {error}") from error


def _plain(value: Any) -> Any:
    """Data of the simulator as JSON has it: arrays as lists, keys as strings."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value


def _station_document(build: Build, name: str, window_s: float) -> dict[str, Any]:
    """A station's counters, those of every target first; slots_total counts what the index has passed.

    best_effort_bps is what its loads sent in the window, frames with FCS; what the plan leaves to
    them stands in the plan (`headroom`).
    """
    raw = build.simulation.station(build.nodes[name])
    counters = raw.get("counters", {})
    loads = [build.loads[load.id] for load in build.scenario.load if load.talker == name]
    sent_bytes = sum(build.simulation.load(number)["window_sent_bytes"] for number in loads)
    document = {
        "underruns": counters.get("underruns", 0),
        "suspected_underruns": counters.get("suspected_underruns", 0),
        "placeholders": raw["placeholders"],
        "slots_total": counters.get("slots_completed", 0),
        "best_effort_bps": round(sent_bytes * 8 / window_s),
        "clock": {},
    }
    return {**document, **_plain(raw)}


def _bridge_document(raw: dict[str, Any], nodes: dict[str, int]) -> dict[str, Any]:
    """A bridge's counters per neighbour, by name."""
    names = {number: name for name, number in nodes.items()}
    return {"ports": {names[peer]: _plain(port) for peer, port in raw["ports"].items()}}


def _load_document(raw: dict[str, Any], window_s: float) -> dict[str, Any]:
    """Goodput of one load (frames with FCS that arrived in the window), and counts of the whole run."""
    results.check_flow(raw, 1, f"load {raw['id']}")
    return {"goodput_bps": round(raw["window_delivered_bytes"] * 8 / window_s), **_plain(raw)}


def first_delays(frames: FrameArrays, count: int) -> list[float | None]:
    """Delay in ns of the first `count` frames at the first listener, None where it did not arrive."""
    known = frames.delay_known[0, :count]
    delays = frames.arrival_ps[0, :count] - frames.txtime_ps[:count]
    return [int(delay) / 1000 if is_known else None for is_known, delay in zip(known, delays, strict=True)]


def mark_onset(scenario: Scenario, streams: dict[str, Any], arrays: dict[str, FrameArrays]) -> dict[str, Any] | None:
    """The first frame of any stream beyond its bound; every stream gets its delays around that moment.

    Returns:
        stream, seq and txtime_ns of that frame, None if there is none.
    """
    bad = [
        (streams[stream.id]["first_bad"], stream.id) for stream in scenario.stream if streams[stream.id]["first_bad"]
    ]
    if not bad:
        return None
    first, name = min(bad, key=lambda entry: int(entry[0]["txtime_ns"]))
    for stream in scenario.stream:
        frames = arrays[stream.id]
        index = int(np.searchsorted(frames.txtime_ns, first["txtime_ns"]))
        start = max(0, index - SERIES_FRAMES // 5)
        part = frames.slice(start, start + SERIES_FRAMES)
        streams[stream.id]["onset_delays_ns"] = first_delays(part, SERIES_FRAMES)
        streams[stream.id]["onset_first_seq"] = int(part.seq[0]) if len(part.seq) else None
    return {"stream": name, "seq": first["seq"], "txtime_ns": first["txtime_ns"]}


IDEAL_CLOCKS = (
    'Clocks are ideal (sync.mode = "ideal"): talkers, listeners and bridges share one exact time, so nothing here '
    "measures synchronisation."
)
EXACT_GATES = (
    "Bridges forward after exactly their processing time and open gates exactly on schedule, so a frame that is in its "
    "queue before its window leaves with no jitter; constant delays behind a gated bridge follow from the plan."
)
ON_THE_GRID = (
    "With an ideal clock and no rate error a phase-locked slot starts on the grid; the release error then shows the "
    "half start quantum only."
)
COMPARATOR = (
    "Release errors of launchtime stations are those of a 32 ns comparator, as its data sheet states "
    "(keepon.granularity)."
)
RELEASED_BY_ETF = (
    "The conventional driver is given its txtimes by ETF in front of it: it sends when called, early by ETF's delta "
    "less its own latency, and the first gate holds the frame until its window."
)


def by_construction(scenario: Scenario) -> list[str]:
    """What runs of this scenario cannot but show; of what is not in it, nothing."""
    names = {stream.talker for stream in scenario.stream}
    talkers = [
        (scenario.driver_of(station, run), station)
        for run in scenario.drivers()
        for station in scenario.station
        if station.name in names
    ]
    driven = {driver for driver, _ in talkers}
    with_etf = any(driver == "standard" and station.release != "sleep" for driver, station in talkers)
    locked = any(driver == "keepon" and station.keepon.mode == "phase-locked" for driver, station in talkers)
    ideal, gated = scenario.sync.mode == "ideal", any(bridge.gates != "none" for bridge in scenario.bridge)
    shown = [
        (IDEAL_CLOCKS, ideal),
        *((text, True) for text in timesync.by_construction(scenario)),
        (EXACT_GATES, gated and not scenario.sync.by_ptp),
        (ON_THE_GRID, ideal and locked),
        (COMPARATOR, "launchtime" in driven),
        (RELEASED_BY_ETF, with_etf),
    ]
    return [text for text, holds in shown if holds]


def commit() -> str | None:
    """Commit of the checkout this package runs from; None outside one."""
    here = Path(__file__).resolve().parent
    root = next((folder for folder in here.parents if (folder / "core/include/keepon/pacer.h").is_file()), None)
    if root is None:
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def result_document(
    scenario: Scenario, seed: int, runs: list[Run], sources: dict[str, list[Sourced]], interrupted: bool
) -> dict[str, Any]:
    """`keepon.result/1` of these runs."""
    inputs: dict[str, dict[tuple[str, str], dict[str, Any]]] = {"calibrated": {}, "chosen": {}}
    for station, entries in sources.items():
        for entry in entries:
            same = (entry.parameter, str(entry.value))
            known = inputs[entry.kind].setdefault(same, {**entry.as_dict(), "stations": []})
            known["stations"].append(station)
    return {
        "schema": results.RESULT_SCHEMA,
        "scenario": scenario.name,
        "target": "sim",
        "seed": seed,
        "version": __version__,
        "commit": commit(),
        "effective": scenario.effective(),
        **{kind: list(entries.values()) for kind, entries in inputs.items()},
        "by_construction": by_construction(scenario),
        "interrupted": interrupted,
        "judged": runs[0].driver if runs else None,
        "runs": [run.document for run in runs],
    }


def run_all(scenario: Scenario, plan: dict[str, Any], seed: int, progress: Progress | None = None) -> Outcome:
    """Every driver of the scenario in turn; a Ctrl-C keeps the ones that are complete.

    Raises:
        SimulationError: a run contradicts itself, or the scenario has no stream to measure.
    """
    if not scenario.stream:
        raise SimulationError("the scenario has no [[stream]]; there is nothing to measure")
    runs: list[Run] = []
    sources: dict[str, list[Sourced]] = {}
    interrupted = False
    try:
        for driver in scenario.drivers():
            run, used = simulate(scenario, plan, driver, seed, progress)
            runs.append(run)
            sources.update(used)
    except KeyboardInterrupt:
        interrupted = True
    return Outcome(result_document(scenario, seed, runs, sources, interrupted), runs, interrupted)
