# SPDX-License-Identifier: BSD-3-Clause
"""The other end of the cable: which frames arrive there, and what its counters say meanwhile."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from keepon_host.errors import ConfigError, EnvironmentProblemError
from keepon_host.hwcheck.wire import Peer

ETHERTYPE = 0x88B5
MAGIC = 0x6877636B
HEADER_BYTES = 14
ROOM_BYTES = 1 << 22
"""For all frames of a run, which are read behind it; each may take a driver's whole buffer."""
SO_RCVBUFFORCE = 33
"""Not in the socket module; without it net.core.rmem_max is the most, some 185 frames."""
QUIET_S = 0.3
SO_TIMESTAMPNS = 35
"""Not in the socket module; SCM_TIMESTAMPNS is the same, a timespec of CLOCK_REALTIME."""
STAMP = struct.Struct("@ll")
NET = Path("/sys/class/net")


@dataclass(frozen=True)
class Reading:
    """CLOCK_REALTIME at an instant of CLOCK_MONOTONIC_RAW, which drivers count by."""

    raw_ns: int
    real_ns: int

    @classmethod
    def now(cls) -> Reading:
        """The second is not before the first, so their difference is never too large."""
        real_ns = time.time_ns()
        return cls(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), real_ns)

    @property
    def offset_ns(self) -> int:
        return self.real_ns - self.raw_ns


class Listener:
    """Frames of a run on an interface, from now on."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM_BYTES)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self.socket.bind((name, ETHERTYPE))
        except PermissionError as error:
            raise EnvironmentProblemError("only root may check a card; use sudo") from error
        except OSError as error:
            raise ConfigError(
                f'option --peer = "{name}": cannot be listened on ({error.strerror}); set it up'
            ) from error
        self.before = self._counters()
        self.begun = Reading.now()

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
        # if CLOCK_REALTIME was set between the two, no stamp must count as too early
        offset_ns = min(self.begun.offset_ns, Reading.now().offset_ns)
        numbers = set()
        arrived_ns: dict[int, int] = {}
        self.socket.settimeout(QUIET_S)
        with suppress(TimeoutError):
            while True:
                frame, beside, _, _ = self.socket.recvmsg(2048, socket.CMSG_SPACE(STAMP.size))
                magic, number = struct.unpack_from(
                    "!II", frame.ljust(HEADER_BYTES + 8, b"\0"), HEADER_BYTES
                )
                if magic != MAGIC:
                    continue
                numbers.add(number)
                for _, kind, data in beside:
                    if kind == SO_TIMESTAMPNS and len(data) == STAMP.size:
                        seconds, ns = STAMP.unpack(data)
                        arrived_ns.setdefault(number, seconds * 10**9 + ns - offset_ns)
        bad, good = self._counters()
        return Peer(
            self.name, frozenset(numbers), bad - self.before[0], good - self.before[1], arrived_ns
        )
