# SPDX-License-Identifier: BSD-3-Clause
"""Writes captures as pcapng: an interface per listener, ns stamps, frames with FCS, stream and
verdict as comment.

A frame's bytes are rebuilt from the scenario (addresses, 802.1Q tag, stream number, sequence,
txtime, zero padding), as the simulator moves lengths and not contents.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pcapng import FileWriter
from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader

_LINKTYPE_ETHERNET = 1
# Options as pcapng holds them: stamps are 10^-9 s; a received frame, its FCS is 4 bytes long.
_NANOSECONDS = b"\x09"
_INBOUND_FCS4 = 1 | 4 << 5
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
    section = SectionHeader(options={"shb_userappl": application}, endianness="<")
    for name in interfaces:
        section.new_member(
            InterfaceDescription, link_type=_LINKTYPE_ETHERNET, snaplen=0,
            options={"if_name": name, "if_tsresol": _NANOSECONDS, "if_fcslen": FCS_BYTES},
        )  # fmt: skip
    count = 0
    with path.open("wb") as handle:
        writer = FileWriter(handle, section)
        for packet in packets:
            writer.write_block(
                section.new_member(
                    EnhancedPacket, interface_id=packet.interface,
                    timestamp_high=packet.stamp_ns >> 32,
                    timestamp_low=packet.stamp_ns & 0xFFFFFFFF,
                    packet_len=len(packet.data), packet_data=packet.data,
                    options={"opt_comment": packet.comment, "epb_flags": _INBOUND_FCS4},
                )
            )  # fmt: skip
            count += 1
    return count
