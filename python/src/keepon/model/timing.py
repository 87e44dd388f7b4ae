# SPDX-License-Identifier: BSD-3-Clause
"""When a run, its streams and what is measured begin and end."""

from __future__ import annotations

import math

from keepon.model.scenario import Scenario

EPOCH_NS = 1_700_000_000_000_000_000


START_NS = 10_000_000


def talk_start_ns(scenario: Scenario) -> int:
    """When streams begin, from the start of the run.

    With PTP half of the warm-up is left to the clocks: frames sent before would miss their windows
    in gated bridges, and a window that fits one frame a cycle never catches up.
    """
    settled_ns = round(scenario.warmup_s * 1e9) // 2 if scenario.sync.by_ptp else 0
    return max(START_NS, settled_ns, *(stream.advance_ns for stream in scenario.stream), 0)


def epoch_ns_for(scenario: Scenario) -> int:
    """Network time of the start: a multiple of every period, so that cycles begin with the run."""
    cycle_ns = math.lcm(*(stream.period_ns for stream in scenario.stream))
    return -(-EPOCH_NS // cycle_ns) * cycle_ns


def measured_ns(scenario: Scenario) -> tuple[int, int]:
    """Start and end of what is measured, ns from the start."""
    start_ns = round(scenario.warmup_s * 1e9)
    return start_ns, start_ns + round(scenario.duration_s * 1e9)
