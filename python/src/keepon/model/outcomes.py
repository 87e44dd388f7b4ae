# SPDX-License-Identifier: BSD-3-Clause
"""What came of a stream and of a run, in one of four words; only the first is a success.

`met`: every frame due was delivered and every bound was compared and kept. `missed`: a frame due is
missing, or a bound or deadline was exceeded. `nothing checked`: nothing was missed, but there is no
bound on the delay and no deadline, or one of the bounds had nothing to be compared with.
`no frames`: none was due in the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final, Literal

from keepon.errors import EXIT_MET, EXIT_MISSED, EXIT_NO_FRAMES, EXIT_NOTHING_CHECKED
from keepon.model.qdiscs import stations
from keepon.model.result import (
    BoundCheck,
    CheckName,
    Onset,
    OutcomeName,
    Result,
    RunParts,
    RunResult,
    StreamResult,
)

Side = Literal["by_deadline", "by_bounds"]
MET: Final = "met"
MISSED: Final = "missed"
NOTHING_CHECKED: Final = "nothing checked"
NO_FRAMES: Final = "no frames"
WORST_FIRST: tuple[OutcomeName, ...] = (MISSED, NO_FRAMES, NOTHING_CHECKED, MET)
EXIT_CODES: dict[OutcomeName, int] = {
    MET: EXIT_MET,
    MISSED: EXIT_MISSED,
    NOTHING_CHECKED: EXIT_NOTHING_CHECKED,
    NO_FRAMES: EXIT_NO_FRAMES,
}
QDISC_REMEDIES = {
    "not_allowed": "the gates of its talker's qdisc are shut for its class at its time: give it the"
    " tc or the offset_ns of a window",
    "invalid": "etf refuses a time before one that it has handed on, or one that has passed when"
    " the frame comes: give streams of the talker the same advance_ns, or a longer one",
    "late": "its time had passed when its qdisc could hand it on: raise advance_ns{etf}, or, with"
    " taprio, give it an offset_ns that is farther from the start of its window",
    "oversize": "its talker's qdisc never lets a frame of this length pass: give its class a longer"
    " window, or shorten frame_bytes",
    "no_room": "a queue of its talker is full: raise limit of its qdisc, or send at other times",
}
"""What verdicts on frames say that go through qdiscs of the talker, and what helps."""
SHUT: Final = "not_allowed"
DEADLINE: Final = "deadline_ns"
LATEST = ("delay_ns", DEADLINE)
"""Bounds that say when a frame must have come at the latest: without one a stream is not checked.
"""
SIDES: dict[Side, Callable[[str], bool]] = {
    "by_deadline": lambda key: key == DEADLINE,
    "by_bounds": lambda key: key != DEADLINE,
}
"""Which checks make the outcome by the deadline, and by the bounds."""


def qdisc_remedy(verdicts: Iterable[str], qdisc: str | None, period_ns: int) -> str | None:
    """What the first verdict of QDISC_REMEDIES says, and what helps; None: there is none of them.

    Args:
        qdisc: commands of the talker; None: it leaves its qdiscs to `release`, which has etf.
        period_ns: of the stream.
    """
    found = next((key for key in QDISC_REMEDIES if key in verdicts), None)
    if found is None:
        return None
    cycle_ns = stations.cycle_ns(qdisc) if found == SHUT else None
    if not cycle_ns or period_ns % cycle_ns == 0:
        has_etf = qdisc is None or stations.has_etf(qdisc)
        return QDISC_REMEDIES[found].replace("{etf}", " or delta of its etf" if has_etf else "")
    count = cycle_ns // math.gcd(period_ns, cycle_ns)
    return (
        f"its period, {period_ns} ns, is no multiple of the cycle of its talker's taprio,"
        f" {cycle_ns} ns, so that its frames come at {count} instants of the cycle, at all of which"
        " the gate of its class must be open: take a multiple, other windows or another offset_ns"
    )


def worst(outcomes: Iterable[OutcomeName]) -> OutcomeName:
    """The outcome of a whole whose parts had these."""
    found = set(outcomes)
    return next((outcome for outcome in WORST_FIRST if outcome in found), NO_FRAMES)


def of_check(worst_value: float | None, met: bool) -> CheckName:
    """Outcome of one bound."""
    return NOTHING_CHECKED if worst_value is None else MET if met else MISSED


def of_stream(due: int, missing: int, checks: dict[str, BoundCheck]) -> OutcomeName:
    """Outcome of one stream.

    Args:
        due: frames due by the schedule.
        missing: of these, frames that did not reach every listener.
        checks: `bound_check` of the stream.
    """
    if not due:
        return NO_FRAMES
    if missing or any(check["outcome"] == MISSED for check in checks.values()):
        return MISSED
    if not any(name in checks for name in LATEST):
        return NOTHING_CHECKED
    return worst(check["outcome"] for check in checks.values())


def of_run(run: RunParts) -> OutcomeName:
    """Outcome of one driver's run: that of its worst stream."""
    return worst(stream["outcome"] for stream in run["streams"].values())


def add_sides(run: RunParts) -> None:
    """Give each stream its outcome by the deadline alone, and by the bounds alone."""
    for stream in run["streams"].values():
        for side, is_own in SIDES.items():
            checks = {key: each for key, each in stream["bound_check"].items() if is_own(key)}
            stream[side] = of_stream(stream["due"], stream["missing"], checks)


def of_peer(stream: StreamResult) -> OutcomeName:
    """Outcome of a stream of a peer: bounds are the plan's, made for the judged driver, so it is
    that of the deadline if there is one.
    """
    return stream["by_deadline" if DEADLINE in stream["bound_check"] else "outcome"]


def judged(parts: RunParts, onset: Onset | None) -> RunResult:
    """A run with its outcome.

    Args:
        onset: the first frame of any stream that is missing or beyond a bound.
    """
    outcome = of_run(parts)
    add_sides(parts)
    return {**parts, "outcome": outcome, "met": outcome == MET, "onset": onset}


def completed(result: Result) -> Result:
    """A result file with the keys that files of earlier versions lack; changes it in place.

    What was due is not known of those: it is taken to be what was handed over, as they did.
    """
    for run in result["runs"]:
        for stream in run["streams"].values():
            stream.setdefault("due", stream["submitted"])
            for check in stream["bound_check"].values():
                check.setdefault("outcome", of_check(check["worst_ns"], check["met"]))
            found = of_stream(stream["due"], stream["missing"], stream["bound_check"])
            stream.setdefault("outcome", found)
        add_sides(run)
        run.setdefault("outcome", of_run(run))
        run["met"] = run["outcome"] == MET
    return result
