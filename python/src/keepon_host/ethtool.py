# SPDX-License-Identifier: BSD-3-Clause
"""The ioctl of ethtool, as its own program uses it. Numbers and layouts are those of
linux/ethtool.h and linux/sockios.h.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import socket
import struct

SIOCETHTOOL = 0x8946
GSTRINGS, GSTATS, GSSET_INFO = 0x1B, 0x1D, 0x37
SS_STATS = 1
STRING_BYTES = 32
REQUEST = struct.Struct("16sP16x")  # struct ifreq
NAME_BYTES_MAX = 15
SPARE_BYTES = 16_384
"""The kernel writes what the driver has now, and the name may have gone to another device."""


def call(name: str, command: bytes) -> bytes:
    """The answer to a command, in the room that it has.

    Raises:
        OSError: there is no such interface (ENODEV), its driver does not have that (EOPNOTSUPP), or
            only root may ask (EPERM).
    """
    data = array.array("B", command + bytes(SPARE_BYTES))
    address, _ = data.buffer_info()
    encoded = os.fsencode(name)
    if len(encoded) > NAME_BYTES_MAX:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        fcntl.ioctl(channel, SIOCETHTOOL, REQUEST.pack(encoded, address))
    return data.tobytes()[: len(command)]


def strings(name: str, which: int) -> list[str]:
    """One of a driver's sets of names, `which` of enum ethtool_stringset. Raises as `call`."""
    answer = call(name, struct.pack("=IIQI", GSSET_INFO, 0, 1 << which, 0))
    mask, count = struct.unpack("=8xQI", answer)
    if not mask:
        return []
    room = struct.pack("=III", GSTRINGS, which, count) + bytes(count * STRING_BYTES)
    text = call(name, room)[12:]
    each = (text[n * STRING_BYTES : (n + 1) * STRING_BYTES] for n in range(count))
    return [one.partition(b"\0")[0].decode(errors="replace") for one in each]


def counters(name: str, names: list[str]) -> dict[str, int]:
    """What `ethtool -S` shows; `names` are those of the set SS_STATS. Raises as `call`."""
    answer = call(name, struct.pack("=II", GSTATS, len(names)) + bytes(8 * len(names)))
    return dict(zip(names, struct.unpack(f"={len(names)}Q", answer[8:]), strict=True))
