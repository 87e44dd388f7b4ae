# SPDX-License-Identifier: GPL-2.0-only
"""Our drivers of cards as ordinary ones, beside the kernel's own driver of the same card, in one
run on one wire: an emulated PC (82574) and an emulated Raspberry Pi 4 (GENET), each in an emulator
of its own, so that neither end's work is the other's.

An instruction takes a nanosecond: both are fast enough for a wire of 1 Gb/s, or show by how much
they are not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from keepon.vm import GuestResult
from twin import PC_CARD, both, pc, pi

pytestmark = [pytest.mark.vm, pytest.mark.hw]

# Which driver has the card in each phase; the kernel's has the other end when one is looked at.
DRIVERS = {"pc": ("stock", "stock", "ours"), "pi": ("stock", "ours", "stock")}
SHARE = 0.95
# TCP in full frames. More than a wire carries is the model's: what e1000e has it cut into
# segments it sends without a pace.
LINE_MBPS = 1000 * 1448 / 1538
# Of frames of 60 and 1514 bytes, without FCS, at 1 Gb/s
LINE_PPS = {"short_pps": 1e9 / 8 / 84, "long_pps": 1e9 / 8 / 1538}


def reached(result: GuestResult) -> list[dict[str, float]]:
    """What each phase has reached."""
    return [
        {
            name: float(value)
            for name, value in (
                pair.split("=") for pair in result.files[f"{phase}.txt"].decode().split()
            )
        }
        for phase in range(1, len(DRIVERS["pc"]) + 1)
    ]


def test_as_good_as_the_kernels_own_driver(tmp_path: Path) -> None:
    """TCP both ways and bursts of frames at 95 % of what it reaches or more, and no echo lost."""
    said = {
        name: {
            "CARD": name, "OURS": PC_CARD, "SECONDS_TCP": "1", "FRAMES": "20000",
            "DRIVERS": " ".join(drivers),
        }
        for name, drivers in DRIVERS.items()
    }  # fmt: skip
    script = "nics_twin_beside.sh"
    more: dict[str, Any] = {"tools": ["iperf3"], "icount_shift": 0}
    results = both({
        "pc": lambda: pc(tmp_path, script, said["pc"], flavour="amd64", **more),
        "pi": lambda: pi(tmp_path, script, said["pi"], **more),
    })  # fmt: skip
    found = {name: reached(result.check()) for name, result in results.items()}
    print(found, f"{results['pi'].wall_seconds:.0f} s")
    assert all(result.tap.problems() == [] for result in results.values())
    assert [phase["lost"] for phase in found["pi"]] == [0, 0, 0]
    for name, phase in (("pi", 1), ("pc", 2)):
        for what in ("out_mbps", "in_mbps"):
            stock, ours = found["pi"][0][what], found["pi"][phase][what]
            assert ours >= SHARE * min(stock, LINE_MBPS), (name, what)
        for what, line in LINE_PPS.items():
            stock, ours = found[name][0][what], found[name][phase][what]
            assert ours >= SHARE * min(stock, line), (name, what)
