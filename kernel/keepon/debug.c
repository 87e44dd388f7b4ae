// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault injection: /sys/kernel/debug/keepon/DEVICE/stall_ns and rx_stall_ns. A written value delays
 * the next poll, or the next poll of the receive ring, once, as a CPU does that is busy elsewhere.
 */
#include <linux/debugfs.h>

#include "keepon.h"

#define STALL_NS_MAX (10 * (u64)NSEC_PER_SEC)

static struct dentry *folder;

static int stall_get(void *data, u64 *value)
{
	const u64 *stall_ns = data;

	*value = READ_ONCE(*stall_ns);
	return 0;
}

static int stall_set(void *data, u64 value)
{
	u64 *stall_ns = data;

	if (value > STALL_NS_MAX)
		return -ERANGE;
	WRITE_ONCE(*stall_ns, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(stall_file, stall_get, stall_set, "%llu\n");

void keepon_debug_init(void)
{
	folder = debugfs_create_dir("keepon", NULL);
}

void keepon_debug_exit(void)
{
	debugfs_remove_recursive(folder);
}

/* Of two devices with one name, in different namespaces, the second has no folder. */
void keepon_debug_add(struct keepon *keepon)
{
	keepon->debug = debugfs_create_dir(keepon->dev->name, folder);
	if (IS_ERR(keepon->debug))
		return;
	debugfs_create_file_unsafe("stall_ns", 0600, keepon->debug, &keepon->stall_ns[0],
				   &stall_file);
	debugfs_create_file_unsafe("rx_stall_ns", 0600, keepon->debug, &keepon->stall_ns[1],
				   &stall_file);
}

void keepon_debug_remove(struct keepon *keepon)
{
	debugfs_remove_recursive(keepon->debug);
	keepon->debug = NULL;
}
