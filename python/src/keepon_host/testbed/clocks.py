# SPDX-License-Identifier: BSD-3-Clause
"""How far clocks of this machine are apart: each PHC against CLOCK_TAI, by the kernel's own cross
readings (PTP_SYS_OFFSET_PRECISE, _EXTENDED; linux/ptp_clock.h).
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from keepon_host.errors import EnvironmentProblemError

_TIME = struct.Struct("=qII")
_READINGS, _READINGS_MAX = 9, 25
_EXTENDED_BYTES = 16 + _READINGS_MAX * 3 * _TIME.size
_PRECISE_BYTES = 64


def _request(number: int, size: int) -> int:
    """_IOWR('=', number, size)"""
    return 3 << 30 | size << 16 | ord("=") << 8 | number


PRECISE, EXTENDED = _request(8, _PRECISE_BYTES), _request(9, _EXTENDED_BYTES)


def _ns(data: bytes | bytearray, at: int) -> int:
    seconds, nanoseconds, _ = _TIME.unpack_from(data, at)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


@dataclass(frozen=True)
class Offset:
    """A clock less CLOCK_TAI, ns, and how far that may be off either way."""

    offset_ns: int
    uncertainty_ns: int


class Phc:
    """A PTP hardware clock, open.

    Args:
        number: of /dev/ptp.
        own_error_ns: how far what is read of it may be from what it stamps: a keepon link reads its
            clock through an index that stands still for a slot.

    Raises:
        EnvironmentProblemError: it cannot be opened or read.
    """

    def __init__(self, number: int, own_error_ns: Callable[[], int] = lambda: 0) -> None:
        self.number = number
        self._own_error_ns = own_error_ns
        self.path = f"/dev/ptp{number}"
        try:
            self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise EnvironmentProblemError(f"{self.path}: {error.strerror}") from error

    def close(self) -> None:
        os.close(self._file)

    def offset(self) -> Offset:
        """Against CLOCK_TAI, now."""
        its, error_ns = self._offset(), self._own_error_ns()
        return Offset(its.offset_ns, its.uncertainty_ns + error_ns)

    def _offset(self) -> Offset:
        tai_ns = time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)
        tai_ns = round(tai_ns, -9)
        precise = bytearray(_PRECISE_BYTES)
        try:
            fcntl.ioctl(self._file, PRECISE, precise)
        except OSError:
            return self._extended(tai_ns)
        return Offset(_ns(precise, 0) - _ns(precise, _TIME.size) - tai_ns, 1)

    def _extended(self, tai_ns: int) -> Offset:
        data = bytearray(_EXTENDED_BYTES)
        struct.pack_into("=I", data, 0, _READINGS)
        try:
            fcntl.ioctl(self._file, EXTENDED, data)
        except OSError as error:
            raise EnvironmentProblemError(
                f"{self.path}: it cannot be compared with the system's clock ({error.strerror})"
            ) from error
        best: Offset | None = None
        for reading in range(_READINGS):
            at = 16 + reading * 3 * _TIME.size
            before, its, after = (_ns(data, at + part * _TIME.size) for part in range(3))
            half_ns = (after - before + 1) // 2
            if best is None or half_ns < best.uncertainty_ns:
                best = Offset(its - (before + after) // 2 - tai_ns, half_ns)
        assert best is not None
        return best


@dataclass(frozen=True)
class Reading:
    """All clocks at one time (CLOCK_TAI)."""

    tai_ns: int
    offsets: dict[str, Offset]

    def spread_ns(self) -> tuple[int, str, str]:
        """How far the two farthest clocks are apart, and their names: last and first. CLOCK_TAI is
        one of them.
        """
        known = {"CLOCK_TAI": 0, **{name: each.offset_ns for name, each in self.offsets.items()}}
        last, first = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
        return known[last] - known[first], last, first

    def as_document(self) -> dict[str, object]:
        offsets = {
            name: [each.offset_ns, each.uncertainty_ns] for name, each in self.offsets.items()
        }
        return {"tai_ns": self.tai_ns, "offsets_ns": offsets}


def read(clocks: dict[str, Phc]) -> Reading:
    """The clocks of stations; those that share one have it read once."""
    each = {clock.number: clock.offset() for clock in clocks.values()}
    now_ns = time.clock_gettime_ns(time.CLOCK_TAI)
    return Reading(now_ns, {name: each[clock.number] for name, clock in clocks.items()})


AGREED_READINGS, INTERVAL_S = 4, 0.25


class Agreement:
    """Waits until clocks agree, reading by reading.

    Attributes:
        limit_ns: how far they may be apart.
        wait_s: how long to wait; 0: one reading decides.
    """

    def __init__(self, clocks: dict[str, Phc], limit_ns: int, wait_s: float) -> None:
        self._clocks, self.limit_ns, self.wait_s = clocks, limit_ns, wait_s
        self._begun_s = time.monotonic()
        self._agreed = 0

    def reached(self) -> bool:
        """One more reading: has it come to as many in a row as are wanted?

        Raises:
            EnvironmentProblemError: the time is over; it says by how much they disagree.
        """
        apart_ns, last, first = read(self._clocks).spread_ns()
        self._agreed = self._agreed + 1 if apart_ns <= self.limit_ns else 0
        if self._agreed >= (AGREED_READINGS if self.wait_s else 1):
            return True
        if not self._agreed and time.monotonic() - self._begun_s >= self.wait_s:
            raise EnvironmentProblemError(
                f"the clocks disagree by {apart_ns} ns (that of {last} is ahead of that of"
                f" {first}), more than --clock-limit-ns {self.limit_ns}, after"
                f" --clock-wait-s {self.wait_s:g}; let them be set, wait longer, or allow more"
            )
        return False
