# SPDX-License-Identifier: BSD-3-Clause
"""Runs a planned scenario on a real kernel, one driver after the other; hands back what the
simulator does, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, cast

import numpy as np
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from keepon_guests.images import Kernel
from keepon_guests.run import START_UTC
from keepon_host.checkout import checkout_root

from keepon._sim import verdict_names
from keepon.errors import ConfigError
from keepon.machines.network import guest_script
from keepon.machines.planned import Guest
from keepon.measure import results
from keepon.model import outcomes
from keepon.model.cables import directions, node_of
from keepon.model.crosschecks import long_flows
from keepon.model.gates import ALL_GATES
from keepon.model.plan import Plan
from keepon.model.qdiscs.stations import check_real, tree_of
from keepon.model.qdiscs.tree import Taprio
from keepon.model.result import BridgeResult, ClockOffsets, RunParts, StationResult, StreamResult
from keepon.model.scenario import START_NS, Scenario
from keepon.model.tools import Listen, Talk
from keepon.model.topology import check_single_ports
from keepon.model.wire import FRAME_BYTES_MAX
from keepon.targets.measured import mark_onset, measured_stream, stamps_file, stamps_table
from keepon.targets.runs import Outcome, Progress, Run, result_document
from keepon.targets.vm import observations, programs
from keepon.targets.vm.observations import StreamFrames, WireRecord

NAME: Final = "vm"
KEEPON_COUNTERS = ("underruns", "suspected_underruns", "slots_completed")
NIC_COUNTERS = ("tx_placeholders", "tx_idle_ns")
# The clock of a keepon device starts this close to its NIC's, and an underrun costs as much again.
# A suspected one is not made up for: it costs what the wire was idle.
CLOCK_NS_MAX = 2_000
GUEST_START_NS = int(datetime.fromisoformat(f"{START_UTC}+00:00").timestamp()) * 10**9
DURATION_S = 1.0
DURATION_S_MAX = 60.0
FAULTS = ("poll-stall", "clock-step", "link-down", "late-submit", "wire-pause")
MODULES = ("kernel/native", "kernel/hwsim", "kernel/keepon", "kernel/guard")
MEMORY_MB = 768
# Emulated at a hundredth of real speed at worst; a guest that hangs ends by its own clock long
# before.
HOST_SECONDS_A_GUEST_SECOND = 120


def check_supported(scenario: Scenario) -> None:
    """Refuse what this target cannot do, before any work.

    Raises:
        ConfigError: one sentence on the first such key.
    """
    if not 0 < scenario.duration_s + scenario.warmup_s <= DURATION_S_MAX:
        raise ConfigError(
            f"key `duration_s` = {scenario.duration_s}: with `warmup_s` it must be at most"
            f" {DURATION_S_MAX:g} s for target vm; use --duration"
        )
    check_single_ports(scenario, "target vm")
    if flow := next(long_flows(scenario), None):
        raise ConfigError(
            f"{flow.key}: must be at most {FRAME_BYTES_MAX} for target vm, whose NICs are those of"
            " keepon_hwsim; take target sim"
        )
    if scenario.sync.mode not in ("ideal", "none"):
        raise ConfigError(
            f'key `sync.mode` = "{scenario.sync.mode}": must be "ideal" or "none" for target vm yet'
        )
    for index, station in enumerate(scenario.station):
        where = f"key `station[{index}]"
        check_real(where, station)
        if scenario.sync.mode == "ideal" and station.clock_ppm:
            raise ConfigError(
                f'{where}.clock_ppm` = {station.clock_ppm}: must be 0 with sync.mode = "ideal" for'
                ' target vm; set sync.mode = "none" to let clocks run free'
            )
        for key in ("cpu_ppm", "wander_ppb_per_s"):
            if getattr(station, key):
                raise ConfigError(
                    f"{where}.{key}` = {getattr(station, key)}: must be 0 for target vm; the"
                    " guest's CPU has no model"
                )
        if station.cpu_tick_ns != 1:
            raise ConfigError(
                f"{where}.cpu_tick_ns` = {station.cpu_tick_ns}: must be 1 for target vm; the guest"
                " has its own CPU"
            )
        for key, default in type(station.nic).model_fields.items():
            if key != "fragments_max" and getattr(station.nic, key) != default.default:
                raise ConfigError(
                    f"{where}.nic.{key}` = {getattr(station.nic, key)}: must be {default.default}"
                    " for target vm; its NICs are those of keepon_hwsim"
                )
        tree = tree_of(station)
        if tree and isinstance(tree.root, Taprio) and tree.root.base_ns > GUEST_START_NS:
            raise ConfigError(
                f"{where}.qdisc`: base-time {tree.root.base_ns} is later than the guest's clock,"
                " which begins with 2026, and Linux waits for it; write base-time"
                f" {tree.root.base_ns % tree.root.cycle_ns}, which has the same phase"
            )
        if station.keepon.backend == "generic":
            raise ConfigError(
                f'{where}.keepon.backend` = "generic": must be "native" for target vm, whose NICs'
                " lend their rings; take target host, or sim"
            )
        if station.keepon.clock == "dual":
            raise ConfigError(
                f'{where}.keepon.clock` = "dual": must be "interpolated" or "counter"; not'
                " built yet"
            )
    for index, stream in enumerate(scenario.stream):
        if stream.redundancy > 1:
            raise ConfigError(
                f"key `stream[{index}].redundancy` = 2: must be 1 for target vm; its bridges drop"
                " no copies"
            )
    for index, bridge in enumerate(scenario.bridge):
        if bridge.stream_filter or bridge.police != "none":
            key = "stream_filter" if bridge.stream_filter else "police"
            raise ConfigError(
                f"key `bridge[{index}].{key}`: must be left out for target vm; its bridges police"
                " nothing"
            )
        if bridge.shaper:
            raise ConfigError(
                f"key `bridge[{index}].shaper`: must be left out for target vm; its bridges shape"
                " nothing"
            )
        if bridge.forwarding != "hardware":
            raise ConfigError(
                f'key `bridge[{index}].forwarding` = "{bridge.forwarding}": must be "hardware" for'
                " target vm, whose bridges take processing_ns"
            )
        if bridge.preemptable:
            raise ConfigError(
                f"key `bridge[{index}].preemptable`: must be left out for target vm; its wires have"
                " no fragments"
            )
        if isinstance(bridge.gates, dict):
            raise ConfigError(
                f'key `bridge[{index}].gates`: must be "none" for target vm; its bridges have no'
                " gates"
            )
    for index, (there, _) in enumerate(directions(link.ends for link in scenario.link)):
        if there[1] != node_of(there[1]):
            raise ConfigError(
                f"key `link[{index}].ends`: must not be those of another link for target vm; its"
                " bridges learn and flood, and frames would go round"
            )
    for index, link in enumerate(scenario.link):
        if link.asymmetry_ns:
            raise ConfigError(
                f"key `link[{index}].asymmetry_ns` = {link.asymmetry_ns}: must be 0 for target vm;"
                " its wires delay both ways alike"
            )
        if link.loss_probability:
            raise ConfigError(
                f"key `link[{index}].loss_probability` = {link.loss_probability}: must be 0 for"
                " target vm; its wires lose nothing by chance"
            )
    for index, load in enumerate(scenario.load):
        if load.start_ns != START_NS:
            raise ConfigError(
                f"key `load[{index}].start_ns` = {load.start_ns}: must be {START_NS} for target vm;"
                " its loads begin with the run"
            )
    for index, fault in enumerate(scenario.fault):
        if fault.peer is not None:
            raise ConfigError(
                f'key `fault[{index}].peer` = "{fault.peer}": must be left out for target vm, which'
                " takes links of stations down only; name a station, or take target sim"
            )
        if fault.kind not in FAULTS:
            raise ConfigError(
                f'key `fault[{index}].kind` = "{fault.kind}": must be one of {", ".join(FAULTS)}'
                " for target vm"
            )


def check_plan(plan: Plan) -> None:
    """Refuse plans that need gates.

    Raises:
        ConfigError: a bridge's port is not always open.
    """
    for name, entry in plan["bridges"].items():
        for port in entry["ports"].values():
            if any(
                int(gate["gates"], 16) & ALL_GATES != ALL_GATES for gate in port.get("entries", [])
            ):
                raise ConfigError(
                    f"bridge {name}: its plan has gates and bridges of target vm have none; set"
                    ' gates = "none"'
                )


def prepared(family: str = "6.1") -> tuple[Kernel, list[Path]]:
    """Kernel and modules, built if they are not."""
    root = checkout_root()
    kernel = get_kernel(family)
    return kernel, build_modules(kernel, [root / folder for folder in MODULES])


def boot(
    kernel: Kernel, modules: list[Path], script: str, virtual_s: float, seed: int
) -> GuestResult:
    """Run a script in a guest with our modules and tools; its result, checked."""
    return run_guest(
        kernel, script, programs.guest_files(), modules=modules,
        tools=[*programs.tools(), "iperf3"],
        memory_mb=MEMORY_MB, seed=seed, virtual_limit_s=round(virtual_s) + 30,
        timeout_s=60 + HOST_SECONDS_A_GUEST_SECOND * virtual_s,
    ).check()  # fmt: skip


def run_one(
    scenario: Scenario, plan: Plan, driver: str, seed: int, kernel: Kernel, modules: list[Path]
) -> tuple[Run, dict[str, StreamFrames]]:
    """One driver's run.

    Raises:
        TraceError: the files the guest left contradict each other.
        GuestFailedError: the script or the kernel failed.
    """
    guest = Guest(scenario, plan, driver)
    script = guest_script(scenario, plan, driver)
    started = time.monotonic()
    left = boot(kernel, modules, script, scenario.warmup_s + scenario.duration_s + 5, seed)
    files = left.files
    epoch_ns = int(files["base_ns"])
    start_ns = round(scenario.warmup_s * 1e9)
    end_ns = start_ns + round(scenario.duration_s * 1e9)
    ended = observations.read_outcomes(files["trace.txt"].decode())
    records = {
        name: observations.read_wire(files[f"wire-{name}.txt"].decode()) for name in guest.talkers
    }
    listens = {name: _listened(files, name) for name in guest.listeners}
    talks: dict[str, dict[str, Talk]] = {name: {} for name in guest.talkers}
    for stream in scenario.stream:
        talked = observations.load_json(files, f"talk-{stream.id}.json")
        talks[stream.talker][stream.id] = cast(Talk, talked)
    names = verdict_names()
    streams: dict[str, StreamResult] = {}
    joined: dict[str, StreamFrames] = {}
    arrays: dict[str, results.FrameArrays] = {}
    tables: dict[str, bytes] = {}
    clocks_ps: dict[str, int] = {}
    for stream in scenario.stream:
        talk = talks[stream.talker][stream.id]
        frames = observations.stream_frames(
            stream, guest.device(stream.talker), talk, [listens[name] for name in stream.listeners],
            records[stream.talker], ended, names, epoch_ns, scenario.sync.mode == "ideal",
            plan["stations"].get(stream.talker), guest.driver(stream.talker) == "keepon",
        )  # fmt: skip
        joined[stream.id] = frames
        driver_of = guest.driver(stream.talker)
        measured, document = measured_stream(
            frames.arrays, scenario, stream, plan, driver_of, (start_ns, end_ns), names
        )
        arrays[stream.id] = measured
        heard = {name: listens[name] for name in stream.listeners}
        tables[stamps_file(driver, stream.id)] = stamps_table(stream, talk, heard)
        document["talker_counters"] = talk["counters"]
        document["stamp_error_ns"] = {
            "max": float(np.max(np.abs(frames.stamp_error_ps), initial=0)) / 1000,
            "note": (
                "hardware transmit stamps less the record of the wire in the talker's time, as the"
                " kernel has it"
            ),
        }
        clocks_ps[stream.id] = frames.clock_ps
        streams[stream.id] = document
    window_ns = (start_ns, end_ns)
    stations = {
        name: _station(
            guest, files, name, records.get(name), (epoch_ns + start_ns, epoch_ns + end_ns)
        )
        for name in guest.linked
    }
    parts: RunParts = {
        "driver": driver,
        "streams": streams,
        "window_ns": list(window_ns),
        "stations": stations,
        "bridges": {bridge.name: _bridge(guest, files, bridge.name) for bridge in scenario.bridge},
        "loads": {load.id: observations.load_result(files, load.id) for load in scenario.load},
        "guest": {
            "kernel": kernel.version,
            "virtual_seconds": left.virtual_seconds,
            "wall_seconds": round(time.monotonic() - started, 1),
            "script": script.splitlines(),
            "messages": left.stdout.splitlines(),
        },
    }
    for name in guest.talkers:
        offsets_ns = observations.clock_offsets_ns(talks[name], records[name])
        if offsets_ns:
            off_ns: ClockOffsets = {"min": min(offsets_ns), "max": max(offsets_ns)}
            stations[name]["clock"] = {"nic_offset_ns": off_ns}
    for stream in scenario.stream:
        _check_clock(
            scenario,
            streams[stream.id],
            stations[stream.talker],
            stream.talker,
            clocks_ps[stream.id],
        )
    judged = outcomes.judged(parts, mark_onset(scenario, streams, arrays))
    talkers_ps = {stream.talker: clocks_ps[stream.id] for stream in scenario.stream}
    others = observations.sightings(guest, records, talkers_ps)
    return Run(driver, judged, arrays, "", files=tables, others=others), joined


def _check_clock(
    scenario: Scenario, stream: StreamResult, station: StationResult, name: str, clock_ps: int
) -> None:
    """One more bound of a stream: its talker's clock against the NIC's, which all numbers of the
    stream rest on.
    """
    stepped_ns = sum(
        abs(fault.value_ns)
        for fault in scenario.fault
        if (fault.kind, fault.node) == ("clock-step", name)
    )
    idle_ns = station["nic"]["tx_idle_ns"] if station["suspected_underruns"] else 0
    bound_ns = CLOCK_NS_MAX * (1 + station["underruns"]) + idle_ns + stepped_ns
    stream["bound_check"]["talker_clock_ns"] = results.check(bound_ns, abs(clock_ps))
    stream["outcome"] = outcomes.of_stream(stream["due"], stream["missing"], stream["bound_check"])


def _station(
    guest: Guest,
    files: dict[str, bytes],
    name: str,
    record: WireRecord | None,
    window_ns: tuple[int, int],
) -> StationResult:
    """Counters of a station, those of every target first.

    best_effort_bps is what its wire saw beside the streams, as long as on the wire; None where no
    record was kept.
    """
    device, own = guest.device(name), guest.nic(name)
    is_keepon = device != own
    nic = observations.counters_of(files, own, NIC_COUNTERS if is_keepon else ())
    counters = observations.counters_of(files, device, KEEPON_COUNTERS) if is_keepon else {}
    return {
        "underruns": counters.get("underruns", 0),
        "suspected_underruns": counters.get("suspected_underruns", 0),
        "placeholders": nic.get("tx_placeholders", 0),
        "slots_total": counters.get("slots_completed", 0),
        "best_effort_bps": None
        if record is None
        else observations.rate_bps(record.others, *window_ns),
        "clock": {},
        "counters": counters,
        "nic": nic,
    }


def _listened(files: dict[str, bytes], name: str) -> Listen:
    return cast(Listen, observations.load_json(files, f"listen-{name}.json"))


def _bridge(guest: Guest, files: dict[str, bytes], name: str) -> BridgeResult:
    return cast(BridgeResult, observations.counters_of(files, guest.bridge(name)))


BY_CONSTRUCTION = [
    (
        "Time in the guest is the number of instructions it executed (QEMU icount): latencies of"
        " its one CPU are those of the emulation, not of a real machine; wires, NICs and"
        " oscillators are keepon_hwsim's."
    ),
    (
        "Arrivals are hardware stamps of NICs whose clocks run with the talker's (sync.mode ="
        " \"ideal\"), moved to the talker's PHC by one constant. Nobody sets the talkers' clocks in"
        " the run: how far each is from its NIC's clock is checked (`bound_check.talker_clock_ns`)"
        " and stands in `stations.NAME.clock.nic_offset_ns`."
    ),
    (
        "Listeners' clocks run free, and their stamps cannot be compared with txtimes: delays are"
        " not known, and no bound on them is checked."
    ),
]


def run_all(
    scenario: Scenario, plan: Plan, seed: int, progress: Progress | None = None, family: str = "6.1"
) -> Outcome:
    """Every driver of the scenario in turn; a Ctrl-C keeps the ones that are complete."""
    check_plan(plan)
    kernel, modules = prepared(family)
    runs: list[Run] = []
    interrupted = False
    try:
        for driver in scenario.drivers():
            if progress is not None:
                progress(driver, 0.0)
            runs.append(run_one(scenario, plan, driver, seed, kernel, modules)[0])
            if progress is not None:
                progress(driver, 1.0)
    except KeyboardInterrupt:
        interrupted = True
    constructed = BY_CONSTRUCTION[:2] if scenario.sync.mode == "ideal" else BY_CONSTRUCTION[::2]
    return Outcome(
        result_document(NAME, scenario, seed, runs, {}, constructed, interrupted), runs, interrupted
    )


@dataclass(frozen=True)
class VirtualMachine:
    """The target `vm` with a kernel of one family."""

    family: str = "6.1"
    name: str = NAME
    duration_s: float | None = DURATION_S

    def check_supported(self, scenario: Scenario) -> None:
        check_supported(scenario)

    def run_all(
        self, scenario: Scenario, plan: Plan, seed: int, progress: Progress | None = None
    ) -> Outcome:
        return run_all(scenario, plan, seed, progress, self.family)
