// SPDX-License-Identifier: GPL-2.0-only
/* Locks and sleep where they must not be. */
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/spinlock.h>

#include "probe.h"

static DEFINE_RAW_SPINLOCK(raw);
static DEFINE_SPINLOCK(sleeping);
static DEFINE_SPINLOCK(first);
static DEFINE_SPINLOCK(second);
static DEFINE_MUTEX(mutex);

/* What works on every kernel but PREEMPT_RT, where a spinlock sleeps. */
void probe_raw_nesting(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&raw, flags);
	spin_lock(&sleeping);
	spin_unlock(&sleeping);
	raw_spin_unlock_irqrestore(&raw, flags);
}

/* Never at the same time: it is the order that is wrong. */
void probe_lock_order(void)
{
	spin_lock(&first);
	spin_lock(&second);
	spin_unlock(&second);
	spin_unlock(&first);
	spin_lock(&second);
	spin_lock(&first);
	spin_unlock(&first);
	spin_unlock(&second);
}

void probe_sleep(void)
{
	preempt_disable();
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
	preempt_enable();
}
