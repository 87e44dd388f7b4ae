// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card below remains the machine's device: addresses, routes, rules and sockets are on it, and
 * its frames leave in the link's slots. While its ring is claimed, its driver hands over the frames
 * of its own transmit function (keepon_card_transmit()): best effort of the class that priority 0
 * maps to. A hook at the card's egress takes the frames that must not wait behind best effort:
 * those with a txtime, and by an option those with a priority; for a driver that lends no ring,
 * every frame. Frames taken by the hook count as sent on the link.
 */
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>

#include "keepon.h"
#include "keepon/wire.h"

/* ---- the card's transmit queues, while its ring is claimed ---- */

void keepon_card_limit(struct keepon *keepon, u32 bytes)
{
	u32 i;

	for (i = 0; i < keepon->lower->num_tx_queues; i++)
		netdev_queue_set_dql_min_limit(netdev_get_tx_queue(keepon->lower, i), bytes);
}

void keepon_card_wake(struct keepon *keepon)
{
	u32 i;

	for (i = 0; i < keepon->lower->num_tx_queues; i++) {
		struct netdev_queue *queue = netdev_get_tx_queue(keepon->lower, i);

		if (netif_tx_queue_stopped(queue))
			netif_tx_wake_queue(queue);
	}
}

void keepon_card_stop(struct keepon *keepon)
{
	u32 i;

	for (i = 0; i < keepon->lower->num_tx_queues; i++) {
		struct netdev_queue *queue = netdev_get_tx_queue(keepon->lower, i);

		/* netif_tx_wake_queue() skips a queue that only its byte queue limit has stopped */
		netif_tx_stop_queue(queue);
		netdev_tx_reset_queue(queue);
	}
	keepon_card_limit(keepon, 0);
}

/* ---- the hook ---- */

#if IS_ENABLED(CONFIG_NETFILTER_EGRESS)

static unsigned int on_egress(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct keepon *keepon = priv;
	bool priorities = READ_ONCE(keepon->plan.priorities);
	bool all = READ_ONCE(keepon->plan.backend) == KEEPON_BACKEND_GENERIC;

	if (!READ_ONCE(keepon->engine))
		return NF_ACCEPT;
	if (!keepon_skb_txtime(skb)) {
		if (!all && !(priorities && skb->priority))
			return NF_ACCEPT;
		/*
		 * pacing is the task of the card's qdisc; here a time of another clock would be
		 * refused
		 */
		skb->tstamp = 0;
		if (!priorities)
			skb->priority = 0;
	}
	/* the stack has made this timestamp, and would make it again */
	skb_shinfo(skb)->tx_flags &= ~SKBTX_SCHED_TSTAMP;
	skb->dev = keepon->dev;
	dev_queue_xmit(skb);
	return NF_STOLEN;
}

int keepon_card_hook(struct keepon *keepon)
{
	struct nf_hook_ops *hook = kzalloc(sizeof(*hook), GFP_KERNEL);
	int error;

	if (!hook)
		return -ENOMEM;
	*hook = (struct nf_hook_ops){
		.hook = on_egress,
		.dev = keepon->lower,
		.priv = keepon,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_EGRESS,
		/* after all rules */
		.priority = INT_MAX,
	};
	error = nf_register_net_hook(dev_net(keepon->lower), hook);
	if (error)
		kfree(hook);
	else
		keepon->hook = hook;
	return error;
}

void keepon_card_unhook(struct keepon *keepon)
{
	if (!keepon->hook)
		return;
	nf_unregister_net_hook(dev_net(keepon->lower), keepon->hook);
	/* a CPU may still be in the hook */
	synchronize_net();
	kfree(keepon->hook);
	keepon->hook = NULL;
}

#else

int keepon_card_hook(struct keepon *keepon)
{
	return -EOPNOTSUPP;
}

void keepon_card_unhook(struct keepon *keepon)
{
}

#endif

int keepon_card_share(struct keepon *keepon, struct netlink_ext_ack *extack)
{
	const struct net_device *lower = keepon->lower;
	int error = keepon_card_hook(keepon);

	if (!error)
		return 0;
	if (keepon->plan.backend == KEEPON_BACKEND_GENERIC && !keepon->receives_all) {
		keepon_explain(
			extack,
			"backend generic: this kernel has no egress hook for frames of %s (error %d; CONFIG_NETFILTER_EGRESS); say receive all, and send on the link",
			lower->name, error);
		return error;
	}
	keepon_explain(
		extack,
		"this kernel has no egress hook for frames of %s (error %d; CONFIG_NETFILTER_EGRESS); send those with a txtime on the link",
		lower->name, error);
	return 0;
}

void keepon_card_warn(const struct keepon *keepon, struct netlink_ext_ack *extack)
{
	const struct keepon_plan *plan = &keepon->plan;
	u32 bytes = keepon->lower->mtu + ETH_HLEN + KPN_FCS_BYTES;

	if (!plan->class_slots[0])
		keepon_explain(
			extack,
			"class 0 has no slots: %s sends nothing of its own while the link is up; give class 0 some, or lead priority 0 to another class by mqprio",
			keepon->lower->name);
	else if (plan->frame_max < bytes)
		keepon_explain(
			extack,
			"%s sends frames of %u bytes, class 0 carries %u; give class 0 more slots in a row, or longer ones, or lead priority 0 to another class by mqprio, or lower the MTU of %s",
			keepon->lower->name, bytes, plan->frame_max, keepon->lower->name);
}

/* ---- the card's clock and timestamps, while its ring is claimed ---- */

static struct keepon *stamped_by(void *owner)
{
	struct keepon *keepon = owner;

	return keepon->engine && !keepon->receives_all ? keepon : NULL;
}

int keepon_card_ts_info(void *owner, struct keepon_ts_info *info)
{
	struct keepon *keepon = stamped_by(owner);

	return keepon ? keepon_get_ts_info(keepon->dev, info) : -EOPNOTSUPP;
}

int keepon_card_hwtstamp_get(void *owner, struct keepon_hwtstamp *config)
{
	struct keepon *keepon = stamped_by(owner);

	return keepon ? keepon_hwtstamp_get(keepon->dev, config) : -EOPNOTSUPP;
}

int keepon_card_hwtstamp_set(void *owner, struct keepon_hwtstamp *config,
			     struct netlink_ext_ack *extack)
{
	struct keepon *keepon = stamped_by(owner);

	return keepon ? keepon_hwtstamp_set(keepon->dev, config, extack) : -EOPNOTSUPP;
}
