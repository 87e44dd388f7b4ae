/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The clock law itself, for the two places that apply it: `clock`, and the report of every frame
 * that has left.
 */
#ifndef KPN_CLOCK_LAW_H
#define KPN_CLOCK_LAW_H

#include "keepon/clock.h"
#include "kpn_math.h"

enum {
	KPN_LAW_SHIFT = 72,                  /* of kpn_clock.mult */
	KPN_FRAC_SHIFT = KPN_LAW_SHIFT - 32, /* of a product, to 2^-32 ns */
};

/**
 * kpn_law_anchor() - fraction of the anchor as a product, to which kpn_law_after() adds the time
 * since the anchor
 */
static inline struct kpn_u128 kpn_law_anchor(const struct kpn_clock *clock)
{
	return (struct kpn_u128){
		.high = clock->anchor.frac >> (64 - KPN_FRAC_SHIFT),
		.low = (u64)clock->anchor.frac << KPN_FRAC_SHIFT,
	};
}

/**
 * kpn_law_after() - PHC time @span_ps after the anchor, or before it
 *
 * The product is rounded down on either side of the anchor, without a branch: the report of every
 * frame calls this.
 */
static inline struct kpn_time kpn_law_after(const struct kpn_clock *clock, struct kpn_u128 anchor,
					    s64 span_ps)
{
	struct kpn_u128 after = kpn_mul_add(span_ps, clock->mult, anchor);

	return (struct kpn_time){
		.ns = clock->anchor.ns + ((s64)after.high >> (KPN_LAW_SHIFT - 64)),
		.frac = (u32)(after.high << (64 - KPN_FRAC_SHIFT) | after.low >> KPN_FRAC_SHIFT),
	};
}

/** kpn_law_at() - kpn_clock_at() */
static inline struct kpn_time kpn_law_at(const struct kpn_clock *clock, u64 position_ps)
{
	return kpn_law_after(clock, kpn_law_anchor(clock), (s64)(position_ps - clock->anchor_ps));
}

#endif
