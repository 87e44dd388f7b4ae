# SPDX-License-Identifier: BSD-3-Clause
"""Mutations of the core: textual replacements that each must make a check fail.

A text that is not found exactly once is an error of this table, to be mended together with the core.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """In `file` of core/src, or of core if it has a folder, `old` becomes `new`; a scenario must fail then."""

    name: str
    file: str
    old: str
    new: str
    scenarios: tuple[str, ...]


MUTATIONS: tuple[Mutation, ...] = (
    # ---- the four every driver of this kind must not have ----
    Mutation(
        "horizon - 1",
        "pacer.c",
        "pacer->lead_slots = caps->prefetch_slots_max + 1;",
        "pacer->lead_slots = caps->prefetch_slots_max;",
        ("every class",),
    ),
    Mutation(
        "horizon - 1 for trims",
        "pacer.c",
        "head.upper_seq + pacer->caps.prefetch_slots_max + 1;",
        "head.upper_seq + pacer->caps.prefetch_slots_max;",
        ("mixed stream",),
    ),
    Mutation(
        "index + 1",
        "pacer.c",
        "index = pacer->nic_ops.read_index(pacer->nic);",
        "index = pacer->nic_ops.read_index(pacer->nic) + 1;",
        ("every class",),
    ),
    Mutation(
        "ownership off",
        "insert.c",
        "	return kpn_partition_allows(&pacer->partition, kpn_partition_idx_of(pacer, seq), tc);\n",
        "	return (void)pacer, (void)seq, (void)tc, true;\n",
        ("every class",),
    ),
    Mutation(
        "cached head",
        "insert.c",
        "u64 first_seq = kpn_upper_seq(pacer, cpu_ns, until_ns) + pacer->lead_slots;",
        "u64 first_seq = pacer->ring.head_seq + (*until_ns = cpu_ns) * 0 + pacer->lead_slots;",
        ("every class",),
    ),
    # ---- frames and buffers ----
    Mutation(
        "zeroing off",
        "kpn_pacer_state.h",
        "	memset(pacer->nic_ops.buffer(pacer->nic, desc), 0, (u32)frame->frame_bytes - KPN_FCS_BYTES);\n",
        "	(void)frame;\n",
        ("every class",),
    ),
    Mutation(
        "zeroing one byte short",
        "kpn_pacer_state.h",
        "	memset(pacer->nic_ops.buffer(pacer->nic, desc), 0, (u32)frame->frame_bytes - KPN_FCS_BYTES);\n",
        "	memset(pacer->nic_ops.buffer(pacer->nic, desc), 0, (u32)frame->frame_bytes - KPN_FCS_BYTES - 1);\n",
        ("every class",),
    ),
    Mutation(
        "commit before copy",
        "insert.c",
        "	memcpy(pacer->nic_ops.buffer(pacer->nic, desc), frame->data, data_bytes);\n",
        "	pacer->nic_ops.commit(pacer->nic, desc, slot_bytes, data_bytes);\n"
        "	memcpy(pacer->nic_ops.buffer(pacer->nic, desc), frame->data, data_bytes);\n",
        ("every class",),
    ),
    Mutation(
        "committed at nominal length",
        "insert.c",
        "	pacer->nic_ops.commit(pacer->nic, desc, slot_bytes, data_bytes);",
        "	pacer->nic_ops.commit(pacer->nic, desc, pacer->config.slot_bytes, data_bytes);",
        ("mixed stream",),
    ),
    Mutation(
        "not restored",
        "kpn_pacer_state.h",
        "	pacer->nic_ops.restore(pacer->nic, desc, slot_bytes);\n",
        "	(void)slot_bytes;\n",
        ("every class",),
    ),
    Mutation(
        "frames as long as trimmed slots forgotten",
        "pacer.c",
        "pacer->real_bytes_max -= config->trim_down_bytes;",
        "pacer->real_bytes_max -= 0;",
        ("write-back, spare buffers",),
    ),
    # ---- order ----
    Mutation(
        "put back last",
        "prebuffer.c",
        "	frame->next = prebuffer->first[tc];\n"
        "	if (!frame->next)\n"
        "		prebuffer->last[tc] = frame;\n"
        "	prebuffer->first[tc] = frame;\n",
        "	frame->next = NULL;\n"
        "	if (prebuffer->first[tc])\n"
        "		prebuffer->last[tc]->next = frame;\n"
        "	else\n"
        "		prebuffer->first[tc] = frame;\n"
        "	prebuffer->last[tc] = frame;\n",
        ("every class",),
    ),
    Mutation(
        "displaced put back first to last",
        "insert.c",
        "		frame->next = taken;\n		taken = frame;\n",
        "		pacer->stats.displaced++;\n		kpn_prebuffer_put_back(&pacer->prebuffer, frame);\n",
        ("every class",),
    ),
    Mutation(
        "only one displaced",
        "insert.c",
        "		frame->next = taken;\n		taken = frame;\n",
        "		frame->next = taken;\n		taken = frame;\n		break;\n",
        ("every class",),
    ),
    Mutation(
        "best effort overtakes its queue",
        "insert.c",
        "if (opening.valid && !behind)",
        "(void)behind;\n	if (opening.valid)",
        ("mixed stream, 2.5 Gb/s",),
    ),
    Mutation(
        "best effort before its cursor",
        "insert.c",
        "if (seq >= pacer->cursor[tc]) {",
        "if (true) {",
        ("full load, reserved trims",),
    ),
    Mutation(
        "latest first",
        "prebuffer.c",
        "return a->txtime_ns < b->txtime_ns ||",
        "return a->txtime_ns > b->txtime_ns ||",
        ("held",),
    ),
    # ---- slots ----
    Mutation(
        "floor and up swapped",
        "insert.c",
        "rounding == KPN_ROUND_FLOOR)",
        "rounding == KPN_ROUND_UP)",
        ("mixed stream",),
    ),
    Mutation(
        "partition one slot behind",
        "insert.c",
        "kpn_partition_idx_of(pacer, seq), tc)",
        "kpn_partition_idx_of(pacer, seq + 1), tc)",
        ("every class",),
    ),
    Mutation(
        "preamble ignored",
        "pacer.c",
        "pacer->sfd_ps = (u64)KPN_PREAMBLE_BYTES * pacer->byte_ps;",
        "pacer->sfd_ps = 0;",
        ("every class",),
    ),
    Mutation(
        "tolerance ignored",
        "pacer.c",
        "pacer->early_ns = (s64)(config->tolerance_ns + ",
        "pacer->early_ns = (s64)(",
        ("mixed stream, 2.5 Gb/s",),
    ),
    Mutation(
        "head not asked for again before the commit",
        "insert.c",
        "(s64)(seq - first_seq_at(pacer, cpu_ns, &until_ns)) < 0",
        "(s64)(seq - first_seq_at(pacer, cpu_ns, &until_ns)) < 0 && false",
        ("vectors of insert",),
    ),
    Mutation(
        "head asked for again too late",
        "kpn_pacer_state.h",
        "	*until_ns += (end_ps - upper_ps) >> 10;\n",
        "	*until_ns += (end_ps - upper_ps) >> 8;\n",
        ("vectors of insert",),
    ),
    Mutation(
        "moved frames before their time",
        "insert.c",
        "	if ((s64)(target - from) > 0)\n		from = target;\n",
        "",
        ("every class",),
    ),
    Mutation(
        "strict frames moved",
        "insert.c",
        "if (pacer->config.classes[frame->tc].late == KPN_LATE_STRICT)",
        "if (false)",
        ("every class",),
    ),
    Mutation(
        "scheduled frames overwritten",
        "insert.c",
        "	if (is_scheduled(holder))\n		return false;\n",
        "",
        ("every class",),
    ),
    Mutation(
        "slots off the grid given away",
        "insert.c",
        "		if (KPN_UNLIKELY(target < lock_seq_of(pacer)))\n",
        "		if (false)\n",
        ("unlocked",),
    ),
    Mutation(
        "one slot too far",
        "insert.c",
        "opening.end_seq = pacer->ring.head_seq + pacer->ring.slots;",
        "opening.end_seq = pacer->ring.head_seq + pacer->ring.slots + 1;",
        ("mixed stream",),
    ),
    Mutation(
        "held frames not placed in time",
        "insert.c",
        "	pacer->heap_due_seq = frame ? target_of(pacer, frame) : KPN_SEQ_NEVER;\n",
        "	pacer->heap_due_seq = frame ? target_of(pacer, frame) + pacer->ring.slots : KPN_SEQ_NEVER;\n",
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
        "include/keepon/ring.h",
        "	ring->tail_ps += (u64)delta_ps;\n",
        "",
        ("every class",),
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
        "pacer.c",
        "	kpn_post_again(pacer, first_changeable(pacer, cpu_ns));\n",
        "",
        ("mixed stream",),
    ),
    Mutation(
        "grid believed reached after a step",
        "pacer.c",
        "		kpn_align_unlock(&pacer->align);\n		kpn_post_again(pacer, from);\n",
        "		kpn_post_again(pacer, from);\n",
        ("mixed stream",),
    ),
    Mutation(
        "grid believed reached at another rate",
        "align.c",
        "	if (align->lock_seq > seq)\n		kpn_align_unlock(align);\n",
        "",
        ("another rate half way to the grid",),
    ),
    Mutation(
        "slots with owners trimmed",
        "post.c",
        "	if (pacer->config.trim == KPN_TRIM_ANY || seq >= end)\n",
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
        "		left &= (1ull << (to - first_seq)) - 1;\n",
        "		left &= ~0ull;\n",
        ("every class",),
    ),
    Mutation(
        "next frame of the word overlooked",
        "complete.c",
        "		return first_seq + bit + 1 + kpn_lowest_bit(left);\n",
        "		return end;\n",
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
        "pacer.c",
        "	if (pacer->config.clock_read != KPN_CLOCK_INTERPOLATED)\n",
        "	if (true)\n",
        ("every class",),
    ),
    Mutation(
        "recovered time without the idle wire",
        "pacer.c",
        "	kpn_clock_settime(&pacer->clock, tail_ps, start);\n",
        "	(void)tail_ps;\n",
        ("mixed stream",),
    ),
    Mutation(
        "recovered time from before frames were taken back",
        "pacer.c",
        "		waiting = kpn_insert_recall(pacer, pacer->ring.tail_seq);\n"
        "	start = time_believed(pacer, &believed, start_at_tail(pacer));\n",
        "		cpu_ns = cpu_now(pacer), waiting = kpn_insert_recall(pacer, pacer->ring.tail_seq);\n"
        "	start = (start_at_tail(pacer), time_believed(pacer, &believed, cpu_ns = cpu_ns));\n",
        ("dry, calls that take time",),
    ),
    Mutation(
        "frames stay in the slots an idle wire starts with",
        "pacer.c",
        "		waiting = kpn_insert_recall(pacer, pacer->ring.tail_seq);\n",
        "		waiting = NULL;\n",
        ("dry",),
    ),
    Mutation(
        "started without the time it took to prepare",
        "pacer.c",
        "(s64)(start_at_tail(pacer) - since_ns)",
        "(s64)(start_at_tail(pacer) - cpu_now(pacer))",
        ("restarts, calls that take time",),
    ),
    # ---- strip ----
    Mutation(
        "strip's upper bound without the lag",
        "pacer.c",
        "	u64 upper_ns = before_ns + (u64)(s64)pacer->caps.index_to_wire_ns_min;\n",
        "	u64 upper_ns = before_ns;\n",
        ("dry, lagging",),
    ),
    Mutation(
        "strip's lower bound without the latency",
        "pacer.c",
        "	u64 lower_ns = after_ns + 1 + (u64)(s64)pacer->caps.index_to_wire_ns_max;\n",
        "	u64 lower_ns = after_ns + 1;\n",
        ("fetch index, lagging",),
    ),
    Mutation(
        "reading dated by its end",
        "pacer.c",
        "	taken_ps = kpn_pace_ps(after_ns + 1 - before_ns, pacer->strip.pace_most);\n",
        "	taken_ps = 0;\n",
        ("every class",),
    ),
    Mutation(
        "reading dated without the lag",
        "pacer.c",
        "	pacer->lag_upper_ps = kpn_pace_ps(pacer->lag_upper_ns, pacer->strip.pace_most) + 2;\n",
        "	pacer->lag_upper_ps = 0;\n",
        ("done index, now and then lagging",),
    ),
    Mutation(
        "every reading plain",
        "pacer.c",
        "	pacer->plain_seq = plain ? ring->tail_seq - pacer->quiet_slots : 0;\n",
        "	pacer->plain_seq = plain ? ring->tail_seq : ring->tail_seq;\n",
        ("fetch index, lagging",),
    ),
    Mutation(
        "plain readings forget that rates are due",
        "include/keepon/observe.h",
        "	if (KPN_UNLIKELY(now_ns >= strip->rate_due_ns || (s64)(upper - lower) < 0))\n",
        "	if (KPN_UNLIKELY((s64)(upper - lower) < 0))\n",
        ("vectors of pacer",),
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
        "pacer.c",
        "	recover_slip(pacer, after_ns + 1, lower_ps, upper_ps);\n",
        "	kpn_strip_reset(&pacer->strip, after_ns + 1, lower_ps, upper_ps);\n",
        ("drift beyond what was stated",),
    ),
    Mutation(
        "slip trusted at once",
        "pacer.c",
        "	pacer->distrust = DISTRUST_POLLS;\n",
        "",
        ("drift beyond what was stated",),
    ),
    # ---- underruns ----
    Mutation(
        "underrun undetected",
        "pacer.c",
        "	if (take_reading(pacer, before_ns, after_ns))\n",
        "	if (take_reading(pacer, before_ns, after_ns) && false)\n",
        ("mixed stream",),
    ),
    Mutation(
        "suspicion never",
        "pacer.c",
        "	if ((s64)(pacer->ring.tail_ps - wire.upper_ps) >= (s64)pacer->restart_ps_max)\n		return;\n",
        "	if (beyond_ps != (s64)1 << 62)\n		return;\n",
        ("every class, paper",),
    ),
    Mutation(
        "suspicion forgets where the wire stands",
        "pacer.c",
        "pacer->restart_ps_max + (beyond_ps > 0 ? (u64)beyond_ps : 0));",
        "pacer->restart_ps_max + 0 * (u64)beyond_ps);",
        ("wire idle behind a lagging index",),
    ),
    Mutation(
        "restart takes no time",
        "pacer.c",
        "	if (KPN_UNLIKELY((s64)(ring->head_seq - pacer->restart_seq) <= 0)) {\n",
        "	if (false) {\n",
        ("polled while the wire waits for its first bit",),
    ),
    # ---- steps and ends ----
    Mutation(
        "no recall on a step",
        "pacer.c",
        "			recalled = kpn_insert_recall(pacer, from);\n",
        "",
        ("mixed stream",),
    ),
    Mutation(
        "recalled without a slot",
        "insert.c",
        "		verdict = submit_scheduled(pacer, frame, cpu_ns);\n"
        "		if (verdict != KPN_VERDICT_PENDING)\n"
        "			kpn_end_frame(",
        "		verdict = submit_scheduled(pacer, frame, cpu_ns);\n"
        "		if (verdict == KPN_VERDICT_LATE)\n"
        "			kpn_end_frame(",
        ("mixed stream",),
    ),
    Mutation(
        "stale frames on time",
        "insert.c",
        "				frame->verdict = KPN_VERDICT_SENT_STALE;\n",
        "				frame->verdict = KPN_VERDICT_ON_TIME;\n",
        ("steps",),
    ),
    Mutation(
        "partition not moved by a step",
        "pacer.c",
        "			recalled = kpn_insert_recall(pacer, from);\n			set_partition_index(pacer);\n",
        "			recalled = kpn_insert_recall(pacer, from);\n",
        ("mixed stream",),
    ),
    Mutation(
        "origin of time",
        "pacer.c",
        "	if (KPN_UNLIKELY(net_slot >> 63))\n",
        "	if (false)\n",
        ("time set to its origin",),
    ),
    Mutation(
        "write-back descriptors not re-armed",
        "pacer.c",
        "	pacer->nic_ops.rearm(pacer->nic, first, count);\n",
        "	(void)first;\n",
        ("write-back, spare buffers",),
    ),
    Mutation(
        "refused frames counted pending",
        "insert.c",
        "	if (verdict != KPN_VERDICT_PENDING)\n		return end_now(pacer, verdict);\n	pacer->pending++;\n",
        "	pacer->pending++;\n	if (verdict != KPN_VERDICT_PENDING)\n		return end_now(pacer, verdict);\n",
        ("every class",),
    ),
    Mutation(
        "verdict not counted",
        "kpn_pacer_state.h",
        "	pacer->pending--;\n	pacer->stats.verdicts[verdict]++;\n",
        "	pacer->pending--;\n",
        ("every class",),
    ),
    # ---- a CPU held up just before a store ----
    Mutation(
        "no doubt of what was stored late",
        "insert.c",
        "	if (KPN_UNLIKELY(may_be_fetched(pacer, seq, opening->until_ns)))\n",
        "	if (false)\n",
        ("vectors of held_up",),
    ),
    Mutation(
        "no doubt of what was taken back late",
        "insert.c",
        "	if (KPN_UNLIKELY(may_be_fetched(pacer, seq, 0))) {\n",
        "	if (false) {\n",
        ("vectors of held_up",),
    ),
    Mutation(
        "doubt without the prefetch",
        "insert.c",
        "kpn_upper_seq(pacer, cpu_ns, &until_ns) + pacer->caps.prefetch_slots_max;",
        "kpn_upper_seq(pacer, cpu_ns, &until_ns);",
        ("vectors of held_up",),
    ),
    Mutation(
        "doubt of what was never posted",
        "insert.c",
        "	return pacer->strip.valid && seq < pacer->ring.tail_seq &&\n",
        "	return pacer->strip.valid &&\n",
        ("vectors of held_up",),
    ),
    Mutation(
        "no time for the store",
        "insert.c",
        "#define STORE_NS 2000\n",
        "#define STORE_NS 0\n",
        ("every class",),
    ),
    Mutation(
        "no time for the store after the copy",
        "insert.c",
        "	return place_inline(pacer, frame, seq, verdict, opening, STORE_NS);\n",
        "	return place_inline(pacer, frame, seq, verdict, opening, 0);\n",
        ("vectors of held_up",),
    ),
    # ---- stopped, and started again ----
    Mutation(
        "polled while stopped",
        "pacer.c",
        "	if (KPN_UNLIKELY(!pacer->running))\n		return;\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "frames taken while stopped",
        "insert.c",
        "		return pacer->running ? hold(pacer, frame, KPN_VERDICT_UNSYNCHRONISED) : KPN_VERDICT_FLUSHED;\n",
        "		return hold(pacer, frame, KPN_VERDICT_UNSYNCHRONISED);\n",
        ("restarts",),
    ),
    Mutation(
        "best effort taken while stopped",
        "insert.c",
        "	if (!pacer->running) /* the strip is not valid then */\n		return KPN_VERDICT_FLUSHED;\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "clock of a stopped pacer synchronised",
        "pacer.c",
        "	kpn_clock_adjtime(&pacer->clock, (struct kpn_time){ delta_ns, 0 });\n"
        "	pacer->synchronised = pacer->running;\n",
        "	kpn_clock_adjtime(&pacer->clock, (struct kpn_time){ delta_ns, 0 });\n	pacer->synchronised = true;\n",
        ("restarts",),
    ),
    Mutation(
        "head of a stopped pacer believed",
        "pacer.c",
        "	kpn_strip_invalidate(&pacer->strip);\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "frames in FIFOs survive the stop",
        "insert.c",
        "		while (pacer->prebuffer.backlog >> tc & 1)\n			kpn_end_frame(",
        "		while (false)\n			kpn_end_frame(",
        ("restarts",),
    ),
    Mutation(
        "flushed slots at nominal length",
        "insert.c",
        "	pacer->nic_ops.restore(pacer->nic, desc, length_of(pacer, seq));\n",
        "	pacer->nic_ops.restore(pacer->nic, desc, pacer->running ? length_of(pacer, seq)\n"
        "								: pacer->config.slot_bytes);\n",
        ("restarts",),
    ),
    Mutation(
        "flushed bytes stay",
        "kpn_pacer_state.h",
        "	memset(pacer->nic_ops.buffer(pacer->nic, desc), 0, (u32)frame->frame_bytes - KPN_FCS_BYTES);\n",
        "	if (pacer->running)\n"
        "		memset(pacer->nic_ops.buffer(pacer->nic, desc), 0, (u32)frame->frame_bytes - KPN_FCS_BYTES);\n",
        ("restarts",),
    ),
    Mutation(
        "time goes back where a reading tightens the strip",
        "include/keepon/observe.h",
        "	return (s64)(middle_ps - strip->told_ps) < 0 ? strip->told_ps : middle_ps;\n",
        "	return middle_ps;\n",
        ("vectors of pacer",),
    ),
    Mutation(
        "plain readings forget what was told",
        "include/keepon/observe.h",
        "	if (KPN_UNLIKELY((s64)(upper_ps - upper) < 0)) {\n		kpn_strip_tell(strip, lower, upper);\n",
        "	if (KPN_UNLIKELY((s64)(upper_ps - upper) < 0)) {\n",
        ("vectors of pacer",),
    ),
    Mutation(
        "other readings forget what was told",
        "observe.c",
        "	kpn_strip_tell(strip, lower, upper);\n	if ((s64)(lower_ps - lower) > 0)\n",
        "	if ((s64)(lower_ps - lower) > 0)\n",
        ("vectors of observe",),
    ),
    # ---- the receive ring as a clock, and both rings ----
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
        ("vectors of dual",),
    ),
    Mutation(
        "diverged at tau",
        "dual.c",
        "	if (kpn_time_before(kpn_time_add(tx, of_ns((s64)(2 * tau_ns))), rx))\n",
        "	if (kpn_time_before(kpn_time_add(tx, of_ns((s64)tau_ns)), rx))\n",
        ("vectors of dual",),
    ),
    Mutation(
        "the leading clock is set to the lagging one",
        "dual.c",
        "		kpn_clock_settime(&dual->rx_clock, dual->rx->head_ps, tx);\n		dual->rx_set++;\n",
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
        "	stamp.valid = (s64)(own_ps - stamp.error_ps - kpn_pacer_steady_ps(dual->pacer)) >= 0 &&\n",
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
