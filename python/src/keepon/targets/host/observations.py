# SPDX-License-Identifier: BSD-3-Clause
"""What programs, kernel and clocks of this machine left behind, as frame arrays, and how far it can
be believed.

No capture of the wire exists here. An instant is a stamp of a card's hardware, of keepon for its
slots, or of software; each is called what it is, and without a stamp there is no instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from keepon.errors import TraceError
from keepon.measure.results import IN_DOUBT, NONE, PENDING, SENT_VERDICTS, FrameArrays, outliers
from keepon.measure.statistics import IntArray
from keepon.model import outcomes
from keepon.model.plan import Bounds
from keepon.model.result import BoundCheck, Frame
from keepon.model.scenario import Stream
from keepon.model.tools import Listen, Talk
from keepon.targets.vm.observations import frame_ends

CARD, OWN, SOFTWARE, NOBODY = (
    "hardware stamps of the card",
    "keepon's own stamps: starts of slots in its clock",
    "software stamps: when the driver took the frame",
    "nobody",
)
OWN_RECEIVED, OWN_COUNTED, SOFTWARE_RECEIVED = (
    "keepon's own stamps, late by the interrupt",
    "keepon's own stamps, by the frame's place among all that came",
    "software stamps, late by the interrupt",
)
LATE = (OWN_RECEIVED, SOFTWARE_RECEIVED)
"""Stamps of when a frame had reached the stack: some time after it came, nobody knows how long."""


def sender_stamps(talk: Talk, is_keepon: bool) -> str:
    """Who stamped what a talker sent."""
    known = {"hardware": OWN if is_keepon else CARD, "software": SOFTWARE, "none": NOBODY}
    return known[talk["stamp_source"]]


def receiver_stamps(listen: Listen, is_keepon: bool, counts_arrivals: bool) -> str:
    """Who stamped what a listener heard."""
    if listen["stamp_source"] == "software":
        return SOFTWARE_RECEIVED
    if not is_keepon:
        return CARD
    return OWN_COUNTED if counts_arrivals else OWN_RECEIVED


def stream_frames(
    stream: Stream,
    device: str,
    talk: Talk,
    listens: list[Listen],
    ended: dict[tuple[str, int, int], list[tuple[str, int]]],
    verdict_names: list[str],
    epoch_ns: int,
    one_clock: bool,
    is_keepon: bool,
) -> FrameArrays:
    """Join what is known of a stream.

    Args:
        stream: of the scenario.
        device: its talker's.
        talk: of its talker.
        listens: of its listeners, in the stream's order.
        ended: verdicts by (device, class, txtime); entries used are taken out.
        verdict_names: name by index.
        epoch_ns: network time of the start of the first cycle.
        one_clock: clocks were compared, so that arrivals can be with txtimes.
        is_keepon: the talker's device tells a verdict of every frame.

    Raises:
        TraceError: the files contradict each other.
    """
    frames = talk["frames"]
    count, epoch_ps = len(frames), epoch_ns * 1000
    places = {frame["seq"]: place for place, frame in enumerate(frames)}
    arrival_ps = np.full((len(listens), count), NONE, dtype=np.int64)
    stamp_ns = np.full((len(listens), count), NONE, dtype=np.int64)
    for row, listen in enumerate(listens):
        for heard in listen["frames"]:
            if heard["stream"] not in (stream.id, f"0x{talk['stream_hash']:08x}"):
                continue
            place = places.get(heard["seq"])
            if place is None:
                raise TraceError(
                    f"stream {stream.id}: frame {heard['seq']} arrived without having been sent"
                )
            stamp = heard["rx_stamp_ns"]
            stamp = heard["sw_stamp_ns"] if stamp is None else stamp
            if stamp is None:
                raise TraceError(f"stream {stream.id}: frame {heard['seq']} arrived without stamp")
            stamp_ns[row, place], arrival_ps[row, place] = stamp, stamp * 1000 - epoch_ps
    arrived = np.any(arrival_ps != NONE, axis=0)
    ends = frame_ends(stream, device, frames, ended)
    wire_ps = np.full(count, NONE, dtype=np.int64)
    verdict = np.full(count, PENDING, dtype=np.int64)
    left = np.zeros(count, dtype=np.int64)
    for place, frame in enumerate(frames):
        name, start_ps = ends.get(frame["seq"], ("", 0))
        if name:
            verdict[place] = verdict_names.index(name)
            # One in doubt left in its slot or not at all (docs/model.md): that it came says which.
            if start_ps and (name in SENT_VERDICTS or (name == IN_DOUBT and arrived[place])):
                wire_ps[place] = start_ps - epoch_ps
        elif is_keepon and arrived[place]:
            raise TraceError(
                f"stream {stream.id}: frame {frame['seq']} arrived without a verdict of the kernel"
            )
        elif not is_keepon and (arrived[place] or frame["tx_stamp_ns"] is not None):
            # Nobody promised an instant: that it was sent is all that is known.
            verdict[place] = verdict_names.index("best_effort")
            left[place] = 1
            if talk["stamp_source"] == "hardware" and frame["tx_stamp_ns"] is not None:
                wire_ps[place] = frame["tx_stamp_ns"] * 1000 - epoch_ps
        elif frame["error"] is not None:
            verdict[place] = verdict_names.index(
                "late" if frame["error"] == "missed" else "invalid"
            )
    return FrameArrays(
        np.array([frame["seq"] for frame in frames], dtype=np.int64),
        np.array([frame["txtime_ns"] for frame in frames], dtype=np.int64),
        np.array([frame["submitted_ns"] * 1000 - epoch_ps for frame in frames], dtype=np.int64),
        verdict, wire_ps, arrival_ps, stamp_ns, epoch_ns, one_clock, left,
    )  # fmt: skip


@dataclass(frozen=True)
class Clocks:
    """Clocks of the stations against CLOCK_TAI over a run, as they were read.

    Attributes:
        readings: of each, by station: [offset, uncertainty] in ns, and when (ns); a station
            without a clock of its own has the system's.
    """

    readings: list[dict[str, Any]]

    def _pair(self, one: str, other: str) -> list[tuple[int, int, int]]:
        """When, how far apart, and how far that may be off."""
        found = []
        for reading in self.readings:
            first, second = (reading["offsets_ns"].get(name, (0, 0)) for name in (one, other))
            found.append((reading["tai_ns"], first[0] - second[0], first[1] + second[1]))
        return found

    def apart_ns(self, one: str, others: list[str]) -> int:
        """How far a station's clock was from those of others at most, as read."""
        return max(
            (abs(apart) for other in others for _, apart, _ in self._pair(one, other)), default=0
        )

    def uncertainty_ns(self, one: str, others: list[str]) -> int:
        """The same, with how far readings may be off."""
        return max(
            (abs(apart) + off for other in others for _, apart, off in self._pair(one, other)),
            default=0,
        )

    def rate(self, one: str, others: list[str]) -> float:
        """How fast the distance changed at most, from reading to reading."""
        rates = [0.0]
        for other in others:
            pairs = self._pair(one, other)
            for (at, apart, _), (later, then, _) in pairwise(pairs):
                rates.append(abs(then - apart) / (later - at))
        return max(rates)

    def spread_ns(self) -> dict[str, list[int]]:
        """Least and greatest offset of each clock from CLOCK_TAI."""
        found: dict[str, list[int]] = {}
        for reading in self.readings:
            for name, (offset_ns, _) in reading["offsets_ns"].items():
                seen = found.setdefault(name, [offset_ns, offset_ns])
                seen[:] = [min(seen[0], offset_ns), max(seen[1], offset_ns)]
        return found


UNSEEN_RELEASE = (SOFTWARE, NOBODY)


def first_bad(
    frames: FrameArrays,
    bounds: Bounds,
    deadline_ns: int | None,
    heard: list[str],
    uncertainty_ns: float,
    last_bits_ps: IntArray | int = 0,
) -> Frame | None:
    """The first frame that is missing, or too late or too early as far as stamps allow to say so
    (`believed`).
    """
    if any(each in LATE for each in heard):
        bounds, deadline_ns = {**bounds, "delay_ns": None}, None
    return outliers(frames, bounds, deadline_ns, uncertainty_ns, last_bits_ps)["first_bad"]


def believed(
    checks: dict[str, BoundCheck],
    stamped: str,
    heard: list[str],
    uncertainty_ns: float,
    jitter_uncertainty_ns: float,
) -> None:
    """Checks of a stream as far as stamps allow to judge them; changes them in place.

    A bound is missed only if what was measured is beyond it by more than the uncertainty. Stamps
    that come late by nobody knows how much can show that a frame was in time, and that one came too
    early, but not the opposites: then nothing was checked.

    Args:
        checks: `bound_check` of the stream.
        stamped: who stamped frames as they left.
        heard: who stamped them as they came.
        uncertainty_ns: how far clocks may have been apart.
        jitter_uncertainty_ns: by how much that may have changed from frame to frame.
    """
    late = any(each in LATE for each in heard)
    uncertain_ns = {
        "delay_ns": uncertainty_ns, "deadline_ns": uncertainty_ns, "delay_min_ns": uncertainty_ns,
        "jitter_ns": jitter_uncertainty_ns,
    }  # fmt: skip
    for name, check in checks.items():
        worst_ns = check["worst_ns"]
        if worst_ns is None:
            continue
        if name == "release_error_ns":
            if stamped in UNSEEN_RELEASE:
                check["worst_ns"], check["met"] = None, False
                check["outcome"] = outcomes.NOTHING_CHECKED
            continue
        if name not in uncertain_ns:
            continue
        off_ns = uncertain_ns[name]
        check["uncertainty_ns"] = off_ns
        if name == "delay_min_ns":
            is_kept = worst_ns >= check["bound_ns"] - off_ns
            unclear = late and is_kept
        else:
            is_kept = worst_ns <= check["bound_ns"] + off_ns
            unclear = late and not is_kept
        check["met"] = is_kept and not unclear
        check["outcome"] = (
            outcomes.NOTHING_CHECKED if unclear else outcomes.of_check(worst_ns, is_kept)
        )
