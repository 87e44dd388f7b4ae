# SPDX-License-Identifier: BSD-3-Clause
"""Possible slot sizes of a station, and partition periods for a slot size (KeepON paper section
A.10).

The smallest size comes first. A schedule with slot time s' is also a schedule for every shorter
slot time s that divides the periods: round each start down to a multiple of s; starts that were s'
apart stay different, and with a partition as long as all periods together nothing else matters. So
a larger slot is worth trying only where that partition is too long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from keepon.model.wire import FRAME_BYTES_MAX, FRAME_BYTES_MIN, OVERHEAD_BYTES, byte_time_ps

PARTITION_SLOTS_MAX = 65_536


def candidates(
    common_ps: int, least_bytes: int, rate_bps: int, longest_bytes: int = FRAME_BYTES_MAX
) -> list[int]:
    """Slot sizes, shortest first, that hold a frame and whose slot time divides the periods (G9,
    G12).

    Frames are not fragmented, so a slot shorter than the longest frame is of no use (the paper
    would go on, G10).

    Args:
        common_ps: greatest common divisor of the station's periods; 0: there are no periods, and
            every size fits.
        least_bytes: longest frame with FCS, plus the longest downward trim.
        longest_bytes: longest slot, before trims.

    >>> candidates(1_000_000_000, 208, 1_000_000_000)
    [230, 480, 605, 980, 1230]
    """
    byte_ps = byte_time_ps(rate_bps)
    sizes = range(max(least_bytes, FRAME_BYTES_MIN), longest_bytes + 1)
    if not common_ps:
        return list(sizes)
    return [size for size in sizes if common_ps % ((size + OVERHEAD_BYTES) * byte_ps) == 0]


def payload_efficiency(frame_bytes: int, slot_bytes: int) -> Fraction:
    """Share of a slot that a frame fills (section A.10; G4).

    >>> payload_efficiency(200, 200)
    Fraction(1, 1)
    """
    return Fraction(frame_bytes, slot_bytes)


def lost_share(periods_slots: Iterable[int], partition_slots: int) -> Fraction:
    """Share of the wire that streams own but do not use, if no stream shares its slots with
    another.

    A stream owns one of gcd(period, partition) residues permanently and sends in one of `period`
    slots.
    """
    return sum(
        (
            Fraction(1, math.gcd(period, partition_slots)) - Fraction(1, period)
            for period in periods_slots
        ),
        Fraction(0),
    )


def _prime_powers(number: int) -> dict[int, int]:
    powers: dict[int, int] = {}
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            powers[prime] = powers.get(prime, 0) + 1
            number //= prime
        prime += 1
    if number > 1:
        powers[number] = powers.get(number, 0) + 1
    return powers


def _divisors(powers: dict[int, int], most: int) -> list[int]:
    found = [1]
    for prime, count in powers.items():
        steps = [prime**exponent for exponent in range(count + 1) if prime**exponent <= most]
        found = [number * step for number in found for step in steps if number * step <= most]
    return found


def partition_periods(periods_slots: Sequence[int], most: int = PARTITION_SLOTS_MAX) -> list[int]:
    """Partition periods worth trying, the least wasteful first, of equal ones the shorter first.

    Only divisors of the periods' least common multiple: no period shares any other factor of a
    partition's length. The least common multiple itself wastes nothing.

    >>> partition_periods([500, 500, 1000])[0]
    1000
    """
    if not periods_slots:
        return [1]
    hyper = math.lcm(*periods_slots)
    if hyper <= most:
        return [hyper]
    powers: dict[int, int] = {}
    distinct = set(periods_slots)
    for period in distinct:
        for prime, count in _prime_powers(period).items():
            powers[prime] = max(powers.get(prime, 0), count)
    counts = {period: periods_slots.count(period) for period in distinct}
    kinds = [period for period in distinct for _ in range(min(counts[period], 64))]
    return sorted(_divisors(powers, most), key=lambda slots: (lost_share(kinds, slots), slots))
