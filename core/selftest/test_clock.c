/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clock: the law at every Ethernet rate over ten years, rates by exact arithmetic, its inverse, and
 * what setters leave alone (B1-B9). 65.536 s of wire time gain exactly s ns at an adjustment of s x
 * 2^-16 ppm: that makes exact vectors.
 */
#include "keepon/clock.h"

#include "keepon/errno.h"
#include "keepon/wire.h"

#include "selftest.h"

#define GAIN_SPAN_PS 65536000000000ull
#define GAIN_SPAN_NS 65536000000ll
#define TEN_YEARS_S 315576000ull
#define FRAC_OF_10_FS 42950u /* 1e-5 ns, 2^-32 ns */

static const u64 rates_bps[] = { 10000000ull,    100000000ull,   1000000000ull,  2500000000ull,
				 5000000000ull,  10000000000ull, 25000000000ull, 40000000000ull,
				 50000000000ull, 100000000000ull };

static const struct kpn_time zero = { 0, 0 };

/* |a - b| in 2^-32 ns; the times are within a second of each other. */
static u64 distance(struct kpn_time a, struct kpn_time b)
{
	struct kpn_time gap = kpn_time_before(a, b) ? kpn_time_sub(b, a) : kpn_time_sub(a, b);

	return ((u64)gap.ns << 32) + gap.frac;
}

static void expect_near(struct kpn_selftest *t, int line, struct kpn_time time, s64 ns, u64 limit)
{
	KPN_EXPECT_AT(t, line, distance(time, (struct kpn_time){ ns, 0 }) <= limit);
}

/*
 * Ten years of back-to-back slots: slots are counted and their time is taken by long division, with
 * no rate involved.
 */
static void no_drift_in_ten_years(struct kpn_selftest *t, u64 rate_bps, u32 frame_bytes)
{
	u64 slot_ps = (u64)kpn_wire_bytes(frame_bytes) * kpn_byte_time_ps(rate_bps);
	u64 stride = kpn_div_u64(1ull << 59, slot_ps); /* slots between two looks, 6.7 days */
	u64 stride_ns = kpn_div_u64(stride * slot_ps, 1000);
	u64 stride_rest_ps = stride * slot_ps - stride_ns * 1000;
	u64 rest_ps = 0;
	u64 position_ps = 0;
	struct kpn_clock clock;
	s64 ns = 0;

	kpn_clock_init(&clock, 0, zero);
	while ((u64)ns < TEN_YEARS_S * 1000000000) {
		struct kpn_time exact;

		position_ps += stride * slot_ps; /* wraps every 213 days */
		ns += (s64)stride_ns;
		rest_ps += stride_rest_ps;
		if (rest_ps >= 1000) {
			rest_ps -= 1000;
			ns++;
		}
		exact = (struct kpn_time){ ns, (u32)kpn_div_u64(rest_ps << 32, 1000) };
		if (!KPN_EXPECT(t, distance(kpn_clock_at(&clock, position_ps), exact) <
					   (1ull << 32) / 40))
			return;
		kpn_clock_reanchor(&clock, position_ps);
	}
}

static void test_rates(struct kpn_selftest *t)
{
	static const u32 frames_bytes[] = { 64, 300, 1230, 1522 };
	u32 rate;
	u32 frame;

	for (rate = 0; rate < KPN_COUNT_OF(rates_bps); rate++) {
		for (frame = 0; frame < KPN_COUNT_OF(frames_bytes); frame++)
			no_drift_in_ten_years(t, rates_bps[rate], frames_bytes[frame]);
	}
}

static bool same_law(const struct kpn_clock *a, const struct kpn_clock *b)
{
	return a->anchor_ps == b->anchor_ps && a->anchor.ns == b->anchor.ns &&
	       a->anchor.frac == b->anchor.frac && a->mult == b->mult && a->inverse == b->inverse &&
	       a->scaled_ppm == b->scaled_ppm;
}

/* B1, B3: whole slots at vectors that have whole nanoseconds. */
static void test_law(struct kpn_selftest *t)
{
	struct kpn_clock clock;
	u64 position_ps;

	/* 1230 bytes are 10 us at 1 Gb/s; 36 us of the paper's 1500-byte slots are 3 ticks */
	kpn_clock_init(&clock, 0, (struct kpn_time){ 1700000000000000000ll, 0 });
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 0).ns, 1700000000000000000ll);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 10000000).ns, 1700000000000010000ll);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 3 * 1500 * 8000).ns, 1700000000000036000ll);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 0 - 10000000ull).ns, 1700000000000000000ll - 10001);
	KPN_EXPECT(t, kpn_clock_at(&clock, 0 - 10000000ull).frac > 0xffffff00u);
	/* 64 bytes at 2.5 Gb/s: 268.8 ns, of which the fraction is kept */
	kpn_clock_init(&clock, 0, zero);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 268800).ns, 268);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 268800).frac, 3435973836u);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 5 * 268800).ns, 1344);
	/* positions wrap, time does not */
	position_ps = 0 - 5000000ull;
	kpn_clock_init(&clock, position_ps, zero);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 0).ns, 5000);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 5000000).ns, 10000);
	/* the longest span of one anchor, 53 days either way */
	kpn_clock_init(&clock, 0, (struct kpn_time){ 5000000000000000ll, 0 });
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 4611686018427387000ull).ns,
		      5000000000000000ll + 4611686018427387ll);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 0 - 4611686018427387000ull).ns,
		      5000000000000000ll - 4611686018427388ll);
}

static void test_adjfine_gains(struct kpn_selftest *t)
{
	static const s64 scaled_ppm[] = { 0,
					  1,
					  -1,
					  66,
					  -66,
					  65536,
					  -65536,
					  6553600,
					  -6553600,
					  KPN_ADJ_SCALED_PPM_MAX,
					  -KPN_ADJ_SCALED_PPM_MAX };
	struct kpn_clock clock;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(scaled_ppm); i++) {
		kpn_clock_init(&clock, 7, zero);
		KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, scaled_ppm[i], 7), 0);
		KPN_EXPECT_EQ(t, clock.scaled_ppm, scaled_ppm[i]);
		expect_near(t, __LINE__, kpn_clock_at(&clock, 7 + GAIN_SPAN_PS),
			    GAIN_SPAN_NS + scaled_ppm[i], FRAC_OF_10_FS);
	}
	/* 1 % of a second */
	kpn_clock_init(&clock, 0, zero);
	KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, KPN_ADJ_SCALED_PPM_MAX, 0), 0);
	expect_near(t, __LINE__, kpn_clock_at(&clock, 1000000000000ull), 1010000000, FRAC_OF_10_FS);
}

/*
 * The prototype's steps were 81 to 100 ppm; here the finest one shows in a single slot of the
 * shortest length.
 */
static void test_one_ppb_is_visible_in_every_slot(struct kpn_selftest *t)
{
	u32 rate;

	for (rate = 0; rate < KPN_COUNT_OF(rates_bps); rate++) {
		u64 slot_ps = 84ull * kpn_byte_time_ps(rates_bps[rate]);
		struct kpn_clock nominal;
		struct kpn_clock clock;
		u64 gained;
		u64 expected = kpn_div_u64(slot_ps * 66, 1000) * 65536; /* 2^-32 ns x 10^6 */

		kpn_clock_init(&nominal, 0, zero);
		kpn_clock_init(&clock, 0, zero);
		KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, 66, 0), 0); /* 1.007 ppb */
		gained = distance(kpn_clock_at(&clock, slot_ps), kpn_clock_at(&nominal, slot_ps));
		KPN_EXPECT(t, gained > 0);
		KPN_EXPECT(t, gained + 1 >= kpn_div_u64(expected, 1000000) &&
				      gained <= kpn_div_u64(expected, 1000000) + 2);
	}
}

static void test_adjfine_refuses_beyond_its_limits(struct kpn_selftest *t)
{
	static const s64 refused[] = { KPN_ADJ_SCALED_PPM_MAX + 1, -KPN_ADJ_SCALED_PPM_MAX - 1,
				       0x7fffffffffffffffll, -0x7fffffffffffffffll - 1 };
	struct kpn_clock clock;
	struct kpn_clock before;
	u32 i;

	kpn_clock_init(&clock, 5, (struct kpn_time){ 77, 99 });
	KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, 1234, 1000000), 0);
	before = clock;
	for (i = 0; i < KPN_COUNT_OF(refused); i++) {
		KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, refused[i], 2000000), -KPN_ERANGE);
		KPN_EXPECT(t, same_law(&clock, &before));
	}
}

/*
 * A thousand rate changes: the clock never jumps, and ends where the sum of the exact gains says.
 */
static void test_rate_changes_do_not_jump(struct kpn_selftest *t)
{
	u64 seed = 4242;
	u64 position_ps = 0;
	s64 ns = 0;
	struct kpn_clock clock;
	u32 i;

	kpn_clock_init(&clock, 0, zero);
	for (i = 0; i < 1000; i++) {
		s64 scaled_ppm = (s64)kpn_random_below(&seed, 2 * 6553600) - 6553600;
		struct kpn_time before = kpn_clock_at(&clock, position_ps);

		KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, scaled_ppm, position_ps), 0);
		if (!KPN_EXPECT_EQ(t, distance(kpn_clock_at(&clock, position_ps), before), 0))
			return;
		position_ps += GAIN_SPAN_PS;
		ns += GAIN_SPAN_NS + scaled_ppm;
	}
	expect_near(t, __LINE__, kpn_clock_at(&clock, position_ps), ns, 1000 * FRAC_OF_10_FS);
}

/* B7-B9: setting moves the offset only, reading moves nothing. */
static void test_offset_and_rate_are_apart(struct kpn_selftest *t)
{
	struct kpn_clock clock;
	struct kpn_clock before;
	struct kpn_time time;

	kpn_clock_init(&clock, 0, (struct kpn_time){ 1000000, 0 });
	KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, 65536, 0), 0);
	before = clock;
	time = kpn_clock_at(&clock, 123456789);
	kpn_clock_position_at(&clock, time);
	KPN_EXPECT(t, same_law(&clock, &before));

	kpn_clock_adjtime(&clock, (struct kpn_time){ 250, 1u << 31 });
	KPN_EXPECT_EQ(t, distance(kpn_clock_at(&clock, 123456789), time),
		      (250ull << 32) + (1u << 31));
	kpn_clock_adjtime(&clock, kpn_time_sub(zero, (struct kpn_time){ 250, 1u << 31 }));
	KPN_EXPECT_EQ(t, distance(kpn_clock_at(&clock, 123456789), time), 0);
	KPN_EXPECT_EQ(t, clock.mult, before.mult);
	KPN_EXPECT_EQ(t, clock.scaled_ppm, 65536);

	kpn_clock_settime(&clock, 500, (struct kpn_time){ 42, 43 });
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 500).ns, 42);
	KPN_EXPECT_EQ(t, kpn_clock_at(&clock, 500).frac, 43);
	KPN_EXPECT_EQ(t, clock.mult, before.mult);
}

/*
 * B5: the inverse is the greatest position not after the time, at any rate, before and after the
 * anchor.
 */
static void test_inverse(struct kpn_selftest *t)
{
	static const s64 scaled_ppm[] = { 0, 1, -6553600, KPN_ADJ_SCALED_PPM_MAX,
					  -KPN_ADJ_SCALED_PPM_MAX };
	u64 seed = 99;
	u32 i;
	u32 k;

	for (i = 0; i < KPN_COUNT_OF(scaled_ppm); i++) {
		struct kpn_clock clock;

		kpn_clock_init(&clock, 0 - 1000000ull, (struct kpn_time){ 1ll << 60, 12345 });
		KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, scaled_ppm[i], 0 - 1000000ull), 0);
		for (k = 0; k < 2000; k++) {
			u64 span_ps = kpn_random(&seed) >> (3 + kpn_random_below(&seed, 60));
			u64 position_ps =
				k & 1 ? clock.anchor_ps + span_ps : clock.anchor_ps - span_ps;
			struct kpn_time time = kpn_clock_at(&clock, position_ps);
			struct kpn_time within = { time.ns, (u32)kpn_random(&seed) };
			u64 found_ps = kpn_clock_position_at(&clock, within);

			if (!KPN_EXPECT_EQ(t, kpn_clock_position_at(&clock, time), position_ps) ||
			    !KPN_EXPECT(t,
					!kpn_time_before(within, kpn_clock_at(&clock, found_ps))) ||
			    !KPN_EXPECT(
				    t, kpn_time_before(within, kpn_clock_at(&clock, found_ps + 1))))
				return;
		}
	}
}

/*
 * However long nobody looked: just below and above where a span in picoseconds changes its sign and
 * where it begins again, and for ten years; with a rate of its own, a gain that is a whole number.
 */
static void test_long_passes(struct kpn_selftest *t)
{
	static const u64 spans_ns[] = { 0,
					1,
					(1ull << 63) / 1000,
					(1ull << 63) / 1000 + 1,
					~0ull / 1000,
					~0ull / 1000 + 1,
					TEN_YEARS_S * 1000000000 };
	const u64 gains = 10000000; /* 20 years */
	struct kpn_clock clock;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(spans_ns); i++) {
		kpn_clock_init(&clock, 12345, zero);
		kpn_clock_pass(&clock, spans_ns[i]);
		KPN_EXPECT_EQ(t, clock.anchor_ps, 12345 + spans_ns[i] * 1000);
		expect_near(t, __LINE__, clock.anchor, (s64)spans_ns[i], (1ull << 32) / 40);
	}
	kpn_clock_init(&clock, 0, zero);
	KPN_EXPECT_EQ(t, kpn_clock_adjfine(&clock, 1, 0), 0);
	kpn_clock_pass(&clock, gains * GAIN_SPAN_NS);
	/* the rate is right to 2^-54 */
	expect_near(t, __LINE__, clock.anchor, (s64)(gains * (GAIN_SPAN_NS + 1)),
		    ((gains * GAIN_SPAN_NS >> 54) + 1) << 32);
}

static void test_time_arithmetic(struct kpn_selftest *t)
{
	struct kpn_time a = { 5, 0xffffffff };
	struct kpn_time b = { -7, 2 };

	KPN_EXPECT_EQ(t, kpn_time_add(a, b).ns, -1);
	KPN_EXPECT_EQ(t, kpn_time_add(a, b).frac, 1);
	KPN_EXPECT_EQ(t, kpn_time_sub(b, a).ns, -13);
	KPN_EXPECT_EQ(t, kpn_time_sub(b, a).frac, 3);
	KPN_EXPECT(t, kpn_time_before(b, a) && !kpn_time_before(a, b) && !kpn_time_before(a, a));
}

void kpn_test_clock(struct kpn_selftest *t)
{
	test_law(t);
	test_rates(t);
	test_adjfine_gains(t);
	test_one_ppb_is_visible_in_every_slot(t);
	test_adjfine_refuses_beyond_its_limits(t);
	test_rate_changes_do_not_jump(t);
	test_offset_and_rate_are_apart(t);
	test_inverse(t);
	test_long_passes(t);
	test_time_arithmetic(t);
}
