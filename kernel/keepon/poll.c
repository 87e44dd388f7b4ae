// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pollers: one calls kpn_pacer_poll() at the intervals of the core; with clock dual another one
 * walks the receive ring. By default they run in a hard timer interrupt: softirqs wait for each
 * other, and a batch of received frames (up to 2 ms) must not let the wire run dry. NAPI does the
 * slow part, handing frames back. Alternatively each runs in a thread bound to a CPU, as published
 * (KeepON paper sections 4.2, A.3), with an optional real-time priority.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <uapi/linux/sched/types.h>

#include "keepon.h"

static u64 transmit_poll_locked(struct keepon_engine *engine, bool *completed)
{
	*completed = kpn_pacer_poll(engine->pacer);
	if (engine->dual)
		keepon_dual_correct_locked(engine);
	return kpn_pacer_poll_interval_ns(engine->pacer);
}

static u64 poll_once(struct keepon_poller *poller)
{
	struct keepon *keepon = poller->engine->keepon;
	u64 *stall = &keepon->stall_ns[poller->number];
	unsigned long flags;
	bool completed = false;
	u64 interval_ns;
	u64 stall_ns;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	interval_ns = poller->poll(poller->engine, &completed);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	if (completed)
		keepon_complete_soon(keepon);
	stall_ns = READ_ONCE(*stall);
	if (unlikely(stall_ns)) {
		WRITE_ONCE(*stall, 0);
		interval_ns += stall_ns;
	}
	return interval_ns;
}

/*
 * Counts from the last expiry, so that the duration of polls does not add up; missed polls are
 * skipped.
 */
static enum hrtimer_restart timer_poll(struct hrtimer *timer)
{
	struct keepon_poller *poller = container_of(timer, struct keepon_poller, timer);

	hrtimer_forward_now(timer, ns_to_ktime(poll_once(poller)));
	return HRTIMER_RESTART;
}

static int thread_poll(void *data)
{
	struct keepon_poller *poller = data;

	while (!kthread_should_stop()) {
		u64 interval_us = poll_once(poller) / NSEC_PER_USEC;

		/* The interval is the longest the ring allows: wake up in its last quarter. */
		if (interval_us)
			usleep_range_state(interval_us - interval_us / 4, interval_us, TASK_IDLE);
		else
			cond_resched();
	}
	return 0;
}

static int make_thread(struct keepon_poller *poller, const char *name, u32 cpu,
		       struct netlink_ext_ack *extack)
{
	const struct keepon_plan *plan = &poller->engine->keepon->plan;
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_FIFO,
		.sched_priority = plan->poll_fifo,
	};
	struct task_struct *thread;
	int error = 0;

	thread = kthread_create_on_node(thread_poll, poller, cpu_to_node(cpu), "%s/%s", name,
					poller->engine->keepon->dev->name);
	if (IS_ERR(thread)) {
		keepon_explain(extack, "the polling thread cannot be created");
		return PTR_ERR(thread);
	}
	kthread_bind(thread, cpu);
	if (plan->poll_fifo)
		error = sched_setattr_nocheck(thread, &attr);
	if (error) {
		keepon_explain(extack, "the polling thread cannot have real-time priority %u",
			       plan->poll_fifo);
		kthread_stop(thread);
		return error;
	}
	poller->thread = thread;
	return 0;
}

int keepon_poll_prepare(struct keepon_engine *engine, struct netlink_ext_ack *extack)
{
	const struct keepon_plan *plan = &engine->keepon->plan;
	int error = 0;
	u32 i;

	for (i = 0; i < KEEPON_POLLERS; i++) {
		struct keepon_poller *poller = &engine->poller[i];

		poller->engine = engine;
		poller->number = i;
		poller->poll = i ? keepon_dual_poll_locked : transmit_poll_locked;
		keepon_hrtimer_setup(&poller->timer, timer_poll, CLOCK_MONOTONIC,
				     HRTIMER_MODE_REL_HARD);
	}
	if (plan->poll != KEEPON_POLL_THREAD)
		return 0;
	error = make_thread(&engine->poller[0], "keepon", plan->poll_cpu, extack);
	if (!error && plan->clock == KEEPON_CLOCK_DUAL)
		error = make_thread(&engine->poller[1], "keepon-rx", plan->rx_poll_cpu, extack);
	if (error)
		keepon_poll_end(engine);
	return error;
}

void keepon_poll_begin(struct keepon_engine *engine)
{
	u32 count = engine->dual ? KEEPON_POLLERS : 1;
	u32 i;

	for (i = 0; i < count; i++) {
		struct keepon_poller *poller = &engine->poller[i];

		if (poller->thread)
			wake_up_process(poller->thread);
		else
			hrtimer_start(&poller->timer, 0, HRTIMER_MODE_REL_HARD);
	}
}

void keepon_poll_end(struct keepon_engine *engine)
{
	u32 i;

	for (i = 0; i < KEEPON_POLLERS; i++) {
		struct keepon_poller *poller = &engine->poller[i];

		hrtimer_cancel(&poller->timer);
		if (poller->thread)
			kthread_stop(poller->thread);
		poller->thread = NULL;
	}
}
