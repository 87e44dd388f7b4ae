# SPDX-License-Identifier: BSD-3-Clause
"""Frames as stations' wires saw them in a window of network time, and their bytes for a capture:
rebuilt where lengths were moved and not contents.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from keepon.measure import capture
from keepon.measure.results import NONE, FrameArrays
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology

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


STREAM, LOAD, PTP = "stream", "load", "ptp"


@dataclass(frozen=True, order=True)
class Sighting:
    """One frame at one station.

    Attributes:
        at_ns: network time of its reference plane there.
        flow: id of the stream or load, or the kind of PTP's message.
        frame_bytes: on the wire, FCS included.
        txtime_ns, sent_ns: of a stream's frame: requested instant, hand-over.
        stamp_ns: the listener's own stamp of it.
        head: its first bytes, where they are known; else they are rebuilt.
    """

    at_ns: int
    node: str
    outbound: bool
    kind: str
    flow: str
    seq: int
    frame_bytes: int
    talker: str
    txtime_ns: int = 0
    sent_ns: int = 0
    verdict: str = ""
    stamp_ns: int | None = None
    head: bytes = b""


@dataclass(frozen=True)
class Seen:
    """All frames of these kinds at all stations in [start, end) of network time."""

    start_ns: int
    end_ns: int
    kinds: tuple[str, ...]
    sightings: list[Sighting] = field(default_factory=list)


def of_streams(
    scenario: Scenario,
    frames: Mapping[str, FrameArrays],
    verdicts: Mapping[str, list[str]],
    lengths: Mapping[str, int],
    window_ns: tuple[int, int],
    limit: int,
    others: Sequence[Sighting] | None = None,
) -> Seen:
    """Streams' frames at both sides, and what else a target has kept.

    Args:
        frames: those due in the time measured, by stream.
        verdicts: names by index, by stream.
        lengths: of frames on the wire, by stream.
        window_ns: network time; the window ends earlier where there are more than `limit`.
        others: best effort; None: the target keeps no record of it.
    """
    found: list[Sighting] = list(others or ())
    for stream in scenario.stream:
        own = frames[stream.id]
        sides = [(stream.talker, True, own.wire_ps, None)]
        sides += [
            (listener, False, own.arrival_ps[row], own.stamp_ns[row])
            for row, listener in enumerate(stream.listeners)
            if own.one_clock
        ]
        for node, outbound, times_ps, stamps in sides:
            for place in np.flatnonzero(times_ps != NONE)[: limit + 1].tolist():
                found.append(
                    Sighting(
                        own.epoch_ns + int(times_ps[place]) // 1000, node, outbound, STREAM,
                        stream.id, int(own.seq[place]), lengths[stream.id], stream.talker,
                        int(own.txtime_ns[place]),
                        own.epoch_ns + int(own.submit_ps[place]) // 1000,
                        verdict_name(own, place, verdicts[stream.id]),
                        None if stamps is None else int(stamps[place]),
                    )
                )  # fmt: skip
    start_ns, end_ns = window_ns
    found = sorted(one for one in found if start_ns <= one.at_ns < end_ns)
    if len(found) > limit:
        end_ns = found[limit].at_ns
        found = [one for one in found if one.at_ns < end_ns]
    return Seen(start_ns, end_ns, (STREAM,) if others is None else (STREAM, LOAD), found)


def verdict_name(frames: FrameArrays, place: int, names: list[str]) -> str:
    """What the driver said of a frame."""
    verdict = int(frames.verdict[place])
    return names[verdict] if verdict >= 0 else "pending"


def packets(scenario: Scenario, seen: Seen) -> Iterator[capture.Packet]:
    """The frames with their bytes and a comment, in order of time."""
    names = [station.name for station in scenario.station]
    names += [bridge.name for bridge in scenario.bridge]
    nodes = {name: number for number, name in enumerate(names, start=1)}
    interfaces = {station.name: index for index, station in enumerate(scenario.station)}
    streams = {stream.id: stream for stream in scenario.stream}
    loads = scenario.load_flows()
    gptp, topology = scenario.sync.mode == "gptp", Topology(scenario)
    for one in seen.sightings:
        side = "talker" if one.outbound else "listener"
        if one.kind == PTP:
            # The other end of the link; of a station with several it is not known by which it went.
            ports = topology.ports_of(one.node)
            asked = ports[0].peer if one.outbound and len(ports) == 1 else one.node
            data = frame(
                one.flow, one.seq, capture.address(nodes[one.talker]), one.frame_bytes, gptp,
                None if asked == one.talker else capture.address(nodes[asked]),
            )  # fmt: skip
            comment = f"ptp={one.flow} seq={one.seq} side={side}; rebuilt, without its times"
            yield capture.Packet(one.at_ns, interfaces[one.node], data, comment, one.outbound)
            continue
        if one.head:
            comment = f"{one.kind}={one.flow} seq={one.seq} side={side}"
            yield capture.Packet(
                one.at_ns, interfaces[one.node], one.head, comment, one.outbound, one.frame_bytes
            )
            continue
        if one.kind == STREAM:
            priority, target = streams[one.flow].priority, streams[one.flow].listeners[0]
            target = target if one.outbound else one.node
        else:
            priority, target = loads[one.flow].priority, loads[one.flow].listener
        test = capture.TestFrame(
            one.flow, one.seq, one.txtime_ns, one.sent_ns, timed=one.kind == STREAM
        )
        data = capture.frame(nodes[one.talker], nodes[target], priority, test, one.frame_bytes)
        comment = f"{one.kind}={one.flow} seq={one.seq} side={side}"
        if one.kind == STREAM:
            comment += f" txtime_ns={one.txtime_ns} verdict={one.verdict}"
        if one.stamp_ns is not None:
            comment += f" stamp_ns={one.stamp_ns}"
        yield capture.Packet(one.at_ns, interfaces[one.node], data, comment, one.outbound)
