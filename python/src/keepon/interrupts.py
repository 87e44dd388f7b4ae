# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C while something is finished that must be whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_wait() -> Iterator[list[int]]:
    """Ctrl-C is remembered instead of obeyed: what is complete gets written, which takes under a
    second.
    """
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
