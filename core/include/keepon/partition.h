/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Which traffic classes may use a slot: class masks whose period is independent of the ring (KeepON
 * paper section 5.1, with masks in place of one owner). Kept as one bit plane per class, so that
 * the next slot of a class is found a word at a time. This file knows no ring and no clock, and
 * owns no memory.
 */
#ifndef KPN_PARTITION_H
#define KPN_PARTITION_H

#include "keepon/span.h"

enum {
	KPN_CLASS_COUNT = 16,
	KPN_PARTITION_SLOTS_MAX = 65536,
	KPN_WORD_BITS = 64,
	KPN_PLANE_RESERVED = KPN_CLASS_COUNT, /* slots open to no class */
	KPN_PARTITION_PLANES,
};

/**
 * struct kpn_partition - the table; read only once it is made
 * @slots: period
 * @plane_slots: slots of a plane: the period, repeated until it fills at least one word
 * @plane_words: distance of two planes in words
 * @classes: union of all masks: classes that have a slot at all
 * @gap_slots: longest distance from a slot open to no class to the next; 0 if there is none
 * @row_max: most slots in a row of each class, KPN_SPAN_SLOTS_MAX at most
 * @planes: bit i of plane tc: class tc may use slots whose net_slot is i modulo @plane_slots
 */
struct kpn_partition {
	u32 slots;
	u32 plane_slots;
	u32 plane_words;
	u32 classes;
	u32 gap_slots;
	u8 row_max[KPN_CLASS_COUNT];
	const u64 *planes;
};

/**
 * kpn_partition_bytes() - memory of the planes of a table of @slots slots, 1 to
 * KPN_PARTITION_SLOTS_MAX
 */
size_t kpn_partition_bytes(u32 slots);

/**
 * kpn_partition_init() - make a table; costs O(slots), takes no lock
 * @memory: kpn_partition_bytes(@slots), aligned to 8, alive as long as the table
 * @allowed: @slots class masks, copied; bit tc set: the class may use slots with that index
 */
void kpn_partition_init(struct kpn_partition *partition, void *memory, const u16 *allowed,
			u32 slots);

/** kpn_partition_index() - index of a net_slot in the planes */
u32 kpn_partition_index(const struct kpn_partition *partition, u64 net_slot);

/** kpn_partition_allows() - whether class @tc may use slots with plane index @index */
static inline bool kpn_partition_allows(const struct kpn_partition *partition, u32 index, u8 tc)
{
	const u64 *plane = partition->planes + (size_t)tc * partition->plane_words;

	return plane[index / KPN_WORD_BITS] >> index % KPN_WORD_BITS & 1;
}

/** kpn_partition_mask() - class mask of plane index @index */
u16 kpn_partition_mask(const struct kpn_partition *partition, u32 index);

/**
 * kpn_partition_window() - the next slots of a plane, a bit each, from @index on
 * @plane: a class or KPN_PLANE_RESERVED
 *
 * Return: bit i: slot index + i is in the plane; bits beyond the end of the plane are meaningless.
 */
static inline u64 kpn_partition_window(const struct kpn_partition *partition, u32 plane, u32 index)
{
	const u64 *word =
		partition->planes + (size_t)plane * partition->plane_words + index / KPN_WORD_BITS;
	u32 shift = index % KPN_WORD_BITS;

	return shift ? word[0] >> shift | word[1] << (KPN_WORD_BITS - shift) : word[0];
}

/**
 * kpn_masks_gap_max() - longest distance from a mask with a class of @classes to the next,
 * cyclically; 0 if there is none
 * @classes: bit per class; 0: masks of no class
 */
u32 kpn_masks_gap_max(const u16 *allowed, u32 slots, u16 classes);

/** kpn_masks_row_max() - most masks in a row with @tc, cyclically; KPN_SPAN_SLOTS_MAX at most */
u32 kpn_masks_row_max(const u16 *allowed, u32 slots, u8 tc);

#endif
