# SPDX-License-Identifier: BSD-3-Clause
"""From the records of a ring, and what its peer saw, to findings: what the driver says, and what
was measured.

A limit is contradicted only by what is certain: the wire began with the doorbell at the earliest,
and a reading that found the index moved was taken after it did. What was not measured is neither.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keepon.linux.hwcheck.records import Records

SCHEMA = "keepon.hwcheck/1"
CLAIM_BAD_FCS = 1 << 3
PACE_PPM_MAX = 20_000
"""Beyond it the wire has another rate, and nothing else is made of the readings."""
DRIFT_PPM = 200
"""What a link bears unless it is told another drift_ppb (core/src/defaults.c)."""
DRIFT_PPM_MAX = 1_000
"""The largest drift_ppb a link takes (core/src/config.c)."""
SLACK_NS = 3_000
"""Beyond what is certain: the CPU was interrupted between a reading and its time."""
QUARTERS = 4
ENDS = {
    errno.ENODEV: "it ended early: the index was none of those posted, or the card is gone",
    errno.ETIMEDOUT: "it ended early: the wire stood still",
}
SEEN = 0.99
"""Of the placeholders: some are under way when counters are read."""


@dataclass(frozen=True)
class Peer:
    """What the other end saw during the run.

    Attributes:
        numbers: of the frames that arrived.
        bad: frames with a wrong FCS it counted; good: frames it took.
    """

    name: str
    numbers: frozenset[int]
    bad: int
    good: int


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


def _finding(name: str, said: str, measured: str, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "said": said, "measured": measured, "holds": holds}


def _passed(records: Records) -> list[tuple[int, int, int, int]]:
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
    passed = _passed(records)
    if len(passed) < 8 * QUARTERS:
        return None
    size = len(passed) // QUARTERS
    nominal = records.slot_ns
    early = []
    for quarter in range(QUARTERS):
        part = passed[quarter * size : (quarter + 1) * size]
        early.append(min((at - slots * nominal, slots, since) for at, since, slots, _ in part))
    (first_ns, first, first_since), (last_ns, last, last_since) = early[0], early[-1]
    between = max(last - first, 1)
    slot_ns = nominal + (last_ns - first_ns) / between
    residues = [at_ns + slots * (nominal - slot_ns) for at_ns, slots, _ in early]
    pace_ppm = round((slot_ns / nominal - 1) * 1e6)
    within_ppm = math.ceil(max(first_since, last_since) / (between * nominal) * 1e6)
    steady = max(residues) - min(residues) <= slot_ns / 2 + SLACK_NS
    return Wire(pace_ppm, within_ppm, slot_ns, steady)


def _run(records: Records) -> list[dict[str, Any]]:
    """That it came to its end; what an unfinished run has shown is no less true, and not enough."""
    if not records.error:
        return []
    measured = ENDS.get(records.error, f"it ended early: {os.strerror(records.error)}")
    return [_finding("run", "the ring goes on", measured, False)]


def _drift(wire: Wire) -> tuple[str, bool | None]:
    """Whether a link bears the pace, whatever it is within its uncertainty."""
    ppm, within = abs(wire.pace_ppm), wire.pace_within_ppm
    if ppm + within <= DRIFT_PPM:
        return "", True
    if ppm - within <= DRIFT_PPM:
        return f": whether a link bears it ({DRIFT_PPM} ppm) that leaves open; run it again", None
    if ppm + within <= DRIFT_PPM_MAX:
        return f": a link bears {DRIFT_PPM}, with drift_ppb {1000 * (ppm + within)} this too", False
    return f": a link bears {DRIFT_PPM}, and {DRIFT_PPM_MAX} whatever its drift_ppb is", False


def _pace(records: Records, wire: Wire | None) -> dict[str, Any]:
    said = f"{records.rate_bps // 1_000_000} Mb/s"
    if wire is None:
        return _finding("pace", said, "the index did not go on", False)
    if abs(wire.pace_ppm) > PACE_PPM_MAX:
        return _finding("pace", said, f"slots take {wire.pace_ppm / 1e4:+.1f} %", False)
    if not wire.steady:
        return _finding(
            "pace", said, "the wire stood still, or this machine did: run it again, idle", None
        )
    borne, holds = _drift(wire)
    measured = f"slots take {wire.pace_ppm:+d} ppm, within {wire.pace_within_ppm}{borne}"
    return _finding("pace", said, measured, holds)


def _index(records: Records, wire: Wire) -> tuple[list[dict[str, Any]], tuple[int, int], float]:
    """When the index passes a slot. Also how long before the event it announces, and slots it is
    ahead of the end.
    """
    caps, slot_ns = records.caps, wire.slot_ns
    done = bool(caps["index_counts_done"])
    sharp = [row for row in _passed(records) if row[1] <= max(slot_ns / 2, SLACK_NS)] or _passed(
        records
    )
    # Event k is the first bit of slot k, or the end of the one before; the index moved at most
    # `since` before `at`.
    latest = [(slots if done else slots - 1) * slot_ns - at_ns for at_ns, _, slots, _ in sharp]
    earliest = [
        (before + (1 if done else 0)) * slot_ns - at_ns + since_ns
        for at_ns, since_ns, _, before in sharp
    ]
    least, most = round(min(earliest)), round(max(latest))
    ahead = max(slots * slot_ns - at_ns for at_ns, _, slots, _ in sharp) / slot_ns
    event = "the end" if done else "the start"
    said = f"{caps['index_to_wire_ns_min']} to {caps['index_to_wire_ns_max']} ns before {event}"
    outer = (
        round(min(early - row[1] for early, row in zip(earliest, sharp, strict=True))),
        round(max(late + row[1] for late, row in zip(latest, sharp, strict=True))),
    )
    measured = f"{outer[0]} to {outer[1]} ns before it, if the wire began with its doorbell"
    holds = (
        most <= caps["index_to_wire_ns_max"] + SLACK_NS
        and least + caps["restart_ns_max"] >= caps["index_to_wire_ns_min"] - SLACK_NS
    )
    findings = [_finding("index to wire", said, measured, holds)]
    moves = (
        "when a frame has left"
        if ahead < 0.5
        else f"when a frame is fetched, {ahead:.1f} slots before it has left"
    )
    said = "when a frame has left" if done else "when a frame is fetched"
    findings.append(_finding("index moves", said, moves, not (done and ahead >= 0.5)))
    return findings, outer, max(ahead, 0.0)


def _restart(records: Records, slot_ns: float) -> tuple[dict[str, Any], tuple[int, int] | None]:
    caps = records.caps
    whole_ns = slot_ns if caps["index_counts_done"] else 0
    took = [round(moved_ns - bell_ns - whole_ns) for bell_ns, moved_ns in records.restarts]
    said = f"{caps['restart_ns_min']} to {caps['restart_ns_max']} ns"
    if not took:
        return _finding("restart", said, "the index did not move", False), None
    late_ns = max(0, -caps["index_to_wire_ns_min"])
    measured = f"{min(took)} to {max(took)} ns until the index moves, a reading included"
    return _finding(
        "restart", said, measured, min(took) <= caps["restart_ns_max"] + late_ns + SLACK_NS
    ), (
        min(took),
        max(took),
    )


def _prefetch(records: Records, wire: Wire, peer: Peer | None) -> tuple[dict[str, Any], int | None]:
    """The furthest slot beyond the one on the wire whose frame did not arrive: it had
    been fetched.
    """
    said = f"{records.caps['prefetch_slots_max']} slots"
    if peer is None:
        return _finding("prefetch", said, "not measured: say --peer", None), None
    begun_ns, first = records.begun
    beyond = [
        slot - first - int((at_ns - begun_ns) / wire.slot_ns) for at_ns, _, slot in records.trials
    ]
    lost = [distance for number, distance in enumerate(beyond) if number not in peer.numbers]
    there = [distance for number, distance in enumerate(beyond) if number in peer.numbers]
    if not there:
        return _finding(
            "prefetch", said, f"no frame arrived at {peer.name}: see the cable", None
        ), None
    depth = max(0, *lost) if lost else 0
    measured = (
        f"{depth} slots: of {len(beyond)} frames {len(there)} arrived, the nearest {min(there)}"
        " slots ahead"
    )
    return _finding("prefetch", said, measured, depth <= records.caps["prefetch_slots_max"]), depth


def _fcs(records: Records, peer: Peer | None) -> tuple[dict[str, Any], bool | None]:
    said = "leaves" if records.claims & CLAIM_BAD_FCS else "does not leave"
    if peer is None:
        return _finding("bad FCS", said, "not measured: say --peer", None), None
    placeholders = SEEN * (records.sent - len(records.trials))
    if peer.bad >= placeholders > 0:
        leaves: bool | None = True
        measured = f"leaves: {peer.name} counted {peer.bad}"
    elif peer.good >= placeholders > 0:
        leaves = False
        measured = f"does not leave: {peer.name} took {peer.good} frames"
    else:
        leaves = None
        measured = f"{peer.name} counts no frames with a bad FCS"
    holds = None if leaves is None else leaves or not records.claims & CLAIM_BAD_FCS
    return _finding("bad FCS", said, measured, holds), leaves


def _tick(records: Records) -> dict[str, Any]:
    least_ns, still = records.tick
    said = f"{records.caps['cpu_tick_ns']} ns"
    if not still:
        return _finding("tick", said, f"finer than a reading takes ({least_ns} ns)", True)
    return _finding("tick", said, f"{least_ns} ns", least_ns <= records.caps["cpu_tick_ns"])


def verdict(name: str, findings: Sequence[dict[str, Any]]) -> tuple[bool, str]:
    """Whether it is safe to use, and that in one line."""
    wrong = [finding for finding in findings if finding["holds"] is False]
    unknown = [finding["name"] for finding in findings if finding["holds"] is None]
    if wrong:
        first = wrong[0]
        return (
            False,
            (
                f"{name}: not safe to use: {first['name']}: said {first['said']}, measured"
                f" {first['measured']}"
            ),
        )
    if unknown:
        return False, f"{name}: not shown to be safe: not measured: {', '.join(unknown)}"
    return True, f"{name}: safe to use"


def judge(name: str, backend: str, records: Records, peer: Peer | None) -> dict[str, Any]:
    """The document of a run (keepon.model.hwcheck)."""
    wire = find_wire(records) if records.rate_bps else None
    findings = [*_run(records), _pace(records, wire)]
    index: tuple[int, int] | None = None
    restart: tuple[int, int] | None = None
    depth: int | None = None
    ahead: float | None = None
    leaves: bool | None = None
    if wire is not None and abs(wire.pace_ppm) <= PACE_PPM_MAX:
        found, index, ahead = _index(records, wire)
        limit, restart = _restart(records, wire.slot_ns)
        deep, depth = _prefetch(records, wire, peer)
        fcs, leaves = _fcs(records, peer)
        findings += [*found, limit, deep, fcs, _tick(records)]
    safe, line = verdict(name, findings)
    return {
        "schema": SCHEMA,
        "interface": name,
        "peer": peer.name if peer else None,
        "backend": backend,
        "slot_bytes": records.slot_bytes,
        "rate_bps": records.rate_bps,
        "ring_slots": records.ring_slots,
        "caps": records.caps,
        "measured": {
            "pace_ppm": wire.pace_ppm if wire else None,
            "pace_within_ppm": wire.pace_within_ppm if wire else None,
            "index_to_wire_ns": list(index) if index else None,
            "index_ahead_slots": None if ahead is None else round(ahead, 3),
            "restart_ns": list(restart) if restart else None,
            "prefetch_slots": depth,
            "bad_fcs_leaves": leaves,
            "tick_ns": records.tick[0],
            "slots_sent": records.sent,
            "frames_sent": len(records.trials),
            "frames_arrived": len(peer.numbers) if peer else None,
        },
        "findings": findings,
        "safe": safe,
        "verdict": line,
    }
