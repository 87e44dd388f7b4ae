// SPDX-License-Identifier: GPL-2.0-only
/*
 * A transmit timeout whose work gets RTNL only when the controller sleeps, then the resume:
 * `modprobe resume_probe dev=eth0`. Loading returns when all of that is over.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pm.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>

enum { SETTLED_MS = 50 };

static char *dev = "eth0";
module_param(dev, charp, 0);
MODULE_PARM_DESC(dev, "interface whose controller sleeps for a moment");

static struct device *controller;

static void sleep_now(struct work_struct *work)
{
	controller->driver->pm->suspend(controller);
}

static DECLARE_WORK(sleeper, sleep_now);

/* Both wait for RTNL, the suspend first. */
static int queue_both(void)
{
	struct net_device *net;

	net = __dev_get_by_name(&init_net, dev);
	if (!net)
		return -ENODEV;
	controller = get_device(net->dev.parent);
	queue_work(system_unbound_wq, &sleeper);
	msleep(SETTLED_MS);
	net->netdev_ops->ndo_tx_timeout(net, 0);
	msleep(SETTLED_MS);
	return 0;
}

static int __init resume_probe_init(void)
{
	int err;

	rtnl_lock();
	err = queue_both();
	rtnl_unlock();
	if (err)
		return err;
	flush_work(&sleeper);
	msleep(SETTLED_MS); /* the timeout's work has had RTNL */
	err = controller->driver->pm->resume(controller);
	put_device(controller);
	return err;
}

static void __exit resume_probe_exit(void)
{
}

module_init(resume_probe_init);
module_exit(resume_probe_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A transmit timeout that crosses a suspend");
