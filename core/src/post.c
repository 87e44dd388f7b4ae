// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Posting where lengths differ: which slots are trimmed when they are handed to the NIC, and once more when the clock has
 * changed under slots already posted. When slots are posted, and how many, is the pacer's affair (docs/model.md).
 */
#include "kpn_pacer_state.h"

/* First slot at or after @seq and the tail that may be trimmed, if that is before @end. */
static inline u64 next_trimmable(const struct kpn_pacer *pacer, u64 seq, u64 end)
{
	const struct kpn_partition *partition = &pacer->partition;
	u32 idx;

	if (seq < pacer->ring.tail_seq)
		seq = pacer->ring.tail_seq;
	if (pacer->config.trim == KPN_TRIM_ANY || seq >= end)
		return seq;
	idx = kpn_partition_idx_of(pacer, seq);
	for (; seq < end; seq++) {
		if (!partition->allowed[idx])
			break;
		if (++idx == partition->slots)
			idx = 0;
	}
	return seq;
}

/* Of the slots before @to that were trimmed once, those still to be posted become nominal again. */
static void forget_trims(struct kpn_pacer *pacer, u64 to)
{
	struct kpn_ring *ring = &pacer->ring;

	for (; ring->tail_seq != to; kpn_ring_post(ring, 1)) {
		u64 bit = 1ull << ring->tail_idx % KPN_RING_WORD_BITS;
		u64 *word = &pacer->retracted[ring->tail_idx / KPN_RING_WORD_BITS];

		if (*word & bit)
			pacer->nic_ops.set_length(pacer->nic, ring->tail_idx, pacer->config.slot_bytes);
		*word &= ~bit;
	}
}

/* Plan and post the slot at the tail, which may be trimmed. */
static void post_one(struct kpn_pacer *pacer)
{
	struct kpn_ring *ring = &pacer->ring;
	s64 delta_ps = kpn_align_trim(&pacer->align, &pacer->clock, ring->tail_seq, ring->tail_ps);

	if (!delta_ps) {
		forget_trims(pacer, ring->tail_seq + 1);
		return;
	}
	pacer->retracted[ring->tail_idx / KPN_RING_WORD_BITS] &= ~(1ull << ring->tail_idx % KPN_RING_WORD_BITS);
	pacer->nic_ops.set_length(pacer->nic, ring->tail_idx, kpn_slot_bytes_with(pacer, delta_ps));
	kpn_ring_post_trimmed(ring, delta_ps);
	pacer->stats.trims++;
}

void kpn_post_trimming(struct kpn_pacer *pacer, u32 count)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->tail_seq + count;

	for (;;) {
		u64 due = next_trimmable(pacer, pacer->align.next_trim_seq, end);

		if (due >= end)
			break;
		kpn_ring_post(ring, (u32)(due - ring->tail_seq));
		post_one(pacer);
	}
	kpn_ring_post(ring, (u32)(end - ring->tail_seq));
}

void kpn_post_again(struct kpn_pacer *pacer, u64 from)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->tail_seq;
	struct kpn_trim trim;

	if (!pacer->phase_locked)
		return;
	while (kpn_ring_retract_trim(ring, from, &trim)) {
		u32 desc = kpn_ring_desc(ring, trim.seq);

		pacer->retracted[desc / KPN_RING_WORD_BITS] |= 1ull << desc % KPN_RING_WORD_BITS;
	}
	ring->tail_ps = kpn_ring_start_ps(ring, from);
	ring->tail_seq = from;
	ring->tail_idx = kpn_ring_desc(ring, from);
	pacer->align.next_trim_seq = from;
	/* What was on the way to the grid is so at another rate now and may get there later. */
	if (pacer->align.lock_seq > from)
		kpn_align_unlock(&pacer->align);
	for (;;) {
		u64 due = next_trimmable(pacer, pacer->align.next_trim_seq, end);

		forget_trims(pacer, due < end ? due : end);
		if (ring->tail_seq == end)
			break;
		post_one(pacer);
	}
}
