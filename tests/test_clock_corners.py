# SPDX-License-Identifier: BSD-3-Clause
"""The clock law at every corner of what it takes, against exact fractions: nothing overflows in ten
years at any speed.

Built with UBSan, which ends the program at the first signed overflow or shift out of range; what
unsigned arithmetic would lose shows in the result.
"""

from __future__ import annotations

import itertools
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from core_model.build import build_program

ROOT = Path(__file__).parent.parent
RATES_BPS = (
    10_000_000, 100_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    25_000_000_000,
    40_000_000_000, 50_000_000_000, 100_000_000_000,
)  # fmt: skip
SLOTS_BYTES = (64 + 20, 1522 + 20)
TEN_YEARS_PS = 315_576_000 * 10**12
SPAN_MAX_PS = 1 << 62  # 53 days: as far as a position may be from the anchor
SCALED_PPM_MAX = 10_000 * 65_536
ADJUSTMENTS = (-SCALED_PPM_MAX, -1, 0, 1, SCALED_PPM_MAX)
ANCHORS_PS = (0, (1 << 63) - 1, (1 << 64) - 1)
TIME_MAX_NS = 1 << 62
STARTS_NS = (0, 1_700_000_000_000_000_000, TIME_MAX_NS - TEN_YEARS_PS * 102 // 100 // 1000)

Corner = tuple[int, int, int, int, int]


@pytest.fixture(
    scope="module",
    params=[[], ["-U__SIZEOF_INT128__"]],
    ids=["128-bit products", "64-bit products"],
)
def law(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that asks the law, with undefined behaviour trapped; on 32 bits it multiplies by
    halves.
    """
    sources = [ROOT / "tests" / "clock_corners.c", ROOT / "core" / "src" / "clock.c"]
    flags = ["-fsanitize=undefined", "-fno-sanitize-recover=all", *request.param]
    return build_program(sources, tmp_path_factory.mktemp("clock"), "clock_corners", flags)


def compare(law: Path, corners: list[Corner]) -> None:
    """Every answer is within what rounding explains, and its time leads back to its position."""
    text = "\n".join(" ".join(map(str, corner)) for corner in corners)
    found = subprocess.run([law], input=text, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr[-400:]
    answers = found.stdout.splitlines()
    assert len(answers) == len(corners)
    for corner, answer in zip(corners, answers, strict=True):
        anchor_ps, start_ns, scaled_ppm, span_ps, steps = corner
        ns, frac, position_ps = map(int, answer.split())
        elapsed_ps = span_ps * steps
        exact = start_ns + Fraction(elapsed_ps, 1000) * (1 + Fraction(scaled_ppm, 65_536 * 10**6))
        # The multiplier is rounded to 2^-72 ns for each ps, the adjustment to 2^-55; each anchor to
        # 2^-32 ns.
        room = Fraction(elapsed_ps, 1 << 64) + Fraction(steps + 1, 1 << 32)
        assert abs(ns + Fraction(frac, 1 << 32) - exact) <= room, corner
        assert 0 <= ns <= TIME_MAX_NS, corner
        assert position_ps == (anchor_ps + elapsed_ps) % (1 << 64), corner


def test_single_spans_are_exact_at_all_corners(law: Path) -> None:
    slots_ps = [bytes_ * 8 * 10**12 // rate_bps for rate_bps in RATES_BPS for bytes_ in SLOTS_BYTES]
    largest = [SPAN_MAX_PS // slot_ps * slot_ps for slot_ps in slots_ps]
    spans_ps = sorted(
        {0, 1, *slots_ps, *(4096 * slot_ps for slot_ps in slots_ps), *largest, SPAN_MAX_PS - 1}
    )
    corners = list(itertools.product(ANCHORS_PS, STARTS_NS, ADJUSTMENTS, spans_ps, (1,)))
    assert len(corners) > 2000
    compare(law, corners)


def test_ten_years_of_slots_at_every_speed(law: Path) -> None:
    spans_ps = []
    for rate_bps, slot_bytes in itertools.product(RATES_BPS, SLOTS_BYTES):
        slot_ps = slot_bytes * 8 * 10**12 // rate_bps
        spans_ps.append(
            (SPAN_MAX_PS - 1) // slot_ps * slot_ps
        )  # the clock is anchored again as late as it may
    corners = [
        (anchor_ps, start_ns, scaled_ppm, span_ps, -(-TEN_YEARS_PS // span_ps))
        for anchor_ps, start_ns, scaled_ppm, span_ps in itertools.product(
            ANCHORS_PS, STARTS_NS, ADJUSTMENTS, spans_ps
        )
    ]
    compare(law, corners)
