# SPDX-License-Identifier: BSD-3-Clause
"""Mutations of the guard window."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "guard without a fudge",
        "guard.c",
        "		if (end_ns + (s64)guard->config.fudge_ns > heads->txtime_ns) {\n",
        "		if (end_ns > heads->txtime_ns) {\n",
        ("vectors of guard",),
    ),
    Mutation(
        "guard by when a frame begins",
        "guard.c",
        "		end_ns = begin_ns + (s64)kpn_guard_frame_ns(guard, heads->other_bytes);\n",
        "		end_ns = begin_ns;\n",
        ("vectors of guard",),
    ),
    Mutation(
        "guard takes the wire for as fast as it should be",
        "guard.c",
        "	u64 slowest_ps = ps + kpn_div_u64(ps * KPN_GUARD_SLOW_PPM + 999999, 1000000);\n",
        "	u64 slowest_ps = ps;\n",
        ("vectors of guard",),
    ),
    Mutation(
        "guard takes what it has handed over to begin by the fudge of now",
        "guard.c",
        "	if (guard->byte_ps)\n",
        "	if (false)\n",
        ("vectors of guard",),
    ),
    Mutation(
        "guard hands over without end",
        "guard.c",
        "	if (begin_ns - now_ns > ahead_ns) {\n",
        "	if (begin_ns - now_ns > 100 * ahead_ns) {\n",
        ("vectors of guard",),
    ),
    Mutation(
        "guard sends what is late all the same",
        "guard.c",
        "		if (guard->config.late == KPN_GUARD_LATE_DROP)\n			return",
        "		if (false)\n			return",
        ("vectors of guard",),
    ),
)
