# SPDX-License-Identifier: BSD-3-Clause
"""Gate control lists (IEEE 802.1Q-2022 clause 8.6.8.4) as files have them: lines of tsntool, or the
words of tc's taprio.

    sgs 300000 0x01                                     tsntool: ns, gates
    sched-entry S 01 300000                             tc: gates in hexadecimal, ns
    base-time 0 cycle-time 1000000                      tc; other words of tc are passed over
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keepon_host.errors import ConfigError, one_line

ENTRIES_MAX = 1024
INTERVAL_NS_MAX = 2**32 - 1
CYCLE_NS_MAX = 2**31 - 1
BASE_NS_MAX = 2**62
FILE_BYTES_MAX = 1_000_000
_NUMBERS = {
    "base-time": (-BASE_NS_MAX, BASE_NS_MAX),
    "cycle-time": (0, CYCLE_NS_MAX),
    "cycle-time-extension": (0, BASE_NS_MAX),
}


class GateList(NamedTuple):
    """Entries are (gates, ns), a bit per class; together as long as the cycle.

    `extension_ns`: the last cycle before another list may be so much longer. `shortest_ns`: of the
    entries as asked for, before the cycle cut any off; 0: nothing was.
    """

    base_ns: int
    entries: tuple[tuple[int, int], ...]
    extension_ns: int = 0
    shortest_ns: int = 0

    @property
    def cycle_ns(self) -> int:
        return sum(ns for _, ns in self.entries)


def read(path: Path) -> GateList:
    """The list in a file.

    Raises:
        ConfigError: one sentence with file, line, value, what may be there and a remedy.
    """
    try:
        data = path.read_bytes()[: FILE_BYTES_MAX + 1]
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > FILE_BYTES_MAX:
        raise ConfigError(f"{path}: has more than {FILE_BYTES_MAX} bytes; give one gate list")
    return parse(data.decode("utf-8", "replace"), str(path))


def parse(text: str, name: str) -> GateList:
    """The list in a text; `name` is what messages begin with. Raises as `read`."""
    entries: list[tuple[int, int]] = []
    found: dict[str, int] = {}
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        where = f"{name}: line {number}"
        words = line.partition("#")[0].split()
        while words:
            word = words.pop(0)
            if word == "sgs":
                ns, gates = _take(where, word, words, 2)
                entries.append((_mask(where, gates, 0), _interval(where, ns)))
            elif word == "sched-entry":
                command, gates, ns = _take(where, word, words, 3)
                if command != "S":
                    raise ConfigError(
                        f"{where}: sched-entry {one_line(command)}: must be S, as frames are never"
                        " preempted here; write S for it"
                    )
                entries.append((_mask(where, gates, 16), _interval(where, ns)))
            elif word in _NUMBERS:
                (value,) = _take(where, word, words, 1)
                found[word] = _number(where, word, value, *_NUMBERS[word])
    if not 1 <= len(entries) <= ENTRIES_MAX:
        raise ConfigError(
            f"{name}: has {len(entries)} gate entries, must have 1 to {ENTRIES_MAX}; write each as"
            ' "sgs NS GATES" or "sched-entry S GATES NS"'
        )
    shortest_ns = min(ns for _, ns in entries)
    return GateList(
        found.get("base-time", 0),
        _lasting(name, entries, found.get("cycle-time", 0)),
        found.get("cycle-time-extension", 0),
        shortest_ns,
    )


def _lasting(
    name: str, entries: list[tuple[int, int]], cycle_ns: int
) -> tuple[tuple[int, int], ...]:
    """As long as the cycle: cut off, or the last one until it ends (as taprio has it)."""
    total_ns = sum(ns for _, ns in entries)
    left_ns = cycle_ns or total_ns
    if left_ns > CYCLE_NS_MAX:
        raise ConfigError(
            f"{name}: entries last {left_ns} ns, must be 1 to {CYCLE_NS_MAX} together; shorten them"
        )
    if cycle_ns > total_ns:
        entries[-1] = (entries[-1][0], entries[-1][1] + cycle_ns - total_ns)
    kept: list[tuple[int, int]] = []
    for gates, ns in entries:
        if left_ns > 0:
            kept.append((gates, min(ns, left_ns)))
        left_ns -= ns
    return tuple(kept)


def _take(where: str, word: str, words: list[str], count: int) -> list[str]:
    if len(words) < count:
        raise ConfigError(f"{where}: {word} is followed by {len(words)} words, must be {count}")
    taken, words[:count] = words[:count], []
    return taken


def _mask(where: str, text: str, base: int) -> int:
    try:
        mask = int(text, base)
    except ValueError:
        mask = -1
    if not 0 <= mask <= 0xFFFF:
        raise ConfigError(
            f"{where}: gates {one_line(text)} are none: must be 0 to 0xffff, a bit per class"
        )
    return mask


def _interval(where: str, text: str) -> int:
    return _number(where, "an entry of", text, 1, INTERVAL_NS_MAX)


def _number(where: str, what: str, text: str, least: int, most: int) -> int:
    digits = text.removeprefix("-")
    value = int(text) if digits.isascii() and digits.isdigit() and len(text) <= 20 else None
    if value is None or not least <= value <= most:
        raise ConfigError(
            f"{where}: {what} {one_line(text)}: must be {least} to {most} ns, a whole number"
        )
    return value
