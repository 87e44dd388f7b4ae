# SPDX-License-Identifier: BSD-3-Clause
"""One command's work: plan, run, write the result folder whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w

from keepon import __version__
from keepon.cli import planning
from keepon.errors import ConfigError, EnvironmentProblemError, one_line
from keepon.measure import capture, causes, sightings
from keepon.model import documents
from keepon.model.plan import Plan
from keepon.model.result import Result
from keepon.model.scenario import Scenario
from keepon.planner.network.solve import INTERRUPTED
from keepon.planner.partition.limits import TIME_LIMIT_S
from keepon.report import origin
from keepon.report import page as report
from keepon.targets.runs import Outcome, Progress, Run, Target
from keepon.targets.sim.runner import Simulator

CAPTURE_FRAMES = 10_000
FAMILIES = ("6.1", "6.12", "newest")
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


def target_named(name: str, kernel: str | None, on_host: HostOptions = HostOptions()) -> Target:
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
    if kernel is not None and name != "vm":
        raise ConfigError(
            f'option --kernel = "{one_line(kernel)}": is of --target vm, not {name}; leave it out'
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
    try:
        from keepon.targets.vm.target import VirtualMachine
    except ModuleNotFoundError as error:
        raise EnvironmentProblemError(
            f"option --target = vm: needs the repository, as {error.name} is not installed; run it"
            " from a checkout set up with scripts/setup kernel"
        ) from error

    if kernel is None:
        kernel = FAMILIES[0]
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


def _seen(scenario: Scenario, plan: Plan, run: Run, limit: int) -> sightings.Seen:
    """What the run's wires saw; streams alone where the target kept nothing else."""
    if run.seen is not None:
        return run.seen
    lengths = {
        stream.id: plan["streams"][stream.id]["frame_bytes_on_wire"]
        if scenario.driver_of(scenario.station_named(stream.talker), run.driver) == "keepon"
        else stream.frame_bytes
        for stream in scenario.stream
    }
    verdicts = {name: list(entry["verdicts"]) for name, entry in run.document["streams"].items()}
    epoch_ns = next(iter(run.frames.values())).epoch_ns
    start_ns, end_ns = run.document["window_ns"]
    window_ns = (epoch_ns + start_ns, epoch_ns + end_ns)
    return sightings.of_streams(
        scenario, run.frames, verdicts, lengths, window_ns, limit, run.others
    )


def _bytes_note(run: Run) -> str:
    """Whose bytes those in the capture are, and which side is not there."""
    if run.others is None:
        return "bytes are rebuilt"
    return (
        "bytes of streams are rebuilt, of best effort the first ones are there, as they were sent;"
        " best effort is that of talkers of streams, and of listeners only over one cable"
    )


def _stamps_note(result: Result) -> str:
    """What its instants are: only the simulator knows those of the wire."""
    if result["target"] == "sim":
        return "stamps are exact network time of the first bit after the SFD"
    by = origin.measured_by(result)
    if result["target"] == "vm":
        return (
            f"stamps were made {by}, both moved into the talker's time by one constant for each"
            " stream"
        )
    off_ns = max(map(origin.run_off_ns, result["runs"]), default=0.0)
    apart = (
        f"between stations they may be off by {origin.ns(off_ns)} ns (uncertainty_ns in"
        " result.json)"
        if off_ns
        else "clocks of stations were not compared"
    )
    return f"stamps are not exact, they were made {by}; {apart}"


def _write_capture(
    path: Path, scenario: Scenario, plan: Plan, outcome: Outcome, limit: int
) -> None:
    """The capture of the judged run, and what the result says of it."""
    run = outcome.runs[0]
    seen = _seen(scenario, plan, run, limit)
    kinds = {"stream": "streams", "load": "best effort", "ptp": "PTP"}
    note = (
        f"every frame of {', '.join(kinds[kind] for kind in seen.kinds)} that stations sent or got"
        f" from {seen.start_ns} to {seen.end_ns} ns of network time;"
        f" {_stamps_note(outcome.result)}; {_bytes_note(run)}"
    )
    count = capture.write(
        path,
        [station.name for station in scenario.station],
        sightings.packets(scenario, seen),
        f"keepon {__version__}",
        f"{scenario.name}, driver {run.driver}: {note}",
    )
    outcome.result["capture"] = {
        "driver": run.driver,
        "frames": count,
        "limit": limit,
        "window_ns": [seen.start_ns, seen.end_ns],
        "note": note,
    }


def write_folder(
    folder: Path,
    scenario: Scenario,
    plan: Plan,
    outcome: Outcome,
    capture_frames: int,
    more: Callable[[Path], str] | None = None,
) -> None:
    """Everything CONTRACTS names for a result folder; `outcome` has at least one complete run.

    `more` writes further files into the folder it is given, and returns HTML for the page.
    """
    with documents.result_folder(folder) as work:
        (work / documents.SCENARIO_FILE).write_text(
            tomli_w.dumps(scenario.effective()), encoding="utf-8"
        )
        documents.write(work / documents.PLAN_FILE, plan)
        if capture_frames > 0:
            _write_capture(work / documents.CAPTURE_FILE, scenario, plan, outcome, capture_frames)
        for run in outcome.runs:
            for name, data in run.files.items():
                (work / name).write_bytes(data)
        documents.write(work / documents.RESULT_FILE, outcome.result)
        section = more(work) if more is not None else ""
        report.write(work / documents.REPORT_FILE, outcome.result, plan, section)


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
    if isinstance(target, Simulator):
        target = replace(target, capture_frames=capture_frames)
    outcome = target.run_all(scenario, plan, seed, progress)
    for run in outcome.result["runs"]:
        run["causes"] = causes.of_run(run, outcome.result["effective"], plan)
    if outcome.runs:
        write_folder(folder, scenario, plan, outcome, capture_frames)
    return outcome


def prepare(scenario: Scenario, folder: Path, target: Target = SIMULATOR) -> None:
    """Everything that can be refused is refused before the first simulated second."""
    target.check_supported(scenario)
    check_size(scenario)
    documents.check_target(folder)
