// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: link by phylib. */
#include <linux/ethtool.h>

#include "genet.h"

const struct ethtool_ops genet_ethtool_ops = {
	CARD_ETHTOOL_OPS,
	.get_link_ksettings = phy_ethtool_get_link_ksettings,
	.set_link_ksettings = phy_ethtool_set_link_ksettings,
	.nway_reset = phy_ethtool_nway_reset,
};
