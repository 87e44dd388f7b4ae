# SPDX-License-Identifier: GPL-2.0-only
"""What may happen to a card while a keepon link runs over its ring, on models with a paced wire.

Carrier lost and found, the device below set down or changed, the machine asleep, the driver
unbound, the card pulled out: the link goes on by itself or says why not, and every frame has one
verdict. That what was sent is what was on the wire, its log says.
"""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from guest_programs import phy_register
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from keepon_guests.machines import VERSAL
from test_nics_gem import board as gem_board
from test_nics_genet import board as genet_board
from test_nics_genet import emulator as pi_emulator
from test_nics_paced import addresses, cards, emulator
from wirelog import Run, counters, read_log

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
REGISTERS_BYTES = 128 << 10
BOARDS = {"gem": (gem_board, VERSAL), "genet": (genet_board, None)}
MACHINES = [("e1000e", "6.1"), ("igb", "6.1"), ("e1000e", "6.12")]
SENT = ("on_time", "moved", "best_effort", "sent_stale")


def cards_with_monitor(model: str, folder: Path) -> list[str]:
    """Two on one wire, the first with a ROM of all ones, and QEMU's monitor at the guest's third
    serial port.
    """
    monitor = folder / "monitor"
    for way in ("in", "out"):
        os.mkfifo(f"{monitor}.{way}")
    ones = folder / "ones"
    ones.write_bytes(b"\xff" * REGISTERS_BYTES)
    ours = f"id=ours,netdev=n1,romfile={ones}"
    args = cards(model, 4, folder / "wire.csv")
    return [
        *(arg.replace("netdev=n1,romfile=", ours) for arg in args),
        *("-chardev", f"pipe,id=monitor,path={monitor}", "-mon", "chardev=monitor,mode=readline"),
        *("-serial", f"file:{monitor}.in"),
    ]


def check_books(runs: list[Run], count: dict[str, int]) -> None:
    """What the link says it has sent was on the wire, and what was on the wire it has sent or does
    not know of.
    """
    real = sum(run.frames for run in runs if not run.placeholder)
    sent = sum(count[f"verdict_{name}"] for name in SENT)
    assert 0 < sent <= real <= sent + count["verdict_flushed"] + count["verdict_in_doubt"]


def boot_intel(
    model: str, family: str, script: str, folder: Path, flavour: str = "rt",
    timeout_s: float = 1800, monitor: bool = True, **more: Any,
) -> GuestResult:  # fmt: skip
    kernel = get_kernel(family, flavour)
    wire = folder / "wire.csv"
    devices = cards_with_monitor(model, folder) if monitor else cards(model, 4, wire)
    modules = build_modules(
        kernel,
        [KERNEL / "native", KERNEL / "nics" / "intel", KERNEL / "keepon", HERE / "bus_error_probe"],
    )
    ours, theirs = addresses(model)
    files = {**programs.guest_files(), "/lib/keepon/lent.sh": HERE / "lent_common.sh"}
    return run_guest(
        kernel, HERE / script, files, modules=modules,
        tools=[*programs.tools(), "ethtool", "iperf3"],
        qemu=emulator(), qemu_args=devices, timeout_s=timeout_s,
        environment={"CARD": "intel", "OURS": ours, "THEIRS": theirs, "STOCK": model}, **more,
    )  # fmt: skip


def boot_board(card: str, script: str, folder: Path) -> GuestResult:
    kernel = get_kernel("6.1", "arm64")
    modules = build_modules(kernel, [KERNEL / "native", KERNEL / "nics" / card, KERNEL / "keepon"])
    files = {
        **programs.guest_files(kernel.machine), "/lib/keepon/lent.sh": HERE / "lent_common.sh",
        **phy_register(folder, "aarch64-linux-gnu-gcc"),
    }  # fmt: skip
    board, machine = BOARDS[card]
    return run_guest(
        kernel, HERE / script, files, modules=modules, tools=programs.tools(kernel.machine),
        qemu=pi_emulator(), qemu_args=board(folder / "wire.csv", prefetch=4), timeout_s=1800,
        environment={"CARD": card}, machine=machine,
    )  # fmt: skip


@pytest.mark.hw
@pytest.mark.parametrize(("model", "family"), MACHINES)
def test_a_lent_intel_controller(model: str, family: str, tmp_path: Path) -> None:
    result = boot_intel(model, family, "lent_intel.sh", tmp_path).check()
    assert result.tap.problems() == []
    check_books(read_log(tmp_path / "wire.csv"), counters(result))


@pytest.mark.hw
@pytest.mark.parametrize(("model", "family"), MACHINES)
def test_a_shared_intel_controller(model: str, family: str, tmp_path: Path) -> None:
    result = boot_intel(model, family, "lent_card.sh", tmp_path, monitor=False).check()
    print(result.stdout)
    assert result.tap.problems() == []


@pytest.mark.hw
@pytest.mark.parametrize("card", BOARDS)
def test_a_shared_board(card: str, tmp_path: Path) -> None:
    result = boot_board(card, "lent_card.sh", tmp_path).check()
    print(result.stdout)
    assert result.tap.problems() == []


@pytest.mark.hw
@pytest.mark.parametrize(("model", "family"), MACHINES)
def test_an_intel_controller_that_goes(model: str, family: str, tmp_path: Path) -> None:
    result = boot_intel(model, family, "lent_intel_gone.sh", tmp_path).check()
    assert result.tap.problems() == []


@pytest.mark.hw
def test_a_lent_genet(tmp_path: Path) -> None:
    result = boot_board("genet", "lent_genet.sh", tmp_path).check()
    assert result.tap.problems() == []
    # until the first frame of the ordinary card, whose FCS is the controller's
    runs = list(takewhile(lambda run: run.own_fcs, read_log(tmp_path / "wire.csv")))
    check_books(runs, counters(result))


# ---- where every access, lock and context is watched; keepon_guests fails a run for every report

# A checked instruction stands for some; they are given as much more virtual time. Debugging of DMA
# takes a sleeping lock wherever a buffer is handed over, and so in the interrupt that polls a lent
# ring: it watches the card that is not lent (test_nics.py).
WATCHED = {
    "flavour": "debug", "append": "dma_debug=off", "icount_shift": 0, "memory_mb": 1024,
    "virtual_limit_s": 10_000, "timeout_s": 3600,
}  # fmt: skip


@pytest.mark.hw
@pytest.mark.parametrize("script", ["lent_intel.sh", "lent_intel_gone.sh"])
def test_a_lent_intel_controller_watched(script: str, tmp_path: Path) -> None:
    result = boot_intel("e1000e", "6.1", script, tmp_path, **WATCHED)
    print(f"{script}: {result.wall_seconds:.0f} s\n{result.stdout}")
    assert result.check().tap.problems() == []


# ---- bound and unbound, up and down, again and again

BINDS = 200
ROUNDS_COUNTED = BINDS - BINDS // 5  # after some to warm up
NOISE_OBJECTS = 140  # as in nics_cycles.sh


@pytest.mark.hw
def test_an_intel_controller_again_and_again(tmp_path: Path) -> None:
    kernel = get_kernel("6.1", "rt")
    result = run_guest(
        kernel, HERE / "nics_cycles.sh", {"/lib/keepon/soak.sh": HERE / "soak_common.sh"},
        modules=build_modules(
            kernel, [KERNEL / "native", KERNEL / "nics" / "intel", KERNEL / "keepon"]
        ),
        environment={
            "BUS": "pci", "DEVICE": addresses("e1000e")[0], "DRIVER": "keepon_intel",
            "MODULES": "keepon_intel", "BINDS": str(BINDS), "UPS": "1000", "LEAK": "",
        },
        qemu=emulator(), qemu_args=cards("e1000e", 4, tmp_path / "wire.csv"), timeout_s=3600,
        virtual_limit_s=10_000,
    ).check()  # fmt: skip
    print(f"{result.wall_seconds:.0f} s, {result.virtual_seconds} s in the guest\n{result.stdout}")
    assert result.tap.problems() == []


def genet_again_and_again(driver: str, modules: str, folder: Path) -> GuestResult:
    """The same on an emulated Pi, whichever driver has its controller; 1000 times up and down."""
    kernel = get_kernel("6.1", "arm64")
    return run_guest(
        kernel, HERE / "nics_cycles.sh",
        {**programs.guest_files(kernel.machine), "/lib/keepon/soak.sh": HERE / "soak_common.sh"},
        modules=build_modules(
            kernel, [KERNEL / "native", KERNEL / "nics" / "genet", KERNEL / "keepon"]
        ),
        environment={
            "BUS": "platform", "DEVICE": "fd580000.ethernet", "DRIVER": driver, "MODULES": modules,
            "BINDS": str(BINDS), "UPS": "1000", "LEAK": "judged by the host",
        },
        qemu=pi_emulator(), qemu_args=genet_board(folder / "wire.csv", prefetch=4), timeout_s=3600,
        virtual_limit_s=10_000,
    ).check()  # fmt: skip


def left_by_a_round(result: GuestResult) -> dict[str, float]:
    """Slab cache -> objects that binding and unbinding once leaves in it."""
    rows = (line.split() for line in result.files["bound.txt"].decode().splitlines())
    return {cache: float(objects) for cache, objects, _ in rows}


@pytest.mark.hw
def test_a_genet_again_and_again(tmp_path: Path) -> None:
    """Binding the PHY's bus leaves objects of the kernel's own behind: no more of any kind with our
    driver than with the kernel's.
    """
    drivers = {"bcmgenet": "mdio_bcm_unimac genet", "keepon_genet": "keepon_genet"}
    left: dict[str, dict[str, float]] = {}
    for driver, modules in drivers.items():
        result = genet_again_and_again(driver, modules, tmp_path)
        assert result.tap.problems() == []
        left[driver] = left_by_a_round(result)
        print(f"{driver}: {result.wall_seconds:.0f} s, objects a round: {left[driver]}")
    noise = NOISE_OBJECTS / ROUNDS_COUNTED
    grown = {
        cache: (objects, left["bcmgenet"].get(cache, 0))
        for cache, objects in left["keepon_genet"].items()
        if objects >= left["bcmgenet"].get(cache, 0) + noise
    }
    assert grown == {}
