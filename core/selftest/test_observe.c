/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * observe: against a wire whose position is known. Slots of 10 us, readings that may come at any
 * moment of a slot; the strip must contain the wire at any time, narrow with dither, and notice
 * what contradicts its bounds (docs/model.md).
 */
#include "keepon/observe.h"

#include "moving_wire.h"
#include "selftest.h"

#define SLOT_PS 10000000ull

static bool contains(const struct kpn_strip *strip, const struct wire *wire)
{
	struct kpn_interval interval = kpn_strip_at(strip, wire->now_ns);

	return (s64)(wire->position_ps - interval.lower_ps) >= 0 &&
	       (s64)(interval.upper_ps - wire->position_ps) >= 0;
}

/* One reading of a done index: 300 ns of bus time, the index taken somewhere within. */
static bool read_index(struct kpn_strip *strip, struct wire *wire)
{
	u64 before_ns = wire->now_ns;
	u32 until_ns = kpn_random_below(&wire->seed, 300);
	u64 head_ps;

	wire_go(wire, until_ns);
	head_ps = kpn_div_u64(wire->position_ps, SLOT_PS) * SLOT_PS;
	wire_go(wire, 300 - until_ns);
	return kpn_strip_observe(strip, wire->now_ns + 1, wire->now_ns + 1, head_ps, before_ns,
				 head_ps + SLOT_PS);
}

struct strip_vector {
	int line;
	u32 poll_ns;
	u32 dither_ns;
	s32 ppb;
	u32 wander_ppb; /* a millisecond */
	bool tight;     /* p99 of the width below 5 % of a slot and the reading */
};

static const struct strip_vector strip_vectors[] = {
	{ __LINE__, 20000, 0, 0, 0, false },           { __LINE__, 20000, 10000, 0, 0, true },
	{ __LINE__, 100000, 10000, 100000, 1, true },  { __LINE__, 100000, 0, 100000, 1, false },
	{ __LINE__, 100000, 10000, -100000, 1, true }, { __LINE__, 500000, 10000, 99000, 1, true },
	{ __LINE__, 500000, 0, -100000, 0, false },    { __LINE__, 333333, 10000, -50000, 1, true },
};

static void test_strip_contains_the_wire(struct kpn_selftest *t, const struct strip_vector *vector)
{
	struct wire wire = { .now_ns = 1000,
			     .ppb = vector->ppb,
			     .ppb_limit = 100000,
			     .wander_ppb = vector->wander_ppb,
			     .change_ns = 1000000,
			     .seed = 77 };
	struct kpn_strip strip;
	u32 looks = 0;
	u32 wide = 0;
	u32 i;

	kpn_strip_init(&strip, 100000, 1000, 100000, 1);
	kpn_strip_reset(&strip, wire.now_ns, wire.position_ps, wire.position_ps);
	for (i = 0; i < 10000; i++) {
		struct kpn_interval interval;

		wire_go(&wire, vector->poll_ns / 2);
		if (!KPN_EXPECT_AT(t, vector->line, contains(&strip, &wire)))
			return;
		wire_go(&wire, vector->poll_ns - vector->poll_ns / 2 -
				       (vector->dither_ns ?
						kpn_random_below(&wire.seed, vector->dither_ns) :
						0));
		if (!KPN_EXPECT_AT(t, vector->line, contains(&strip, &wire)) ||
		    !KPN_EXPECT_AT(t, vector->line, read_index(&strip, &wire)))
			return;
		if (i < 2000)
			continue;
		interval = kpn_strip_at(&strip, wire.now_ns + 1);
		looks++;
		wide += interval.upper_ps - interval.lower_ps > SLOT_PS / 20 + 300000;
	}
	if (vector->tight)
		KPN_EXPECT_AT(t, vector->line, wide * 100 <= looks);
}

/* A wire at the stated drift exactly is inside, on its edge: nothing is lost to rounding. */
static void test_edges_of_the_stated_drift(struct kpn_selftest *t)
{
	static const u64 ages_ns[] = { 0, 1, 1000, 1000000, 100000000, 3000000000ull };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(ages_ns); i++) {
		u64 drift_ps = kpn_div_u64(ages_ns[i], 10); /* 100 ppm */
		struct kpn_interval interval;
		struct kpn_strip strip;

		kpn_strip_init(&strip, 100000, 0, 100000, 1);
		kpn_strip_reset(&strip, 5000, 0 - 1000ull, 0); /* positions wrap */
		interval = kpn_strip_at(&strip, 5000 + ages_ns[i]);
		KPN_EXPECT(t, (s64)(ages_ns[i] * 1000 - drift_ps - 1000 - interval.lower_ps) >= 0);
		KPN_EXPECT(t, (s64)(interval.upper_ps - (ages_ns[i] + 1) * 1000 - drift_ps) >= 0);
		/*
		 * and not much wider: 3 ps and 1.2 x 10^-8 of the age. The bound is on the CPU's
		 * rate against the wire's, so the wire's against the CPU's may be 10 ppb more.
		 */
		KPN_EXPECT(t, ages_ns[i] * 1000 - drift_ps - 1000 - interval.lower_ps <=
				      3 + ages_ns[i] / 83000);
		KPN_EXPECT(t, interval.upper_ps - (ages_ns[i] + 1) * 1000 - drift_ps <=
				      3 + ages_ns[i] / 83000);
	}
}

/* Readings at least a slot apart in age say what the rate is, far better than the stated bound. */
static void test_rates_are_learnt(struct kpn_selftest *t)
{
	struct wire wire = {
		.now_ns = 1000, .ppb = 60000, .ppb_limit = 100000, .change_ns = 1000000, .seed = 3
	};
	const s64 per_ppm = 4294967; /* 1e-3 ps per ns x 2^32 */
	struct kpn_strip strip;
	u32 i;

	kpn_strip_init(&strip, 200000, 1000, 100000, 1);
	kpn_strip_reset(&strip, wire.now_ns, 0, 0);
	for (i = 0; i < 20000; i++) {
		wire_go(&wire, 95000 + kpn_random_below(&wire.seed, 10000));
		KPN_EXPECT(t, read_index(&strip, &wire));
	}
	KPN_EXPECT(t, strip.rate_lower <= 60 * per_ppm && strip.rate_upper >= 60 * per_ppm);
	KPN_EXPECT(t, strip.rate_upper - strip.rate_lower < 20 * per_ppm);
}

/*
 * Readings for which no line exists are refused at once or soon, and what was believed stays
 * readable.
 */
static void test_violations_empty_the_strip(struct kpn_selftest *t)
{
	struct wire wire = {
		.now_ns = 1000, .ppb_limit = 2000000, .change_ns = 1000000, .seed = 5
	};
	struct kpn_strip strip;
	struct kpn_strip before;
	bool held = true;
	u32 i;

	kpn_strip_init(&strip, 100000, 1000, 100000, 1);
	kpn_strip_reset(&strip, wire.now_ns, 0, 0);
	for (i = 0; i < 500; i++) {
		wire_go(&wire, 100000);
		KPN_EXPECT(t, read_index(&strip, &wire));
	}
	/* the wire stood still for two slots, unseen */
	before = strip;
	wire_go(&wire, 100000);
	wire.position_ps -= 2 * SLOT_PS;
	KPN_EXPECT(t, !read_index(&strip, &wire));
	KPN_EXPECT_EQ(t, kpn_strip_at(&strip, wire.now_ns).lower_ps,
		      kpn_strip_at(&before, wire.now_ns).lower_ps);
	KPN_EXPECT_EQ(t, kpn_strip_at(&strip, wire.now_ns).upper_ps,
		      kpn_strip_at(&before, wire.now_ns).upper_ps);
	/* it jumps ahead */
	kpn_strip_reset(&strip, wire.now_ns, wire.position_ps, wire.position_ps);
	wire_go(&wire, 100000);
	wire.position_ps += 2 * SLOT_PS;
	KPN_EXPECT(t, !read_index(&strip, &wire));
	/* it drifts by five times the stated bound: a slot of contradiction within 25 ms */
	kpn_strip_reset(&strip, wire.now_ns, wire.position_ps, wire.position_ps);
	wire.ppb = 500000;
	for (i = 0; held && i < 300; i++) {
		wire_go(&wire, 100000);
		held = read_index(&strip, &wire);
	}
	KPN_EXPECT(t, !held);
}

/*
 * After a possible pause both answers are inside, and later readings are not contradicted by old
 * slopes.
 */
static void test_loosened_strip_allows_for_the_pause(struct kpn_selftest *t)
{
	struct wire wire = {
		.now_ns = 1000, .ppb = 20000, .ppb_limit = 100000, .change_ns = 1000000, .seed = 6
	};
	struct kpn_interval was;
	struct kpn_interval is;
	struct kpn_strip strip;
	u32 i;

	kpn_strip_init(&strip, 100000, 1000, 100000, 1);
	kpn_strip_reset(&strip, wire.now_ns, 0, 0);
	for (i = 0; i < 1000; i++) {
		wire_go(&wire, 100000);
		KPN_EXPECT(t, read_index(&strip, &wire));
	}
	was = kpn_strip_at(&strip, strip.cpu_ns);
	kpn_strip_loosen(&strip, 1500000, 0);
	is = kpn_strip_at(&strip, strip.cpu_ns);
	/* What was readable before is carried by other rates: a picosecond either way. */
	KPN_EXPECT(t, was.lower_ps - is.lower_ps - 1500000 <= 1);
	KPN_EXPECT(t, is.upper_ps - was.upper_ps <= 1);
	wire.position_ps -= 1500000;
	for (i = 0; i < 1000; i++) {
		wire_go(&wire, 100000);
		if (!KPN_EXPECT(t, contains(&strip, &wire)) ||
		    !KPN_EXPECT(t, read_index(&strip, &wire)))
			break;
	}
}

static u64 read_at(const struct kpn_strip *strip, u64 cpu_ns)
{
	return kpn_strip_read(strip, kpn_strip_at(strip, cpu_ns));
}

/*
 * What tightens from above, and a pause, move the middle back; what was read as the time stays. A
 * new start forgets it.
 */
static void test_read_positions_never_go_back(struct kpn_selftest *t)
{
	struct kpn_strip strip;
	u64 read_ps;

	kpn_strip_init(&strip, 100000, 1000, 100000, 1);
	kpn_strip_reset(&strip, 1000, 0, 20000000);
	read_ps = read_at(&strip, 1000);
	KPN_EXPECT(t, read_ps >= 9999000 && read_ps <= 10001000);
	KPN_EXPECT(t, kpn_strip_observe(&strip, 1001, 1001, 0, 1001, 4000000));
	KPN_EXPECT(t, read_at(&strip, 1001) >= read_ps && read_at(&strip, 1001) < read_ps + 2000);
	/* it stands still until the middle has come there */
	KPN_EXPECT(t, read_at(&strip, 5000) >= read_ps && read_at(&strip, 5000) < read_ps + 2000);
	KPN_EXPECT(t, read_at(&strip, 11000) > read_ps + 1000000);
	read_ps = read_at(&strip, 20000);
	kpn_strip_loosen(&strip, 3000000, 0);
	KPN_EXPECT(t, read_at(&strip, 20000) <= read_ps);
	kpn_strip_reset(&strip, 21000, 0, 2000);
	KPN_EXPECT(t, read_at(&strip, 21000) <= 3000);
	/* renewing the rates keeps it young: positions are compared modulo 2^64 */
	kpn_strip_observe(&strip, 1000000000, 1000000000, 999900000000, 1000000000, 1000100000000);
	KPN_EXPECT(t, (s64)(strip.read_floor_ps - 900000000000) > 0);
}

/*
 * The wire stands still for 50 ns of every ms. No reading tells, but in between it runs by its own
 * rate: the mean must not become the upper bound.
 */
static void test_pauses_are_not_learnt_as_a_rate(struct kpn_selftest *t)
{
	u32 pauses;

	for (pauses = 0; pauses < 2; pauses++) {
		struct kpn_strip strip;
		u32 i;

		kpn_strip_init(&strip, 100000, 0, 100000, 1);
		strip.pauses = pauses;
		kpn_strip_reset(&strip, 1000000, 0, 100000);
		for (i = 1; i <= 1000; i++) {
			u64 now_ns = 1000000 + i * 1000000ull;
			/* 50 ppm slower than the CPU in the mean */
			u64 at_ps = i * 999950000ull;

			KPN_EXPECT(t, kpn_strip_observe(&strip, now_ns, now_ns, at_ps, now_ns,
							at_ps + 100000));
		}
		KPN_EXPECT_EQ(t, strip.rate_upper == strip.drift, pauses);
		KPN_EXPECT(t, strip.rate_lower > -strip.drift);
	}
}

void kpn_test_observe(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(strip_vectors); i++)
		test_strip_contains_the_wire(t, &strip_vectors[i]);
	test_edges_of_the_stated_drift(t);
	test_rates_are_learnt(t);
	test_violations_empty_the_strip(t);
	test_loosened_strip_allows_for_the_pause(t);
	test_read_positions_never_go_back(t);
	test_pauses_are_not_learnt_as_a_rate(t);
}
