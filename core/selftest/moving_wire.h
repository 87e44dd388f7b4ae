/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A wire whose position is known at every CPU nanosecond: its rate is off by some ppb and wanders.
 */
#ifndef KPN_SELFTEST_MOVING_WIRE_H
#define KPN_SELFTEST_MOVING_WIRE_H

#include "selftest.h"

#define UNIT_PER_PS 1000000 /* truth is kept to 10^-6 ps */

/* struct wire - position at CPU time @now_ns, wandering every millisecond */
struct wire {
	u64 now_ns;
	u64 position_ps;
	u32 rest; /* 10^-6 ps */
	s32 ppb;
	s32 ppb_limit;
	u32 wander_ppb; /* per change */
	u64 change_ns;
	u64 seed;
};

static inline void wire_go(struct wire *wire, u64 ns)
{
	while (ns) {
		u64 step_ns = ns;
		u64 units;
		u64 whole;

		if (wire->now_ns + step_ns > wire->change_ns)
			step_ns = wire->change_ns - wire->now_ns;
		/* (10^9 + ppb) x 10^-6 ps a ns; steps are at most a millisecond */
		units = step_ns * (u64)(1000000000 + wire->ppb) + wire->rest;
		whole = kpn_div_u64(units, UNIT_PER_PS);
		wire->position_ps += whole;
		wire->rest = (u32)(units - whole * UNIT_PER_PS);
		wire->now_ns += step_ns;
		ns -= step_ns;
		if (wire->now_ns < wire->change_ns)
			continue;
		wire->change_ns += 1000000;
		wire->ppb += kpn_random(&wire->seed) & 1 ? (s32)wire->wander_ppb :
							   -(s32)wire->wander_ppb;
		if (wire->ppb > wire->ppb_limit)
			wire->ppb = wire->ppb_limit;
		if (wire->ppb < -wire->ppb_limit)
			wire->ppb = -wire->ppb_limit;
	}
}

#endif
