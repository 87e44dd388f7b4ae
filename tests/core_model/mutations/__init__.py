# SPDX-License-Identifier: BSD-3-Clause
"""Mutations of the core: textual replacements that each must make a check fail.

A text that is not found exactly once is an error of this table, to be mended together with the
core. Spaces and line ends do not count, so that laying out the sources again leaves the table
alone.
"""

from __future__ import annotations

from core_model.mutations import (
    bounded,
    credit,
    frames,
    guard,
    held_up,
    slots,
    spans,
    strip,
    trouble,
)
from core_model.mutations.mutation import Mutation

__all__ = ["MUTATIONS", "Mutation"]

MUTATIONS: tuple[Mutation, ...] = (
    *frames.MUTATIONS,
    *slots.MUTATIONS,
    *spans.MUTATIONS,
    *strip.MUTATIONS,
    *held_up.MUTATIONS,
    *bounded.MUTATIONS,
    *trouble.MUTATIONS,
    *credit.MUTATIONS,
    *guard.MUTATIONS,
)
