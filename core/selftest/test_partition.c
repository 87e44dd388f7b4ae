/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* partition: index of any net_slot, permission per class, distance between reserved slots. */
#include "keepon/partition.h"

#include "selftest.h"

enum { RANDOM_TABLES = 2000, TABLE_SLOTS_MAX = 40 };

struct index_vector {
	int line;
	u32 slots;
	u64 net_slot;
	u32 index;
};

static const struct index_vector index_vectors[] = {
	{ __LINE__, 1, 0, 0 },
	{ __LINE__, 1, 0xffffffffffffffffull, 0 },
	{ __LINE__, 32, 31, 31 },
	{ __LINE__, 32, 32, 0 },
	{ __LINE__, 32, 0xffffffffffffffffull, 31 },
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

/* Step by step through two periods: the slots from each reserved one to the next. */
static u32 gap_by_walking(const u16 *allowed, u32 slots)
{
	u32 longest = 0;
	u32 from;

	for (from = 0; from < slots; from++) {
		u32 steps = 1;

		if (allowed[from])
			continue;
		while (allowed[(from + steps) % slots])
			steps++;
		if (steps > longest)
			longest = steps;
	}
	return longest;
}

static void test_random_tables(struct kpn_selftest *t)
{
	u16 allowed[TABLE_SLOTS_MAX];
	u64 seed = 0x9a17;
	u32 round;

	for (round = 0; round < RANDOM_TABLES; round++) {
		struct kpn_partition partition = {
			.allowed = allowed,
			.slots = 1 + kpn_random_below(&seed, TABLE_SLOTS_MAX),
		};
		u32 reserved_one_in = 1 + kpn_random_below(&seed, 12);
		u64 net_slot = kpn_random_bits(&seed, 64);
		u32 index = kpn_partition_index(&partition, net_slot);
		u32 i;

		for (i = 0; i < partition.slots; i++)
			allowed[i] = kpn_random_below(&seed, reserved_one_in) ? 1 : 0;
		KPN_EXPECT_EQ(t, kpn_partition_gap_max(&partition), gap_by_walking(allowed, partition.slots));
		/* the index is in the table, one slot on is one index on, one period on is the same */
		KPN_EXPECT(t, index < partition.slots);
		KPN_EXPECT_EQ(t, kpn_partition_index(&partition, net_slot - index), 0);
		if (net_slot < net_slot + partition.slots) {
			KPN_EXPECT_EQ(t, kpn_partition_index(&partition, net_slot + 1), (index + 1) % partition.slots);
			KPN_EXPECT_EQ(t, kpn_partition_index(&partition, net_slot + partition.slots), index);
		}
	}
}

static void test_allows(struct kpn_selftest *t)
{
	static const u16 allowed[] = { 0x0001, 0x8002, 0x0000 };
	struct kpn_partition partition = { .allowed = allowed, .slots = 3 };
	u32 index;
	u8 tc;

	for (index = 0; index < 3; index++) {
		for (tc = 0; tc < 16; tc++) {
			bool expected = (index == 0 && tc == 0) || (index == 1 && (tc == 1 || tc == 15));

			KPN_EXPECT_EQ(t, kpn_partition_allows(&partition, index, tc), expected);
		}
	}
}

void kpn_test_partition(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(index_vectors); i++) {
		const struct index_vector *vector = &index_vectors[i];
		struct kpn_partition partition = { .slots = vector->slots };

		KPN_EXPECT_EQ_AT(t, vector->line, kpn_partition_index(&partition, vector->net_slot), vector->index);
	}
	for (i = 0; i < KPN_COUNT_OF(gap_vectors); i++) {
		const struct gap_vector *vector = &gap_vectors[i];
		struct kpn_partition partition = { .allowed = vector->allowed, .slots = vector->slots };

		KPN_EXPECT_EQ_AT(t, vector->line, kpn_partition_gap_max(&partition), vector->gap);
	}
	test_allows(t);
	test_random_tables(t);
}
