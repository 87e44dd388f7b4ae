// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Slot bookkeeping: arithmetic on sequence numbers, and the sets of slots with frames or trims.
 */
#include "keepon/ring.h"

#include "kpn_math.h"

_Static_assert((int)KPN_RING_SLOTS_MAX <= (int)KPN_BITS_MAX, "a set holds every descriptor");

size_t kpn_ring_bytes(u32 slots)
{
	return slots * sizeof(struct kpn_slot);
}

void kpn_ring_init(struct kpn_ring *ring, void *memory, u32 slots, u64 slot_ps)
{
	memset(ring, 0, sizeof(*ring));
	memset(memory, 0, kpn_ring_bytes(slots));
	ring->slots = slots;
	ring->slot_ps = slot_ps;
	ring->quiet_seq = KPN_SEQ_NEVER;
	ring->slot = memory;
}

/* @count descriptors from @desc on, wrapping. */
static void assign(const struct kpn_ring *ring, struct kpn_bits *bits, u32 desc, u32 count,
		   bool value)
{
	u32 here = ring->slots - desc < count ? ring->slots - desc : count;

	kpn_bits_assign(bits, desc, here, value);
	kpn_bits_assign(bits, 0, count - here, value);
}

void kpn_ring_claim_span(struct kpn_ring *ring, u64 seq, struct kpn_frame *frame, bool yields)
{
	u32 desc = kpn_ring_desc(ring, seq);
	u32 inner = kpn_ring_next_desc(ring, desc);
	u32 more = frame->slots - 1u;
	u32 i;

	KPN_ASSERT(seq + more - ring->head.seq < ring->slots);
	kpn_ring_claim(ring, seq, desc, frame, yields);
	ring->span_count++;
	assign(ring, &ring->inner, inner, more, true);
	if (yields) {
		assign(ring, &ring->yielding, inner, more, true);
		ring->yielding_count += more;
	}
	for (i = 1; i <= more; i++, inner = kpn_ring_next_desc(ring, inner)) {
		KPN_ASSERT(!ring->slot[inner].frame);
		ring->slot[inner].frame = frame;
		ring->slot[inner].within = (u16)i;
	}
}

void kpn_ring_free_inner(struct kpn_ring *ring, u32 desc, const struct kpn_frame *frame)
{
	u32 inner = kpn_ring_next_desc(ring, desc);
	u32 more = frame->slots - 1u;

	ring->span_count--;
	assign(ring, &ring->inner, inner, more, false);
	/* all slots of a frame yield, or none; the first may have been removed already */
	if (kpn_bits_test(&ring->yielding, inner)) {
		assign(ring, &ring->yielding, inner, more, false);
		ring->yielding_count -= more;
	}
	for (; more; more--, inner = kpn_ring_next_desc(ring, inner)) {
		ring->slot[inner].frame = NULL;
		ring->slot[inner].within = 0;
	}
}

void kpn_ring_unyield(struct kpn_ring *ring, u32 desc)
{
	u32 slots = ring->slot[desc].frame->slots;

	if (!kpn_bits_test(&ring->yielding, desc))
		return;
	/* frames that were never submitted to a pacer have 0 */
	slots += !slots;
	assign(ring, &ring->yielding, desc, slots, false);
	ring->yielding_count -= slots;
}

u64 kpn_ring_next(const struct kpn_ring *ring, const struct kpn_bits *bits, u64 from, u64 to)
{
	u32 desc;
	u32 end;
	u32 found;

	if (!bits->summary || (s64)(to - from) <= 0)
		return to;
	desc = kpn_ring_desc(ring, from);
	end = desc + (u32)(to - from);
	if (end <= ring->slots) {
		found = kpn_bits_next(bits, desc, end);
	} else {
		found = kpn_bits_next(bits, desc, ring->slots);
		if (found == ring->slots)
			found += kpn_bits_next(bits, 0, end - ring->slots);
	}
	return from + (found - desc);
}

/* The same for descriptors [first, end). */
static inline u64 deltas_ps(const struct kpn_ring *ring, u32 first, u32 end)
{
	u64 sum_ps = 0;
	u32 word;

	for (word = first / 64; word * 64 < end; word++) {
		u64 bits = ring->trimmed.word[word];

		if (word == first / 64)
			bits &= ~0ull << first % 64;
		if (end - word * 64 < 64)
			bits &= ~(~0ull << (end - word * 64));
		for (; bits; bits &= bits - 1)
			sum_ps += (u64)(s64)ring->slot[word * 64 + kpn_lowest_bit(bits)].delta_ps;
	}
	return sum_ps;
}

u64 kpn_ring_deltas_ps(const struct kpn_ring *ring, u64 from, u64 to)
{
	u32 first = kpn_ring_desc(ring, from);
	u32 end = first + (u32)(to - from);

	if (end <= ring->slots)
		return deltas_ps(ring, first, end);
	return deltas_ps(ring, first, ring->slots) + deltas_ps(ring, 0, end - ring->slots);
}

/*
 * Move @cursor past the word of descriptors with slot @trimmed, the first trimmed slot after
 * @cursor. Every frame that is placed or taken back asks for the wire position; with thousands of
 * trimmed slots before it, a call would cost the product of both. Return: false if the word begins
 * before @cursor or ends after @to; @cursor stays where it is.
 */
static inline bool pass_word(const struct kpn_ring *ring, struct kpn_cursor *cursor, u64 trimmed,
			     u64 to)
{
	u32 desc = kpn_ring_desc(ring, trimmed);
	u32 bit = desc % 64;
	u32 rest = ring->slots - desc < 64 - bit ? ring->slots - desc : 64 - bit;

	if (trimmed - cursor->seq < bit || to - trimmed < rest)
		return false;
	kpn_ring_skip(ring, cursor, trimmed + rest);
	cursor->ps += (u64)ring->word_ps[desc / 64];
	return true;
}

void kpn_ring_move_trimmed(const struct kpn_ring *ring, struct kpn_cursor *cursor, u64 to)
{
	for (;;) {
		u64 trimmed = kpn_ring_next(ring, &ring->trimmed, cursor->seq, to);

		if (trimmed != to && pass_word(ring, cursor, trimmed, to))
			continue;
		kpn_ring_skip(ring, cursor, trimmed);
		if (trimmed == to)
			return;
		kpn_ring_step(ring, cursor, ring->slot[cursor->desc].delta_ps);
	}
}

struct kpn_cursor kpn_ring_at(const struct kpn_ring *ring, u64 seq)
{
	struct kpn_cursor cursor = ring->head;

	kpn_ring_move(ring, &cursor, seq);
	return cursor;
}

struct kpn_under_way kpn_ring_seq_at(const struct kpn_ring *ring, u64 position_ps)
{
	struct kpn_cursor cursor = ring->head;
	u64 slots;

	if ((s64)(position_ps - cursor.ps) < 0)
		return (struct kpn_under_way){ cursor.seq, cursor.ps };
	while (ring->trim_count) {
		u64 trimmed = kpn_ring_next(ring, &ring->trimmed, cursor.seq, ring->tail.seq);
		struct kpn_cursor behind = cursor;

		if (trimmed == ring->tail.seq ||
		    (s64)(position_ps - cursor.ps - (trimmed - cursor.seq) * ring->slot_ps) < 0)
			break;
		if (pass_word(ring, &behind, trimmed, ring->tail.seq) &&
		    (s64)(position_ps - behind.ps) >= 0) {
			cursor = behind;
			continue;
		}
		kpn_ring_skip(ring, &cursor, trimmed);
		kpn_ring_step(ring, &cursor, ring->slot[cursor.desc].delta_ps);
		if ((s64)(position_ps - cursor.ps) < 0)
			return (struct kpn_under_way){ trimmed, cursor.ps };
	}
	slots = kpn_div_u64(position_ps - cursor.ps, ring->slot_ps);
	return (struct kpn_under_way){ cursor.seq + slots,
				       cursor.ps + (slots + 1) * ring->slot_ps };
}

void kpn_ring_set_delta(struct kpn_ring *ring, u64 seq, u32 desc, s64 delta_ps)
{
	struct kpn_slot *slot = &ring->slot[desc];
	s64 before_ps = slot->delta_ps;

	KPN_ASSERT(seq - ring->index_seq < ring->tail.seq - ring->index_seq);
	slot->delta_ps = (s32)delta_ps;
	ring->word_ps[desc / 64] += delta_ps - before_ps;
	ring->tail.ps += (u64)(delta_ps - before_ps);
	if (seq < ring->quiet_seq)
		ring->quiet_seq = seq;
	if (!delta_ps) {
		if (before_ps) {
			kpn_bits_clear(&ring->trimmed, desc);
			ring->trim_count--;
		}
		return;
	}
	kpn_bits_set(&ring->trimmed, desc);
	ring->trim_count += !before_ps;
	if (seq >= ring->trimmed_end)
		ring->trimmed_end = seq + 1;
}

void kpn_ring_gather_deltas(struct kpn_ring *ring, u64 seq, u32 count)
{
	u64 last = seq + count - 1;
	u64 at;

	for (at = kpn_ring_next(ring, &ring->trimmed, seq, last); at < last;
	     at = kpn_ring_next(ring, &ring->trimmed, at + 1, last)) {
		u32 desc = kpn_ring_desc(ring, at);
		s64 delta_ps = ring->slot[desc].delta_ps;

		kpn_ring_set_delta(ring, at, desc, 0);
		desc = kpn_ring_desc(ring, last);
		kpn_ring_set_delta(ring, last, desc, ring->slot[desc].delta_ps + delta_ps);
		/* a plan cursor between the two now starts earlier by this much */
		if (ring->plan.seq > at && ring->plan.seq <= last)
			ring->plan.ps -= (u64)delta_ps;
	}
}
