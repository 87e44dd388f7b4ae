// SPDX-License-Identifier: GPL-2.0-only
/*
 * qdisc taprio with `flags 0x2`: a list is set or ended, or somebody asks for counters. With full
 * offload the stack leaves gates and max-sdu to the device, and frames go from the queues straight
 * to xmit.
 */
#include <linux/rtnetlink.h>

#include "keepon.h"

/* Limits of traffic classes: without FCS and without the tag of a VLAN, whoever wrote it. */
static void limits_by_queue(const struct net_device *dev,
			    const struct tc_taprio_qopt_offload *offload, u32 *frame_max)
{
	int tc;

	memset(frame_max, 0xff, KEEPON_CLASS_COUNT * sizeof(*frame_max));
	for (tc = 0; tc < dev->num_tc; tc++) {
		u32 queue = dev->tc_to_txq[tc].offset;
		u32 end = min_t(u32, queue + dev->tc_to_txq[tc].count, KEEPON_CLASS_COUNT);

		for (; offload->max_sdu[tc] && queue < end; queue++)
			frame_max[queue] = offload->max_sdu[tc] + dev->hard_header_len;
	}
}

static void say_limits(const struct net_device *dev, const struct tc_taprio_qopt_offload *offload)
{
	int tc;

	for (tc = 0; tc < dev->num_tc; tc++) {
		if (offload->max_sdu[tc] > dev->max_mtu && net_ratelimit())
			netdev_info(
				dev,
				"taprio: max-sdu %u of traffic class %d is more than the link sends (%u)\n",
				offload->max_sdu[tc], tc, dev->max_mtu);
	}
}

static int set(struct keepon *keepon, const struct tc_taprio_qopt_offload *offload,
	       struct netlink_ext_ack *extack)
{
	struct keepon_gates *gates = keepon_gates_make(offload, extack);
	u32 frame_max[KEEPON_CLASS_COUNT];
	int error;

	if (IS_ERR(gates))
		return PTR_ERR(gates);
	limits_by_queue(keepon->dev, offload, frame_max);
	error = keepon_taprio_install(keepon, gates, frame_max, extack);
	if (error)
		keepon_gates_free(gates);
	else
		say_limits(keepon->dev, offload);
	return error;
}

static int tell(struct keepon *keepon, struct tc_taprio_qopt_offload *offload, u32 from, u32 to)
{
	u64 window_drops = 0;
	unsigned long flags;
	u64 overruns = 0;
	u32 queue;

	/* a schedule that is carried out in software has counters of its own */
	if (!keepon->taprio.now && !keepon->taprio.next)
		return -EOPNOTSUPP;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	for (queue = from; queue < to; queue++) {
		window_drops += keepon->taprio.window_drops[queue];
		overruns += READ_ONCE(keepon->taprio.overruns[queue]);
	}
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	keepon_taprio_tell(offload, window_drops, overruns);
	return 0;
}

int keepon_taprio_setup(struct net_device *dev, struct tc_taprio_qopt_offload *offload)
{
	struct keepon *keepon = netdev_priv(dev);
	struct netlink_ext_ack extack = {};
	int queue;
	int error;

	switch (keepon_taprio_asks(offload)) {
	case KEEPON_TAPRIO_SET: break;
	case KEEPON_TAPRIO_END: keepon_taprio_end(keepon); return 0;
	case KEEPON_TAPRIO_STATS: return tell(keepon, offload, 0, KEEPON_CLASS_COUNT);
	case KEEPON_TAPRIO_QUEUE_STATS:
		queue = keepon_taprio_queue(offload);
		if (queue < 0 || queue >= KEEPON_CLASS_COUNT)
			return -EINVAL;
		return tell(keepon, offload, queue, queue + 1);
	default: return -EOPNOTSUPP;
	}
	error = set(keepon, offload, &extack);
	if (extack._msg)
		keepon_qdisc_say(dev, "taprio", keepon_taprio_extack(offload), &extack);
	return error;
}

int keepon_taprio_check(struct keepon *keepon, const struct keepon_plan *plan,
			struct netlink_ext_ack *extack)
{
	const struct kpn_config *old = &keepon->plan.config;
	const struct kpn_config *new = &plan->config;
	const struct keepon_gates *gates[2] = { keepon->taprio.now, keepon->taprio.next };
	int error = 0;
	u32 i;

	if (!gates[0] && !gates[1])
		return 0;
	if (old->partition_slots != new->partition_slots ||
	    memcmp(old->allowed, new->allowed, new->partition_slots * sizeof(*new->allowed))) {
		keepon_explain(
			extack,
			"class slots: gates of taprio hold instead while there are any; end them first (tc qdisc del dev %s root)",
			keepon->dev->name);
		return -EBUSY;
	}
	for (i = 0; i < 2 && !error; i++) {
		if (gates[i])
			error = keepon_gates_check(gates[i], plan, keepon->dev, extack);
	}
	return error;
}
