/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * partition: the planes hold what the masks say, and nothing beside them is touched. A table of a
 * thousand words would be out of reach, so there are two steps: mark() sets the one bit it is asked
 * for, in a table of any size; and kpn_partition_init() asks for the right ones.
 */
#include "../src/partition.c"

#include "proof.h"

/* One bit of the planes, chosen before the table is made, and whether it was asked for. */
static u32 watched_plane;
static u32 watched_index;
static bool watched_is_marked;
static bool outside_is_marked;

/* Instead of mark(). */
void watch_mark(u64 *planes, u32 plane_words, u32 plane, u32 index)
{
	(void)planes;
	outside_is_marked |=
		plane >= KPN_PARTITION_PLANES || index / KPN_WORD_BITS + 1 >= plane_words;
	watched_is_marked |= plane == watched_plane && index == watched_index;
}

/* Instead of kpn_masks_row_max(). */
u32 no_rows(const u16 *allowed, u32 slots, u8 tc)
{
	(void)allowed;
	(void)slots;
	(void)tc;
	return 0;
}

/*
 * PROVE planes_repeat_the_period
 * bounds: tables of 1 to 65536 slots
 * unwind: 1
 * mutant: core/src/partition.c: KPN_WORD_BITS + slots - 1 => KPN_WORD_BITS - 1
 * mutant: core/src/partition.c: plane_slots / KPN_WORD_BITS + 2 => plane_slots / KPN_WORD_BITS + 1
 */
void planes_repeat_the_period(void)
{
	u32 slots = 1 + (u32)any_below(KPN_PARTITION_SLOTS_MAX);
	u32 plane_slots = repeated(slots);

	PROVE(plane_slots % slots == 0);
	PROVE(plane_slots >= KPN_WORD_BITS && plane_slots <= KPN_PARTITION_SLOTS_MAX);
	PROVE(plane_slots < KPN_WORD_BITS + slots);
	/* the last word that a window reads, of the last plane, is the last of the memory */
	PROVE(((u64)KPN_PLANE_RESERVED * words_of(plane_slots) + (plane_slots - 1) / KPN_WORD_BITS +
	       2) * sizeof(u64) <=
	      kpn_partition_bytes(slots));
}

#ifdef SLOTS
enum {
	PLANE_SLOTS = SLOTS * ((KPN_WORD_BITS + SLOTS - 1) / SLOTS),
	PLANE_WORDS = PLANE_SLOTS / KPN_WORD_BITS + 2,
};

#ifndef ANY_CLASSES
#define ANY_CLASSES 0xffff
#endif

/* Any masks; returns the classes in them. */
static u16 any_masks(u16 *allowed)
{
	u16 classes = 0;
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		allowed[i] = nondet_u16() & ANY_CLASSES;
		classes |= allowed[i];
	}
	return classes;
}

/*
 * PROVE mark_sets_one_bit
 * bounds: tables of 1 and 130 slots, every plane and index; memory of exactly kpn_partition_bytes()
 * cases: SLOTS=1 130
 * unwind: 1
 * mutant: core/src/partition.c: KPN_WORD_BITS] |= => KPN_WORD_BITS] =
 * mutant: core/src/partition.c: plane * plane_words + index => plane * (plane_words + 1) + index
 */
void mark_sets_one_bit(void)
{
	u64 planes[KPN_PARTITION_PLANES * PLANE_WORDS];
	struct kpn_partition partition = { .plane_words = PLANE_WORDS, .planes = planes };
	u32 plane = (u32)any_below(KPN_PARTITION_PLANES);
	u32 other = (u32)any_below(KPN_PARTITION_PLANES);
	u32 index = (u32)any_below(PLANE_SLOTS);
	u32 other_index = (u32)any_below(PLANE_SLOTS);
	bool bit = kpn_partition_allows(&partition, other_index, (u8)other);

	mark(planes, PLANE_WORDS, plane, index);
	bit |= other == plane && other_index == index;
	PROVE(kpn_partition_allows(&partition, other_index, (u8)other) == bit);
	/* a window begins with the bit of its index */
	PROVE((kpn_partition_window(&partition, other, other_index) & 1) == bit);
}

/*
 * PROVE init_marks_what_masks_say
 * bounds: tables of 1, 2, 3, 22, 33 and 65 slots, masks of classes 0, 1 and 15; memory of
 *	exactly the size asked for
 * define: ANY_CLASSES=0x8003
 * cases: SLOTS=3 1 2 22 33 65
 * replace: mark: watch_mark (mark_sets_one_bit)
 * replace: kpn_masks_row_max: no_rows (rows_are_the_longest)
 * unwind: 67
 * unwindset: kpn_partition_init.0:4
 * mutant: core/src/partition.c: KPN_PLANE_RESERVED, index); => KPN_PLANE_RESERVED, from);
 * mutant: core/src/partition.c: if (++from == slots) => if (from++ == slots)
 * mutant: core/src/partition.c: words_of(repeated(slots)) * KPN_PARTITION_PLANES =>
 *	words_of(repeated(slots)) * (KPN_PARTITION_PLANES - 1)
 */
void init_marks_what_masks_say(void)
{
	u64 planes[KPN_PARTITION_PLANES * PLANE_WORDS];
	u16 allowed[SLOTS];
	struct kpn_partition partition;
	u16 mask;
	u16 classes;

	classes = any_masks(allowed);
	watched_plane = (u32)any_below(KPN_PARTITION_PLANES);
	watched_index = (u32)any_below(PLANE_SLOTS);
	PROVE(kpn_partition_bytes(SLOTS) == sizeof(planes));
	kpn_partition_init(&partition, planes, allowed, SLOTS);
	PROVE(partition.slots == SLOTS && partition.plane_slots == PLANE_SLOTS);
	PROVE(partition.plane_words == PLANE_WORDS && partition.planes == planes);
	mask = allowed[watched_index % SLOTS];
	PROVE(watched_is_marked ==
	      (watched_plane == KPN_PLANE_RESERVED ? !mask : mask >> watched_plane & 1));
	PROVE(!outside_is_marked);
	PROVE(planes[any_below(KPN_PARTITION_PLANES * PLANE_WORDS)] == 0);
	PROVE(partition.classes == classes);
}

/*
 * PROVE gap_is_the_longest
 * bounds: tables of 1, 2, 3, 4, 5, 8 and 12 slots, any masks
 * cases: SLOTS=5 1 2 3 4 8 12
 * unwind: 26
 * mutant: core/src/partition.c: first + slots - last > gap ? => slots - last > gap ?
 * mutant: core/src/partition.c: gap = i - last; => gap = i - last - 1;
 */
void gap_is_the_longest(void)
{
	u16 allowed[SLOTS];
	u16 classes = nondet_u16();
	u32 longest = 0;
	u32 run = 0;
	u32 seen = 0;
	u32 i;

	any_masks(allowed);
	/*
	 * two periods, step by step; the first slot of the classes, or of none, begins, each
	 * further one ends a distance
	 */
	for (i = 0; i < 2 * SLOTS; i++) {
		run++;
		if (classes ? !(allowed[i % SLOTS] & classes) : allowed[i % SLOTS])
			continue;
		if (seen && run > longest)
			longest = run;
		seen = 1;
		run = 0;
	}
	PROVE(kpn_masks_gap_max(allowed, SLOTS, classes) == longest);
}

/*
 * PROVE index_is_modulo
 * bounds: tables of 1, 2, 32, 40, 64, 1024 and 65536 slots, every net_slot
 * cases: SLOTS=40 1 2 32 64 1024 65536
 * unwind: 1
 * mutant: core/src/partition.c: * partition->plane_slots); => * partition->slots);
 */
void index_is_modulo(void)
{
	struct kpn_partition partition = { .slots = SLOTS, .plane_slots = PLANE_SLOTS };
	u64 period = any_below(~0ull / PLANE_SLOTS);
	u32 index = (u32)any_below(PLANE_SLOTS);

	PROVE(kpn_partition_index(&partition, period * PLANE_SLOTS + index) == index);
}

/*
 * PROVE rows_are_the_longest
 * bounds: tables of 1, 2, 5 and 9 slots, all masks of classes 0 and 15
 * define: ANY_CLASSES=0x8001
 * cases: SLOTS=5 1 2 9
 * unwind: 148
 * mutant: core/src/partition.c: i < 2 * slots + KPN_SPAN_SLOTS_MAX => i < slots
 * mutant: core/src/partition.c: ? row + 1 : 0; => ? row + 1 : row;
 */
void rows_are_the_longest(void)
{
	u16 allowed[SLOTS];
	u8 tc = any_below(2) ? 15 : 0;
	u32 longest = 0;
	u32 row = 0;
	u32 i;

	any_masks(allowed);
	for (i = 0; i < 2 * SLOTS; i++) {
		row = allowed[i % SLOTS] >> tc & 1 ? row + 1 : 0;
		if (row > longest)
			longest = row;
	}
	/* a row without an end is as long as any frame */
	if (longest >= SLOTS)
		longest = KPN_SPAN_SLOTS_MAX;
	PROVE(kpn_masks_row_max(allowed, SLOTS, tc) == longest);
}
#endif
