# SPDX-License-Identifier: GPL-2.0-only
"""keepon.ko over keepon_hwsim.ko: link options, frames with txtimes, and what may happen to either
device.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_programs import PLUGIN, compiled, plugin
from keepon.targets.vm import programs as target
from keepon_guests import (
    FAMILIES,
    GuestResult,
    build_modules,
    get_kernel,
    offered_families,
    run_guest,
)
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
SCRIPTS = (
    "keepon_link.sh",
    "keepon_one_cpu.sh",
    "keepon_rights.sh",
    "keepon_share.sh",
    "keepon_stacked.sh",
    "keepon_tables.sh",
    "keepon_txtime.sh",
    "keepon_wire.sh",
)
# Attributes of a link, and the clock of a txtime, come from the kernel in another way in each.
PER_KERNEL = ("keepon_link.sh", "keepon_txtime.sh")
PROBES = ("connected_sender", "interfaces", "txtime_sender")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Guest path -> the iproute2 plugin for the installed `ip`, which is the one the guest gets,
    and probes.
    """
    folder = tmp_path_factory.mktemp("keepon")
    probes = {f"/usr/bin/{name}": compiled(folder, name) for name in PROBES}
    return {PLUGIN: plugin(folder), **probes}


def boot(script: str, family: str, programs: dict[str, Path], mode: str = "icount") -> GuestResult:
    kernel = get_kernel(family)
    modules = build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"])
    files = {"/lib/keepon/common.sh": HERE / "keepon_common.sh", **programs}

    def run() -> GuestResult:
        return run_guest(
            kernel, HERE / script, files, modules=modules, tools=target.tools(), mode=mode,
            timeout_s=1200,
        )  # fmt: skip

    result = checked(run) if mode == "icount" else run().check()
    assert result.tap.problems() == []
    return result


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(name, marks=pytest.mark.each_kernel if name in PER_KERNEL else ())
        for name in SCRIPTS
    ],
)
def test_a_kernel_with_keepon(script: str, family: str, programs: dict[str, Path]) -> None:
    boot(script, family, programs)


@pytest.mark.parametrize(
    "script",
    [
        "keepon_removed.sh",
        *(pytest.param(f"keepon_{name}.sh", marks=pytest.mark.full) for name in ("rights", "wire")),
    ],
)
def test_two_cpus_in_host_time(script: str, programs: dict[str, Path]) -> None:
    boot(script, "6.1", programs, mode="smp")
