# SPDX-License-Identifier: BSD-3-Clause
"""Class tables of any length, to the kernel and back in parts: generic netlink,
kernel/include/uapi/keepon_table.h.
"""

from __future__ import annotations

import errno
import struct

from keepon_host.link.netlink import Generic, RefusedError, attribute

FAMILY = "keepon"
VERSION = 1

# KEEPON_CMD_*
TABLE_GET = 2
TABLE_PUT = 3

# KEEPON_TABLE_*
ID = 2
SLOTS = 3
OFFSET = 4
MASKS = 5

PART_SLOTS = 2048
_MASK_BYTES = 2
_ALL_CLASSES = b"\xff\xff"


def _number(value: int) -> bytes:
    return struct.pack("=I", value)


class Tables(Generic):
    """A socket for class tables, packed masks of 16 bits in host order. What it handed over goes
    when it is closed.
    """

    def __init__(self) -> None:
        super().__init__(FAMILY, VERSION)

    def offer(self, table: bytes) -> bytes:
        """Hand a table over; the payload of IFLA_KEEPON_TABLE that stands for it."""
        slots = _number(len(table) // _MASK_BYTES)
        number = b""
        for offset in range(0, len(table), _MASK_BYTES * PART_SLOTS):
            answer = self.request(
                TABLE_PUT, attribute(SLOTS, slots),
                attribute(OFFSET, _number(offset // _MASK_BYTES)),
                attribute(MASKS, table[offset : offset + _MASK_BYTES * PART_SLOTS]),
            )  # fmt: skip
            number = answer[ID]
        return number

    def fetch(self, number: bytes) -> bytes | None:
        """The table a link has by its IFLA_KEEPON_TABLE; None: the link has another one by now."""
        if not any(number):
            return _ALL_CLASSES
        table = b""
        while True:
            try:
                answer = self.request(
                    TABLE_GET,
                    attribute(ID, number),
                    attribute(OFFSET, _number(len(table) // _MASK_BYTES)),
                )
            except RefusedError as error:
                if error.errno == errno.ENOENT:
                    return None
                raise
            table += answer[MASKS]
            if len(table) >= _MASK_BYTES * struct.unpack("=I", answer[SLOTS])[0]:
                return table
