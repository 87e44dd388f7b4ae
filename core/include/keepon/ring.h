/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The slot ring: which slots were sent, which are posted, which carry frames, and where each starts
 * on the wire. Only trims make a slot differ from nominal length. Slots that carry a frame or are
 * trimmed are members of sets, so that passing any number of other slots costs the same. The ring
 * does not know time (KeepON paper section 3.1).
 */
#ifndef KPN_RING_H
#define KPN_RING_H

#include "keepon/bits.h"
#include "keepon/config.h"
#include "keepon/frame.h"

/**
 * struct kpn_cursor - a place between two slots
 * @seq: slot after it; @ps: start of that slot on the wire; @desc: its descriptor
 */
struct kpn_cursor {
	u64 seq;
	u64 ps;
	u32 desc;
};

/**
 * struct kpn_slot - one descriptor
 * @frame: the frame in it
 * @delta_ps: by how much the slot is longer than nominal; of a frame's slots only the last may
 *	differ, on behalf of all
 * @within: how many slots of its frame precede it
 */
struct kpn_slot {
	struct kpn_frame *frame;
	s32 delta_ps;
	u16 within;
};

/**
 * struct kpn_ring - slots [head, tail) are posted; frames may sit in [head, head + slots)
 * @head: next to complete
 * @plan: slots before it have their planned length; used only while slots between it and the tail
 *	do not
 * @tail: next to post
 * @index_seq: position of the NIC's index, from head to tail; @index_ps: start of that slot on the
 *	wire
 * @slots: ring size; @slot_ps: nominal length on the wire
 * @quiet_seq: no slot before it is claimed or trimmed
 * @claimed: first descriptors of frames; @claimed_count: their number
 * @inner: the other descriptors of frames of several slots; @span_count: number of such frames
 * @yielding: descriptors whose frame makes room for a scheduled one (best effort)
 * @trimmed: descriptors of posted slots that differ from nominal; @trim_count: their number
 * @word_ps: per word of @trimmed: by how much its slots together are longer than nominal
 * @trimmed_end: no slot from there on is trimmed
 * @slot: per descriptor
 */
struct kpn_ring {
	struct kpn_cursor head;
	struct kpn_cursor tail;
	struct kpn_cursor plan;
	u64 index_seq;
	u64 index_ps;
	u64 slot_ps;
	u64 quiet_seq;
	u64 trimmed_end;
	u32 slots;
	u32 claimed_count;
	u32 yielding_count;
	u32 trim_count;
	u32 span_count;
	struct kpn_slot *slot;
	struct kpn_bits claimed;
	struct kpn_bits inner;
	struct kpn_bits yielding;
	struct kpn_bits trimmed;
	s64 word_ps[KPN_BITS_WORDS];
};

size_t kpn_ring_bytes(u32 slots);
void kpn_ring_init(struct kpn_ring *ring, void *memory, u32 slots, u64 slot_ps);

/** kpn_ring_desc() - descriptor of @seq, which is in [head, head + slots] */
static inline u32 kpn_ring_desc(const struct kpn_ring *ring, u64 seq)
{
	u32 desc = ring->head.desc + (u32)(seq - ring->head.seq);

	return desc >= ring->slots ? desc - ring->slots : desc;
}

/** kpn_ring_frame() - frame in slot @seq of the ring, or NULL */
static inline struct kpn_frame *kpn_ring_frame(const struct kpn_ring *ring, u64 seq)
{
	return ring->slot[kpn_ring_desc(ring, seq)].frame;
}

/** kpn_ring_next_desc() - the descriptor after @desc */
static inline u32 kpn_ring_next_desc(const struct kpn_ring *ring, u32 desc)
{
	return desc + 1 == ring->slots ? 0 : desc + 1;
}

/** kpn_ring_start() - first slot of the frame in slot @seq; @seq if it has no frame */
static inline u64 kpn_ring_start(const struct kpn_ring *ring, u64 seq)
{
	return seq - ring->slot[kpn_ring_desc(ring, seq)].within;
}

/** kpn_ring_behind() - first slot from @seq on that is not inside a frame that began before it */
static inline u64 kpn_ring_behind(const struct kpn_ring *ring, u64 seq)
{
	const struct kpn_slot *slot = &ring->slot[kpn_ring_desc(ring, seq)];

	return slot->within ? seq - slot->within + slot->frame->slots : seq;
}

/** kpn_ring_last() - last slot of the frame in slot @seq; @seq if it has no frame */
static inline u64 kpn_ring_last(const struct kpn_ring *ring, u64 seq)
{
	const struct kpn_slot *slot = &ring->slot[kpn_ring_desc(ring, seq)];

	return slot->frame && slot->frame->slots > 1 ? seq - slot->within + slot->frame->slots - 1 :
						       seq;
}

/** kpn_ring_delta_ps() - by how much slot @seq differs from nominal */
static inline s64 kpn_ring_delta_ps(const struct kpn_ring *ring, u64 seq)
{
	return ring->slot[kpn_ring_desc(ring, seq)].delta_ps;
}

/**
 * kpn_ring_claim() - put @frame, of one slot, into the placeholder slot @seq with descriptor @desc;
 * @yields: best effort
 */
static inline void kpn_ring_claim(struct kpn_ring *ring, u64 seq, u32 desc, struct kpn_frame *frame,
				  bool yields)
{
	KPN_ASSERT(seq - ring->head.seq < ring->slots && !ring->slot[desc].frame);
	ring->slot[desc].frame = frame;
	kpn_bits_set(&ring->claimed, desc);
	ring->claimed_count++;
	if (yields) {
		kpn_bits_set(&ring->yielding, desc);
		ring->yielding_count++;
	}
	if (seq < ring->quiet_seq)
		ring->quiet_seq = seq;
}

/** kpn_ring_claim_span() - the same for @frame->slots slots from @seq on */
void kpn_ring_claim_span(struct kpn_ring *ring, u64 seq, struct kpn_frame *frame, bool yields);

/**
 * kpn_ring_free_inner() - free all slots but the first, in descriptor @desc, of @frame, which takes
 * several
 */
void kpn_ring_free_inner(struct kpn_ring *ring, u32 desc, const struct kpn_frame *frame);

/** kpn_ring_unyield() - the frame that begins in @desc no longer makes room for scheduled ones */
void kpn_ring_unyield(struct kpn_ring *ring, u32 desc);

/**
 * kpn_ring_release() - make the slots of the frame that begins in @desc placeholders again. Return:
 * the frame
 */
static inline struct kpn_frame *kpn_ring_release(struct kpn_ring *ring, u32 desc)
{
	struct kpn_frame *frame = ring->slot[desc].frame;

	KPN_ASSERT(frame);
	kpn_ring_unyield(ring, desc);
	if (KPN_UNLIKELY(frame->slots > 1))
		kpn_ring_free_inner(ring, desc, frame);
	ring->slot[desc].frame = NULL;
	kpn_bits_clear(&ring->claimed, desc);
	ring->claimed_count--;
	return frame;
}

/**
 * kpn_ring_next() - first slot in [from, to) whose descriptor is in @bits, or @to; both within the
 * ring
 */
u64 kpn_ring_next(const struct kpn_ring *ring, const struct kpn_bits *bits, u64 from, u64 to);

/** kpn_ring_next_near() - the same, faster if the slot is one of the next few */
static inline u64 kpn_ring_next_near(const struct kpn_ring *ring, const struct kpn_bits *bits,
				     u64 from, u64 to)
{
	u32 desc = kpn_ring_desc(ring, from);
	u64 word = bits->word[desc / 64] >> desc % 64;
	u64 found = from + (word ? kpn_lowest_bit(word) : 0);

	if (KPN_UNLIKELY(!word))
		return kpn_ring_next(ring, bits, from, to);
	return found < to ? found : to;
}

/**
 * kpn_ring_deltas_ps() - by how much the posted slots [from, to) together differ from nominal; cost
 * follows trims
 */
u64 kpn_ring_deltas_ps(const struct kpn_ring *ring, u64 from, u64 to);

/** kpn_ring_skip() - move @cursor to @to; no slot in between is trimmed */
static inline void kpn_ring_skip(const struct kpn_ring *ring, struct kpn_cursor *cursor, u64 to)
{
	u32 count = (u32)(to - cursor->seq);
	u32 desc = cursor->desc + count;

	cursor->seq = to;
	cursor->ps += count * ring->slot_ps;
	cursor->desc = desc >= ring->slots ? desc - ring->slots : desc;
}

/** kpn_ring_step() - move @cursor over one slot that differs from nominal by @delta_ps */
static inline void kpn_ring_step(const struct kpn_ring *ring, struct kpn_cursor *cursor,
				 s64 delta_ps)
{
	kpn_ring_skip(ring, cursor, cursor->seq + 1);
	cursor->ps += (u64)delta_ps;
}

/**
 * kpn_ring_move_trimmed() - move @cursor to @to, at most the tail; cost follows trims, and is
 * bounded because whole words of descriptors are passed at once
 */
void kpn_ring_move_trimmed(const struct kpn_ring *ring, struct kpn_cursor *cursor, u64 to);

/** kpn_ring_move() - the same; no posted slot before quiet_seq is trimmed */
static inline void kpn_ring_move(const struct kpn_ring *ring, struct kpn_cursor *cursor, u64 to)
{
	if (KPN_LIKELY(to <= ring->quiet_seq || !ring->trim_count))
		kpn_ring_skip(ring, cursor, to);
	else
		kpn_ring_move_trimmed(ring, cursor, to);
}

/** kpn_ring_at() - cursor before slot @seq in [head, tail]; costs a kpn_ring_move_trimmed() */
struct kpn_cursor kpn_ring_at(const struct kpn_ring *ring, u64 seq);

/**
 * struct kpn_under_way - a slot on the wire
 * @end_ps: its end, as if nominal slots followed the tail
 */
struct kpn_under_way {
	u64 seq;
	u64 end_ps;
};

/**
 * kpn_ring_seq_at() - slot on the wire at @position_ps, not before the head; costs a
 * kpn_ring_move_trimmed()
 */
struct kpn_under_way kpn_ring_seq_at(const struct kpn_ring *ring, u64 position_ps);

/**
 * kpn_ring_set_delta() - change the length of slot @seq, posted and not before the index, with
 * descriptor @desc
 */
void kpn_ring_set_delta(struct kpn_ring *ring, u64 seq, u32 desc, s64 delta_ps);

/**
 * kpn_ring_gather_deltas() - give the last of @count posted slots from @seq on the sum of their
 * differences
 */
void kpn_ring_gather_deltas(struct kpn_ring *ring, u64 seq, u32 count);

/**
 * kpn_ring_forget_delta() - make the descriptor of a trimmed slot that the head passes nominal
 * again
 */
static inline void kpn_ring_forget_delta(struct kpn_ring *ring, u32 desc)
{
	ring->word_ps[desc / 64] -= ring->slot[desc].delta_ps;
	ring->slot[desc].delta_ps = 0;
	kpn_bits_clear(&ring->trimmed, desc);
	ring->trim_count--;
}

#endif
