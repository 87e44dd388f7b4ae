// SPDX-License-Identifier: GPL-2.0-only
/* Module sch_guard: the life of qdisc "guard", and the rate of the link below it. */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "guard.h"
#include "keepon_version.h"
#include "uapi/keepon_guard.h"

enum { LIMIT_FRAMES = 1000, TOLERANCE_NS = 1000000 };

static LIST_HEAD(guard_scheds); /* RTNL */

static int guard_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct guard_sched *q = qdisc_priv(sch);
	struct guard_options options = {
		.limit_frames = LIMIT_FRAMES,
		.tolerance_ns = TOLERANCE_NS,
	};
	int error;

	/* destroy() comes in any case. */
	INIT_LIST_HEAD(&q->siblings);
	q->sch = sch;
	q->timed = RB_ROOT_CACHED;
	qdisc_watchdog_init_clockid(&q->watchdog, sch, CLOCK_TAI);
	if (sch->parent != TC_H_ROOT) {
		NL_SET_ERR_MSG(
			extack,
			"guard: knows of no other queue, so it must be the root of its device");
		return -EOPNOTSUPP;
	}
	error = opt ? guard_parse(&options, opt, extack) : 0;
	if (!error)
		error = guard_apply(sch, &options, extack);
	if (!error)
		list_add(&q->siblings, &guard_scheds);
	return error;
}

static int guard_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct guard_sched *q = qdisc_priv(sch);
	struct guard_options options = q->options;
	int error = opt ? guard_parse(&options, opt, extack) : 0;

	return error ?: guard_apply(sch, &options, extack);
}

static void guard_reset(struct Qdisc *sch)
{
	struct guard_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	guard_purge(sch);
}

static void guard_destroy(struct Qdisc *sch)
{
	struct guard_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	list_del(&q->siblings);
}

static struct Qdisc_ops guard_ops = {
	.id = KEEPON_GUARD_KIND,
	.priv_size = sizeof(struct guard_sched),
	.enqueue = guard_enqueue,
	.dequeue = guard_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = guard_init,
	.change = guard_change,
	.reset = guard_reset,
	.destroy = guard_destroy,
	.dump = guard_dump,
	.dump_stats = guard_dump_stats,
	.owner = THIS_MODULE,
};

/* A link has come up, perhaps at another rate, or its MTU has changed. RTNL. */
static int guard_link_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct guard_sched *q;

	if (event != NETDEV_UP && event != NETDEV_CHANGE && event != NETDEV_CHANGEMTU)
		return NOTIFY_DONE;
	list_for_each_entry(q, &guard_scheds, siblings)
	{
		struct guard_options options = q->options;

		/* A link that is down does not say its rate: that of before stays. */
		if (qdisc_dev(q->sch) == dev)
			guard_apply(q->sch, &options, NULL);
	}
	return NOTIFY_DONE;
}

static struct notifier_block guard_link_block = {
	.notifier_call = guard_link_event,
};

static int __init guard_module_init(void)
{
	int error = register_netdevice_notifier(&guard_link_block);

	if (error)
		return error;
	error = register_qdisc(&guard_ops);
	if (error)
		unregister_netdevice_notifier(&guard_link_block);
	return error;
}

static void __exit guard_module_exit(void)
{
	unregister_qdisc(&guard_ops);
	unregister_netdevice_notifier(&guard_link_block);
}

module_init(guard_module_init);
module_exit(guard_module_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
MODULE_AUTHOR("Keepon developers");
MODULE_DESCRIPTION("Frames at their SO_TXTIME, all others in the gaps");
/* by which tc's request finds the module, since 6.9; before by its name */
MODULE_ALIAS("net-sch-guard");
