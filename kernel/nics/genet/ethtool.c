// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: link by phylib. */
#include <linux/ethtool.h>

#include "genet.h"

const struct ethtool_ops genet_ethtool_ops = {
	.get_drvinfo = card_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = phy_ethtool_get_link_ksettings,
	.set_link_ksettings = phy_ethtool_set_link_ksettings,
	.nway_reset = phy_ethtool_nway_reset,
	.get_ringparam = card_get_ringparam,
	.get_sset_count = card_get_sset_count,
	.get_strings = card_get_strings,
	.get_ethtool_stats = card_get_ethtool_stats,
	.get_ts_info = ethtool_op_get_ts_info,
};
