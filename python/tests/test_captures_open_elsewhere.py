# SPDX-License-Identifier: BSD-3-Clause
"""Captures read by an independent reader (dpkt)."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import dpkt
from keepon.measure import capture


def frame_of(seq: int) -> capture.TestFrame:
    txtime_ns = 1_700_000_000_000_000_064 + seq
    return capture.TestFrame("F2", seq, txtime_ns, txtime_ns - 200_000)


def _options(data: bytes, at: int) -> dict[int, bytes]:
    found = {}
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4
    return found


def _blocks(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        found.append((kind, data[at + 8 : at + length - 4]))
        at += length
    return found


def test_another_reader_finds_the_same_packets(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    frames = [capture.frame(1, 2, 5, frame_of(seq), 64 + seq) for seq in range(3)]
    packets = [
        capture.Packet(1_700_000_000_000_000_100 + n, n % 2, data, f"seq={n}")
        for n, data in enumerate(frames)
    ]
    assert capture.write(path, ["b", "c"], packets, "keepon test") == 3
    with path.open("rb") as handle:
        read = list(dpkt.pcapng.Reader(handle))
    assert [data for _, data in read] == frames


def test_interfaces_state_nanoseconds_and_fcs_and_packets_their_stream(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    stamp_ns = 1_700_000_000_123_456_789
    data = capture.frame(1, 2, 5, frame_of(9), 230)
    capture.write(
        path,
        ["rt"],
        [capture.Packet(stamp_ns, 0, data, "stream=F2 seq=9 verdict=on_time")],
        "keepon test",
    )
    blocks = _blocks(path.read_bytes())
    assert [kind for kind, _ in blocks] == [0x0A0D0D0A, 1, 6]
    interface = _options(blocks[1][1], 8)
    assert (interface[2], interface[9], interface[13]) == (b"rt", b"\x09", b"\x04")
    body = blocks[2][1]
    number, high, low, captured, original = struct.unpack_from("<IIIII", body)
    assert (number, high << 32 | low, captured, original) == (0, stamp_ns, 230, 230)
    assert _options(body, 20 + 232)[1] == b"stream=F2 seq=9 verdict=on_time"


def test_frames_carry_priority_padding_and_a_valid_fcs() -> None:
    data = capture.frame(1, 2, 5, frame_of(9), 200)
    assert len(data) == 200
    assert struct.unpack_from(">HH", data, 12) == (0x8100, 5 << 13)
    assert struct.unpack("<I", data[-4:]) == (zlib.crc32(data[:-4]),)
    assert data[54:-4] == bytes(142)
