/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The clock law itself, for the two places that apply it: `clock`, and the report of every frame that has left. */
#ifndef KPN_CLOCK_LAW_H
#define KPN_CLOCK_LAW_H

#include "keepon/clock.h"
#include "kpn_math.h"

enum { KPN_LAW_SHIFT = 72 }; /* of kpn_clock.mult */

/** kpn_law_span() - PHC time in which the wire moves @span_ps on, in 2^-32 ns, rounded as asked */
static inline struct kpn_time kpn_law_span(u64 span_ps, u64 mult, bool round_up)
{
	u32 frac_shift = KPN_LAW_SHIFT - 32;
	struct kpn_u128 product = kpn_mul(span_ps, mult);

	if (round_up) {
		u64 low = product.low + ((1ull << frac_shift) - 1);

		product.high += low < product.low;
		product.low = low;
	}
	return (struct kpn_time){
		.ns = (s64)(product.high >> (KPN_LAW_SHIFT - 64)),
		.frac = (u32)(product.high << (64 - frac_shift) | product.low >> frac_shift),
	};
}

/** kpn_law_at() - kpn_clock_at() */
static inline struct kpn_time kpn_law_at(const struct kpn_clock *clock, u64 position_ps)
{
	u64 span_ps = position_ps - clock->anchor_ps;

	if (KPN_LIKELY((s64)span_ps >= 0))
		return kpn_time_add(clock->anchor, kpn_law_span(span_ps, clock->mult, false));
	return kpn_time_sub(clock->anchor, kpn_law_span(0 - span_ps, clock->mult, true));
}

#endif
