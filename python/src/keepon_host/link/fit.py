# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link fit`: with which slots a gate list can be carried out, and what is lost by that.

A class may use a slot if its gate is open from beginning to end. Slot k begins at k slot times of
the PHC, so relative to the cycle slots begin at all multiples of the greatest common divisor of
cycle and slot time, shifted by the base time; after as many slots as these are, both begin together
again. That is the partition. Times are whole picoseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from keepon_host.errors import ConfigError, one_line
from keepon_host.link import gatelist
from keepon_host.link.gatelist import GateList
from keepon_host.link.options import PARTITION_SLOTS_MAX
from keepon_host.link.slots import CLASS_COUNT

SLOT_BYTES_MIN, SLOT_BYTES_MAX = 65, 1521  # a byte may be taken off or added, as trims have to
EXTENSION_SLOTS_MAX = 16_384  # kernel/keepon/taprio.h
ENTRY_BYTES_MIN = 60  # Linux's taprio takes no entry shorter than such a frame
OVERHEAD_BYTES = 20  # preamble and gap (IEEE 802.3)
PS_PER_NS = 1000
RATES_BPS = {
    "10M": 10**7, "100M": 10**8, "1G": 10**9, "2.5G": 2_500_000_000, "5G": 5 * 10**9,
    "10G": 10**10, "25G": 25 * 10**9, "40G": 40 * 10**9,
}  # fmt: skip
SHOWN = 8


class Window(NamedTuple):
    """A gate is open for `length_ps` from `start_ps` of the cycle on; a cycle long: always."""

    start_ps: int
    length_ps: int


class Share(NamedTuple):
    """What slots leave of a class.

    `slots` of a partition; `lost` share of its open time; `late_ns`: from the opening of a gate to
    the first slot that begins then, at most.
    """

    slots: int
    lost: float
    late_ns: float


class Fit(NamedTuple):
    """Slots of `slot_bytes`; shares by class, of classes whose gates open at all; whether they are
    long enough for the list's extension.
    """

    slot_bytes: int
    slot_ns: float
    partition_slots: int
    classes: dict[int, Share]
    extended: bool = True

    @property
    def serves(self) -> bool:
        return (
            self.partition_slots <= PARTITION_SLOTS_MAX
            and self.extended
            and all(share.slots for share in self.classes.values())
        )

    @property
    def lost(self) -> float:
        """Of the class that loses most."""
        return max((share.lost for share in self.classes.values()), default=0.0)


def windows(gates: GateList, tc: int) -> list[Window]:
    """When the gate of a class is open, each as one piece, also over the end of a cycle."""
    found: list[Window] = []
    at_ps = 0
    for mask, ns in gates.entries:
        if mask >> tc & 1:
            if found and found[-1].start_ps + found[-1].length_ps == at_ps:
                found[-1] = Window(found[-1].start_ps, found[-1].length_ps + ns * PS_PER_NS)
            else:
                found.append(Window(at_ps, ns * PS_PER_NS))
        at_ps += ns * PS_PER_NS
    if len(found) > 1 and found[0].start_ps == 0 and sum(found[-1]) == at_ps:
        last = found.pop()
        found[0] = Window(last.start_ps, last.length_ps + found[0].length_ps)
    return found


def share(gates: GateList, slot_ps: int, opened: list[Window]) -> Share:
    """What a class has of its windows."""
    cycle_ps = gates.cycle_ns * PS_PER_NS
    step_ps = math.gcd(cycle_ps, slot_ps)
    first_ps = -gates.base_ns * PS_PER_NS % step_ps
    if opened[0].length_ps == cycle_ps:
        return Share(cycle_ps // step_ps, 0.0, 0.0)
    slots = late_ps = 0
    for start_ps, length_ps in opened:
        last_ps = start_ps + length_ps - slot_ps
        if last_ps >= start_ps:
            slots += (last_ps - first_ps) // step_ps + (first_ps - start_ps) // step_ps + 1
        nearest_ps = (first_ps - start_ps) % step_ps
        late_ps = max(late_ps, nearest_ps + (slot_ps - 1 - nearest_ps) // step_ps * step_ps)
    # A partition lasts slot_ps / step_ps cycles.
    open_ps = sum(window.length_ps for window in opened) * (slot_ps // step_ps)
    return Share(slots, 1 - slots * slot_ps / open_ps, late_ps / PS_PER_NS)


def fit(gates: GateList, slot_bytes: int, rate_bps: int) -> Fit:
    """One length of slots."""
    slot_ps = (slot_bytes + OVERHEAD_BYTES) * 8 * 10**12 // rate_bps
    cycle_ps = gates.cycle_ns * PS_PER_NS
    opened = {tc: windows(gates, tc) for tc in range(CLASS_COUNT)}
    shares = {tc: share(gates, slot_ps, found) for tc, found in opened.items() if found}
    partition_slots = cycle_ps // math.gcd(cycle_ps, slot_ps)
    extended = gates.extension_ns <= EXTENSION_SLOTS_MAX * slot_ps // PS_PER_NS
    return Fit(slot_bytes, slot_ps / PS_PER_NS, partition_slots, shares, extended)


def best(fits: list[Fit]) -> list[Fit]:
    """Those that serve: the least lost first, and of equal ones the longest slots."""
    serving = (one for one in fits if one.serves)
    return sorted(serving, key=lambda one: (round(one.lost, 9), -one.slot_bytes))


def nearest(fits: list[Fit], slot_bytes: int) -> int | None:
    """The length that serves nearest to another one, as the kernel names it."""
    serving = [one.slot_bytes for one in fits if one.serves]
    return min(serving, key=lambda bytes_: (abs(bytes_ - slot_bytes), bytes_), default=None)


def run(path: Path, rate: str, slot_bytes: int | None, as_json: bool) -> str:
    """The text of `keepon link fit`.

    Raises:
        ConfigError: the file or an option is wrong, or no slots serve.
    """
    if rate not in RATES_BPS:
        raise ConfigError(
            f'option --rate = "{one_line(rate)}": must be one of {", ".join(RATES_BPS)}'
        )
    if slot_bytes is not None and not SLOT_BYTES_MIN <= slot_bytes <= SLOT_BYTES_MAX:
        raise ConfigError(
            f"option --slot-bytes = {slot_bytes}: must be between {SLOT_BYTES_MIN} and"
            f" {SLOT_BYTES_MAX}; choose one in this range"
        )
    gates = gatelist.read(path)
    least_ns = ENTRY_BYTES_MIN * 8 * 10**9 // RATES_BPS[rate]
    if gates.shortest_ns < least_ns:
        raise ConfigError(
            f"{path}: an entry of {gates.shortest_ns} ns: must be at least {least_ns} ns at {rate},"
            f" as Linux takes none shorter than {ENTRY_BYTES_MIN} bytes; lengthen it"
        )
    fits = [
        fit(gates, length, RATES_BPS[rate]) for length in range(SLOT_BYTES_MIN, SLOT_BYTES_MAX + 1)
    ]
    ranked = best(fits)
    if slot_bytes is not None:
        chosen = fits[slot_bytes - SLOT_BYTES_MIN]
        if not chosen.serves:
            raise ConfigError(_refusal(path, gates, chosen, nearest(fits, slot_bytes)))
        ranked = [chosen]
    if not ranked and not fits[-1].extended:
        raise ConfigError(
            f"{path}: cycle-time-extension {gates.extension_ns}: must be at most"
            f" {EXTENSION_SLOTS_MAX} slots, {EXTENSION_SLOTS_MAX * fits[-1].slot_ns:.0f} ns with"
            " the longest ones; shorten it"
        )
    if not ranked:
        raise ConfigError(
            f"{path}: no slots of {SLOT_BYTES_MIN} to {SLOT_BYTES_MAX} bytes at {rate} hold every"
            " class's windows; lengthen windows, or choose a cycle that is a multiple of some slot"
        )
    if as_json:
        return json.dumps(_document(gates, rate, ranked), indent=1)
    return "\n".join(_lines(gates, rate, ranked, len(fits)))


def _refusal(path: Path, gates: GateList, chosen: Fit, near: int | None) -> str:
    remedy = f"; the nearest that serves is {near}" if near else "; none serves"
    if chosen.partition_slots > PARTITION_SLOTS_MAX:
        why = (
            f"slots of {chosen.slot_ns:.15g} ns and the cycle of {gates.cycle_ns} ns begin together"
            f" after {chosen.partition_slots} slots only, more than {PARTITION_SLOTS_MAX}"
        )
    elif not chosen.extended:
        why = (
            f"cycle-time-extension {gates.extension_ns} ns is longer than {EXTENSION_SLOTS_MAX}"
            f" slots of {chosen.slot_ns:.15g} ns"
        )
    else:
        lacking = [tc for tc, one in chosen.classes.items() if not one.slots]
        why = f"no window of class {lacking[0]} holds a whole slot of {chosen.slot_ns:.15g} ns"
    return f"{path}: option --slot-bytes = {chosen.slot_bytes}: {why}{remedy}"


def _document(gates: GateList, rate: str, ranked: list[Fit]) -> dict[str, object]:
    return {
        "base_ns": gates.base_ns,
        "cycle_ns": gates.cycle_ns,
        "rate_bps": RATES_BPS[rate],
        "fits": [
            {
                "slot_bytes": one.slot_bytes,
                "slot_ns": one.slot_ns,
                "partition_slots": one.partition_slots,
                "classes": [
                    {"class": tc, "slots": own.slots, "lost": own.lost, "late_ns": own.late_ns}
                    for tc, own in one.classes.items()
                ],
            }
            for one in ranked
        ],
    }


def _lines(gates: GateList, rate: str, ranked: list[Fit], tried: int) -> Iterator[str]:
    yield f"{len(gates.entries)} entries, a cycle of {gates.cycle_ns} ns, at {rate}"
    if len(ranked) > 1:
        yield f"{len(ranked)} of {tried} slot lengths serve; those that lose least:"
    yield ""
    yield "slot_bytes   slot ns  partition  most lost"
    for one in ranked[:SHOWN]:
        yield (f"{one.slot_bytes:10}  {one.slot_ns:8g}  {one.partition_slots:9}  {one.lost:9.2%}")
    first = ranked[0]
    yield ""
    yield f"with slots of {first.slot_bytes} bytes"
    yield "class   slots   open time lost   first slot after its gate opens"
    for tc, own in first.classes.items():
        yield f"{tc:5}  {own.slots:6}   {own.lost:14.2%}   {own.late_ns:12g} ns at most"
    yield ""
    yield f"ip link set LINK type keepon slot_bytes {first.slot_bytes}"
