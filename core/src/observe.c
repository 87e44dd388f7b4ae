// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The strip of docs/model.md: two bounds on the wire position, carried by two bounds on its rate.
 * All rounding goes outwards, so soundness never depends on how fine the numbers are.
 */
#include "keepon/observe.h"

#include "kpn_math.h"

enum { WANDER_SHIFT = 32 }; /* of wander_per_ns above the unit of rates */

/*
 * The first reading after some time renews the rates and pads them for the wander until the next
 * renewal (at 100 ppb/s and 8 ms: 0.8 ppb), so that many polls share its cost. The renewal period
 * starts at its minimum and grows with the span.
 */
#define RENEW_NS_MIN 16000000ull
#define RENEW_NS_MAX KPN_PACE_NS_MAX
enum { RENEW_POLLS = 256 };

/* A slope over less time is less precise than the stated drift. */
#define SLOPE_NS_MIN 1000000ull
#define SPAN_NS_MIN RENEW_NS_MIN
#define SPAN_NS_MAX 16000000000ull

static u64 root_of(u64 square)
{
	u64 root = 0;
	u64 bit = 1;

	while (bit * bit <= square >> 2)
		bit <<= 1;
	for (; bit; bit >>= 1) {
		u64 candidate = root | bit;

		if (candidate * candidate <= square)
			root = candidate;
	}
	return root;
}

static s64 wander_over(const struct kpn_strip *strip, u64 time_ns)
{
	return (s64)kpn_mul_shr(strip->wander_per_ns, time_ns, WANDER_SHIFT) + 1;
}

/* A rate as a pace; rates are above -1000, so the shift of the sum rounds down. */
static u64 pace_of(s64 rate, bool round_up)
{
	u64 whole = (1000ull << KPN_RATE_SHIFT) + (u64)rate;
	u32 shift = KPN_RATE_SHIFT - KPN_PACE_SHIFT;

	return (whole + (round_up ? (1ull << shift) - 1 : 0)) >> shift;
}

/* How far the wire moves at a rate in any time, rounded down. */
static u64 moved_ps(u64 dt_ns, s64 rate)
{
	u64 magnitude = rate < 0 ? 0 - (u64)rate : (u64)rate;
	u64 extra_ps = kpn_mul_shr(dt_ns, magnitude, KPN_RATE_SHIFT);

	return rate < 0 ? dt_ns * 1000 - extra_ps - 1 : dt_ns * 1000 + extra_ps;
}

/* A lower bound at one CPU time, carried on, or back, by dt_ns. */
static u64 carry_lower(const struct kpn_strip *strip, u64 position_ps, s64 dt_ns)
{
	if (dt_ns >= 0)
		return position_ps + moved_ps((u64)dt_ns, strip->rate_lower);
	return position_ps - moved_ps(0 - (u64)dt_ns, strip->rate_upper) - 1;
}

/* The same for an upper bound. */
static u64 carry_upper(const struct kpn_strip *strip, u64 position_ps, s64 dt_ns)
{
	if (dt_ns >= 0)
		return position_ps + moved_ps((u64)dt_ns, strip->rate_upper) + 1;
	return position_ps - moved_ps(0 - (u64)dt_ns, strip->rate_lower);
}

static void widen_rates(struct kpn_strip *strip, s64 by)
{
	strip->rate_lower -= by;
	strip->rate_upper += by;
	if (strip->rate_lower < -strip->drift)
		strip->rate_lower = -strip->drift;
	if (strip->rate_upper > strip->drift)
		strip->rate_upper = strip->drift;
}

/* Use the present rates, padded for the wander until their renewal. */
static void use_rates(struct kpn_strip *strip)
{
	u64 use_ns = strip->span_ns / 2 < strip->renew_ns ? strip->span_ns / 2 : strip->renew_ns;

	widen_rates(strip, wander_over(strip, use_ns));
	strip->pace_lower = pace_of(strip->rate_lower, false);
	strip->pace_upper = pace_of(strip->rate_upper, true);
	strip->rate_due_ns = strip->cpu_ns + use_ns;
}

/*
 * Slope advance_ps / age_ns as a rate, rounded up or down. Return: false if the slope is too far
 * from the nominal rate to be of use.
 */
static bool slope(s64 advance_ps, u64 age_ns, bool round_up, s64 *rate)
{
	s64 excess_ps = advance_ps - (s64)(age_ns * 1000);
	u64 magnitude = excess_ps < 0 ? 0 - (u64)excess_ps : (u64)excess_ps;
	u64 quotient;

	if (magnitude >> (63 - KPN_RATE_SHIFT))
		return false;
	quotient = kpn_div_u64(magnitude << KPN_RATE_SHIFT, age_ns);
	if ((excess_ps >= 0) == round_up)
		quotient++;
	*rate = excess_ps < 0 ? -(s64)quotient : (s64)quotient;
	return true;
}

/*
 * With a strip of width w, rates are known to 2 w / span + wander x span / 2; that is smallest at
 * span = 2 sqrt(w / wander) = sqrt(4e18 / wander_ppb_per_s) x sqrt(w_ns) ns.
 */
static u64 best_span_ns(const struct kpn_strip *strip)
{
	u64 width_ns = kpn_div_u64(strip->upper_ps - strip->lower_ps, 1000) + 1;
	u64 span_ns = strip->span_root * root_of(width_ns);

	if (span_ns > SPAN_NS_MAX)
		return SPAN_NS_MAX;
	return span_ns > SPAN_NS_MIN ? span_ns : SPAN_NS_MIN;
}

/*
 * The wire's mean rate between the old anchor and now lies between two slopes; its present rate
 * differs from the mean by at most half the wander over that time.
 */
static bool renew_rates(struct kpn_strip *strip)
{
	u64 now_ns = strip->cpu_ns;
	u64 age_ns = now_ns - strip->old.cpu_ns;
	s64 rate;

	if (age_ns >= SLOPE_NS_MIN) {
		s64 wander = wander_over(strip, age_ns / 2);

		if (!strip->pauses &&
		    slope((s64)(strip->upper_ps - strip->old.lower_ps), age_ns, true, &rate) &&
		    rate + wander < strip->rate_upper)
			strip->rate_upper = rate + wander;
		if (slope((s64)(strip->lower_ps - strip->old.upper_ps), age_ns, false, &rate) &&
		    rate - wander > strip->rate_lower)
			strip->rate_lower = rate - wander;
		if (strip->rate_lower > strip->rate_upper)
			return false;
	}
	if (now_ns - strip->young.cpu_ns >= strip->span_ns) {
		u64 best_ns = best_span_ns(strip);

		strip->old = strip->young;
		strip->young =
			(struct kpn_strip_anchor){ now_ns, strip->lower_ps, strip->upper_ps };
		strip->span_ns = 2 * strip->span_ns < best_ns ? 2 * strip->span_ns : best_ns;
	}
	use_rates(strip);
	/* The floor is compared modulo 2^64, so it must not grow old. */
	kpn_strip_note_read(strip, strip->lower_ps, strip->lower_ps);
	return true;
}

void kpn_strip_init(struct kpn_strip *strip, u32 drift_ppb_max, u32 wander_ppb_per_s_max,
		    u64 poll_ns, u32 tick_ns)
{
	u64 renew_ns = RENEW_POLLS * poll_ns;

	memset(strip, 0, sizeof(*strip));
	/*
	 * 1 ppb is 10^-6 ps per ns; rounded up. A CPU slower by d means a wire faster by d / (1 -
	 * d): at 100 ppm that is 10 ppb more, a nanosecond every 0.1 s.
	 */
	strip->drift = (s64)(kpn_div_u64((u64)drift_ppb_max << KPN_RATE_SHIFT,
					 1000000 - (drift_ppb_max + 999) / 1000) +
			     1);
	/* 1 ppb per s is 10^-15 ps per ns per ns: 2^64 / 10^15 = 18446.7, rounded up */
	strip->wander_per_ns = wander_ppb_per_s_max * 18447ull;
	strip->span_root = root_of(kpn_div_u64(4000000000000000000ull,
					       wander_ppb_per_s_max ? wander_ppb_per_s_max : 1));
	if (renew_ns > RENEW_NS_MAX)
		renew_ns = RENEW_NS_MAX;
	strip->renew_ns = renew_ns > RENEW_NS_MIN ? renew_ns : RENEW_NS_MIN;
	strip->pace_most = pace_of(strip->drift, true);
	strip->tick_ns = tick_ns;
}

void kpn_strip_reset(struct kpn_strip *strip, u64 cpu_ns, u64 lower_ps, u64 upper_ps)
{
	strip->cpu_ns = cpu_ns;
	strip->lower_ps = lower_ps;
	strip->upper_ps = upper_ps;
	strip->read_floor_ps = lower_ps;
	strip->rate_lower = -strip->drift;
	strip->rate_upper = strip->drift;
	strip->old = (struct kpn_strip_anchor){ cpu_ns, lower_ps, upper_ps };
	strip->young = strip->old;
	strip->span_ns = SPAN_NS_MIN;
	use_rates(strip);
	strip->valid = true;
}

bool kpn_strip_merge_late(struct kpn_strip *strip, u64 now_ns, u64 lower_ps, u64 upper_ps)
{
	u64 dt_ns = now_ns - strip->cpu_ns;
	bool due = now_ns >= strip->rate_due_ns;
	u64 lower;
	u64 upper;

	KPN_ASSERT((s64)dt_ns >= 0);
	if (due)
		widen_rates(strip, wander_over(strip, now_ns - strip->rate_due_ns));
	lower = carry_lower(strip, strip->lower_ps, (s64)dt_ns);
	upper = carry_upper(strip, strip->upper_ps, (s64)dt_ns);
	kpn_strip_note_read(strip, lower, upper);
	if ((s64)(lower_ps - lower) > 0)
		lower = lower_ps;
	if ((s64)(upper_ps - upper) < 0)
		upper = upper_ps;
	if ((s64)(upper - lower) < 0)
		return false;
	strip->cpu_ns = now_ns;
	strip->lower_ps = lower;
	strip->upper_ps = upper;
	return !due || renew_rates(strip);
}

bool kpn_strip_observe(struct kpn_strip *strip, u64 now_ns, u64 lower_ns, u64 lower_ps,
		       u64 upper_ns, u64 upper_ps)
{
	return kpn_strip_merge_late(strip, now_ns,
				    carry_lower(strip, lower_ps, (s64)(now_ns - lower_ns)),
				    carry_upper(strip, upper_ps, (s64)(now_ns - upper_ns)));
}

struct kpn_interval kpn_strip_at(const struct kpn_strip *strip, u64 cpu_ns)
{
	s64 dt_ns = (s64)(cpu_ns - strip->cpu_ns);

	if (KPN_UNLIKELY(cpu_ns + strip->tick_ns > strip->rate_due_ns)) {
		struct kpn_strip late = *strip;

		widen_rates(&late,
			    wander_over(strip, cpu_ns + strip->tick_ns - strip->rate_due_ns));
		return (struct kpn_interval){ carry_lower(&late, late.lower_ps, dt_ns),
					      carry_upper(&late, late.upper_ps,
							  dt_ns + strip->tick_ns) };
	}
	/* The moment may be up to a tick later than its number says. */
	return (struct kpn_interval){ carry_lower(strip, strip->lower_ps, dt_ns),
				      carry_upper(strip, strip->upper_ps, dt_ns + strip->tick_ns) };
}

void kpn_strip_loosen(struct kpn_strip *strip, u64 back_ps, u64 ahead_ps)
{
	kpn_strip_note_read(strip, strip->lower_ps, strip->upper_ps);
	strip->lower_ps -= back_ps;
	strip->upper_ps += ahead_ps;
	/* Slopes across the pause would be meaningless: start them again. */
	strip->rate_lower = -strip->drift;
	strip->rate_upper = strip->drift;
	strip->old = (struct kpn_strip_anchor){ strip->cpu_ns, strip->lower_ps, strip->upper_ps };
	strip->young = strip->old;
	strip->span_ns = SPAN_NS_MIN;
	use_rates(strip);
}
