# SPDX-License-Identifier: BSD-3-Clause
"""QEMU's control channel (QMP), as far as a guest is saved and loaded through it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from keepon_host.errors import EnvironmentProblemError


class Channel:
    """One connection to a QEMU that is about to be started: `arguments` go into its command line,
    `theirs` is the descriptor that it inherits.
    """

    def __init__(self, timeout_s: float) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(timeout_s)
        self._lines = self._ours.makefile("rb")
        self.events: list[str] = []

    def __enter__(self) -> Channel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.close()
        self._ours.close()
        self._theirs.close()

    @property
    def theirs(self) -> int:
        return self._theirs.fileno()

    @property
    def arguments(self) -> list[str]:
        number = self.theirs
        return ["-chardev", f"socket,id=qmp,fd={number}", "-mon", "chardev=qmp,mode=control"]

    def begin(self) -> None:
        """Leave QEMU's end to QEMU, and agree on the protocol."""
        self._theirs.close()
        self._read()
        self.ask("qmp_capabilities")

    def _read(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except OSError as error:
            raise EnvironmentProblemError(f"QEMU does not answer: {error}") from error
        if not line:
            raise EnvironmentProblemError("QEMU has ended")
        message: dict[str, Any] = json.loads(line)
        if "event" in message:
            self.events.append(message["event"])
        return message

    def ask(self, command: str, **arguments: object) -> Any:
        """What a command returns. EnvironmentProblemError if QEMU refuses it, ends or is silent."""
        request = {"execute": command, "arguments": arguments}
        with suppress(BrokenPipeError):  # the reason is in what QEMU printed
            self._ours.sendall(json.dumps(request).encode() + b"\n")
        while True:
            message = self._read()
            if "error" in message:
                raise EnvironmentProblemError(f"QEMU: {command}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]

    def await_event(self, name: str) -> None:
        while name not in self.events:
            self._read()

    def until(self, command: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask again and again, 1000 times a second, until the answer is as wanted."""
        while True:
            answer: dict[str, Any] = self.ask(command)
            if done(answer):
                return answer
            time.sleep(0.001)
