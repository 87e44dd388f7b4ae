// SPDX-License-Identifier: GPL-2.0-only
/*
 * Oscillators and PHCs as piecewise linear functions in whole picoseconds. The CPU's disciplined
 * clocks are not used: only CLOCK_MONOTONIC_RAW, and each timebase has an offset of its own from
 * it.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "clock.h"

static u64 epoch_raw_ns;

/* Before the first frame some time has passed: nothing may start at 0. */
#define START_PS 1000000000000ull

static void line_init(struct hwsim_line *line, u64 x_ps, u64 y_ps, s64 rate, s64 offset_ns)
{
	line->last = 0;
	line->count = 1;
	line->segment[0] = (struct hwsim_segment){ x_ps, y_ps, rate, offset_ns };
}

static const struct hwsim_segment *nth(const struct hwsim_line *line, u32 age)
{
	return &line->segment[(line->last - age) % HWSIM_SEGMENTS];
}

static u64 scale(u64 value, u64 mul, u64 div)
{
	return mul_u64_u64_div_u64(value, mul, div);
}

static u64 stretch(u64 ps, s64 rate)
{
	u64 change = scale(ps, rate < 0 ? -rate : rate, HWSIM_RATE_ONE);

	return rate < 0 ? ps - change : ps + change;
}

static u64 segment_at(const struct hwsim_segment *s, u64 x_ps)
{
	return x_ps >= s->x_ps ? s->y_ps + stretch(x_ps - s->x_ps, s->rate) :
				 s->y_ps - stretch(s->x_ps - x_ps, s->rate);
}

static const struct hwsim_segment *segment_of(const struct hwsim_line *line, u64 x_ps)
{
	u32 age;

	for (age = 0; age + 1 < line->count; age++) {
		if (nth(line, age)->x_ps <= x_ps)
			break;
	}
	return nth(line, age);
}

static u64 inverse(const struct hwsim_segment *s, u64 y_ps)
{
	u64 slope = HWSIM_RATE_ONE + s->rate;

	return y_ps >= s->y_ps ? s->x_ps + scale(y_ps - s->y_ps, HWSIM_RATE_ONE, slope) :
				 s->x_ps - scale(s->y_ps - y_ps, HWSIM_RATE_ONE, slope);
}

static void line_bend(struct hwsim_line *line, u64 x_ps, s64 rate, s64 offset_ns)
{
	u64 y_ps = segment_at(nth(line, 0), x_ps);

	line->last = (line->last + 1) % HWSIM_SEGMENTS;
	line->count = min_t(u32, line->count + 1, HWSIM_SEGMENTS);
	line->segment[line->last] = (struct hwsim_segment){ x_ps, y_ps, rate, offset_ns };
}

/** hwsim_clock_init() - true time begins */
void hwsim_clock_init(void)
{
	epoch_raw_ns = ktime_get_raw_ns();
}

/*
 * hwsim_true_ps() - CLOCK_MONOTONIC_RAW since the module was loaded; resolution 1 ns, good for 213
 * days
 */
u64 hwsim_true_ps(void)
{
	return START_PS + (ktime_get_raw_ns() - epoch_raw_ns) * 1000;
}

/** hwsim_raw_ns() - CLOCK_MONOTONIC_RAW at a true time, and the picoseconds (0-999) beyond it */
u64 hwsim_raw_ns(u64 true_ps, u32 *ps)
{
	u64 ns = div_u64_rem(true_ps, 1000, ps);

	return ns - START_PS / 1000 + epoch_raw_ns;
}

/*
 * hwsim_timebase_create() - an oscillator @ppb off, its PHC at the time of day and without
 * correction; may sleep. An interrupt between the two readings would put the PHC off by as long.
 */
struct hwsim_timebase *hwsim_timebase_create(s64 ppb)
{
	struct hwsim_timebase *tb = kzalloc(sizeof(*tb), GFP_KERNEL);
	unsigned long flags;
	s64 real_ns;
	u64 now_ps;

	if (!tb)
		return NULL;
	local_irq_save(flags);
	now_ps = hwsim_true_ps();
	real_ns = ktime_get_real_ns();
	local_irq_restore(flags);
	kref_init(&tb->ref);
	raw_spin_lock_init(&tb->lock);
	tb->ppb = ppb;
	line_init(&tb->oscillator, now_ps, now_ps, ppb * 65536, 0);
	line_init(&tb->phc, now_ps, 0, 0, real_ns);
	return tb;
}

struct hwsim_timebase *hwsim_timebase_get(struct hwsim_timebase *tb)
{
	kref_get(&tb->ref);
	return tb;
}

static void timebase_release(struct kref *ref)
{
	struct hwsim_timebase *tb = container_of(ref, struct hwsim_timebase, ref);

	if (tb->ptp)
		ptp_clock_unregister(tb->ptp);
	kfree(tb);
}

/** hwsim_timebase_put() - the last one unregisters the PHC; may sleep */
void hwsim_timebase_put(struct hwsim_timebase *tb)
{
	kref_put(&tb->ref, timebase_release);
}

u64 hwsim_local_ps(struct hwsim_timebase *tb, u64 true_ps)
{
	unsigned long flags;
	u64 local_ps;

	raw_spin_lock_irqsave(&tb->lock, flags);
	local_ps = segment_at(segment_of(&tb->oscillator, true_ps), true_ps);
	raw_spin_unlock_irqrestore(&tb->lock, flags);
	return local_ps;
}

u64 hwsim_local_now_ps(struct hwsim_timebase *tb)
{
	return hwsim_local_ps(tb, hwsim_true_ps());
}

u64 hwsim_true_of_ps(struct hwsim_timebase *tb, u64 local_ps)
{
	unsigned long flags;
	u64 true_ps;
	u32 age;

	raw_spin_lock_irqsave(&tb->lock, flags);
	for (age = 0; age + 1 < tb->oscillator.count; age++) {
		if (nth(&tb->oscillator, age)->y_ps <= local_ps)
			break;
	}
	true_ps = inverse(nth(&tb->oscillator, age), local_ps);
	raw_spin_unlock_irqrestore(&tb->lock, flags);
	return true_ps;
}

/** hwsim_set_ppb() - the oscillator runs @ppb off from now on; what it counted is kept */
void hwsim_set_ppb(struct hwsim_timebase *tb, s64 ppb)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&tb->lock, flags);
	tb->ppb = ppb;
	line_bend(&tb->oscillator, hwsim_true_ps(), ppb * 65536, 0);
	raw_spin_unlock_irqrestore(&tb->lock, flags);
}

/** hwsim_phc_at() - PHC time at a local time, also of the recent past and the near future */
struct hwsim_instant hwsim_phc_at(struct hwsim_timebase *tb, u64 local_ps)
{
	const struct hwsim_segment *s;
	struct hwsim_instant instant;
	unsigned long flags;

	raw_spin_lock_irqsave(&tb->lock, flags);
	s = segment_of(&tb->phc, local_ps);
	instant.ns = s->offset_ns + (s64)div_u64_rem(segment_at(s, local_ps), 1000, &instant.ps);
	raw_spin_unlock_irqrestore(&tb->lock, flags);
	return instant;
}

/*
 * hwsim_phc_to_local_ps() - when the PHC, left alone, shows @phc_ns; 0 if that is before all time,
 * never if beyond 100 days
 */
u64 hwsim_phc_to_local_ps(struct hwsim_timebase *tb, s64 phc_ns)
{
	const s64 ns_max = 100ll * 86400 * 1000000000;
	const struct hwsim_segment *s;
	unsigned long flags;
	u64 local_ps;
	s64 ns;

	raw_spin_lock_irqsave(&tb->lock, flags);
	s = nth(&tb->phc, 0);
	ns = phc_ns - s->offset_ns;
	if (ns < 0)
		local_ps = 0;
	else if (ns > ns_max)
		local_ps = HWSIM_NEVER_PS;
	else
		local_ps = inverse(s, (u64)ns * 1000);
	raw_spin_unlock_irqrestore(&tb->lock, flags);
	return local_ps;
}

/*
 * hwsim_phc_set_rate() - the PHC runs @rate / HWSIM_RATE_ONE faster than its oscillator from now on
 */
void hwsim_phc_set_rate(struct hwsim_timebase *tb, s64 rate)
{
	u64 local_ps = hwsim_local_now_ps(tb);
	unsigned long flags;

	raw_spin_lock_irqsave(&tb->lock, flags);
	line_bend(&tb->phc, local_ps, rate, nth(&tb->phc, 0)->offset_ns);
	raw_spin_unlock_irqrestore(&tb->lock, flags);
}

/** hwsim_phc_step() - the PHC shows @delta_ns more from now on */
void hwsim_phc_step(struct hwsim_timebase *tb, s64 delta_ns)
{
	u64 local_ps = hwsim_local_now_ps(tb);
	unsigned long flags;

	raw_spin_lock_irqsave(&tb->lock, flags);
	line_bend(&tb->phc, local_ps, nth(&tb->phc, 0)->rate,
		  nth(&tb->phc, 0)->offset_ns + delta_ns);
	raw_spin_unlock_irqrestore(&tb->lock, flags);
}
