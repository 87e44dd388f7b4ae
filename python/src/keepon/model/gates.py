# SPDX-License-Identifier: BSD-3-Clause
"""Windows of one port and the gate control list that opens them (IEEE 802.1Q-2022 clause 8.6.8.4
and 8.6.9).

Times are network time in picoseconds; a window repeats with its stream's period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from keepon.model.preemption import HOLD
from keepon.model.wire import PS_PER_NS, byte_time_ps, ceil_ns

ALL_GATES = 0xFF
GUARD_BYTES = 60
"""Of the gap 12 are needed; Linux's taprio takes no entry shorter than the 60 bytes of the least
frame. A bridge needs more for a frame, with its FCS and preamble, so none begins in a rest of that.
"""
_TURNS_MAX = 65_536


@dataclass(frozen=True)
class Window:
    """A stream has a wire for [start_ps, start_ps + length_ps) of every period.

    Its gate opens `margin_ps` later and closes as much sooner by the port's own clock, which may be
    off by that. `is_held`: its frame may be there before, so that the gate must not open sooner.
    """

    stream: str
    queue: int
    start_ps: int
    length_ps: int
    period_ps: int
    margin_ps: int = 0
    is_held: bool = False

    def moved(self, by_ps: int) -> Window:
        """The window later by this."""
        return replace(self, start_ps=self.start_ps + by_ps)


@dataclass(frozen=True)
class GateList:
    """A gate control list with the port's base time; entries are (mask of open gates, ns)."""

    base_ns: int
    entries: tuple[tuple[int, int], ...]

    @cached_property
    def cycle_ns(self) -> int:
        return sum(ns for _, ns in self.entries)

    def earliest_ps(self, queue: int, ready_ps: int, need_ps: int) -> int | None:
        """First instant from ready_ps on at which the queue's gate stays open for need_ps; None if
        there is none.
        """
        cycle_ps = self.cycle_ns * PS_PER_NS
        spans = self._open_spans(queue)
        if spans is None:
            return ready_ps
        phase_ps = (ready_ps - self.base_ns * PS_PER_NS) % cycle_ps
        origin_ps = ready_ps - phase_ps
        for lap in (-1, 0, 1, 2):
            for start_ps, end_ps in spans:
                begin_ps = max(origin_ps + lap * cycle_ps + start_ps, ready_ps)
                if begin_ps + need_ps <= origin_ps + lap * cycle_ps + end_ps:
                    return begin_ps
        return None

    def left_ps(self, queue: int, at_ps: int, need_ps: int) -> int | None:
        """How much later than at_ps, when its gate is open, need_ps may begin before it closes;
        None if it never does.
        """
        spans = self._open_spans(queue)
        if spans is None:
            return None
        cycle_ps = self.cycle_ns * PS_PER_NS
        phase_ps = (at_ps - self.base_ns * PS_PER_NS) % cycle_ps
        within = [
            end_ps - lap_ps
            for start_ps, end_ps in spans
            for lap_ps in (0, cycle_ps)
            if start_ps <= phase_ps + lap_ps < end_ps
        ]
        return max(0, within[0] - phase_ps - need_ps) if within else 0

    def together(self, queue: int, other: int) -> bool:
        """Whether both gates are ever open at once."""
        both = 1 << queue | 1 << other
        return any(mask & both == both for mask, ns in self.entries if ns)

    def shut_before_ps(self, queue: int, other: int, within_ps: int) -> int | None:
        """The least time from where the other gate shuts until the queue's opens, if that is less
        than `within_ps`; None if it never is.
        """
        parts = [(mask, ns * PS_PER_NS) for mask, ns in self.entries if ns]
        least_ps = within_ps
        for index, (mask, _) in enumerate(parts):
            if not mask >> queue & 1 or parts[index - 1][0] >> queue & 1:
                continue
            ago_ps = 0
            for before, length_ps in (parts[index - back] for back in range(1, len(parts) + 1)):
                if ago_ps >= least_ps:
                    break
                if before >> other & 1:
                    least_ps = ago_ps
                ago_ps += length_ps
        return least_ps if least_ps < within_ps else None

    def always(self, queue: int) -> bool:
        """Whether its gate never closes."""
        return all(mask >> queue & 1 for mask, ns in self.entries if ns)

    def _open_spans(self, queue: int) -> list[tuple[int, int]] | None:
        """Open intervals of one cycle, joined over its end; None if the gate never closes."""
        spans: list[tuple[int, int]] = []
        at_ps = 0
        for mask, ns in self.entries:
            end_ps = at_ps + ns * PS_PER_NS
            if mask >> queue & 1:
                if spans and spans[-1][1] == at_ps:
                    spans[-1] = (spans[-1][0], end_ps)
                else:
                    spans.append((at_ps, end_ps))
            at_ps = end_ps
        if spans == [(0, at_ps)]:
            return None
        if len(spans) > 1 and spans[0][0] == 0 and spans[-1][1] == at_ps:
            first = spans.pop(0)
            spans[-1] = (spans[-1][0], at_ps + first[1])
        return spans


def cycle_ns_of(windows: list[Window]) -> int:
    """Least common multiple of the windows' periods, in ns."""
    return math.lcm(*(window.period_ps for window in windows)) // PS_PER_NS


def repeats_too_late(windows: list[Window]) -> bool:
    """Whether more turns of windows pass until all repeat than are laid out one by one."""
    cycle_ps = cycle_ns_of(windows) * PS_PER_NS
    return sum(cycle_ps // window.period_ps for window in windows) > _TURNS_MAX


def guard_ns(rate_bps: int) -> int:
    """How long before a window no gate is open: GUARD_BYTES at this rate, rounded up to ns.

    A frame may end as its gate closes, and the gap of 12 byte times after it (IEEE Std 802.3-2022
    clause 4.4.2) would keep the window's frame from starting.
    """
    return ceil_ns(GUARD_BYTES * byte_time_ps(rate_bps))


def fill(
    spans: list[tuple[int, int, int]], rest: int, cycle: int, guard: int
) -> list[tuple[int, int]]:
    """Entries (mask, length) of a cycle: `spans` as they are, between them `rest` but for a guard
    before each.

    Args:
        spans: (start, end, mask), disjoint, in order, within [0, cycle].
        guard: what stays closed before a span that does not follow another at once; no shorter rest
            is opened.
    """
    entries: list[tuple[int, int]] = []

    def put(mask: int, length: int) -> None:
        if length == 0:
            return
        if entries and entries[-1][0] == mask:
            entries[-1] = (mask, entries[-1][1] + length)
        else:
            entries.append((mask, length))

    def put_rest(start: int, end: int, following: int) -> None:
        close = min(following - guard, end)
        if close - start < guard:
            close = start
        put(rest, close - start)
        put(0, end - close)

    at = 0
    for start, end, mask in spans:
        put_rest(at, start, start)
        put(mask, end - start)
        at = end
    put_rest(at, cycle, cycle + spans[0][0])
    return entries


def with_hold(made: GateList, planned: set[int], preemptable: int) -> GateList:
    """The list of a port with frame preemption: gates of preemptable queues are always open, and
    while one of a planned queue is, the MAC holds preemptable frames back.

    Such a gate that closed would keep back every frame that is longer than what is left; HOLD
    needs no more before a window than what cannot be interrupted.
    """
    entries: list[tuple[int, int]] = []
    for mask, ns in made.entries:
        held = HOLD if any(mask >> queue & 1 for queue in planned) else 0
        if entries and entries[-1][0] == mask | held | preemptable:
            ns += entries.pop()[1]
        entries.append((mask | held | preemptable, ns))
    return replace(made, entries=tuple(entries))


@dataclass(frozen=True)
class _Opening:
    """A turn of a window as its gate has it, ns of the cycle; it may reach beyond the cycle."""

    start: int
    end: int
    mask: int
    is_held: bool


def _openings(windows: list[Window], cycle_ps: int) -> list[_Opening]:
    """All turns of all windows, in order."""
    found = []
    for window in windows:
        length_ps = window.length_ps - 2 * window.margin_ps
        for turn in range(cycle_ps // window.period_ps):
            start_ps = (window.start_ps + window.margin_ps + turn * window.period_ps) % cycle_ps
            found.append(
                _Opening(
                    start_ps // PS_PER_NS,
                    (start_ps + length_ps) // PS_PER_NS,
                    1 << window.queue,
                    window.is_held or window.margin_ps > 0,
                )
            )
    return sorted(found, key=lambda opening: opening.start)


def _without_slivers(openings: list[_Opening], cycle: int, guard: int) -> list[_Opening]:
    """Gates stay open until the next one opens where that is sooner than an entry may last.

    No frame that is on time begins in such a rest, which is shorter than any. The exception: one
    queue would be open from its window to its next, and that one's frame, if it may be there
    already, would leave too soon.
    """
    kept = []
    for number, opening in enumerate(openings):
        following = openings[(number + 1) % len(openings)]
        start = following.start + (cycle if number + 1 == len(openings) else 0)
        too_soon = following.mask == opening.mask and following.is_held
        if 0 < start - opening.end < guard and not too_soon:
            opening = replace(opening, end=start)
        kept.append(opening)
    return kept


def build(windows: list[Window], guard: int, short: int = 0, base_ns: int = 0) -> GateList | None:
    """Gate list that opens exactly the windows to their queues and the rest of the cycle to
    unplanned queues; a rest shorter than `guard` belongs to the window before it if it can.

    Windows start and end on whole nanoseconds and do not overlap. Adjacent windows of one queue
    become one opening. Returns None if they repeat too late.

    Args:
        windows: of one port.
        guard: how long before a window no gate is open, at least what `guard_ns` gives.
        short: rests shorter than this are not opened; 0: than `guard`.
        base_ns: where the cycle begins.
    """
    if repeats_too_late(windows):
        return None
    windows = [window.moved(-base_ns * PS_PER_NS) for window in windows]
    cycle, rest = cycle_ns_of(windows), ALL_GATES
    for window in windows:
        rest &= ~(1 << window.queue)
    spans: list[tuple[int, int, int]] = []
    for opening in _without_slivers(_openings(windows, cycle * PS_PER_NS), cycle, short or guard):
        spans.append((opening.start, min(opening.end, cycle), opening.mask))
        if opening.end > cycle:
            spans.append((0, opening.end - cycle, opening.mask))
    entries = fill(sorted(spans), rest, cycle, guard)
    return GateList(base_ns, tuple(entries))
