/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.c, phc.c: oscillators and PHCs, piecewise linear. */
#ifndef KEEPON_HWSIM_CLOCK_H
#define KEEPON_HWSIM_CLOCK_H

#include <linux/kref.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/spinlock.h>

#include "hwsim.h"

/*
 * Rates of a line: 2^-16 parts per billion, so that ppb and the PHC's scaled ppm are both whole
 * numbers.
 */
#define HWSIM_RATE_ONE (65536ull * 1000000000ull)

enum {
	HWSIM_SEGMENTS = 8,
	HWSIM_PPB_MAX = 500000,
};

/**
 * struct hwsim_segment - from @x_ps on: y = @y_ps + (x - @x_ps) x (1 + @rate / HWSIM_RATE_ONE);
 * @offset_ns is added to a PHC
 */
struct hwsim_segment {
	u64 x_ps;
	u64 y_ps;
	s64 rate;
	s64 offset_ns;
};

/** struct hwsim_line - the last segments; what happened before a change keeps its time */
struct hwsim_line {
	struct hwsim_segment segment[HWSIM_SEGMENTS];
	u32 last;
	u32 count;
};

/** struct hwsim_instant - PHC time: @ns and @ps (0-999) */
struct hwsim_instant {
	s64 ns;
	u32 ps;
};

/** struct hwsim_timebase - one oscillator and the PHC that ticks from it; ports may share it */
struct hwsim_timebase {
	struct kref ref;
	raw_spinlock_t lock; /* both lines */
	struct hwsim_line oscillator;
	struct hwsim_line phc;
	s64 ppb;
	struct ptp_clock_info info;
	struct ptp_clock *ptp;
};

void hwsim_clock_init(void);
u64 hwsim_true_ps(void);
u64 hwsim_raw_ns(u64 true_ps, u32 *ps);
struct hwsim_timebase *hwsim_timebase_create(s64 ppb);
struct hwsim_timebase *hwsim_timebase_get(struct hwsim_timebase *tb);
void hwsim_timebase_put(struct hwsim_timebase *tb);
u64 hwsim_local_ps(struct hwsim_timebase *tb, u64 true_ps);
u64 hwsim_local_now_ps(struct hwsim_timebase *tb);
u64 hwsim_true_of_ps(struct hwsim_timebase *tb, u64 local_ps);
void hwsim_set_ppb(struct hwsim_timebase *tb, s64 ppb);
struct hwsim_instant hwsim_phc_at(struct hwsim_timebase *tb, u64 local_ps);
u64 hwsim_phc_to_local_ps(struct hwsim_timebase *tb, s64 phc_ns);
void hwsim_phc_set_rate(struct hwsim_timebase *tb, s64 rate);
void hwsim_phc_step(struct hwsim_timebase *tb, s64 delta_ns);

/* phc.c: the PTP hardware clock of a timebase */
int hwsim_phc_register(struct hwsim_timebase *tb, const char *name);

#endif
