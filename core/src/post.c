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

/* Plan and post the slot at the tail, which may be trimmed. Return: whether it was. */
static inline bool post_one(struct kpn_pacer *pacer)
{
	struct kpn_ring *ring = &pacer->ring;
	s64 delta_ps = kpn_align_trim(&pacer->align, &pacer->clock, ring->tail_seq, ring->tail_ps);

	if (!delta_ps) {
		kpn_ring_post(ring, 1);
		return false;
	}
	pacer->nic_ops.set_length(pacer->nic, kpn_ring_desc(ring, ring->tail_seq),
				  kpn_slot_bytes_with(pacer, delta_ps));
	kpn_ring_post_trimmed(ring, delta_ps);
	pacer->stats.trims++;
	return true;
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

/* What a slot was trimmed to before re-planning is void: nominal again, unless it is @trimmed anew. */
static inline void forget_trim(struct kpn_pacer *pacer, u64 seq, bool trimmed)
{
	u32 desc = kpn_ring_desc(&pacer->ring, seq);
	u64 bit = 1ull << desc % KPN_RING_WORD_BITS;
	u64 *word = &pacer->retracted[desc / KPN_RING_WORD_BITS];

	if ((*word & bit) && !trimmed)
		pacer->nic_ops.set_length(pacer->nic, desc, pacer->config.slot_bytes);
	*word &= ~bit;
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
	kpn_align_replan(&pacer->align, from);
	while (ring->tail_seq != end) {
		u64 due = next_trimmable(pacer, pacer->align.next_trim_seq, end);

		for (; ring->tail_seq != (due < end ? due : end); kpn_ring_post(ring, 1))
			forget_trim(pacer, ring->tail_seq, false);
		if (ring->tail_seq != end) {
			bool trimmed = post_one(pacer);

			forget_trim(pacer, due, trimmed);
		}
	}
}
