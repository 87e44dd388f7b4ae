/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Qdisc "guard": frames with a txtime at their times, all others in the gaps (docs/qdiscs.md). What
 * goes when is decided by core/src/guard.c.
 *
 *	main.c     module, the qdisc's life, what the link says of its rate
 *	options.c  options and counters
 *	queue.c    the two queues, enqueue and dequeue
 *
 * The qdisc's lock serialises all that concerns queues and decisions; options change under RTNL and
 * take it to change what decisions are made by.
 */
#ifndef SCH_GUARD_H
#define SCH_GUARD_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <net/pkt_sched.h>

#include "keepon/guard.h"

/**
 * struct guard_options - as set; 0 leaves rate and mtu to link and device
 * @limit_frames: of each of the two queues
 */
struct guard_options {
	u64 rate_bps;
	u32 mtu_bytes;
	u32 limit_frames;
	u32 fudge_ns;
	u32 tolerance_ns;
	enum kpn_guard_late late;
};

/**
 * struct guard_sched - private part of a qdisc
 * @timed: frames by txtime; @timed_count: how many
 * @others: the FIFO
 * @wrong: frames refused because of their clock or length
 * @sch: the qdisc this is of
 * @siblings: in the list of all of them, for the notifier; RTNL
 */
struct guard_sched {
	struct guard_options options;
	struct kpn_guard guard;
	struct rb_root_cached timed;
	u32 timed_count;
	struct qdisc_skb_head others;
	struct qdisc_watchdog watchdog;
	u64 wrong;
	struct Qdisc *sch;
	struct list_head siblings;
};

/** guard_parse() - @options as @opt changes them; RTNL. Return: 0 or -errno, with extack */
int guard_parse(struct guard_options *options, struct nlattr *opt, struct netlink_ext_ack *extack);

/** guard_apply() - decide by @options from now on; RTNL. Return: 0 or -errno, with extack */
int guard_apply(struct Qdisc *sch, const struct guard_options *options,
		struct netlink_ext_ack *extack);

int guard_dump(struct Qdisc *sch, struct sk_buff *skb);
int guard_dump_stats(struct Qdisc *sch, struct gnet_dump *dump);

int guard_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
struct sk_buff *guard_dequeue(struct Qdisc *sch);
/** guard_purge() - both queues empty; qdisc locked, or nobody else has it */
void guard_purge(struct Qdisc *sch);

#endif
