# SPDX-License-Identifier: BSD-3-Clause
"""From streams to slots, partitions, release times and gate lists; `verify` checks every plan
independently.
"""

from __future__ import annotations

from keepon.planner.network.plan import plan

__all__ = ["plan"]
