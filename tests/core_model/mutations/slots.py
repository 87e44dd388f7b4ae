# SPDX-License-Identifier: BSD-3-Clause
"""Slots, trims and the clock."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    # ---- slots ----
    Mutation(
        "floor and up swapped",
        "kpn_target.h",
        "rounding == KPN_ROUND_FLOOR)",
        "rounding == KPN_ROUND_UP)",
        ("mixed stream",),
    ),
    Mutation(
        "partition one slot behind",
        "kpn_search.h",
        "kpn_plane_index(table, seq), tc);",
        "kpn_plane_index(table, seq + 1), tc);",
        ("every class",),
    ),
    Mutation(
        "preamble ignored",
        "pacer.c",
        "pacer->time.sfd_ps = (u64)KPN_PREAMBLE_BYTES * pacer->time.byte_ps;",
        "pacer->time.sfd_ps = 0;",
        ("every class",),
    ),
    Mutation(
        "tolerance ignored",
        "pacer.c",
        "pacer->time.early_ns = (s64)(config->tolerance_ns + ",
        "pacer->time.early_ns = (s64)(",
        ("mixed stream, 2.5 Gb/s",),
    ),
    Mutation(
        "head not asked for again before the commit",
        "head.c",
        "(s64)(seq - kpn_first_seq_at(pacer, cpu_ns)) < 0",
        "(s64)(seq - kpn_first_seq_at(pacer, cpu_ns)) < 0 && false",
        ("vectors of insert",),
    ),
    Mutation(
        "head asked for again too late",
        "kpn_head.h",
        "(slot.end_ps - upper_ps) >> 10",
        "(slot.end_ps - upper_ps) >> 8",
        ("vectors of insert",),
    ),
    Mutation(
        "moved frames before their time",
        "fallback.c",
        "	if ((s64)(target - other.from) > 0)\n		other.from = target;\n",
        "",
        ("every class",),
    ),
    Mutation(
        "strict frames moved",
        "fallback.c",
        "late == KPN_LATE_RELAXED ? target + pacer->ring.slots : target;",
        "target + pacer->ring.slots;",
        ("every class",),
    ),
    Mutation(
        "scheduled frames overwritten",
        "kpn_fallback.h",
        "return KPN_LIKELY(!kpn_ring_frame(&pacer->ring, seq)) || kpn_make_room(pacer, seq);",
        "return (void)kpn_make_room(pacer, seq), true;",
        ("every class, paper", "mixed stream, 10 Mb/s"),
    ),
    Mutation(
        "slots off the grid given away",
        "insert.c",
        "		if (KPN_UNLIKELY(target < kpn_lock_seq_of(pacer)))\n",
        "		if (false)\n",
        ("unlocked",),
    ),
    Mutation(
        "one slot too far",
        "kpn_head.h",
        ".end_seq = pacer->ring.head.seq + pacer->frames.window_slots,",
        ".end_seq = pacer->ring.head.seq + pacer->frames.window_slots + 1,",
        ("mixed stream",),
    ),
    Mutation(
        "held frames not placed in time",
        "target.c",
        "	pacer->frames.heap_due_seq = frame ? kpn_target_of(pacer, frame) : KPN_SEQ_NEVER;\n",
        "	pacer->frames.heap_due_seq = frame ? kpn_target_of(pacer, frame) + pacer->ring.slots :"
        " KPN_SEQ_NEVER;\n",
        ("every class",),
    ),
    Mutation(
        "grid without its fraction",
        "align.c",
        "	rest_ps = ((u64)ns - cell * grid->cell_ns) * 1000 + ps;\n"
        "	return cell * grid->cell_slots + kpn_div_u64(rest_ps, grid->slot_ps);\n",
        "	(void)rest_ps;\n	(void)ps;\n	return cell * grid->cell_slots;\n",
        ("mixed stream, 2.5 Gb/s",),
    ),
    # ---- trims ----
    Mutation(
        "trim sign wrong",
        "align.c",
        "s64 sign = error > 0 ? -1 : 1;",
        "s64 sign = error > 0 ? 1 : -1;",
        ("every class",),
    ),
    Mutation(
        "trim forgotten in positions",
        "ring.c",
        "	ring->tail.ps += (u64)(delta_ps - before_ps);\n",
        "",
        ("mixed stream",),
    ),
    Mutation(
        "trims stay for the next lap",
        "complete.c",
        "		pacer->nic_ops.set_length(pacer->nic, desc, pacer->config.slot_bytes);\n",
        "		(void)desc;\n",
        ("every class",),
    ),
    Mutation(
        "trims not renewed at another rate",
        "pacer_clock.c",
        "	kpn_plan_from(pacer, first);\n",
        "",
        ("mixed stream",),
    ),
    Mutation(
        "grid believed reached after a step",
        "replan.c",
        "		kpn_align_unlock(&pacer->align);\n		kpn_plan_from(pacer, from);\n",
        "		kpn_plan_from(pacer, from);\n",
        ("mixed stream", "unlocked", "steps"),
    ),
    Mutation(
        "grid believed reached at another rate",
        "align.c",
        "	if (align->lock_seq > seq)\n		kpn_align_unlock(align);\n",
        "",
        ("vectors of align",),
    ),
    Mutation(
        "slots with owners trimmed",
        "post.c",
        "	if (pacer->config.trim == KPN_TRIM_ANY)\n",
        "	if (true)\n",
        ("reserved trims",),
    ),
    Mutation(
        "half a quantum is a quantum",
        "align.c",
        "	align->half_time = align->quantum_time / 2;\n",
        "	align->half_time = align->quantum_time * 3 / 2;\n",
        ("every class",),
    ),
    Mutation(
        "carried trims a slot late",
        "align.c",
        "		due -= align->growth;\n",
        "		due -= 0;\n",
        ("vectors of align",),
    ),
    Mutation(
        "carried across a change",
        "align.c",
        "	align->next_trim_seq = seq;\n	align->carries = 0;\n",
        "	align->next_trim_seq = seq;\n",
        ("vectors of align",),
    ),
    Mutation(
        "frames of a whole word finished",
        "complete.c",
        "	u64 done = to - at < KPN_WORD_BITS ? bits & ~(~0ull << (to - at)) : bits;\n",
        "	u64 done = bits;\n",
        ("every class",),
    ),
    # ---- clock ----
    Mutation(
        "rate change reaches back",
        "clock.c",
        "	kpn_clock_reanchor(clock, now_ps);\n	/*\n",
        "	(void)now_ps;\n	/*\n",
        ("mixed stream",),
    ),
    Mutation(
        "1 ppb lost",
        "clock.c",
        "	change = kpn_div_u64(magnitude << (RATE_SHIFT - 22), 15625);\n",
        "	change = kpn_div_u64(magnitude << (RATE_SHIFT - 22), 15625) >> 30 << 30;\n",
        ("mixed stream",),
    ),
    Mutation(
        "clock read at the staircase",
        "pacer_clock.c",
        "	if (pacer->config.clock_read != KPN_CLOCK_INTERPOLATED)\n",
        "	if (true)\n",
        ("every class",),
    ),
    Mutation(
        "recovered time without the idle wire",
        "reading.c",
        "	kpn_clock_settime(&pacer->clock, tail_ps, start);\n",
        "	(void)tail_ps;\n",
        ("mixed stream",),
    ),
    Mutation(
        "recovered time from before frames were taken back",
        "reading.c",
        "		kpn_clear_from(pacer, ring->tail.seq);\n"
        "	start = time_believed(pacer, &believed, kpn_start_at_tail(pacer));\n",
        "		cpu_ns = kpn_cpu_now(pacer), kpn_clear_from(pacer, ring->tail.seq);\n"
        "	start = (kpn_start_at_tail(pacer), time_believed(pacer, &believed, cpu_ns));\n",
        ("dry, calls that take time",),
    ),
    Mutation(
        "frames stay in the slots an idle wire starts with",
        "reading.c",
        "		kpn_clear_from(pacer, ring->tail.seq);\n",
        "		;\n",
        ("dry",),
    ),
    Mutation(
        "started without the time it took to prepare",
        "pacer.c",
        "(s64)(kpn_start_at_tail(pacer) - since_ns)",
        "(s64)(kpn_start_at_tail(pacer) - kpn_cpu_now(pacer))",
        ("restarts, calls that take time",),
    ),
    Mutation(
        "frames in paper mode are on time, wherever a step or a stall has left their slots",
        "replan.c",
        "		pacer->frames.step_seq = pacer->ring.head.seq + pacer->ring.slots;\n",
        "",
        ("vectors of pacer",),
    ),
    Mutation(
        "any step in paper mode makes all frames stale",
        "complete.c",
        "	return (pacer->phase_locked && seq < pacer->frames.step_seq) ||\n",
        "	return seq < pacer->frames.step_seq ||\n",
        ("vectors of pacer",),
    ),
)
