# SPDX-License-Identifier: BSD-3-Clause
"""Commands ended from outside: by Ctrl-C while they load, by SIGTERM, SIGHUP or kill -9 at work."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from helpers import HABITAT, TWO_STATIONS
from keepon import parallel
from keepon.cli import edge
from keepon.model import atomic, documents
from keepon_host import interrupts

PATIENCE_S = 600
NOTHING = "keepon: interrupted; nothing was written\n"

NEW, EARLIER = (f'{{"schema": "keepon.{kind}/1"}}' for kind in ("result", "study"))
"""What is in a result file."""


@contextmanager
def _started(*words: object, **more: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **more,  # type: ignore[call-overload]
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait_for(process: subprocess.Popen[str], module: str) -> None:
    """Until it has loaded an extension."""
    deadline = time.monotonic() + PATIENCE_S
    while module not in Path(f"/proc/{process.pid}/maps").read_text():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_says_so_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    words = (sys.executable, "-m", "keepon", "run", HABITAT, "--duration", "3000")
    with _started(*words, "--out", tmp_path / "x") as process:
        _wait_for(process, "_sim.")
        time.sleep(0.5)
        process.send_signal(number)
        process.send_signal(number)  # as `timeout` and a lost connection do
        out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(
        "keepon: interrupted; nothing was written\n|keepon: interrupted before .*\n", errors
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("pair", [*itertools.permutations(interrupts.ENDING, 2), (2, 2)])
def test_two_at_once_end_a_run_as_one_does(tmp_path: Path, pair: tuple[int, int]) -> None:
    """`timeout -s INT`: the second came while simulations were stopped, and kept them."""
    words = (sys.executable, "-m", "keepon", "run", HABITAT, "--duration", "3000")
    with _started(*words, "--out", tmp_path / "x") as process:
        _wait_for(process, "_sim.")
        time.sleep(0.5)
        for number in pair:
            process.send_signal(number)
            time.sleep(0.001)
        out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(
        "keepon: interrupted; nothing was written\n|keepon: interrupted before .*\n", errors
    )
    assert list(tmp_path.iterdir()) == []


def test_what_runs_is_stopped_whatever_comes_while_it_is_waited_for() -> None:
    begun, seen = threading.Event(), []

    def work(_item: int) -> None:
        begun.set()
        try:
            while True:
                parallel.check_stopped()
                time.sleep(0.01)
        except KeyboardInterrupt:
            for _ in range(5):  # while the pool is waited for
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                time.sleep(0.02)
            seen.append(True)
            raise

    def interrupt() -> None:
        begun.wait()
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    before_s = interrupts.AGAIN_S
    interrupts.AGAIN_S = 0.0  # type: ignore[misc]
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt), interrupts.ending_interrupts():
            list(parallel.in_order(work, range(1), 1))
    finally:
        interrupts.AGAIN_S = before_s  # type: ignore[misc]
    assert seen == [True]


def test_an_interrupt_that_wakes_nobody_is_obeyed_all_the_same() -> None:
    """A signal that another thread gets wakes none, nor does one just before the thread sleeps."""
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    future: Future[None] = Future()
    end = threading.Timer(60, future.set_result, [None])
    end.daemon = True
    end.start()
    with pytest.raises(KeyboardInterrupt), interrupts.ending_interrupts():
        list(parallel.as_done([future]))
    assert not future.done()


def test_what_was_written_before_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> int:
        documents.write(tmp_path / "plan.json", {"a": 1})
        signal.raise_signal(signal.SIGTERM)
        return 0

    for _ in range(2):  # a file that is not there, and one that is
        with interrupts.ending_interrupts():
            assert edge.guard(command) == 130
        sentence = f"keepon: interrupted; {tmp_path}/plan.json had been written\n"
        assert capsys.readouterr().err == sentence

    def other() -> int:
        signal.raise_signal(signal.SIGTERM)
        return 0

    with interrupts.ending_interrupts():
        assert edge.guard(other) == 130
    assert capsys.readouterr().err == NOTHING


def test_an_error_that_a_library_made_of_it_is_no_defect(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def command() -> int:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("Invalid affine transformation matrix") from None
        return 0

    with interrupts.ending_interrupts():
        assert edge.guard(command) == 130
    assert capsys.readouterr().err == NOTHING
    with interrupts.ending_interrupts():
        assert edge.guard(lambda: int("x")) == 70  # of another command


@pytest.mark.slow
@pytest.mark.parametrize("number", interrupts.ENDING)
def test_who_ends_it_while_it_loads_gets_one_sentence(number: signal.Signals) -> None:
    """numpy is among the first that are loaded, and more than half of the time comes after it."""
    with _started(sys.executable, "-m", "keepon", "--version") as process:
        _wait_for(process, "_multiarray_umath")
        process.send_signal(number)
        out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, errors) == (130, "", NOTHING)


@pytest.mark.slow
def test_no_thread_of_another_origin_keeps_it() -> None:
    script = (
        "import sys, threading, time\n"
        "from keepon import __main__ as start\nfrom keepon.cli import app\n"
        "threading.Thread(target=time.sleep, args=(1200,)).start()\n"
        "def main():\n print('said', end='')\n return 130\n"
        "app.main = main\nsys.exit(start.main())\n"
    )
    with _started(sys.executable, "-c", script) as process:
        out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, errors) == (130, "said", "")


@pytest.mark.slow
def test_what_a_shell_had_ignored_stays_ignored(tmp_path: Path) -> None:
    """nohup."""
    words = (sys.executable, "-m", "keepon", "plan", TWO_STATIONS)
    with _started("sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words) as process:
        _wait_for(process, "_multiarray_umath")
        process.send_signal(signal.SIGHUP)
        out, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert "S1" in out


@pytest.mark.parametrize("number", interrupts.ENDING)
def test_they_wait_until_a_folder_is_whole(tmp_path: Path, number: signal.Signals) -> None:
    done = False
    with interrupts.ending_interrupts():
        with pytest.raises(KeyboardInterrupt), documents.result_folder(tmp_path / "o") as half:
            signal.raise_signal(number)
            (half / documents.RESULT_FILE).write_text(NEW)
            done = True
        assert interrupts.came() and done
        assert (tmp_path / "o" / documents.RESULT_FILE).read_text() == NEW
        for again in interrupts.ENDING:  # part of the first
            signal.raise_signal(again)
    assert [path.name for path in tmp_path.iterdir()] == ["o"]


def _write(place: Path) -> None:
    with documents.result_folder(place) as half:
        (half / documents.RESULT_FILE).write_text(NEW)


def _write_ended_at(step: int, place: Path) -> bool:
    """A result that is written while Ctrl-C comes at one of its steps; whether it has so many."""
    passed = 0

    def traced(frame: FrameType, event: str, arg: object) -> Callable[..., object]:
        nonlocal passed
        frame.f_trace_opcodes = True
        passed += event == "opcode"
        if event == "opcode" and passed == step:
            os.kill(os.getpid(), signal.SIGINT)
        return traced

    try:
        with interrupts.ending_interrupts():
            before = sys.gettrace()
            sys.settrace(traced)
            try:
                _write(place)
            finally:
                sys.settrace(before)
            if passed < step:
                return False
            time.sleep(60)  # it comes when what may not be cut short is done
    except KeyboardInterrupt:
        return True
    pytest.fail("it was swallowed")


@pytest.mark.slow
@pytest.mark.parametrize("earlier", [[], ["o"]], ids=["first", "again"])
def test_ctrl_c_at_whatever_step_leaves_one_result_or_none(
    tmp_path: Path, earlier: list[str]
) -> None:
    place = tmp_path / "o"
    _write(place)  # what is compiled once is now
    left: list[list[str]] = []
    for step in range(1, 100_000, 29):
        if not earlier:
            shutil.rmtree(place, ignore_errors=True)
        if not _write_ended_at(step, place):
            break
        left.append([path.name for path in tmp_path.iterdir()])
        assert left[-1] in (earlier, ["o"]), step
    assert len(left) > 50 and left[0] == earlier


def test_a_result_that_cannot_take_its_place_leaves_the_earlier_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "o"
    with documents.result_folder(place) as half:
        (half / documents.RESULT_FILE).write_text(EARLIER)
    replace = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if target == place and self.name != atomic.EARLIER:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(KeyboardInterrupt), documents.result_folder(place) as half:
        (half / documents.RESULT_FILE).write_text(NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["o"]
    assert (place / documents.RESULT_FILE).read_text() == EARLIER
