# SPDX-License-Identifier: GPL-2.0-only
"""Frames on the wire of a station against its plan: in which slot each left, and whose that is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from keepon.model.plan import PlannedStation, PlannedStream
from keepon.targets.vm.observations import MAGIC, picoseconds, stream_hash

_FRAME = re.compile(
    r"frame seq=(\d+) raw_ns=([\d.]+) phc_ns=([\d.]+) bytes=(\d+) queue=(\d+) verdict=(\w+)"
    r" head=([0-9a-f]*)"
)
# Stamps are whole ns, and slots whole bytes: trimmed, they are on the grid to half of one.
STAMP_OFF_PS = 20_000
_PTP, _VLAN = bytes.fromhex("88f7"), bytes.fromhex("8100")


@dataclass(frozen=True)
class Left:
    """A frame that left.

    Attributes:
        slot: since the ring began, or the number of the frame.
        stream: hash of the stream it carries, None: none.
        number, txtime_ns: as the talker wrote them into it.
        pcp: of its tag; None: it has none.
    """

    slot: int
    raw_ps: int
    phc_ps: int
    queue: int
    stream: int | None
    number: int
    txtime_ns: int
    pcp: int | None
    is_ptp: bool


def read(record: str) -> list[Left]:
    """All whole frames since the ring's last beginning."""
    found: list[Left] = []
    for line in record.splitlines():
        if line.startswith("reset"):
            found.clear()
        if line.startswith("forgotten"):
            raise AssertionError(line)
        match = _FRAME.match(line)
        if match is None:
            continue
        slot, raw, phc, _, queue, verdict, text = match.groups()
        assert verdict == "good", line
        head = bytes.fromhex(text)
        at = head.find(MAGIC)
        tagged = head[12:14] == _VLAN
        found.append(
            Left(
                int(slot), picoseconds(raw), picoseconds(phc), int(queue),
                int.from_bytes(head[at + 8 : at + 12], "big") if at >= 0 else None,
                int.from_bytes(head[at + 12 : at + 20], "big") if at >= 0 else -1,
                int.from_bytes(head[at + 20 : at + 28], "big") if at >= 0 else -1,
                head[14] >> 5 if tagged else None, head[12:14] == _PTP,
            )
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class Ring:
    """Slots of a station's ring on the grid of its plan: `shift` is what a slot's number in the
    network is more than its number in the ring.
    """

    station: PlannedStation
    shift: int

    def classes(self, frame: Left) -> int:
        """Mask of the classes that may use the slot a frame left in."""
        allowed = self.station["allowed"]
        return allowed[(frame.slot + self.shift) % len(allowed)]


def slot_of(station: PlannedStation, txtime_ns: int) -> int:
    """The slot a txtime on the grid means."""
    slot, off = divmod(txtime_ns * 1000 - station["preamble_ps"], station["slot_time_ps"])
    assert off == 0, txtime_ns
    return slot


def ring_of(station: PlannedStation, frames: dict[str, list[Left]]) -> Ring:
    """The grid that frames of all streams agree with."""
    shifts = {
        slot_of(station, frame.txtime_ns) - frame.slot for left in frames.values() for frame in left
    }
    assert len(shifts) == 1, f"frames left in other slots than planned: {sorted(shifts)}"
    return Ring(station, shifts.pop())


def by_stream(left: list[Left], streams: list[str]) -> dict[str, list[Left]]:
    return {
        name: [frame for frame in left if frame.stream == stream_hash(name)] for name in streams
    }


def check_txtimes(frames: list[Left], planned: PlannedStream, period_ns: int, count: int) -> None:
    """All frames of a stream left, with txtimes of the plan."""
    assert [frame.number for frame in frames] == list(range(count))
    assert {frame.txtime_ns % period_ns for frame in frames} == {planned["release_ns"]}


def network_time(frames: list[Left], stamps_ns: dict[int, int]) -> Callable[[Left], int]:
    """Network time of a frame on the wire in ps, by the stamps of frames of the node that has it.
    Nobody sets that node's clock, so the common time of both records is a line away.
    """
    pairs = [(frame.raw_ps, stamps_ns[frame.number] * 1000) for frame in frames]
    (first, first_stamp), (last, last_stamp) = pairs[0], pairs[-1]
    span, gained = last - first, last_stamp - first_stamp - (last - first)

    def at_ps(raw_ps: int) -> int:
        """In whole numbers: doubles have no room for a time of day."""
        return first_stamp + raw_ps - first + (raw_ps - first) * gained // span

    off_ps = max(abs(at_ps(raw_ps) - stamp_ps) for raw_ps, stamp_ps in pairs)
    assert off_ps <= STAMP_OFF_PS, f"a clock that nobody sets is off its line by {off_ps} ps"
    return lambda frame: at_ps(frame.raw_ps)


def spread(errors_ns: list[float]) -> str:
    return (
        f"{len(errors_ns)} frames, off by {min(errors_ns):.0f} to {max(errors_ns):.0f} ns,"
        f" median {median(errors_ns):.0f}"
    )
