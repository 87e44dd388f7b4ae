# SPDX-License-Identifier: BSD-3-Clause
"""Keepon: deterministic Ethernet transmission on the NIC you already have - scenarios, planner,
analysis, reports.
"""

from keepon_host import __version__ as __version__
