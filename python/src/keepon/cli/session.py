# SPDX-License-Identifier: BSD-3-Clause
"""One command's work: plan, run, write the result folder whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from keepon import __version__
from keepon.cli import planning
from keepon.errors import ConfigError
from keepon.interrupts import interrupts_wait
from keepon.measure import capture
from keepon.measure.results import NONE
from keepon.model import documents
from keepon.model.plan import Plan
from keepon.model.reproduction import Reproduction
from keepon.model.scenario import Scenario
from keepon.planner.network.solve import INTERRUPTED
from keepon.planner.partition.limits import TIME_LIMIT_S
from keepon.report import page as report
from keepon.studies.casestudy import reproduce
from keepon.studies.spread import Spread
from keepon.targets.runs import Outcome, Progress, Run, Target
from keepon.targets.sim.build import simulator
from keepon.targets.sim.runner import Simulator

CAPTURE_FRAMES = 10_000
FAMILIES = ("6.1", "6.12")
REPRODUCTION_FILE = "reproduction.json"
ROOM_FRAMES = 200_000_000


SIMULATOR = Simulator()


@dataclass(frozen=True)
class HostOptions:
    """What the command line says of target host alone."""

    maps: tuple[str, ...] = ()
    clock_limit_ns: int | None = None
    clock_wait_s: float | None = None
    keep_clocks: bool = False

    @property
    def given(self) -> bool:
        return self != HostOptions()


def target_named(name: str, kernel: str, on_host: HostOptions = HostOptions()) -> Target:
    """A target by its name on the command line.

    Raises:
        ConfigError: there is none of this name, no such kernel, or an option is another target's.
    """
    if name not in ("sim", "vm", "host"):
        raise ConfigError(f'option --target = "{name}": must be sim, vm or host')
    if on_host.given and name != "host":
        raise ConfigError(
            "options --map, --clock-limit-ns, --clock-wait-s and --keep-clocks are of --target"
            f" host, not {name}; leave them out"
        )
    if name == "sim":
        return SIMULATOR
    if name == "host":
        from keepon.targets.host.places import CLOCK_WAIT_S, parse_map
        from keepon.targets.host.target import ThisHost

        wait_s = CLOCK_WAIT_S if on_host.clock_wait_s is None else on_host.clock_wait_s
        return ThisHost(
            parse_map(list(on_host.maps)), on_host.clock_limit_ns, wait_s, on_host.keep_clocks
        )
    from keepon.targets.vm.target import VirtualMachine

    if kernel not in FAMILIES:
        raise ConfigError(f'option --kernel = "{kernel}": must be one of {", ".join(FAMILIES)}')
    return VirtualMachine(kernel)


def planned(scenario: Scenario, time_limit_s: float = TIME_LIMIT_S) -> Plan:
    """The scenario's plan, checked if feasible, within a time limit.

    Raises:
        KeyboardInterrupt: the user stopped it.
    """
    return read_and_planned(lambda: scenario, time_limit_s)[1]


def read_and_planned(load: Callable[[], Scenario], time_limit_s: float) -> tuple[Scenario, Plan]:
    """The same of a scenario that is yet to be read, which is part of the time."""
    scenario, plan = planning.planned(load, time_limit_s)
    if "why" in plan and plan["why"]["constraint"] == INTERRUPTED:
        raise KeyboardInterrupt
    return scenario, plan


def check_size(scenario: Scenario) -> None:
    """Refuse runs whose frames would not fit memory (about 60 bytes each)."""
    frames = sum(
        int((scenario.duration_s + scenario.warmup_s) * 1e9) // stream.period_ns
        for stream in scenario.stream
    )
    if frames > ROOM_FRAMES:
        raise ConfigError(
            f"key `duration_s` = {scenario.duration_s}: gives {frames} frames, more than the"
            f" {ROOM_FRAMES} that are kept in memory; shorten it"
        )


def _packets(scenario: Scenario, plan: Plan, run: Run, limit: int) -> Iterator[capture.Packet]:
    """The first frames of every stream as its listeners stamped them, in order of stamps."""
    nodes = {station.name: number for number, station in enumerate(scenario.station, start=1)}
    interfaces = {name: index for index, name in enumerate(listeners(scenario))}
    share = max(1, limit // max(1, sum(len(stream.listeners) for stream in scenario.stream)))
    entries: list[tuple[int, int, str, int, str]] = []
    verdicts = run.document["streams"]
    for number, stream in enumerate(scenario.stream):
        frames = run.frames[stream.id]
        names = list(verdicts[stream.id]["verdicts"])
        for row, listener in enumerate(stream.listeners):
            for index in range(min(share, len(frames.seq))):
                stamp_ns = int(frames.stamp_ns[row, index])
                if stamp_ns != NONE:
                    verdict = int(frames.verdict[index])
                    entries.append(
                        (
                            stamp_ns,
                            number,
                            listener,
                            index,
                            names[verdict] if verdict >= 0 else "pending",
                        )
                    )
    for stamp_ns, number, listener, index, verdict_name in sorted(entries):
        stream = scenario.stream[number]
        frames = run.frames[stream.id]
        padded = scenario.driver_of(scenario.station_named(stream.talker), run.driver) == "keepon"
        frame_bytes = (
            plan["streams"][stream.id]["frame_bytes_on_wire"] if padded else stream.frame_bytes
        )
        seq, txtime_ns = int(frames.seq[index]), int(frames.txtime_ns[index])
        data = capture.frame(
            nodes[stream.talker],
            nodes[listener],
            stream.priority,
            number,
            seq,
            txtime_ns,
            frame_bytes,
        )
        comment = f"stream={stream.id} seq={seq} txtime_ns={txtime_ns} verdict={verdict_name}"
        yield capture.Packet(stamp_ns, interfaces[listener], data, comment)


def listeners(scenario: Scenario) -> list[str]:
    """Stations that listen, in file order: the capture's interfaces."""
    listening = {listener for stream in scenario.stream for listener in stream.listeners}
    return [station.name for station in scenario.station if station.name in listening]


def write_folder(
    folder: Path,
    scenario: Scenario,
    plan: Plan,
    outcome: Outcome,
    capture_frames: int,
    extra: Reproduction | None = None,
) -> None:
    """Everything CONTRACTS names for a result folder; `outcome` has at least one complete run."""
    with documents.result_folder(folder) as work:
        (work / documents.SCENARIO_FILE).write_text(
            tomli_w.dumps(scenario.effective()), encoding="utf-8"
        )
        documents.write(work / documents.PLAN_FILE, plan)
        if capture_frames > 0:
            count = capture.write(
                work / documents.CAPTURE_FILE,
                listeners(scenario),
                _packets(scenario, plan, outcome.runs[0], capture_frames),
                f"keepon {__version__}",
            )  # fmt: skip
            outcome.result["capture"] = {
                "driver": outcome.runs[0].driver,
                "frames": count,
                "limit": capture_frames,
                "note": (
                    "the first frames measured of every stream, as stamped by its listener; lengths"
                    " as planned, without trims"
                ),
            }
        for run in outcome.runs:
            for name, data in run.files.items():
                (work / name).write_bytes(data)
        documents.write(work / documents.RESULT_FILE, outcome.result)
        if extra is not None:
            documents.write(work / REPRODUCTION_FILE, extra)
        report.write(work / documents.REPORT_FILE, outcome.result, plan, extra)


def run_scenario(
    scenario: Scenario,
    plan: Plan,
    folder: Path,
    seed: int,
    capture_frames: int,
    progress: Progress | None,
    target: Target = SIMULATOR,
) -> Outcome:
    """Run every driver and write the result folder, unless the user stopped before the first was
    complete.
    """
    prepare(scenario, folder, target)
    outcome = target.run_all(scenario, plan, seed, progress)
    if outcome.runs:
        with interrupts_wait() as seen:
            write_folder(folder, scenario, plan, outcome, capture_frames)
        outcome.interrupted |= bool(seen)
    return outcome


def reproduce_scenario(
    scenario: Scenario,
    plan: Plan,
    folder: Path,
    seed: int,
    seeds: int,
    capture_frames: int,
    progress: Progress | None,
    spread: Spread,
) -> tuple[Outcome, Reproduction | None]:
    """The compared runs and the case study's other parts, in one result folder.

    `spread`: who does the runs of many seeds.
    """
    prepare(scenario, folder)
    outcome = SIMULATOR.run_all(scenario, plan, seed, progress)
    if not outcome.runs:
        return outcome, None
    extra = (
        None if outcome.interrupted else reproduce(scenario, plan, seed, seeds, progress, spread)
    )
    write_folder(folder, scenario, plan, outcome, capture_frames, extra)
    return outcome, extra


def prepare(scenario: Scenario, folder: Path, target: Target = SIMULATOR) -> None:
    """Everything that can be refused is refused before the first simulated second."""
    target.check_supported(scenario)
    check_size(scenario)
    documents.check_target(folder)
    simulator()
