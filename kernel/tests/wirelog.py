# SPDX-License-Identifier: GPL-2.0-only
"""The log of a paced wire in one of our emulators, and what must hold of a 1 ms stream in it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from keepon_guests import GuestResult

STREAM = "88b5"
FRAMES = 300
PERIOD_NS = 1_000_000
GAP_BYTES = 20
# Echoes beside the stream where frames are longer than a slot: slots of a partition, one of them
# the stream's, lengths, seconds between two
LONG_FRAMES = {"PARTITION": "50", "ECHO_BYTES": "1472 18 500 1000 100", "ECHO_EVERY": "0.004"}
# Counters of a link that stay zero while all is well
TROUBLE = (
    "underruns", "suspected_underruns", "slips", "doubts", "index_errors", "losses",
    "steps",
    "start_failures",
    "verdict_late", "verdict_flushed", "pending",
)  # fmt: skip


@dataclass
class Run:
    """Equal slots that followed one another; `tail`, their FCS, if the log tells of it; `stream`,
    which one the test frame is of, 0 if it is none.
    """

    start_ns: int
    frames: int
    slot_bytes: int
    good: bool
    own_fcs: bool
    ahead_ns: int
    kind: str
    tail: str
    stream: int

    def end_ns(self, byte_ns: int) -> int:
        return self.start_ns + self.frames * (self.slot_bytes + GAP_BYTES) * byte_ns

    @property
    def placeholder(self) -> bool:
        """Whether it has an FCS that its sender made, and a wrong one."""
        return self.own_fcs and not self.good


def stream_of(head: str) -> int:
    """Of the first bytes of a frame, in hexadecimal: see docs/tools.md, "Test frames"."""
    at = head.find(b"KPNT".hex())
    return int(head[at + 16 : at + 24], 16) if at >= 0 else 0


def read_log(path: Path) -> list[Run]:
    with path.open() as file:
        return [
            Run(int(row["start_ns"]), int(row["frames"]), int(row["bytes"]), row["fcs"] == "good",
                row["fcs_by"] == "own", int(row["ahead_ns_max"]), row["head"][24:28],
                row.get("tail", ""), stream_of(row["head"]))
            for row in csv.DictReader(file)
        ]  # fmt: skip


def counters(result: GuestResult, name: str = "counters.txt") -> dict[str, int]:
    """What `ethtool -S` printed into a file of /out."""
    lines = result.files[name].decode().splitlines()[1:]
    return {name.strip(): int(value) for name, _, value in (line.partition(":") for line in lines)}


def check_places(
    runs: list[Run], byte_ns: int, faster: float = 1, frames: int = FRAMES
) -> list[int]:
    """When each frame of the stream left: all are there, a multiple of its period from the first
    within two bytes.
    """
    starts_ns = [run.start_ns for run in runs if run.kind == STREAM and not run.placeholder]
    assert len(starts_ns) == frames == sum(run.frames for run in runs if run.kind == STREAM)
    for number, start_ns in enumerate(starts_ns):
        assert abs(start_ns - starts_ns[0] - number * PERIOD_NS / faster) <= 2 * byte_ns
    return starts_ns


def check_stream(runs: list[Run], result: GuestResult, byte_ns: int, ppb: int = 0) -> None:
    """Every frame of the stream is in its place, as stamped.

    `ppb`: by how much the link's clock, whose time both are in, is faster than the wire's.
    """
    faster = 1 + ppb * 1e-9
    starts_ns = check_places(runs, byte_ns, faster)
    stamps_ns = [frame["tx_stamp_ns"] for frame in json.loads(result.files["talk.json"])["frames"]]
    for start_ns, stamp_ns in zip(starts_ns, stamps_ns, strict=True):
        since_ns = start_ns - starts_ns[0]
        assert abs(since_ns - (stamp_ns - stamps_ns[0]) / faster) <= 2 * byte_ns


def check_counters(
    runs: list[Run], count: dict[str, int], frames: int = FRAMES, slot_bytes: int = 0
) -> None:
    """No trouble, and what was sent is what was on the wire.

    An interrupt may come between a last look at the head and the store that makes a frame's slot
    real, some 100 ns. Best effort goes close to the head, so in some 25 guests there is one frame
    of it that may have been too late: its verdict is in_doubt, and it was on the wire or not.
    `slot_bytes`: where frames take several slots.
    """
    trouble = {name: count[name] for name in TROUBLE if count[name]}
    assert not trouble, trouble
    sent = Counter()
    for run in runs:
        sent["slots"] += run.frames
        sent["bytes"] += run.frames * (run.slot_bytes + GAP_BYTES)
        sent["frames"] += 0 if run.placeholder else run.frames
    assert count["verdict_on_time"] == frames
    doubt = count["verdict_in_doubt"]
    sure = count["verdict_on_time"] + count["verdict_best_effort"]
    assert doubt <= 1 and count["submitted"] == sure + doubt
    assert 0 <= sent["frames"] - sure <= doubt
    assert count["frames_completed"] in (sure, sure + doubt)
    slots = sent["bytes"] // (slot_bytes + GAP_BYTES) if slot_bytes else sent["slots"]
    assert count["slots_completed"] <= slots


def check_long_frames(
    runs: list[Run], result: GuestResult, lengths: tuple[int, int, int], byte_ns: int, *,
    own_fcs: bool,
) -> None:  # fmt: skip
    """No gap; nothing with a bad FCS is longer than a slot, as any mixture of fragments would be;
    what is longer is good; the stream is in its place.
    """
    slot_bytes, trim_bytes, _ = lengths
    assert all(after.start_ns == before.end_ns(byte_ns) for before, after in pairwise(runs))
    long = [run for run in runs if run.slot_bytes > slot_bytes + trim_bytes]
    assert sum(run.frames for run in long) >= 20 * 3  # of the three longest echoes
    # the CPU makes the FCS of fragments, some cards that of a frame in one descriptor
    assert {(run.own_fcs, run.good) for run in long} == {(own_fcs, True)}
    check_stream(runs, result, byte_ns)
    check_counters(runs, counters(result), slot_bytes=slot_bytes)
    slots = sum(run.frames for run in runs)
    print(f"{slots} frames, {len(long)} long, {result.wall_seconds:.0f} s")
