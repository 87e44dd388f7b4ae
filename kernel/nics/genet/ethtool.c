// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: link by phylib, ring sizes, what the registers count. */
#include <linux/bitfield.h>
#include <linux/ethtool.h>

#include "genet.h"

static const char names[GENET_COUNTERS][ETH_GSTRING_LEN] = {
	[GENET_TX_ON_WIRE] = "tx_frames_on_wire", [GENET_TX_FCS_ERRORS] = "tx_fcs_errors",
	[GENET_RX_ON_WIRE] = "rx_frames_on_wire", [GENET_RX_CRC_ERRORS] = "rx_crc_errors",
	[GENET_RX_OVERSIZE] = "rx_oversize",      [GENET_RX_OVERFLOWS] = "rx_fifo_overflows",
	[GENET_RX_DISCARDED] = "rx_discarded",
};

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, GENET_NAME, sizeof(info->driver));
	strscpy(info->bus_info, dev_name(dev->dev.parent), sizeof(info->bus_info));
	strscpy(info->fw_version, "GENET v5", sizeof(info->fw_version));
}

static void get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	ring->rx_max_pending = GENET_SLOTS;
	ring->tx_max_pending = GENET_SLOTS;
	ring->rx_pending = GENET_SLOTS;
	ring->tx_pending = GENET_SLOTS;
}

static int get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? GENET_COUNTERS : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *data)
{
	memcpy(data, names, sizeof(names));
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct genet_nic *nic = netdev_priv(dev);

	if (nic->up)
		genet_read_counters(nic);
	memcpy(data, nic->count, sizeof(nic->count));
}

const struct ethtool_ops genet_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = phy_ethtool_get_link_ksettings,
	.set_link_ksettings = phy_ethtool_set_link_ksettings,
	.nway_reset = phy_ethtool_nway_reset,
	.get_ringparam = get_ringparam,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_ethtool_stats,
	.get_ts_info = ethtool_op_get_ts_info,
};
