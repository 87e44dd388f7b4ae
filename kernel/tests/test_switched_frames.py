# SPDX-License-Identifier: GPL-2.0-only
"""Three ways of software switching between virtual NICs, idle and beside a process that never
sleeps and an interrupt every 100 us: every frame arrives once and in order, and what a frame takes
has an order. Times of an emulated CPU count instructions: no jitter is measured.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from guest_programs import compiled
from keepon_guests import FAMILIES, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
FIRST_NS = 1_767_225_600_000_000_000 + 12_000_000_000  # 12 s after the guest's clock begins
APART_NS = 2_000_000_000
GAP_NS = 2_000_000
FRAMES = 100
WAYS = ("bridge", "xdp", "af-xdp")


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_every_frame_arrives_once_and_in_order(family: str, tmp_path: Path) -> None:
    cases = [(way, state) for state in ("idle", "load") for way in WAYS]
    lines = "".join(
        f"{way} {state} {FIRST_NS + n * APART_NS} {GAP_NS} {FRAMES} 500\n"
        for n, (way, state) in enumerate(cases)
    )
    programs = ("policed_frames", "software_switch")
    result = checked(
        lambda: run_guest(
            get_kernel(family),
            HERE / "switched_frames.sh",
            {
                **{f"/usr/bin/{name}": compiled(tmp_path, name) for name in programs},
                "/lib/keepon/frames": lines.encode(),
            },
        )
    )
    assert result.tap.problems() == [], result.stdout
    took_ns = {}
    for way, state in cases:
        *words, _ = result.files[f"{way}-{state}"].split()
        numbers, ns = zip(*(map(int, word.split(b":")) for word in words), strict=True)
        assert numbers == tuple(range(FRAMES)), (way, state)
        took_ns[way, state] = statistics.median(ns)
    assert took_ns["xdp", "idle"] < took_ns["bridge", "idle"] < took_ns["af-xdp", "idle"]
