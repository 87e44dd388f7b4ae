// SPDX-License-Identifier: GPL-2.0-only
/* Defects of memory and arithmetic. OPTIMIZER_HIDE_VAR: the compiler, too, would refuse them. */
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include "probe.h"

enum { ROOM = 100 };

struct probe_timed {
	struct timer_list timer;
};

void probe_use_after_free(void)
{
	u8 *memory = kzalloc(ROOM, GFP_KERNEL);
	u8 *stale = memory;

	OPTIMIZER_HIDE_VAR(stale);
	kfree(memory);
	pr_info("checker_probe: %u after the end of its life\n", stale ? READ_ONCE(stale[3]) : 0);
}

void probe_beyond_end(void)
{
	u8 *memory = kzalloc(ROOM, GFP_KERNEL);
	u32 place = ROOM;

	OPTIMIZER_HIDE_VAR(place);
	if (memory)
		WRITE_ONCE(memory[place], 0);
	kfree(memory);
}

void probe_leak(void)
{
	u8 *memory = kmalloc(ROOM, GFP_KERNEL);

	pr_info("checker_probe: memory nobody %s\n", memory ? "points to" : "got");
}

static void probe_timer(struct timer_list *timer)
{
}

void probe_free_active_timer(void)
{
	struct probe_timed *timed = kzalloc(sizeof(*timed), GFP_KERNEL);

	if (!timed)
		return;
	timer_setup(&timed->timer, probe_timer, 0);
	mod_timer(&timed->timer, jiffies + 3600 * HZ);
	/* its checker takes the timer out of the queue before the memory goes */
	kfree(timed);
}

void probe_shift(void)
{
	u32 bits = 40;

	OPTIMIZER_HIDE_VAR(bits);
	pr_info("checker_probe: %d\n", 1 << bits);
}
