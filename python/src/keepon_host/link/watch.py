# SPDX-License-Identifier: BSD-3-Clause
"""What a link does from moment to moment: its counters as rates, its clock, and its partition.

Counters are those of `ethtool -S` (docs/kernel.md), which needs no rights; the partition is what
`keepon link show` says.
"""

from __future__ import annotations

import errno
import itertools
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keepon_host import ethtool
from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line
from keepon_host.link import commands

SCHEMA = "keepon.watch/1"
INTERVAL_MIN_S, INTERVAL_MAX_S = 0.1, 3600.0
VERDICT = "verdict_"
SENT = ("on_time", "moved", "best_effort", "sent_stale")
"""Verdicts of frames that were on the wire; `core/include/keepon/frame.h` has them all."""
STATES = (
    "pending", "synchronised", "head_valid", "clock_error_ps", "net_slot_base", "head_seq",
    "lock_seq", "lead_slots", "rx_ring_valid", "bound_boundary_error_ps", "bound_span_ns",
    "bound_lock_ns",
)  # fmt: skip
"""What is no counter: it goes up and down."""
LATE = re.compile(r"class_(\d+)_late_ns")
"""How much later than its txtime a frame of the class left at worst since the link was made."""


@dataclass(frozen=True)
class Reading:
    """Counters and states of a link at one time, of CLOCK_MONOTONIC."""

    at_s: float
    values: dict[str, int]


@dataclass(frozen=True)
class Moment:
    """Two readings of a link, one after the other; the first alone has no rates."""

    name: str
    now: Reading
    before: Reading | None

    def rate(self, counter: str) -> float | None:
        """How often a second; None without a reading before, or if the link is another since."""
        if self.before is None:
            return None
        more = self.now.values[counter] - self.before.values.get(counter, 0)
        seconds = self.now.at_s - self.before.at_s
        return more / seconds if more >= 0 and seconds > 0 else None

    def verdicts(self) -> dict[str, int]:
        """Frames by how they ended, all so far."""
        return {
            name.removeprefix(VERDICT): value
            for name, value in self.now.values.items()
            if name.startswith(VERDICT)
        }

    def late_ns(self) -> dict[int, int]:
        """By class, how much later than its txtime a frame left at worst; of those that had one."""
        found = ((LATE.fullmatch(name), value) for name, value in self.now.values.items())
        return {int(match[1]): value for match, value in found if match is not None}

    def counters(self) -> list[str]:
        """Names of what only goes up."""
        return [name for name in self.now.values if name not in STATES and not LATE.fullmatch(name)]

    def state(self) -> str:
        """In a word what its clock is."""
        values = self.now.values
        if not values["head_valid"]:
            return "wire down"
        return "synchronised" if values["synchronised"] else "not synchronised"

    def error_ns(self) -> str:
        """How far the time read may be from the truth, to the picosecond."""
        whole, ps = divmod(self.now.values["clock_error_ps"], 1000)
        return f"{whole}.{ps:03}".rstrip("0").rstrip(".")

    def document(self) -> dict[str, Any]:
        """One line of `--json`."""
        counters = self.counters()
        return {
            "schema": SCHEMA,
            "link": self.name,
            "monotonic_s": round(self.now.at_s, 6),
            "state": self.state(),
            "states": {name: self.now.values[name] for name in STATES if name in self.now.values},
            "late_ns": {str(tc): value for tc, value in self.late_ns().items()},
            "counters": {name: self.now.values[name] for name in counters},
            "per_second": {name: self.rate(name) for name in counters},
        }


def names_of(name: str) -> list[str]:
    """The names of a link's counters.

    Raises:
        ConfigError: there is no such device, or it is no keepon link.
        EnvironmentProblemError: the kernel has no such links, or did not answer.
    """
    commands.check(name)
    try:
        return ethtool.strings(name, ethtool.SS_STATS)
    except OSError as error:
        raise _gone(name, error) from error


def read(name: str, names: list[str]) -> Reading:
    """Counters of a link now.

    Raises:
        EnvironmentProblemError: it has gone.
    """
    try:
        return Reading(time.monotonic(), ethtool.counters(name, names))
    except OSError as error:
        raise _gone(name, error) from error


def _gone(name: str, error: OSError) -> EnvironmentProblemError:
    if error.errno == errno.ENODEV:
        return EnvironmentProblemError(f"{one_line(name)}: the link has gone")
    return EnvironmentProblemError(f"{one_line(name)}: its counters cannot be read: {error}")


def moments(name: str, interval_s: float, count: int | None) -> Iterator[Moment]:
    """The link every so many seconds; `count` times, or for ever.

    Raises:
        ConfigError: the interval or the count is out of range, or as `names_of`.
        EnvironmentProblemError: the link has gone, or as `names_of`.
    """
    if not INTERVAL_MIN_S <= interval_s <= INTERVAL_MAX_S:
        raise ConfigError(
            f"option --interval = {interval_s:g}: must be between {INTERVAL_MIN_S:g} and"
            f" {INTERVAL_MAX_S:g} seconds; choose one in this range"
        )
    if count is not None and count < 1:
        raise ConfigError(
            f"option --count = {count}: must be 1 or more; leave it out to watch for ever"
        )
    yield from itertools.islice(_watched(name, names_of(name), interval_s), count)


def _watched(name: str, names: list[str], interval_s: float) -> Iterator[Moment]:
    before = None
    due_s = time.monotonic()
    while True:
        now = read(name, names)
        yield Moment(name, now, before)
        before = now
        # Of the next whole interval: what showing takes does not add up.
        due_s = max(due_s + interval_s, time.monotonic())
        time.sleep(max(0.0, due_s - time.monotonic()))


def line(moment: Moment) -> str:
    """What changed, on one line, for a pipe or a log."""
    parts = [f"{moment.name}: {moment.state()}"]
    if moment.now.values["head_valid"]:
        parts.append(f"clock within {moment.error_ns()} ns")
    ended = moment.verdicts()
    rates = {name: moment.rate(VERDICT + name) for name in ended}
    for name, count in ended.items():
        rate = rates[name]
        if rate or (rate is None and count):
            parts.append(f"{name} {count}" if rate is None else f"{name} {rate:.1f}/s")
    worst = {tc: value for tc, value in moment.late_ns().items() if value}
    if worst:
        parts.append(
            "late at worst " + ", ".join(f"{ns} ns (class {tc})" for tc, ns in worst.items())
        )
    for name in ("underruns", "slips", "doubts", "losses"):
        if moment.now.values.get(name):
            parts.append(f"{name} {moment.now.values[name]}")
    return ", ".join(parts)


def print_lines(found: Iterator[Moment], as_json: bool) -> None:
    """Print a line for each moment, at once, as a pipe, a log or a collector wants it."""
    for moment in found:
        print(json.dumps(moment.document()) if as_json else line(moment), flush=True)


def partition_bar(masks: list[int], columns: int) -> str:
    """The slots of a partition in so many letters at most: a class in hexadecimal, `*` where
    several may send, `.` where none may.

    A letter of many slots is that of the rarest kind of them: scheduled slots are few among many.
    """
    columns = min(columns, len(masks))
    parts = [
        masks[column * len(masks) // columns : (column + 1) * len(masks) // columns]
        for column in range(columns)
    ]
    return "".join(_letter(min(part, key=lambda mask: (masks.count(mask), mask))) for part in parts)


def _letter(mask: int) -> str:
    if mask & (mask - 1):
        return "*"
    return f"{mask.bit_length() - 1:x}" if mask else "."
