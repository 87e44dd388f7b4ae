# SPDX-License-Identifier: BSD-3-Clause
"""Keepon: deterministic Ethernet transmission on the NIC you already have - scenarios, planner,
analysis, reports.
"""

from __future__ import annotations

import re
from pathlib import Path


def _stated() -> str:
    """The version of a checkout in which nothing was built yet."""
    header = Path(__file__).resolve().parents[3] / "kernel" / "include" / "keepon_version.h"
    found = re.search('^#define KEEPON_VERSION "(.+)"', header.read_text(), re.MULTILINE)
    return found[1] if found else "unknown"


try:
    # Made by the build of the extension, of kernel/include/keepon_version.h.
    from keepon._version import __version__
except ModuleNotFoundError:
    __version__ = _stated()

__all__ = ["__version__"]
