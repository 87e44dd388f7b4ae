// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a kernel's checkers watch modules: makes the defects its parameter names, in that
 * order.
 *
 *	modprobe checker_probe faults=raw_nesting,leak
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "probe.h"

static const struct {
	const char *name;
	void (*make)(void);
} known[] = {
	{ "use_after_free", probe_use_after_free },
	{ "beyond_end", probe_beyond_end },
	{ "leak", probe_leak },
	{ "free_active_timer", probe_free_active_timer },
	{ "shift", probe_shift },
	{ "raw_nesting", probe_raw_nesting },
	{ "lock_order", probe_lock_order },
	{ "sleep", probe_sleep },
	{ "race", probe_race },
	{ "race_with_interrupt", probe_race_with_interrupt },
	{ "marked", probe_marked },
};

static char *faults[ARRAY_SIZE(known)];
static unsigned int count;
module_param_array(faults, charp, &count, 0);
MODULE_PARM_DESC(faults, "names of defects");

static int make(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(known[i].name, name)) {
			pr_info("checker_probe: makes %s\n", name);
			known[i].make();
			return 0;
		}
	}
	pr_err("checker_probe: knows no defect %s\n", name);
	return -EINVAL;
}

static int __init checker_probe_init(void)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < count && !error; i++)
		error = make(faults[i]);
	return error;
}

static void __exit checker_probe_exit(void)
{
}

module_init(checker_probe_init);
module_exit(checker_probe_exit);

MODULE_DESCRIPTION("Keepon: shows that a kernel's checkers watch modules");
MODULE_LICENSE("GPL");
