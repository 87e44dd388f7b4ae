# SPDX-License-Identifier: GPL-2.0-only
"""A keepon link beside what sets up whatever device comes."""

from __future__ import annotations

from pathlib import Path

import pytest
from keepon_guests import build_modules, get_kernel, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
NETWORKD = Path("/usr/lib/systemd/systemd-networkd")


def test_systemd_networkd_leaves_links_alone() -> None:
    kernel = get_kernel("6.1")
    files = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/lib/keepon/00-keepon.network": HERE.parents[1] / "systemd" / "00-keepon.network",
    }
    modules = [HERE.parent / name for name in ("native", "hwsim", "keepon")]
    result = run_guest(
        kernel, HERE / "link_managed.sh", files, modules=build_modules(kernel, modules),
        tools=[NETWORKD],
    )  # fmt: skip
    print(result.stdout)
    assert result.check().tap.problems() == []
