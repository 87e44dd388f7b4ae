# SPDX-License-Identifier: GPL-2.0-only
"""In the guest: carries out `keepon apply`, `confirm` and `unapply` as often as it is asked, each
time in a process of its own, forked from one that has imported them, and so is the process that
watches. To start Python is most of what a try takes.

Six lines in: AT, BEFORE and AFTER of the wrapped commands, SSH_CONNECTION, the file for what is
said, words of the command. One out: number of the process. What watches is called keepon-watcher
(/proc/NUMBER/comm).

A line instead that begins with `await` is waited for here, as a shell would start two programs
each time it looks: `await code NUMBER`, that process has ended; `await said PATTERN`, in /tmp/said;
`await unwatched`, nobody watches any more. One line out: what was found, or nothing when the time
is over.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from keepon.linux.apply import command, watcher
from keepon.linux.apply.__main__ import main

NAMES = ("AT", "BEFORE", "AFTER", "SSH_CONNECTION")
STANDARD = range(3)
LOOK_S = 0.05
WATCHERS = re.compile(rb"keepon-watcher\n|keepon\.linux\.apply\.watcher")


def watching(words: list[str], pass_fds: tuple[int, ...], env: dict[str, str], **_: Any) -> None:
    """In place of a new Python: the same program, with the open files and the environment that it
    would have.
    """
    if os.fork():
        return
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in STANDARD:
        os.dup2(nothing, number)
    kept = [STANDARD.stop - 1, *sorted(pass_fds), os.sysconf("SC_OPEN_MAX")]
    for below, above in itertools.pairwise(kept):
        os.closerange(below + 1, above)
    os.environ.clear()
    os.environ.update(env)
    Path("/proc/self/comm").write_text("keepon-watcher")
    watcher.main(words[-2:])
    os._exit(0)


def carry_out(values: list[str], said: str, words: str) -> None:
    """What the forked process is."""
    os.environ.update({name: value for name, value in zip(NAMES, values, strict=True) if value})
    if values[0]:
        os.environ["PATH"] = f"/tmp/bin:{os.environ['PATH']}"
    out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, number in zip((nothing, out, out), STANDARD, strict=True):
        os.dup2(file, number)
    code = main(words.split())
    sys.stdout.flush()
    os._exit(code)


def waited(values: list[str], said: str, words: str) -> None:
    """Its parent, who waits for it, so that the next one can be asked for."""
    child = os.fork()
    if child == 0:
        carry_out(values, said, words)
    print(child, flush=True)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    draft = Path(f"/tmp/draft.{child}")
    draft.write_text(f"{code if code >= 0 else 128 - code}\n")
    draft.rename(f"/tmp/code.{child}")
    os._exit(0)


def text(path: str | Path) -> bytes:
    """Of a file that may not be there; nothing."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def code(number: str) -> str:
    return text(f"/tmp/code.{number}").decode().strip()


def said(pattern: str) -> str:
    return "said" if re.search(pattern, text("/tmp/said").decode()) else ""


def unwatched(_: str) -> str:
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    found = (text(folder / "comm") + text(folder / "cmdline") for folder in folders)
    return "" if any(map(WATCHERS.search, found)) else "unwatched"


AWAITED: dict[str, tuple[Callable[[str], str], float]] = {
    "code": (code, 200.0), "said": (said, 60.0), "unwatched": (unwatched, 30.0),
}  # fmt: skip


def awaited(what: str, rest: str) -> str:
    look, seconds = AWAITED[what]
    deadline_s = time.monotonic() + seconds
    while not (answer := look(rest)) and time.monotonic() < deadline_s:
        time.sleep(LOOK_S)
    return answer


command.subprocess = SimpleNamespace(Popen=watching, DEVNULL=subprocess.DEVNULL)  # type: ignore[attr-defined]
while line := sys.stdin.readline():
    if line.startswith("await "):
        _, kind, *words = line.rstrip("\n").split(" ", 2)
        print(awaited(kind, " ".join(words)), flush=True)
        continue
    lines = [each.rstrip("\n") for each in (line, *(sys.stdin.readline() for _ in range(5)))]
    if os.fork() == 0:
        waited(lines[:4], *lines[4:])
    with suppress(ChildProcessError):  # there is none
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
