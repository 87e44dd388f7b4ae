# SPDX-License-Identifier: GPL-2.0-only
"""What gate lists allow, worked out from the lists as they were asked for and from nothing else;
frames on the wire are held against it.

Times are ns of the link's PHC. A list begins at its base time or, if that has passed, with one of
its cycles soon after it was asked for: which one the wire tells, and all frames have to agree.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median

PREAMBLE_BYTES = 8
GAP_BYTES = 12
FRAME = re.compile(
    r"frame seq=(\d+) raw_ns=(\d+)\S* .* bytes=(\d+) .*verdict=(\w+) head=([0-9a-f]+)"
)
PROTOCOL = "88b5"
ALL_GATES = (1 << 16) - 1
FOREVER_NS = 1 << 62


@dataclass(frozen=True)
class Frame:
    """A frame of the load: priority, and from when to when its slot is on the wire."""

    priority: int
    number: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Schedule:
    """A list as asked for between two readings of the PHC."""

    before_ns: int
    after_ns: int
    base_ns: int
    cycle_ns: int
    extension_ns: int
    entries: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, line: str) -> Schedule:
        before, after, base, cycle, extension, *words = line.split()
        asked = [tuple(int(number, 0) for number in word.split(",")) for word in words]
        total = int(cycle) or sum(ns for _, ns in asked)
        entries: list[tuple[int, int]] = []
        left = total
        for mask, ns in asked:
            entries.append((mask, min(ns, left)))
            left -= entries[-1][1]
        entries[-1] = (entries[-1][0], entries[-1][1] + left)
        kept = tuple((mask, ns) for mask, ns in entries if ns)
        return cls(int(before), int(after), int(base), total, int(extension), kept)

    def starts_ns(self, guard_ns: int) -> list[int]:
        """When it may have begun."""
        if self.base_ns > self.after_ns + guard_ns:
            return [self.base_ns]
        first = self.cycle_from(self.before_ns)
        last = self.cycle_from(self.after_ns + guard_ns)
        near = [self.base_ns] if self.base_ns >= self.before_ns else []
        return sorted({*near, *range(first, last + 1, self.cycle_ns)})

    def cycle_from(self, ns: int) -> int:
        """The first beginning of a cycle from then on."""
        return self.base_ns + -(-(ns - self.base_ns) // self.cycle_ns) * self.cycle_ns

    def entry_at(self, ns: int) -> tuple[int, int]:
        """The gates at an instant, and how long they stay so."""
        left = (ns - self.base_ns) % self.cycle_ns
        for mask, length in self.entries:
            if left < length:
                return mask, length - left
            left -= length
        raise AssertionError(f"{left} beyond a cycle of {self.cycle_ns}")


@dataclass
class Wire:
    """The frames of a record, until the load's last clock sample; PHC and record are compared
    within `width_ns` at a sample.
    """

    frames: list[Frame]
    last_ns: int
    width_ns: int

    def on_grid(self, slot_ns: int) -> tuple[Wire, int]:
        """The same with slots where the grid is, and how far they were off it by the clock as read:
        for a whole run, the middle of all frames.
        """
        half = slot_ns // 2
        off = int(median((frame.start_ns + half) % slot_ns - half for frame in self.frames))
        moved = [
            replace(frame, start_ns=frame.start_ns - off, end_ns=frame.end_ns - off)
            for frame in self.frames
        ]
        return Wire(moved, self.last_ns, self.width_ns), off


def read_wire(record: str, load: str, byte_ns: int) -> Wire:
    lines = [
        (int(raw), int(phc), int(width))
        for raw, phc, width in re.findall(r"^sample (\d+) (\d+) (\d+)$", load, re.MULTILINE)
    ]
    # An interrupt within a reading moves it by half of what it takes, 15 us and more.
    width_ns = int(median(width for _, _, width in lines))
    assert width_ns < 5 * min(width for _, _, width in lines), "most readings were interrupted"
    samples = [(raw, phc) for raw, phc, width in lines if width <= 2 * width_ns]
    # A wire that never stops has one rate; the readings left are off by a microsecond or less.
    half = len(samples) // 2
    ahead = [b[1] - a[1] - (b[0] - a[0]) for a, b in zip(samples, samples[half:], strict=False)]
    span = sum(b[0] - a[0] for a, b in zip(samples, samples[half:], strict=False))
    raw_0, phc_0 = samples[0]

    def drift(raw: int) -> int:
        return (raw - raw_0) * sum(ahead) // span

    offset = int(median(phc - phc_0 - (raw - raw_0) - drift(raw) for raw, phc in samples))

    def phc_at(raw: int) -> int:
        """In whole numbers: doubles have no room for a time of day in ns."""
        return phc_0 + (raw - raw_0) + drift(raw) + offset

    frames = []
    for _, raw, count, verdict, head in FRAME.findall(record):
        if head[24:28] != PROTOCOL:
            continue
        assert verdict == "good", (verdict, raw)
        start = phc_at(int(raw)) - PREAMBLE_BYTES * byte_ns
        length = (PREAMBLE_BYTES + int(count) + GAP_BYTES) * byte_ns
        frames.append(Frame(int(head[28:30], 16), int(head[30:32], 16), start, start + length))
    return Wire(frames, samples[-1][1], width_ns)


@dataclass
class Judge:
    """All schedules of a run. `slot_ns`; `slack_ns`: what a slot may be off its grid, a trim and
    the reading of clocks; `guard_ns`: a list asked for begins at most so much later than it could.
    `starts`: when each list begins; `ends`: and when the last cycle of the one before is over.
    """

    schedules: list[Schedule]
    slot_ns: int
    slack_ns: int
    guard_ns: int
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def in_force(self, ns: int) -> int:
        """Number of the schedule at that instant, -1 before the first."""
        return bisect_right(self.starts, ns) - 1

    def gates(self, ns: int) -> tuple[int, int]:
        """The gates at an instant, and how long they stay so at least."""
        number = self.in_force(ns)
        until = self.starts[number + 1] - ns if number + 1 < len(self.starts) else FOREVER_NS
        if number < 0:  # the link's own class table
            return ALL_GATES, until
        schedule = self.schedules[number]
        held = self.ends[number + 1] if number + 1 < len(self.ends) else FOREVER_NS
        if ns >= held:
            return schedule.entries[-1][0], until
        mask, length = schedule.entry_at(ns)
        return mask, min(length, until, held - ns)

    def ends_ns(self, number: int, start: int) -> list[int]:
        """When the last cycle before a list that begins at `start` may be over; from then on its
        last entry is held. IEEE 802.1Q-2018, Q.5: the last cycle that is complete is extended if it
        ends within the extension before the next list. If it had ended when that was asked for,
        another one has begun, which is cut off; if it ends soon after, it may be too late for more.
        """
        if not number:
            return [start]
        before, this = self.schedules[number - 1], self.schedules[number]
        rest = (start - before.base_ns) % before.cycle_ns
        end = start - rest
        if rest > before.extension_ns or end < this.before_ns:
            return [start]
        return [end] if end > this.after_ns + self.guard_ns else [end, start]

    def allows(self, frame: Frame, slack_ns: int) -> bool:
        """Whether the gate of its class is open as long as its slot lasts, whatever lists hold."""
        at, end = frame.start_ns + slack_ns, frame.end_ns - slack_ns
        while at < end:
            mask, length = self.gates(at)
            if not mask >> frame.priority & 1:
                return False
            at += length
        return True

    def __post_init__(self) -> None:
        """A list that was replaced before its time never held."""
        following = [*(schedule.before_ns for schedule in self.schedules[1:]), None]
        self.schedules = [
            schedule
            for schedule, then in zip(self.schedules, following, strict=True)
            if then is None or schedule.starts_ns(self.guard_ns)[0] < then
        ]

    def settle(self, frames: list[Frame]) -> None:
        """Find when each list began: of the times possible the one that frames agree with."""
        first = [self.candidates(number)[0] for number in range(len(self.schedules))]
        self.starts = [start for start, _ in first]
        self.ends = [end for _, end in first]
        for number in range(len(self.schedules)):
            possible = self.candidates(number)
            extension = self.schedules[number - 1].extension_ns if number else 0
            reach = 2 * self.guard_ns + 4 * self.schedules[number].cycle_ns + extension
            begin, end = possible[0][0] - reach, possible[-1][0] + reach
            near = [frame for frame in frames if begin < frame.start_ns < end]
            counted = [(self.against(number, way, near), way) for way in possible]
            self.starts[number], self.ends[number] = min(counted)[1]

    def candidates(self, number: int) -> list[tuple[int, int]]:
        """When a list may have begun, and the last cycle before it have been over; behind one that
        may be extended a table has to be made.
        """
        extended = number and self.schedules[number - 1].extension_ns
        starts = self.schedules[number].starts_ns(self.guard_ns * (6 if extended else 1))
        return [(start, end) for start in starts for end in self.ends_ns(number, start)]

    def against(self, number: int, way: tuple[int, int], frames: list[Frame]) -> int:
        """How many frames speak against it."""
        self.starts[number], self.ends[number] = way
        return len(list(self.violations(frames)))

    def violations(self, frames: list[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if not self.allows(frame, self.slack_ns):
                yield frame

    def open_slots(self, priority: int, begin_ns: int, end_ns: int) -> list[int]:
        """Starts of the slots a class may use in a stretch of time in which lists hold."""
        first = -(-max(begin_ns, self.starts[0]) // self.slot_ns) * self.slot_ns
        slots = range(first, end_ns, self.slot_ns)
        return [at for at in slots if self.allows(Frame(priority, 0, at, at + self.slot_ns), 0)]
