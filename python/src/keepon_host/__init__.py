# SPDX-License-Identifier: BSD-3-Clause
"""Keepon on one machine: its links, cards and what it lacks. Standard library only."""

from __future__ import annotations


def _stated() -> str:
    """The version of a checkout in which nothing was built yet."""
    import re
    from pathlib import Path

    header = Path(__file__).resolve().parents[3] / "kernel" / "include" / "keepon_version.h"
    found = re.search('^#define KEEPON_VERSION "(.+)"', header.read_text(), re.MULTILINE)
    return found[1] if found else "unknown"


try:
    # Made by the build of the extension, of kernel/include/keepon_version.h.
    from keepon_host._version import __version__
except ModuleNotFoundError:
    __version__ = _stated()

__all__ = ["__version__"]
