// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A frame into any free slot, and how far ahead of the head that slot must be; frames of several
 * slots.
 */
#include "kpn_head.h"
#include "kpn_place.h"

static u32 nth_desc(const struct kpn_ring *ring, u32 desc, u32 n)
{
	return desc + n >= ring->slots ? desc + n - ring->slots : desc + n;
}

/* Bytes to add to a slot that differs by @delta_ps, modulo 2^32 if it is shorter. */
static u32 trim_bytes(const struct kpn_pacer *pacer, s64 delta_ps)
{
	return kpn_slot_bytes_with(pacer, delta_ps) - pacer->config.slot_bytes;
}

/* Data bytes of fragment @i; @from receives where in the frame they begin. */
static u32 data_in(const struct kpn_span *span, u32 i, u32 data_bytes, u32 *from)
{
	u32 bytes = kpn_span_fragment(span, i, from);

	if (*from >= data_bytes)
		return 0;
	return bytes < data_bytes - *from ? bytes : data_bytes - *from;
}

/*
 * Copy the bytes of @frame into the buffers of its descriptors. Return: @written_bytes of the
 * first one's commit.
 */
static u32 copy_fragments(struct kpn_pacer *pacer, const struct kpn_frame *frame,
			  const struct kpn_span *span, u32 first)
{
	u32 data_bytes = (u32)frame->frame_bytes - KPN_FCS_BYTES;
	u32 written_bytes = data_bytes;
	u32 i;

	for (i = 0; i < span->fragments; i++) {
		u32 desc = nth_desc(&pacer->ring, first, i);
		u8 *buffer = pacer->nic_ops.buffer(pacer->nic, desc);
		u32 from;
		u32 bytes = data_in(span, i, data_bytes, &from);

		memcpy(buffer, (const u8 *)frame->data + from, bytes);
		if (pacer->frames.old_bytes)
			written_bytes = kpn_pad(pacer, buffer, desc, bytes);
	}
	return written_bytes;
}

/* The slots were lost while the frame was copied: make them placeholders again. */
static void take_fragments_back(struct kpn_pacer *pacer, const struct kpn_frame *frame,
				const struct kpn_span *span, u32 first, u32 written_bytes)
{
	u32 from;
	u32 i;

	if (pacer->frames.old_bytes)
		pacer->frames.old_bytes[first] = (u16)written_bytes;
	for (i = 0; i < span->fragments; i++) {
		u32 desc = nth_desc(&pacer->ring, first, i);

		kpn_retire(pacer, desc, kpn_slot_bytes_with(pacer, pacer->ring.slot[desc].delta_ps),
			   data_in(span, i, (u32)frame->frame_bytes - KPN_FCS_BYTES, &from));
	}
}

/*
 * Placeholders after the frame get their lengths first, from the last on; then the frame is made
 * real.
 */
static void store_span(struct kpn_pacer *pacer, const struct kpn_frame *frame,
		       struct kpn_span *span, u32 first, u32 written_bytes)
{
	const struct kpn_ring *ring = &pacer->ring;
	u32 last = nth_desc(ring, first, span->slots - 1);
	u32 more_bytes = trim_bytes(pacer, ring->slot[last].delta_ps);
	u32 data_bytes = (u32)frame->frame_bytes - KPN_FCS_BYTES;
	u32 i;

	if (span->last_bytes)
		pacer->nic_ops.set_length(pacer->nic, last, span->last_bytes + more_bytes);
	else
		span->frame_bytes += more_bytes;
	for (i = span->slots - 1; i-- > span->fragments;)
		pacer->nic_ops.set_length(pacer->nic, nth_desc(ring, first, i), span->short_bytes);
	if (span->fragments > 1)
		pacer->nic_ops.commit_fragments(pacer->nic, first, span, data_bytes);
	else
		pacer->nic_ops.commit(pacer->nic, first, span->frame_bytes, data_bytes,
				      written_bytes);
}

/*
 * By how much slots after the frame can shift if the NIC fetched some descriptors before the
 * stores.
 */
static u64 shift_ps(const struct kpn_pacer *pacer, const struct kpn_span *span)
{
	if (span->fragments == span->slots)
		return 0;
	if (span->fragments > 1)
		return pacer->time.slot_ps;
	return (u64)kpn_wire_bytes(span->frame_bytes) * pacer->time.byte_ps - pacer->time.slot_ps;
}

KPN_NOINLINE bool kpn_place_span(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq,
				 enum kpn_verdict verdict, const struct kpn_placement *placement,
				 u64 ahead_ns)
{
	struct kpn_span span = kpn_span_of(&pacer->span.rule, frame->frame_bytes);
	u32 first = kpn_ring_desc(&pacer->ring, seq);
	u32 written_bytes = copy_fragments(pacer, frame, &span, first);
	bool yields = verdict == KPN_VERDICT_BEST_EFFORT;

	ahead_ns += kpn_span_stores_ns(pacer, frame);
	if (KPN_UNLIKELY(kpn_lost(pacer, seq, placement, ahead_ns))) {
		take_fragments_back(pacer, frame, &span, first, written_bytes);
		return false;
	}
	if (pacer->ring.trim_count)
		kpn_ring_gather_deltas(&pacer->ring, seq, span.slots);
	store_span(pacer, frame, &span, first, written_bytes);
	if (KPN_UNLIKELY(kpn_may_be_fetched(pacer, seq, placement->until_ns))) {
		verdict = KPN_VERDICT_IN_DOUBT;
		yields = false;
		if (shift_ps(pacer, &span))
			kpn_doubt_lengths(pacer, shift_ps(pacer, &span), seq + span.slots);
	}
	frame->seq = seq;
	frame->verdict = (u8)verdict;
	kpn_ring_claim_span(&pacer->ring, seq, frame, yields);
	return true;
}

void kpn_retire_span(struct kpn_pacer *pacer, u32 first, const struct kpn_frame *frame,
		     s64 delta_ps)
{
	struct kpn_span span = kpn_span_of(&pacer->span.rule, frame->frame_bytes);
	u32 data_bytes = (u32)frame->frame_bytes - KPN_FCS_BYTES;
	u32 slot_bytes = kpn_slot_bytes_with(pacer, delta_ps);
	u32 desc = nth_desc(&pacer->ring, first, span.slots - 1);
	u32 from;
	u32 i;

	for (i = span.slots; i-- > 0; desc = (desc ? desc : pacer->ring.slots) - 1) {
		if (i + 2 == span.slots)
			slot_bytes = pacer->config.slot_bytes;
		if (i >= span.fragments) {
			pacer->nic_ops.set_length(pacer->nic, desc, slot_bytes);
			continue;
		}
		/* the FCS of fragments follows the data, later where they were trimmed */
		if (span.fragments > 1)
			data_bytes = kpn_span_fragment(&span, i, &from) +
				     (span.last_bytes ? 0 : pacer->span.rule.keep_bytes);
		kpn_retire(pacer, desc, slot_bytes, data_bytes);
	}
}

void kpn_trim_span(struct kpn_pacer *pacer, u32 desc, const struct kpn_frame *frame, s64 delta_ps)
{
	struct kpn_span span = kpn_span_of(&pacer->span.rule, frame->frame_bytes);
	u32 more_bytes = trim_bytes(pacer, delta_ps);
	u32 before = span.slots - 1;

	if (span.last_bytes) {
		pacer->nic_ops.set_length(pacer->nic, desc, span.last_bytes + more_bytes);
		return;
	}
	span.frame_bytes += more_bytes;
	pacer->nic_ops.commit_fragments(
		pacer->nic, desc < before ? desc + pacer->ring.slots - before : desc - before,
		&span, (u32)frame->frame_bytes - KPN_FCS_BYTES);
}

/*
 * A slot was lost while its frame was copied: place the next frames further ahead by twice the
 * delay.
 */
static KPN_NOINLINE void widen_margin(struct kpn_pacer *pacer,
				      const struct kpn_placement *placement)
{
	s64 late_ns = (s64)(kpn_cpu_now(pacer) + KPN_STORE_NS + pacer->caps.store_ns_max -
			    placement->cpu_ns);
	u64 ahead_ns = pacer->frames.insert_margin_ns + (late_ns > 0 ? 2 * (u64)late_ns : 0);

	pacer->frames.insert_margin_ns =
		ahead_ns < KPN_INSERT_MARGIN_NS_MAX ? (u32)ahead_ns : KPN_INSERT_MARGIN_NS_MAX;
}

KPN_NOINLINE bool kpn_place(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq,
			    enum kpn_verdict verdict, const struct kpn_placement *placement)
{
	bool placed;

	if (KPN_UNLIKELY(frame->slots > 1))
		placed = kpn_place_span(pacer, frame, seq, verdict, placement, KPN_STORE_NS);
	else
		placed = kpn_place_inline(pacer, frame, seq, verdict, placement, KPN_STORE_NS);
	if (KPN_UNLIKELY(!placed)) {
		widen_margin(pacer, placement);
		return false;
	}
	/* decay: a CPU held up once is not slow for ever */
	pacer->frames.insert_margin_ns -= pacer->frames.insert_margin_ns / 8;
	return true;
}
