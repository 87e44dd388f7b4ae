// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: link by phylib, ring sizes. */
#include <linux/ethtool.h>

#include "gem.h"

static int set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	if (ring->rx_pending < GEM_RING_MIN || ring->tx_pending < GEM_RING_MIN) {
		NL_SET_ERR_MSG(extack, "a ring has at least 64 descriptors; choose 64 to 1024");
		return -EINVAL;
	}
	return card_set_ring_slots(dev, ring);
}

const struct ethtool_ops gem_ethtool_ops = {
	CARD_ETHTOOL_OPS,
	.get_link_ksettings = phy_ethtool_get_link_ksettings,
	.set_link_ksettings = phy_ethtool_set_link_ksettings,
	.nway_reset = phy_ethtool_nway_reset,
	.set_ringparam = set_ringparam,
};
