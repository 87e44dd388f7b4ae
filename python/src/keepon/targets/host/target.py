# SPDX-License-Identifier: BSD-3-Clause
"""Runs a planned scenario on this machine's interfaces, one driver after the other; hands back what
the simulator does, too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from keepon_host.checkout import found_program
from keepon_host.testbed import session
from keepon_host.testbed.job import ASSUMED, Job

from keepon._sim import verdict_names
from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.machines.network import gated
from keepon.measure import results
from keepon.measure.due import last_bits_ps
from keepon.measure.results import FrameArrays
from keepon.model import outcomes
from keepon.model.machinereports import HostRun
from keepon.model.plan import Plan
from keepon.model.qdiscs.stations import check_put_to_up, check_real
from keepon.model.result import RunParts, StationResult, StreamResult
from keepon.model.scenario import START_NS, Scenario, Stream
from keepon.model.tools import Listen, Talk
from keepon.model.topology import check_single_ports
from keepon.targets.host import observations
from keepon.targets.host.observations import Clocks
from keepon.targets.host.places import (
    CLOCK_WAIT_S,
    Host,
    Place,
    check_loads,
    check_places,
    clock_limit_ns,
    job_of,
)
from keepon.targets.measured import mark_onset, measured_stream, stamps_file, stamps_table
from keepon.targets.runs import Outcome, Progress, Run, result_document
from keepon.targets.vm.observations import load_json, load_result, read_outcomes

NAME: Final = "host"
DURATION_S = 1.0
DURATION_S_MAX = 60.0
FAULTS = ("late-submit",)
LEFT_BEHIND = "the run"
"""Who left files, in messages."""

Runner = Callable[[Job, Path, session.Tell], None]


def check_supported(scenario: Scenario) -> None:
    """Refuse what this target cannot do, before any work.

    Raises:
        ConfigError: one sentence on the first such key.
    """
    if not 0 < scenario.duration_s + scenario.warmup_s <= DURATION_S_MAX:
        raise ConfigError(
            f"key `duration_s` = {scenario.duration_s}: with `warmup_s` it must be at most"
            f" {DURATION_S_MAX:g} s for target host; use --duration"
        )
    check_single_ports(scenario, "target host")
    if scenario.sync.mode == "gptp":
        bridges = {bridge.name for bridge in scenario.bridge}
        if scenario.sync.grandmaster in bridges:
            raise ConfigError(
                f'key `sync.grandmaster` = "{scenario.sync.grandmaster}": must be a station for'
                " target host, whose bridges are beyond its reach"
            )
    for index, station in enumerate(scenario.station):
        check_real(f"key `station[{index}]", station)
        check_put_to_up(f"key `station[{index}]", station)
        if station.keepon.clock == "dual" and station.driver != "keepon":
            raise ConfigError(f'key `station[{index}].keepon.clock` = "dual": needs driver keepon')
    for index, link in enumerate(scenario.link):
        if link.loss_probability:
            raise ConfigError(
                f"key `link[{index}].loss_probability` = {link.loss_probability}: must be 0 for"
                " target host, which has no hand on wires; use target sim"
            )
    for index, load in enumerate(scenario.load):
        if load.start_ns != START_NS:
            raise ConfigError(
                f"key `load[{index}].start_ns` = {load.start_ns}: must be {START_NS} for target"
                " host, whose loads begin with the run; use target sim"
            )
    for index, fault in enumerate(scenario.fault):
        if fault.kind not in FAULTS:
            raise ConfigError(
                f'key `fault[{index}].kind` = "{fault.kind}": must be {", ".join(FAULTS)} for'
                " target host, which has no hand on cards and wires; use target sim or vm"
            )


@dataclass(frozen=True)
class Seen:
    """Files of a run, read."""

    files: dict[str, bytes]
    talks: dict[str, Talk]
    listens: dict[str, Listen]
    clocks: Clocks
    epoch_ns: int

    @staticmethod
    def read(host: Host, files: dict[str, bytes]) -> Seen:
        talks = {
            stream.id: cast(Talk, load_json(files, f"talk-{stream.id}.json", LEFT_BEHIND))
            for stream in host.scenario.stream
        }
        listens = {
            name: cast(Listen, load_json(files, f"listen-{name}.json", LEFT_BEHIND))
            for name in host.listeners
        }
        clocks = Clocks(load_json(files, "clocks.json", LEFT_BEHIND)["readings"])
        return Seen(files, talks, listens, clocks, int(files["base_ns"]))


def judged_run(host: Host, job: Job, files: dict[str, bytes]) -> Run:
    """What came of a run, from the files it left.

    Raises:
        TraceError: they contradict each other.
    """
    scenario, plan = host.scenario, host.plan
    seen = Seen.read(host, files)
    start_ns = round(scenario.warmup_s * 1e9)
    window_ns = (start_ns, start_ns + round(scenario.duration_s * 1e9))
    ended = read_outcomes(files.get("trace.txt", b"").decode())
    names = verdict_names()
    streams: dict[str, StreamResult] = {}
    arrays: dict[str, FrameArrays] = {}
    tables: dict[str, bytes] = {}
    for stream in scenario.stream:
        talk = seen.talks[stream.id]
        driver = host.driver(stream.talker)
        frames = observations.stream_frames(
            stream, host.device(stream.talker), talk,
            [seen.listens[name] for name in stream.listeners], ended, names, seen.epoch_ns,
            job.sync != "free", driver == "keepon",
        )  # fmt: skip
        measured, document = measured_stream(
            frames, scenario, stream, plan, driver, window_ns, names
        )
        document["talker_counters"] = talk["counters"]
        _believe(host, job, stream, measured, document, seen)
        arrays[stream.id], streams[stream.id] = measured, document
        heard = {name: seen.listens[name] for name in stream.listeners}
        tables[stamps_file(host.run, stream.id)] = stamps_table(stream, talk, heard)
    parts: RunParts = {
        "driver": host.run,
        "streams": streams,
        "window_ns": list(window_ns),
        "stations": {name: _station(host, seen, name) for name in host.linked},
        "bridges": {},
        "loads": {load.id: load_result(files, load.id) for load in scenario.load},
        "host": _host(job, seen),
    }
    judged = outcomes.judged(parts, mark_onset(scenario, streams, arrays))
    return Run(host.run, judged, arrays, "", files=tables)


def _believe(
    host: Host, job: Job, stream: Stream, frames: FrameArrays, document: StreamResult, seen: Seen
) -> None:
    """Who stamped frames of a stream, and its checks as far as those stamps allow."""
    sender = observations.sender_stamps(seen.talks[stream.id], host.is_keepon(stream.talker))
    receivers = {
        name: observations.receiver_stamps(
            seen.listens[name], host.is_keepon(name),
            host.scenario.station_named(name).keepon.clock == "dual",
        )
        for name in stream.listeners
    }  # fmt: skip
    compared = job.sync != "free"
    others = list(stream.listeners)
    off_ns = seen.clocks.uncertainty_ns(stream.talker, others) if compared else 0
    document["stamps"] = {
        "talker": sender,
        "listeners": receivers,
        "uncertainty_ns": off_ns if compared else None,
    }
    checks = document["bound_check"]
    # Stamps of a card are whole ns.
    jitter_off_ns = round(1 + seen.clocks.rate(stream.talker, others) * stream.period_ns, 3)
    observations.believed(checks, sender, list(receivers.values()), off_ns, jitter_off_ns)
    entry, padded = host.plan["streams"][stream.id], host.driver(stream.talker) == "keepon"
    document["first_bad"] = observations.first_bad(
        frames, results.bounds_of(entry, padded), stream.deadline_ns, list(receivers.values()),
        off_ns, last_bits_ps(host.scenario, stream, entry, padded),
    )  # fmt: skip
    if compared and job.clock_limit_ns is not None and job.sync != ASSUMED:
        apart_ns = seen.clocks.apart_ns(stream.talker, others)
        checks["clocks_ns"] = results.check(job.clock_limit_ns, apart_ns * 1000)
    document["outcome"] = outcomes.of_stream(document["due"], document["missing"], checks)


def _station(host: Host, seen: Seen, name: str) -> StationResult:
    """Counters of a station. What nobody counts is not there."""
    counted = load_json(seen.files, f"stats-{name}.json", LEFT_BEHIND)
    found: StationResult = {"best_effort_bps": None, "clock": {}, "nic": counted[host.nic(name)]}
    if host.driver(name) == "keepon":
        counters = counted[host.device(name)]
        found["counters"] = counters
        found["underruns"] = counters.get("underruns", 0)
        found["suspected_underruns"] = counters.get("suspected_underruns", 0)
        found["slots_total"] = counters.get("slots_completed", 0)
    return found


def _host(job: Job, seen: Seen) -> HostRun:
    machine = load_json(seen.files, "machine.json", LEFT_BEHIND)
    said = {
        name: data.decode(errors="replace").splitlines()
        for name, data in sorted(seen.files.items())
        if name.endswith(".txt") and name != "trace.txt"
    }
    found = {
        **machine,
        "clocks": job.sync,
        "clock_limit_ns": job.clock_limit_ns,
        "clock_offsets_ns": {} if job.sync == ASSUMED else seen.clocks.spread_ns(),
        "messages": said,
    }
    return cast(HostRun, found)


def constructed(scenario: Scenario, plan: Plan, job: Job) -> list[str]:
    """What such a run cannot but show."""
    sentences = [
        (
            "No capture of the wire exists on a machine: every instant is a stamp, and each"
            " stream's `stamps` say who. keepon's own stamps are of its model of the wire: a card"
            " that sent a slot later than it said would not show in them, only at the listener."
        )
    ]
    sentences.append(
        "What the scenario says of oscillators, hosts, NICs and cables is the simulator's model;"
        " here they are what this machine has."
    )
    if job.sync == "free":
        sentences.append(
            "Clocks run free, and listeners' stamps cannot be compared with txtimes: delays are"
            " not known, and no bound on them is checked."
        )
    else:
        sentences.append(
            f"Clocks of the machines are assumed to agree within {job.clock_limit_ns} ns, and were"
            " not compared: a bound of a delay is missed only if a frame is beyond it by more."
            if job.sync == ASSUMED
            else "Clocks were compared with CLOCK_TAI all the while, not made equal: a bound of a"
            " delay is missed only if a frame is beyond it by more than the clocks may have been"
            " apart (`uncertainty_ns`), and how far they were is a bound of its own (`clocks_ns`)."
        )
    if scenario.bridge:
        names = ", ".join(bridge.name for bridge in scenario.bridge)
        gates = " with the gate lists of the plan" if gated(plan) is not None else ""
        sentences.append(
            f"Bridges ({names}) are taken to be there, as the scenario has them{gates}: this"
            " target neither sets nor reads them."
        )
    return sentences


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A place for the files of a run.

    Raises:
        EnvironmentProblemError: there is none.
    """
    try:
        return tempfile.TemporaryDirectory(prefix="keepon-run-")
    except OSError as error:
        raise EnvironmentProblemError(
            f"there is no place for the files of the run ({error}); name one with TMPDIR"
        ) from error


@dataclass(frozen=True)
class ThisHost:
    """The target `host`.

    Attributes:
        places: interface of every station.
        limit_ns: how far clocks may disagree; None: as follows from the scenario's bounds.
        wait_s: how long to wait until they agree.
        keep_clocks: another program sets them.
        runner: does the work, on a machine it is root of.
    """

    places: dict[str, Place]
    limit_ns: int | None = None
    wait_s: float = CLOCK_WAIT_S
    keep_clocks: bool = False
    runner: Runner = session.run
    name: str = NAME
    duration_s: float | None = DURATION_S
    programs: dict[str, str] = field(default_factory=dict)

    def check_supported(self, scenario: Scenario) -> None:
        check_supported(scenario)
        check_places(scenario, self.places)
        if self.runner is session.run and os.geteuid():
            raise EnvironmentProblemError(
                "target host needs root, to set up interfaces; run it with sudo"
            )

    def job(self, scenario: Scenario, plan: Plan, driver: str) -> tuple[Host, Job]:
        """What the run of one driver is to do."""
        host = Host(scenario, plan, driver, self.places)
        limit_ns = self.limit_ns
        if limit_ns is None:
            limit_ns = clock_limit_ns(scenario, plan)
        return host, job_of(host, limit_ns, self.wait_s, self.keep_clocks, self.programs)

    def run_all(
        self, scenario: Scenario, plan: Plan, seed: int, progress: Progress | None = None
    ) -> Outcome:
        check_loads(scenario)
        programs = self.programs or {
            name: found_program(name) for name in ("keepon-talk", "keepon-listen")
        }
        target = replace(self, programs=programs)
        runs: list[Run] = []
        interrupted = False
        sentences: list[str] = []
        try:
            for driver in scenario.drivers():
                host, job = target.job(scenario, plan, driver)
                sentences = sentences or constructed(scenario, plan, job)
                with _folder() as folder:

                    def tell(share: float, driver: str = driver) -> None:
                        if progress is not None:
                            progress(driver, share)

                    self.runner(job, Path(folder), tell)
                    files = {each.name: each.read_bytes() for each in Path(folder).iterdir()}
                runs.append(judged_run(host, job, files))
                if progress is not None:
                    progress(driver, 1.0)
        except KeyboardInterrupt:
            interrupted = True
        return Outcome(
            result_document(NAME, scenario, seed, runs, {}, sentences, interrupted),
            runs,
            interrupted,
        )
