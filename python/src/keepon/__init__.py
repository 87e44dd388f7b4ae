# SPDX-License-Identifier: BSD-3-Clause
"""Keepon: deterministic Ethernet transmission on the NIC you already have - scenarios, planner,
analysis, reports.
"""

from __future__ import annotations

__version__ = "0.1.0"
