# SPDX-License-Identifier: GPL-2.0-only
"""keepon.ko over keepon_hwsim.ko: link options, frames with txtimes, and what may happen to either device."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from keepon.vm import GuestResult, agreed, build_modules, get_kernel, offered_families, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
TALK = KERNEL.parent / "out" / "build" / "python" / "tools" / "keepon-talk"
SCRIPTS = ("keepon_link.sh", "keepon_txtime.sh", "keepon_wire.sh")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The iproute2 plugin for the installed `ip`, which is the one the guest gets."""
    folder = tmp_path_factory.mktemp("plugin")
    done = subprocess.run([KERNEL / "plugin" / "build", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "link_keepon.so"


def boot(script: str, family: str, plugin: Path, mode: str = "icount") -> GuestResult:
    kernel = get_kernel(family)
    modules = build_modules(kernel, [KERNEL / "hwsim", KERNEL / "keepon"])
    files = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/usr/lib/x86_64-linux-gnu/ip/link_keepon.so": plugin,
    }

    def run() -> GuestResult:
        return run_guest(kernel, HERE / script, files, modules=modules, tools=[TALK], mode=mode, timeout_s=240)

    result = agreed(run) if mode == "icount" else run().check()
    assert result.tap.problems() == []
    return result


@pytest.mark.parametrize("family", offered_families())
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_kernel_with_keepon(script: str, family: str, plugin: Path) -> None:
    boot(script, family, plugin)


def test_two_cpus_in_host_time(plugin: Path) -> None:
    boot("keepon_wire.sh", "6.1", plugin, mode="smp")
