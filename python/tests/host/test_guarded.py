# SPDX-License-Identifier: BSD-3-Clause
"""Work that is done or undone, whichever process is killed: on a file, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from keepon.errors import EnvironmentProblemError
from keepon_host.guarded import guarded

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from keepon.errors import EnvironmentProblemError
from keepon_host.guarded import guarded

folder, kind = Path(sys.argv[1]), sys.argv[2]

def work():
    (folder / "half").touch()
    (folder / "worker").write_text(str(os.getpid()))
    if kind == "waits":
        time.sleep(600)
    if kind == "fails":
        raise EnvironmentProblemError("the link did not come back")
    return "moved"

def back():
    time.sleep(1.5 if kind == "waits" else 0)  # until a second signal has come
    if kind == "fails" and (folder / "stuck").exists():
        raise EnvironmentProblemError("no driver takes it")
    (folder / "half").unlink(missing_ok=True)

fork = os.fork

def forked():
    child = fork()
    if child:
        os.kill(os.getpid(), signal.SIGTERM)
    return child

if kind == "at once":
    os.fork, kind = forked, "waits"
try:
    print(guarded(work, back, "all is as it was"))
except EnvironmentProblemError as error:
    print(error)
except KeyboardInterrupt:
    print("interrupted")
"""
WAIT_S = 60.0


def started(folder: Path, kind: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), kind], stdout=subprocess.PIPE, text=True
    )


def awaited(what: Callable[[], bool]) -> None:
    limit_s = time.monotonic() + WAIT_S
    while not what() and time.monotonic() < limit_s:
        time.sleep(0.01)
    assert what()


def worker(folder: Path) -> int:
    file = folder / "worker"
    awaited(lambda: file.exists() and file.read_text() != "")
    return int(file.read_text())


def test_what_comes_to_its_end_is_not_undone(tmp_path: Path) -> None:
    process = started(tmp_path, "works")
    assert process.communicate()[0] == "moved\n"
    assert (tmp_path / "half").exists()
    assert worker(tmp_path) != process.pid, "a process of its own does it"


def test_what_fails_is_undone_and_says_so(tmp_path: Path) -> None:
    printed = started(tmp_path, "fails").communicate()[0]
    assert printed == "the link did not come back; all is as it was\n"
    assert not (tmp_path / "half").exists()
    (tmp_path / "stuck").touch()
    printed = started(tmp_path, "fails").communicate()[0]
    assert printed == ("the link did not come back; and not all is as it was: no driver takes it\n")


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGINT)])
def test_a_signal_ends_it_and_a_second_one_does_not_end_the_undoing(
    tmp_path: Path, numbers: tuple[signal.Signals, ...]
) -> None:
    process = started(tmp_path, "waits")
    worker(tmp_path)
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.1)
    assert process.communicate()[0] == "interrupted\n"
    assert not (tmp_path / "half").exists()


@pytest.mark.slow
def test_a_signal_between_fork_and_readiness_ends_it(tmp_path: Path) -> None:
    """It ended the command without a word, whose work was undone behind its back."""
    process = started(tmp_path, "at once")
    assert process.communicate()[0] == "interrupted\n"
    assert not (tmp_path / "half").exists()


@pytest.mark.slow
def test_a_killed_command_is_undone_by_its_worker(tmp_path: Path) -> None:
    process = started(tmp_path, "waits")
    worker(tmp_path)
    process.kill()
    process.communicate()
    awaited(lambda: not (tmp_path / "half").exists())


@pytest.mark.slow
def test_a_killed_worker_is_undone_by_the_command(tmp_path: Path) -> None:
    process = started(tmp_path, "waits")
    os.kill(worker(tmp_path), signal.SIGKILL)
    assert process.communicate()[0] == "the process that does it was killed; all is as it was\n"
    assert not (tmp_path / "half").exists()


def test_here_it_needs_no_program() -> None:
    with pytest.raises(EnvironmentProblemError, match=r"^it broke; as before$"):
        guarded(_broken, lambda: None, "as before")


def _broken() -> str:
    raise EnvironmentProblemError("it broke")
