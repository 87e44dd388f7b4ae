# SPDX-License-Identifier: BSD-3-Clause
"""The wire as readings of an index show it, and as its other end saw it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from keepon_host.hwcheck.records import Records

SLACK_NS = 3_000
"""Beyond what is certain: the CPU was interrupted between a reading and its time."""
QUARTERS = 4
DULL = 2
"""Times what is usual between two readings."""


@dataclass(frozen=True)
class Peer:
    """What the other end saw during the run.

    Attributes:
        numbers: of the frames that arrived.
        bad: frames with a wrong FCS it counted; good: frames it took.
        arrived_ns: when they did at the latest, by number, by CLOCK_MONOTONIC_RAW.
    """

    name: str
    numbers: frozenset[int]
    bad: int
    good: int
    arrived_ns: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Wire:
    """The wire as the index shows it: slots of `slot_ns`, the first one begun at 0; steady: it
    never stood still. `pace_within_ppm`: how far from `pace_ppm` it may be, since the index moved
    at some time between two readings.
    """

    pace_ppm: int
    pace_within_ppm: int
    slot_ns: float
    steady: bool


def finding(name: str, said: str, measured: str, holds: bool | None) -> dict[str, Any]:
    """A limit of the driver, and what was seen of it."""
    return {"name": name, "said": said, "measured": measured, "holds": holds}


def passed(records: Records) -> list[tuple[int, int, int, int]]:
    """Of each sample: time since the stream began, since the reading before, slots passed then, and
    before.
    """
    begun_ns, first = records.begun
    found = []
    before = 0
    for at_ns, since_ns, index in records.samples:
        found.append((at_ns - begun_ns, since_ns, index - first, before))
        before = index - first
    # the first reading was long after the one before
    return found[1:]


def find_wire(records: Records) -> Wire | None:
    """Pace and steadiness, by the earliest passing of each quarter; None with too few samples."""
    rows = passed(records)
    if len(rows) < 8 * QUARTERS:
        return None
    # one that comes late after the one before leaves open when the index moved
    usual_ns = DULL * median(since_ns for _, since_ns, _, _ in rows)
    rows = [row for row in rows if row[1] <= usual_ns]
    size = len(rows) // QUARTERS
    nominal = records.slot_ns
    early = []
    for quarter in range(QUARTERS):
        part = rows[quarter * size : (quarter + 1) * size]
        early.append(min((at - slots * nominal, slots, since) for at, since, slots, _ in part))
    (first_ns, first, first_since), (last_ns, last, last_since) = early[0], early[-1]
    between = max(last - first, 1)
    slot_ns = nominal + (last_ns - first_ns) / between
    residues = [at_ns + slots * (nominal - slot_ns) for at_ns, slots, _ in early]
    pace_ppm = round((slot_ns / nominal - 1) * 1e6)
    within_ppm = math.ceil(max(first_since, last_since) / (between * nominal) * 1e6)
    steady = max(residues) - min(residues) <= slot_ns / 2 + SLACK_NS
    return Wire(pace_ppm, within_ppm, slot_ns, steady)
