# SPDX-License-Identifier: BSD-3-Clause
"""A CPU held up, a ring stopped and started again, and the receive ring."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    # ---- a CPU held up just before a store ----
    Mutation(
        "no doubt of what was stored late",
        "kpn_place.h",
        "	if (KPN_UNLIKELY(kpn_may_be_fetched(pacer, seq, placement->until_ns))) {\n",
        "	if (false) {\n",
        ("vectors of held_up",),
    ),
    Mutation(
        "a slot made whole too late is not doubted",
        "kpn_place.h",
        "		if (pacer->ring.slot[desc].delta_ps != delta_ps)\n",
        "		if (false)\n",
        ("vectors of replan",),
    ),
    Mutation(
        "a refused index is a reading",
        "reading.c",
        "	if (!refused && (!idle || !pacer->caps.index_counts_done))\n",
        "	if (!idle || !pacer->caps.index_counts_done)\n",
        ("vectors of recovery",),
    ),
    Mutation(
        "stores take no time where any slot will do",
        "kpn_head.h",
        "cpu_ns + KPN_STORE_NS + pacer->caps.store_ns_max + pacer->frames.insert_margin_ns",
        "cpu_ns + KPN_STORE_NS",
        ("vectors of waiting",),
    ),
    Mutation(
        "no doubt of what was taken back late",
        "recall.c",
        "	if (KPN_UNLIKELY(kpn_may_be_fetched(pacer, seq, 0))) {\n"
        "		kpn_ring_unyield(ring, desc);\n"
        "		frame->verdict = KPN_VERDICT_IN_DOUBT;\n"
        "		return NULL;\n",
        "	if (false) {\n",
        ("vectors of held_up",),
    ),
    Mutation(
        "doubt without the prefetch",
        "head.c",
        "kpn_upper_seq(pacer, cpu_ns).seq + pacer->frames.fetched_slots;",
        "kpn_upper_seq(pacer, cpu_ns).seq;",
        ("vectors of held_up",),
    ),
    Mutation(
        "doubt of what was never posted",
        "head.c",
        "	return pacer->strip.valid && seq < pacer->ring.tail.seq &&\n",
        "	return pacer->strip.valid &&\n",
        ("vectors of held_up",),
    ),
    Mutation(
        "no time for the store",
        "kpn_pacer_state.h",
        "	KPN_STORE_NS = 2000,\n",
        "	KPN_STORE_NS = 0,\n",
        ("every class",),
    ),
    Mutation(
        "no time for the store after the copy",
        "place.c",
        "kpn_place_inline(pacer, frame, seq, verdict, placement, KPN_STORE_NS)",
        "kpn_place_inline(pacer, frame, seq, verdict, placement, 0)",
        ("vectors of held_up",),
    ),
    # ---- stopped, and started again ----
    Mutation(
        "polled while stopped",
        "pacer.c",
        "	if (KPN_UNLIKELY(!pacer->running))\n		return kpn_poll_stopped(pacer);\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "frames taken while stopped",
        "insert.c",
        "	if (!pacer->running)\n		return KPN_VERDICT_FLUSHED;\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "best effort taken while stopped",
        "waiting.c",
        "	if (!pacer->running) /* the strip is not valid then */\n		return "
        "KPN_VERDICT_FLUSHED;\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "clock of a stopped pacer synchronised",
        "pacer_clock.c",
        "	pacer->synchronised = pacer->running;\n",
        "	pacer->synchronised = true;\n",
        ("restarts",),
    ),
    Mutation(
        "head of a stopped pacer believed",
        "stop.c",
        "	kpn_strip_invalidate(&pacer->strip);\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "frames in FIFOs survive the stop",
        "stop.c",
        "for (; prebuffer->backlog >> queue & 1 && left; left--)",
        "for (; false; left--)",
        ("restarts",),
    ),
    Mutation(
        "time goes back where a reading tightens the strip",
        "include/keepon/observe.h",
        "	return (s64)(middle_ps - strip->read_floor_ps) < 0 ? "
        "strip->read_floor_ps : middle_ps;\n",
        "	return middle_ps;\n",
        ("vectors of pacer", "vectors of head", "vectors of recovery"),
    ),
    Mutation(
        "plain readings forget earlier bounds",
        "include/keepon/observe.h",
        "		kpn_strip_note_read(strip, lower, upper);\n",
        "",
        ("vectors of pacer", "vectors of head", "vectors of recovery"),
    ),
    Mutation(
        "other readings forget earlier bounds",
        "observe.c",
        "	kpn_strip_note_read(strip, lower, upper);\n	if ((s64)(lower_ps - lower) > 0)\n",
        "	if ((s64)(lower_ps - lower) > 0)\n",
        ("vectors of observe",),
    ),
    # ---- the receive ring as a clock, and both rings ----
    Mutation(
        "beats of the receive ring without a budget",
        "rx.c",
        "rx->left < rx->budget_frames ?",
        "true ?",
        ("vectors of rx_beats",),
    ),
    Mutation(
        "a budget that falls behind the shortest frames",
        "rx.c",
        "return 2 * (u32)kpn_div_u64(",
        "return (u32)kpn_div_u64(",
        ("vectors of rx_beats",),
    ),
    Mutation(
        "a reading observed before its frames are taken",
        "rx.c",
        "if (rx->left)\n\t\treturn false;",
        "if (rx->left && rx->gap)\n\t\treturn false;",
        ("vectors of rx_beats",),
    ),
    Mutation(
        "lost frames forgotten",
        "rx.c",
        "rx->gap = true;",
        "rx->gap = false;",
        ("vectors of rx_beats",),
    ),
    Mutation(
        "clocks set by frames known to be in the ring",
        "dual.c",
        "dual->merge != KPN_MERGE_PUBLISHED || dual->rx->left",
        "dual->merge != KPN_MERGE_PUBLISHED",
        ("vectors of dual",),
    ),
    Mutation(
        "a steady peer grows too old",
        "rx.c",
        "rx->steady_ps = rx->head_ps - AGE_PS_MAX;",
        "",
        ("vectors of dual",),
    ),
    Mutation(
        "the frame under way has no end",
        "rx.c",
        "	rx->open_ns = before_ns - rx->lag_ns_max;\n",
        "	rx->open_ns = before_ns - rx->lag_ns_max + 100000;\n",
        ("vectors of rx",),
    ),
    Mutation(
        "index lag of reception forgotten",
        "rx.c",
        "	rx->open_ns = before_ns - rx->lag_ns_max;\n",
        "	rx->open_ns = before_ns;\n",
        ("vectors of rx",),
    ),
    Mutation(
        "least lag of reception taken for more",
        "rx.c",
        "rx->lag_lower_ps = 999ull * config->lag_ns_min;",
        "rx->lag_lower_ps = 1999ull * config->lag_ns_min;",
        ("vectors of rx",),
    ),
    Mutation(
        "upper bound from the longest frame only",
        "include/keepon/rx.h",
        "		rx->first_end_ps = rx->head_ps - rx->gap_ps;\n",
        "		rx->first_end_ps = start_ps + rx->longest_ps;\n",
        ("vectors of rx",),
    ),
    Mutation(
        "gap counted as part of the frame",
        "rx.c",
        "	return rx->head_ps - rx->gap_ps;\n",
        "	return rx->head_ps;\n",
        ("vectors of rx",),
    ),
    Mutation(
        "a silent peer is believed to go on",
        "rx.c",
        "				 before_ns - rx->lag_ns_max, rx->head_ps + rx->longest_ps);\n",
        "				 now_ns, rx->head_ps + (1ull << 50));\n",
        ("vectors of rx",),
    ),
    Mutation(
        "the mean without tau / 2",
        "dual.c",
        "kpn_time_sub(kpn_time_add(lag, of_ns((s64)tau_ns)), lead);",
        "kpn_time_sub(lag, lead);",
        ("vectors of dual_merge",),
    ),
    Mutation(
        "diverged at tau",
        "dual.c",
        "	if (kpn_time_before(kpn_time_add(tx, of_ns((s64)(2 * tau_ns))), rx))\n",
        "	if (kpn_time_before(kpn_time_add(tx, of_ns((s64)tau_ns)), rx))\n",
        ("vectors of dual_merge",),
    ),
    Mutation(
        "the leading clock is set to the lagging one",
        "dual.c",
        "		kpn_clock_settime(&dual->rx_clock, dual->rx->head_ps, tx);\n"
        "		dual->rx_set++;\n",
        "		dual->rx_set++;\n",
        ("vectors of dual",),
    ),
    Mutation(
        "stamps ignore that crystals differ",
        "dual.c",
        "	s64 rate = kpn_pacer_rate(dual->pacer) - kpn_strip_rate(&dual->rx->strip);\n",
        "	s64 rate = 0;\n",
        ("vectors of dual",),
    ),
    Mutation(
        "stamps reach back beyond a restart",
        "dual.c",
        "	(s64)(own_ps - stamp.error_ps - kpn_pacer_steady_ps(dual->pacer)) >= 0 &&\n",
        "",
        ("vectors of dual",),
    ),
    Mutation(
        "stamps from a wire that may stand, as no poll has come",
        "dual.c",
        "	stamp.valid = !own.may_stand &&\n",
        "	stamp.valid =\n",
        ("vectors of dual",),
    ),
    Mutation(
        "rate of the second clock forgotten",
        "dual.c",
        "		error = kpn_clock_adjfine(&dual->rx_clock, scaled_ppm, dual->rx->head_ps);\n",
        "		error = 0;\n",
        ("vectors of dual",),
    ),
)
