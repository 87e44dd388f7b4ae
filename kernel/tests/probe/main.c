// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that shows whether the virtual machine works: tells the time, calls the core, warns when
 * asked to.
 */

#include <linux/ktime.h>
#include <linux/module.h>

#include <keepon/wire.h>

static bool warn;
module_param(warn, bool, 0444);
MODULE_PARM_DESC(warn, "make the kernel print a warning with a stack trace");

static int __init keepon_probe_init(void)
{
	pr_info("keepon_probe: %u ps a byte at 1 Gb/s, loaded at %llu ns\n",
		kpn_byte_time_ps(1000000000ULL), ktime_get_raw_ns());
	WARN_ON(warn);
	return 0;
}

static void __exit keepon_probe_exit(void)
{
}

module_init(keepon_probe_init);
module_exit(keepon_probe_exit);

MODULE_DESCRIPTION("Keepon: proves that the virtual machine for tests works");
MODULE_LICENSE("GPL");
