// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What becomes of slots that have left the wire and were not plain placeholders: frames are reported with the instant at
 * which they were on the wire, their slots are placeholders again, trimmed slots get their nominal length back.
 */
#include "kpn_clock_law.h"
#include "kpn_padding.h"

/* The head moves to @to, which no claimed slot precedes. */
static inline void pass(struct kpn_pacer *pacer, u64 to)
{
	u32 desc;

	while (kpn_ring_pass(&pacer->ring, to, &desc))
		pacer->nic_ops.set_length(pacer->nic, desc, pacer->config.slot_bytes);
}

/*
 * Frames from slot @seq to before @to, as far as they share a word of the bitmap, have left. What is the same for all of them
 * is done once. Return: the next claimed slot, or @end.
 */
static inline u64 finish_word(struct kpn_pacer *pacer, u64 seq, u64 to, u64 end)
{
	struct kpn_ring *ring = &pacer->ring;
	u32 desc = kpn_ring_desc(ring, seq);
	u32 word = desc / KPN_RING_WORD_BITS;
	u32 bit = desc % KPN_RING_WORD_BITS;
	u64 first_seq = seq - bit;
	u64 left = ring->claimed[word] >> bit << bit;
	u64 first_ps = ring->head_ps + (first_seq - ring->head_seq) * ring->slot_ps + pacer->sfd_ps;
	u32 count = 0;
	u64 done;

	if (to - first_seq < KPN_RING_WORD_BITS)
		left &= (1ull << (to - first_seq)) - 1;
	for (done = left; left; left &= left - 1) {
		struct kpn_frame *frame;

		bit = kpn_lowest_bit(left);
		count++;
		if (KPN_UNLIKELY(ring->trim_count)) {
			pass(pacer, first_seq + bit);
			first_ps = ring->head_ps + (first_seq - ring->head_seq) * ring->slot_ps + pacer->sfd_ps;
		}
		desc = word * KPN_RING_WORD_BITS + bit;
		frame = ring->slot[desc].frame;
		KPN_ASSERT(frame);
		ring->slot[desc].frame = NULL;
		kpn_forget(pacer, frame, desc, pacer->config.slot_bytes);
		kpn_end_frame(pacer, frame, frame->verdict, kpn_law_at(&pacer->clock, first_ps + bit * ring->slot_ps));
	}
	pacer->stats.frames_completed += count;
	left = kpn_ring_unmark(ring, word, done, count) >> bit >> 1;
	if (KPN_LIKELY(left))
		return first_seq + bit + 1 + kpn_lowest_bit(left);
	return kpn_ring_next_claimed(ring, first_seq + bit + 1, end);
}

u64 kpn_complete_touched(struct kpn_pacer *pacer, u64 to)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->head_seq + ring->slots;
	u64 claimed = ring->claimed_count ? ring->quiet_seq : end;
	u64 end_ps;

	/* That is where a claimed slot was, or a trim. */
	if (claimed != end && !kpn_ring_frame(ring, claimed))
		claimed = kpn_ring_next_claimed(ring, claimed, end);
	while (claimed < to)
		claimed = finish_word(pacer, claimed, to, end);
	pass(pacer, to);
	end_ps = ring->head_ps + ring->slot_ps;
	if (claimed == end)
		claimed = KPN_SEQ_NEVER;
	if (KPN_UNLIKELY(ring->trim_count)) {
		const struct kpn_trim *trim = &ring->trims[ring->trim_first];

		if (trim->seq == to)
			end_ps += (u64)trim->delta_ps;
		if (trim->seq < claimed)
			claimed = trim->seq;
	}
	ring->quiet_seq = claimed;
	return end_ps;
}
