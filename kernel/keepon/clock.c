// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PTP hardware clock of a device. While the wire runs the core counts it; without a wire it
 * runs on the CPU counter at its last rate, so `ip link set down` and `up` do not lose the time.
 * The error is the rate difference of the two crystals times the pause.
 */
#include <linux/ktime.h>

#include "keepon.h"

/*
 * The down clock's "wire" is the CPU counter since the anchor, and the anchor is where the wire
 * begins. A link may be down, without any reading of the clock, for longer than positions last.
 */
enum { DOWN_SPAN_BITS = 50 };

static void down_reanchor(struct keepon *keepon)
{
	u64 now_ns = ktime_get_raw_ns();

	kpn_clock_pass(&keepon->down_clock, now_ns - keepon->down_ns);
	keepon->down_ns = now_ns;
}

/*
 * The clock starts in PTP's timescale, as nothing has set it yet. An interrupt between the two
 * readings would delay the start by its duration.
 */
void keepon_clock_init(struct keepon *keepon)
{
	unsigned long flags;
	s64 tai_ns;

	local_irq_save(flags);
	keepon->down_ns = ktime_get_raw_ns();
	tai_ns = ktime_get_clocktai_ns();
	local_irq_restore(flags);
	kpn_clock_init(&keepon->down_clock, 0, (struct kpn_time){ tai_ns, 0 });
}

static struct kpn_time down_time(struct keepon *keepon)
{
	u64 span_ns = ktime_get_raw_ns() - keepon->down_ns;

	if (unlikely(span_ns >> DOWN_SPAN_BITS)) {
		down_reanchor(keepon);
		span_ns = 0;
	}
	return kpn_clock_at(&keepon->down_clock, keepon->down_clock.anchor_ps + span_ns * 1000);
}

struct kpn_time keepon_clock_at_locked(const struct keepon_engine *engine, u64 cpu_ns)
{
	return engine->dual ? keepon_dual_gettime(engine->dual, cpu_ns) :
			      kpn_pacer_gettime(engine->pacer, cpu_ns);
}

struct kpn_time keepon_clock_read_locked(struct keepon *keepon)
{
	const struct keepon_engine *engine = keepon->engine;

	lockdep_assert_held(&keepon->lock);
	if (!engine)
		return down_time(keepon);
	return keepon_clock_at_locked(engine, engine->native.ops->cpu_ns(engine->native.nic));
}

s64 keepon_clock_scaled_ppm_locked(const struct keepon *keepon)
{
	lockdep_assert_held(&keepon->lock);
	return keepon->engine ? kpn_pacer_clock(keepon->engine->pacer)->scaled_ppm :
				keepon->down_clock.scaled_ppm;
}

void keepon_clock_keep_locked(struct keepon *keepon)
{
	s64 scaled_ppm = keepon_clock_scaled_ppm_locked(keepon);
	struct kpn_time now = keepon_clock_read_locked(keepon);

	keepon->down_ns = ktime_get_raw_ns();
	kpn_clock_init(&keepon->down_clock, 0, now);
	kpn_clock_adjfine(&keepon->down_clock, scaled_ppm, 0);
}

static int down_adjfine(struct keepon *keepon, s64 scaled_ppm)
{
	down_reanchor(keepon);
	return kpn_clock_adjfine(&keepon->down_clock, scaled_ppm, keepon->down_clock.anchor_ps);
}

static void down_settime(struct keepon *keepon, struct kpn_time t)
{
	down_reanchor(keepon);
	kpn_clock_settime(&keepon->down_clock, keepon->down_clock.anchor_ps, t);
}

static int engine_adjfine(struct keepon_engine *engine, s64 scaled_ppm)
{
	return engine->dual ? keepon_dual_adjfine(engine->dual, scaled_ppm) :
			      kpn_pacer_adjfine(engine->pacer, scaled_ppm);
}

int keepon_clock_adjfine_locked(struct keepon *keepon, s64 scaled_ppm)
{
	keepon->down_clock_version++;
	if (keepon->engine)
		return engine_adjfine(keepon->engine, scaled_ppm);
	return down_adjfine(keepon, scaled_ppm);
}

static int engine_adjtime(struct keepon_engine *engine, s64 delta_ns)
{
	return engine->dual ? keepon_dual_adjtime(engine->dual, delta_ns) :
			      kpn_pacer_adjtime(engine->pacer, delta_ns);
}

int keepon_clock_adjtime_locked(struct keepon *keepon, s64 delta_ns)
{
	s64 after_ns = 0;

	keepon->down_clock_version++;
	if (keepon->engine)
		return engine_adjtime(keepon->engine, delta_ns);
	if (check_add_overflow(down_time(keepon).ns, delta_ns, &after_ns) || after_ns < 0 ||
	    after_ns > KPN_TIME_NS_MAX)
		return -ERANGE;
	kpn_clock_adjtime(&keepon->down_clock, (struct kpn_time){ delta_ns, 0 });
	return 0;
}

static int engine_settime(struct keepon_engine *engine, struct kpn_time t)
{
	return engine->dual ? keepon_dual_settime(engine->dual, t) :
			      kpn_pacer_settime(engine->pacer, t);
}

int keepon_clock_settime_locked(struct keepon *keepon, struct kpn_time t)
{
	keepon->down_clock_version++;
	if (keepon->engine)
		return engine_settime(keepon->engine, t);
	if (t.ns < 0 || t.ns > KPN_TIME_NS_MAX)
		return -EINVAL;
	down_settime(keepon, t);
	return 0;
}
