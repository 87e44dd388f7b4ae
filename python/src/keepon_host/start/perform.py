# SPDX-License-Identifier: BSD-3-Clause
"""Carries out a step, and says beforehand what it will be."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from keepon_host.doctor import asked
from keepon_host.errors import EnvironmentProblemError, one_line
from keepon_host.interface import has_carrier, ip, run, until
from keepon_host.journal import FOLDER, write
from keepon_host.link import commands as link
from keepon_host.start import steps
from keepon_host.start.before import log_path
from keepon_host.start.needs import has_clock
from keepon_host.start.steps import Setup, Step, Told
from keepon_host.start.undo import MARK, STEP

STARTED_S = 1.0
SUBJECTS = {
    steps.Module: "module", steps.Linked: "card", steps.PauseOff: "card", steps.EeeOff: "card",
    steps.AddKeepon: "link", steps.SetUp: "link", steps.RootQueues: "queues",
    steps.LeafQueues: "queues", steps.QueueBytes: "queues", steps.AddVlan: "VLAN",
    steps.Ptp4l: "PTP", steps.Phc2sys: "clock", steps.WriteFile: "file",
}  # fmt: skip
"""What a step is about, as the line about it begins."""


def shown(setup: Setup) -> Iterator[str]:
    """What will be done, as lines of a shell; comments begin with #."""
    for step in setup.steps:
        if line := line_of(step, setup):
            yield line


def line_of(step: Step, setup: Setup) -> str:
    """A step as a line of a shell; "": nothing that is to be seen."""
    match step:
        case Told(text):
            return f"# {text}"
        case steps.AddKeepon(nic, device, options):
            return shlex.join(["keepon", "link", "add", nic, device, *options])
        case steps.QueueBytes(_, _, count_bytes):
            return f"echo {count_bytes} > {step.file}"
        case steps.WriteFile(path):
            return f"# {path} is written"
        case steps.Ptp4l():
            return f"ptp4l {_stamps(step.stamps, setup.device)} -m -f {FOLDER / step.config} &"
        case steps.Phc2sys():
            runs = step.stamps != "auto" or has_clock(setup.device)
            return f"{shlex.join(steps.words(step))} &" if runs else ""
    return shlex.join(steps.words(step))


def done(step: Step, setup: Setup) -> str:
    """A step that was done, in a line; "" of those that only explain."""
    line = line_of(step, setup)
    return f"{SUBJECTS[type(step)]:<7} {line}" if line and type(step) in SUBJECTS else ""


def perform(step: Step, setup: Setup, mark: str) -> None:
    """Carry a step out; `mark` is for the programs it starts.

    Raises:
        KeeponError: it failed; what of it was done, its undo takes away.
    """
    os.environ[STEP] = mark
    match step:
        case Told() | steps.ChooseStamps():
            return
        case steps.PauseOff(device):
            its = asked.pause(device)
            if isinstance(its, asked.Pause) and (its.sends or its.receives):
                run(*steps.words(step))
        case steps.EeeOff(device):
            saves = asked.eee(device)
            if isinstance(saves, asked.Eee) and saves.enabled:
                run(*steps.words(step))
        case steps.Linked():
            _link_up(step)
        case steps.Module(name):
            if not Path("/sys/module", name).is_dir():
                run(*steps.words(step))
        case steps.AddKeepon(nic, device, options):
            link.add(nic, device, options)
        case steps.RootQueues():
            # What was there is put back by its undo.
            run(*("replace" if word == "add" else word for word in steps.words(step)))
        case steps.QueueBytes(_, _, count_bytes):
            if Path(step.file).exists():
                Path(step.file).write_text(str(count_bytes))
        case steps.WriteFile(path, text):
            write(Path(path), text)
        case steps.Ptp4l(_, config, stamps):
            write(FOLDER / config, setup.files[config])
            words = [_stamps(stamps, setup.device), "-m", "-f", str(FOLDER / config)]
            _start(step, ["ptp4l", *words], mark)
        case steps.Phc2sys(_, device, stamps):
            if stamps != "auto" or has_clock(device):
                _start(step, steps.words(step), mark)
        case _:
            run(*steps.words(step))


def _stamps(stamps: str, device: str) -> str:
    return ("-H" if has_clock(device) else "-S") if stamps == "auto" else stamps


def _link_up(step: steps.Linked) -> None:
    name = step.device
    ip("link", "set", "dev", name, "up")
    if not until(time.monotonic() + steps.CARRIER_WAIT_S, lambda: has_carrier(name)):
        raise EnvironmentProblemError(
            f"{name} has no link: plug its cable in, or set the other end up"
        )
    if not step.rate_mbps:
        return
    speed = Path("/sys/class/net", name, "speed").read_text().strip()
    if speed != str(step.rate_mbps):
        raise EnvironmentProblemError(
            f"{name} runs at {speed} Mb/s, not the {step.rate_mbps} that are planned: set its speed"
        )


def _start(step: steps.Daemon, words: list[str], mark: str) -> None:
    """A program that stays; that it does not stop at once is looked at."""
    place = log_path(step)
    environment = {key: value for key, value in os.environ.items() if key != STEP} | {MARK: mark}
    try:
        with place.open("wb") as log:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=environment,
            )  # fmt: skip
    except OSError as error:
        raise EnvironmentProblemError(f"{words[0]}, log {place}: {error.strerror}") from error
    try:
        process.wait(STARTED_S)
    except subprocess.TimeoutExpired:
        return
    said = place.read_text(errors="replace").splitlines()[-1:]
    raise EnvironmentProblemError(f"{words[0]} stopped: {one_line(''.join(said), 200)}")
