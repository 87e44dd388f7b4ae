// SPDX-License-Identifier: GPL-2.0-only
/* The device below: which driver lends its ring, and with which limits. */
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

static void explain_missing(const struct net_device *lower, const char *name, bool generic,
			    struct netlink_ext_ack *extack)
{
	if (generic)
		keepon_explain(
			extack,
			"backend generic: nothing serves %s (%s); load keepon_generic and name an Ethernet device",
			lower->name, name);
	else
		keepon_explain(
			extack,
			"the driver of %s (%s) has no descriptor ring to lend; use a device whose driver has one, or say backend generic",
			lower->name, name);
}

/* An unpaced wire is refused without force. */
static int check_pace(const struct net_device *lower, const struct keepon_plan *plan,
		      const struct keepon_native_caps *caps, const char *why,
		      struct netlink_ext_ack *extack)
{
	if (caps->claims & (KEEPON_CLAIM_PACED | KEEPON_CLAIM_UNMEASURED) || plan->force)
		return 0;
	keepon_explain(extack, "%s does not pace: %s; use another device, or say force on",
		       lower->name, why ?: "so its driver says");
	return -EOPNOTSUPP;
}

int keepon_lower_caps(struct net_device *lower, const struct keepon_plan *plan, u32 slot_bytes,
		      struct keepon_native_caps *caps, u64 *rate_bps,
		      struct netlink_ext_ack *extack)
{
	bool generic = plan->backend == KEEPON_BACKEND_GENERIC;
	struct keepon_native_driver *driver = keepon_native_get(lower, generic);
	char name[ETHTOOL_BUSINFO_LEN];
	const char *why = NULL;
	int error;

	if (!driver) {
		keepon_lower_name(lower, name, sizeof(name));
		explain_missing(lower, name[0] ? name : "unknown", generic, extack);
		return -EOPNOTSUPP;
	}
	error = driver->query(lower, slot_bytes, caps, &why);
	if (error && generic)
		keepon_explain(extack, "backend generic cannot use %s (error %d): %s", lower->name,
			       error, why ?: "it could not be measured; try again");
	else if (error)
		keepon_explain(extack, "%s has no descriptor ring to lend now (error %d): %s",
			       lower->name, error, why ?: "see whether it runs in ring mode");
	*rate_bps = rate_of(lower);
	keepon_native_put(driver);
	return error ?: check_pace(lower, plan, caps, why, extack);
}

int keepon_lower_rx_caps(struct net_device *lower, struct keepon_native_rx_caps *caps,
			 struct netlink_ext_ack *extack)
{
	struct keepon_native_driver *driver = keepon_native_get(lower, false);
	int error = driver && driver->query_rx ? driver->query_rx(lower, caps) : -EOPNOTSUPP;

	keepon_native_put(driver);
	if (error)
		keepon_explain(
			extack,
			"clock dual: %s cannot deliver frames with a bad FCS; choose interpolated or counter",
			lower->name);
	return error;
}

struct keepon *keepon_upper_of(struct net_device *lower)
{
	struct net_device *upper;
	struct list_head *at;

	ASSERT_RTNL();
	netdev_for_each_upper_dev_rcu(lower, upper, at)
	{
		if (keepon_is(upper))
			return netdev_priv(upper);
	}
	return NULL;
}
