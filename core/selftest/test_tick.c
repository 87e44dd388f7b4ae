/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tick: the strip on CPU counters that count 18.5 ns (54 MHz, a Raspberry Pi 4) and 52 ns (19.2
 * MHz), against exact fractions. Time is counted in 64ths of a tick, of which k have passed when
 *
 *	wire position = k x (10^9 + ppb) / scale ps,    scale = 64 x hz / 1000
 *
 * and both sides of every comparison are multiplied out, so that nothing is rounded but by the
 * counter and the strip. No reading may contradict, at the stated drift exactly.
 */
#include "keepon/observe.h"

#include "selftest.h"

#define SLOT_PS 10000000ull
#define BILLION 1000000000ull

enum { PARTS = 64, DRIFT_PPB = 200000 };

/**
 * struct counter - a CPU counter and a wire
 * @hz: of the counter; @tick_ns: as its backend states it
 * @per_ns_numerator: ns in a tick are this by @per_ns_divisor
 */
struct counter {
	int line;
	u32 hz;
	u32 tick_ns;
	u32 per_ns_numerator;
	u32 per_ns_divisor;
	s32 ppb;
	u64 parts;
};

static const struct counter counters[] = {
	{ __LINE__, 54000000, 19, 500, 27, 0, 0 },
	{ __LINE__, 54000000, 19, 500, 27, DRIFT_PPB, 0 },
	{ __LINE__, 54000000, 19, 500, 27, -DRIFT_PPB, 0 },
	{ __LINE__, 54000000, 19, 500, 27, 12345, 0 },
	{ __LINE__, 19200000, 53, 625, 12, 0, 0 },
	{ __LINE__, 19200000, 53, 625, 12, DRIFT_PPB, 0 },
	{ __LINE__, 19200000, 53, 625, 12, -DRIFT_PPB, 0 },
	{ __LINE__, 19200000, 53, 625, 12, -54321, 0 },
};

static u64 scale_of(const struct counter *counter)
{
	return PARTS * (u64)(counter->hz / 1000);
}

static u64 scaled_position(const struct counter *counter)
{
	return counter->parts * (BILLION + (u64)(s64)counter->ppb);
}

/* Whole ns of whole ticks. */
static u64 cpu_ns(const struct counter *counter)
{
	return kpn_div_u64(counter->parts / PARTS * counter->per_ns_numerator,
			   counter->per_ns_divisor);
}

static bool contains(const struct kpn_strip *strip, const struct counter *counter)
{
	struct kpn_interval interval = kpn_strip_at(strip, cpu_ns(counter));
	u64 position = scaled_position(counter);

	/* below the origin of positions everything is less than where the wire is */
	return ((s64)interval.lower_ps < 0 || interval.lower_ps * scale_of(counter) <= position) &&
	       interval.upper_ps * scale_of(counter) >= position;
}

/* A reading of a done index, taken somewhere within its time, as the pacer dates it. */
static bool read_index(struct kpn_strip *strip, struct counter *counter, u64 *seed)
{
	u64 before_ns = cpu_ns(counter);
	u64 head_ps;
	u64 now_ns;

	counter->parts += kpn_random_below(seed, 20 * PARTS);
	head_ps = kpn_div_u64(scaled_position(counter), scale_of(counter) * SLOT_PS) * SLOT_PS;
	counter->parts += kpn_random_below(seed, 20 * PARTS);
	now_ns = cpu_ns(counter) + counter->tick_ns;
	return kpn_strip_observe(strip, now_ns, now_ns, head_ps, before_ns, head_ps + SLOT_PS);
}

static u32 ticks_in(const struct counter *counter, u32 ns)
{
	return (u32)kpn_div_u64((u64)ns * counter->hz, BILLION);
}

static void test_strip_contains_the_wire(struct kpn_selftest *t, const struct counter *vector)
{
	struct counter counter = *vector;
	u64 seed = 5 + (u64)vector->line;
	u64 width_ps = 0;
	struct kpn_strip strip;
	u32 i;

	counter.parts = kpn_random_below(&seed, 1000 * PARTS);
	kpn_strip_init(&strip, DRIFT_PPB, 0, 40000, counter.tick_ns);
	kpn_strip_reset(&strip, cpu_ns(&counter) + counter.tick_ns, 0,
			kpn_div_u64(scaled_position(&counter), scale_of(&counter)) +
				counter.tick_ns * 1001);
	for (i = 0; i < 20000; i++) {
		struct kpn_interval interval;

		counter.parts += kpn_random_below(&seed, ticks_in(&counter, 40000) * PARTS);
		if (!KPN_EXPECT_AT(t, vector->line, contains(&strip, &counter)))
			return;
		counter.parts += kpn_random_below(&seed, ticks_in(&counter, 40000) * PARTS);
		if (!KPN_EXPECT_AT(t, vector->line, contains(&strip, &counter)))
			return;
		/* no false slip */
		if (!KPN_EXPECT_AT(t, vector->line, read_index(&strip, &counter, &seed)) ||
		    !KPN_EXPECT_AT(t, vector->line, contains(&strip, &counter)))
			return;
		interval = kpn_strip_at(&strip, cpu_ns(&counter) + counter.tick_ns);
		width_ps = interval.upper_ps - interval.lower_ps;
	}
	/* not by being wide: ticks at both ends of a reading, what it took, and a microsecond */
	KPN_EXPECT_AT(t, vector->line, width_ps < 1000000 + 44 * 1000ull * counter.tick_ns);
}

void kpn_test_tick(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(counters); i++)
		test_strip_contains_the_wire(t, &counters[i]);
}
