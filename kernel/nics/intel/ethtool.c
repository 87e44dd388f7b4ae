// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: link by the MII library, ring sizes, what the registers count. */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "intel.h"

static const char names[][ETH_GSTRING_LEN] = {
	"tx_frames_on_wire", "rx_crc_errors", "rx_missed", "rx_undersize", "rx_oversize",
};

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct intel_nic *nic = netdev_priv(dev);

	strscpy(info->driver, INTEL_NAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(nic->pdev), sizeof(info->bus_info));
	strscpy(info->fw_version, nic->chip->name, sizeof(info->fw_version));
}

static int get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	struct intel_nic *nic = netdev_priv(dev);
	struct intel_link link = intel_link(nic);

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

static void get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	struct intel_nic *nic = netdev_priv(dev);

	ring->rx_max_pending = INTEL_RING_MAX;
	ring->tx_max_pending = INTEL_RING_MAX;
	ring->rx_pending = nic->rx_slots;
	ring->tx_pending = nic->tx_slots;
}

static int set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	struct intel_nic *nic = netdev_priv(dev);
	bool running = netif_running(dev);
	int error = 0;

	if (ring->rx_mini_pending || ring->rx_jumbo_pending)
		return -EINVAL;
	if (ring->rx_pending < INTEL_RING_MIN || ring->tx_pending < INTEL_RING_MIN) {
		NL_SET_ERR_MSG(extack, "a ring has at least 64 descriptors; choose 64 to 4096");
		return -EINVAL;
	}
	keepon_native_stop(dev);
	if (running)
		intel_down(nic);
	nic->rx_slots = round_up(ring->rx_pending, INTEL_RING_MULTIPLE);
	nic->tx_slots = round_up(ring->tx_pending, INTEL_RING_MULTIPLE);
	if (running)
		error = intel_up(nic);
	if (!error)
		keepon_native_ready(dev);
	return error;
}

static int get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? ARRAY_SIZE(names) : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *data)
{
	memcpy(data, names, sizeof(names));
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct intel_nic *nic = netdev_priv(dev);

	if (netif_running(dev))
		intel_read_counters(nic);
	*data++ = nic->sent_on_wire;
	*data++ = nic->crc_errors;
	*data++ = nic->missed;
	*data++ = nic->undersize;
	*data++ = nic->oversize;
}

const struct ethtool_ops intel_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = get_link_ksettings,
	.set_link_ksettings = set_link_ksettings,
	.nway_reset = nway_reset,
	.get_ringparam = get_ringparam,
	.set_ringparam = set_ringparam,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_ethtool_stats,
	.get_ts_info = ethtool_op_get_ts_info,
};
