// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Slot bookkeeping. Two exceptions to "all slots are alike" are kept: a bitmap of slots that carry frames, with a
 * summary word, and a queue of trims. Everything else is arithmetic on sequence numbers.
 */
#include "keepon/ring.h"

#include "kpn_math.h"

_Static_assert(KPN_RING_SLOTS_MAX / KPN_RING_WORD_BITS <= KPN_RING_WORD_BITS, "one summary word covers the bitmap");

size_t kpn_ring_bytes(u32 slots)
{
	return slots * (sizeof(struct kpn_trim) + sizeof(struct kpn_slot));
}

void kpn_ring_init(struct kpn_ring *ring, void *memory, u32 slots, u64 slot_ps)
{
	memset(ring, 0, sizeof(*ring));
	memset(memory, 0, kpn_ring_bytes(slots));
	ring->slots = slots;
	ring->wrap_seq = slots;
	ring->slot_ps = slot_ps;
	ring->quiet_seq = ~(u64)0;
	ring->trims = memory;
	ring->slot = (struct kpn_slot *)(ring->trims + slots);
}

/* First claimed descriptor in [desc, end), or end. */
static u32 next_desc(const struct kpn_ring *ring, u32 desc, u32 end)
{
	u32 word = desc / KPN_RING_WORD_BITS;
	u64 bits = ring->claimed[word] & ~0ull << desc % KPN_RING_WORD_BITS;

	if (!bits) {
		u64 words = word + 1 < KPN_RING_WORD_BITS ? ring->claimed_words & ~0ull << (word + 1) : 0;

		if (!words)
			return end;
		word = kpn_lowest_bit(words);
		bits = ring->claimed[word];
	}
	desc = word * KPN_RING_WORD_BITS + kpn_lowest_bit(bits);
	return desc < end ? desc : end;
}

u64 kpn_ring_next_claimed(const struct kpn_ring *ring, u64 from, u64 to)
{
	u32 desc;
	u32 end;
	u32 found;

	if (!ring->claimed_count || from == to)
		return to;
	desc = kpn_ring_desc(ring, from);
	end = desc + (u32)(to - from);
	if (end <= ring->slots) {
		found = next_desc(ring, desc, end);
	} else {
		found = next_desc(ring, desc, ring->slots);
		if (found == ring->slots)
			found += next_desc(ring, 0, end - ring->slots);
	}
	return from + (found - desc);
}

static struct kpn_trim *trim_at(const struct kpn_ring *ring, u32 position)
{
	u32 idx = ring->trim_first + position;

	return &ring->trims[idx >= ring->slots ? idx - ring->slots : idx];
}

s64 kpn_ring_delta_ps(const struct kpn_ring *ring, u64 seq)
{
	u32 low = 0;
	u32 high = ring->trim_count;

	while (low < high) {
		u32 middle = (low + high) / 2;
		const struct kpn_trim *trim = trim_at(ring, middle);

		if (trim->seq == seq)
			return trim->delta_ps;
		if (trim->seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

u64 kpn_ring_start_ps(const struct kpn_ring *ring, u64 seq)
{
	u64 start_ps = ring->head_ps + (seq - ring->head_seq) * ring->slot_ps;
	u32 position;

	for (position = 0; position < ring->trim_count; position++) {
		const struct kpn_trim *trim = trim_at(ring, position);

		if (trim->seq >= seq)
			break;
		start_ps += (u64)trim->delta_ps;
	}
	return start_ps;
}

u64 kpn_ring_seq_at(const struct kpn_ring *ring, u64 position_ps, u64 *end_ps)
{
	u64 seq = ring->head_seq;
	u64 start_ps = ring->head_ps;
	u32 position;
	u64 slots;

	*end_ps = start_ps;
	if ((s64)(position_ps - start_ps) < 0)
		return seq;
	for (position = 0; position < ring->trim_count; position++) {
		const struct kpn_trim *trim = trim_at(ring, position);
		u64 trimmed_ps = start_ps + (trim->seq - seq) * ring->slot_ps;

		if ((s64)(position_ps - trimmed_ps) < 0)
			break;
		start_ps = trimmed_ps + ring->slot_ps + (u64)trim->delta_ps;
		*end_ps = start_ps;
		if ((s64)(position_ps - start_ps) < 0)
			return trim->seq;
		seq = trim->seq + 1;
	}
	slots = kpn_div_u64(position_ps - start_ps, ring->slot_ps);
	*end_ps = start_ps + (slots + 1) * ring->slot_ps;
	return seq + slots;
}

bool kpn_ring_retract_trim(struct kpn_ring *ring, u64 from, struct kpn_trim *trim)
{
	if (!ring->trim_count)
		return false;
	*trim = *trim_at(ring, ring->trim_count - 1);
	if (trim->seq < from)
		return false;
	ring->trim_count--;
	return true;
}
