// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PTP hardware clock of a device. While the wire runs it is what the core counts; without a
 * wire it goes on by the CPU counter, with the rate it had, so `ip link set down` and `up` do not
 * lose the time. What that costs is the difference of the two crystals times the pause.
 */
#include <linux/ktime.h>

#include "keepon.h"

/* The down clock's "wire": picoseconds of the CPU counter, modulo 2^64 as positions are. */
static u64 down_position_ps(void)
{
	return ktime_get_raw_ns() * 1000;
}

/*
 * Starts in PTP's timescale; nobody has set it yet. An interrupt between the two readings would
 * start it late by as long.
 */
void keepon_clock_init(struct keepon *keepon)
{
	unsigned long flags;
	u64 now_ps;
	s64 tai_ns;

	local_irq_save(flags);
	now_ps = down_position_ps();
	tai_ns = ktime_get_clocktai_ns();
	local_irq_restore(flags);
	kpn_clock_init(&keepon->down_clock, now_ps, (struct kpn_time){ tai_ns, 0 });
}

static struct kpn_time down_time(struct keepon *keepon)
{
	u64 now_ps = down_position_ps();

	/* The law holds within 53 days of its anchor. */
	if ((s64)(now_ps - keepon->down_clock.anchor_ps) >> 60)
		kpn_clock_reanchor(&keepon->down_clock, now_ps);
	return kpn_clock_at(&keepon->down_clock, now_ps);
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
	u64 now_ps = down_position_ps();

	kpn_clock_init(&keepon->down_clock, now_ps, now);
	kpn_clock_adjfine(&keepon->down_clock, scaled_ppm, now_ps);
}

static int engine_adjfine(struct keepon_engine *engine, s64 scaled_ppm)
{
	return engine->dual ? keepon_dual_adjfine(engine->dual, scaled_ppm) :
			      kpn_pacer_adjfine(engine->pacer, scaled_ppm);
}

int keepon_clock_adjfine(struct keepon *keepon, s64 scaled_ppm)
{
	unsigned long flags;
	int error;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon->engine)
		error = engine_adjfine(keepon->engine, scaled_ppm);
	else
		error = kpn_clock_adjfine(&keepon->down_clock, scaled_ppm, down_position_ps());
	keepon->down_clock_version++;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return error;
}

static int engine_adjtime(struct keepon_engine *engine, s64 delta_ns)
{
	return engine->dual ? keepon_dual_adjtime(engine->dual, delta_ns) :
			      kpn_pacer_adjtime(engine->pacer, delta_ns);
}

int keepon_clock_adjtime(struct keepon *keepon, s64 delta_ns)
{
	unsigned long flags;
	int error = 0;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon->engine) {
		error = engine_adjtime(keepon->engine, delta_ns);
	} else {
		s64 after_ns = 0;

		if (check_add_overflow(down_time(keepon).ns, delta_ns, &after_ns) || after_ns < 0 ||
		    after_ns > KPN_TIME_NS_MAX)
			error = -ERANGE;
		else
			kpn_clock_adjtime(&keepon->down_clock, (struct kpn_time){ delta_ns, 0 });
	}
	if (!error)
		keepon_taprio_stepped_locked(keepon);
	keepon->down_clock_version++;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return error;
}

static int engine_settime(struct keepon_engine *engine, struct kpn_time t)
{
	return engine->dual ? keepon_dual_settime(engine->dual, t) :
			      kpn_pacer_settime(engine->pacer, t);
}

int keepon_clock_settime(struct keepon *keepon, struct kpn_time t)
{
	unsigned long flags;
	int error = 0;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon->engine)
		error = engine_settime(keepon->engine, t);
	else if (t.ns < 0 || t.ns > KPN_TIME_NS_MAX)
		error = -EINVAL;
	else
		kpn_clock_settime(&keepon->down_clock, down_position_ps(), t);
	if (!error)
		keepon_taprio_stepped_locked(keepon);
	keepon->down_clock_version++;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return error;
}
