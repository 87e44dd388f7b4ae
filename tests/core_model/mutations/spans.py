# SPDX-License-Identifier: BSD-3-Clause
"""Mutations of frames that take several slots."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

SPAN = ("vectors of span",)

MUTATIONS = (
    Mutation(
        "a fragment too few",
        "span.c",
        "	span.fragments = span.slots;\n",
        "	span.fragments = span.slots - 1;\n",
        SPAN,
    ),
    Mutation(
        "a frame padded beyond 1518 bytes",
        "span.c",
        "frame_bytes + rest_bytes + rule->keep_bytes > rule->padded_bytes_max;",
        "false;",
        SPAN,
    ),
    Mutation(
        "a shortened slot too long",
        "span.c",
        "(span.slots - 2) * short_bytes - KPN_WIRE_OVERHEAD_BYTES;",
        "(span.slots - 2) * short_bytes - KPN_WIRE_OVERHEAD_BYTES + 1;",
        SPAN,
    ),
    Mutation(
        "no bytes kept for a trim",
        "span.c",
        "quotient_up(wire_bytes + rule->keep_bytes, rule->slot_bytes)",
        "quotient_up(wire_bytes, rule->slot_bytes)",
        SPAN,
    ),
    Mutation(
        "one that a trimmed slot does not hold takes one",
        "span.c",
        "max_u32(2, quotient_up(wire_bytes + rule->keep_bytes, rule->slot_bytes))",
        "quotient_up(wire_bytes + rule->keep_bytes, rule->slot_bytes)",
        SPAN,
    ),
    Mutation(
        "an FCS in two fragments",
        "include/keepon/span.h",
        "else if (end > data_end) {",
        "else if (false) {",
        SPAN,
    ),
    Mutation(
        "fragments withdrawn from the first to the last",
        "place.c",
        "	u32 desc = nth_desc(&pacer->ring, first, span.slots - 1);\n"
        "	u32 from;\n"
        "	u32 i;\n"
        "\n"
        "	for (i = span.slots; i-- > 0; desc = (desc ? desc : pacer->ring.slots) - 1) {\n"
        "		if (i + 2 == span.slots)\n"
        "			slot_bytes = pacer->config.slot_bytes;\n",
        "	u32 desc = first;\n"
        "	u32 from;\n"
        "	u32 i;\n"
        "\n"
        "	for (i = 0; i < span.slots; i++, desc = nth_desc(&pacer->ring, first, i)) {\n"
        "		slot_bytes = i + 1 < span.slots ? pacer->config.slot_bytes :\n"
        "						  kpn_slot_bytes_with(pacer, delta_ps);\n",
        SPAN,
    ),
    Mutation(
        "completed while it is on the wire",
        "complete.c",
        "	to = kpn_ring_start(ring, to);\n",
        "",
        SPAN,
    ),
    Mutation(
        "an index within a frame taken for a slot's",
        "kpn_head.h",
        "		if (slot->frame && slot->frame->slots > 1)\n",
        "		if (false)\n",
        SPAN,
    ),
    Mutation(
        "only trimmed slots are uneven",
        "pacer.c",
        "if (KPN_UNLIKELY(pacer->ring.trim_count | pacer->ring.span_count))",
        "if (KPN_UNLIKELY(pacer->ring.trim_count))",
        SPAN,
    ),
    Mutation(
        "trims within a frame stay where they were",
        "place.c",
        "		kpn_ring_gather_deltas(&pacer->ring, seq, span.slots);\n",
        "		;\n",
        SPAN,
    ),
    Mutation(
        "a frame is not trimmed",
        "post.c",
        "	if (KPN_UNLIKELY(frame && frame->slots > 1))\n"
        "		kpn_trim_span(pacer, at->desc, frame, delta_ps);\n"
        "	else\n",
        "",
        SPAN,
    ),
    Mutation(
        "a trim at the first slot of a frame",
        "post.c",
        "KPN_UNLIKELY(pacer->ring.span_count) ? kpn_ring_last(&pacer->ring, seq) :",
        "KPN_UNLIKELY(false) ? kpn_ring_last(&pacer->ring, seq) :",
        SPAN,
    ),
    Mutation(
        "placeholders behind a frame stay short",
        "place.c",
        "			pacer->nic_ops.set_length(pacer->nic, desc, slot_bytes);\n"
        "			continue;\n",
        "			continue;\n",
        SPAN,
    ),
    Mutation(
        "the tail within a frame",
        "kpn_post.h",
        "		count = (u32)(kpn_ring_behind(ring, tail_seq + count) - tail_seq);\n",
        "		;\n",
        SPAN,
    ),
    Mutation(
        "placed across the tail",
        "insert.c",
        "	if (spans && waits_for_tail(pacer, frame, target))\n",
        "	if (false)\n",
        SPAN,
    ),
    Mutation(
        "best effort placed across the tail",
        "search.c",
        "		if (seq < tail && seq + slots > tail)\n",
        "		if (false)\n",
        SPAN,
    ),
    Mutation(
        "inner slots are free",
        "search.c",
        "		taken |= kpn_bits_window(&ring->inner, desc);\n",
        "		;\n",
        SPAN,
    ),
    Mutation(
        "a row that is interrupted goes on",
        "search.c",
        "		row->count = 0;\n",
        "		;\n",
        SPAN,
    ),
    Mutation(
        "a row beside slots of another class",
        "insert.c",
        "	if (!kpn_row_allowed(pacer, target, frame->slots, frame->tc))\n"
        "		return KPN_VERDICT_NOT_ALLOWED;\n",
        "",
        SPAN,
    ),
    Mutation(
        "longer than any row",
        "insert.c",
        "	if (frame->slots > kpn_row_max(pacer, frame->tc))\n"
        "		return KPN_VERDICT_OVERSIZE;\n",
        "",
        SPAN,
    ),
    Mutation(
        "what makes room is torn apart",
        "fallback.c",
        "kpn_recall_yielding(pacer, 1u << holder->tc, start,",
        "kpn_recall_yielding(pacer, 1u << holder->tc, seq,",
        SPAN,
    ),
    Mutation(
        "what is under way makes room",
        "fallback.c",
        "	if (KPN_UNLIKELY(pacer->ring.span_count) && kpn_lost_by(pacer, start,",
        "	if (false && kpn_lost_by(pacer, start,",
        SPAN,
    ),
    Mutation(
        "a stop within a frame",
        "stop.c",
        "kpn_ring_start(ring, kpn_passed_seq(pacer))",
        "kpn_passed_seq(pacer)",
        SPAN,
    ),
    Mutation(
        "best effort is taken back where that takes too long",
        "head.c",
        "pacer->ring.span_count ? pacer->span.stores_ns : 0;",
        "0;",
        SPAN,
    ),
    Mutation(
        "stores of a long frame take no time",
        "place.c",
        "	ahead_ns += kpn_span_stores_ns(pacer, frame);\n",
        "",
        SPAN,
    ),
    Mutation(
        "the last slot of a frame begins where a nominal one does",
        "pacer.c",
        "	pacer->frames.fetched_slots++;\n",
        "",
        SPAN,
    ),
    Mutation(
        "the tail beyond the ring",
        "post.c",
        "u64 end = pacer->posting.post_seq < most ? pacer->posting.post_seq : most;",
        "u64 end = pacer->posting.post_seq;",
        SPAN,
    ),
    Mutation(
        "slot after slot of what is under way is asked for",
        "fallback.c",
        "			from = behind_holder(pacer, frame, seq);\n",
        "			from = seq + 1;\n",
        SPAN,
    ),
    Mutation(
        "what waits takes from the budget",
        "waiting.c",
        "	if (kpn_place_later(pacer, frame, other.from, other.end, placement)) {\n"
        "		spend_more(pacer, frame);\n",
        "	spend_more(pacer, frame);\n"
        "	if (kpn_place_later(pacer, frame, other.from, other.end, placement)) {\n",
        SPAN,
    ),
    Mutation(
        "a switch within a frame is not reviewed",
        "switch.c",
        "kpn_review_from(pacer, kpn_ring_start(&pacer->ring, changed));",
        "kpn_review_from(pacer, changed);",
        SPAN,
    ),
    Mutation(
        "placed ahead by less than its stores take",
        "pacer.c",
        "pacer->span.slots_max + pacer->span.ahead_slots;",
        "pacer->span.slots_max;",
        SPAN,
    ),
    Mutation(
        "a correction that one frame does not bear unlocks the grid",
        "post.c",
        "	if (frame->slots > 1)\n		return trim_in_part(pacer, plan->seq, delta_ps);\n",
        "",
        SPAN,
    ),
)
