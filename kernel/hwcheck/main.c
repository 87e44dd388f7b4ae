// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module keepon_hwcheck: /sys/kernel/debug/keepon_hwcheck/run. "DEVICE BACKEND SLOT_BYTES" written
 * to it runs; what is read then is the last run, a record a line: docs/hwcheck.md.
 */
#include <linux/debugfs.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "hwcheck.h"
#include "keepon/wire.h"
#include "keepon_version.h"

enum { LINE_BYTES = 64 };

static DEFINE_MUTEX(lock); /* last, last_error */
static struct hwcheck *last;
static int last_error;
static struct dentry *folder;

static u64 rate_of(struct net_device *dev)
{
	struct ethtool_link_ksettings settings;

	if (__ethtool_get_link_ksettings(dev, &settings) ||
	    settings.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return settings.base.speed * 1000000ull;
}

/* RTNL is held. Return: 0 or an error; there may be records all the same */
static int run_on(struct hwcheck *h, const char *name, const char *backend)
{
	int error;

	h->dev = __dev_get_by_name(current->nsproxy->net_ns, name);
	if (!h->dev)
		return -ENODEV;
	h->driver = keepon_native_get(h->dev, !strcmp(backend, "generic"));
	if (!h->driver)
		return -EOPNOTSUPP;
	error = h->driver->query(h->dev, h->slot_bytes, &h->caps, NULL);
	h->rate_bps = rate_of(h->dev);
	if (!error && (!netif_carrier_ok(h->dev) || !kpn_byte_time_ps(h->rate_bps)))
		error = -ENETDOWN;
	if (!error)
		error = hwcheck_run(h);
	keepon_native_put(h->driver);
	return error;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	char line[LINE_BYTES] = {};
	char name[IFNAMSIZ];
	char backend[8];
	struct hwcheck *h;
	u32 slot_bytes;

	if (bytes >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, bytes))
		return -EFAULT;
	if (sscanf(line, "%15s %7s %u", name, backend, &slot_bytes) != 3 ||
	    slot_bytes < KPN_FRAME_BYTES_MIN || slot_bytes > KPN_FRAME_BYTES_MAX)
		return -EINVAL;
	h = kvzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return -ENOMEM;
	h->slot_bytes = slot_bytes;
	mutex_lock(&lock);
	rtnl_lock();
	last_error = run_on(h, name, backend);
	rtnl_unlock();
	kvfree(last);
	last = h;
	mutex_unlock(&lock);
	return bytes;
}

/* Numbers of struct kpn_nic_caps by their names; X(member) */
#define CAPS(X)                 \
	X(ring_slots_min)       \
	X(ring_slots_max)       \
	X(reserved_slots)       \
	X(prefetch_slots_max)   \
	X(index_to_wire_ns_min) \
	X(index_to_wire_ns_max) \
	X(restart_ns_min)       \
	X(restart_ns_max)       \
	X(cpu_tick_ns)          \
	X(poll_ns_min)          \
	X(placeholder_kinds)    \
	X(fragments_max)        \
	X(index_counts_done)    \
	X(desc_persistent)

static void show(struct seq_file *out, const struct hwcheck *h)
{
	u32 i;

	seq_printf(out, "error %d\nslot_bytes %u\nrate_bps %llu\nring_slots %u\nclaims %u\n",
		   -last_error, h->slot_bytes, h->rate_bps, h->ring_slots, h->caps.claims);
#define PUT(name) seq_printf(out, "cap " #name " %d\n", (int)h->caps.nic.name);
	CAPS(PUT)
#undef PUT
	seq_printf(out, "tick %llu %u\nbegun %llu %llu\nsent %llu\n", h->tick_ns, h->still,
		   h->begun_ns, h->stream_slot, h->head);
	for (i = 0; i < h->restarts; i++)
		seq_printf(out, "restart %llu %llu\n", h->restart[i].bell_ns,
			   h->restart[i].moved_ns);
	for (i = 0; i < h->samples; i++)
		seq_printf(out, "sample %llu %llu %llu\n", h->sample[i].at_ns,
			   h->sample[i].since_ns, h->sample[i].index);
	for (i = 0; i < h->trials; i++)
		seq_printf(out, "trial %llu %llu %llu %llu\n", h->trial[i].at_ns, h->trial[i].index,
			   h->trial[i].slot, h->trial[i].after);
	for (i = 0; i < h->mixtures; i++)
		seq_printf(out, "mixture %u %u %u\n", h->mixture[i].number, HWCHECK_FRAGMENTS,
			   h->mixture[i].fresh);
}

static int run_show(struct seq_file *out, void *unused)
{
	mutex_lock(&lock);
	if (last)
		show(out, last);
	mutex_unlock(&lock);
	return 0;
}

static int run_open(struct inode *inode, struct file *file)
{
	return single_open(file, run_show, NULL);
}

static const struct file_operations run_operations = {
	.owner = THIS_MODULE,
	.open = run_open,
	.read = seq_read,
	.write = run_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init hwcheck_init(void)
{
	folder = debugfs_create_dir("keepon_hwcheck", NULL);
	debugfs_create_file("run", 0600, folder, NULL, &run_operations);
	return PTR_ERR_OR_ZERO(folder);
}

static void __exit hwcheck_exit(void)
{
	debugfs_remove_recursive(folder);
	kvfree(last);
}

module_init(hwcheck_init);
module_exit(hwcheck_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
MODULE_AUTHOR("Keepon developers");
MODULE_DESCRIPTION("What a lent ring does, for keepon hwcheck");
