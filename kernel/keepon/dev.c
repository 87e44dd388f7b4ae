// SPDX-License-Identifier: GPL-2.0-only
/*
 * The upper network device: set-up, tear-down, and settings it hands down to the lower device.
 */
#include <linux/rtnetlink.h>

#include "keepon.h"
#include "keepon/wire.h"

static int keepon_dev_init(struct net_device *dev)
{
	struct keepon *keepon = netdev_priv(dev);

	netdev_lockdep_set_classes(dev);
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		return -ENOMEM;
	netif_napi_add_tx(dev, &keepon->napi, keepon_napi_poll);
	keepon_clock_init(keepon);
	keepon_phc_register(keepon);
	keepon_debug_add(keepon);
	netdev_hold(keepon->lower, &keepon->lower_tracker, GFP_KERNEL);
	return 0;
}

static void keepon_dev_uninit(struct net_device *dev)
{
	struct keepon *keepon = netdev_priv(dev);

	keepon_debug_remove(keepon);
	keepon_phc_unregister(keepon);
	/* Neither the NIC below nor a program that sets the clock can queue work any more. */
	cancel_delayed_work_sync(&keepon->restart);
	cancel_delayed_work_sync(&keepon->taprio.settle);
	netif_napi_del(&keepon->napi);
	free_percpu(dev->tstats);
	dev->tstats = NULL;
	keepon_taprio_free(keepon);
	keepon_setup_free(&keepon->setup);
	keepon_plan_free(&keepon->plan);
	netdev_put(keepon->lower, &keepon->lower_tracker);
}

/* Without a carrier below nothing starts yet; keepon_lower_event() starts it later. */
static int keepon_dev_open(struct net_device *dev)
{
	struct keepon *keepon = netdev_priv(dev);
	struct netlink_ext_ack extack = {};
	int error;

	error = keepon_engine_begin(keepon, &extack);
	if (error) {
		netdev_err(dev, "cannot start (error %d): %s\n", error,
			   extack._msg ?: "no details");
		return error;
	}
	if (dev->flags & IFF_PROMISC && keepon->receives_all)
		dev_set_promiscuity(keepon->lower, 1);
	if (dev->flags & IFF_ALLMULTI && keepon->receives_all)
		dev_set_allmulti(keepon->lower, 1);
	return 0;
}

static int keepon_dev_stop(struct net_device *dev)
{
	struct keepon *keepon = netdev_priv(dev);

	keepon_engine_stop(keepon);
	if (!keepon->receives_all)
		return 0;
	if (dev->flags & IFF_PROMISC)
		dev_set_promiscuity(keepon->lower, -1);
	if (dev->flags & IFF_ALLMULTI)
		dev_set_allmulti(keepon->lower, -1);
	dev_uc_unsync(keepon->lower, dev);
	dev_mc_unsync(keepon->lower, dev);
	return 0;
}

static void keepon_set_rx_mode(struct net_device *dev)
{
	struct keepon *keepon = netdev_priv(dev);

	if (!keepon->receives_all)
		return;
	dev_uc_sync(keepon->lower, dev);
	dev_mc_sync(keepon->lower, dev);
}

static void keepon_change_rx_flags(struct net_device *dev, int change)
{
	struct keepon *keepon = netdev_priv(dev);

	if (!(dev->flags & IFF_UP) || !keepon->receives_all)
		return;
	if (change & IFF_PROMISC)
		dev_set_promiscuity(keepon->lower, dev->flags & IFF_PROMISC ? 1 : -1);
	if (change & IFF_ALLMULTI)
		dev_set_allmulti(keepon->lower, dev->flags & IFF_ALLMULTI ? 1 : -1);
}

/*
 * Both devices are one station: the lower device gets the address, and its notification sets the
 * address here. So the caller needs the rights for the lower device, too.
 */
static int keepon_set_mac_address(struct net_device *dev, void *address)
{
	struct keepon *keepon = netdev_priv(dev);

	if (!ns_capable(dev_net(keepon->lower)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	return dev_set_mac_address(keepon->lower, address, NULL);
}

static int keepon_get_iflink(const struct net_device *dev)
{
	const struct keepon *keepon = netdev_priv(dev);

	return keepon->lower->ifindex;
}

KEEPON_HWTSTAMP_IOCTL(keepon_hwtstamp_get, keepon_hwtstamp_set, keepon_no_ioctl)

static const struct net_device_ops keepon_netdev_ops = {
	.ndo_init = keepon_dev_init,
	.ndo_uninit = keepon_dev_uninit,
	.ndo_open = keepon_dev_open,
	.ndo_stop = keepon_dev_stop,
	.ndo_start_xmit = keepon_xmit,
	.ndo_select_queue = keepon_select_queue,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_mac_address = keepon_set_mac_address,
	.ndo_set_rx_mode = keepon_set_rx_mode,
	.ndo_change_rx_flags = keepon_change_rx_flags,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_get_iflink = keepon_get_iflink,
	.ndo_setup_tc = keepon_setup_tc,
	KEEPON_HWTSTAMP_OPS(keepon_hwtstamp_get, keepon_hwtstamp_set, keepon_no_ioctl),
};

void keepon_dev_setup(struct net_device *dev)
{
	struct keepon *keepon = netdev_priv(dev);

	ether_setup(dev);
	dev->netdev_ops = &keepon_netdev_ops;
	dev->ethtool_ops = &keepon_ethtool_ops;
	dev->needs_free_netdev = true;
	/* rtnl checks an MTU against this before there is a plan, which may allow less */
	dev->max_mtu = KPN_FRAME_BYTES_MAX - ETH_HLEN - KPN_FCS_BYTES;
	/* Frames are kept until they have left, so the stack must copy a shared one first. */
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;

	keepon->dev = dev;
	raw_spin_lock_init(&keepon->lock);
	INIT_DELAYED_WORK(&keepon->restart, keepon_engine_restart_work);
	keepon_taprio_init(keepon);
}
