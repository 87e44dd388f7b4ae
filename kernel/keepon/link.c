// SPDX-License-Identifier: GPL-2.0-only
/* rtnetlink operations of link type "keepon": add, change, delete, read back. */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <net/ip.h>
#include <net/rtnetlink.h>

#include "keepon.h"
#include "keepon/wire.h"

/* Runs without RTNL since 6.13, so its sentences are constants. */
static int keepon_validate(struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	if (tb[IFLA_NUM_TX_QUEUES] && nla_get_u32(tb[IFLA_NUM_TX_QUEUES]) != KEEPON_CLASS_COUNT) {
		NL_SET_ERR_MSG(extack,
			       "numtxqueues: there is one queue per traffic class; leave it out");
		return -EINVAL;
	}
	return 0;
}

static int check_lower(struct net_device *lower, struct netlink_ext_ack *extack)
{
	if (lower->type != ARPHRD_ETHER || lower->flags & IFF_LOOPBACK) {
		keepon_explain(extack, "%s is no Ethernet device; name one with link", lower->name);
		return -EINVAL;
	}
	return 0;
}

/* A bridge and the like take all frames of a card: on such a card a link must use receive card. */
static int check_upper(const struct keepon *keepon, struct netlink_ext_ack *extack)
{
	struct net_device *lower = keepon->lower;
	const struct keepon *other = keepon_upper_of(lower);

	if (!other && !(keepon->receives_all && netdev_is_rx_handler_busy(lower)))
		return 0;
	keepon_explain(extack, "%s has an upper device already (%s); delete it first%s",
		       lower->name,
		       other                       ? other->dev->name :
		       netif_is_bridge_port(lower) ? "a bridge" :
						     "one that takes its frames",
		       other ? "" : ", or say receive card");
	return -EBUSY;
}

/*
 * An upper device may be lent to a container, which may not configure the device below and its
 * wire.
 */
static int check_rights(const struct net_device *lower, struct netlink_ext_ack *extack)
{
	if (ns_capable(dev_net(lower)->user_ns, CAP_NET_ADMIN))
		return 0;
	keepon_explain(
		extack,
		"%s belongs to another namespace: this needs CAP_NET_ADMIN there; ask its administrator",
		lower->name);
	return -EPERM;
}

/*
 * A polling thread belongs to the kernel and is outside all limits of the user who configures it:
 * for a real-time priority, or a CPU that the user may not use, the user needs the capability that
 * it takes by other means. Values set before by others stay.
 */
static int check_polling(const struct keepon_plan *old, const struct keepon_plan *plan,
			 struct netlink_ext_ack *extack)
{
	bool same = old && old->poll == plan->poll && old->poll_fifo == plan->poll_fifo &&
		    old->poll_cpu == plan->poll_cpu && old->rx_poll_cpu == plan->rx_poll_cpu;

	if (plan->poll != KEEPON_POLL_THREAD || same || capable(CAP_SYS_NICE))
		return 0;
	if (plan->poll_fifo) {
		keepon_explain(
			extack,
			"poll_fifo %u: a real-time priority needs CAP_SYS_NICE; leave it out",
			plan->poll_fifo);
		return -EPERM;
	}
	if (cpumask_test_cpu(plan->poll_cpu, current->cpus_ptr) &&
	    cpumask_test_cpu(plan->rx_poll_cpu, current->cpus_ptr))
		return 0;
	keepon_explain(
		extack,
		"poll_cpu %u, rx_poll_cpu %u: a CPU you may not run on needs CAP_SYS_NICE; choose one of yours",
		plan->poll_cpu, plan->rx_poll_cpu);
	return -EPERM;
}

/* The device that gets the card's frames is chosen when the link is made. */
static int check_receive(const struct keepon_plan *old, const struct keepon_plan *plan,
			 struct netlink_ext_ack *extack)
{
	if (plan->receive == old->receive)
		return 0;
	keepon_explain(extack,
		       "receive of a link cannot be changed; delete the link and add it again");
	return -EOPNOTSUPP;
}

/* Take the user's address and MTU of the device itself. */
static int choose_address_and_mtu(struct keepon *keepon, struct nlattr *tb[],
				  struct netlink_ext_ack *extack)
{
	struct net_device *dev = keepon->dev;
	unsigned int mtu = keepon_dev_limits(keepon);

	if (tb[IFLA_ADDRESS] && !ether_addr_equal(dev->dev_addr, keepon->lower->dev_addr)) {
		keepon_explain(
			extack,
			"address: %s and the new device are one station; set the address of %s",
			keepon->lower->name, keepon->lower->name);
		return -EINVAL;
	}
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_inherit(dev, keepon->lower);
	if (!tb[IFLA_MTU])
		dev->mtu = mtu;
	if (dev->mtu > dev->max_mtu || dev->mtu < dev->min_mtu) {
		keepon_explain(
			extack,
			"mtu %u is not within %u to %u, for which slots of %u bytes have room",
			dev->mtu, dev->min_mtu, dev->max_mtu, keepon->plan.config.slot_bytes);
		return -EINVAL;
	}
	return 0;
}

/*
 * Without a message the kernel removes IPv6 from a device with too small an MTU, and IPv4 with all
 * its addresses from one with a smaller MTU still. A sentence with success is shown as a warning.
 */
static void warn_without_ip(const struct keepon *keepon, struct netlink_ext_ack *extack)
{
	const struct keepon_plan *plan = &keepon->plan;
	const struct kpn_config *config = &plan->config;
	bool without_ipv4 = keepon->dev->mtu < IPV4_MIN_MTU;
	u32 least = without_ipv4 ? IPV4_MIN_MTU : IPV6_MIN_MTU;
	const char *lost = without_ipv4 ? "IPv4 and IPv6" : "IPv6";
	u32 bytes = least + ETH_HLEN + VLAN_HLEN + KPN_FCS_BYTES;
	u32 slots = kpn_config_frame_slots(config, &plan->caps, bytes);
	u32 row = keepon_row_slots(plan->masks, config->partition_slots, 0);
	u32 depth = max(config->depth_slots, kpn_config_depth_least(config, &plan->caps, slots));

	if (plan->frame_max >= bytes)
		keepon_explain(extack, "mtu %u is below %u, so %s is without %s", keepon->dev->mtu,
			       least, keepon->dev->name, lost);
	else if (plan->frame_max_any >= bytes)
		keepon_explain(
			extack,
			"mtu %u is below %u, so %s is without %s; where mqprio leads priority 0 to a class with more slots in a row than class 0, set mtu %u",
			keepon->dev->mtu, least, keepon->dev->name, lost,
			keepon->dev->max_mtu - VLAN_HLEN);
	else if (slots > row)
		keepon_explain(
			extack,
			"mtu %u is below %u, so %s is without %s; best effort has %u of the %u slots in a row that it takes",
			keepon->dev->mtu, least, keepon->dev->name, lost, row, slots);
	else if (keepon->setup.given & BIT_ULL(IFLA_KEEPON_FRAME_BYTES) &&
		 config->frame_bytes_max < bytes)
		keepon_explain(
			extack,
			"mtu %u is below %u, so %s is without %s; frame_bytes %u or more have room for it",
			keepon->dev->mtu, least, keepon->dev->name, lost, bytes);
	else if (slots > 1)
		keepon_explain(
			extack,
			"mtu %u is below %u, so %s is without %s; depth_slots %u with a ring of %u, or longer slots, have room for it",
			keepon->dev->mtu, least, keepon->dev->name, lost, depth,
			depth + 2 * (slots - 1) + plan->caps.reserved_slots);
	else
		keepon_explain(
			extack,
			"mtu %u is below %u, so %s is without %s; slot_bytes %u or more have room for it",
			keepon->dev->mtu, least, keepon->dev->name, lost, bytes);
}

/* Frees the data of newlink; after an unregistration there is nothing left to free. */
static void discard(struct keepon *keepon)
{
	keepon_setup_free(&keepon->setup);
	keepon_plan_free(&keepon->plan);
}

static int attach(struct keepon *keepon, struct netlink_ext_ack *extack)
{
	struct net_device *lower = keepon->lower;
	int error = netdev_upper_dev_link(lower, keepon->dev, extack);

	if (error)
		return error;
	error = keepon_native_attach(lower, &keepon_lower_owner, keepon);
	if (error)
		goto unlink;
	error = keepon_card_share(keepon, extack);
	if (error)
		goto detach;
	if (keepon->receives_all)
		error = netdev_rx_handler_register(lower, keepon_receive, keepon->dev);
	if (error)
		goto unhook;
	return 0;
unhook:
	keepon_card_unhook(keepon);
detach:
	keepon_native_detach(lower);
unlink:
	netdev_upper_dev_unlink(lower, keepon->dev);
	return error;
}

/* A device that receives nothing should not send by itself either: no neighbours, no own IPv6. */
static void be_silent(struct net_device *dev)
{
	dev->flags |= IFF_NOARP;
	keepon_no_addrconf(dev);
}

static int make_link(struct net *lower_net, struct net_device *dev, struct nlattr *tb[],
		     struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct keepon *keepon = netdev_priv(dev);
	struct net_device *lower;
	int error;

	if (!tb[IFLA_LINK]) {
		keepon_explain(
			extack,
			"no device to send through; name it: ip link add link DEVICE type keepon");
		return -EINVAL;
	}
	lower = __dev_get_by_index(lower_net, nla_get_u32(tb[IFLA_LINK]));
	if (!lower) {
		keepon_explain(extack, "there is no device %u to send through; name one with link",
			       nla_get_u32(tb[IFLA_LINK]));
		return -ENODEV;
	}
	error = check_rights(lower, extack) ?: check_lower(lower, extack);
	if (error)
		return error;

	keepon->lower = lower;
	keepon_setup_init(&keepon->setup);
	error = keepon_setup_take(&keepon->setup, data, extack);
	keepon->setup.counts_slots = keepon_setup_counts_slots(&keepon->setup);
	if (!error)
		error = keepon_plan_make(&keepon->plan, &keepon->setup, lower, extack);
	keepon->receives_all = keepon->plan.receive == KEEPON_RECEIVE_ALL;
	if (!error)
		error = check_upper(keepon, extack) ?: check_polling(NULL, &keepon->plan, extack);
	if (!error)
		error = choose_address_and_mtu(keepon, tb, extack);
	if (!keepon->receives_all)
		be_silent(dev);
	if (!error)
		error = register_netdevice(dev);
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
	if (!keepon->receives_all)
		keepon_card_warn(keepon, extack);
	else if (dev->mtu < IPV6_MIN_MTU && !tb[IFLA_MTU])
		warn_without_ip(keepon, extack);
	return 0;
}

KEEPON_NEWLINK(keepon_newlink, make_link)

static int keepon_changelink(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			     struct netlink_ext_ack *extack)
{
	struct keepon *keepon = netdev_priv(dev);
	unsigned int default_mtu = keepon_dev_limits(keepon);
	unsigned int old_mtu = dev->mtu;
	struct keepon_setup setup;
	struct keepon_plan plan;
	int error;

	if (tb[IFLA_LINK] && nla_get_u32(tb[IFLA_LINK]) != keepon->lower->ifindex) {
		keepon_explain(
			extack,
			"the lower device of a link cannot be changed; delete the link and add it again");
		return -EOPNOTSUPP;
	}
	if (!data)
		return 0;
	error = check_rights(keepon->lower, extack) ?: keepon_setup_copy(&setup, &keepon->setup);
	if (error)
		return error;
	error = keepon_setup_take(&setup, data, extack) ?:
			keepon_plan_make(&plan, &setup, keepon->lower, extack);
	if (error)
		goto free_setup;
	error = check_receive(&keepon->plan, &plan, extack)         ?:
			check_polling(&keepon->plan, &plan, extack) ?:
			keepon_taprio_check(keepon, &plan, extack)  ?:
			keepon_credit_check(keepon, &plan, extack)  ?:
			keepon_engine_replan(keepon, &plan, extack);
	if (error) {
		keepon_plan_free(&plan);
		goto free_setup;
	}
	swap(setup, keepon->setup);
	keepon_dev_refit(keepon, default_mtu);
	if (!keepon->receives_all)
		keepon_card_warn(keepon, extack);
	else if ((old_mtu >= IPV6_MIN_MTU && dev->mtu < IPV6_MIN_MTU) ||
		 (old_mtu >= IPV4_MIN_MTU && dev->mtu < IPV4_MIN_MTU))
		warn_without_ip(keepon, extack);
free_setup:
	keepon_setup_free(&setup);
	return error;
}

void keepon_dellink(struct net_device *dev, struct list_head *head)
{
	struct keepon *keepon = netdev_priv(dev);

	/* The wire first: frames in flight still refer to the lower device. */
	keepon_engine_stop(keepon);
	keepon_card_unhook(keepon);
	keepon_native_detach(keepon->lower);
	if (keepon->receives_all)
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
	return keepon_attributes_bytes();
}

static int keepon_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	return keepon_attributes_put(skb, netdev_priv(dev));
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
