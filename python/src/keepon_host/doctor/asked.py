# SPDX-License-Identifier: BSD-3-Clause
"""What no file tells: drivers by the ioctl of ethtool, queueing disciplines by netlink, clocks by
reading them.

Numbers and layouts are those of linux/ethtool.h, linux/rtnetlink.h and linux/timex.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from keepon_host import ethtool
from keepon_host.doctor.checks import Unseen
from keepon_host.errors import EnvironmentProblemError
from keepon_host.link.netlink import (
    NLM_F_DUMP,
    Channel,
    RefusedError,
    parse_attributes,
)

GDRVINFO, GCOALESCE, GPAUSEPARAM, GCHANNELS = 0x03, 0x0E, 0x12, 0x3C
GFEATURES, GET_TS_INFO, GEEE = 0x3A, 0x41, 0x44
SS_FEATURES = 4

NETLINK_ROUTE = 0
RTM_GETQDISC = 38
TC_H_ROOT = 0xFFFFFFFF
TCA_KIND = 1
TCMSG = struct.Struct("=B3xiIII")  # family, interface, handle, parent, info

TIMEX = struct.Struct("@i4li3l2l3li5li")
TIMEX_STATUS, TIMEX_TAI = 5, 20
STA_UNSYNC = 0x40

Found = TypeVar("Found")


@dataclass(frozen=True)
class Stamping:
    """ETHTOOL_GET_TS_INFO: number of the PHC, -1 without; masks of enum hwtstamp_tx_types and
    hwtstamp_rx_filters.
    """

    phc: int
    sends: int
    filters: int


@dataclass(frozen=True)
class Pause:
    """ETHTOOL_GPAUSEPARAM."""

    negotiated: bool
    receives: bool
    sends: bool


@dataclass(frozen=True)
class Eee:
    """ETHTOOL_GEEE: may be used; is used, by both ends."""

    enabled: bool
    active: bool


@dataclass(frozen=True)
class Moderation:
    """ETHTOOL_GCOALESCE: microseconds and frames after which a frame has its interrupt, and
    whether the driver changes both by itself.
    """

    rx_us: int
    rx_frames: int
    rx_adaptive: bool
    tx_us: int
    tx_frames: int
    tx_adaptive: bool


@dataclass(frozen=True)
class Channels:
    """ETHTOOL_GCHANNELS: queues that both send and receive, in use and at most."""

    used: int
    most: int


@dataclass(frozen=True)
class Card:
    """What a driver says; None: it does not have it.

    Attributes:
        driver: its name; empty if nobody says.
        features: by name: is it on?
        qdiscs: kinds of queueing disciplines, root first.
        phc_ns: how far its PHC is ahead of CLOCK_TAI; None without a PHC.
    """

    driver: str | Unseen
    stamping: Stamping | Unseen | None
    pause: Pause | Unseen | None
    eee: Eee | Unseen | None
    features: dict[str, bool] | Unseen | None
    qdiscs: list[str] | Unseen
    phc_ns: int | Unseen | None
    moderation: Moderation | Unseen | None
    channels: Channels | Unseen | None = None


@dataclass(frozen=True)
class Clock:
    """The system's clock: the TAI offset the kernel has, and whether the clock counts as set.

    Attributes:
        unsynchronised: STA_UNSYNC of adjtimex(2).
    """

    tai_s: int
    unsynchronised: bool | Unseen


def ask(name: str) -> Card:
    """All of an interface, in this network namespace."""
    stamps = stamping(name)
    phc = stamps.phc if isinstance(stamps, Stamping) else -1
    driver = _answer(lambda: _driver(name))
    return Card(
        "" if driver is None else driver,
        stamps,
        pause(name),
        eee(name),
        _answer(lambda: _features(name)),
        _qdiscs(name),
        _phc_ahead(Path(f"/dev/ptp{phc}")) if phc >= 0 else None,
        _answer(lambda: _moderation(name)),
        _answer(lambda: _channels(name)),
    )


def _answer(found: Callable[[], Found]) -> Found | Unseen | None:
    try:
        return found()
    except PermissionError:
        return Unseen("only root can see that")
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return None
        return Unseen(f"the kernel did not say ({error.strerror})")


def driver_of(name: str) -> str:
    """What ethtool calls its driver; empty: none says."""
    found = _answer(lambda: _driver(name))
    return found if isinstance(found, str) else ""


def phc_ahead_ns(name: str) -> int | Unseen:
    """The PHC of an interface less CLOCK_TAI."""
    stamps = stamping(name)
    if not isinstance(stamps, Stamping) or stamps.phc < 0:
        return Unseen("it has no PHC")
    return _phc_ahead(Path(f"/dev/ptp{stamps.phc}"))


def stamping(name: str) -> Stamping | Unseen | None:
    """None: its driver does not say."""
    return _answer(lambda: _stamping(name))


def pause(name: str) -> Pause | Unseen | None:
    """None: its driver has no pause frames."""
    return _answer(lambda: _pause(name))


def eee(name: str) -> Eee | Unseen | None:
    """None: its driver has no EEE."""
    return _answer(lambda: _eee(name))


def _driver(name: str) -> str:
    answer = ethtool.call(name, struct.pack("=I192x", GDRVINFO))
    return answer[4:36].partition(b"\0")[0].decode(errors="replace")


def _stamping(name: str) -> Stamping:
    answer = ethtool.call(name, struct.pack("=I40x", GET_TS_INFO))
    _, _, phc, sends, filters = struct.unpack("=IIiI12xI12x", answer)
    return Stamping(phc, sends, filters)


def _pause(name: str) -> Pause:
    answer = ethtool.call(name, struct.pack("=I12x", GPAUSEPARAM))
    return Pause(*map(bool, struct.unpack("=4x3I", answer)))


def _eee(name: str) -> Eee:
    answer = ethtool.call(name, struct.pack("=I36x", GEEE))
    active, enabled = struct.unpack("=16x2I16x", answer)
    return Eee(bool(enabled), bool(active))


def _moderation(name: str) -> Moderation:
    answer = ethtool.call(name, struct.pack("=I88x", GCOALESCE))
    its = struct.unpack("=23I", answer)  # struct ethtool_coalesce
    return Moderation(its[1], its[2], bool(its[10]), its[5], its[6], bool(its[11]))


def _channels(name: str) -> Channels:
    answer = ethtool.call(name, struct.pack("=I32x", GCHANNELS))
    its = struct.unpack("=9I", answer)  # struct ethtool_channels
    return Channels(its[8], its[4])


def _features(name: str) -> dict[str, bool]:
    names = ethtool.strings(name, SS_FEATURES)
    blocks = (len(names) + 31) // 32
    answer = ethtool.call(name, struct.pack("=II", GFEATURES, blocks) + bytes(16 * blocks))
    found = {}
    for number, text in enumerate(names):
        available, _, active, _ = struct.unpack_from("=4I", answer, 8 + 16 * (number // 32))
        bit = 1 << number % 32
        if (available | active) & bit:
            found[text] = bool(active & bit)
    return found


def _qdiscs(name: str) -> list[str] | Unseen:
    try:
        index = socket.if_nametoindex(name)
        with Channel(NETLINK_ROUTE) as channel:
            bodies = channel.talk(RTM_GETQDISC, NLM_F_DUMP, TCMSG.pack(0, 0, 0, 0, 0))
    except (OSError, RefusedError, EnvironmentProblemError) as error:
        return Unseen(f"the kernel did not say ({error})")
    found = []
    for body in bodies:
        _, its, _, parent, _ = TCMSG.unpack_from(body)
        kind = parse_attributes(body[TCMSG.size :]).get(TCA_KIND, b"").rstrip(b"\0").decode()
        if its == index:
            found.append((parent != TC_H_ROOT, kind))
    return [kind for _, kind in sorted(found, key=lambda each: each[0])]


def _phc_ahead(device: Path) -> int | Unseen:
    """A PHC less CLOCK_TAI, within what reading takes."""
    try:
        opened = os.open(device, os.O_RDONLY)
    except PermissionError:
        return Unseen("only root can see that")
    except OSError as error:
        return Unseen(f"{device}: {error.strerror}")
    try:
        before = time.clock_gettime_ns(time.CLOCK_TAI)
        phc = time.clock_gettime_ns((~opened << 3) | 3)  # FD_TO_CLOCKID of linux/posix-timers.h
        after = time.clock_gettime_ns(time.CLOCK_TAI)
    except OSError as error:
        return Unseen(f"{device}: {error.strerror}")
    finally:
        os.close(opened)
    return phc - (before + after) // 2


def clock() -> Clock:
    """The system's clock of this machine."""
    apart_ns = time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)
    tai_s = round(apart_ns / 1e9)
    try:
        import ctypes

        room = ctypes.create_string_buffer(TIMEX.size + 64)
        if ctypes.CDLL(None, use_errno=True).adjtimex(room) < 0:
            return Clock(tai_s, Unseen("the kernel did not say (adjtimex)"))
    except (ImportError, OSError, AttributeError):
        return Clock(tai_s, Unseen("this Python cannot call adjtimex (it has no ctypes)"))
    timex = TIMEX.unpack_from(room.raw)
    return Clock(timex[TIMEX_TAI], bool(timex[TIMEX_STATUS] & STA_UNSYNC))
