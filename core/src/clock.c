// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The clock law: one anchor and one rate. Nothing here reads a counter or knows a slot.
 * Source: KeepON paper section 3.2 (now = cycle count x cycle period + offset), with wire
 * picoseconds as count.
 */
#include "keepon/clock.h"

#include "keepon/errno.h"
#include "kpn_clock_law.h"
#include "kpn_math.h"

enum {
	INVERSE_SHIFT = 53,
	RATE_SHIFT = 55, /* of the adjustment as a fraction */
};

#define PASS_NS_MAX (1ull << 51) /* 26 days: the law holds within 53 days of its anchor */

/*
 * 2^(KPN_LAW_SHIFT + INVERSE_SHIFT) / mult by schoolbook division: 125 bits by 63, once per rate
 * change.
 */
static u64 inverse_of(u64 mult)
{
	u64 rest = 1ull << (KPN_LAW_SHIFT + INVERSE_SHIFT - 64);
	u64 quotient = 0;
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		rest <<= 1; /* rest < mult < 2^63, so no bit is lost */
		if (rest >= mult) {
			rest -= mult;
			quotient |= 1ull << bit;
		}
	}
	return quotient;
}

void kpn_clock_init(struct kpn_clock *clock, u64 position_ps, struct kpn_time start)
{
	clock->anchor_ps = position_ps;
	clock->anchor = start;
	clock->mult = KPN_CLOCK_NOMINAL_MULT;
	clock->inverse = inverse_of(KPN_CLOCK_NOMINAL_MULT);
	clock->scaled_ppm = 0;
}

struct kpn_time kpn_clock_at(const struct kpn_clock *clock, u64 position_ps)
{
	return kpn_law_at(clock, position_ps);
}

u64 kpn_clock_position_at(const struct kpn_clock *clock, struct kpn_time t)
{
	struct kpn_time span = kpn_time_sub(t, clock->anchor);
	u64 position_ps = clock->anchor_ps;

	/* The estimate is within two picoseconds; the law itself decides. */
	if (span.ns >= 0)
		position_ps += kpn_mul_shr((u64)span.ns, clock->inverse, INVERSE_SHIFT);
	else
		position_ps -= kpn_mul_shr(0 - (u64)span.ns, clock->inverse, INVERSE_SHIFT);
	position_ps += kpn_mul_shr(span.frac, clock->inverse, INVERSE_SHIFT + 32);
	while (kpn_time_before(t, kpn_clock_at(clock, position_ps)))
		position_ps--;
	while (!kpn_time_before(t, kpn_clock_at(clock, position_ps + 1)))
		position_ps++;
	return position_ps;
}

int kpn_clock_adjfine(struct kpn_clock *clock, s64 scaled_ppm, u64 now_ps)
{
	u64 magnitude = scaled_ppm < 0 ? 0 - (u64)scaled_ppm : (u64)scaled_ppm;
	u64 change;

	if (magnitude > KPN_ADJ_SCALED_PPM_MAX)
		return -KPN_ERANGE;
	kpn_clock_reanchor(clock, now_ps);
	/*
	 * scaled_ppm / (65536 x 10^6) as a fraction of 2^55: 65536 x 10^6 = 2^22 x 15625, and
	 * 655360000 x 2^33 < 2^63.
	 */
	change = kpn_div_u64(magnitude << (RATE_SHIFT - 22), 15625);
	change = kpn_mul_shr(KPN_CLOCK_NOMINAL_MULT, change, RATE_SHIFT);
	clock->mult =
		scaled_ppm < 0 ? KPN_CLOCK_NOMINAL_MULT - change : KPN_CLOCK_NOMINAL_MULT + change;
	clock->inverse = inverse_of(clock->mult);
	clock->scaled_ppm = scaled_ppm;
	return 0;
}

void kpn_clock_adjtime(struct kpn_clock *clock, struct kpn_time delta)
{
	clock->anchor = kpn_time_add(clock->anchor, delta);
}

void kpn_clock_settime(struct kpn_clock *clock, u64 now_ps, struct kpn_time t)
{
	clock->anchor_ps = now_ps;
	clock->anchor = t;
}

void kpn_clock_reanchor(struct kpn_clock *clock, u64 now_ps)
{
	clock->anchor = kpn_clock_at(clock, now_ps);
	clock->anchor_ps = now_ps;
}

void kpn_clock_pass(struct kpn_clock *clock, u64 span_ns)
{
	for (; span_ns > PASS_NS_MAX; span_ns -= PASS_NS_MAX)
		kpn_clock_reanchor(clock, clock->anchor_ps + PASS_NS_MAX * 1000);
	kpn_clock_reanchor(clock, clock->anchor_ps + span_ns * 1000);
}
