// SPDX-License-Identifier: GPL-2.0-only
/*
 * qdisc taprio with `flags 0x2`: requests to set or end a list, or for counters. With full offload
 * the stack leaves gates and max-sdu to the device, and frames go from the queues straight to xmit.
 */
#include <linux/delay.h>
#include <linux/rtnetlink.h>

#include "keepon.h"
#include "keepon/errno.h"

/* Limits of traffic classes: without FCS, and without any VLAN tag. */
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

	/* a schedule in software has counters of its own */
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

/* The link's own class table comes back. */
static void end(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	const struct kpn_config *config = &keepon->plan.config;
	struct keepon_gates *gates[2] = { taprio->now, taprio->next };
	bool had_any = gates[0] || gates[1];
	struct keepon_table *table = NULL;
	int tries = KEEPON_TAPRIO_BUSY_TRIES;
	int error = -ENOMEM;
	unsigned long flags;

	if (keepon->engine && had_any)
		table = keepon_table_make(keepon, config->allowed, config->partition_slots);
	raw_spin_lock_irqsave(&keepon->lock, flags);
	taprio->now = NULL;
	taprio->next = NULL;
	taprio->next_table = NULL;
	taprio->bridge = NULL;
	taprio->refused = false;
	memset(taprio->frame_max, 0xff, sizeof(taprio->frame_max));
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	keepon_gates_free(gates[0]);
	keepon_gates_free(gates[1]);
	while (table) {
		raw_spin_lock_irqsave(&keepon->lock, flags);
		error = kpn_pacer_set_partition(keepon->engine->pacer, &table->partition,
						KEEPON_TAPRIO_AT_ONCE);
		raw_spin_unlock_irqrestore(&keepon->lock, flags);
		if (error != -KPN_EBUSY || !tries--)
			break;
		usleep_range(500, 1000);
	}
	/*
	 * A new start of the wire takes the schedule, too: it helps if the pacer stands still or
	 * there is no memory for another table.
	 */
	if (error && had_any)
		keepon_engine_restart(keepon);
	keepon_tables_free_unused(keepon);
	keepon_queue_limits(keepon);
	keepon_dev_limits(keepon);
}

int keepon_taprio_setup(struct net_device *dev, struct tc_taprio_qopt_offload *offload)
{
	struct keepon *keepon = netdev_priv(dev);
	struct netlink_ext_ack extack = {};
	int queue;
	int error;

	switch (keepon_taprio_asks(offload)) {
	case KEEPON_TAPRIO_SET: break;
	case KEEPON_TAPRIO_END: end(keepon); return 0;
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

/* ---- a table was switched, or refused ---- */

/* The pacer has refused the list to come: restart the wire with it when its time has come. */
static void begin_refused(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	unsigned long flags;
	s64 left_ns = 0;
	bool refused;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	refused = taprio->refused && taprio->next;
	if (refused)
		left_ns = taprio->next->start_ns - keepon_clock_read_locked(keepon).ns;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	if (refused && left_ns <= 0)
		keepon_engine_restart(keepon);
	else if (refused)
		schedule_delayed_work(&taprio->settle,
				      nsecs_to_jiffies(min_t(s64, left_ns, NSEC_PER_SEC)) + 1);
}

static void settle(struct work_struct *work)
{
	struct keepon_taprio *taprio =
		container_of(to_delayed_work(work), struct keepon_taprio, settle);
	struct keepon *keepon = container_of(taprio, struct keepon, taprio);

	/* A deletion of the device waits for this work while it holds RTNL. */
	if (!rtnl_trylock()) {
		schedule_delayed_work(&taprio->settle, 1);
		return;
	}
	keepon_taprio_settle(keepon);
	begin_refused(keepon);
	keepon_tables_free_unused(keepon);
	keepon_queue_limits(keepon);
	keepon_dev_limits(keepon);
	rtnl_unlock();
}

void keepon_taprio_init(struct keepon *keepon)
{
	INIT_LIST_HEAD(&keepon->taprio.tables);
	memset(keepon->taprio.frame_max, 0xff, sizeof(keepon->taprio.frame_max));
	INIT_DELAYED_WORK(&keepon->taprio.settle, settle);
}
