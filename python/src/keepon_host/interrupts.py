# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C, SIGTERM and SIGHUP: they end a command alike, and not while something is finished that
must be whole.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN_S: Final = 1.0
"""Another one within this is part of the first: `timeout` sends one to the process and one to its
group, and shell and kernel both send one when a connection is lost.
"""

LOADED_S: Final = 0.01
"""How soon to look again whether what was under way is finished."""


class _Told:
    """What has become of this command."""

    raised = False  # KeyboardInterrupt, by one of them
    over = False  # what comes now comes too late


_FINISHED_FIRST: Final = {"<frozen importlib._bootstrap>"}
"""Files of code: a module that is loaded may swallow an interrupt or make another exception of
it.
"""


def finish_first(file: str) -> None:
    """Whatever the functions of this file are at is finished before a command ends. That must
    take under a second.
    """
    _FINISHED_FIRST.add(file)


@contextmanager
def ended_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """What ends the command calls `handler`; what whoever started it ignores (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: found
        for number in ENDING
        if (found := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, found in before.items():
            signal.signal(number, found)


def came() -> bool:
    """Whether the command has been interrupted: another exception that ends it comes of that, as
    libraries in C make some of it.
    """
    return _Told.raised


def over() -> bool:
    """Whether the command has ended, with an exit code of its own."""
    return _Told.over


@contextmanager
def ending_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, too, so that all that is half done is taken
    away; not within what is to be finished first. Where Python could not hand it on, as in
    callbacks, it comes again.
    """
    _Told.raised = _Told.over = False
    last_s = -AGAIN_S

    def ended(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        if _is_finished_first(frame):
            # To the main thread, which may be waiting by then. Not by a timer: the planner has the
            # one, and those of processor time go to whoever is running. Nor by threading.Thread,
            # whose locks what is interrupted may hold.
            _thread.start_new_thread(_again, (number, threading.get_ident()))
            return
        now_s = time.monotonic()
        if now_s - last_s < AGAIN_S:
            return
        last_s = now_s
        _Told.raised = True
        raise KeyboardInterrupt

    main, told_before = threading.get_ident(), sys.unraisablehook

    def unraisable(what: sys.UnraisableHookArgs) -> None:
        nonlocal last_s
        if not isinstance(what.exc_value, KeyboardInterrupt):
            told_before(what)
            return
        last_s = -AGAIN_S
        _thread.start_new_thread(_again, (signal.SIGINT, main))

    with ended_by(ended):
        sys.unraisablehook = unraisable
        try:
            yield
        finally:
            sys.unraisablehook = told_before
            _Told.over = True


def _again(number: int, main: int) -> None:
    time.sleep(LOADED_S)
    signal.pthread_kill(main, number)


def _is_finished_first(frame: FrameType | None) -> bool:
    """Whether this is part of an import, or of what else may not be cut short."""
    while frame is not None:
        if frame.f_code.co_filename in _FINISHED_FIRST:
            return True
        frame = frame.f_back
    return False


@contextmanager
def obeyed_after() -> Iterator[None]:
    """They are obeyed when the block is done, which takes under a second.

    Raises:
        KeyboardInterrupt: one came.
    """
    with interrupts_wait() as seen:
        yield
    if seen:
        raise KeyboardInterrupt


@contextmanager
def interrupts_wait() -> Iterator[list[int]]:
    """They are remembered instead of obeyed: what is complete gets written, which takes under a
    second.
    """
    seen: list[int] = []
    with ended_by(lambda number, _frame: seen.append(number)):
        yield seen
