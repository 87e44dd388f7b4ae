# SPDX-License-Identifier: BSD-3-Clause
"""What was changed is put back, last first, whatever ends the run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from keepon_host.errors import EXIT_INTERRUPTED, KeeponError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndedError(KeeponError):
    """Somebody sent SIGTERM or SIGHUP."""

    exit_code = EXIT_INTERRUPTED


def _raise(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise EndedError(f"ended by {signal.Signals(number).name}; nothing was written")


@contextmanager
def signals_end() -> Iterator[None]:
    """SIGTERM and SIGHUP end the work inside as Ctrl-C does: by an exception, so that it is put
    back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _raise) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Undo:
    """Steps that put something back.

    Attributes:
        failed: sentences on what could not be put back.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[str, Callable[[], None]]] = []
        self.failed: list[str] = []

    def add(self, what: str, step: Callable[[], None]) -> None:
        """`what`: what stays as it is if the step fails, for the user."""
        self._steps.append((what, step))

    def run(self) -> None:
        """Every step, even if one before it failed. Signals wait until all is done."""
        is_main = threading.current_thread() is threading.main_thread()
        before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING if is_main}
        try:
            while self._steps:
                what, step = self._steps.pop()
                try:
                    step()
                except Exception as error:  # noqa: BLE001 (the other steps must be done all the same)
                    self.failed.append(f"{what}: {error}")
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
