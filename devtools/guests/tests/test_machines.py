# SPDX-License-Identifier: BSD-3-Clause
"""Guests of another architecture: which kernel is theirs, what it is started with, and how their
results come back.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from keepon.errors import ConfigError

from keepon_guests import foreign, images, machines, modules, newc, run
from keepon_guests.images import Kernel

OFFERED = [
    f"linux-{kind}-{version}"
    for kind in ("image", "headers")
    for version in ("6.1.0-50-arm64", "6.1.0-56-arm64", "6.1.0-57-rt-arm64", "6.1.0-58-cloud-arm64")
] + ["linux-image-6.1.0-59-arm64-unsigned", "linux-image-6.1.0-60-arm64-dbg"]
PI_KERNEL = Kernel("6.1", "arm64", "6.1.0-56-arm64", Path("/kernels/6.1.0-56-arm64"))


def test_the_kernel_of_the_architecture_is_taken() -> None:
    """Not its real-time or cloud one, and none without headers."""
    assert images.newest_version(OFFERED, "6.1", "arm64") == "6.1.0-56-arm64"
    assert images.newest_version(OFFERED, "6.1", "amd64") is None


def test_modules_are_cross_compiled() -> None:
    assert modules.make_variables(PI_KERNEL) == ("ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-")
    assert (
        modules.make_variables(Kernel("6.1", "cloud", "6.1.0-56-cloud-amd64", Path("/kernels")))
        == ()
    )


def test_more_modules_make_another_kernel() -> None:
    assert images.recipe("arm64") != images.recipe("amd64") == images.recipe("cloud")


def test_command_lines() -> None:
    """The board comes with its device tree and memory, and with CPUs that stay off."""
    board = PI_KERNEL.machine.qemu(512, 1)
    pi = machines.RASPBERRY_PI_4
    command = run.machine_command(Path("qemu"), PI_KERNEL, pi, board, 1, "quiet", [])
    assert command[:5] == ["qemu", "-M", "raspi4b", "-global", "bcm2838.enabled-cpus=1"]
    assert command[command.index("-dtb") + 1] == "/kernels/6.1.0-56-arm64/board.dtb"
    assert "console=ttyAMA0,115200 " in command[command.index("-append") + 1]
    assert " maxcpus=1 quiet" in command[command.index("-append") + 1]
    assert "-m" not in command and not any("virt" in word for word in command)
    pc = machines.PC.qemu(512, 2)
    assert pc[pc.index("-smp") + 1] == "2" and pc[pc.index("-m") + 1] == "512"
    assert any("virtserialport" in word for word in pc)


def test_another_board_for_the_same_kernel() -> None:
    """Its device tree is QEMU's, not that of the kernel's own board."""
    board = machines.VERSAL.qemu(512, 1)
    command = run.machine_command(Path("qemu"), PI_KERNEL, machines.VERSAL, board, 1, "quiet", [])
    assert command[:5] == ["qemu", "-M", "xlnx-versal-virt", "-m", "1G"]
    assert "-dtb" not in command
    assert " maxcpus=1 quiet" in command[command.index("-append") + 1]


def test_a_board_needs_an_emulator_of_our_own() -> None:
    with pytest.raises(ConfigError, match="needs an emulator of our own"):
        run.run_guest(PI_KERNEL, "true")


def test_results_come_back_over_the_console(tmp_path: Path) -> None:
    archive = newc.write(
        [newc.file_entry("run/stdout", b"ok 1\n"), newc.file_entry("out/a", b"\0\r\n")]
    )
    (tmp_path / "console").write_bytes(b"[    1.0] up\n" + machines.FILES_LINE + archive)
    run.separate_files(tmp_path)
    assert (tmp_path / "console").read_bytes() == b"[    1.0] up\n"
    assert (tmp_path / "stdout").read_bytes() == b"ok 1\n"
    assert run.read_files(tmp_path / "result") == ({"a": b"\0\r\n"}, "")


@pytest.mark.parametrize(
    "console", [b"[    1.0] panic\n", b"up\n" + machines.FILES_LINE + b"070701000"]
)
def test_a_guest_that_did_not_end_has_printed_nothing(console: bytes, tmp_path: Path) -> None:
    (tmp_path / "console").write_bytes(console)
    run.separate_files(tmp_path)
    assert not (tmp_path / "stdout").exists()
    assert (tmp_path / "console").read_bytes() == console.partition(machines.FILES_LINE)[0]


def test_a_library_is_found_in_either_folder(tmp_path: Path) -> None:
    for name in ("lib/aarch64-linux-gnu/libc.so.6", "usr/lib/libx.so.1"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
    assert (
        foreign.find_library(tmp_path, "libc.so.6") == tmp_path / "lib/aarch64-linux-gnu/libc.so.6"
    )
    assert foreign.find_library(tmp_path, "libx.so.1") == tmp_path / "usr/lib/libx.so.1"
    with pytest.raises(ConfigError, match="is in no unpacked package"):
        foreign.find_library(tmp_path, "libmissing.so")
