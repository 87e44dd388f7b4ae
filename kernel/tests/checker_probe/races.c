// SPDX-License-Identifier: GPL-2.0-only
/*
 * One variable, two who count in it without agreement: two CPUs, or a CPU and a timer's hard
 * interrupt on it. Marked accesses are no race, which shows that it is not the traffic that is
 * reported.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "probe.h"

enum { RUN_MS = 3000, TIMER_NS = 100000 };

static unsigned long plain_count;
static unsigned long marked_count;
static unsigned long interrupted_count;

static noinline void count_plainly(void)
{
	plain_count++;
	barrier();
}

static noinline void count_marked(void)
{
	WRITE_ONCE(marked_count, READ_ONCE(marked_count) + 1);
}

static int count_until_stopped(void *data)
{
	void (*count)(void) = data;

	while (!kthread_should_stop()) {
		count();
		cond_resched();
	}
	return 0;
}

static void count_on_two_cpus(void (*count)(void))
{
	struct task_struct *threads[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		threads[i] = kthread_create(count_until_stopped, count, "checker_probe%u", i);
		if (IS_ERR(threads[i]))
			continue;
		kthread_bind(threads[i], i % num_online_cpus());
		wake_up_process(threads[i]);
	}
	msleep(RUN_MS);
	for (i = 0; i < 2; i++)
		if (!IS_ERR(threads[i]))
			kthread_stop(threads[i]);
}

void probe_race(void)
{
	count_on_two_cpus(count_plainly);
}

void probe_marked(void)
{
	count_on_two_cpus(count_marked);
}

static enum hrtimer_restart count_in_interrupt(struct hrtimer *timer)
{
	interrupted_count++;
	hrtimer_forward_now(timer, ns_to_ktime(TIMER_NS));
	return HRTIMER_RESTART;
}

static noinline void count_interrupted(void)
{
	interrupted_count++;
	barrier();
}

void probe_race_with_interrupt(void)
{
	struct hrtimer timer;
	u64 end_ns = ktime_get_ns() + RUN_MS * NSEC_PER_MSEC;

	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = count_in_interrupt;
	/* the timer stays on the CPU that started it, so the counting has to stay there too */
	migrate_disable();
	hrtimer_start(&timer, ns_to_ktime(TIMER_NS), HRTIMER_MODE_REL_PINNED_HARD);
	while (ktime_get_ns() < end_ns) {
		count_interrupted();
		cond_resched();
	}
	hrtimer_cancel(&timer);
	migrate_enable();
	destroy_hrtimer_on_stack(&timer);
}
