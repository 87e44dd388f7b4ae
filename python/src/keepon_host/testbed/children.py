# SPDX-License-Identifier: BSD-3-Clause
"""Programs of a run, and the links under them: the first that ends badly or is lost ends the
run.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keepon_host.errors import EnvironmentProblemError
from keepon_host.testbed import machine

PR_SET_PDEATHSIG = 1
END_S = 5.0
SAID_S, LOOK_S = 10.0, 0.05
MET, MISSED = 0, 1
"""Exit codes of keepon-talk and keepon-listen with a result (docs/tools.md)."""


def _dies_with_us() -> None:
    """Whatever ends the command, its programs do not go on."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass
class Child:
    """A program that runs.

    Attributes:
        what: for messages.
        log: what it prints errors to.
        lasting: it has to run until it is ended.
    """

    what: str
    process: subprocess.Popen[bytes]
    log: Path
    lasting: bool

    def said(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "nothing"

    def check(self) -> bool:
        """Has it ended well?

        Raises:
            EnvironmentProblemError: it has ended otherwise.
        """
        code = self.process.poll()
        if code is None:
            return False
        if code < 0:
            name = signal.Signals(-code).name
            raise EnvironmentProblemError(f"{self.what} was killed in the run ({name})")
        if self.lasting or code not in (MET, MISSED):
            raise EnvironmentProblemError(
                f"{self.what} ended in the run with exit code {code}; it said: {self.said()}"
            )
        return True


class Children:
    """All programs of a run; leaving the context ends those that still run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._all: list[Child] = []

    def start(
        self, what: str, namespace: str, words: Sequence[str], out: str, lasting: bool = False
    ) -> Child:
        """A program, in the background; what it prints is in the file `out`, and its errors are,
        too, unless that is a JSON file: they stand beside it then, with suffix .txt.
        """
        printed = self._folder / out
        log = printed.with_suffix(".txt")
        try:
            with printed.open("wb") as output, log.open("ab") as errors:
                process = subprocess.Popen(
                    machine.within(namespace, words), stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT if log == printed else errors,
                    start_new_session=True, preexec_fn=_dies_with_us,
                )  # fmt: skip
        except FileNotFoundError:
            raise EnvironmentProblemError(f"the program {words[0]} is not here") from None
        child = Child(what, process, log, lasting)
        self._all.append(child)
        return child

    def check(self) -> None:
        """All of them. Raises as `Child.check`."""
        for child in self._all:
            child.check()

    def await_said(self, child: Child, words: str, limit_s: float = SAID_S) -> None:
        """Until it has printed these words among its errors. Raises as `Child.check`."""
        begun_s = time.monotonic()
        while words not in child.log.read_text(errors="replace"):
            if child.check() or time.monotonic() - begun_s > limit_s:
                raise EnvironmentProblemError(
                    f"{child.what} was not ready in {limit_s:g} s; it said: {child.said()}"
                )
            time.sleep(LOOK_S)

    def ended(self) -> bool:
        """Have all ended well, after a moment? Raises as `Child.check`."""
        time.sleep(LOOK_S)
        return all([child.check() for child in self._all])  # noqa: C419 (each has to be looked at)

    def end(self) -> None:
        """End all that still run, softly at first."""
        running = [child.process for child in self._all if child.process.poll() is None]
        for process in running:
            process.terminate()
        limit_s = time.monotonic() + END_S
        for process in running:
            try:
                process.wait(max(0.0, limit_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Links:
    """Interfaces whose link must last, by `ip monitor link` in each namespace."""

    GONE = re.compile(r"^Deleted \d+: (?P<name>[^:@]+)[:@]")
    STATE = re.compile(r"^\d+: (?P<name>[^:@]+)[:@][^<]*<(?P<flags>[^>]*)>")

    def __init__(self) -> None:
        self._watched: list[tuple[subprocess.Popen[bytes], dict[str, str], bytearray]] = []

    def watch(self, namespace: str, names: dict[str, str]) -> None:
        """From now on; `names`: what to call each interface in messages."""
        process = subprocess.Popen(
            ["ip", *(["-n", namespace] if namespace else []), "-o", "monitor", "link"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=_dies_with_us,
        )  # fmt: skip
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._watched.append((process, names, bytearray()))

    def check(self, wait_s: float) -> None:
        """Wait that long, or until a child writes.

        Raises:
            EnvironmentProblemError: a link went down, or an interface away.
        """
        streams = [process.stdout for process, _, _ in self._watched if process.stdout]
        if not streams:
            time.sleep(wait_s)
            return
        select.select(streams, [], [], wait_s)
        for process, names, held in self._watched:
            assert process.stdout is not None
            held += process.stdout.read() or b""
            *lines, rest = bytes(held).decode(errors="replace").split("\n")
            held[:] = rest.encode()
            for line in lines:
                _judge(line, names)

    def end(self) -> None:
        for process, _, _ in self._watched:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _judge(line: str, names: dict[str, str]) -> None:
    gone, state = Links.GONE.match(line), Links.STATE.match(line)
    if gone and gone["name"] in names:
        raise EnvironmentProblemError(f"{names[gone['name']]} went away in the run")
    if state and state["name"] in names:
        flags = state["flags"].split(",")
        if "UP" not in flags:
            raise EnvironmentProblemError(f"{names[state['name']]} was set down in the run")
        if "LOWER_UP" not in flags:
            raise EnvironmentProblemError(
                f"{names[state['name']]} lost its link in the run; look at cable and peer"
            )
