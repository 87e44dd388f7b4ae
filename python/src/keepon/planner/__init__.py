# SPDX-License-Identifier: BSD-3-Clause
"""Plans slots, partitions, release times and gate lists for streams; `verify` checks every plan
independently.
"""

from __future__ import annotations

from keepon.planner.network.plan import plan

__all__ = ["plan"]
