# SPDX-License-Identifier: BSD-3-Clause
"""Sanitized programs, built once, and two network namespaces joined by a veth pair."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import Lab, build_tools

SO_TIMESTAMP = 29  # of asm-generic/socket.h, which Python does not know


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of keepon-talk, keepon-listen and the selftest, under AddressSanitizer and
    UndefinedBehaviorSanitizer.
    """
    options = ["-DKEEPON_TESTS=ON", "-DKEEPON_SANITIZE=address,undefined", "-DKEEPON_WERROR=ON"]
    return build_tools(tmp_path_factory.mktemp("sanitized"), options, ["keepon_tools_selftest"])


@pytest.fixture(scope="module")
def lab(tools: Path) -> Iterator[Lab]:
    """Interface `va` in one namespace, `vb` in the other.

    Linux begins to stamp frames in software a while after a socket has asked for it, on a busy
    machine after many frames: this socket asks all the time.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
        with Lab(tools) as lab:
            yield lab
