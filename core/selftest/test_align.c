/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * align: the grid to the picosecond, trims per second by theory, error and lock within the stated
 * bounds (docs/model.md).
 */
#include "keepon/align.h"

#include "keepon/wire.h"

#include "selftest.h"

#define SECOND_PS 1000000000000ull

/* 2^-32 ns in a picosecond, rounded up */
enum { TIME_PER_PS = 4294968 };

struct grid_vector {
	int line;
	u64 rate_bps;
	u32 frame_bytes;
	u64 slot_ps;
	u32 cell_slots;
};

static const struct grid_vector grid_vectors[] = {
	{ __LINE__, 1000000000ull, 1230, 10000000, 1 },
	{ __LINE__, 1000000000ull, 64, 672000, 1 },
	{ __LINE__, 2500000000ull, 64, 268800, 5 },
	{ __LINE__, 2500000000ull, 65, 272000, 1 },
	{ __LINE__, 10000000000ull, 64, 67200, 5 },
	{ __LINE__, 40000000000ull, 65, 17000, 1 },
	{ __LINE__, 100000000000ull, 64, 6720, 25 },
	{ __LINE__, 100000000000ull, 67, 6960, 25 },
	{ __LINE__, 25000000000ull, 1522, 493440, 25 },
	{ __LINE__, 10000000ull, 1518, 1230400000, 1 },
};

/*
 * 64 bytes at 2.5 Gb/s are 268.8 ns: no slot may start at a rounded time, or floor would pick its
 * neighbour.
 */
static void test_grid_is_exact(struct kpn_selftest *t)
{
	u64 seed = 5;
	u32 i;
	u32 k;

	for (i = 0; i < KPN_COUNT_OF(grid_vectors); i++) {
		const struct grid_vector *vector = &grid_vectors[i];
		struct kpn_grid grid;

		kpn_grid_init(&grid, (u64)kpn_wire_bytes(vector->frame_bytes) *
					     kpn_byte_time_ps(vector->rate_bps));
		KPN_EXPECT_EQ_AT(t, vector->line, grid.slot_ps, vector->slot_ps);
		KPN_EXPECT_EQ_AT(t, vector->line, grid.cell_slots, vector->cell_slots);
		for (k = 0; k < 1000; k++) {
			u64 net_slot = k < 30 ? k : kpn_random(&seed) >> 34;
			u64 exact_ps = net_slot * grid.slot_ps; /* < 2^61 */
			u64 exact_ns = kpn_div_u64(exact_ps, 1000);
			u32 rest_ps = (u32)(exact_ps - exact_ns * 1000);
			struct kpn_time time = kpn_grid_time(&grid, net_slot);

			if (!KPN_EXPECT_EQ_AT(t, vector->line, time.ns, (s64)exact_ns) ||
			    !KPN_EXPECT_EQ_AT(t, vector->line, time.frac,
					      kpn_div_u64((u64)rest_ps << 32, 1000)) ||
			    !KPN_EXPECT_EQ_AT(t, vector->line,
					      kpn_grid_floor(&grid, (s64)exact_ns, rest_ps),
					      net_slot))
				break;
			if (!net_slot)
				continue;
			/* one picosecond before its start it has not begun */
			exact_ns -= rest_ps ? 0 : 1;
			rest_ps = rest_ps ? rest_ps - 1 : 999;
			if (!KPN_EXPECT_EQ_AT(t, vector->line,
					      kpn_grid_floor(&grid, (s64)exact_ns, rest_ps),
					      net_slot - 1))
				break;
		}
	}
}

static void test_error_has_sign_and_limit(struct kpn_selftest *t)
{
	struct kpn_clock clock;
	struct kpn_align align;

	kpn_clock_init(&clock, 0, (struct kpn_time){ 5000000000ll, 0 });
	kpn_align_init(&align, 10000000, 8000, 128000, 128000);
	align.base = 500000;
	KPN_EXPECT_EQ(t, kpn_align_error(&align, &clock, 3, 30000000), 0);
	KPN_EXPECT_EQ(t, kpn_align_error(&align, &clock, 3, 30008000), 8ll << 32);
	KPN_EXPECT_EQ(t, kpn_align_error(&align, &clock, 3, 29992000), -(8ll << 32));
	align.base = 0;
	KPN_EXPECT_EQ(t, kpn_align_error(&align, &clock, 3, 30000000), 1000000000ll << 32);
	align.base = 2000000;
	KPN_EXPECT_EQ(t, kpn_align_error(&align, &clock, 3, 30000000), -(1000000000ll << 32));
}

/*
 * After a step of whole slots only the base moves, after any other at most half a slot is left to
 * trim away.
 */
static void test_base_takes_whole_slots(struct kpn_selftest *t)
{
	static const s64 steps_ns[] = { 0,     1,     -1,     4999,      5001,
					-5001, 10000, -10000, 123456789, 10000000000ll };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(steps_ns); i++) {
		struct kpn_clock clock;
		struct kpn_align align;
		s64 left;
		bool moved;

		kpn_clock_init(&clock, 0, (struct kpn_time){ 20000000000ll, 0 });
		kpn_align_init(&align, 10000000, 8000, 128000, 128000);
		align.base = 2000000;
		kpn_clock_adjtime(&clock, (struct kpn_time){ steps_ns[i], 0 });
		moved = kpn_align_choose_base(&align, &clock, 100, 100 * 10000000ull);
		left = kpn_align_error(&align, &clock, 100, 100 * 10000000ull);
		KPN_EXPECT_EQ(t, moved, steps_ns[i] > 5000 || steps_ns[i] < -5000);
		KPN_EXPECT(t, left <= (5000ll << 32) + TIME_PER_PS &&
				      left >= -(5000ll << 32) - TIME_PER_PS);
		KPN_EXPECT(t, !kpn_align_choose_base(&align, &clock, 100, 100 * 10000000ull));
	}
}

struct trim_vector {
	int line;
	u64 rate_bps;
	u32 frame_bytes;
	s32 ppm;
};

static const struct trim_vector trim_vectors[] = {
	{ __LINE__, 100000000ull, 64, 100 },     { __LINE__, 100000000ull, 1518, -100 },
	{ __LINE__, 1000000000ull, 64, -100 },   { __LINE__, 1000000000ull, 300, 100 },
	{ __LINE__, 1000000000ull, 1230, 100 },  { __LINE__, 1000000000ull, 1230, -100 },
	{ __LINE__, 1000000000ull, 1230, 1 },    { __LINE__, 1000000000ull, 1230, 0 },
	{ __LINE__, 2500000000ull, 64, 100 },    { __LINE__, 2500000000ull, 64, -50 },
	{ __LINE__, 10000000000ull, 1522, 100 }, { __LINE__, 100000000000ull, 64, -100 },
};

/* struct wire - slots laid end to end as a pacer would post them */
struct wire {
	struct kpn_clock clock;
	struct kpn_align align;
	u64 slot_ps;
	u64 seq;
	u64 position_ps;
	u64 trims;
};

static void wire_init(struct wire *wire, u64 rate_bps, u32 frame_bytes, s32 ppm, s64 phase_ns)
{
	u64 byte_ps = kpn_byte_time_ps(rate_bps);

	*wire = (struct wire){ .slot_ps = kpn_wire_bytes(frame_bytes) * byte_ps };
	kpn_clock_init(&wire->clock, 0, (struct kpn_time){ phase_ns, 0 });
	kpn_clock_adjfine(&wire->clock, (s64)ppm * 65536, 0);
	kpn_align_init(&wire->align, wire->slot_ps, byte_ps, 16 * byte_ps, 16 * byte_ps);
}

/* Post up to the next slot the plan asks for, and that one. */
static void wire_step(struct wire *wire)
{
	s64 delta_ps;

	if (wire->align.next_trim_seq > wire->seq) {
		wire->position_ps += (wire->align.next_trim_seq - wire->seq) * wire->slot_ps;
		wire->seq = wire->align.next_trim_seq;
	}
	delta_ps = kpn_align_trim(&wire->align, &wire->clock, wire->seq, wire->position_ps);
	wire->trims += delta_ps != 0;
	wire->position_ps += wire->slot_ps + (u64)delta_ps;
	wire->seq++;
}

static s64 magnitude(s64 value)
{
	return value < 0 ? -value : value;
}

/*
 * One second of wire: trims = drift / quantum, and every look at the boundary is within the bound.
 */
static void test_trims_per_second(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(trim_vectors); i++) {
		const struct trim_vector *vector = &trim_vectors[i];
		u64 ppm = (u64)magnitude(vector->ppm);
		struct wire wire;
		u64 due;
		s64 limit;

		wire_init(&wire, vector->rate_bps, vector->frame_bytes, vector->ppm, 0);
		limit = (s64)(kpn_align_bounds(&wire.align, 0, 1, (u32)ppm * 1000, 0)
				      .boundary_error_ps *
			      TIME_PER_PS);
		due = kpn_div_u64(
			ppm * 1000000,
			kpn_byte_time_ps(vector->rate_bps)); /* 1 s x ppm in ps, by byte time */
		while (wire.position_ps < SECOND_PS && wire.align.next_trim_seq != KPN_SEQ_NEVER) {
			u64 last = wire.seq;

			wire_step(&wire);
			/*
			 * the greatest error is before and after a trim: look at both ends of the
			 * run, and after it
			 */
			if (!KPN_EXPECT_AT(t, vector->line,
					   magnitude(kpn_align_error(&wire.align, &wire.clock,
								     wire.seq, wire.position_ps)) <=
						   limit) ||
			    !KPN_EXPECT_AT(t, vector->line, wire.seq > last))
				break;
		}
		KPN_EXPECT_AT(t, vector->line, wire.align.lock_seq <= 1);
		KPN_EXPECT_AT(t, vector->line, wire.trims + 2 >= due && wire.trims <= due + 2);
	}
}

/* What is carried from trim to trim is what the clock law says, for as long as it is carried. */
static void test_carried_error_is_that_of_the_law(struct kpn_selftest *t)
{
	u64 carried = 0;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(trim_vectors); i++) {
		const struct trim_vector *vector = &trim_vectors[i];
		struct wire wire;
		u32 trims;

		wire_init(&wire, vector->rate_bps, vector->frame_bytes, vector->ppm, 0);
		for (trims = 0; trims < 3000 && wire.align.next_trim_seq != KPN_SEQ_NEVER;
		     trims++) {
			u64 ahead;
			s64 error;

			wire_step(&wire);
			if (!wire.align.carries)
				continue;
			carried++;
			ahead = wire.align.next_trim_seq + 1 - wire.seq;
			error = kpn_align_error(&wire.align, &wire.clock, wire.seq + ahead,
						wire.position_ps + ahead * wire.slot_ps);
			if (wire.align.drift < 0)
				error = -error;
			/* 2^-20 ns of drift, 2^-32 ns of either reading */
			if (!KPN_EXPECT_AT(t, vector->line,
					   magnitude(wire.align.carried - error * 4096) <=
						   (1 << 24) + 2 * 4096))
				break;
		}
	}
	KPN_EXPECT(t, carried > 20000);
}

/* Whatever changes the plan ends the carrying. */
static void test_nothing_is_carried_across_a_change(struct kpn_selftest *t)
{
	struct wire wire;
	u32 i;

	wire_init(&wire, 1000000000, 1230, 100, 0);
	for (i = 0; i < 4; i++)
		wire_step(&wire);
	KPN_EXPECT(t, wire.align.carries > 0);
	kpn_align_replan(&wire.align, wire.seq);
	KPN_EXPECT_EQ(t, wire.align.carries, 0);
	KPN_EXPECT_EQ(t, wire.align.next_trim_seq, wire.seq);
	KPN_EXPECT(t, wire.align.lock_seq != KPN_SEQ_NEVER);
	for (i = 0; i < 4; i++)
		wire_step(&wire);
	KPN_EXPECT(t, wire.align.carries > 0);
	kpn_align_unlock(&wire.align);
	KPN_EXPECT_EQ(t, wire.align.carries, 0);
	for (i = 0; i < 4; i++)
		wire_step(&wire);
	kpn_clock_adjtime(&wire.clock, (struct kpn_time){ 100000, 0 });
	KPN_EXPECT(t, kpn_align_choose_base(&wire.align, &wire.clock, wire.seq, wire.position_ps));
	KPN_EXPECT_EQ(t, wire.align.carries, 0);
	/* not yet on the grid where planning starts again: not on it at all */
	wire_init(&wire, 1000000000, 1230, 100, 3000);
	wire_step(&wire);
	while (wire.align.lock_seq == KPN_SEQ_NEVER)
		wire_step(&wire);
	kpn_align_replan(&wire.align, wire.align.lock_seq - 1);
	KPN_EXPECT_EQ(t, wire.align.lock_seq, KPN_SEQ_NEVER);
}

/*
 * From any residual of half a slot the grid is reached in the number of trimmed slots that was
 * promised.
 */
static void test_lock_takes_no_longer_than_promised(struct kpn_selftest *t)
{
	static const s32 rates_ppm[] = { 0, 100, -100 };
	static const s64 phases_ns[] = { 0, 3, 4, 5, 100, 2500, 4999, 5000, 5001, 7000, 9997 };
	u32 rate;
	u32 phase;

	for (rate = 0; rate < KPN_COUNT_OF(rates_ppm); rate++) {
		for (phase = 0; phase < KPN_COUNT_OF(phases_ns); phase++) {
			struct kpn_bounds bounds;
			struct wire wire;
			s64 limit;
			u32 i;

			wire_init(&wire, 1000000000, 1230, rates_ppm[rate], phases_ns[phase]);
			kpn_align_choose_base(&wire.align, &wire.clock, 0, 0);
			bounds = kpn_align_bounds(&wire.align, 0, 1, 100000, 0);
			limit = (s64)(bounds.boundary_error_ps * TIME_PER_PS);
			KPN_EXPECT_EQ(t, wire.align.lock_seq, KPN_SEQ_NEVER);
			while (wire.align.lock_seq == KPN_SEQ_NEVER && wire.seq < 100)
				wire_step(&wire);
			KPN_EXPECT(t, wire.align.lock_seq <= bounds.lock_slots);
			for (i = 0; i < 1000 && wire.align.next_trim_seq != KPN_SEQ_NEVER; i++) {
				if (!KPN_EXPECT(t, magnitude(kpn_align_error(
							   &wire.align, &wire.clock, wire.seq,
							   wire.position_ps)) <= limit))
					break;
				wire_step(&wire);
			}
			kpn_align_unlock(&wire.align);
			KPN_EXPECT_EQ(t, wire.align.lock_seq, KPN_SEQ_NEVER);
		}
	}
}

/*
 * 5 us away at 16 bytes of 8 ns a slot: 40 slots of full trim, and never more in one slot than
 * allowed.
 */
static void test_trim_range_is_kept(struct kpn_selftest *t)
{
	struct wire wire;
	u32 i;

	wire_init(&wire, 1000000000, 1230, 0, 5000);
	for (i = 0; i < 39; i++)
		KPN_EXPECT_EQ(
			t, kpn_align_trim(&wire.align, &wire.clock, i, i * (10000000ull - 128000)),
			-128000);
	/* 8 ns are left after 39 of them */
	KPN_EXPECT_EQ(t, kpn_align_trim(&wire.align, &wire.clock, 39, 39 * (10000000ull - 128000)),
		      -8000);
	KPN_EXPECT_EQ(t, wire.align.lock_seq, 40);
	KPN_EXPECT_EQ(t, wire.align.next_trim_seq, KPN_SEQ_NEVER);
	/* half a quantum is left alone, one picosecond more is not */
	wire_init(&wire, 1000000000, 1230, 0, 4);
	KPN_EXPECT_EQ(t, kpn_align_trim(&wire.align, &wire.clock, 0, 0), 0);
	KPN_EXPECT_EQ(t, kpn_align_trim(&wire.align, &wire.clock, 0, 1), -8000);
	KPN_EXPECT_EQ(t, kpn_align_trim(&wire.align, &wire.clock, 0, 0 - 8002ull), 8000);
}

/* The terms one by one, for 10 us slots with 8 ns quanta and trims of 128 ns. */
static void test_bounds_by_hand(struct kpn_selftest *t)
{
	struct kpn_align align;
	struct kpn_bounds bounds;

	kpn_align_init(&align, 10000000, 8000, 128000, 128000);
	/* half a quantum and rounding */
	bounds = kpn_align_bounds(&align, 0, 1, 0, 0);
	KPN_EXPECT(t, bounds.boundary_error_ps >= 4000 && bounds.boundary_error_ps <= 4005);
	KPN_EXPECT_EQ(t, bounds.lock_slots, 40);
	/* a change by 100 ppm, seen 20 slots of at most 10.128 us later: 20.256 ns */
	bounds = kpn_align_bounds(&align, 20, 1, 0, 100000);
	KPN_EXPECT(t, bounds.boundary_error_ps >= 24256 && bounds.boundary_error_ps <= 24262);
	KPN_EXPECT_EQ(t, bounds.span_ns, 202561);
	/*
	 * every 8th slot may be trimmed, the clock is off by 100 ppm: 8 ns more between two of
	 * them, 0.8 ps a quantum
	 */
	bounds = kpn_align_bounds(&align, 0, 8, 100000, 0);
	KPN_EXPECT(t, bounds.boundary_error_ps >= 12000 && bounds.boundary_error_ps <= 12008);
	KPN_EXPECT_EQ(t, bounds.lock_slots, 42); /* 5 us / 120 ns */
	KPN_EXPECT(t, bounds.lock_ns >= 42 * 8 * 10000);
	/* drift eats the whole trim: no lock is promised */
	bounds = kpn_align_bounds(&align, 0, 128, 100000, 0);
	KPN_EXPECT_EQ(t, bounds.lock_slots, KPN_SEQ_NEVER);
	KPN_EXPECT_EQ(t, bounds.lock_ns, KPN_SEQ_NEVER);
}

/* Bounds are of picoseconds at 40 Gb/s. */
static void test_beyond_is_exact(struct kpn_selftest *t)
{
	struct kpn_align align;
	struct kpn_clock clock;
	u64 off_ps;

	kpn_align_init(&align, 250000, 200, 1600, 1600);
	kpn_clock_init(&clock, 0, (struct kpn_time){ 0, 0 });
	for (off_ps = 0; off_ps < 2000; off_ps++) {
		KPN_EXPECT_EQ(t, kpn_align_beyond(&align, &clock, 400, 100000000 + off_ps, 133),
			      off_ps > 133);
		KPN_EXPECT_EQ(t, kpn_align_beyond(&align, &clock, 400, 100000000 - off_ps, 133),
			      off_ps > 133);
	}
}

void kpn_test_align(struct kpn_selftest *t)
{
	test_grid_is_exact(t);
	test_error_has_sign_and_limit(t);
	test_base_takes_whole_slots(t);
	test_trims_per_second(t);
	test_carried_error_is_that_of_the_law(t);
	test_nothing_is_carried_across_a_change(t);
	test_lock_takes_no_longer_than_promised(t);
	test_trim_range_is_kept(t);
	test_bounds_by_hand(t);
	test_beyond_is_exact(t);
}
