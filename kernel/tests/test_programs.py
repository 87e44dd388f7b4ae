# SPDX-License-Identifier: GPL-2.0-only
"""Programs as they are on two keepon links: iperf3, tcpdump, transmit ring of a packet socket,
isochron.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_programs import compiled
from keepon.targets.vm import programs
from keepon_guests import build_modules, get_kernel, offered_families, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
FAMILIES = [
    "6.1",
    *(pytest.param(name, marks=pytest.mark.soak) for name in offered_families() if name != "6.1"),
]


# What clocks are set by needs a CPU that is no slower than a small board's.
SCRIPTS = {"keepon_programs.sh": 1, "keepon_isochron.sh": 0}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("script", "shared"), [*((script, "") for script in SCRIPTS), ("keepon_isochron.sh", "yes")]
)
def test_programs_that_know_nothing_of_keepon(
    script: str, shared: str, family: str, tmp_path: Path
) -> None:
    kernel = get_kernel(family)
    files = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/lib/keepon/ptp.sh": HERE / "ptp_common.sh",
        "/usr/bin/packet_ring": compiled(tmp_path, "packet_ring"),
        **programs.guest_files(),
    }
    result = run_guest(
        kernel, HERE / script, files,
        modules=build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"]),
        tools=["iperf3", "tcpdump", "jq", "isochron"],
        environment={"STAMPED": "500" if family == "6.1" else "0", "SHARED": shared},
        icount_shift=SCRIPTS[script], timeout_s=1200,
    ).check()  # fmt: skip
    print(f"{result.wall_seconds:.0f} s\n{result.stdout}")
    assert result.tap.problems() == []
