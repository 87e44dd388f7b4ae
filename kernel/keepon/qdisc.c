// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queueing disciplines that ask the device. mqprio: traffic classes over the queues, each queue
 * being one class. etf: with `offload` frames come early and the device sends them on time, which
 * it does anyway. taprio: gates become a class table (taprio.c).
 */
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>

#include "keepon.h"

/*
 * With hardware offload the kernel leaves the ranges of queues to the driver, and asks any queue
 * they name for its statistics.
 */
static bool has_queues_of(const struct tc_mqprio_qopt *qopt)
{
	int tc;

	for (tc = 0; tc < qopt->num_tc; tc++) {
		if (!qopt->count[tc] || qopt->offset[tc] >= KEEPON_CLASS_COUNT ||
		    qopt->count[tc] > KEEPON_CLASS_COUNT - qopt->offset[tc])
			return false;
	}
	return true;
}

static int setup_mqprio(struct net_device *dev, struct tc_mqprio_qopt_offload *offload)
{
	struct tc_mqprio_qopt *qopt = &offload->qopt;
	int tc;

	if (qopt->num_tc > KEEPON_CLASS_COUNT || !has_queues_of(qopt))
		return -EINVAL;
	/* The wire is shared by slots, not by rates. */
	if (offload->shaper != TC_MQPRIO_SHAPER_DCB)
		return -EOPNOTSUPP;
	netdev_reset_tc(dev);
	qopt->hw = TC_MQPRIO_HW_OFFLOAD_TCS;
	if (!qopt->num_tc)
		return 0;
	if (netdev_set_num_tc(dev, qopt->num_tc))
		return -EINVAL;
	for (tc = 0; tc < qopt->num_tc; tc++) {
		if (netdev_set_tc_queue(dev, tc, qopt->count[tc], qopt->offset[tc])) {
			netdev_reset_tc(dev);
			return -EINVAL;
		}
	}
	return 0;
}

static int setup_etf(struct net_device *dev, const struct tc_etf_qopt_offload *offload)
{
	return offload->queue >= 0 && offload->queue < dev->num_tx_queues ? 0 : -EINVAL;
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
	case TC_SETUP_QDISC_ETF: return setup_etf(dev, type_data);
	case TC_SETUP_QDISC_TAPRIO: return keepon_taprio_setup(dev, type_data);
	case TC_QUERY_CAPS: return tell_caps(type_data);
	default: return -EOPNOTSUPP;
	}
}
