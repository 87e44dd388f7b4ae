/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The slot ring: which slots were sent, which are posted, which carry frames, and where each starts on the
 * wire. Slots differ from nominal length only by trims, which are kept in a queue of their own, and only slots
 * that carry a frame are marked; so passing untouched slots costs the same for any number. It
 * does not know time (KeepON paper section 3.1).
 */
#ifndef KPN_RING_H
#define KPN_RING_H

#include "keepon/config.h"
#include "keepon/frame.h"

enum { KPN_RING_WORD_BITS = 64 };

/** struct kpn_trim - slot @seq is @delta_ps longer (negative: shorter) than nominal */
struct kpn_trim {
	u64 seq;
	s64 delta_ps;
};

/** struct kpn_slot - a claimed slot; @frame is NULL for a placeholder */
struct kpn_slot {
	struct kpn_frame *frame;
};

/**
 * struct kpn_ring - slots [head_seq, tail_seq) are posted; frames may sit in [head_seq, head_seq + slots)
 * @head_seq, @head_ps: next to complete: sequence, start on the wire
 * @tail_seq, @tail_ps: next to post
 * @wrap_seq: next slot after the head in descriptor 0
 * @quiet_seq: no slot before it is claimed or trimmed
 * @slots: ring size; @slot_ps: nominal length on the wire
 * @claimed: bit per descriptor that carries a frame; @claimed_words: bit per word of @claimed not zero
 * @claimed_count: frames in the ring
 * @trims: queue by seq, from @trim_first, @trim_count long, wrapping at @slots
 * @slot: per descriptor
 */
struct kpn_ring {
	u64 head_seq;
	u64 head_ps;
	u64 tail_seq;
	u64 tail_ps;
	u64 slot_ps;
	u64 quiet_seq;
	u64 wrap_seq;
	u32 slots;
	u32 claimed_count;
	u64 claimed_words;
	u64 claimed[KPN_RING_SLOTS_MAX / KPN_RING_WORD_BITS];
	struct kpn_trim *trims;
	u32 trim_first;
	u32 trim_count;
	struct kpn_slot *slot;
};

size_t kpn_ring_bytes(u32 slots);
void kpn_ring_init(struct kpn_ring *ring, void *memory, u32 slots, u64 slot_ps);

/** kpn_ring_desc() - descriptor of @seq, which is in [head_seq, head_seq + slots] */
static inline u32 kpn_ring_desc(const struct kpn_ring *ring, u64 seq)
{
	u32 idx = (u32)(seq - ring->wrap_seq);

	return (s32)idx < 0 ? idx + ring->slots : idx;
}

/** kpn_ring_frame() - frame in slot @seq of the ring, or NULL */
static inline struct kpn_frame *kpn_ring_frame(const struct kpn_ring *ring, u64 seq)
{
	return ring->slot[kpn_ring_desc(ring, seq)].frame;
}

/** kpn_ring_claim() - put @frame into the placeholder slot @seq, whose descriptor is @desc */
static inline void kpn_ring_claim(struct kpn_ring *ring, u64 seq, u32 desc, struct kpn_frame *frame)
{
	KPN_ASSERT(seq - ring->head_seq < ring->slots && !ring->slot[desc].frame);
	ring->slot[desc].frame = frame;
	ring->claimed[desc / KPN_RING_WORD_BITS] |= 1ull << desc % KPN_RING_WORD_BITS;
	ring->claimed_words |= 1ull << desc / KPN_RING_WORD_BITS;
	ring->claimed_count++;
	if (seq < ring->quiet_seq)
		ring->quiet_seq = seq;
}

/** kpn_ring_unmark() - the @count descriptors of bitmap word @word set in @mask carry no frame any more; returns the others */
static inline u64 kpn_ring_unmark(struct kpn_ring *ring, u32 word, u64 mask, u32 count)
{
	u64 left = ring->claimed[word] & ~mask;

	ring->claimed[word] = left;
	if (!left)
		ring->claimed_words &= ~(1ull << word);
	ring->claimed_count -= count;
	return left;
}

/** kpn_ring_release() - make the slot in descriptor @desc a placeholder again; returns what it carried */
static inline struct kpn_frame *kpn_ring_release(struct kpn_ring *ring, u32 desc)
{
	struct kpn_frame *frame = ring->slot[desc].frame;

	KPN_ASSERT(frame);
	ring->slot[desc].frame = NULL;
	kpn_ring_unmark(ring, desc / KPN_RING_WORD_BITS, 1ull << desc % KPN_RING_WORD_BITS, 1);
	return frame;
}

/** kpn_ring_skip() - the head moves over untouched slots to @to, at most tail_seq, which the caller has made sure of */
static inline void kpn_ring_skip(struct kpn_ring *ring, u64 to)
{
	u64 count = to - ring->head_seq;

	ring->head_seq = to;
	ring->head_ps += count * ring->slot_ps;
	if (to >= ring->wrap_seq)
		ring->wrap_seq += ring->slots;
}

/** kpn_ring_next_claimed() - first claimed slot in [from, to), or @to; both within the ring */
u64 kpn_ring_next_claimed(const struct kpn_ring *ring, u64 from, u64 to);

/** kpn_ring_delta_ps() - by how much slot @seq differs from nominal; walks trims, at most the ring */
s64 kpn_ring_delta_ps(const struct kpn_ring *ring, u64 seq);

/** kpn_ring_start_ps() - where slot @seq in [head_seq, tail_seq] starts on the wire; walks trims */
u64 kpn_ring_start_ps(const struct kpn_ring *ring, u64 seq);

/**
 * kpn_ring_seq_at() - slot that is on the wire at @position_ps, the head at least; walks trims
 * @end_ps: receives where that slot ends, as if the tail had nominal slots behind it
 */
u64 kpn_ring_seq_at(const struct kpn_ring *ring, u64 position_ps, u64 *end_ps);

/** kpn_ring_post() - post @count nominal slots at the tail; the caller has made sure that the ring holds them */
static inline void kpn_ring_post(struct kpn_ring *ring, u32 count)
{
	ring->tail_seq += count;
	ring->tail_ps += count * ring->slot_ps;
}

/** kpn_ring_post_trimmed() - post one slot of another length */
static inline void kpn_ring_post_trimmed(struct kpn_ring *ring, s64 delta_ps)
{
	u32 idx = ring->trim_first + ring->trim_count++;

	ring->trims[idx >= ring->slots ? idx - ring->slots : idx] = (struct kpn_trim){ ring->tail_seq, delta_ps };
	if (ring->tail_seq < ring->quiet_seq)
		ring->quiet_seq = ring->tail_seq;
	kpn_ring_post(ring, 1);
	ring->tail_ps += (u64)delta_ps;
}

/** kpn_ring_retract_trim() - forget the last trim if it is at or after @from; false if there is none */
bool kpn_ring_retract_trim(struct kpn_ring *ring, u64 from, struct kpn_trim *trim);

/**
 * kpn_ring_pass() - the head moves over placeholders to @to, up to and including the next trim
 * @to: at most tail_seq; no claimed slot before it
 * @desc_idx: receives the descriptor of the trim that ended the pass early
 *
 * Return: true if a trimmed slot was passed (call again), false when head_seq == @to.
 */
static inline bool kpn_ring_pass(struct kpn_ring *ring, u64 to, u32 *desc_idx)
{
	const struct kpn_trim *trim = &ring->trims[ring->trim_first];

	if (KPN_LIKELY(!ring->trim_count) || trim->seq >= to) {
		kpn_ring_skip(ring, to);
		return false;
	}
	*desc_idx = kpn_ring_desc(ring, trim->seq);
	ring->trim_count--;
	if (++ring->trim_first == ring->slots)
		ring->trim_first = 0;
	ring->head_ps += (u64)trim->delta_ps;
	kpn_ring_skip(ring, trim->seq + 1);
	return true;
}

#endif
