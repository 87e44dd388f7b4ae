# SPDX-License-Identifier: BSD-3-Clause
"""The partition problem of one station in whole slots, read from the instance schema; exact
integers only.

Source: KeepON paper section A.7. This module decides what the paper leaves open: ownership holds
over L = lcm(hyperperiod, ring cycle), times are whole slots, peak-to-peak jitter is rounded down to
slots. Extensions: classes that share slots, frames of several slots, slots that stay unowned, and a
window for the start within the period. Nothing here solves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from keepon.errors import ConfigError, one_line

RING_SLOTS_MAX = 65_536
CLASSES_MAX = 16
"""Bits of a class mask."""
STREAMS_MAX = 4096
US_MIN, US_MAX = Decimal("1e-9"), Decimal("1e15")
PERIOD_SLOTS_MAX = 10**9


@dataclass(frozen=True)
class Stream:
    """One stream, times in slots.

    Attributes:
        index: position in the instance.
        owner: the group of classes that owns its slots, 0 ... owner_count - 1.
        class_index: its class in the instance.
        period_slots: P, at least 1.
        jitter_slots: J, peak-to-peak variation of start - l P; 0 ... P and within its window.
        length_slots: consecutive slots of one frame, 1 ... min(P, ring).
        earliest_slot, latest_slot: bounds of start - l P from time 0 of the ring; None: any phase.
    """

    index: int
    owner: int
    class_index: int
    period_slots: int
    jitter_slots: int
    length_slots: int = 1
    earliest_slot: int | None = None
    latest_slot: int | None = None

    @property
    def phases(self) -> range:
        """All useful phases o: starts lie in o + l P ... o + l P + J; narrower windows are part of
        these.
        """
        if self.earliest_slot is None or self.latest_slot is None:
            return range(self.period_slots)
        return range(self.earliest_slot, self.latest_slot - self.jitter_slots + 1)

    @property
    def load(self) -> Fraction:
        """Share of all slots that the stream takes."""
        return Fraction(self.length_slots, self.period_slots)


@dataclass(frozen=True)
class Problem:
    """One ring and its streams.

    Attributes:
        name: id of the instance.
        ring_slots: N, period of the owner table.
        owner_classes: classes of each owner; one class each unless the instance lets classes share
            slots.
        streams: in the order of the instance.
        reserve_slots: ring slots that must stay unowned, any of them (best effort, PTP).
        unowned: ring slots that must stay unowned, by index; they count as reserve.
    """

    name: str
    ring_slots: int
    owner_classes: tuple[tuple[int, ...], ...]
    streams: tuple[Stream, ...]
    reserve_slots: int = 0
    unowned: frozenset[int] = frozenset()

    @property
    def owner_count(self) -> int:
        return len(self.owner_classes)

    @cached_property
    def members(self) -> tuple[tuple[Stream, ...], ...]:
        """Streams by owner."""
        return tuple(
            tuple(s for s in self.streams if s.owner == owner) for owner in range(self.owner_count)
        )

    @cached_property
    def hyperperiod_slots(self) -> int:
        return math.lcm(*(stream.period_slots for stream in self.streams))

    @cached_property
    def cycle_slots(self) -> int:
        """L: after this many slots streams and owner table repeat together; can be astronomically
        large.
        """
        return math.lcm(self.hyperperiod_slots, self.ring_slots)

    @cached_property
    def instance_count(self) -> int:
        """Frames in one cycle."""
        return sum(self.cycle_slots // stream.period_slots for stream in self.streams)

    @property
    def ownable_slots(self) -> int:
        """Ring slots that may have an owner."""
        return self.ring_slots - max(self.reserve_slots, len(self.unowned))

    @property
    def is_plain(self) -> bool:
        """The published problem: one-slot frames, any phase, no slot excluded by its index."""
        return not self.unowned and all(
            s.length_slots == 1 and s.earliest_slot is None for s in self.streams
        )

    def ring_gcd(self, stream: Stream) -> int:
        """g: a stream without jitter uses one whole coset modulo g of the ring."""
        return math.gcd(stream.period_slots, self.ring_slots)


class _Reader:
    """Reads values of one JSON object and refuses each wrong one in one sentence."""

    def __init__(self, table: Any, place: str) -> None:
        if not isinstance(table, Mapping):
            raise ConfigError(
                f"{place}: {one_line(table)} must be a table of keys; write it as a JSON object"
            )
        self.table = table
        self.place = place

    def refuse(self, key: str, rule: str, remedy: str) -> ConfigError:
        shown = one_line(self.table.get(key, "missing"))
        return ConfigError(f"{self.place}: key `{key}` = {shown}: {rule}; {remedy}")

    def whole(self, key: str, low: int, high: int, default: int | None = None) -> int:
        if key not in self.table and default is not None:
            return default
        value = self.table.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.refuse(
                key, f"must be a whole number between {low} and {high}", "choose one in this range"
            )
        return value

    def number(self, key: str) -> Fraction:
        value = self.table.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise self.refuse(key, "must be a finite number", "give it in microseconds")
        # As a fraction, 1e-999999999 would fill the memory.
        exact = Decimal(value)
        if not exact.is_finite() or (exact != 0 and not US_MIN <= abs(exact) <= US_MAX):
            raise self.refuse(
                key,
                f"must be a finite number, 0 or between {US_MIN} and {US_MAX}",
                "give it in microseconds",
            )
        # A float from a caller means its decimal notation: 34.4 is 34.4, not the nearest binary
        # fraction.
        return Fraction(str(value))

    def rows(self, key: str, most: int) -> list[Any]:
        value = self.table.get(key)
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            raise self.refuse(
                key, f"must be a list of 1 to {most} entries", "write it as a JSON list"
            )
        return value


def _window(reader: _Reader, slot_us: Fraction, period_slots: int) -> tuple[int, int] | None:
    if "earliest_us" not in reader.table and "latest_us" not in reader.table:
        return None
    earliest = (
        math.ceil(reader.number("earliest_us") / slot_us) if "earliest_us" in reader.table else 0
    )
    latest = (
        math.floor(reader.number("latest_us") / slot_us)
        if "latest_us" in reader.table
        else period_slots - 1
    )
    if not 0 <= earliest < period_slots:
        last_us = float((period_slots - 1) * slot_us)
        raise reader.refuse(
            "earliest_us",
            f"must be between 0 and {last_us:.15g}",
            "give the earliest start in the period",
        )
    if not earliest <= latest < earliest + period_slots:
        low_us, high_us = float(earliest * slot_us), float((earliest + period_slots - 1) * slot_us)
        rule = (
            f"must be between {low_us:.15g}, the first whole slot from earliest_us on,"
            f" and {high_us:.15g}"
        )
        raise reader.refuse(
            "latest_us", rule, "give the latest start counted from the period's begin"
        )
    return earliest, latest


def _stream(
    row: Any, place: str, index: int, slot_us: Fraction, ring_slots: int, owner_of: dict[int, int]
) -> Stream:
    reader = _Reader(row, f"{place}, flow {index}")
    reader.whole("flow", index, index, index)
    class_index = reader.whole("class", 0, len(owner_of) - 1)
    period_us = reader.number("period_us")
    period = period_us / slot_us
    if period.denominator != 1 or not 1 <= period <= PERIOD_SLOTS_MAX:
        raise reader.refuse(
            "period_us",
            f"must be a multiple of slot_us = {float(slot_us):.15g}, 1 to {PERIOD_SLOTS_MAX} slots",
            "choose such a period or a slot time that divides it",
        )
    jitter_us = reader.number("jitter_us")
    if not 0 <= jitter_us <= period_us:
        raise reader.refuse(
            "jitter_us",
            f"must be between 0 and period_us = {float(period_us):.15g}",
            "choose one there",
        )
    length = reader.whole("length_slots", 1, min(int(period), ring_slots), 1)
    window = _window(reader, slot_us, int(period))
    jitter = math.floor(jitter_us / slot_us)
    return Stream(
        index=index,
        owner=owner_of[class_index],
        class_index=class_index,
        period_slots=int(period),
        jitter_slots=jitter if window is None else min(jitter, window[1] - window[0]),
        length_slots=length,
        earliest_slot=None if window is None else window[0],
        latest_slot=None if window is None else window[1],
    )


def _owners(reader: _Reader, n_classes: int) -> tuple[tuple[int, ...], ...]:
    """Classes of each owner: those listed together in `shared_classes` own their slots together."""
    groups = reader.table.get("shared_classes", [])
    flat = [member for group in groups for member in group] if _is_lists(groups) else None
    whole = flat is not None and all(
        type(member) is int and 0 <= member < n_classes for member in flat
    )
    if flat is None or not whole or len(set(flat)) != len(flat):
        rule = (
            f"must be lists of different classes between 0 and {n_classes - 1}, each class at most"
            " once"
        )
        raise reader.refuse(
            "shared_classes", rule, "list together the classes that may use the same slots"
        )
    owners = [tuple(sorted(group)) for group in groups] + [
        (c,) for c in range(n_classes) if c not in flat
    ]
    return tuple(sorted(owners))


def _is_lists(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(group, list) and group for group in value)


def _unowned(reader: _Reader, ring_slots: int) -> frozenset[int]:
    value = reader.table.get("unowned_slots", [])
    valid = isinstance(value, list) and all(
        type(slot) is int and 0 <= slot < ring_slots for slot in value
    )
    if not valid or len(set(value)) != len(value):
        rule = f"must be a list of different ring slots between 0 and {ring_slots - 1}"
        raise reader.refuse("unowned_slots", rule, "list the slots that stay without owner")
    return frozenset(value)


def parse(instance: Any, source: str, position: int) -> Problem:
    """The problem of one instance; any answer in it is ignored.

    Args:
        instance: one entry of `instances`: id, slot_us, ring_slots, n_classes, flows [{flow, class,
            period_us, jitter_us}]; optional shared_classes, reserve_slots, unowned_slots, and per
            flow length_slots, earliest_us, latest_us.
        source: file name for messages.
        position: index in the file, named where an instance has no id.

    Raises:
        ConfigError: a value is missing or out of range; one sentence with file, instance, key,
            value, range, remedy.
    """
    if not isinstance(instance, Mapping):
        raise ConfigError(
            f"{source}: key `instances[{position}]` = {one_line(instance)}: must be a table; give"
            " one instance"
        )
    name = instance.get("id")
    if not isinstance(name, str) or not name:
        raise ConfigError(
            f"{source}: key `instances[{position}].id` = {one_line(name)}: must be a name; give"
            " every instance one"
        )
    place = f'{source}: instance "{one_line(name)}"'
    reader = _Reader(instance, place)
    slot_us = reader.number("slot_us")
    if slot_us <= 0:
        raise reader.refuse("slot_us", "must be above 0", "give the slot time in microseconds")
    ring_slots = reader.whole("ring_slots", 1, RING_SLOTS_MAX)
    n_classes = reader.whole("n_classes", 1, CLASSES_MAX)
    owners = _owners(reader, n_classes)
    owner_of = {member: owner for owner, members in enumerate(owners) for member in members}
    rows = reader.rows("flows", STREAMS_MAX)
    return Problem(
        name=name,
        ring_slots=ring_slots,
        owner_classes=owners,
        streams=tuple(
            _stream(row, place, index, slot_us, ring_slots, owner_of)
            for index, row in enumerate(rows)
        ),
        reserve_slots=reader.whole("reserve_slots", 0, ring_slots, 0),
        unowned=_unowned(reader, ring_slots),
    )


FEASIBLE = "feasible"
INFEASIBLE = "proven_infeasible"
UNKNOWN = "unknown"
UNOWNED = -1
LISTED_INSTANCES_MAX = 100_000
"""Most frames in a cycle of which a witness lists every start; beyond it the witness has phases."""


@dataclass(frozen=True)
class Witness:
    """A schedule.

    Attributes:
        owners: owner of each ring slot, UNOWNED for none; length N.
        phase_slots: o of each stream.
        starts: starts of each stream modulo L in the order of its instances; None: each stream
            starts at o + l P, or at the first of its private slots from then on.
        private: the exclusive ring slots of each stream that has some; None for the other streams.
    """

    owners: tuple[int, ...]
    phase_slots: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...] | None = None
    private: tuple[tuple[int, ...] | None, ...] | None = None


@dataclass(frozen=True)
class Outcome:
    """The answer, the method that found it, and its evidence: a witness, a proof, or the best
    attempt.
    """

    answer: str
    method: str
    witness: Witness | None = None
    proof: dict[str, Any] | None = None
    best: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def _waits(ring_slots: int, private: tuple[int, ...]) -> list[int]:
    """Distance from each ring slot to the first private slot, 0 at a private slot."""
    waits = [0] * ring_slots
    following = min(private) + ring_slots
    for slot in range(ring_slots - 1, -1, -1):
        following = slot if slot in private else following
        waits[slot] = following - slot
    return waits


def listed_starts(problem: Problem, witness: Witness) -> list[list[int]]:
    """All starts of a witness, modulo L."""
    if witness.starts is not None:
        return [list(row) for row in witness.starts]
    cycle, ring = problem.cycle_slots, problem.ring_slots
    listed = []
    for stream, phase in zip(problem.streams, witness.phase_slots, strict=True):
        private = witness.private[stream.index] if witness.private is not None else None
        waits = [0] * ring if private is None else _waits(ring, private)
        releases = range(phase, phase + cycle, stream.period_slots)
        listed.append([(release + waits[release % ring]) % cycle for release in releases])
    return listed


def witness_json(problem: Problem, witness: Witness) -> dict[str, Any]:
    """The witness as in an answer file: every start if there are at most LISTED_INSTANCES_MAX, else
    phases.
    """
    lowest = [classes[0] for classes in problem.owner_classes]
    document: dict[str, Any] = {
        "cycle_slots": problem.cycle_slots,
        "owner_class_by_ring_slot": [
            lowest[owner] if owner != UNOWNED else UNOWNED for owner in witness.owners
        ],
    }
    if any(len(classes) > 1 for classes in problem.owner_classes):
        bits = [sum(1 << member for member in classes) for classes in problem.owner_classes]
        document["class_mask_by_ring_slot"] = [
            bits[owner] if owner != UNOWNED else 0 for owner in witness.owners
        ]
    if problem.instance_count <= LISTED_INSTANCES_MAX:
        document["tx_slot_by_flow"] = listed_starts(problem, witness)
    else:
        document["phase_slot_by_flow"] = list(witness.phase_slots)
        if witness.private is not None:
            rows = [None if slots is None else list(slots) for slots in witness.private]
            document["private_ring_slots_by_flow"] = rows
    return document
