# SPDX-License-Identifier: BSD-3-Clause
"""A whole run on this machine: set up, wait for clocks, send and hear, collect, put back."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from keepon_host.doctor.tree import Tree
from keepon_host.errors import EnvironmentProblemError, KeeponError
from keepon_host.testbed import machine
from keepon_host.testbed.children import Child, Children, Links
from keepon_host.testbed.clocks import Agreement, Phc, Reading, read
from keepon_host.testbed.job import BASE, MAC, OUT, Job, ProgramJob
from keepon_host.testbed.stations import Station
from keepon_host.testbed.undo import EndedError, Undo, signals_end

SECOND_NS = 1_000_000_000
# From the last command before traffic to the first txtime.
LEAD_S = 2.0
# Programs end by themselves; this much later something is wrong.
PATIENCE_S = 20.0
LOOK_S = 0.2
# Of phc2sys: it steps at once instead of winding up its integral by what the clock is off at first,
# and its damping is kp / (2 sqrt(ki x readings a second)) = 1.0, so that it does not ring.
SERVO = ("-R", "8", "-F", "0.000001", "-P", "1.0", "-I", "0.03")
TRACING = Path("/sys/kernel/tracing")
TRACE_KB = 16_384

Tell = Callable[[float], None]


def run(job: Job, folder: Path, tell: Tell = lambda share: None) -> None:
    """Do it, and leave what was seen as files in `folder`.

    Args:
        job: what to do.
        folder: an empty one.
        tell: called with the share that is done.

    Raises:
        KeeponError: one sentence on what was not possible or went wrong; what was changed was put
            back, or the sentence says what was not.
        KeyboardInterrupt: Ctrl-C; everything was put back.
    """
    undo = Undo()
    try:
        with signals_end():
            try:
                _run(job, folder, undo, tell)
            finally:
                _put_back(undo)
    except KeyboardInterrupt:
        if undo.failed:
            raise EndedError("; ".join(["interrupted", *_left(undo)])) from None
        raise
    except KeeponError as error:
        raise type(error)("; ".join([str(error), *_left(undo)])) from error
    except OSError as error:
        why = f"the files of the run cannot be kept ({error.strerror or error}): make room in"
        raise EnvironmentProblemError(
            "; ".join([f"{why} {folder.parent}", *_left(undo)])
        ) from error
    if undo.failed:
        raise EnvironmentProblemError("; ".join(_left(undo)))


def _put_back(undo: Undo) -> None:
    """Also if a signal comes before signals wait."""
    while True:
        try:
            undo.run()
            return
        except (KeyboardInterrupt, EndedError):
            continue


def _left(undo: Undo) -> list[str]:
    return [f"not put back: {sentence}" for sentence in undo.failed]


def _run(job: Job, folder: Path, undo: Undo, tell: Tell) -> None:
    if os.geteuid():
        raise EnvironmentProblemError("target host needs root; run it with sudo")
    stations = {entry.name: Station(entry) for entry in job.stations}
    for station in stations.values():
        station.hold(undo)
    if job.sync in ("set", "ptp"):
        # behind that, as clocks of another run of Keepon go with its cards
        _alone_at_clocks()
    for station in stations.values():
        station.survey()  # all of them, before the first is touched
    for station in stations.values():
        station.claim(undo)
    for station in stations.values():
        station.set_up(undo)
    clocks = {
        name: Phc(each.phc, each.clock_error_ns) for name, each in stations.items() if each.phc >= 0
    }
    for clock in clocks.values():
        undo.add(f"{clock.path} is still open", clock.close)
    children, links = Children(folder), Links()
    undo.add("programs still run", children.end)
    undo.add("links are still watched", links.end)
    for each in stations.values():
        names = {
            name: f"station {each.job.name}: {name}"
            for name in (each.job.interface, each.job.device)
        }
        links.watch(each.job.namespace, names)
    with tempfile.TemporaryDirectory(prefix="keepon-host-") as settings:
        _set_clocks(job, stations, children, Path(settings))
        if job.clock_limit_ns is not None and clocks:
            agreement = Agreement(clocks, job.clock_limit_ns, job.clock_wait_s)
            while not agreement.reached():
                children.check()
                links.check(LOOK_S)
        with tracing(any(entry.link is not None for entry in job.stations)) as trace:
            readings = _traffic(job, folder, stations, clocks, children, links, tell)
            if trace is not None:
                (folder / "trace.txt").write_bytes((trace / "trace").read_bytes())
    _leave(job, folder, stations, readings)


def _alone_at_clocks() -> None:
    """Two programs that set one clock fight for it."""
    others = Tree(Path("/")).running("ptp4l", "phc2sys")
    if others:
        names = ", ".join(f"{each.name} (process {each.number})" for each in others)
        raise EnvironmentProblemError(
            f"{names} sets clocks already, and so would this run; end it, or leave the clocks to it"
            " with --keep-clocks"
        )


def _set_clocks(job: Job, stations: dict[str, Station], children: Children, settings: Path) -> None:
    """phc2sys sets clocks from CLOCK_TAI: every one, or the leader's, and ptp4l the others."""
    tai_s = round(
        (time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME))
        / SECOND_NS
    )
    done: set[int] = set()
    for name, station in stations.items():
        entry = station.job
        if entry.ptp4l:
            file = settings / f"{name}.cfg"
            file.write_text(entry.ptp4l)
            stamps = "-H" if station.phc >= 0 else "-S"
            children.start(
                f"ptp4l of station {name}", entry.namespace,
                ["ptp4l", stamps, "-m", "-f", str(file)], f"ptp4l-{name}.txt", lasting=True,
            )  # fmt: skip
        is_set = job.sync == "set" or (job.sync == "ptp" and entry.leads)
        if is_set and station.phc >= 0 and station.phc not in done:
            done.add(station.phc)
            words = [
                "phc2sys", "-s", "CLOCK_REALTIME", "-c", f"/dev/ptp{station.phc}",
                "-O", str(tai_s), *SERVO, "-m",
            ]  # fmt: skip
            children.start(
                f"phc2sys of station {name}", entry.namespace, words, f"phc2sys-{name}.txt",
                lasting=True,
            )  # fmt: skip


@contextmanager
def tracing(wanted: bool) -> Iterator[Path | None]:
    """An instance of the kernel's tracing with keepon's events, which say what became of frames.

    Raises:
        EnvironmentProblemError: this kernel lets nobody trace.
    """
    if not wanted:
        yield None
        return
    instance = TRACING / "instances" / f"keepon-{os.getpid()}"
    try:
        instance.mkdir()
    except OSError as error:
        raise EnvironmentProblemError(
            f"the kernel's tracing, which says what became of frames, cannot be used ({error});"
            " mount it with mount -t tracefs tracefs /sys/kernel/tracing, unless lockdown forbids"
            " it"
        ) from error
    try:
        (instance / "buffer_size_kb").write_text(str(TRACE_KB))
        (instance / "events/keepon/enable").write_text("1")
        yield instance
    finally:
        # Whoever reads the trace may still hold it for a moment.
        for _ in range(50):
            try:
                instance.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def _traffic(
    job: Job,
    folder: Path,
    stations: dict[str, Station],
    clocks: dict[str, Phc],
    children: Children,
    links: Links,
    tell: Tell,
) -> list[Reading]:
    """Programs from the first to the last; clocks are read all the while."""
    known = {OUT: f"{folder}/"}

    def start(what: str, program: ProgramJob, out: str, own: dict[str, str]) -> Child:
        words = filled(program.words, {**known, **own})
        if program.listener:
            words.append("--sw-stamps")
            if stations[program.station].stamps_sent and "--hw-stamps" not in words:
                words.append("--hw-stamps")
        return children.start(
            f"{what} {program.name}", stations[program.station].job.namespace, words, out
        )

    servers = []
    for load in job.loads:
        assert load.server is not None
        at, words = load.server
        namespace = stations[at].job.namespace
        out = f"load-{load.name}-server.txt"
        servers.append(children.start(f"server of load {load.name}", namespace, words, out))
    links.check(LOOK_S if servers else 0)
    running = [start("load", load, f"load-{load.name}.json", {}) for load in job.loads]
    running += [
        start("the listener of station", entry, f"listen-{entry.name}.txt", {})
        for entry in job.listeners
    ]
    links.check(LOOK_S)
    soonest_ns = time.clock_gettime_ns(time.CLOCK_TAI) + round(LEAD_S * SECOND_NS)
    base_ns = (soonest_ns // job.cycle_ns + 1) * job.cycle_ns
    (folder / "base_ns").write_text(str(base_ns))
    for talker in job.talkers:
        own = {BASE: str(base_ns), MAC: stations[talker.listener].mac}
        running.append(start("the talker of stream", talker, f"talk-{talker.name}.txt", own))
    readings = [read(clocks)]
    over_s = LEAD_S + (job.cycle_ns + job.total_ns + job.drain_ns) / SECOND_NS
    begun_s = time.monotonic()
    while not all(child.check() for child in running):
        past_s = time.monotonic() - begun_s
        if past_s > over_s + PATIENCE_S:
            left = next(child.what for child in running if not child.check())
            raise EnvironmentProblemError(f"{left} did not come to its end")
        children.check()
        tell(min(0.99, past_s / over_s))
        links.check(LOOK_S)
        readings.append(read(clocks))
    return readings


def filled(words: list[str], known: dict[str, str]) -> list[str]:
    """Words with what was not known before."""
    filled = []
    for word in words:
        for name, value in known.items():
            word = word.replace(name, value) if word.startswith(name) else word
        filled.append(word)
    return filled


def _leave(job: Job, folder: Path, stations: dict[str, Station], readings: list[Reading]) -> None:
    """What was seen beside the programs' own files."""
    documents: dict[str, object] = {
        "clocks.json": {"readings": [reading.as_document() for reading in readings]},
        "machine.json": {
            "kernel": platform.release(),
            "cpus": machine.cpus(),
            "stations": {
                name: {
                    "interface": each.job.interface, "home": each.job.home,
                    "namespace": each.job.namespace, "device": each.job.device,
                    "clock": f"/dev/ptp{each.phc}" if each.phc >= 0 else None,
                    **machine.card(each.job.namespace, each.job.interface),
                }
                for name, each in stations.items()
            },
        },
    }  # fmt: skip
    for each in stations.values():
        names = dict.fromkeys((each.job.interface, each.job.device))
        documents[f"stats-{each.job.name}.json"] = {
            name: machine.counters(each.job.namespace, name) for name in names
        }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))
