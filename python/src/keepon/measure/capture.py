# SPDX-License-Identifier: BSD-3-Clause
"""Writes captures as pcapng: an interface per station, ns stamps, frames with FCS and direction,
what they are as comment.

Test frames have the header of keepon-talk's (tools/payload.h).
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
_OUTBOUND_FCS4 = 2 | 4 << 5
_ETHERTYPE_VLAN = 0x8100
_ETHERTYPE_EXPERIMENTAL = 0x88B5
_HEADER = struct.Struct(">6s6sHHH")
_PAYLOAD = struct.Struct(">4sBBHIQqq")
_MAGIC, _VERSION, _CLOCK_TAI, _HAS_TXTIME = b"KPNT", 1, 11, 1
FCS_BYTES = 4


@dataclass(frozen=True)
class Packet:
    """One frame: when and where it was seen, which way it went, and what it was.

    Attributes:
        frame_bytes: its length, where `data` is the beginning of it; else None.
    """

    stamp_ns: int
    interface: int
    data: bytes
    comment: str
    outbound: bool = False
    frame_bytes: int | None = None


@dataclass(frozen=True)
class TestFrame:
    """What a test frame says of itself; `timed`: it was handed over with its txtime."""

    __test__ = False  # no test, whatever pytest takes its name for

    stream: str
    seq: int
    txtime_ns: int
    sent_ns: int
    timed: bool = True


def stream_hash(name: str) -> int:
    """FNV-1a of a stream id, as its frames carry it."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def address(node: int) -> bytes:
    """Locally administered address of a node by its number."""
    return bytes([0x02, 0x4B, 0x50, 0x4E, node >> 8 & 0xFF, node & 0xFF])


def frame(talker: int, listener: int, priority: int, test: TestFrame, frame_bytes: int) -> bytes:
    """A frame of `frame_bytes` bytes, FCS included; 802.1Q tag with VLAN 0 (IEEE 802.1Q-2022 clause
    9.6).

    Args:
        talker, listener: numbers of nodes.
    """
    body = _HEADER.pack(
        address(listener), address(talker), _ETHERTYPE_VLAN, priority << 13, _ETHERTYPE_EXPERIMENTAL
    )
    body += _PAYLOAD.pack(
        _MAGIC, _VERSION, _CLOCK_TAI, _HAS_TXTIME if test.timed else 0, stream_hash(test.stream),
        test.seq, test.txtime_ns, test.sent_ns,
    )  # fmt: skip
    body = body.ljust(frame_bytes - FCS_BYTES, b"\0")
    return body + struct.pack("<I", zlib.crc32(body))


def write(
    path: Path,
    interfaces: list[str],
    packets: Iterable[Packet],
    application: str,
    comment: str = "",
) -> int:
    """Write a capture.

    Args:
        path: file to make.
        interfaces: names; a packet's `interface` is an index into them.
        packets: in the order they are to appear.
        application: what wrote it, with version.
        comment: of the whole.

    Returns:
        Number of packets written.
    """
    options = {"shb_userappl": application} | ({"opt_comment": comment} if comment else {})
    section = SectionHeader(options=options, endianness="<")
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
                    packet_len=packet.frame_bytes or len(packet.data), packet_data=packet.data,
                    options={
                        "opt_comment": packet.comment,
                        "epb_flags": _OUTBOUND_FCS4 if packet.outbound else _INBOUND_FCS4,
                    },
                )
            )  # fmt: skip
            count += 1
    return count
