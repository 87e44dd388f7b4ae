# SPDX-License-Identifier: BSD-3-Clause
"""Options of mqprio and taprio: traffic classes, their queues, and gates by time.

What is refused is what tc or the kernel refuses (tc/q_taprio.c, tc/q_mqprio.c; net/sched/
sch_taprio.c, sch_mqprio_lib.c), and a list of windows that is longer than its cycle, which the
kernel cuts off without a word.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keepon.model.qdiscs.options import S32_MAX, Words, clockid, unknown, whole
from keepon.model.qdiscs.tree import (
    CLASSES_MAX,
    FULL_OFFLOAD,
    PRIORITIES,
    TXTIME_ASSIST,
    Classes,
    Mqprio,
    Taprio,
)
from keepon.model.qdiscs.words import Word

S64_MAX = 2**63 - 1
DEFAULT_MAP = (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 1, 1, 3, 3, 3, 3)
"""Of mqprio, as tc has it; taprio's is all zeros."""
TX_QUEUES_MAX = 65_535
_COMMON = ("num_tc", "map", "queues")


@dataclass
class _Classes:
    """Words of the classes as they are read, each with where it stands."""

    count: int
    map: list[int]
    queues: list[tuple[int, int]] = field(default_factory=list)
    map_words: list[Word] = field(default_factory=list)
    queue_words: list[Word] = field(default_factory=list)

    def take(self, word: Word, words: Words) -> None:
        """One of _COMMON."""
        if word.text == "num_tc":
            self.count = words.number(word, 1, CLASSES_MAX, "classes", 10)
        elif word.text == "map":
            self._take_map(words)
        else:
            self._take_queues(word, words)

    def _take_map(self, words: Words) -> None:
        """As many numbers as follow, 16 at most; tc sets those that are left out to 0."""
        self.map_words.clear()
        numbers: list[int] = []
        while len(numbers) < PRIORITIES and (word := words.peek()) is not None:
            value = whole(word.text, 10)
            if value is None:
                break
            self.map_words.append(words.take())
            numbers.append(value)
        self.map = [*numbers, *[0] * (PRIORITIES - len(numbers))]

    def _take_queues(self, of: Word, words: Words) -> None:
        self.queues, self.queue_words = [], []
        while len(self.queues) < CLASSES_MAX and (word := words.peek()) is not None:
            count, at, first = word.text.partition("@")
            if not at:
                break
            how_many, number = whole(count, 10), whole(first, 10)
            if how_many is None or number is None or how_many < 1 or number < 0:
                raise word.refuse("queues are COUNT@FIRST, such as 1@0")
            self.queues.append((how_many, number))
            self.queue_words.append(words.take())
        if not self.queues:
            raise of.refuse("needs COUNT@FIRST for each class, such as 1@0 1@1")

    def finished(self, name: Word, most: int | None, *, may_overlap: bool) -> Classes:
        """Checked as mqprio_validate_qopt() does."""
        for level, word in enumerate(self.map_words):
            if not 0 <= self.map[level] < self.count:
                raise word.refuse(
                    f"map gives priority {level} a class that is not there; classes are 0 to"
                    f" {self.count - 1} with num_tc {self.count}"
                )
        if max(self.map) >= self.count:
            raise name.refuse(
                f"its map, left to tc, has classes up to {max(self.map)}, and num_tc is"
                f" {self.count}; write map with {PRIORITIES} classes from 0 to {self.count - 1}"
            )
        if len(self.queues) != self.count:
            place = self.queue_words[-1] if self.queue_words else name
            raise place.refuse(
                f"queues has {len(self.queues)} entries, and num_tc is {self.count}; write one"
                " COUNT@FIRST for each class"
            )
        named = self.queue_words or [name] * self.count  # left to tc
        for word, (count, first) in zip(named, self.queues, strict=True):
            if first + count > (most or TX_QUEUES_MAX):
                raise word.refuse(
                    f"needs {first + count} transmit queues; the device has {most or TX_QUEUES_MAX}"
                    " at most"
                )
        found = Classes(self.count, tuple(self.map), tuple(self.queues))
        if found.overlap and not may_overlap:
            raise self.queue_words[-1].refuse(
                "classes share a transmit queue, which only taprio with txtime-assist may; write"
                " queues apart from each other, or taprio with flags 0x1"
            )
        return found


def mqprio(name: Word, words: Words) -> Mqprio:
    classes = _Classes(8, list(DEFAULT_MAP))
    hw = 1
    while words:
        word = words.take()
        if word.text in _COMMON:
            classes.take(word, words)
        elif word.text == "hw":
            hw = words.number(word, 0, 2, "", 10)
        else:
            raise unknown(word, "mqprio", f"{', '.join(_COMMON)} and hw")
    if not classes.queues:
        if hw == 0:
            raise name.refuse("needs queues with hw 0; write queues COUNT@FIRST for each class")
        classes.queues = [(1, number) for number in range(classes.count)]
    return Mqprio(classes.finished(name, words.limits.tx_queues, may_overlap=False), hw)


_NUMBERS = {
    "base-time": (-S64_MAX, S64_MAX, 10),
    "cycle-time": (0, S32_MAX, 10),
    "cycle-time-extension": (0, S64_MAX, 10),
    "txtime-delay": (0, S32_MAX, 0),
    "flags": (0, 3, 0),
}


def _entry(of: Word, words: Words) -> tuple[int, int]:
    command = words.take(of, "S, gates in hexadecimal and ns")
    if command.text != "S":
        raise command.refuse("must be S; taprio in Linux neither holds nor releases frames (H, R)")
    gates = words.number(
        Word("gates", command.place), 0, 0xFFFF, "in hexadecimal, a bit per class", 16
    )
    least_ns, value = words.limits.entry_least_ns, words.peek()
    ns = words.number(Word("interval", command.place), 1, S32_MAX, "ns")
    if ns < least_ns and value is not None:
        raise value.refuse(
            f"an entry must last at least the {least_ns} ns of 60 bytes at the rate of the link"
            f" (Linux 6.12 refuses shorter ones, 6.1 takes them); write {least_ns} or more, or give"
            " its time to the entry beside it"
        )
    return gates, ns


def taprio(name: Word, words: Words) -> Taprio:
    classes = _Classes(0, [0] * PRIORITIES)
    entries: list[tuple[int, int]] = []
    last, clock = name, None
    numbers = dict.fromkeys(_NUMBERS, 0)
    given: dict[str, Word] = {}
    while words:
        word = words.take()
        given[word.text] = word
        if word.text in _COMMON:
            classes.take(word, words)
        elif word.text == "sched-entry":
            entries.append(_entry(word, words))
            last = word
        elif word.text in _NUMBERS:
            least, most, base = _NUMBERS[word.text]
            unit = "" if word.text == "flags" else "ns"
            numbers[word.text] = words.number(word, least, most, unit, base)
        elif word.text == "clockid":
            clock = clockid(words, word)
        else:
            raise unknown(
                word, "taprio", f"{', '.join([*_COMMON, 'sched-entry', *_NUMBERS])} and clockid"
            )
    if "num_tc" not in given:
        raise name.refuse("needs num_tc, map and queues; write how many classes there are")
    _check_clock(name, given, numbers["flags"])
    found = Taprio(
        classes.finished(
            name, words.limits.tx_queues, may_overlap=bool(numbers["flags"] & TXTIME_ASSIST)
        ),
        tuple(entries),
        numbers["base-time"],
        numbers["cycle-time"] or sum(ns for _, ns in entries),
        numbers["cycle-time-extension"],
        clock,
        numbers["flags"],
        numbers["txtime-delay"],
    )
    _check_cycle(name, last, found)
    if words.limits.fills_cycle:
        _check_filled(given, found)
    least_ns = words.limits.txtime_delay_least_ns
    if found.txtime_assist and found.txtime_delay_ns < least_ns:
        raise given.get("txtime-delay", name).refuse(
            f"a frame needs {least_ns} ns at least from taprio to its launch, and txtime-delay is"
            f" {found.txtime_delay_ns}; write txtime-delay {least_ns} or more"
        )
    return found


def _check_clock(name: Word, given: dict[str, Word], flags: int) -> None:
    if flags == TXTIME_ASSIST | FULL_OFFLOAD:
        raise given["flags"].refuse("0x3 is both txtime-assist and full offload; take one of them")
    if flags & FULL_OFFLOAD and "clockid" in given:
        raise given["clockid"].refuse("full offload goes by the clock of the device; leave it out")
    if not flags & FULL_OFFLOAD and "clockid" not in given:
        raise name.refuse("needs a clock unless it is offloaded; add clockid CLOCK_TAI")
    if "txtime-delay" in given and not flags & TXTIME_ASSIST:
        raise given["txtime-delay"].refuse(
            "belongs to txtime-assist; add flags 0x1, or leave it out"
        )


def _check_filled(given: dict[str, Word], found: Taprio) -> None:
    """Linux begins again at once after the last window, and then its cycle is another (6.1 to 6.12,
    advance_sched()). The NIC does not, nor does txtime-assist.
    """
    total_ns = sum(ns for _, ns in found.entries)
    if found.flags or total_ns == found.cycle_ns:
        return
    raise given["cycle-time"].refuse(
        f"the windows last {total_ns} ns and the cycle {found.cycle_ns}, and without flags Linux"
        " begins again at once after the last, so that the cycle of streams is another; add"
        f" sched-entry S 00 {found.cycle_ns - total_ns}, or write cycle-time {total_ns}"
    )


def _check_cycle(name: Word, last: Word, found: Taprio) -> None:
    if not found.entries:
        raise name.refuse("has no windows; add sched-entry S GATES NS")
    total_ns = sum(ns for _, ns in found.entries)
    if total_ns > found.cycle_ns:
        raise last.refuse(
            f"the windows last {total_ns} ns and the cycle {found.cycle_ns}; shorten them, or write"
            f" cycle-time {total_ns}"
        )
    if found.cycle_ns > S32_MAX:
        raise last.refuse(f"the cycle lasts {found.cycle_ns} ns, at most {S32_MAX} are allowed")
