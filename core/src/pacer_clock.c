// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The PHC of a pacer: reading the time at the present wire position, and setting it. */
#include "kpn_clock_law.h"
#include "kpn_head.h"
#include "kpn_pacer_state.h"
#include "kpn_post.h"
#include "kpn_replan.h"
#include "kpn_target.h"

static u64 position_now(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	return pacer->strip.valid ? kpn_middle_of(kpn_pacer_head(pacer, cpu_ns).wire) :
				    pacer->ring.head.ps;
}

/*
 * The wire position that an interpolated clock reads as the time, in nearly all cases. Return:
 * false where rates are due or missing, the moment is within the tick of the last reading or before
 * it, or the wire may run out of slots.
 */
static inline bool read_position(const struct kpn_pacer *pacer, u64 cpu_ns, u64 *position_ps)
{
	const struct kpn_strip *strip = &pacer->strip;
	u64 dt_ns = cpu_ns - strip->cpu_ns;
	struct kpn_interval wire = {
		.lower_ps = strip->lower_ps + kpn_pace_ps(dt_ns, strip->pace_lower),
		.upper_ps = strip->upper_ps +
			    kpn_pace_ps(dt_ns + pacer->reading.tick_ns, strip->pace_upper) + 1,
	};

	*position_ps = kpn_strip_read(strip, wire);
	return (s64)dt_ns >= 0 &&
	       dt_ns + pacer->reading.tick_ns <= strip->rate_due_ns - strip->cpu_ns &&
	       (s64)(wire.upper_ps - pacer->ring.tail.ps) <= 0;
}

/* The same in all cases. */
static u64 read_any_position(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	u64 position_ps;

	if (!pacer->strip.valid)
		return pacer->ring.head.ps;
	if (read_position(pacer, cpu_ns, &position_ps))
		return position_ps;
	return kpn_strip_read(&pacer->strip, kpn_pacer_head(pacer, cpu_ns).wire);
}

static KPN_NOINLINE struct kpn_time read_any_time(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	return kpn_law_at(&pacer->clock, read_any_position(pacer, cpu_ns));
}

struct kpn_time kpn_pacer_gettime(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	u64 position_ps;

	if (pacer->config.clock_read != KPN_CLOCK_INTERPOLATED)
		return kpn_law_at(&pacer->clock, pacer->ring.head.ps);
	if (KPN_UNLIKELY(!read_position(pacer, cpu_ns, &position_ps)))
		return read_any_time(pacer, cpu_ns);
	return kpn_law_at(&pacer->clock, position_ps);
}

int kpn_pacer_adjfine(struct kpn_pacer *pacer, s64 scaled_ppm)
{
	u64 cpu_ns = kpn_cpu_now(pacer);
	bool staircase = pacer->config.clock_read == KPN_CLOCK_COUNTER;
	u64 here_ps = staircase ? pacer->ring.head.ps : read_any_position(pacer, cpu_ns);
	s64 most = kpn_pacer_scaled_ppm_max(pacer);
	s64 before_ppm = pacer->clock.scaled_ppm;
	u64 first;
	int error;

	if (scaled_ppm > most || scaled_ppm < -most)
		return -KPN_ERANGE;
	error = kpn_clock_adjfine(&pacer->clock, scaled_ppm, here_ps);
	if (error)
		return error;
	pacer->stats.rate_changes++;
	if (!pacer->running)
		return 0;
	first = kpn_first_changeable(pacer, cpu_ns);
	if (pacer->phase_locked && kpn_leaves_grid(pacer, before_ppm, first, cpu_ns)) {
		u64 base = pacer->align.base;

		/* perhaps by more than half a slot: then another slot is nearer */
		pacer->frames.left = pacer->config.budget_frames;
		kpn_plan_again(pacer, first, cpu_ns);
		if (pacer->align.base != base)
			kpn_emit(pacer, KPN_EVENT_STEP);
		return 0;
	}
	kpn_plan_from(pacer, first);
	kpn_plan_on(pacer, first, cpu_ns);
	kpn_insert_rekey(pacer);
	return 0;
}

/* The clock was set; @moved: to another time, so that slots have other instants. */
static void set(struct kpn_pacer *pacer, u64 cpu_ns, bool moved)
{
	pacer->synchronised = pacer->running;
	pacer->frames.left = pacer->config.budget_frames;
	if (!pacer->running || !moved) {
		pacer->stats.steps++;
		kpn_emit(pacer, KPN_EVENT_STEP);
		return;
	}
	kpn_step(pacer, kpn_first_changeable(pacer, cpu_ns), cpu_ns);
}

int kpn_pacer_adjtime(struct kpn_pacer *pacer, s64 delta_ns)
{
	u64 cpu_ns = kpn_cpu_now(pacer);
	struct kpn_time now = kpn_clock_at(&pacer->clock, pacer->ring.head.ps);
	s64 after_ns;

	if (__builtin_add_overflow(now.ns, delta_ns, &after_ns) || after_ns < 0 ||
	    after_ns > KPN_TIME_NS_MAX)
		return -KPN_ERANGE;
	kpn_clock_adjtime(&pacer->clock, (struct kpn_time){ delta_ns, 0 });
	set(pacer, cpu_ns, delta_ns != 0);
	return 0;
}

int kpn_pacer_settime(struct kpn_pacer *pacer, struct kpn_time t)
{
	u64 cpu_ns = kpn_cpu_now(pacer);

	if (t.ns < 0 || t.ns > KPN_TIME_NS_MAX)
		return -KPN_EINVAL;
	kpn_clock_settime(&pacer->clock, position_now(pacer, cpu_ns), t);
	kpn_strip_forget_reads(&pacer->strip);
	set(pacer, cpu_ns, true);
	return 0;
}
