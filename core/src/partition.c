// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Class masks turned into planes, one bit a slot, so that a search for a slot covers 64 slots at a
 * time.
 */
#include "keepon/partition.h"

/* One word more than the slots need: a window of 64 slots is read from two words. */
static u32 words_of(u32 plane_slots)
{
	return plane_slots / KPN_WORD_BITS + 2;
}

/* Whole periods until a word is full, so that a search takes at most two steps a word. */
static u32 repeated(u32 slots)
{
	return slots * ((KPN_WORD_BITS + slots - 1) / slots);
}

size_t kpn_partition_bytes(u32 slots)
{
	return (size_t)words_of(repeated(slots)) * KPN_PARTITION_PLANES * sizeof(u64);
}

static void mark(u64 *planes, u32 plane_words, u32 plane, u32 index)
{
	planes[(size_t)plane * plane_words + index / KPN_WORD_BITS] |= 1ull
								       << index % KPN_WORD_BITS;
}

void kpn_partition_init(struct kpn_partition *partition, void *memory, const u16 *allowed,
			u32 slots)
{
	u32 plane_slots = repeated(slots);
	u32 plane_words = words_of(plane_slots);
	u64 *planes = memory;
	u32 from = 0;
	u32 index;
	u8 tc;

	memset(memory, 0, kpn_partition_bytes(slots));
	*partition = (struct kpn_partition){
		.slots = slots,
		.plane_slots = plane_slots,
		.plane_words = plane_words,
		.gap_slots = kpn_masks_gap_max(allowed, slots, 0),
		.planes = planes,
	};
	for (index = 0; index < plane_slots; index++) {
		u32 mask = allowed[from];

		if (!mask)
			mark(planes, plane_words, KPN_PLANE_RESERVED, index);
		partition->classes |= mask;
		for (; mask; mask &= mask - 1)
			mark(planes, plane_words, (u32)__builtin_ctz(mask), index);
		if (++from == slots)
			from = 0;
	}
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++)
		partition->row_max[tc] = (u8)kpn_masks_row_max(allowed, slots, tc);
}

u32 kpn_partition_index(const struct kpn_partition *partition, u64 net_slot)
{
	return (u32)(net_slot -
		     kpn_div_u64(net_slot, partition->plane_slots) * partition->plane_slots);
}

u16 kpn_partition_mask(const struct kpn_partition *partition, u32 index)
{
	u32 mask = 0;
	u8 tc;

	for (tc = 0; tc < KPN_CLASS_COUNT; tc++)
		mask |= (u32)kpn_partition_allows(partition, index, tc) << tc;
	return (u16)mask;
}

u32 kpn_masks_gap_max(const u16 *allowed, u32 slots, u16 classes)
{
	u32 first = slots;
	u32 last = 0;
	u32 gap = 0;
	u32 i;

	for (i = 0; i < slots; i++) {
		if (classes ? !(allowed[i] & classes) : allowed[i])
			continue;
		if (first == slots)
			first = i;
		else if (i - last > gap)
			gap = i - last;
		last = i;
	}
	if (first == slots)
		return 0;
	return first + slots - last > gap ? first + slots - last : gap;
}

/* Rows continue from the end of the period at its start, so two periods are searched. */
u32 kpn_masks_row_max(const u16 *allowed, u32 slots, u8 tc)
{
	u32 row = 0;
	u32 most = 0;
	u32 from = 0;
	u32 i;

	for (i = 0; i < 2 * slots + KPN_SPAN_SLOTS_MAX && most < KPN_SPAN_SLOTS_MAX; i++) {
		row = allowed[from] >> tc & 1 ? row + 1 : 0;
		from = from + 1 < slots ? from + 1 : 0;
		if (row > most)
			most = row;
	}
	return most;
}
