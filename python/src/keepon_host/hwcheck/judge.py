# SPDX-License-Identifier: BSD-3-Clause
"""From the records of a ring, and what its peer saw, to findings: what the driver says, and what
was measured.

A limit is contradicted only by what is certain. What was not measured is neither.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Sequence
from typing import Any

from keepon_host.hwcheck.index import find_begun, judge_index
from keepon_host.hwcheck.records import Records
from keepon_host.hwcheck.wire import SLACK_NS, Peer, Wire, find_wire, finding
from keepon_host.link.options import OPTIONS

SCHEMA = "keepon.hwcheck/1"
CLAIM_BAD_FCS = 1 << 3
PACE_PPM_MAX = 20_000
"""Beyond it the wire has another rate, and nothing else is made of the readings."""
_DRIFT = next(row for row in OPTIONS if row.field == "drift_ppb_max")
DRIFT_PPM = _DRIFT.default // 1_000
"""What a link bears by its default drift_ppb."""
DRIFT_PPM_MAX = _DRIFT.most // 1_000
"""The largest drift_ppb a link takes."""
ENDS = {
    errno.ENODEV: "it ended early: the index was none of those posted, or the card is gone",
    errno.ETIMEDOUT: "it ended early: the wire stood still",
}
SEEN = 0.99
"""Of the placeholders: some are under way when counters are read."""


def _run(records: Records) -> list[dict[str, Any]]:
    """That it came to its end; what an unfinished run has shown is no less true, and not enough."""
    if not records.error:
        return []
    measured = ENDS.get(records.error, f"it ended early: {os.strerror(records.error)}")
    return [finding("run", "the ring goes on", measured, False)]


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
        return finding("pace", said, "the index did not go on", False)
    if abs(wire.pace_ppm) > PACE_PPM_MAX:
        return finding("pace", said, f"slots take {wire.pace_ppm / 1e4:+.1f} %", False)
    if not wire.steady:
        return finding(
            "pace", said, "the wire stood still, or this machine did: run it again, idle", None
        )
    borne, holds = _drift(wire)
    measured = f"slots take {wire.pace_ppm:+d} ppm, within {wire.pace_within_ppm}{borne}"
    return finding("pace", said, measured, holds)


def _restart(records: Records, slot_ns: float) -> tuple[dict[str, Any], tuple[int, int] | None]:
    caps = records.caps
    whole_ns = slot_ns if caps["index_counts_done"] else 0
    took = [round(moved_ns - bell_ns - whole_ns) for bell_ns, moved_ns in records.restarts]
    said = f"{caps['restart_ns_min']} to {caps['restart_ns_max']} ns"
    if not took:
        return finding("restart", said, "the index did not move", False), None
    late_ns = max(0, -caps["index_to_wire_ns_min"])
    measured = f"{min(took)} to {max(took)} ns until the index moves, a reading included"
    return finding(
        "restart", said, measured, min(took) <= caps["restart_ns_max"] + late_ns + SLACK_NS
    ), (
        min(took),
        max(took),
    )


def _deepest(begun_within_ns: float, slot_ns: float, lost: list[float], there: list[float]) -> int:
    """The depth in slots that the frames leave open, if the wire began as late as it may.

    A frame is lost if it is written at or after the fetch of its slot, which is depth slots before
    that slot would leave by the doorbell, and later by what the wire began later. `lost` and
    `there`: when frames were written, less when their slots would leave, in ns.
    """
    fetched_ns = max((at for at in there if at < min(lost)), default=min(lost) - slot_ns)
    return math.ceil((begun_within_ns - fetched_ns) / slot_ns) - 1


def _prefetch(
    records: Records, wire: Wire, peer: Peer | None, begun_within_ns: int
) -> tuple[dict[str, Any], int | None]:
    """The furthest slot beyond the one on the wire whose frame did not arrive: it had
    been fetched.
    """
    said = f"{records.caps['prefetch_slots_max']} slots"
    if peer is None:
        return finding("prefetch", said, "not measured: say --peer", None), None
    begun_ns, first = records.begun
    early = [
        at_ns - begun_ns - (slot - first) * wire.slot_ns for at_ns, _, slot, _ in records.trials
    ]
    lost = [at for number, at in enumerate(early) if number not in peer.numbers]
    there = [at for number, at in enumerate(early) if number in peer.numbers]
    if not there:
        return finding(
            "prefetch", said, f"no frame arrived at {peer.name}: see the cable", None
        ), None
    depth = max(0, math.ceil(-min(lost) / wire.slot_ns)) if lost else 0
    deepest = max(depth, _deepest(begun_within_ns, wire.slot_ns, lost, there) if lost else 0)
    measured = (
        f"{depth}{f' to {deepest}' if deepest > depth else ''} slots: of {len(early)} frames"
        f" {len(there)} arrived, the nearest {math.ceil(-max(there) / wire.slot_ns)} slots ahead"
    )
    most = records.caps["prefetch_slots_max"]
    if depth > most or deepest <= most:
        return finding("prefetch", said, measured, depth <= most), depth
    measured += f"; the wire may have begun {begun_within_ns} ns after its doorbell: say {deepest}"
    return finding("prefetch", said, measured, None), depth


def _fcs(records: Records, peer: Peer | None) -> tuple[dict[str, Any], bool | None]:
    said = "leaves" if records.claims & CLAIM_BAD_FCS else "does not leave"
    if peer is None:
        return finding("bad FCS", said, "not measured: say --peer", None), None
    fragments = sum(count for _, count, _ in records.mixtures)
    placeholders = SEEN * (records.sent - len(records.trials) - fragments)
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
    return finding("bad FCS", said, measured, holds), leaves


def _fragments(records: Records, peer: Peer | None) -> list[dict[str, Any]]:
    """Whether a frame of several buffers is good where all their descriptors are its, and there
    alone. A frame of other bytes has another number: that of the fragment it begins with.
    """
    most = records.caps.get("fragments_max", 1)
    if most <= 1:
        return []
    said = f"{most} of a frame"
    if peer is None or not records.mixtures:
        why = "say --peer" if peer is None else "the ring is too short"
        return [finding("fragments", said, f"not measured: {why}", None)]
    whole = [number for number, count, fresh in records.mixtures if fresh == (1 << count) - 1]
    foul = [
        (number, count, fresh, i)
        for number, count, fresh in records.mixtures
        for i in range(count)
        if number + i in peer.numbers and not (i == 0 and number in whole)
    ]
    arrived = sum(number in peer.numbers for number in whole)
    mixtures = len(records.mixtures) - len(whole)
    if foul:
        _, count, fresh, begin = foul[0]
        new = ", ".join(str(i) for i in range(count) if fresh >> i & 1)
        measured = (
            f"{len(foul)} good frames of {mixtures} mixtures of old and new descriptors: one began"
            f" with fragment {begin} where of 0 to {count - 1} only {new} were new"
        )
        return [finding("fragments", said, measured, False)]
    measured = (
        f"of {len(whole)} frames {arrived} arrived, and none of {mixtures} mixtures of old and new"
        f" descriptors{': proven' if arrived == len(whole) else ''}"
    )
    return [finding("fragments", said, measured, arrived == len(whole) > 0)]


def _tick(records: Records) -> dict[str, Any]:
    least_ns, still = records.tick
    said = f"{records.caps['cpu_tick_ns']} ns"
    if not still:
        return finding("tick", said, f"finer than a reading takes ({least_ns} ns)", True)
    return finding("tick", said, f"{least_ns} ns", least_ns <= records.caps["cpu_tick_ns"])


def verdict(name: str, findings: Sequence[dict[str, Any]]) -> tuple[bool, str]:
    """Whether it is safe to use, and that in one line."""
    wrong = [one for one in findings if one["holds"] is False]
    unknown = [one for one in findings if one["holds"] is None]
    unsure = [one for one in unknown if not one["measured"].startswith("not measured")]
    if wrong:
        first = wrong[0]
        return (
            False,
            (
                f"{name}: not safe to use: {first['name']}: said {first['said']}, measured"
                f" {first['measured']}"
            ),
        )
    if unsure:
        first = unsure[0]
        return False, f"{name}: not shown to be safe: {first['name']}: {first['measured']}"
    if unknown:
        names = ", ".join(one["name"] for one in unknown)
        return False, f"{name}: not shown to be safe: not measured: {names}"
    return True, f"{name}: safe to use"


def judge(name: str, backend: str, records: Records, peer: Peer | None) -> dict[str, Any]:
    """The document of a run (keepon.model.machinereports)."""
    wire = find_wire(records) if records.rate_bps else None
    findings = [*_run(records), _pace(records, wire)]
    index: tuple[int, int] | None = None
    restart: tuple[int, int] | None = None
    depth: int | None = None
    ahead: float | None = None
    leaves: bool | None = None
    if wire is not None and abs(wire.pace_ppm) <= PACE_PPM_MAX:
        found, index, ahead = judge_index(records, wire, peer)
        limit, restart = _restart(records, wire.slot_ns)
        begun_within_ns = find_begun(records, wire, peer).within_ns
        deep, depth = _prefetch(records, wire, peer, begun_within_ns)
        fcs, leaves = _fcs(records, peer)
        findings += [
            *found, limit, deep, fcs, *_fragments(records, peer), _tick(records),
        ]  # fmt: skip
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
            "frames_arrived": (
                sum(number < len(records.trials) for number in peer.numbers) if peer else None
            ),
        },
        "findings": findings,
        "safe": safe,
        "verdict": line,
    }
