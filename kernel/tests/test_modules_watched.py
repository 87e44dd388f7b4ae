# SPDX-License-Identifier: GPL-2.0-only
"""keepon_generic, keepon_hwcheck and keepon_intel, not lent, on the kernel that watches every
access, lock and context.

keepon_guests fails a run for every report and leak. keepon_intel's lent ring is in
test_nics_lent.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from guest_programs import phy_register
from guest_python import PYTHON, python_files
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from test_hwcheck_guests import TRIED
from test_nics import OURS, THEIRS, card

pytestmark = [pytest.mark.vm, pytest.mark.soak]

HERE = Path(__file__).parent
KERNEL = HERE.parent
SIMULATED = [KERNEL / name for name in ("native", "hwsim", "keepon", "generic", "hwcheck")]


def watched(
    script: str, folders: list[Path], files: dict[str, Path | bytes], **more: Any
) -> GuestResult:
    """A checked instruction stands for some: they are given as much more virtual time."""
    kernel = get_kernel("6.1", "debug")
    common = {"/lib/keepon/common.sh": HERE / "keepon_common.sh"}
    result = run_guest(
        kernel, HERE / script, {**common, **programs.guest_files(), **files},
        modules=build_modules(kernel, folders), icount_shift=0, memory_mb=1024, timeout_s=3600,
        virtual_limit_s=10_000, **more,
    ).check()  # fmt: skip
    print(f"{script}: {result.wall_seconds:.0f} s\n{result.stdout}")
    assert result.tap.problems() == []
    return result


def test_a_link_over_any_driver() -> None:
    """Handing a frame over takes longer than a slot of 100 us here: the wire would stand."""
    watched(
        "generic_life.sh", SIMULATED, {}, tools=["ethtool"], environment={"RATE_BPS": "10000000"}
    )


def test_a_card_is_measured(tmp_path: Path) -> None:
    result = watched(
        "hwcheck_watched.sh", SIMULATED, python_files(TRIED, tmp_path), tools=[PYTHON, "ethtool"],
        environment={"PYTHON": PYTHON.name},
    )  # fmt: skip
    assert {"native.json", "generic.json"} <= set(result.files)


def test_an_ordinary_card(tmp_path: Path) -> None:
    """With the debugger of DMA, which a lent ring is run without."""
    folders = [
        *(KERNEL / "native", KERNEL / "nics" / "intel"),
        *(HERE / "resume_probe", HERE / "bus_error_probe"),
    ]
    watched(
        "nics_intel.sh", folders, phy_register(tmp_path), tools=["ethtool", "iperf3"],
        environment={"OURS": OURS, "THEIRS": THEIRS, "STOCK": "e1000e"},
        qemu_args=[*card("e1000e", 1, OURS), *card("e1000e", 2, THEIRS)],
    )  # fmt: skip
