# SPDX-License-Identifier: BSD-3-Clause
"""Work that must be done or undone, even if the command is killed at work.

A process of its own does it, in a session of its own: a terminal that goes away does not end it. It
undoes the work when the command is killed, and the command does when it is killed itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from keepon_host.errors import EnvironmentProblemError, KeeponError

ENDING = (signal.SIGINT, signal.SIGTERM)
DEFECT = 1
"""Exit code of the process that works, if it ended otherwise than it should."""


def guarded(work: Callable[[], str], back: Callable[[], None], restored: str) -> str:
    """What `work` gives; if it does not come to its end, `back` is done.

    SIGINT and SIGTERM end it. SIGHUP does not: what is done over a connection that is lost is
    judged by whether that comes back.

    Args:
        work: raises KeeponError if it fails.
        back: undoes it from wherever it had come to; raises KeeponError if that fails.
        restored: message when `back` has undone it.

    Raises:
        EnvironmentProblemError: it failed; the message says whether it was undone.
        KeyboardInterrupt: it was ended, and undone.
    """
    ours, its = socket.socketpair()
    # until both have said what they do with them: one that came between would end the command alone
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    child = os.fork()
    if child == 0:
        ours.close()
        _work(work, back, its, mask)
    its.close()
    with ours, _passed_on(child), ours.makefile("rb") as answer:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        outcome = answer.read()
        os.waitpid(child, 0)
        end = json.loads(outcome) if outcome else _undone(back)
    if "done" in end:
        return str(end["done"])
    if end["problem"]:
        raise EnvironmentProblemError(f"{end['why']}; and {end['problem']}")
    if end["interrupted"]:
        raise KeyboardInterrupt
    raise EnvironmentProblemError(f"{end['why']}; {restored}")


def _work(
    work: Callable[[], str],
    back: Callable[[], None],
    its: socket.socket,
    mask: Iterable[int],
) -> NoReturn:
    """The process that does it; `mask`: the signals that are blocked when it is ready for them."""
    code = DEFECT
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, _ended)
        _ends_with(its)
        its.sendall(json.dumps(_outcome(work, back, mask)).encode())
        code = 0
    finally:
        os._exit(code)


def _ended(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: what follows must come to its end
    raise KeyboardInterrupt


def _ends_with(its: socket.socket) -> None:
    """SIGTERM for us when the command, which has the other end, has ended in any way."""
    fcntl.fcntl(its, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(its, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(its, fcntl.F_SETFL, fcntl.fcntl(its, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([its], [], [], 0)[0]:  # it has ended before that: it sends nothing
        raise KeyboardInterrupt


def _outcome(
    work: Callable[[], str], back: Callable[[], None], mask: Iterable[int]
) -> dict[str, Any]:
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        done = work()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return {"done": done}
    except (KeeponError, OSError, KeyboardInterrupt) as error:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        interrupted = isinstance(error, KeyboardInterrupt)
        why = "interrupted" if interrupted else str(error)
        return {"why": why, "interrupted": interrupted, "problem": _problem(back)}


def _problem(back: Callable[[], None]) -> str:
    """Undo it; what is not undone."""
    try:
        back()
    except (KeeponError, OSError) as error:
        return f"not all is as it was: {error}"
    return ""


def _undone(back: Callable[[], None]) -> dict[str, Any]:
    """The process that works was killed: what it would have undone is for us."""
    why = "the process that does it was killed"
    return {"why": why, "interrupted": False, "problem": _problem(back)}


@contextmanager
def _passed_on(child: int) -> Iterator[None]:
    """Signals that end the command end the work; nothing else here does."""

    def ended(_number: int, _frame: object) -> None:
        os.kill(child, signal.SIGTERM)

    before = {number: signal.signal(number, ended) for number in ENDING}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
