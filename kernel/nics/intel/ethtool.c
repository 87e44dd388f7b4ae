// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: link by the MII library, ring sizes. */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "intel.h"

static int get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	struct intel_nic *nic = netdev_priv(dev);
	struct card_link link = intel_link(nic);

	mii_ethtool_get_link_ksettings(&nic->mii, settings);
	/* what the MAC works with is what counts */
	settings->base.speed = link.mbps ?: (u32)SPEED_UNKNOWN;
	settings->base.duplex = !link.mbps ? DUPLEX_UNKNOWN : link.full ? DUPLEX_FULL : DUPLEX_HALF;
	return 0;
}

static int set_link_ksettings(struct net_device *dev, const struct ethtool_link_ksettings *settings)
{
	struct intel_nic *nic = netdev_priv(dev);
	struct ethtool_link_ksettings wanted = *settings;

	/* unknown without a link, which the library refuses even where it is to be negotiated */
	if (wanted.base.autoneg == AUTONEG_ENABLE) {
		wanted.base.speed = SPEED_1000;
		wanted.base.duplex = DUPLEX_FULL;
	}
	return mii_ethtool_set_link_ksettings(&nic->mii, &wanted);
}

static int nway_reset(struct net_device *dev)
{
	struct intel_nic *nic = netdev_priv(dev);

	return netif_running(dev) ? mii_nway_restart(&nic->mii) : -EAGAIN;
}

static int set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	if (ring->rx_pending < INTEL_RING_MIN || ring->tx_pending < INTEL_RING_MIN) {
		NL_SET_ERR_MSG(extack, "a ring has at least 64 descriptors; choose 64 to 4096");
		return -EINVAL;
	}
	return card_set_ring_slots(dev, ring);
}

const struct ethtool_ops intel_ethtool_ops = {
	CARD_ETHTOOL_OPS,
	.get_link_ksettings = get_link_ksettings,
	.set_link_ksettings = set_link_ksettings,
	.nway_reset = nway_reset,
	.set_ringparam = set_ringparam,
};
