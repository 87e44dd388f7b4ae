# SPDX-License-Identifier: GPL-2.0-only
"""What several groups of kernel tests bring into their guests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from keepon.targets.vm import programs
from keepon_guests import FAMILIES, offered_families

HERE = Path(__file__).parent
DEFAULT_FAMILY = "6.1"
sys.path.insert(0, str(HERE))  # helpers of these tests
sys.path.append(str(HERE.parents[1] / "python" / "tests"))  # and of those

from guest_programs import compiled  # noqa: E402  one of them


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with a parameter `family`, `make test` runs one kernel, unless kernels differ in
    what it tests: then all that are prepared. `make test-all` runs the newest, too.
    """
    prepared = offered_families()
    kernels_of: dict[str, dict[str, pytest.Item]] = {}
    for item in items:
        if HERE not in item.path.parents:
            continue
        params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        family = params.pop("family", None)
        every = item.get_closest_marker("each_kernel") and family in prepared
        apart = any(item.get_closest_marker(name) for name in ("soak", "hw"))
        if family in FAMILIES and not every and not apart:
            test = f"{item.nodeid.split('[')[0]} {params}"
            kernels_of.setdefault(test, {})[family] = item
    for kernels in kernels_of.values():
        tested = [family for family in prepared if family in kernels]
        kept = [DEFAULT_FAMILY] if DEFAULT_FAMILY in tested else tested[-1:]
        for family, item in kernels.items():
            if family not in kept:
                item.add_marker(pytest.mark.full)


@pytest.fixture(scope="session")
def probe_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Guest path -> scripts, iproute2 plugin and the probe, linked statically."""
    probe = compiled(tmp_path_factory.mktemp("ptp"), "ptp_probe")
    common = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/lib/keepon/ptp.sh": HERE / "ptp_common.sh",
    }
    return {**programs.guest_files(), **common, "/usr/bin/ptp_probe": probe}
