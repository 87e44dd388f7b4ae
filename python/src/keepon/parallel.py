# SPDX-License-Identifier: BSD-3-Clause
"""Independent runs on all processors, their results in order: how many run at once changes nothing
but the time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from keepon_host import interrupts

Item = TypeVar("Item")
Result = TypeVar("Result")

AWAKE_S: Final = 0.1
"""An interrupt that woke nobody is obeyed after this."""

_stopping = threading.Event()


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def check_stopped() -> None:
    """To be called now and then by work that takes long.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; Python raises it in the main thread alone.
    """
    if _stopping.is_set():
        raise KeyboardInterrupt


def as_done(futures: Iterable[Future[Result]]) -> Iterator[Future[Result]]:
    """Each when it is done. Unlike locks of threading and concurrent.futures.as_completed(), what
    is waited on here stands an interrupt at any moment. One that comes just before the thread
    sleeps does not wake it, so it does not sleep for long.
    """
    done: SimpleQueue[Future[Result]] = SimpleQueue()
    count = 0
    for count, future in enumerate(futures, 1):  # noqa: B007 (how many there are)
        future.add_done_callback(done.put)
    while count:
        try:
            future = done.get(timeout=AWAKE_S)
        except Empty:
            continue
        count -= 1
        yield future


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Generator[Result, None, None]:
    """`work(item)` of every item, in the order of items, several at once.

    Args:
        work: independent of its other calls, and mostly without the interpreter's lock, as a
            simulation is; it calls `check_stopped`.
        items: what is to be done.
        workers: threads; default the processors.

    Raises:
        KeyboardInterrupt: when its turn comes; all before it have been given, all others are
            stopped.
    """
    with ThreadPoolExecutor(workers or processors()) as pool:
        try:
            with interrupts.deferred():
                futures: list[Future[Result]] = [pool.submit(work, item) for item in items]
            done = as_done(futures)
            for future in futures:
                while not future.done():
                    next(done)
                yield future.result()
        except BaseException:
            _stop(pool)
            raise


def _stop(pool: ThreadPoolExecutor) -> None:
    """Cancel what has not begun, and stop and await what runs, whatever comes meanwhile: a second
    request to stop would not reach it.
    """
    with interrupts.deferred():
        _stopping.set()
        try:
            pool.shutdown(wait=True, cancel_futures=True)
        finally:
            _stopping.clear()
