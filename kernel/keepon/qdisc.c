// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queueing disciplines that offload to the device. mqprio: traffic classes over the queues, each
 * queue being one class. cbs and the rates of mqprio: credit of a queue (credit.c). etf: with
 * `offload` every time that comes from its queue is a txtime, whatever its socket says. taprio:
 * gates become a class table (taprio.c).
 */
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>

#include "keepon.h"

static bool overlap(const struct tc_mqprio_qopt *qopt, int a, int b)
{
	return qopt->offset[a] < qopt->offset[b] + qopt->count[b] &&
	       qopt->offset[b] < qopt->offset[a] + qopt->count[a];
}

/*
 * With hardware offload the kernel leaves the check of queue ranges to the driver, and reads
 * statistics of any queue in them. The rules are those without offload.
 */
static int check_queues(const struct tc_mqprio_qopt *qopt, struct netlink_ext_ack *extack)
{
	int tc;
	int other;

	for (tc = 0; tc < qopt->num_tc; tc++) {
		if (!qopt->count[tc] || qopt->offset[tc] >= KEEPON_CLASS_COUNT ||
		    qopt->count[tc] > KEEPON_CLASS_COUNT - qopt->offset[tc]) {
			keepon_explain(
				extack,
				"queues %u@%u of traffic class %d are not among 0 to %d; give one that is, as 1@%d",
				qopt->count[tc], qopt->offset[tc], tc, KEEPON_CLASS_COUNT - 1, tc);
			return -EINVAL;
		}
		for (other = 0; other < tc; other++) {
			if (!overlap(qopt, tc, other))
				continue;
			keepon_explain(
				extack,
				"queues %u@%u of traffic class %d overlap %u@%u of traffic class %d; give each its own",
				qopt->count[tc], qopt->offset[tc], tc, qopt->count[other],
				qopt->offset[other], other);
			return -EINVAL;
		}
	}
	return 0;
}

static int check_mqprio(const struct keepon *keepon, const struct tc_mqprio_qopt_offload *offload,
			struct netlink_ext_ack *extack)
{
	if (offload->qopt.num_tc > KEEPON_CLASS_COUNT)
		return -EINVAL;
	if (keepon_mqprio_preemptible(offload)) {
		keepon_explain(extack,
			       "fp P: frame preemption is not supported; make every class express");
		return -EOPNOTSUPP;
	}
	if (offload->shaper != TC_MQPRIO_SHAPER_DCB &&
	    offload->shaper != TC_MQPRIO_SHAPER_BW_RATE) {
		keepon_explain(extack, "shaper %u is unknown; give dcb or bw_rlimit",
			       offload->shaper);
		return -EINVAL;
	}
	return check_queues(&offload->qopt, extack) ?:
		       keepon_credit_check_rates(keepon, offload, extack);
}

static int set_classes(struct net_device *dev, const struct tc_mqprio_qopt *qopt)
{
	int tc;

	netdev_reset_tc(dev);
	if (qopt->num_tc && netdev_set_num_tc(dev, qopt->num_tc))
		return -EINVAL;
	for (tc = 0; tc < qopt->num_tc; tc++) {
		if (netdev_set_tc_queue(dev, tc, qopt->count[tc], qopt->offset[tc])) {
			netdev_reset_tc(dev);
			return -EINVAL;
		}
	}
	return 0;
}

static int setup_mqprio(struct net_device *dev, struct tc_mqprio_qopt_offload *offload)
{
	struct netlink_ext_ack extack = {};
	struct keepon *keepon = netdev_priv(dev);
	int error = check_mqprio(keepon, offload, &extack);

	if (extack._msg)
		keepon_qdisc_say(dev, "mqprio", keepon_mqprio_extack(offload), &extack);
	if (error)
		return error;
	offload->qopt.hw = TC_MQPRIO_HW_OFFLOAD_TCS;
	error = set_classes(dev, &offload->qopt);
	if (error)
		return error;
	keepon_credit_set_rates(keepon, offload);
	/* the card's frames may belong to another class now, one with room */
	keepon_queue_limits(keepon);
	if (keepon->engine && keepon_has_card(keepon->engine))
		keepon_card_wake(keepon);
	return 0;
}

static int setup_etf(struct net_device *dev, const struct tc_etf_qopt_offload *offload)
{
	struct keepon *keepon = netdev_priv(dev);
	struct netlink_ext_ack extack = {};
	unsigned long flags;

	if (offload->enable && !keepon->receives_all &&
	    offload->queue == keepon_queue_of_rest(dev)) {
		keepon_explain(
			&extack,
			"class %d sends the frames of %s, which have no txtime: etf would drop them; set it on another class, or make the link with receive all",
			offload->queue, keepon->lower->name);
		keepon_qdisc_say(dev, "etf", NULL, &extack);
		return -EOPNOTSUPP;
	}
	if (offload->queue < 0 || offload->queue >= KEEPON_CLASS_COUNT)
		return -EINVAL;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (offload->enable)
		keepon->etf_queues |= 1 << offload->queue;
	else
		keepon->etf_queues &= ~(1 << offload->queue);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return 0;
}

static int tell_caps(const struct tc_query_caps_base *base)
{
	if (base->type != TC_SETUP_QDISC_TAPRIO)
		return -EOPNOTSUPP;
	keepon_taprio_caps(base->caps);
	return 0;
}

int keepon_setup_tc(struct net_device *dev, enum tc_setup_type type, void *type_data)
{
	switch (type) {
	case TC_SETUP_QDISC_MQPRIO: return setup_mqprio(dev, type_data);
	case TC_SETUP_QDISC_CBS: return keepon_credit_cbs(netdev_priv(dev), type_data);
	case TC_SETUP_QDISC_ETF: return setup_etf(dev, type_data);
	case TC_SETUP_QDISC_TAPRIO: return keepon_taprio_setup(dev, type_data);
	case TC_QUERY_CAPS: return tell_caps(type_data);
	default: return -EOPNOTSUPP;
	}
}
