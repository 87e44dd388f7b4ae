// SPDX-License-Identifier: GPL-2.0-only
/*
 * The beat: calls kpn_pacer_poll() at the intervals the core asks for. By default from a hard timer interrupt, not a soft one:
 * softirqs wait for each other, and a batch of received frames (up to 2 ms) must not let the wire run dry. What takes
 * long - handing frames back - is left to NAPI. Or from a thread bound to a CPU, as published (KeepON paper section A.3),
 * with a real-time priority if asked for.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <uapi/linux/sched/types.h>

#include "keepon.h"

static u64 beat(struct keepon_engine *engine)
{
	struct keepon *keepon = engine->keepon;
	unsigned long flags;
	u64 interval_ns;
	u64 stall_ns;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	kpn_pacer_poll(engine->pacer);
	interval_ns = kpn_pacer_poll_interval_ns(engine->pacer);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	keepon_outcomes_kick(keepon);
	stall_ns = READ_ONCE(keepon->stall_ns);
	if (unlikely(stall_ns)) {
		WRITE_ONCE(keepon->stall_ns, 0);
		interval_ns += stall_ns;
	}
	return interval_ns;
}

/* Counted on from the last expiry, so what a poll takes does not add up; beats that were missed are left out. */
static enum hrtimer_restart timer_beat(struct hrtimer *timer)
{
	struct keepon_engine *engine = container_of(timer, struct keepon_engine, timer);

	hrtimer_forward_now(timer, ns_to_ktime(beat(engine)));
	return HRTIMER_RESTART;
}

static int thread_beat(void *data)
{
	struct keepon_engine *engine = data;

	while (!kthread_should_stop()) {
		u64 interval_us = beat(engine) / NSEC_PER_USEC;

		/* The interval is the longest the ring allows: wake up in its last quarter. */
		if (interval_us)
			usleep_range_state(interval_us - interval_us / 4, interval_us, TASK_IDLE);
		else
			cond_resched();
	}
	return 0;
}

int keepon_poll_prepare(struct keepon_engine *engine, struct netlink_ext_ack *extack)
{
	const struct keepon_plan *plan = &engine->keepon->plan;
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_FIFO,
		.sched_priority = plan->poll_fifo,
	};
	struct task_struct *thread;
	int error = 0;

	hrtimer_init(&engine->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	engine->timer.function = timer_beat;
	if (plan->poll != KEEPON_POLL_THREAD)
		return 0;
	thread = kthread_create_on_node(thread_beat, engine, cpu_to_node(plan->poll_cpu), "keepon/%s",
					engine->keepon->dev->name);
	if (IS_ERR(thread)) {
		keepon_say(extack, "the polling thread cannot be created");
		return PTR_ERR(thread);
	}
	kthread_bind(thread, plan->poll_cpu);
	if (plan->poll_fifo)
		error = sched_setattr_nocheck(thread, &attr);
	if (error) {
		keepon_say(extack, "the polling thread cannot have real-time priority %u", plan->poll_fifo);
		kthread_stop(thread);
		return error;
	}
	engine->thread = thread;
	return 0;
}

void keepon_poll_begin(struct keepon_engine *engine)
{
	if (engine->thread)
		wake_up_process(engine->thread);
	else
		hrtimer_start(&engine->timer, 0, HRTIMER_MODE_REL_HARD);
}

void keepon_poll_end(struct keepon_engine *engine)
{
	hrtimer_cancel(&engine->timer);
	if (engine->thread)
		kthread_stop(engine->thread);
	engine->thread = NULL;
}
