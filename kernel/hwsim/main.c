// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load and unload. Everything else begins with a line written to
 * /sys/kernel/debug/keepon_hwsim/control.
 */
#include <linux/debugfs.h>
#include <linux/module.h>

#include "clock.h"
#include "control.h"
#include "keepon_version.h"
#include "ring.h"

static struct dentry *control;

static int __init hwsim_init(void)
{
	hwsim_clock_init();
	hwsim_folder = debugfs_create_dir(HWSIM_NAME, NULL);
	if (IS_ERR(hwsim_folder))
		return PTR_ERR(hwsim_folder);
	control = hwsim_control_init();
	if (IS_ERR(control)) {
		debugfs_remove_recursive(hwsim_folder);
		return PTR_ERR(control);
	}
	keepon_native_register(&hwsim_native);
	return 0;
}

static void __exit hwsim_exit(void)
{
	debugfs_remove(control); /* waits for a command under way */
	hwsim_control_fini();
	keepon_native_unregister(&hwsim_native);
	debugfs_remove_recursive(hwsim_folder);
}

module_init(hwsim_init);
module_exit(hwsim_exit);
MODULE_DESCRIPTION("Virtual standard NICs joined by wires, for Keepon");
MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
