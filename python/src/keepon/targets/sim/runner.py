# SPDX-License-Identifier: BSD-3-Clause
"""Runs a planned scenario in the simulator, one driver after the other, and hands back numbers.

The simulator gets what the plan says and nothing more; the listener's clock is never a talker's
input.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, cast

import numpy as np

from keepon import _sim
from keepon.errors import ConfigError, SimulationError
from keepon.measure import clocks, results
from keepon.measure.due import last_bits_ps, on_schedule, run_ns
from keepon.measure.results import NONE, FrameArrays
from keepon.measure.series import delay_distribution, delay_series
from keepon.measure.sightings import LOAD, PTP, STREAM, Seen, Sighting, verdict_name
from keepon.measure.simulated import Bridge as RawBridge
from keepon.measure.simulated import Flow, LoadFlow, tcp_result
from keepon.measure.simulated import StationPort as RawPort
from keepon.measure.statistics import summary
from keepon.model import foreign, outcomes, overload
from keepon.model.hosts import Sourced
from keepon.model.plan import Plan
from keepon.model.result import (
    BridgeResult,
    Clock,
    LoadResult,
    RunParts,
    StationResult,
    StreamResult,
    Takes,
)
from keepon.model.scenario import Scenario, Stream
from keepon.model.timing import measured_ns
from keepon.parallel import check_stopped, in_order
from keepon.targets.measured import mark_onset
from keepon.targets.runs import Outcome, Progress, Run, result_document
from keepon.targets.sim import frer, timesync
from keepon.targets.sim.build import Build
from keepon.targets.sim.refusals import check_supported

NAME: Final = "sim"


def simulate(
    scenario: Scenario,
    plan: Plan,
    driver: str,
    seed: int,
    progress: Progress | None = None,
    capture_frames: int = 0,
) -> tuple[Run, dict[str, list[Sourced]]]:
    """One run.

    Args:
        scenario: a checked scenario that `check_supported` accepts.
        plan: its verified, feasible plan.
        driver: what stations under test are in this run.
        seed: of everything random.
        progress: called with (driver, share done) now and then.
        capture_frames: how many frames of its wires are kept, at most.

    Raises:
        KeyboardInterrupt: the user stopped it; nothing of this run is kept.
        SimulationError: the frames contradict each other.
    """
    build, run = simulate_build(scenario, plan, driver, seed, progress, capture_frames)
    return run, build.used_sources()


def simulate_build(
    scenario: Scenario,
    plan: Plan,
    driver: str,
    seed: int,
    progress: Progress | None = None,
    capture_frames: int = 0,
) -> tuple[Build, Run]:
    """`simulate`, with the simulation itself for those who want more of it."""
    try:
        build = Build(scenario, plan, driver, seed)
    except ValueError as error:
        raise ConfigError(f"the simulator refuses the scenario: {error}") from error
    start_ns, end_ns = measured_ns(scenario)
    until_ns = run_ns(scenario, plan)

    def on_progress(now_ns: int) -> None:
        check_stopped()
        if progress is not None:
            progress(driver, now_ns / until_ns)

    build.simulation.set_window(start_ns, end_ns)
    if capture_frames:
        build.simulation.set_capture(start_ns, end_ns, capture_frames)
    build.simulation.run(until_ns, on_progress)
    verdict_names = _sim.verdict_names()
    streams: dict[str, StreamResult] = {}
    arrays: dict[str, FrameArrays] = {}
    for stream in scenario.stream:
        on_progress(until_ns)
        arrays[stream.id], streams[stream.id] = _stream_document(
            build, stream, (start_ns, end_ns), verdict_names
        )
    parts: RunParts = {
        "driver": driver,
        "streams": streams,
        "window_ns": [start_ns, end_ns],
        "stations": {
            station.name: _station_document(build, station.name, (end_ns - start_ns) / 1e9)
            for station in scenario.station
        },
        "bridges": {
            bridge.name: _bridge_document(
                build.simulation.bridge(build.nodes[bridge.name]), build.nodes
            )
            for bridge in scenario.bridge
        },
        "loads": {
            name: _load_document(build, name, (end_ns - start_ns) / 1e9) for name in build.loads
        },
        "trace_hash": f"{build.simulation.trace_hash():016x}",
    }
    _add_clocks(build, parts, start_ns, end_ns)
    document = outcomes.judged(parts, mark_onset(scenario, streams, arrays))
    seen = captured(build, verdict_names) if capture_frames else None
    return build, Run(driver, document, arrays, document["trace_hash"], seen)


def _stream_document(
    build: Build, stream: Stream, window_ns: tuple[int, int], verdict_names: list[str]
) -> tuple[FrameArrays, StreamResult]:
    """Frames of a stream that were due in the window, and what the result says of them."""
    scenario, plan = build.scenario, build.plan
    every, entry = build.frames(stream.id), plan["streams"][stream.id]
    frames = on_schedule(every, build.schedule(stream), window_ns, stream.id)
    if scenario.station_named(stream.talker).driver == foreign.DRIVER:
        frames = _from_the_wire(frames)
    padded = scenario.driver_of(scenario.station_named(stream.talker), build.run) == "keepon"
    whole = build.simulation.stream(build.streams[stream.id])
    results.check_whole_run(every, verdict_names, whole, stream.id)
    document = results.stream_result(
        frames, verdict_names, results.losses(frames, frer.gone(whole["lost"])),
        results.bounds_of(entry, padded), stream.id,
        Fraction(stream.cycle_ns, stream.turns), stream.deadline_ns,
        last_bits_ps(scenario, stream, entry, padded),
    )  # fmt: skip
    if stream.redundancy > 1:
        document["copies"] = whole["lost"]
    if stages_ps := build.stages(stream.id, frames.seq):
        document["stages_ns"] = {name: summary(each, 1000) for name, each in stages_ps.items()}
        if (bound_ns := entry["bounds"].get("application_ns")) is not None:
            checks = document["bound_check"]
            checks["application_ns"] = results.check(bound_ns, int(stages_ps["whole"].max()))
            document["outcome"] = outcomes.of_stream(document["due"], document["missing"], checks)
    document["delay_series"] = delay_series(frames, window_ns[0])
    document["delay_distribution"] = delay_distribution(frames)
    if padded:
        station = plan["stations"][build.topology.port_of(stream).name]
        document["slots"] = results.slips(frames, station["slot_time_ps"], station["preamble_ps"])
    return frames, document


def _from_the_wire(frames: FrameArrays) -> FrameArrays:
    """Released when they are sent: what their talker does before is its own."""
    sent_ns = frames.epoch_ns + frames.wire_ps // 1000
    return replace(frames, txtime_ns=np.where(frames.timed, sent_ns, frames.txtime_ns))


def _add_clocks(build: Build, document: RunParts, start_ns: int, end_ns: int) -> None:
    """With PTP: `clock` of every node, and the frames it took."""
    for name in build.clocked():
        raw = build.simulation.clock(build.nodes[name])
        clock = clocks.clock_document(raw, start_ns, end_ns, build.scenario.sync.lock_bound_ns)
        if name in document["stations"]:
            station = document["stations"][name]
            station["clock"] = cast(Clock, {**station["clock"], **clock})
        else:
            document["bridges"][name]["clock"] = clock
    if build.scenario.sync.by_ptp:
        try:
            document["ptp_frames"] = clocks.frames_document(build.simulation.ptp_flows())
        except ValueError as error:
            raise SimulationError(f"PTP: {error}") from error


def _station_document(build: Build, name: str, window_s: float) -> StationResult:
    """A station's counters, those of every target first; slots_total counts what the index has
    passed. With several ports they are the sums, and each port's are in `ports`.

    best_effort_bps is what its loads sent in the window, frames with FCS; what the plan leaves to
    them stands in the plan (`headroom`).
    """
    raw = build.simulation.station(build.nodes[name])
    recovery = frer.recovered(raw.get("recovery"), build.nodes)
    if "ports" not in raw:
        document = _port_document(build, name, raw, window_s)
        return cast(StationResult, {**document, "clock": {}, **raw, **recovery})
    counted = {
        port: _port_document(build, port, own, window_s) for port, own in raw["ports"].items()
    }
    sums = {key: sum(own[key] for own in counted.values()) for key in _SUMMED}
    ports = {port: {**counted[port], **own} for port, own in raw["ports"].items()}
    return cast(StationResult, {**sums, "clock": {}, **raw, **recovery, "ports": ports})


_SUMMED = ("underruns", "suspected_underruns", "placeholders", "slots_total", "best_effort_bps")


def _port_document(build: Build, name: str, raw: RawPort, window_s: float) -> dict[str, int]:
    """What every target counts, of one port."""
    counters = raw.get("counters", {})
    loads = [
        build.loads[load.id]
        for index, load in build.topology.loads[name]
        if load is build.scenario.load[index]
    ]
    sent_bytes = sum(build.simulation.load(number)["window_sent_bytes"] for number in loads)
    return {
        "underruns": counters.get("underruns", 0),
        "suspected_underruns": counters.get("suspected_underruns", 0),
        "placeholders": raw["placeholders"],
        "slots_total": counters.get("slots_completed", 0),
        "best_effort_bps": round(sent_bytes * 8 / window_s),
    }


def _bridge_document(raw: RawBridge, nodes: dict[str, int]) -> BridgeResult:
    """A bridge's counters per neighbour, by name."""
    names = {number: name for name, number in nodes.items()}
    document: BridgeResult = {"ports": {names[peer]: port for peer, port in raw["ports"].items()}}
    if "filters" in raw:
        document["stream_filters"] = raw["filters"]
    return cast(BridgeResult, {**document, **frer.recovered(raw.get("recovery"), nodes)})


def _flow(raw: Flow) -> dict[str, object]:
    """As of a stream: sent is what was on the wire, reported to the driver or not."""
    by_listener = raw["delivered_by_listener"].tolist()
    return {**raw, "delivered_by_listener": by_listener, "sent": raw["on_wire"]}


def _load_document(build: Build, name: str, window_s: float) -> LoadResult:
    """Goodput of one load (frames with FCS that arrived in the window), and counts of the whole
    run.
    """
    raw: LoadFlow = build.simulation.load(build.loads[name])
    results.check_flow(raw, 1, f"load {raw['id']}")
    goodput_bps = round(raw["window_delivered_bytes"] * 8 / window_s)
    document = {"goodput_bps": goodput_bps, **_flow(raw), "takes": _takes(build, name)}
    if "tcp" in raw:
        results.check_flow(raw["acks"], 1, f"ACKs of load {raw['id']}")
        document["acks"] = _flow(raw["acks"])
        document["tcp"] = tcp_result(raw["tcp"], window_s, f"load {raw['id']}")
    return cast(LoadResult, document)


def _takes(build: Build, name: str) -> Takes:
    """How much of a load its talker takes, by the port it leaves by."""
    scenario, topology = build.scenario, build.topology
    port, load = next(
        (port, load)
        for port, loads in topology.loads.items()
        for index, load in loads
        if load is scenario.load[index] and load.id == name
    )
    driver = scenario.driver_of(scenario.station_named(load.talker), build.run)
    planned = build.plan["stations"][port]
    return overload.takes(scenario, topology.ports[port], load, driver, planned)


def run_all(
    scenario: Scenario,
    plan: Plan,
    seed: int,
    progress: Progress | None = None,
    capture_frames: int = 0,
) -> Outcome:
    """Every driver of the scenario, side by side; a Ctrl-C keeps those that are complete up to the
    first that is not.

    Raises:
        ConfigError: the scenario has no stream to measure.
        SimulationError: a run contradicts itself.
    """
    if not scenario.stream:
        raise ConfigError(
            "key `stream`: must have an entry, as there is nothing to measure; add a [[stream]]"
        )
    runs: list[Run] = []
    sources: dict[str, list[Sourced]] = {}
    interrupted = False
    kept = dict.fromkeys(scenario.drivers()[:1], capture_frames)
    try:
        for run, used in in_order(
            lambda driver: simulate(scenario, plan, driver, seed, progress, kept.get(driver, 0)),
            scenario.drivers(),
        ):
            runs.append(run)
            sources.update(used)
    except KeyboardInterrupt:
        interrupted = True
    document = result_document(
        NAME, scenario, seed, runs, sources, by_construction(scenario), interrupted
    )
    return Outcome(document, runs, interrupted)


@dataclass(frozen=True)
class Simulator:
    """The target `sim`."""

    name: str = NAME
    duration_s: float | None = None
    capture_frames: int = 0
    """How many frames of the judged run's wires are kept, at most."""

    def check_supported(self, scenario: Scenario) -> None:
        check_supported(scenario)

    def run_all(
        self, scenario: Scenario, plan: Plan, seed: int, progress: Progress | None = None
    ) -> Outcome:
        return run_all(scenario, plan, seed, progress, self.capture_frames)


def captured(build: Build, verdict_names: list[str]) -> Seen:
    """Every frame of streams, loads and PTP in the window that was kept, in order of time."""
    raw, scenario = build.simulation.captured(), build.scenario
    names = {number: name for name, number in build.nodes.items()}
    edges_ps = np.array([raw["start_ps"], raw["end_ps"]], dtype=np.int64)
    start, end = (
        build.epoch_ns + int(at) // 1000 for at in build.simulation.network_time(edges_ps)
    )
    times_ps = np.ascontiguousarray(raw["sfd_ps"])
    at_ns = build.epoch_ns + np.asarray(build.simulation.network_time(times_ps)) // 1000
    ptp = (
        {flow["id"]: flow for flow in build.simulation.ptp_flows()} if scenario.sync.by_ptp else {}
    )
    streams = {stream.id: stream for stream in scenario.stream}
    loads = scenario.load_flows()
    frames = {name: build.frames(name) for name in streams}
    found = []
    rows = zip(
        at_ns.tolist(), raw["node"].tolist(), raw["outbound"].tolist(), raw["flow"].tolist(),
        raw["seq"].tolist(), raw["frame_bytes"].tolist(), strict=True,
    )  # fmt: skip
    for at, node, outbound, flow, seq, frame_bytes in rows:
        name, here = raw["flows"][flow], names[node]
        common = (at, here, bool(outbound))
        if name in streams:
            own, stream = frames[name], streams[name]
            stamp_ns = None
            if not outbound and here in stream.listeners:
                stamp = int(own.stamp_ns[stream.listeners.index(here), seq])
                stamp_ns = None if stamp == NONE else stamp
            found.append(
                Sighting(
                    *common, STREAM, name, seq, frame_bytes, stream.talker,
                    int(own.txtime_ns[seq]), own.epoch_ns + int(own.submit_ps[seq]) // 1000,
                    verdict_name(own, seq, verdict_names), stamp_ns,
                )
            )  # fmt: skip
        elif name in loads:
            found.append(Sighting(*common, LOAD, name, seq, frame_bytes, loads[name].talker))
        else:
            sender = names[ptp[name]["talker"]]
            found.append(Sighting(*common, PTP, ptp[name]["kind"], seq, frame_bytes, sender))
    found.sort(key=lambda one: one.at_ns)
    return Seen(start, end, (STREAM, LOAD, PTP), found)


IDEAL_CLOCKS = (
    'Clocks are ideal (sync.mode = "ideal"): talkers, listeners and bridges share one exact time,'
    " so nothing here measures synchronisation."
)


EXACT_GATES = (
    "Bridges forward after exactly their processing time and open gates exactly on schedule, so a"
    " frame that is in its queue before its window leaves with no jitter; constant delays behind a"
    " gated bridge follow from the plan."
)


ON_THE_GRID = (
    "With an ideal clock and no rate error a phase-locked slot starts on the grid; the release"
    " error then shows the half start quantum only."
)


COMPARATOR = (
    "Release errors of launchtime stations are those of a 32 ns comparator, as its data sheet"
    " states (keepon.granularity)."
)


OWN_RING = (
    'Talkers with backend = "generic" send by a ring here, at their slots: backend_error_ns is in'
    " bounds, and in no frame."
)


RELEASED_BY_ETF = (
    "The conventional driver is given its txtimes by ETF in front of it: it sends when called,"
    " early by ETF's delta less its own latency, and the first gate holds the frame until its"
    " window."
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
    with_etf = any(
        driver == "standard" and station.release != "sleep" and station.qdisc is None
        for driver, station in talkers
    )
    locked = any(
        driver == "keepon" and station.keepon.mode == "phase-locked" for driver, station in talkers
    )
    ideal, gated = (
        scenario.sync.mode == "ideal",
        any(bridge.gates != "none" for bridge in scenario.bridge),
    )
    shown = [
        (IDEAL_CLOCKS, ideal),
        *((text, True) for text in timesync.by_construction(scenario)),
        (EXACT_GATES, gated and not scenario.sync.by_ptp),
        (ON_THE_GRID, ideal and locked),
        (COMPARATOR, "launchtime" in driven),
        (RELEASED_BY_ETF, with_etf),
        (
            OWN_RING,
            any(
                driver == "keepon" and station.keepon.backend == "generic"
                for driver, station in talkers
            ),
        ),
    ]
    return [text for text, holds in shown if holds]
