# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C, SIGTERM and SIGHUP end a command alike, by KeyboardInterrupt, and not while something is
written that must be whole.

Python runs handlers in the main thread whatever signals that blocks: any thread that does not block
one gets it. So what comes too early is remembered by the handler, not by pthread_sigmask().
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], Any] | int | None
AGAIN_S: Final = 1.0
"""Another one within this is part of the first: `timeout` sends one to the process and one to its
group, and shell and kernel both send one when a connection is lost.
"""


class _Command:
    """The command at work."""

    deferring = 0  # blocks of `deferred` round what is done
    is_pending = False  # one came within them
    is_interrupted = False


def handled_by(handler: Handler) -> dict[int, Handler]:
    """Have them call `handler`; what the caller of the command ignores (nohup) stays ignored.

    Returns:
        What they called before.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    before: dict[int, Handler] = {number: signal.getsignal(number) for number in ENDING}
    before = {
        number: found for number, found in before.items() if found not in (signal.SIG_IGN, None)
    }
    for number in before:
        signal.signal(number, handler)
    return before


@contextmanager
def ending_interrupts() -> Iterator[None]:
    """Within the block each of them raises KeyboardInterrupt, once it is not deferred."""
    _Command.is_pending = _Command.is_interrupted = False
    last_s = -AGAIN_S

    def ended(_number: int, _frame: FrameType | None) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s < AGAIN_S:
            return
        last_s = now_s
        if _Command.deferring:
            _Command.is_pending = True
        else:
            _interrupt()

    before = handled_by(ended)
    try:
        yield
    finally:
        for number, found in before.items():
            signal.signal(number, found)


def _interrupt() -> None:
    _Command.is_interrupted = True
    raise KeyboardInterrupt


def came() -> bool:
    """Whether the command has been interrupted: another exception that ends it comes of that, as
    libraries in C make some of it.
    """
    return _Command.is_interrupted


@contextmanager
def deferred() -> Iterator[None]:
    """What comes within the block is obeyed after it, which takes a second or so.

    Raises:
        KeyboardInterrupt: one came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no handler runs in this thread
        return
    _Command.deferring += 1
    try:
        yield
    finally:
        _Command.deferring -= 1
        if _Command.is_pending and not _Command.deferring:
            _Command.is_pending = False
            _interrupt()
