// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device beneath: which driver lends a ring, and what to do when something happens to the
 * device (docs/kernel.md has the table).
 */
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "keepon.h"

void keepon_lower_name(struct net_device *dev, char *name, size_t room)
{
	struct ethtool_drvinfo info = {};

	name[0] = '\0';
	if (dev->ethtool_ops && dev->ethtool_ops->get_drvinfo) {
		dev->ethtool_ops->get_drvinfo(dev, &info);
		strscpy(name, info.driver, room);
	}
	if (!name[0] && dev->dev.parent && dev->dev.parent->driver)
		strscpy(name, dev->dev.parent->driver->name, room);
	else if (!name[0] && dev->rtnl_link_ops)
		strscpy(name, dev->rtnl_link_ops->kind, room);
}

static u64 rate_of(struct net_device *lower)
{
	struct ethtool_link_ksettings settings;

	if (__ethtool_get_link_ksettings(lower, &settings) ||
	    settings.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return settings.base.speed * 1000000ull;
}

int keepon_lower_caps(struct net_device *lower, u32 slot_bytes, struct keepon_native_caps *caps,
		      u64 *rate_bps, struct netlink_ext_ack *extack)
{
	struct keepon_native_driver *driver = keepon_native_get(lower);
	char name[ETHTOOL_BUSINFO_LEN];
	const char *why = NULL;
	int error;

	if (!driver) {
		keepon_lower_name(lower, name, sizeof(name));
		keepon_explain(
			extack,
			"the driver of %s (%s) has no descriptor ring to lend; use a device whose driver has one",
			lower->name, name[0] ? name : "unknown");
		return -EOPNOTSUPP;
	}
	error = driver->query(lower, slot_bytes, caps, &why);
	if (error)
		keepon_explain(extack, "%s has no descriptor ring to lend now (error %d): %s",
			       lower->name, error, why ?: "see whether it runs in ring mode");
	*rate_bps = rate_of(lower);
	keepon_native_put(driver);
	return error;
}

int keepon_lower_rx_caps(struct net_device *lower, struct keepon_native_rx_caps *caps,
			 struct netlink_ext_ack *extack)
{
	struct keepon_native_driver *driver = keepon_native_get(lower);
	int error = driver && driver->query_rx ? driver->query_rx(lower, caps) : -EOPNOTSUPP;

	keepon_native_put(driver);
	if (error)
		keepon_explain(
			extack,
			"clock dual: %s cannot deliver frames with a bad FCS; choose interpolated or counter",
			lower->name);
	return error;
}

/* What the driver of the lower device says of its ring. */

static void on_stop(void *owner)
{
	keepon_engine_stop(owner);
}

static void on_lost(void *owner)
{
	keepon_engine_lost(owner);
}

static void on_ready(void *owner)
{
	keepon_engine_follow(owner);
}

const struct keepon_native_owner keepon_lower_owner = {
	.stop = on_stop,
	.lost = on_lost,
	.ready = on_ready,
};

/* The upper device on @lower, or NULL. */
static struct keepon *upper_of(const struct net_device *lower)
{
	if (rtnl_dereference(lower->rx_handler) != keepon_receive)
		return NULL;
	return netdev_priv(rtnl_dereference(lower->rx_handler_data));
}

static void delete_upper(struct keepon *keepon)
{
	LIST_HEAD(list);

	keepon_dellink(keepon->dev, &list);
	unregister_netdevice_many(&list);
}

int keepon_lower_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *lower = netdev_notifier_info_to_dev(info);
	struct keepon *keepon = upper_of(lower);

	if (!keepon)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_GOING_DOWN:
		/* The driver takes its ring apart next. */
		keepon_engine_stop(keepon);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU: keepon_engine_follow(keepon); break;
	case NETDEV_CHANGEADDR:
		/* Both are one station on the wire. */
		eth_hw_addr_set(keepon->dev, lower->dev_addr);
		call_netdevice_notifiers(NETDEV_CHANGEADDR, keepon->dev);
		break;
	case NETDEV_UNREGISTER:
		/* Sent as well when it moves to another namespace: the two stay together. */
		if (lower->reg_state == NETREG_UNREGISTERING)
			delete_upper(keepon);
		break;
	case NETDEV_PRE_TYPE_CHANGE: return NOTIFY_BAD;
	}
	return NOTIFY_DONE;
}
