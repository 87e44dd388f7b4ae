# SPDX-License-Identifier: GPL-2.0-only
"""Our drivers of cards a person can buy, on QEMU's models of them as the distribution has them.

Those models send at once and add an FCS whatever is asked for: nothing here says how a slot leaves.
It says that the driver is a complete, ordinary one beside the kernel's own driver at the other end
of the wire, and that lending the ring does not change that. The guest's kernel is the smallest one
of Debian's that has the kernel's own drivers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_programs import phy_register
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
OURS, THEIRS = "0000:00:10.0", "0000:00:11.0"


def card(model: str, number: int, address: str) -> list[str]:
    """A card on the one wire of the guest."""
    slot = address.rpartition(":")[2]
    device = (
        f"{model},netdev=n{number},romfile=,bus=pcie.0,addr={slot},mac=52:54:00:00:00:0{number}"
    )
    return ["-netdev", f"hubport,id=n{number},hubid=0", "-device", device]


def boot(model: str, script: str, folder: Path) -> GuestResult:
    kernel = get_kernel("6.1", "rt")
    modules = build_modules(
        kernel,
        [HERE.parent / "native", HERE.parent / "nics" / "intel", HERE / "resume_probe",
         HERE / "bus_error_probe"],
    )  # fmt: skip
    return run_guest(
        kernel, HERE / script, phy_register(folder), modules=modules,
        tools=["ethtool", "iperf3"],
        environment={"OURS": OURS, "THEIRS": THEIRS, "STOCK": model},
        qemu_args=[*card(model, 1, OURS), *card(model, 2, THEIRS)], timeout_s=1200,
    )  # fmt: skip


@pytest.mark.parametrize("model", ["e1000e", pytest.param("e1000", marks=pytest.mark.full)])
def test_an_ordinary_card(model: str, tmp_path: Path) -> None:
    result = boot(model, "nics_intel.sh", tmp_path).check()
    assert result.tap.problems() == []


REGISTERS_BYTES = 128 << 10


def test_what_is_refused_leaves_the_card_as_it_was(tmp_path: Path) -> None:
    """Another device, no reach into memory, no interrupt, no PHY; rings, slots and frames of sizes
    it does not have; claimed twice: one sentence each.
    """
    kernel = get_kernel("6.1", "rt")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "intel", HERE.parent / "keepon"]
    zeros = tmp_path / "zeros"
    zeros.write_bytes(bytes(REGISTERS_BYTES))
    ours = [arg.replace("romfile=,", f"romfile={zeros},") for arg in card("e1000e", 1, OURS)]
    files = {
        **programs.guest_files(), "/lib/keepon/lent.sh": HERE / "lent_common.sh",
        "/lib/keepon/refused.sh": HERE / "refused_common.sh",
    }  # fmt: skip
    result = run_guest(
        kernel, HERE / "nics_intel_refused.sh", files,
        modules=build_modules(kernel, [*folders, HERE / "lack_probe"]), tools=["ethtool"],
        environment={"OURS": OURS, "THEIRS": THEIRS, "STOCK": "e1000e"},
        qemu_args=[*ours, *card("e1000e", 2, THEIRS)], timeout_s=600,
    ).check()  # fmt: skip
    assert result.tap.problems() == []
