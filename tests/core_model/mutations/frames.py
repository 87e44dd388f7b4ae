# SPDX-License-Identifier: BSD-3-Clause
"""Frames, buffers and order."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    # ---- the four every driver of this kind must not have ----
    Mutation(
        "horizon - 1",
        "pacer.c",
        "pacer->frames.lead_slots = pacer->frames.fetched_slots + 1;",
        "pacer->frames.lead_slots = pacer->frames.fetched_slots;",
        ("every class",),
    ),
    Mutation(
        "horizon - 1 for trims",
        "head.c",
        "u64 first = head.upper_seq + pacer->frames.fetched_slots + 1;",
        "u64 first = head.upper_seq + pacer->frames.fetched_slots;",
        ("vectors of replan",),
    ),
    Mutation(
        "index + 1",
        "pacer.c",
        "	index = pacer->nic_ops.read_index(pacer->nic);\n	after_ns",
        "	index = pacer->nic_ops.read_index(pacer->nic) + 1;\n	after_ns",
        ("every class",),
    ),
    Mutation(
        "ownership off",
        "kpn_search.h",
        "	return kpn_partition_allows(table->partition, kpn_plane_index(table, seq), tc);\n",
        "	return (void)table, (void)tc, true;\n",
        ("every class",),
    ),
    Mutation(
        "cached head",
        "kpn_head.h",
        "struct kpn_valid_seq first = kpn_upper_seq(pacer, cpu_ns);",
        "struct kpn_valid_seq first = { pacer->ring.head.seq, cpu_ns };",
        ("every class",),
    ),
    # ---- frames and buffers ----
    Mutation(
        "zeroing off",
        "kpn_place.h",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes & "
        "pacer->frames.zeroed_mask);\n",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, 0 * data_bytes);\n",
        ("every class",),
    ),
    Mutation(
        "zeroing one byte short",
        "kpn_place.h",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes & "
        "pacer->frames.zeroed_mask);\n",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, (data_bytes - 1) &"
        " pacer->frames.zeroed_mask);\n",
        ("every class",),
    ),
    Mutation(
        "padding on demand left out",
        "kpn_place.h",
        "	if (old_bytes <= data_bytes)\n",
        "	if (true)\n",
        ("padding on demand, mixed stream",),
    ),
    Mutation(
        "padding on demand one byte short",
        "kpn_place.h",
        "data_bytes, 0, old_bytes - data_bytes);",
        "data_bytes, 0, old_bytes - data_bytes - 1);",
        ("padding on demand, mixed stream",),
    ),
    Mutation(
        "padding on demand never asked for",
        "kpn_place.h",
        "	if (KPN_UNLIKELY(pacer->frames.old_bytes))\n",
        "	if (false)\n",
        ("padding on demand",),
    ),
    Mutation(
        "padding on demand forgets what it left",
        "kpn_place.h",
        "	pacer->frames.old_bytes[desc] = (u16)data_bytes;\n",
        "",
        ("padding on demand, mixed stream",),
    ),
    Mutation(
        "deferred as well as on demand",
        "kpn_place.h",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes & "
        "pacer->frames.zeroed_mask);\n",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes);\n",
        ("padding on demand",),
    ),
    Mutation(
        "never deferred",
        "pacer.c",
        "	pacer->frames.zeroed_mask = ~0u;\n",
        "	pacer->frames.zeroed_mask = 0;\n",
        ("every class",),
    ),
    Mutation(
        "padding on demand without spare buffers",
        "include/keepon/config.h",
        " || config->padding == KPN_PADDING_ON_DEMAND;",
        ";",
        ("vectors of padding",),
    ),
    Mutation(
        "padding on demand allowed without spare buffers",
        "config.c",
        "check->caps->has_spare_buffers ? range.max : KPN_PADDING_DEFERRED",
        "range.max",
        ("vectors of config",),
    ),
    Mutation(
        "defaults that poll too often",
        "defaults.c",
        "kpn_config_batch_least(caps, config->rate_bps, config->slot_bytes, 0));",
        "1);",
        ("vectors of defaults",),
    ),
    Mutation(
        "defaults of a ring too small for its batch",
        "defaults.c",
        "config->ring_slots = default_ring_slots(caps, depth);",
        "config->ring_slots = default_ring_slots(caps, 0);",
        ("vectors of defaults",),
    ),
    Mutation(
        "a slot too short for polls is not refused",
        "config_polls.c",
        "if (now.min <= now.max && slot_bytes >= now.min)",
        "if (true)",
        ("vectors of config",),
    ),
    Mutation(
        "polls too close are not refused",
        "config_polls.c",
        "now.min = max_u64(1, least);",
        "now.min = 1;",
        ("vectors of config",),
    ),
    Mutation(
        "commit before copy",
        "kpn_place.h",
        "	kpn_copy_frame(buffer, frame->data, data_bytes);\n",
        "	pacer->nic_ops.commit(pacer->nic, desc, pacer->config.slot_bytes, data_bytes,"
        " written_bytes);\n	kpn_copy_frame(buffer, frame->data, data_bytes);\n",
        ("every class",),
    ),
    Mutation(
        "committed at nominal length",
        "kpn_place.h",
        "kpn_length_for(pacer, seq, desc, frame->frame_bytes), data_bytes,",
        "pacer->config.slot_bytes, data_bytes,",
        ("mixed stream",),
    ),
    Mutation(
        "not restored",
        "kpn_place.h",
        "	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes & "
        "pacer->frames.zeroed_mask);\n",
        "	(void)pacer, (void)desc, (void)slot_bytes, (void)data_bytes;\n",
        ("every class",),
    ),
    Mutation(
        "frames as long as trimmed slots forgotten",
        "pacer.c",
        "pacer->frames.real_bytes_max -= config->trim_down_bytes;",
        "pacer->frames.real_bytes_max -= 0;",
        ("write-back, spare buffers",),
    ),
    # ---- order ----
    Mutation(
        "put back last",
        "prebuffer.c",
        "	frame->next = prebuffer->first[queue];\n"
        "	if (!frame->next)\n"
        "		prebuffer->last[queue] = frame;\n"
        "	prebuffer->first[queue] = frame;\n",
        "	frame->next = NULL;\n"
        "	if (prebuffer->first[queue])\n"
        "		prebuffer->last[queue]->next = frame;\n"
        "	else\n"
        "		prebuffer->first[queue] = frame;\n"
        "	prebuffer->last[queue] = frame;\n",
        ("every class",),
    ),
    Mutation(
        "displaced put back first to last",
        "recall.c",
        "		frame->next = taken;\n		taken = frame;\n",
        "		++*counter;\n		kpn_prebuffer_put_back(&pacer->prebuffer, frame);\n",
        ("every class",),
    ),
    Mutation(
        "only one displaced",
        "recall.c",
        "		frame->next = taken;\n		taken = frame;\n",
        "		frame->next = taken;\n		taken = frame;\n		break;\n",
        ("every class",),
    ),
    Mutation(
        "best effort overtakes its queue",
        "waiting.c",
        "if (placement.valid && !behind && ",
        "(void)behind;\n	if (placement.valid && ",
        ("mixed stream, 10 Mb/s", "paper"),
    ),
    Mutation(
        "best effort before its cursor",
        "waiting.c",
        "	u64 from = pacer->frames.cursor[tc];\n",
        "	u64 from = 0;\n",
        ("full load, reserved trims", "mixed stream", "full load"),
    ),
    Mutation(
        "latest first",
        "prebuffer.c",
        "return a->txtime_ns < b->txtime_ns ||",
        "return a->txtime_ns > b->txtime_ns ||",
        ("held",),
    ),
    Mutation(
        "lower classes take what comes up between polls",
        "waiting.c",
        "		return pacer->frames.offered_seq;\n",
        "		return end;\n",
        ("vectors of waiting",),
    ),
    Mutation(
        "lower classes take what displaced frames had",
        "recall.c",
        "	if (pacer->frames.offered_seq > from)\n		pacer->frames.offered_seq = from;\n",
        "",
        ("vectors of waiting",),
    ),
    Mutation(
        "displaced frames cost others that cannot be held back",
        "waiting.c",
        "end > pacer->frames.offered_seq && pacer->config.prebuffer_frames)",
        "end > pacer->frames.offered_seq)",
        ("vectors of waiting",),
    ),
    Mutation(
        "nothing counts as offered to what waits",
        "waiting.c",
        "	if (!waiting)\n		pacer->frames.offered_seq = end;\n",
        "	(void)end;\n",
        ("vectors of waiting", "vectors of credit"),
    ),
)
