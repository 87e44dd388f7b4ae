# SPDX-License-Identifier: BSD-3-Clause
"""PTP's messages as frames (IEEE Std 1588-2019 clause 13, IEEE Std 802.1AS-2020 clause 11), with
type, source and sequence number, of answers to a neighbour also whom they answer; times and
corrections are zero.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

ETHERTYPE = 0x88F7
FCS_BYTES = 4
TYPES: Final = {
    "sync": (0x0, 44, 0),
    "delay-req": (0x1, 44, 1),
    "pdelay-req": (0x2, 54, 5),
    "pdelay-resp": (0x3, 54, 5),
    "follow-up": (0x8, 44, 2),
    "delay-resp": (0x9, 54, 3),
    "pdelay-resp-follow-up": (0xA, 54, 5),
}
"""Type, length and control field of each kind."""
_TWO_STEP = 0x0200
_TWO_STEP_KINDS = ("sync", "pdelay-resp")
_PEER_GROUP = bytes.fromhex("0180c200000e")
_GROUP = bytes.fromhex("011b19000000")
_HEADER = struct.Struct(">BBHBBHq4s8sHHBb")
_PORT_IDENTITY = struct.Struct(">8sH")
# Follow_Up information TLV: organisation extension of 28 bytes, 00-80-C2, subtype 1.
_FOLLOW_UP_TLV = struct.pack(">HH3s3s", 0x0003, 28, b"\x00\x80\xc2", b"\x00\x00\x01") + bytes(22)


def identity(address: bytes) -> bytes:
    """A clock's, by its MAC address."""
    return address[:3] + b"\xff\xfe" + address[3:]


def frame(
    kind: str, seq: int, source: bytes, frame_bytes: int, gptp: bool, asked: bytes | None = None
) -> bytes:
    """One message in a frame of `frame_bytes` bytes, FCS included.

    Args:
        kind: of TYPES.
        seq: its low 16 bits are the sequence number.
        source: MAC address of the sender.
        gptp: of IEEE Std 802.1AS.
        asked: MAC address of whom a pdelay-resp or pdelay-resp-follow-up answers.
    """
    number, length, control = TYPES[kind]
    tail = _FOLLOW_UP_TLV if gptp and kind == "follow-up" else b""
    header = _HEADER.pack(
        (0x10 if gptp else 0) | number, 0x12, length + len(tail), 0, 0,
        _TWO_STEP if kind in _TWO_STEP_KINDS else 0, 0, bytes(4), identity(source), 1, seq & 0xFFFF,
        control, 0x7F,
    )  # fmt: skip
    peer = gptp or kind.startswith("pdelay")
    body = (_PEER_GROUP if peer else _GROUP) + source + struct.pack(">H", ETHERTYPE)
    body += header + bytes(length - _HEADER.size) + tail
    if asked is not None and kind.startswith("pdelay-resp"):
        body = body[: -_PORT_IDENTITY.size] + _PORT_IDENTITY.pack(identity(asked), 1)
    body = body.ljust(frame_bytes - FCS_BYTES, b"\0")
    return body + struct.pack("<I", zlib.crc32(body))
