# SPDX-License-Identifier: BSD-3-Clause
"""Keepon: deterministic Ethernet transmission on the NIC you already have - scenarios, planner,
analysis, reports.
"""

from __future__ import annotations

# Made by the build of the extension, of kernel/include/keepon_version.h.
from keepon._version import __version__

__all__ = ["__version__"]
