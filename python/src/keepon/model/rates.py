# SPDX-License-Identifier: BSD-3-Clause
"""Rates whose period is no whole number of byte times: after so many frames they repeat with
one.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

from keepon.model.tables import SECOND_NS

PATTERN = r"[0-9]{1,9}(\.[0-9]{1,6}|/[0-9]{1,9})?"
FRAMES_MAX = 128
_GRID_NS = 80
"""A byte of 100 Mb/s, a multiple of those of faster links: slots fit such a time."""
_BYTE_NS = 8
"""A byte of 1 Gb/s."""


def rate(value: object) -> Fraction | None:
    """Frames a second; None if it is no rate.

    >>> rate("60000/1001"), rate("59.94")
    (Fraction(60000, 1001), Fraction(2997, 50))
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, str) and not re.fullmatch(PATTERN, value):
        return None
    try:
        return Fraction(value) or None
    except ZeroDivisionError:
        return None


@cache
def cycle(per_s: Fraction) -> tuple[int, int]:
    """Frames after which a rate repeats in whole ns, and these ns.

    >>> cycle(Fraction(4800)), cycle(Fraction(60000, 1001)), cycle(Fraction(4000))
    ((6, 1250000), (3, 50050000), (1, 250000))
    >>> cycle(Fraction(12800))
    (16, 1250000)
    """
    period_ns = SECOND_NS / per_s
    if period_ns % _BYTE_NS == 0:
        return 1, int(period_ns)
    frames = (period_ns / _GRID_NS).denominator
    return frames, int(frames * period_ns)


def too_long(per_s: Fraction) -> str | None:
    """What is wrong with a rate that repeats too late; None: it does not."""
    frames, _ = cycle(per_s)
    if frames <= FRAMES_MAX:
        return None
    picture = Fraction(1000 * round(per_s * 1001 / 1000), 1001)
    nearest_ns = round(SECOND_NS / per_s / _GRID_NS) * _GRID_NS
    remedy = f"state period_ns = {nearest_ns}, which is near"
    if abs(picture - per_s) < Fraction(1, 1000) < per_s < 240:
        remedy = f'write "{picture}" if that is meant'
    allowed = f"must do so after at most {FRAMES_MAX}"
    return f"repeats in whole ns after {frames} frames: {allowed}; {remedy}"


def near(period_ns: int) -> str | None:
    """The usual rate that a period in whole ns is meant for; None if there is none.

    >>> near(208_333), near(16_683_333), near(250_000)
    ('4800', '"60000/1001"', None)
    """
    for step, written in ((Fraction(1), "{}"), (Fraction(1000, 1001), '"{}000/1001"')):
        number = round(SECOND_NS / (period_ns * step))
        off_ns = abs(period_ns * number * step - SECOND_NS)
        if 0 < off_ns < number * step and cycle(number * step)[0] <= FRAMES_MAX:
            return written.format(number)
    return None
