// SPDX-License-Identifier: GPL-2.0-only
/* rtnetlink operations of link type "keepon": add, change, delete, read back. */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <net/rtnetlink.h>

#include "keepon.h"

static int keepon_validate(struct nlattr *tb[], struct nlattr *data[], struct netlink_ext_ack *extack)
{
	if (tb[IFLA_NUM_TX_QUEUES] && nla_get_u32(tb[IFLA_NUM_TX_QUEUES]) != KEEPON_CLASS_COUNT) {
		keepon_say(extack, "numtxqueues %u: there is one queue per traffic class, %u; leave it out",
			   nla_get_u32(tb[IFLA_NUM_TX_QUEUES]), KEEPON_CLASS_COUNT);
		return -EINVAL;
	}
	return 0;
}

static int check_lower(struct net_device *lower, struct netlink_ext_ack *extack)
{
	if (lower->type != ARPHRD_ETHER || lower->flags & IFF_LOOPBACK) {
		keepon_say(extack, "%s is no Ethernet device; name one with link", lower->name);
		return -EINVAL;
	}
	if (netdev_is_rx_handler_busy(lower)) {
		keepon_say(extack, "%s has an upper device already (%s); delete it first", lower->name,
			   netif_is_bridge_port(lower) ? "a bridge" : "one that takes its frames");
		return -EBUSY;
	}
	return 0;
}

/* What the user said of the device itself. */
static int choose_address_and_mtu(struct keepon *keepon, struct nlattr *tb[], struct netlink_ext_ack *extack)
{
	struct net_device *dev = keepon->dev;
	unsigned int mtu = keepon_dev_limits(keepon);

	if (tb[IFLA_ADDRESS] && !ether_addr_equal(dev->dev_addr, keepon->lower->dev_addr)) {
		keepon_say(extack, "address: %s and the new device are one station; set the address of %s",
			   keepon->lower->name, keepon->lower->name);
		return -EINVAL;
	}
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_inherit(dev, keepon->lower);
	if (!tb[IFLA_MTU])
		dev->mtu = mtu;
	if (dev->mtu > dev->max_mtu || dev->mtu < dev->min_mtu) {
		keepon_say(extack, "mtu %u is not within %u to %u, which slots of %u bytes allow", dev->mtu,
			   dev->min_mtu, dev->max_mtu, keepon->plan.config.slot_bytes);
		return -EINVAL;
	}
	return 0;
}

/* Frees what newlink made; after an unregistration there is nothing left to free. */
static void discard(struct keepon *keepon)
{
	keepon_setup_free(&keepon->setup);
	keepon_plan_free(&keepon->plan);
}

static int attach(struct keepon *keepon, struct netlink_ext_ack *extack)
{
	struct net_device *lower = keepon->lower;
	int error = netdev_rx_handler_register(lower, keepon_receive, keepon->dev);

	if (error)
		return error;
	error = netdev_upper_dev_link(lower, keepon->dev, extack);
	if (error)
		netdev_rx_handler_unregister(lower);
	return error;
}

static int keepon_newlink(struct net *src_net, struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			  struct netlink_ext_ack *extack)
{
	struct keepon *keepon = netdev_priv(dev);
	struct net_device *lower;
	int error;

	if (!tb[IFLA_LINK]) {
		keepon_say(extack, "no device to send through; name it: ip link add link DEVICE type keepon");
		return -EINVAL;
	}
	lower = __dev_get_by_index(src_net, nla_get_u32(tb[IFLA_LINK]));
	if (!lower)
		return -ENODEV;
	error = check_lower(lower, extack);
	if (error)
		return error;

	keepon->lower = lower;
	keepon_setup_init(&keepon->setup);
	error = keepon_setup_take(&keepon->setup, data, extack)                        ?:
			keepon_plan_make(&keepon->plan, &keepon->setup, lower, extack) ?:
			choose_address_and_mtu(keepon, tb, extack)                     ?:
											 register_netdevice(dev);
	if (error) {
		discard(keepon);
		return error;
	}
	error = attach(keepon, extack);
	if (error) {
		unregister_netdevice(dev);
		return error;
	}
	netif_carrier_off(dev);
	return 0;
}

static int keepon_changelink(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			     struct netlink_ext_ack *extack)
{
	struct keepon *keepon = netdev_priv(dev);
	unsigned int default_mtu = keepon_dev_limits(keepon);
	struct keepon_setup setup;
	struct keepon_plan plan;
	int error;

	if (tb[IFLA_LINK] && nla_get_u32(tb[IFLA_LINK]) != keepon->lower->ifindex) {
		keepon_say(extack, "the lower device of a link cannot be changed; delete the link and add it anew");
		return -EOPNOTSUPP;
	}
	if (!data)
		return 0;
	error = keepon_setup_copy(&setup, &keepon->setup);
	if (error)
		return error;
	error = keepon_setup_take(&setup, data, extack) ?: keepon_plan_make(&plan, &setup, keepon->lower, extack);
	if (error)
		goto free_setup;
	error = keepon_engine_replan(keepon, &plan, extack);
	if (error) {
		keepon_plan_free(&plan);
		goto free_setup;
	}
	swap(setup, keepon->setup);
	keepon_dev_refit(keepon, default_mtu);
free_setup:
	keepon_setup_free(&setup);
	return error;
}

void keepon_dellink(struct net_device *dev, struct list_head *head)
{
	struct keepon *keepon = netdev_priv(dev);

	/* The wire first: frames on their way still refer to the lower device. */
	keepon_engine_stop(keepon);
	netdev_rx_handler_unregister(keepon->lower);
	netdev_upper_dev_unlink(keepon->lower, dev);
	unregister_netdevice_queue(dev, head);
}

static struct net *keepon_get_link_net(const struct net_device *dev)
{
	const struct keepon *keepon = netdev_priv(dev);

	return dev_net(keepon->lower);
}

static size_t keepon_get_size(const struct net_device *dev)
{
	const struct keepon *keepon = netdev_priv(dev);
	u32 masks = keepon->setup.allowed ? keepon->setup.allowed_count : 1;
	size_t size = nla_total_size(masks * sizeof(u16)) + nla_total_size(sizeof(keepon->setup.classes)) +
		      nla_total_size_64bit(sizeof(u64)) + nla_total_size(sizeof(u8));
	int attribute;

	for (attribute = 1; attribute <= IFLA_KEEPON_MAX; attribute++)
		size += nla_total_size(sizeof(u32));
	return size;
}

static int put_tables(struct sk_buff *skb, const struct keepon *keepon)
{
	static const u16 all_classes = 0xffff;
	const struct keepon_setup *setup = &keepon->setup;
	u8 classes[KEEPON_CLASS_COUNT][2];
	u32 tc;

	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		classes[tc][0] = keepon->plan.config.classes[tc].late;
		classes[tc][1] = keepon->plan.config.classes[tc].rounding;
	}
	if (nla_put(skb, IFLA_KEEPON_ALLOWED, sizeof(u16) * (setup->allowed ? setup->allowed_count : 1),
		    setup->allowed ?: &all_classes))
		return -EMSGSIZE;
	return nla_put(skb, IFLA_KEEPON_CLASSES, sizeof(classes), classes);
}

static int keepon_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	const struct keepon *keepon = netdev_priv(dev);
	const struct keepon_plan *plan = &keepon->plan;
	const struct kpn_config *config = &plan->config;

	if (nla_put_u8(skb, IFLA_KEEPON_MODE, config->mode) ||
	    nla_put_u32(skb, IFLA_KEEPON_SLOT_BYTES, config->slot_bytes) ||
	    nla_put_u32(skb, IFLA_KEEPON_RING_SLOTS, config->ring_slots) ||
	    nla_put_u32(skb, IFLA_KEEPON_BATCH_SLOTS, config->batch_slots) ||
	    nla_put_u32(skb, IFLA_KEEPON_DEPTH_SLOTS, config->depth_slots) ||
	    nla_put_u32(skb, IFLA_KEEPON_PARTITION_SLOTS, config->partition_slots) || put_tables(skb, keepon) ||
	    nla_put_u32(skb, IFLA_KEEPON_PREBUFFER, config->prebuffer_frames) ||
	    nla_put_u8(skb, IFLA_KEEPON_CLOCK, plan->clock) || nla_put_u8(skb, IFLA_KEEPON_MERGE, plan->merge) ||
	    nla_put_u32(skb, IFLA_KEEPON_TAU_NS, plan->tau_ns) ||
	    nla_put_u32(skb, IFLA_KEEPON_RX_POLL_CPU, plan->rx_poll_cpu) ||
	    nla_put_u8(skb, IFLA_KEEPON_PLACEHOLDER, config->placeholder) ||
	    nla_put_u8(skb, IFLA_KEEPON_PADDING, config->padding) || nla_put_u8(skb, IFLA_KEEPON_TRIM, config->trim) ||
	    nla_put_u32(skb, IFLA_KEEPON_TRIM_DOWN_BYTES, config->trim_down_bytes) ||
	    nla_put_u32(skb, IFLA_KEEPON_TRIM_UP_BYTES, config->trim_up_bytes) ||
	    nla_put_u32(skb, IFLA_KEEPON_TOLERANCE_NS, config->tolerance_ns) ||
	    nla_put_u32(skb, IFLA_KEEPON_DRIFT_PPB, config->drift_ppb_max) ||
	    nla_put_u32(skb, IFLA_KEEPON_WANDER_PPB, config->wander_ppb_per_s_max) ||
	    nla_put_u32(skb, IFLA_KEEPON_POLL_OVERHEAD_NS, config->poll_overhead_ns) ||
	    nla_put_u8(skb, IFLA_KEEPON_DITHER, config->dither) || nla_put_u8(skb, IFLA_KEEPON_POLL, plan->poll) ||
	    nla_put_u32(skb, IFLA_KEEPON_POLL_CPU, plan->poll_cpu) ||
	    nla_put_u8(skb, IFLA_KEEPON_POLL_FIFO, plan->poll_fifo) ||
	    nla_put_u8(skb, IFLA_KEEPON_TXTIME, plan->txtime) ||
	    nla_put_u64_64bit(skb, IFLA_KEEPON_RATE_BPS, config->rate_bps, IFLA_KEEPON_PAD) ||
	    nla_put_u8(skb, IFLA_KEEPON_BACKEND, KEEPON_BACKEND_NATIVE))
		return -EMSGSIZE;
	return 0;
}

static unsigned int keepon_queue_count(void)
{
	return KEEPON_CLASS_COUNT;
}

static unsigned int keepon_rx_queue_count(void)
{
	return 1;
}

struct rtnl_link_ops keepon_link_ops __read_mostly = {
	.kind = KEEPON_LINK_KIND,
	.priv_size = sizeof(struct keepon),
	.setup = keepon_dev_setup,
	.maxtype = IFLA_KEEPON_MAX,
	.policy = keepon_policy,
	.validate = keepon_validate,
	.newlink = keepon_newlink,
	.changelink = keepon_changelink,
	.dellink = keepon_dellink,
	.get_size = keepon_get_size,
	.fill_info = keepon_fill_info,
	.get_link_net = keepon_get_link_net,
	.get_num_tx_queues = keepon_queue_count,
	.get_num_rx_queues = keepon_rx_queue_count,
};
