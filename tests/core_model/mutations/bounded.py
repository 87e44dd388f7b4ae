# SPDX-License-Identifier: BSD-3-Clause
"""Bounded work, dead NICs, coarse counters, partitions that switch."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    # ---- bounded work, dead NICs, coarse counters, partitions that switch ----
    Mutation(
        "tick ignored",
        "pacer.c",
        "	pacer->reading.tick_ns = max_u32(caps->cpu_tick_ns, 1);\n",
        "	pacer->reading.tick_ns = 1;\n",
        ("ticks of 18.5 ns", "ticks of 18.5 ns, fetch index"),
    ),
    Mutation(
        "store still under way ignored",
        "kpn_head.h",
        "	u64 cpu_ns = kpn_cpu_now(pacer) + pacer->caps.store_ns_max;\n",
        "	u64 cpu_ns = kpn_cpu_now(pacer);\n",
        ("vectors of hazards",),
    ),
    Mutation(
        "zeroed bytes not written back",
        "kpn_place.h",
        "	return old_bytes;\n",
        "	return data_bytes;\n",
        ("not coherent, padding on demand",),
    ),
    Mutation(
        "wiped before the doubt",
        "recall.c",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, 0);\n",
        "	kpn_retire(pacer, desc, slot_bytes, (u32)frame->frame_bytes - KPN_FCS_BYTES);\n",
        ("vectors of held_up",),
    ),
    Mutation(
        "held frames without a budget",
        "insert.c",
        "		pacer->frames.left -= pacer->frames.left < frame->slots ?"
        " pacer->frames.left : frame->slots;\n		verdict = place",
        "		verdict = place",
        ("vectors of hazards",),
    ),
    Mutation(
        "what makes room without a budget",
        "recall.c",
        "	for (; slots; slots--)\n		kpn_spend(pacer);\n	if (KPN_UNLIKELY(!frame))",
        "	if (KPN_UNLIKELY(!frame))",
        ("storm", "storm, fetch index, write-back"),
    ),
    Mutation(
        "lengths without a budget",
        "post.c",
        "	u32 left = pacer->posting.trims_max;\n",
        "	u32 left = ~0u;\n",
        ("another rate that moves slots beyond change by two slots",),
    ),
    Mutation(
        "step never reviewed",
        "recall.c",
        "	for (; looks && pacer->frames.left; looks--) {\n",
        "	for (; false; looks--) {\n",
        ("vectors of recovery",),
    ),
    Mutation(
        "switched one slot late",
        "search.c",
        "	u64 seq = pacer->frames.switch_net_slot - pacer->align.base;\n",
        "	u64 seq = pacer->frames.switch_net_slot + 1 - pacer->align.base;\n",
        ("vectors of hazards",),
    ),
    Mutation(
        "a table still to come gives way too late",
        "switch.c",
        "	if (pacer->frames.table[1].partition && pacer->frames.switch_seq < first)\n",
        "	if (pacer->frames.table[1].partition &&\n"
        "	    pacer->frames.switch_seq < pacer->ring.head.seq)\n",
        ("vectors of hazards",),
    ),
    Mutation(
        "frames of a table that has given way",
        "switch.c",
        "	if (changed > pacer->frames.switch_seq)\n",
        "	if (changed != pacer->frames.switch_seq)\n",
        ("vectors of hazards",),
    ),
    Mutation(
        "a class waits for a table however far that is",
        "kpn_search.h",
        " &&\n	       (s64)(pacer->frames.switch_seq - pacer->ring.head.seq) <="
        " (s64)pacer->frames.horizon_slots;\n",
        ";\n",
        ("vectors of hazards",),
    ),
    Mutation(
        "a class with few slots uses up what the ring takes",
        "pacer.c",
        "config->depth_slots < pacer->frames.yielding_max ? config->depth_slots :",
        "config->depth_slots ? config->depth_slots :",
        ("vectors of waiting",),
    ),
    Mutation(
        "a class that comes first uses up what the ring takes",
        "waiting.c",
        "pacer->ring.head.seq + pacer->frames.lookahead_slots;",
        "placement->first_seq + pacer->frames.lookahead_slots;",
        ("vectors of waiting",),
    ),
    Mutation(
        "plane of another class",
        "include/keepon/partition.h",
        "planes + (size_t)plane * partition->plane_words + index / KPN_WORD_BITS;",
        "planes + (size_t)(plane ^ 1) * partition->plane_words + index / KPN_WORD_BITS;",
        ("every class",),
    ),
    Mutation(
        "stall never noticed",
        "reading.c",
        "	if (stands_still(pacer, refused, before_ns) && !moved) {\n",
        "	if (false) {\n",
        ("deaths",),
    ),
    Mutation(
        "index of a NIC that is gone believed",
        "reading.c",
        "	if (index >= pacer->reading.index_modulus) {\n",
        "	if (false) {\n",
        ("deaths",),
    ),
    Mutation(
        "stopped without halting the NIC",
        "stop.c",
        "	pacer->nic_ops.halt(pacer->nic);\n",
        "",
        ("restarts",),
    ),
    Mutation(
        "last fetched frame not in doubt",
        "stop.c",
        "head.upper_seq + pacer->frames.fetched_slots + 1;\n	/* Without",
        "head.upper_seq + pacer->frames.fetched_slots;\n	/* Without",
        ("vectors of hazards",),
    ),
    Mutation(
        "lead beyond what is posted",
        "kpn_head.h",
        "	if (pacer->phase_locked && first.seq > pacer->ring.tail.seq)\n		first.seq ="
        " pacer->ring.tail.seq;\n",
        "",
        ("vectors of hazards",),
    ),
    Mutation(
        "steady position never renewed",
        "reading.c",
        "		pacer->reading.steady_ps = head_ps - AGE_PS_MAX;\n",
        "		;\n",
        ("vectors of wraps",),
    ),
    Mutation(
        "class without slots accepted",
        "insert.c",
        "	if (KPN_UNLIKELY(!kpn_has_slots(pacer, frame->tc)))\n"
        "		return KPN_VERDICT_NOT_ALLOWED;\n",
        "",
        ("vectors of hazards",),
    ),
    Mutation(
        "relaxed frames wait for ever",
        "fallback.c",
        "	if (late == KPN_LATE_RESCHEDULE)\n",
        "	if (late != KPN_LATE_STRICT)\n",
        ("vectors of waiting",),
    ),
    Mutation(
        "a depth that runs dry between two polls",
        "config_polls.c",
        "check->ring_ok && check->batch_ok ? depth_least(check) : 0",
        "check->ring_ok && check->batch_ok ? 0 * depth_least(check) : 0",
        ("vectors of config",),
    ),
    Mutation(
        "the heap grows beyond its memory",
        "prebuffer.c",
        "	if (prebuffer->heap_count >= prebuffer->heap_room)\n",
        "	if (false)\n",
        ("vectors of depth",),
    ),
    Mutation(
        "a later frame before those that wait for the budget",
        "insert.c",
        "	if (KPN_UNLIKELY(target >= pacer->frames.heap_due_seq) &&\n",
        "	if (false &&\n",
        ("vectors of waiting",),
    ),
    Mutation(
        "relaxed frames take slots before those that are due",
        "insert.c",
        "	return kpn_prebuffer_append(&pacer->prebuffer, frame);\n",
        "	return false;\n",
        ("vectors of waiting",),
    ),
    Mutation(
        "relaxed frames behind best effort of their class",
        "prebuffer.c",
        "frame->tc + (frame->flags & KPN_FRAME_TXTIME ? KPN_QUEUE_SCHEDULED : 0);",
        "frame->tc;",
        ("vectors of prebuffer",),
    ),
    Mutation(
        "relaxed frames wait for the lookahead",
        "waiting.c",
        "kpn_place_later(pacer, frame, other.from, other.end, placement)",
        "kpn_place_later(pacer, frame, other.from, best_effort_end(pacer, placement), placement)",
        ("vectors of waiting",),
    ),
    Mutation(
        "frames that wait have no part of the budget",
        "insert.c",
        "pacer->frames.left > waiting &&",
        "pacer->frames.left > 0 * waiting &&",
        ("vectors of depth",),
    ),
    Mutation(
        "horizon ignored",
        "insert.c",
        " || (s64)(target - pacer->ring.head.seq) > (s64)pacer->frames.horizon_slots)",
        ")",
        ("horizon",),
    ),
    Mutation(
        "clock read within a tick of the reading",
        "pacer_clock.c",
        "	return (s64)dt_ns >= 0 && dt_ns",
        "	return dt_ns",
        ("vectors of pacer", "vectors of head", "vectors of recovery"),
    ),
)
