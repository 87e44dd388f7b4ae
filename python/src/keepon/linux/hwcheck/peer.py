# SPDX-License-Identifier: BSD-3-Clause
"""The other end of the cable: which frames arrive there, and what its counters say meanwhile."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.linux.hwcheck.judge import Peer

ETHERTYPE = 0x88B5
MAGIC = 0x6877636B
HEADER_BYTES = 14
ROOM_BYTES = 1 << 20
QUIET_S = 0.3
NET = Path("/sys/class/net")


class Listener:
    """Frames of a run on an interface, from now on."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
            self.socket.bind((name, ETHERTYPE))
        except PermissionError as error:
            raise EnvironmentProblemError("only root may check a card; use sudo") from error
        except OSError as error:
            raise ConfigError(
                f'option --peer = "{name}": cannot be listened on ({error.strerror}); set it up'
            ) from error
        self.before = self._counters()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def _counters(self) -> tuple[int, int]:
        folder = NET / self.name / "statistics"
        bad, good = (
            int((folder / counter).read_text()) for counter in ("rx_crc_errors", "rx_packets")
        )
        return bad, good

    def seen(self) -> Peer:
        """What has come since, once nothing does any more."""
        numbers = set()
        self.socket.settimeout(QUIET_S)
        with suppress(TimeoutError):
            while True:
                frame = self.socket.recv(2048)
                magic, number = struct.unpack_from(
                    "!II", frame.ljust(HEADER_BYTES + 8, b"\0"), HEADER_BYTES
                )
                if magic == MAGIC:
                    numbers.add(number)
        bad, good = self._counters()
        return Peer(self.name, frozenset(numbers), bad - self.before[0], good - self.before[1])
