# SPDX-License-Identifier: GPL-2.0-only
"""Our drivers of cards as ordinary ones, beside the kernel's own driver of the same card, in one
run on one wire: an emulated PC (82574, 82576) and an emulated Raspberry Pi 4 (GENET), each in an
emulator of its own, so that neither end's work is the other's.

An instruction takes a nanosecond: both are fast enough for a wire of 1 Gb/s, or show by how much
they are not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from keepon_guests import GuestResult
from test_nics_paced import addresses
from twin import both, pc, pi

pytestmark = [pytest.mark.vm, pytest.mark.hw]

# Model of the PC's card -> which driver each card has in each phase; the kernel's has the other end
# when one is looked at. GENET's need be looked at once.
DRIVERS = {
    "e1000e": {"pc": ("stock", "stock", "ours"), "pi": ("stock", "ours", "stock")},
    "igb": {"pc": ("stock", "ours"), "pi": ("stock", "stock")},
}
SHARE = 0.95
# TCP in full frames. More than a wire carries is the model's: what e1000e has it cut into
# segments it sends without a pace.
LINE_MBPS = 1000 * 1448 / 1538
# Of frames of 60 and 1514 bytes, without FCS, at 1 Gb/s
LINE_PPS = {"short_pps": 1e9 / 8 / 84, "long_pps": 1e9 / 8 / 1538}


def reached(result: GuestResult, phases: int) -> list[dict[str, float]]:
    """What was reached in each phase."""
    return [
        {
            name: float(value)
            for name, value in (
                pair.split("=") for pair in result.files[f"{phase}.txt"].decode().split()
            )
        }
        for phase in range(1, phases + 1)
    ]


@pytest.mark.parametrize("model", DRIVERS)
def test_as_good_as_the_kernels_own_driver(model: str, tmp_path: Path) -> None:
    """TCP both ways and bursts of frames at 95 % of what it reaches or more, and no echo lost."""
    drivers = DRIVERS[model]
    phases = len(drivers["pc"])
    said = {
        name: {
            "CARD": name, "STOCK": model, "OURS": addresses(model)[0], "SECONDS_TCP": "1",
            "FRAMES": "20000", "DRIVERS": " ".join(each),
        }
        for name, each in drivers.items()
    }  # fmt: skip
    script = "nics_twin_compared.sh"
    more: dict[str, Any] = {"tools": ["iperf3"], "icount_shift": 0}
    results = both({
        "pc": pc(tmp_path, script, said["pc"], flavour="amd64", model=model, **more),
        "pi": pi(tmp_path, script, said["pi"], **more),
    })  # fmt: skip
    found = {name: reached(result.check(), phases) for name, result in results.items()}
    print(found, f"{results['pi'].wall_seconds:.0f} s")
    assert all(result.tap.problems() == [] for result in results.values())
    assert [phase["lost"] for phase in found["pi"]] == [0] * phases
    for name in [name for name, each in drivers.items() if "ours" in each]:
        phase = drivers[name].index("ours")
        for what in ("out_mbps", "in_mbps"):
            stock, ours = found["pi"][0][what], found["pi"][phase][what]
            assert ours >= SHARE * min(stock, LINE_MBPS), (name, what)
        for what, line in LINE_PPS.items():
            stock, ours = found[name][0][what], found[name][phase][what]
            assert ours >= SHARE * min(stock, line), (name, what)
