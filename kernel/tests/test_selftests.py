# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests, unmodified, on keepon links; what of them fails by an assumption of its
own is in docs/kernel-measured.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import selftests
from keepon.targets.vm import programs
from keepon_guests import build_modules, get_kernel, offered_families, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
# Of net/forwarding, what needs two pairs of ports and nothing that is beyond a NIC.
QUICK = ("router_vid_1", "router_bridge", "bridge_sticky_fdb")
WHOLE = ("bridge_vlan_unaware", "tc_vlan_modify", "skbedit_priority")
SOAK = pytest.mark.soak


def boot(
    script: str, family: str, folder: Path, names: tuple[str, ...] = (), shared: str = ""
) -> None:
    kernel = get_kernel(family)
    modules = build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"])
    files = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        **programs.guest_files(),
        **selftests.guest_files(family, folder),
    }
    result = run_guest(
        kernel, HERE / script, files, modules=modules, tools=list(selftests.TOOLS),
        environment={"NAMES": " ".join(names), "SHARED": shared},
        timeout_s=1800, virtual_limit_s=3000,
    ).check()  # fmt: skip
    print(f"{script} {' '.join(names)}: {result.wall_seconds:.0f} s\n{result.stdout}")
    assert result.tap.problems() == []


FAMILIES = [
    "6.1",
    *(pytest.param(name, marks=SOAK) for name in offered_families() if name != "6.1"),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "script", ["selftests_ptp.sh", "selftests_sockets.sh", "selftests_taprio.sh"]
)
def test_of_clocks_sockets_and_gates(script: str, family: str, tmp_path: Path) -> None:
    boot(script, family, tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_of_sockets_on_a_card_with_a_link(family: str, tmp_path: Path) -> None:
    boot("selftests_sockets.sh", family, tmp_path, shared="yes")


@pytest.mark.parametrize("family", FAMILIES)
def test_of_forwarding(family: str, tmp_path: Path) -> None:
    boot("selftests_forwarding.sh", family, tmp_path, QUICK)


@SOAK
@pytest.mark.parametrize("family", offered_families())
def test_of_forwarding_that_take_minutes(family: str, tmp_path: Path) -> None:
    boot("selftests_forwarding.sh", family, tmp_path, WHOLE)
