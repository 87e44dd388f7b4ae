/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* gcl: lists worked out by hand, and random ones against sampling every instant of a fine grid. */
#include "keepon/gcl.h"

#include "keepon/errno.h"

#include "selftest.h"

enum {
	MASKS_MAX = 1024,
	RANDOM_LISTS = 1500,
	RANDOM_ENTRIES_MAX = 6,
	RANDOM_INTERVAL_NS_MAX = 12,
	GRID_PS = 250, /* of the sampling; divides every random slot time and a nanosecond */
	RANDOM_SLOT_GRIDS_MAX = 60,
	RANDOM_ROOM = 150, /* some lists need more */
	CANARY = 0x5aa5,
};

/* struct run - consecutive slots with the same mask */
struct run {
	u32 slots;
	u16 allowed;
};

struct vector {
	int line;
	s64 base_ns;
	u64 slot_ps;
	u32 entry_count;
	struct kpn_gcl_entry entries[4];
	struct run runs[6]; /* up to the first empty one */
	u64 lost_ps[4];     /* of classes 0-3; the others equal class 3 */
};

static const struct vector vectors[] = {
	/* one gate state */
	{
		.line = __LINE__,
		.slot_ps = 1000000,
		.entry_count = 1,
		.entries = { { 0xffff, 1000 } },
		.runs = { { 1, 0xffff } },
	},
	{
		.line = __LINE__,
		.base_ns = 12345,
		.slot_ps = 1000000,
		.entry_count = 1,
		.entries = { { 0x0000, 1000 } },
		.runs = { { 1, 0 } },
	},
	{
		.line = __LINE__,
		.base_ns = 999,
		.slot_ps = 7000,
		.entry_count = 1,
		.entries = { { 0x8001, 1 } },
		.runs = { { 1, 0x8001 } },
	},
	/* a slot of several cycles is open only to classes that never close */
	{
		.line = __LINE__,
		.slot_ps = 3000000,
		.entry_count = 2,
		.entries = { { 0x3, 400 }, { 0x1, 600 } },
		.runs = { { 1, 0x1 } },
		.lost_ps = { 0, 1200000 },
	},
	/* 1 ms in three parts, 2 us slots (230 B at 1 Gb/s) */
	{
		.line = __LINE__,
		.slot_ps = 2000000,
		.entry_count = 3,
		.entries = { { 0x1, 300000 }, { 0x2, 300000 }, { 0x4, 400000 } },
		.runs = { { 150, 0x1 }, { 150, 0x2 }, { 200, 0x4 } },
	},
	/* a base one slot late shifts all by one; so does one a thousand cycles later */
	{
		.line = __LINE__,
		.base_ns = 2000,
		.slot_ps = 2000000,
		.entry_count = 3,
		.entries = { { 0x1, 300000 }, { 0x2, 300000 }, { 0x4, 400000 } },
		.runs = { { 1, 0x4 }, { 150, 0x1 }, { 150, 0x2 }, { 199, 0x4 } },
	},
	{
		.line = __LINE__,
		.base_ns = 1000002000,
		.slot_ps = 2000000,
		.entry_count = 3,
		.entries = { { 0x1, 300000 }, { 0x2, 300000 }, { 0x4, 400000 } },
		.runs = { { 1, 0x4 }, { 150, 0x1 }, { 150, 0x2 }, { 199, 0x4 } },
	},
	/* a base half a slot late: boundary slots belong to nobody, each class loses a slot time */
	{
		.line = __LINE__,
		.base_ns = 5000,
		.slot_ps = 10000000,
		.entry_count = 2,
		.entries = { { 0x1, 40000 }, { 0x2, 60000 } },
		.runs = { { 1, 0 }, { 3, 0x1 }, { 1, 0 }, { 5, 0x2 } },
		.lost_ps = { 10000000, 10000000 },
	},
	/* a boundary 1 ns before the end of a slot costs the slot; at its end it does not */
	{
		.line = __LINE__,
		.slot_ps = 10000000,
		.entry_count = 2,
		.entries = { { 0x1, 19999 }, { 0x2, 10001 } },
		.runs = { { 1, 0x1 }, { 1, 0 }, { 1, 0x2 } },
		.lost_ps = { 9999000, 1000 },
	},
	{
		.line = __LINE__,
		.slot_ps = 10000000,
		.entry_count = 2,
		.entries = { { 0x1, 20000 }, { 0x2, 10000 } },
		.runs = { { 2, 0x1 }, { 1, 0x2 } },
	},
	/* overlapping gates: class 0 stays open across the boundary inside the slot */
	{
		.line = __LINE__,
		.slot_ps = 10000000,
		.entry_count = 2,
		.entries = { { 0x3, 5000 }, { 0x1, 15000 } },
		.runs = { { 2, 0x1 } },
		.lost_ps = { 0, 5000000 },
	},
	/* open over the end of the cycle */
	{
		.line = __LINE__,
		.slot_ps = 10000000,
		.entry_count = 3,
		.entries = { { 0x1, 5000 }, { 0x2, 20000 }, { 0x1, 5000 } },
		.runs = { { 1, 0 }, { 1, 0x2 }, { 1, 0 } },
		.lost_ps = { 10000000, 10000000 },
	},
	/*
	 * slot times that do not divide the cycle: 1.5 slots a cycle, and 268.8 ns (64 B at 2.5
	 * Gb/s) in 168 cycles
	 */
	{
		.line = __LINE__,
		.slot_ps = 2000000,
		.entry_count = 2,
		.entries = { { 0x1, 2000 }, { 0x2, 1000 } },
		.runs = { { 1, 0x1 }, { 1, 0 }, { 1, 0 } },
		.lost_ps = { 2000000, 2000000 },
	},
	{
		.line = __LINE__,
		.base_ns = 7,
		.slot_ps = 268800,
		.entry_count = 1,
		.entries = { { 0x1, 1000 } },
		.runs = { { 625, 0x1 } },
	},
	/*
	 * bases far away: 2^62 = 3 x 1537228672809129301 + 1, and 2^63 - 1 = 7 x
	 * 1317624576693539401
	 */
	{
		.line = __LINE__,
		.base_ns = 0x4000000000000000ll,
		.slot_ps = 1000,
		.entry_count = 2,
		.entries = { { 0x1, 1 }, { 0x2, 2 } },
		.runs = { { 1, 0x2 }, { 1, 0x1 }, { 1, 0x2 } },
	},
	{
		.line = __LINE__,
		.base_ns = 0x7fffffffffffffffll,
		.slot_ps = 1000,
		.entry_count = 2,
		.entries = { { 0x1, 3 }, { 0x2, 4 } },
		.runs = { { 3, 0x1 }, { 4, 0x2 } },
	},
};

static void test_vector(struct kpn_selftest *t, const struct vector *vector)
{
	static u16 allowed[MASKS_MAX];
	struct kpn_gcl gcl = {
		.base_ns = vector->base_ns,
		.entry_count = vector->entry_count,
		.entries = vector->entries,
	};
	struct kpn_gcl_report report;
	u32 slots = 0;
	u32 wrong = 0;
	u32 tc;
	u32 i;

	if (!KPN_EXPECT_EQ_AT(t, vector->line,
			      kpn_gcl_compile(&gcl, vector->slot_ps, allowed, MASKS_MAX, &report),
			      0))
		return;
	for (i = 0; i < KPN_COUNT_OF(vector->runs); i++) {
		u32 end = slots + vector->runs[i].slots;

		for (; slots < end; slots++)
			wrong += allowed[slots] != vector->runs[i].allowed;
	}
	KPN_EXPECT_EQ_AT(t, vector->line, wrong, 0);
	KPN_EXPECT_EQ_AT(t, vector->line, report.partition_slots, slots);
	for (tc = 0; tc < 16; tc++)
		KPN_EXPECT_EQ_AT(t, vector->line, report.lost_ps[tc],
				 vector->lost_ps[tc < 4 ? tc : 3]);
}

struct refusal {
	int line;
	s64 base_ns;
	u64 slot_ps;
	u32 entry_count;
	struct kpn_gcl_entry entries[2];
	u32 room;
	int result;
};

static const struct refusal refusals[] = {
	{ __LINE__, 0, 1000, 0, { { 0 } }, 64, -KPN_EINVAL },
	{ __LINE__, 0, 1000, 1, { { 1, 0 } }, 64, -KPN_EINVAL },
	{ __LINE__, 0, 1000, 2, { { 1, 5 }, { 1, 0 } }, 64, -KPN_EINVAL },
	{ __LINE__, -1, 1000, 1, { { 1, 1 } }, 64, -KPN_EINVAL },
	{ __LINE__, 0, 0, 1, { { 1, 1 } }, 64, -KPN_EINVAL },
	{ __LINE__, 0, 1000, 1, { { 1, 1 } }, 0, -KPN_ERANGE },
	/* 64 slots fit into room for 64 but not into less */
	{ __LINE__, 0, 1000, 1, { { 1, 64 } }, 64, 0 },
	{ __LINE__, 0, 1000, 1, { { 1, 64 } }, 63, -KPN_ERANGE },
	{ __LINE__, 0, 1000, 1, { { 1, 65 } }, 64, -KPN_ERANGE },
	/* 2.6 ns against 1 ns: 5 slots are 13 cycles */
	{ __LINE__, 0, 2600, 1, { { 1, 1 } }, 5, 0 },
	{ __LINE__, 0, 2600, 1, { { 1, 1 } }, 4, -KPN_ERANGE },
	/* a prime slot time has nothing in common with the cycle */
	{ __LINE__, 0, 999983, 1, { { 1, 1 } }, 64, -KPN_ERANGE },
	/* periods beyond 2^62 ps are out of range, not wrapped */
	{ __LINE__, 0, 4611686018427387000ull, 1, { { 1, 1 } }, 1, 0 },
	{ __LINE__, 0, 4611686018427388000ull, 1, { { 1, 1 } }, 1, -KPN_ERANGE },
	{ __LINE__, 0, 18446744073709551000ull, 1, { { 1, 1 } }, 1, -KPN_ERANGE },
};

static void test_refusal(struct kpn_selftest *t, const struct refusal *refusal)
{
	u16 allowed[65];
	struct kpn_gcl gcl = {
		.base_ns = refusal->base_ns,
		.entry_count = refusal->entry_count,
		.entries = refusal->entries,
	};
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(allowed); i++)
		allowed[i] = CANARY;
	KPN_EXPECT_EQ_AT(t, refusal->line,
			 kpn_gcl_compile(&gcl, refusal->slot_ps, allowed, refusal->room, NULL),
			 refusal->result);
	/* nothing is written on refusal, and never past the room */
	for (i = refusal->result ? 0 : refusal->room; i < KPN_COUNT_OF(allowed); i++)
		KPN_EXPECT_EQ_AT(t, refusal->line, allowed[i], CANARY);
}

static void test_longest_list(struct kpn_selftest *t)
{
	static struct kpn_gcl_entry entries[KPN_GCL_ENTRIES_MAX + 1];
	static u16 allowed[KPN_GCL_ENTRIES_MAX + 1];
	struct kpn_gcl gcl = { .entry_count = KPN_GCL_ENTRIES_MAX, .entries = entries };
	struct kpn_gcl_report report;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(entries); i++)
		entries[i] = (struct kpn_gcl_entry){ .gates = (u16)i, .interval_ns = 0xffffffffu };
	/* slots as long as an interval, 4.29 s */
	if (KPN_EXPECT_EQ(t,
			  kpn_gcl_compile(&gcl, 0xffffffffull * 1000, allowed,
					  KPN_COUNT_OF(allowed), &report),
			  0)) {
		KPN_EXPECT_EQ(t, report.partition_slots, KPN_GCL_ENTRIES_MAX);
		for (i = 0; i < KPN_GCL_ENTRIES_MAX; i++)
			KPN_EXPECT_EQ(t, allowed[i], i);
		for (i = 0; i < 16; i++)
			KPN_EXPECT_EQ(t, report.lost_ps[i], 0);
	}
	gcl.entry_count++;
	KPN_EXPECT_EQ(
		t,
		kpn_gcl_compile(&gcl, 0xffffffffull * 1000, allowed, KPN_COUNT_OF(allowed), NULL),
		-KPN_EINVAL);
}

/* struct sampled - gates at every grid instant of one cycle, whose first one is network time 0 */
struct sampled {
	u16 gates[RANDOM_ENTRIES_MAX * RANDOM_INTERVAL_NS_MAX * (1000 / GRID_PS)];
	u32 cycle_grids;
};

static void sample_list(struct sampled *sampled, const struct kpn_gcl *gcl, u32 base_ns)
{
	u32 at = 0;
	u32 i;
	u32 k;

	sampled->cycle_grids = 0;
	for (i = 0; i < gcl->entry_count; i++)
		sampled->cycle_grids += gcl->entries[i].interval_ns * (1000 / GRID_PS);
	KPN_ASSERT(sampled->cycle_grids);
	for (i = 0; i < gcl->entry_count; i++) {
		for (k = 0; k < gcl->entries[i].interval_ns * (1000 / GRID_PS); k++, at++)
			sampled->gates[(at + base_ns * (1000 / GRID_PS)) % sampled->cycle_grids] =
				gcl->entries[i].gates;
	}
}

static void test_random_list(struct kpn_selftest *t, u64 *seed)
{
	static struct sampled sampled;
	static u16 allowed[RANDOM_ROOM];
	struct kpn_gcl_entry entries[RANDOM_ENTRIES_MAX];
	struct kpn_gcl gcl = { .entry_count = 1 + kpn_random_below(seed, RANDOM_ENTRIES_MAX),
			       .entries = entries };
	u32 slot_grids = 1 + kpn_random_below(seed, RANDOM_SLOT_GRIDS_MAX);
	u32 base_ns = kpn_random_below(seed, 200);
	struct kpn_gcl_report report;
	u64 lost_ps[16] = { 0 };
	u32 cycle_ns = 0;
	u32 slots = 1;
	u32 wrong = 0;
	u32 tc;
	u32 i;
	u32 k;
	int result;

	for (i = 0; i < gcl.entry_count; i++) {
		entries[i].gates = (u16)(kpn_random(seed) >> 20);
		entries[i].interval_ns = 1 + kpn_random_below(seed, RANDOM_INTERVAL_NS_MAX);
		cycle_ns += entries[i].interval_ns;
	}
	/* up to 2^55 whole cycles later the pattern is the same */
	gcl.base_ns = (s64)(base_ns + kpn_random_bits(seed, 55) * cycle_ns);
	sample_list(&sampled, &gcl, base_ns);
	while (slots <= RANDOM_ROOM && slots * slot_grids % sampled.cycle_grids)
		slots++;

	result = kpn_gcl_compile(&gcl, (u64)slot_grids * GRID_PS, allowed, RANDOM_ROOM, &report);
	if (!KPN_EXPECT_EQ(t, result, slots <= RANDOM_ROOM ? 0 : -KPN_ERANGE) || result)
		return;
	KPN_EXPECT_EQ(t, report.partition_slots, slots);
	for (i = 0; i < slots; i++) {
		u16 open = 0xffff;

		for (k = 0; k < slot_grids; k++) {
			u16 gates = sampled.gates[(i * slot_grids + k) % sampled.cycle_grids];

			open &= gates;
			for (tc = 0; tc < 16; tc++)
				lost_ps[tc] += (gates >> tc & 1) * GRID_PS;
		}
		for (tc = 0; tc < 16; tc++)
			lost_ps[tc] -= (u64)(open >> tc & 1) * slot_grids * GRID_PS;
		wrong += allowed[i] != open;
	}
	KPN_EXPECT_EQ(t, wrong, 0);
	wrong = 0;
	for (tc = 0; tc < 16; tc++)
		wrong += report.lost_ps[tc] != lost_ps[tc];
	KPN_EXPECT_EQ(t, wrong, 0);
}

void kpn_test_gcl(struct kpn_selftest *t)
{
	u64 seed = 0x6c1;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(vectors); i++)
		test_vector(t, &vectors[i]);
	for (i = 0; i < KPN_COUNT_OF(refusals); i++)
		test_refusal(t, &refusals[i]);
	test_longest_list(t);
	for (i = 0; i < RANDOM_LISTS; i++)
		test_random_list(t, &seed);
}
