# SPDX-License-Identifier: BSD-3-Clause
"""Writes captures as pcapng: an interface per listener, ns stamps, frames with FCS, stream and
verdict as comment.

Block layout: draft-ietf-opsawg-pcapng, sections 4.1-4.3. A frame's bytes are rebuilt from the
scenario (addresses, 802.1Q tag, stream number, sequence, txtime, zero padding), as the simulator
moves lengths and not contents.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_SECTION_BLOCK = 0x0A0D0D0A
_INTERFACE_BLOCK = 1
_PACKET_BLOCK = 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_LINKTYPE_ETHERNET = 1
_OPTION_END = 0
_OPTION_COMMENT = 1
_OPTION_NAME = 2
_OPTION_APPLICATION = 4
_OPTION_TSRESOL = 9
_OPTION_FCSLEN = 13
_OPTION_EPB_FLAGS = 2
_FLAGS_INBOUND_FCS4 = 1 | 4 << 5
_ETHERTYPE_VLAN = 0x8100
_ETHERTYPE_EXPERIMENTAL = 0x88B5
_HEADER = struct.Struct(">6s6sHHH")
_PAYLOAD = struct.Struct(">HQq")
FCS_BYTES = 4


@dataclass(frozen=True)
class Packet:
    """One received frame: when and where it was stamped, and what it was."""

    stamp_ns: int
    interface: int
    data: bytes
    comment: str


def address(node: int) -> bytes:
    """Locally administered address of a node by its number."""
    return bytes([0x02, 0x4B, 0x50, 0x4E, node >> 8 & 0xFF, node & 0xFF])


def frame(
    talker: int,
    listener: int,
    priority: int,
    stream: int,
    seq: int,
    txtime_ns: int,
    frame_bytes: int,
) -> bytes:
    """A frame of `frame_bytes` bytes, FCS included; 802.1Q tag with VLAN 0 (IEEE 802.1Q-2022 clause
    9.6).
    """
    body = _HEADER.pack(
        address(listener), address(talker), _ETHERTYPE_VLAN, priority << 13, _ETHERTYPE_EXPERIMENTAL
    )
    body += _PAYLOAD.pack(stream, seq, txtime_ns)
    body = body.ljust(frame_bytes - FCS_BYTES, b"\0")
    return body + struct.pack("<I", zlib.crc32(body))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _write_header(handle: IO[bytes], interfaces: list[str], application: str) -> None:
    options = _option(_OPTION_APPLICATION, application.encode()) + _option(_OPTION_END, b"")
    handle.write(
        _block(_SECTION_BLOCK, struct.pack("<IHHq", _BYTE_ORDER_MAGIC, 1, 0, -1) + options)
    )
    for name in interfaces:
        options = (
            _option(_OPTION_NAME, name.encode())
            + _option(_OPTION_TSRESOL, b"\x09")
            + _option(_OPTION_FCSLEN, bytes([FCS_BYTES]))
            + _option(_OPTION_END, b"")
        )
        handle.write(
            _block(_INTERFACE_BLOCK, struct.pack("<HHI", _LINKTYPE_ETHERNET, 0, 0) + options)
        )


def write(path: Path, interfaces: list[str], packets: Iterable[Packet], application: str) -> int:
    """Write a capture.

    Args:
        path: file to make.
        interfaces: names; a packet's `interface` is an index into them.
        packets: in the order they are to appear.
        application: what wrote it, with version.

    Returns:
        Number of packets written.
    """
    count = 0
    with path.open("wb") as handle:
        _write_header(handle, interfaces, application)
        for packet in packets:
            head = struct.pack(
                "<IIIII",
                packet.interface,
                packet.stamp_ns >> 32,
                packet.stamp_ns & 0xFFFFFFFF,
                len(packet.data),
                len(packet.data),
            )
            body = head + packet.data + b"\0" * (-len(packet.data) % 4)
            body += _option(_OPTION_COMMENT, packet.comment.encode())
            body += _option(_OPTION_EPB_FLAGS, struct.pack("<I", _FLAGS_INBOUND_FCS4)) + _option(
                _OPTION_END, b""
            )
            handle.write(_block(_PACKET_BLOCK, body))
            count += 1
    return count
