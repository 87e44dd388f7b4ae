# SPDX-License-Identifier: GPL-2.0-only
"""The judge of gates itself: clocks as read, and frames on a grid that is known."""

from __future__ import annotations

from random import Random

import pytest
from gate_judge import read_wire

BYTE_NS = 80
SLOT_NS = 100_000
RATE_PPB = 20_000  # by which the wire's clock is behind
FRAMES = 9_000
PHC_NS = 1_767_225_600_000_000_000


def raw_ns(phc_ns: int) -> int:
    return phc_ns - phc_ns * RATE_PPB // 10**9


def record_of(number: int) -> str:
    start_ns = raw_ns(number * SLOT_NS) + 8 * BYTE_NS
    head = "02" * 12 + "88b5" + "0100"
    return f"frame seq={number} raw_ns={start_ns} sim0 bytes=1226 fcs verdict=good head={head}\n"


def sample_of(at_ns: int, off_ns: int, width_ns: int) -> str:
    return f"sample {raw_ns(at_ns) + off_ns} {PHC_NS + at_ns} {width_ns}\n"


@pytest.mark.parametrize("interrupted", [set(), {40}, {1}, {3, 30, 44}, {41, 42, 43, 44}])
def test_a_reading_that_was_interrupted_moves_no_frame(interrupted: set[int]) -> None:
    """One sample of 46 that takes 32 us instead of 1.7 made the rate wrong by 1.5 us a second."""
    random = Random(1)
    load = "".join(
        sample_of(n * 20_000_000, 15_000, 32_000)
        if n in interrupted
        else sample_of(n * 20_000_000, random.randrange(-700, 700), 1_700)
        for n in range(46)
    )
    wire = read_wire("".join(map(record_of, range(FRAMES))), load, BYTE_NS)
    half = SLOT_NS // 2
    assert len(wire.frames) == FRAMES
    assert wire.width_ns == 1_700
    offs = [(frame.start_ns - PHC_NS + half) % SLOT_NS - half for frame in wire.frames]
    assert max(map(abs, offs)) < 800


def test_readings_most_of_which_were_interrupted_are_none() -> None:
    load = "".join(
        sample_of(n * 20_000_000, 15_000 * (n % 3 > 0), 32_000 if n % 3 else 1_700)
        for n in range(46)
    )
    with pytest.raises(AssertionError, match="most readings were interrupted"):
        read_wire("".join(map(record_of, range(FRAMES))), load, BYTE_NS)
