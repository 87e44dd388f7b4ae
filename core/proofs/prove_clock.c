/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clock: the law is monotone, a new anchor or rate does not step it.
 *
 * Products with a rate come from product.h, so that every rate is covered and not some.
 */
#include "keepon/clock.h"
#include "product.h"

#if defined(LAW_IS_FLOOR)
/*
 * Instead of kpn_law_at(): what law_is_floor proves of it, asked for spans whose products with the
 * rate are known, in this order.
 */
enum { SPANS_MAX = 3 };

static struct {
	s64 span_ps;
	s128 product;
} spans[SPANS_MAX];
static u32 span_count;
static u32 span_next;

static struct kpn_time floor_law(const struct kpn_clock *clock, u64 position_ps);

#include "kpn_clock_law.h"
#define kpn_law_at floor_law
#elif !defined(TRUE_PRODUCTS)
#define kpn_mul_add known_mul_add
#endif
#include "../src/clock.c"

/* 53 days each way */
static s64 any_span(void)
{
	s64 span = nondet_s64();

	ASSUME(span > -(1ll << 62) && span < 1ll << 62);
	return span;
}

/* Any clock that reads a time between 1970 and 2116 at its anchor, at any rate within +-1 %. */
static struct kpn_clock any_clock(void)
{
	struct kpn_clock clock;

	clock.anchor_ps = nondet_u64();
	clock.anchor.ns = nondet_s64();
	clock.anchor.frac = nondet_u32();
	clock.mult = nondet_u64();
	ASSUME(clock.anchor.ns >= 0 && clock.anchor.ns <= KPN_TIME_NS_MAX);
	ASSUME(clock.mult >= KPN_CLOCK_NOMINAL_MULT / 100 * 99 - 100);
	ASSUME(clock.mult <= KPN_CLOCK_NOMINAL_MULT / 100 * 101 + 100);
	return clock;
}

/* A time as 2^-32 ns, and the law as one number. */
static s128 whole(struct kpn_time time)
{
	return (s128)time.ns * ((s128)1 << 32) + time.frac;
}

#ifdef LAW_IS_FLOOR
static void know_span(s64 span_ps, s128 product)
{
	spans[span_count].span_ps = span_ps;
	spans[span_count].product = product;
	span_count++;
}

static struct kpn_time floor_law(const struct kpn_clock *clock, u64 position_ps)
{
	s64 distance = (s64)(position_ps - clock->anchor_ps) - spans[span_next].span_ps;
	s128 product = spans[span_next].product;
	s128 time;

	PROVE(distance == 0);
	span_next++;
	time = whole(clock->anchor) + (product >> 40);
	return (struct kpn_time){ .ns = (s64)(time >> 32), .frac = (u32)time };
}

/*
 * PROVE reanchor_keeps_the_law
 * bounds: any rate within +-1 %, any anchor, new anchor and position within 53 days of it
 *	and of each other
 * define: LAW_IS_FLOOR
 * unwind: 5
 * mutant: core/src/clock.c: clock->anchor = kpn_clock_at(clock, now_ps); => clock->anchor
 *	= kpn_clock_at(clock, now_ps); clock->anchor.frac &= ~7u;
 */
void reanchor_keeps_the_law(void)
{
	struct kpn_clock clock = any_clock();
	s64 first = any_span();
	s64 second = any_span();
	s128 product_first = nondet_s128();
	s128 product_second = nondet_s128();
	u64 now_ps = clock.anchor_ps + (u64)first;
	u64 position_ps = now_ps + (u64)second;
	struct kpn_time before;
	struct kpn_time after;
	s128 lost;

	ASSUME(first + second > -(1ll << 62) && first + second < 1ll << 62);
	ASSUME(product_first > -PRODUCT_LIMIT && product_first < PRODUCT_LIMIT);
	ASSUME(product_second > -PRODUCT_LIMIT && product_second < PRODUCT_LIMIT);
	know_span(first + second, product_first + product_second);
	know_span(first, product_first);
	know_span(second, product_second);
	before = kpn_clock_at(&clock, position_ps);
	kpn_clock_reanchor(&clock, now_ps);
	after = kpn_clock_at(&clock, position_ps);
	lost = whole(before) - whole(after);
	PROVE(lost == 0 || lost == 1);
}
#elif !defined(TRUE_PRODUCTS)
/*
 * PROVE law_is_floor
 * bounds: any rate within +-1 %, any anchor, any position within 53 days of it
 * unwind: 3
 * wraps: kpn_law_at: position_ps - clock->anchor_ps (positions count modulo 2^64)
 * mutant: core/src/kpn_clock_law.h: anchor.frac >> (64 - KPN_FRAC_SHIFT) => anchor.frac >>
 *	(65 - KPN_FRAC_SHIFT)
 */
void law_is_floor(void)
{
	struct kpn_clock clock = any_clock();
	s64 span = any_span();
	s128 product = nondet_s128();

	know_product(span, product, clock.mult);
	PROVE(whole(kpn_clock_at(&clock, clock.anchor_ps + (u64)span)) ==
	      whole(clock.anchor) + (product >> 40));
}

/*
 * PROVE clock_is_monotone
 * bounds: any rate within +-1 %, any anchor, any two positions within 53 days of it
 * unwind: 4
 * wraps: kpn_law_at: position_ps - clock->anchor_ps (positions count modulo 2^64)
 * mutant: core/src/kpn_clock_law.h: .frac = (u32)(after.high => .frac = ~(u32)(after.high
 */
void clock_is_monotone(void)
{
	struct kpn_clock clock = any_clock();
	s64 first = any_span();
	s64 second = any_span();
	s128 product = nondet_s128();
	s128 more = nondet_s128();

	ASSUME(first <= second);
	ASSUME(more >= 0 && more < PRODUCT_LIMIT);
	ASSUME(product > -PRODUCT_LIMIT && product < PRODUCT_LIMIT);
	ASSUME(first == second ? more == 0 : more >= (s128)clock.mult);
	know_product(first, product, clock.mult);
	know_product(second, product + more, clock.mult);
	PROVE(!kpn_time_before(kpn_clock_at(&clock, clock.anchor_ps + (u64)second),
			       kpn_clock_at(&clock, clock.anchor_ps + (u64)first)));
}

/*
 * PROVE estimate_is_near
 * bounds: any rate within +-1 %, any time within 53 days of the anchor
 * unwind: 1
 * mutant: core/proofs/product.h: product + 2 * => product + 4 *
 */
void estimate_is_near(void)
{
	u64 mult = any_clock().mult;
	struct kpn_time span = { .ns = nondet_s64(), .frac = nondet_u32() };
	s128 late;

	ASSUME(span.ns > -(1ll << 53) && span.ns < 1ll << 53);
	late = whole(span) * ((s128)1 << 40) - any_estimate(span.frac, 40, mult);
	if (span.ns < 0)
		late += any_estimate(0 - (u64)span.ns, 72, mult);
	else
		late -= any_estimate((u64)span.ns, 72, mult);
	/*
	 * two positions before the estimate are not late, five after it are, each rounded down to
	 * 2^-32 ns
	 */
	PROVE((-2 * (s128)mult - late) >> 40 <= 0);
	PROVE((5 * (s128)mult - late) >> 40 > 0);
}

/*
 * The greatest position whose time is not after @sought is so far from the estimate
 * (estimate_is_near).
 */
static struct kpn_time sought;
static s64 sought_steps;
static bool is_before_anchor;
static u64 estimated_ps;

u64 any_product(u64 a, u64 b, u32 shift)
{
	u64 estimate_ps = nondet_u64();

	(void)a;
	(void)b;
	if (shift == 53 && is_before_anchor)
		estimated_ps -= estimate_ps;
	else
		estimated_ps += estimate_ps;
	return estimate_ps;
}

/* Instead of kpn_clock_at(): any law that never goes back (clock_is_monotone). */
struct kpn_time law_nearby(const struct kpn_clock *clock, u64 position_ps)
{
	struct kpn_time time = { .ns = nondet_s64(), .frac = nondet_u32() };
	bool later = (s64)(position_ps - estimated_ps) > sought_steps;

	(void)clock;
	ASSUME(kpn_time_before(sought, time) == later);
	return time;
}

/*
 * PROVE search_ends_at_the_greatest
 * bounds: any time within 104 days of any anchor, any position of it
 * unwind: 1
 * unwindset: kpn_clock_position_at.0:3 kpn_clock_position_at.1:5
 * replace: kpn_mul_shr: any_product (inverse.smt2, estimate_is_near)
 * replace: kpn_clock_at: law_nearby (clock_is_monotone)
 * wraps: kpn_time_sub: a.frac - b.frac (the borrow is taken care of)
 * wraps: kpn_clock_position_at: position_ps (positions count modulo 2^64)
 * wraps: kpn_clock_position_at: 0 - (u64)span.ns (the magnitude of a negative number)
 * mutant: core/src/clock.c: kpn_clock_at(clock, position_ps + 1) => kpn_clock_at(clock,
 *	position_ps + 2)
 * mutant: core/src/clock.c: while (kpn_time_before(t, => while (0 && kpn_time_before(t,
 */
void search_ends_at_the_greatest(void)
{
	struct kpn_clock clock = any_clock();
	struct kpn_time span;

	sought = (struct kpn_time){ .ns = nondet_s64(), .frac = nondet_u32() };
	ASSUME(sought.ns >= 0 && sought.ns <= KPN_TIME_NS_MAX);
	span = kpn_time_sub(sought, clock.anchor);
	ASSUME(span.ns > -(1ll << 53) && span.ns < 1ll << 53);
	is_before_anchor = span.ns < 0;
	sought_steps = nondet_s64();
	ASSUME(sought_steps >= -2 && sought_steps <= 4);
	estimated_ps = clock.anchor_ps;
	PROVE(kpn_clock_position_at(&clock, sought) == estimated_ps + (u64)sought_steps);
}

#else
/*
 * PROVE adjfine_keeps_time_and_range
 * bounds: every adjustment that can be asked for, and every other s64 is refused; the
 *	clock at its anchor
 * define: TRUE_PRODUCTS
 * checks: asserted (the division behind the inverse is left to inverse_is_exact)
 * unwind: 65
 * mutant: core/src/clock.c: magnitude > KPN_ADJ_SCALED_PPM_MAX => magnitude / 2 >
 *	KPN_ADJ_SCALED_PPM_MAX
 */
void adjfine_keeps_time_and_range(void)
{
	struct kpn_clock clock;
	struct kpn_time start = { .ns = nondet_s64(), .frac = nondet_u32() };
	s64 scaled_ppm = nondet_s64();
	u64 was;
	bool valid = scaled_ppm >= -KPN_ADJ_SCALED_PPM_MAX && scaled_ppm <= KPN_ADJ_SCALED_PPM_MAX;

	ASSUME(start.ns >= 0 && start.ns <= KPN_TIME_NS_MAX);
	kpn_clock_init(&clock, 0, start);
	was = clock.mult;
	PROVE((kpn_clock_adjfine(&clock, scaled_ppm, 0) == 0) == valid);
	PROVE(valid || clock.mult == was);
	PROVE(clock.mult >= KPN_CLOCK_NOMINAL_MULT / 100 * 99 - 100);
	PROVE(clock.mult <= KPN_CLOCK_NOMINAL_MULT / 100 * 101 + 100);
	PROVE(scaled_ppm <= 0 || !valid || clock.mult > was);
	PROVE(scaled_ppm >= 0 || !valid || clock.mult < was);
	PROVE(whole(kpn_clock_at(&clock, 0)) == whole(start));
}

/*
 * PROVE inverse_is_exact
 * bounds: the rates of -1 %, -100 ppm, -2^-16 ppm, 0, 2^-16 ppm, 1 ppb, 100 ppm, 1 %, each exactly
 * define: TRUE_PRODUCTS
 * unwind: 65
 * wraps: kpn_clock_adjfine: (unsigned long int)0 - (u64)scaled_ppm (the magnitude of a
 *	negative number)
 * mutant: core/src/clock.c: bit = 63; bit >= 0; => bit = 63; bit > 0;
 */
void inverse_is_exact(void)
{
	static const s64 rates[] = { -655360000, -6553600, -1, 0, 1, 66, 6553600, 655360000 };
	u32 i;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct kpn_clock clock;

		kpn_clock_init(&clock, 0, (struct kpn_time){ 0, 0 });
		PROVE(!kpn_clock_adjfine(&clock, rates[i], 0));
		PROVE((u128)clock.inverse * clock.mult <= (u128)1 << 125);
		PROVE((u128)1 << 125 < ((u128)clock.inverse + 1) * clock.mult);
	}
}
#endif
