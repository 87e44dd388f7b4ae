# SPDX-License-Identifier: BSD-3-Clause
"""The strip, underruns, steps and ends."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    # ---- strip ----
    Mutation(
        "strip's upper bound without the lag",
        "reading.c",
        "	u64 upper_ns = before_ns + (u64)(s64)pacer->caps.index_to_wire_ns_min;\n",
        "	u64 upper_ns = before_ns;\n",
        ("dry, lagging",),
    ),
    Mutation(
        "strip's lower bound without the latency",
        "reading.c",
        "	u64 lower_ns = now_ns + (u64)(s64)pacer->caps.index_to_wire_ns_max;\n",
        "	u64 lower_ns = now_ns;\n",
        ("fetch index, lagging",),
    ),
    Mutation(
        "reading dated by its end",
        "kpn_reading.h",
        "kpn_pace_ps(now_ns - before_ns,",
        "kpn_pace_ps(now_ns - after_ns + 0 * before_ns,",
        ("every class",),
    ),
    Mutation(
        "reading dated without the lag",
        "doubt.c",
        "0 - (s64)pacer->caps.index_to_wire_ns_min, true)",
        "0, true)",
        ("done index, now and then lagging",),
    ),
    Mutation(
        "every reading plain",
        "doubt.c",
        "fast_path_end_seq = plain ? ring->tail.seq - pacer->reading.quiet_slots : 0;\n",
        "fast_path_end_seq = plain ? ring->tail.seq : ring->tail.seq;\n",
        ("every class, paper", "dry"),
    ),
    Mutation(
        "plain readings forget that rates are due",
        "include/keepon/observe.h",
        "	if (KPN_UNLIKELY(now_ns >= strip->rate_due_ns || (s64)(upper - lower) < 0))\n",
        "	if (KPN_UNLIKELY((s64)(upper - lower) < 0))\n",
        ("vectors of pacer", "vectors of head", "vectors of recovery"),
    ),
    Mutation(
        "a doorbell is taken to be in time",
        "kpn_post.h",
        "doorbell_ns = kpn_cpu_now(pacer);",
        "doorbell_ns = pacer->reading.read_ns;",
        ("vectors of doorbell",),
    ),
    Mutation(
        "rates not widened",
        "observe.c",
        "	strip->rate_lower -= by;\n	strip->rate_upper += by;\n",
        "	(void)by;\n",
        ("crystals",),
    ),
    Mutation(
        "wander ignored",
        "observe.c",
        "	strip->wander_per_ns = wander_ppb_per_s_max * 18447ull;\n",
        "	strip->wander_per_ns = 0;\n",
        ("crystals",),
    ),
    Mutation(
        "half the drift",
        "observe.c",
        "(u64)drift_ppb_max << KPN_RATE_SHIFT, 1000000 - ",
        "(u64)drift_ppb_max / 2 << KPN_RATE_SHIFT, 1000000 - ",
        ("crystals, steady",),
    ),
    Mutation(
        "drift of the CPU taken for drift of the wire",
        "observe.c",
        "1000000 - (drift_ppb_max + 999) / 1000)",
        "1000000)",
        ("crystals, steady",),
    ),
    Mutation(
        "slip ignored",
        "reading.c",
        "	recover_slip(pacer, now_ns, bounds.lower_ps, bounds.upper_ps);\n",
        "	kpn_strip_reset(&pacer->strip, now_ns, bounds.lower_ps,"
        " bounds.upper_ps);\n	(void)recover_slip;\n",
        ("drift beyond what was stated",),
    ),
    Mutation(
        "slip trusted at once",
        "reading.c",
        "	pacer->reading.distrust = KPN_DISTRUST_POLLS;\n	pacer->reading.steady_ps = upper_ps;\n",
        "	pacer->reading.steady_ps = upper_ps;\n",
        ("drift beyond what was stated",),
    ),
    # ---- underruns ----
    Mutation(
        "underrun undetected",
        "reading.c",
        "	if (idle)\n		recover_idle(pacer);\n",
        "	if (idle && !pacer)\n		recover_idle(pacer);\n",
        ("mixed stream",),
    ),
    Mutation(
        "suspicion never",
        "doubt.c",
        "	pacer->stats.suspected_underruns++;\n	pacer->synchronised = false;",
        "	if (beyond_ps != (s64)1 << 62)\n		return;\n	pacer->synchronised = false;",
        ("vectors of recovery",),
    ),
    Mutation(
        "a delay that is reported moves no bound",
        "doubt.c",
        "	kpn_strip_loosen(&pacer->strip, delay_ps, 0);",
        "	(void)delay_ps;",
        ("vectors of recovery",),
    ),
    Mutation(
        "a delay that is reported leaves the clock synchronised",
        "doubt.c",
        "	pacer->synchronised = false;\n	pacer->stats.suspected_underruns++;",
        "	pacer->stats.suspected_underruns++;",
        ("vectors of recovery",),
    ),
    Mutation(
        "a suspected wire does not stand until the doorbell",
        "doubt.c",
        "else if (beyond_ps > 0)",
        "else if (beyond_ps > 1ll << 62)",
        ("vectors of doorbell",),
    ),
    Mutation(
        "a suspected wire's rate is learnt across the pause",
        "doubt.c",
        "	kpn_carry(pacer, doorbell_ns + pacer->reading.tick_ns);",
        "",
        ("vectors of doorbell",),
    ),
    Mutation(
        "polls later than what is posted lasts",
        "pacer.c",
        "			poll_ns = depth_ns;\n			spent_ns = unposted;\n",
        "",
        ("vectors of pacer",),
    ),
    Mutation(
        "the wire starts again before all that has left is reported",
        "reading.c",
        "	if (idle && ring->head.seq != ring->tail.seq) {\n",
        "	if (false) {\n",
        ("vectors of recovery",),
    ),
    Mutation(
        "restart takes no time",
        "reading.c",
        "	if (KPN_UNLIKELY(ring->head.seq <= pacer->reading.restart_seq)) {\n",
        "	if (false) {\n",
        ("polled while the wire waits for its first bit",),
    ),
    # ---- steps and ends ----
    Mutation(
        "no recall on a step",
        "replan.c",
        "			kpn_review_from(pacer, from);\n",
        "",
        ("vectors of recovery",),
    ),
    Mutation(
        "stale frames on time",
        "complete.c",
        "			slot[bit].frame->verdict = KPN_VERDICT_SENT_STALE;\n",
        "			slot[bit].frame->verdict = KPN_VERDICT_ON_TIME;\n",
        ("vectors of pacer", "vectors of head", "vectors of recovery"),
    ),
    Mutation(
        "on time before the grid is reached",
        "complete.c",
        "	if (pacer->phase_locked && seq < pacer->align.lock_seq)\n		return true;\n",
        "",
        ("vectors of replan",),
    ),
    Mutation(
        "slots passed over by planning are given away",
        "post.c",
        "	if (pacer->todo & KPN_TODO_TABLE && pacer->frames.floor_seq < first)\n",
        "	if (false)\n",
        ("vectors of replan",),
    ),
    Mutation(
        "lengths stored too late are believed",
        "post.c",
        "		storing->doubtful_ps += (u64)(by_ps < 0 ? -by_ps : by_ps);\n",
        "		(void)by_ps;\n",
        ("vectors of replan",),
    ),
    Mutation(
        "the wire overtakes what is planned",
        "post.c",
        "			if (storing && is_too_near(pacer, storing))\n",
        "			if (false && is_too_near(pacer, storing))\n",
        ("vectors of replan",),
    ),
    Mutation(
        "an index that moves over all of its numbers",
        "kpn_caps.h",
        "	return slots && slots == caps->index_modulus ? slots - 1 : slots;\n",
        "	return slots;\n",
        ("vectors of config",),
    ),
    Mutation(
        "partition not moved by a step",
        "replan.c",
        "			kpn_locate_tables(pacer);\n",
        "",
        ("mixed stream",),
    ),
    Mutation(
        "origin of time",
        "search.c",
        "	if (KPN_UNLIKELY(net_slot >> 63))\n",
        "	if (false)\n",
        ("time set to its origin",),
    ),
    Mutation(
        "write-back descriptors not re-armed",
        "kpn_post.h",
        "		kpn_rearm(pacer, count);\n",
        "		(void)count;\n",
        ("write-back, spare buffers",),
    ),
    Mutation(
        "refused frames counted pending",
        "insert.c",
        "	if (verdict != KPN_VERDICT_PENDING)\n		return end_now(pacer,"
        " verdict);\n	pacer->frames.pending++;\n",
        "	pacer->frames.pending++;\n	if (verdict != KPN_VERDICT_PENDING)\n"
        "		return end_now(pacer,"
        " verdict);\n",
        ("every class",),
    ),
    Mutation(
        "verdict not counted",
        "kpn_pacer_state.h",
        "	pacer->frames.pending--;\n	pacer->stats.verdicts[verdict]++;\n",
        "	pacer->frames.pending--;\n",
        ("every class, paper", "mixed stream"),
    ),
)
