# SPDX-License-Identifier: BSD-3-Clause
"""Sanitized programs, built once, and two network namespaces joined by a veth pair."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import Lab, build_tools


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of keepon-talk, keepon-listen and the selftest, under AddressSanitizer and
    UndefinedBehaviorSanitizer.
    """
    options = ["-DKEEPON_TESTS=ON", "-DKEEPON_SANITIZE=address,undefined", "-DKEEPON_WERROR=ON"]
    return build_tools(tmp_path_factory.mktemp("sanitized"), options, ["keepon_tools_selftest"])


@pytest.fixture(scope="module")
def lab(tools: Path) -> Iterator[Lab]:
    """Interface `va` in one namespace, `vb` in the other."""
    with Lab(tools) as lab:
        yield lab
