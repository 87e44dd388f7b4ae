/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * partition: planes of any table, index of any net_slot, permission and windows per class, distance
 * between reserved slots.
 */
#include "keepon/partition.h"

#include "selftest.h"

enum {
	RANDOM_TABLES = 2000,
	TABLE_SLOTS_MAX = 200,
	/*
	 * memory of a table of TABLE_SLOTS_MAX slots: classes and reserved slots, each with its
	 * words and one of zeros
	 */
	TABLE_WORDS_MAX = KPN_PARTITION_PLANES * (TABLE_SLOTS_MAX / KPN_WORD_BITS + 2),
	GUARD_WORDS = 2,
};

struct size_vector {
	int line;
	u32 slots;
	u32 plane_slots;
	u32 plane_words;
};

static const struct size_vector size_vectors[] = {
	{ __LINE__, 1, 64, 3 },           { __LINE__, 3, 66, 3 },
	{ __LINE__, 32, 64, 3 },          { __LINE__, 33, 66, 3 },
	{ __LINE__, 40, 80, 3 },          { __LINE__, 63, 126, 3 },
	{ __LINE__, 64, 64, 3 },          { __LINE__, 65, 65, 3 },
	{ __LINE__, 100, 100, 3 },        { __LINE__, 128, 128, 4 },
	{ __LINE__, 129, 129, 4 },        { __LINE__, 65535, 65535, 1025 },
	{ __LINE__, 65536, 65536, 1026 },
};

struct index_vector {
	int line;
	u32 slots;
	u64 net_slot;
	u32 index;
};

static const struct index_vector index_vectors[] = {
	{ __LINE__, 1, 0, 0 },
	{ __LINE__, 1, 63, 63 }, /* the plane repeats the period until it has a word */
	{ __LINE__, 1, 64, 0 },
	{ __LINE__, 1, 0xffffffffffffffffull, 63 },
	{ __LINE__, 3, 65, 65 },
	{ __LINE__, 3, 0xffffffffffffffffull, 15 }, /* 66 x 279496122328932600 + 15 */
	{ __LINE__, 32, 31, 31 },
	{ __LINE__, 32, 32, 32 },
	{ __LINE__, 32, 64, 0 },
	{ __LINE__, 32, 0xffffffffffffffffull, 63 },
	{ __LINE__, 100, 99, 99 },
	{ __LINE__, 100, 100, 0 },
	{ __LINE__, 100, 0x100000000ull, 96 },        /* 2^32 = 42949672 x 100 + 96 */
	{ __LINE__, 100, 0xffffffffffffffffull, 15 }, /* 2^64 - 1 = ...51615 */
	{ __LINE__, 1000, 1234567890123456789ull, 789 },
	{ __LINE__, 65536, 0x123456789abcdef0ull, 0xdef0 },
	{ __LINE__, 65535, 0xffffffffffffffffull, 0 }, /* 65535 divides 2^64 - 1 */
	{ __LINE__, 65535, 0xfffffffffffffffeull, 65534 },
};

struct gap_vector {
	int line;
	u32 slots;
	u16 allowed[8];
	u32 gap;
};

static const struct gap_vector gap_vectors[] = {
	{ __LINE__, 1, { 0xffff }, 0 },
	{ __LINE__, 1, { 0 }, 1 },
	{ __LINE__, 3, { 1, 2, 4 }, 0 },
	{ __LINE__, 3, { 0, 0, 0 }, 1 },
	{ __LINE__, 3, { 1, 0, 1 }, 3 },
	{ __LINE__, 8, { 0, 1, 1, 1, 1, 1, 1, 1 }, 8 },
	{ __LINE__, 8, { 1, 1, 1, 1, 1, 1, 1, 0 }, 8 },
	{ __LINE__, 8, { 0, 1, 1, 1, 0, 1, 1, 1 }, 4 },
	{ __LINE__, 8, { 0, 1, 1, 1, 1, 0, 1, 1 }, 5 },
	{ __LINE__, 8, { 0, 1, 0, 1, 1, 1, 1, 1 }, 6 }, /* longest over the end */
	{ __LINE__, 8, { 1, 1, 0, 1, 0, 1, 1, 1 }, 6 },
	{ __LINE__, 5, { 0x8000, 0, 0, 0x8000, 0 }, 2 },
};

/* struct table - a table with its memory, and guards behind that which no function may change */
struct table {
	struct kpn_partition partition;
	u64 memory[TABLE_WORDS_MAX + GUARD_WORDS];
};

static void make_table(struct table *table, const u16 *allowed, u32 slots)
{
	memset(table->memory, 0xa5, sizeof(table->memory));
	kpn_partition_init(&table->partition, table->memory, allowed, slots);
}

static void expect_guards(struct kpn_selftest *t, const struct table *table)
{
	u32 i = (u32)(kpn_partition_bytes(table->partition.slots) / sizeof(u64));

	for (; i < TABLE_WORDS_MAX + GUARD_WORDS; i++)
		KPN_EXPECT(t, table->memory[i] == 0xa5a5a5a5a5a5a5a5ull);
}

/* Whether a mask has one of the classes; or, of none, no class. */
static bool has(u16 mask, u16 classes)
{
	return classes ? (mask & classes) != 0 : mask == 0;
}

/* Step by step through two periods: the slots from each that has the classes to the next. */
static u32 gap_by_walking(const u16 *allowed, u32 slots, u16 classes)
{
	u32 longest = 0;
	u32 from;

	for (from = 0; from < slots; from++) {
		u32 steps = 1;

		if (!has(allowed[from], classes))
			continue;
		while (!has(allowed[(from + steps) % slots], classes))
			steps++;
		if (steps > longest)
			longest = steps;
	}
	return longest;
}

/* Slot by slot what a window has to show, before the end of the plane. */
static u64 window_by_walking(const u16 *allowed, const struct kpn_partition *partition, u32 plane,
			     u32 index)
{
	u64 window = 0;
	u32 i;

	for (i = 0; i < KPN_WORD_BITS && index + i < partition->plane_slots; i++) {
		u16 mask = allowed[(index + i) % partition->slots];

		window |= (u64)(plane == KPN_PLANE_RESERVED ? !mask : mask >> plane & 1) << i;
	}
	return window;
}

/* What a window shows, as far as it means anything. */
static u64 window_of(const struct kpn_partition *partition, u32 plane, u32 index)
{
	u64 window = kpn_partition_window(partition, plane, index);
	u32 left = partition->plane_slots - index;

	return left < KPN_WORD_BITS ? window & ((1ull << left) - 1) : window;
}

static void expect_masks(struct kpn_selftest *t, const struct kpn_partition *partition,
			 const u16 *allowed)
{
	u32 classes = 0;
	u32 i;
	u8 tc;

	for (i = 0; i < partition->plane_slots; i++) {
		u16 mask = allowed[i % partition->slots];

		classes |= mask;
		KPN_EXPECT_EQ(t, kpn_partition_mask(partition, i), mask);
		for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
			KPN_EXPECT_EQ(t, kpn_partition_allows(partition, i, tc), mask >> tc & 1);
			KPN_EXPECT(t, window_of(partition, tc, i) ==
					      window_by_walking(allowed, partition, tc, i));
		}
		KPN_EXPECT(t, window_of(partition, KPN_PLANE_RESERVED, i) ==
				      window_by_walking(allowed, partition, KPN_PLANE_RESERVED, i));
	}
	KPN_EXPECT_EQ(t, partition->classes, classes);
}

static void test_random_tables(struct kpn_selftest *t)
{
	u16 allowed[TABLE_SLOTS_MAX];
	struct table table;
	u64 seed = 0x9a17;
	u32 round;

	for (round = 0; round < RANDOM_TABLES; round++) {
		const struct kpn_partition *partition = &table.partition;
		u32 slots =
			1 + kpn_random_below(&seed,
					     2 * kpn_random_below(&seed, TABLE_SLOTS_MAX / 2) + 1);
		u32 reserved_one_in = 1 + kpn_random_below(&seed, 12);
		u64 net_slot = kpn_random_bits(&seed, 64);
		u32 index;
		u32 i;

		for (i = 0; i < slots; i++)
			allowed[i] = kpn_random_below(&seed, reserved_one_in) ?
					     (u16)kpn_random(&seed) :
					     0;
		make_table(&table, allowed, slots);
		if (round % 8 == 0)
			expect_masks(t, partition, allowed);
		expect_guards(t, &table);
		KPN_EXPECT_EQ(t, partition->gap_slots, gap_by_walking(allowed, slots, 0));
		KPN_EXPECT_EQ(t, kpn_masks_gap_max(allowed, slots, 0), partition->gap_slots);
		KPN_EXPECT_EQ(t, kpn_masks_gap_max(allowed, slots, 1 << 9),
			      gap_by_walking(allowed, slots, 1 << 9));
		KPN_EXPECT_EQ(t, kpn_masks_gap_max(allowed, slots, 0x0804),
			      gap_by_walking(allowed, slots, 0x0804));
		/*
		 * in the plane, in step with the table; one slot on is one index on, one plane on
		 * the same
		 */
		index = kpn_partition_index(partition, net_slot);
		KPN_EXPECT(t, index < partition->plane_slots);
		KPN_EXPECT_EQ(t, index % slots, net_slot - kpn_div_u64(net_slot, slots) * slots);
		KPN_EXPECT_EQ(t, kpn_partition_index(partition, net_slot - index), 0);
		if (net_slot < net_slot + partition->plane_slots) {
			KPN_EXPECT_EQ(t, kpn_partition_index(partition, net_slot + 1),
				      (index + 1) % partition->plane_slots);
			KPN_EXPECT_EQ(
				t,
				kpn_partition_index(partition, net_slot + partition->plane_slots),
				index);
		}
	}
}

/* The largest table there can be, one class in its last slot only. */
static void test_largest_table(struct kpn_selftest *t)
{
	static u16 allowed[KPN_PARTITION_SLOTS_MAX];
	static u64 memory[KPN_PARTITION_PLANES * (KPN_PARTITION_SLOTS_MAX / KPN_WORD_BITS + 2)];
	const u32 last = KPN_PARTITION_SLOTS_MAX - 1;
	struct kpn_partition partition;

	memset(allowed, 0, sizeof(allowed));
	allowed[last] = 0x8000;
	KPN_EXPECT_EQ(t, kpn_partition_bytes(KPN_PARTITION_SLOTS_MAX), sizeof(memory));
	kpn_partition_init(&partition, memory, allowed, KPN_PARTITION_SLOTS_MAX);
	KPN_EXPECT_EQ(t, partition.classes, 0x8000);
	KPN_EXPECT_EQ(t, kpn_partition_mask(&partition, last), 0x8000);
	KPN_EXPECT(t, kpn_partition_window(&partition, 15, last) == 1);
	KPN_EXPECT(t, kpn_partition_window(&partition, 15, last - 63) == 1ull << 63);
	KPN_EXPECT(t, kpn_partition_window(&partition, 15, last - 64) == 0);
	KPN_EXPECT(t, kpn_partition_window(&partition, 14, last) == 0);
	KPN_EXPECT(t, kpn_partition_window(&partition, KPN_PLANE_RESERVED, last) == 0);
	KPN_EXPECT(t,
		   kpn_partition_window(&partition, KPN_PLANE_RESERVED, last - 63) == ~0ull >> 1);
	KPN_EXPECT_EQ(t, partition.gap_slots, 2);
}

static void test_allows(struct kpn_selftest *t)
{
	static const u16 allowed[] = { 0x0001, 0x8002, 0x0000 };
	struct table table;
	u32 index;
	u8 tc;

	make_table(&table, allowed, 3);
	KPN_EXPECT_EQ(t, table.partition.classes, 0x8003);
	for (index = 0; index < 66; index++) {
		for (tc = 0; tc < 16; tc++) {
			bool expected = (index % 3 == 0 && tc == 0) ||
					(index % 3 == 1 && (tc == 1 || tc == 15));

			KPN_EXPECT_EQ(t, kpn_partition_allows(&table.partition, index, tc),
				      expected);
		}
	}
	KPN_EXPECT(t, kpn_partition_window(&table.partition, 0, 0) == 0x9249249249249249ull);
	KPN_EXPECT(t, kpn_partition_window(&table.partition, 1, 1) == 0x9249249249249249ull);
	KPN_EXPECT(t, kpn_partition_window(&table.partition, 0, 63) == 1);
	KPN_EXPECT(t, kpn_partition_window(&table.partition, 15, 64) == 1);
}

static void test_sizes(struct kpn_selftest *t)
{
	static const u16 allowed[KPN_PARTITION_SLOTS_MAX];
	static u64 memory[KPN_PARTITION_PLANES * (KPN_PARTITION_SLOTS_MAX / KPN_WORD_BITS + 2)];
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(size_vectors); i++) {
		const struct size_vector *vector = &size_vectors[i];
		struct kpn_partition partition;

		KPN_EXPECT_EQ_AT(t, vector->line, kpn_partition_bytes(vector->slots),
				 vector->plane_words * 17 * 8);
		kpn_partition_init(&partition, memory, allowed, vector->slots);
		KPN_EXPECT_EQ_AT(t, vector->line, partition.plane_slots, vector->plane_slots);
		KPN_EXPECT_EQ_AT(t, vector->line, partition.plane_words, vector->plane_words);
		KPN_EXPECT_EQ_AT(t, vector->line, partition.plane_slots % vector->slots, 0);
	}
}

void kpn_test_partition(struct kpn_selftest *t)
{
	u32 i;

	test_sizes(t);
	for (i = 0; i < KPN_COUNT_OF(index_vectors); i++) {
		const struct index_vector *vector = &index_vectors[i];
		struct kpn_partition partition = { .slots = vector->slots,
						   .plane_slots = vector->slots };

		while (partition.plane_slots < KPN_WORD_BITS)
			partition.plane_slots += vector->slots;
		KPN_EXPECT_EQ_AT(t, vector->line, kpn_partition_index(&partition, vector->net_slot),
				 vector->index);
	}
	for (i = 0; i < KPN_COUNT_OF(gap_vectors); i++) {
		const struct gap_vector *vector = &gap_vectors[i];
		struct table table;

		make_table(&table, vector->allowed, vector->slots);
		KPN_EXPECT_EQ_AT(t, vector->line, table.partition.gap_slots, vector->gap);
	}
	test_allows(t);
	test_largest_table(t);
	test_random_tables(t);
}
