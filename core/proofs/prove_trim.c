/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * align: trims in a row, and the error they start from. Rate, quantum and slot are
 *	constants, so that
 * no product has two unknown factors.
 */
#include "../src/align.c"

#include "proof.h"

/* 1 Gb/s, quantum of a byte, trims of at most 16 bytes. */
enum { QUANTUM_PS = 8000, SLOT_PS = 672000, MOST_QUANTA = 16 };

#ifndef RATE_PPM
#define RATE_PPM 0
#endif

/* Any position in a plan for slots of SLOT_PS at the constant rate. */
static struct kpn_align any_plan(struct kpn_clock *clock)
{
	struct kpn_align align;

	*clock = (struct kpn_clock){ .mult = KPN_CLOCK_NOMINAL_MULT };
	clock->mult += (u64)((s64)(KPN_CLOCK_NOMINAL_MULT / 1000000) * (RATE_PPM));
	kpn_align_init(&align, SLOT_PS, QUANTUM_PS, MOST_QUANTA * QUANTUM_PS,
		       MOST_QUANTA * QUANTUM_PS);
	use_rate(&align, clock->mult);
	return align;
}

/*
 * PROVE carried_trims_stay
 * bounds: slots of 84 bytes at 1 Gb/s, quantum of 1 byte, at +-100 ppm, +-1 % and 20 ppm;
 *	any of the trims that follow one another, any error they may carry
 * cases: RATE_PPM=100 -100 10000 -10000 20
 * unwind: 13
 * mutant: core/src/align.c: due > align->half_fine => due > align->quantum_fine
 * mutant: core/src/align.c: align->carried = due + align->growth; => align->carried = due;
 */
void carried_trims_stay(void)
{
	struct kpn_clock clock;
	struct kpn_align align = any_plan(&clock);
	u64 seq = any_below(1ull << 62);
	s64 carried = nondet_s64();
	u32 carries = 1 + (u32)any_below(CARRIES_MAX);
	s64 change_ps;
	s64 after;
	s64 nominal_slots;

	PROVE(align.period_slots && align.period_slots <= CARRY_SLOTS_MAX);
	ASSUME(carried > align.half_fine && carried <= align.half_fine + align.growth);
	align.carried = carried;
	align.carries = carries;
	align.next_trim_seq = seq;
	change_ps = kpn_align_trim(&align, &clock, seq, 0);
	PROVE(change_ps == (align.drift > 0 ? -QUANTUM_PS : QUANTUM_PS));
	PROVE(align.carries == carries - 1 && align.next_trim_seq > seq);
	/*
	 * from the slot after the trim to the one before the next one: within half a quantum, to
	 * its rounding
	 */
	after = carried - align.quantum_fine;
	nominal_slots = (s64)(align.next_trim_seq - seq - 1);
	PROVE(after >= -align.half_fine - 1 && after <= align.half_fine);
	PROVE(after + nominal_slots * align.growth <= align.half_fine);
	PROVE(align.carried == after + (nominal_slots + 1) * align.growth);
	PROVE(align.carried > align.half_fine && align.carried <= align.half_fine + align.growth);
}

static struct kpn_time at_time;
static struct kpn_time grid_time;

struct kpn_time any_at(const struct kpn_clock *clock, u64 position_ps)
{
	(void)clock;
	(void)position_ps;
	return at_time;
}

struct kpn_time any_grid_time(const struct kpn_grid *grid, u64 net_slot)
{
	(void)grid;
	(void)net_slot;
	return grid_time;
}

/*
 * PROVE error_saturates
 * bounds: any time of the clock and of the grid from 1970 to 2116
 * replace: kpn_clock_at: any_at (law_is_floor)
 * replace: kpn_grid_time: any_grid_time (grid_is_exact)
 * wraps: kpn_align_error: seq + align->base (slots are shifted either way)
 * wraps: kpn_time_sub: a.frac - b.frac (the borrow is taken care of)
 * unwind: 1
 * mutant: core/src/align.c: error.ns < -ERROR_NS_MAX => error.ns < -4 * ERROR_NS_MAX
 */
void error_saturates(void)
{
	struct kpn_align align = { .base = nondet_u64() };
	struct kpn_clock clock = { .mult = KPN_CLOCK_NOMINAL_MULT };
	s128 limit = (s128)ERROR_NS_MAX << 32;
	s128 exact;
	s64 error;

	at_time = (struct kpn_time){ .ns = nondet_s64(), .frac = nondet_u32() };
	grid_time = (struct kpn_time){ .ns = nondet_s64(), .frac = nondet_u32() };
	ASSUME(at_time.ns >= 0 && at_time.ns <= KPN_TIME_NS_MAX);
	ASSUME(grid_time.ns >= 0 && grid_time.ns <= KPN_TIME_NS_MAX);
	exact = (s128)(at_time.ns - grid_time.ns) * ((s128)1 << 32) + at_time.frac - grid_time.frac;
	error = kpn_align_error(&align, &clock, nondet_u64(), nondet_u64());
	/* a fraction of a nanosecond beyond a second is still returned as it is */
	if (exact >= -limit && exact < limit + ((s128)1 << 32))
		PROVE(error == exact);
	else
		PROVE(error == (exact > 0 ? limit : -limit));
}
