// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plain owner of a lent ring, for tests of keepon_hwsim, which on purpose writes too late, tears
 * a frame, stalls and so on. What it did is in the kernel log, one line "native_probe: NAME=VALUE"
 * each; what the wire made of it is in the NIC's counters and record.
 *
 *	insmod native_probe.ko dev=n0 polls=400
 *	insmod native_probe.ko dev=n0 hold=1
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>

#include "probe.h"

static char *dev = "n0";
module_param(dev, charp, 0);
MODULE_PARM_DESC(dev, "NIC whose ring is taken");
static int polls = 400;
module_param(polls, int, 0);
MODULE_PARM_DESC(polls, "how often the ring is served, about every 50 us");
static int stall_us;
module_param(stall_us, int, 0);
MODULE_PARM_DESC(stall_us, "in the middle, leave the ring alone for so long");
static bool tear;
module_param(tear, bool, 0);
MODULE_PARM_DESC(tear, "change the third frame after its commit");
static bool late;
module_param(late, bool, 0);
MODULE_PARM_DESC(late, "after three quarters, write into a slot that was fetched");
static bool wipe;
module_param(wipe, bool, 0);
MODULE_PARM_DESC(wipe, "at the end, zero all buffers and only then halt");
static int unwritten;
module_param(unwritten, int, 0);
MODULE_PARM_DESC(unwritten, "bytes at the end of each frame that are not written back");
static int placeholder;
module_param(placeholder, int, 0);
MODULE_PARM_DESC(placeholder, "enum kpn_placeholder");
static bool hold;
module_param(hold, bool, 0);
MODULE_PARM_DESC(hold, "have the ring as long as the module is loaded, and listen to its driver");

static struct probe probe;

/* How many of the CPU's readings do not fall on steps of 18.5 ns, rounded down. */
static void look_at_clock(const struct probe *p)
{
	u32 off_grid = 0;
	u32 i;

	for (i = 0; i < 1000; i++) {
		u64 ns = p->native.ops->cpu_ns(p->native.nic);

		off_grid += ns != div_u64(2 * ns + 36, 37) * 37 / 2;
	}
	pr_info("native_probe: off_grid=%u\n", off_grid);
}

static void drive(struct probe *p)
{
	int i;

	for (i = 0; i < polls; i++) {
		probe_serve(p);
		if (stall_us && i == polls / 2)
			usleep_range(stall_us, stall_us + 10);
		if (late && i == polls * 3 / 4)
			probe_write_late(p);
		usleep_range(PROBE_POLL_US, PROBE_POLL_US + 1);
	}
	if (wipe) {
		probe_wipe(p);
		usleep_range(1000, 1001);
	}
}

static int run(struct probe *p)
{
	int err = probe_claim(p);

	if (err)
		return err;
	probe_begin(p);
	look_at_clock(p);
	drive(p);
	p->native.ops->halt(p->native.nic);
	usleep_range(1000, 1001);
	pr_info("native_probe: frames=%u\n", p->frames);
	pr_info("native_probe: head=%llu\n", p->head);
	p->driver->reset(p->dev, &p->native);
	pr_info("native_probe: index_after_reset=%u\n", p->native.ops->read_index(p->native.nic));
	p->driver->release(p->dev, &p->native);
	return 0;
}

static int __init probe_init(void)
{
	int err = -ENODEV;

	probe.tear = tear;
	probe.unwritten = (u32)unwritten;
	probe.placeholder = (u8)placeholder;
	rtnl_lock();
	probe.dev = __dev_get_by_name(&init_net, dev);
	if (probe.dev)
		probe.driver = keepon_native_get(probe.dev, false);
	if (probe.driver)
		err = probe_query(&probe);
	if (!err)
		err = hold ? hold_begin(&probe) : run(&probe);
	if (err || !hold)
		keepon_native_put(probe.driver);
	rtnl_unlock();
	return err;
}

static void __exit probe_exit(void)
{
	if (!hold)
		return;
	hold_end(&probe);
	keepon_native_put(probe.driver);
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_DESCRIPTION("Plain owner of a lent ring, for tests");
MODULE_LICENSE("GPL");
