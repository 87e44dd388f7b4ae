/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The emulated PTP hardware clock: PHC time as a function of the wire position (KeepON paper
 * section 3.2, with wire time in place of a slot count, so that slots of different lengths do not
 * disturb it). This file does not know where the wire is now; `observe` does.
 */
#ifndef KPN_CLOCK_H
#define KPN_CLOCK_H

#include "keepon/time.h"

/*
 * Largest rate adjustment, 1 %. The multiplier (1 + adj) / 1000 x 2^72 is 2^62.03 x (1 +- 0.01),
 * below 2^63, and the product with |wire ps| < 2^62 stays below 2^125. A trim of one byte in a slot
 * of at most 1542 wire bytes corrects 649 ppm a slot, so trims of at most 16 bytes a slot can
 * follow 1 %.
 */
#define KPN_ADJ_PPB_MAX 10000000
#define KPN_ADJ_SCALED_PPM_MAX ((s64)KPN_ADJ_PPB_MAX / 1000 * 65536)

/* Latest time of day that can be set: 2116. The clock overflows 146 years after that. */
#define KPN_TIME_NS_MAX ((s64)1 << 62)

/*
 * Multiplier at nominal rate: 2^72 / 1000, rounded; the error is 6.5e-20 of the rate, 0.02 ns in
 * ten years.
 */
#define KPN_CLOCK_NOMINAL_MULT 4722366482869645214ull

/**
 * struct kpn_clock - the clock law: time(position) = anchor + (position - anchor_ps) x mult / 2^72
 * ns
 * @anchor_ps: wire position of the anchor, modulo 2^64
 * @anchor: PHC time at @anchor_ps
 * @mult: nanoseconds per wire picosecond x 2^72, adjustment included
 * @inverse: wire picoseconds per nanosecond x 2^53, rounded down
 * @scaled_ppm: adjustment in 2^-16 ppm
 */
struct kpn_clock {
	u64 anchor_ps;
	struct kpn_time anchor;
	u64 mult;
	u64 inverse;
	s64 scaled_ppm;
};

/** kpn_clock_init() - nominal rate, @start at wire position @position_ps */
void kpn_clock_init(struct kpn_clock *clock, u64 position_ps, struct kpn_time start);

/**
 * kpn_clock_at() - PHC time at a wire position
 * @position_ps: within 53 days of the anchor (kpn_clock_reanchor() keeps the anchor near)
 *
 * Reading changes nothing. The result is rounded down to 2^-32 ns. Source: KeepON paper section
 * 3.2, B1.
 */
struct kpn_time kpn_clock_at(const struct kpn_clock *clock, u64 position_ps);

/**
 * kpn_clock_position_at() - greatest wire position whose time is not after @t; @t within 53 days of
 * the anchor
 */
u64 kpn_clock_position_at(const struct kpn_clock *clock, struct kpn_time t);

/**
 * kpn_clock_adjfine() - set the rate
 * @scaled_ppm: offset from nominal in 2^-16 ppm, within +-KPN_ADJ_SCALED_PPM_MAX
 * @now_ps: wire position now; the clock is continuous there
 *
 * The multiplier resolves 2^-54 of the rate, so 1 ppb is visible in every slot. The slot count does
 * not change (B9). Any context, does not sleep. Return: 0, or -KPN_ERANGE (clock unchanged).
 */
int kpn_clock_adjfine(struct kpn_clock *clock, s64 scaled_ppm, u64 now_ps);

/** kpn_clock_adjtime() - shift the clock by @delta; the rate stays */
void kpn_clock_adjtime(struct kpn_clock *clock, struct kpn_time delta);

/** kpn_clock_settime() - let the clock read @t at wire position @now_ps; the rate stays */
void kpn_clock_settime(struct kpn_clock *clock, u64 now_ps, struct kpn_time t);

/**
 * kpn_clock_reanchor() - move the anchor to @now_ps on the same law; due once in 53 days, loses <
 * 2^-32 ns
 */
void kpn_clock_reanchor(struct kpn_clock *clock, u64 now_ps);

/**
 * kpn_clock_pass() - move the anchor on by @span_ns of wire time, of any length: for a counter that
 * was not read for longer than kpn_clock_at() allows
 */
void kpn_clock_pass(struct kpn_clock *clock, u64 span_ns);

static inline struct kpn_time kpn_time_add(struct kpn_time a, struct kpn_time b)
{
	u64 frac = (u64)a.frac + b.frac;

	return (struct kpn_time){ .ns = a.ns + b.ns + (s64)(frac >> 32), .frac = (u32)frac };
}

static inline struct kpn_time kpn_time_sub(struct kpn_time a, struct kpn_time b)
{
	return (struct kpn_time){ .ns = a.ns - b.ns - (a.frac < b.frac), .frac = a.frac - b.frac };
}

static inline bool kpn_time_before(struct kpn_time a, struct kpn_time b)
{
	return a.ns < b.ns || (a.ns == b.ns && a.frac < b.frac);
}

#endif
