# SPDX-License-Identifier: GPL-2.0-only
"""What several groups of kernel tests bring into their guests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from keepon.targets.vm import programs

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # helpers of these tests
sys.path.append(str(HERE.parents[1] / "python" / "tests"))  # and of those

from guest_programs import compiled  # noqa: E402  one of them


@pytest.fixture(scope="session")
def probe_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Guest path -> scripts, iproute2 plugin and the probe, linked statically."""
    probe = compiled(tmp_path_factory.mktemp("ptp"), "ptp_probe")
    common = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/lib/keepon/ptp.sh": HERE / "ptp_common.sh",
    }
    return {**programs.guest_files(), **common, "/usr/bin/ptp_probe": probe}
