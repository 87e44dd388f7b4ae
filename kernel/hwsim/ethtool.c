// SPDX-License-Identifier: GPL-2.0-only
/* What ethtool asks a virtual NIC: driver, link settings, coalescing, ring, stamps, counters. */
#include <linux/ethtool.h>
#include <linux/if_vlan.h>

#include "flow.h"
#include "rx_ring.h"

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	strscpy(info->driver, HWSIM_NAME, sizeof(info->driver));
	strscpy(info->bus_info, nic->node.name, sizeof(info->bus_info));
}

static int get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	ethtool_link_ksettings_zero_link_mode(settings, supported);
	ethtool_link_ksettings_zero_link_mode(settings, advertising);
	settings->base.speed = (u32)div_u64(nic->port.rate_bps, 1000000);
	settings->base.duplex = DUPLEX_FULL;
	settings->base.port = PORT_OTHER;
	settings->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

/*
 * Any rate whose byte lasts whole picoseconds; both ends must be set, as without autonegotiation
 * on copper.
 */
static int set_link_ksettings(struct net_device *dev, const struct ethtool_link_ksettings *settings)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	u64 rate_bps = (u64)settings->base.speed * 1000000;
	unsigned long flags;
	int err = 0;

	if (settings->base.autoneg == AUTONEG_ENABLE || settings->base.duplex == DUPLEX_HALF)
		return -EOPNOTSUPP;
	if (settings->base.speed < 10 || settings->base.speed > 100000 ||
	    8000000000000ull % rate_bps)
		return -EINVAL;
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	if (nic->claimed) {
		err = -EBUSY;
	} else {
		nic->port.ops->advance(&nic->port, hwsim_local_now_ps(nic->port.tb));
		nic->port.rate_bps = rate_bps;
		nic->port.byte_ps = (u32)div64_u64(8000000000000ull, rate_bps);
	}
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	if (!err) {
		hwsim_link_refresh(&nic->port);
		keepon_native_ready(dev); /* for whom the rate was a wrong one */
	}
	return err;
}

static int get_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
			struct kernel_ethtool_coalesce *kernel_coalesce,
			struct netlink_ext_ack *extack)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	coalesce->tx_coalesce_usecs = nic->params.coalesce_us;
	coalesce->tx_max_coalesced_frames = nic->params.coalesce_frames;
	return 0;
}

static int set_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
			struct kernel_ethtool_coalesce *kernel_coalesce,
			struct netlink_ext_ack *extack)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	unsigned long flags;

	if (coalesce->tx_coalesce_usecs > 1000000 || !coalesce->tx_max_coalesced_frames ||
	    coalesce->tx_max_coalesced_frames > 4096) {
		NL_SET_ERR_MSG(extack, "tx-usecs must be 0 to 1000000 and tx-frames 1 to 4096");
		return -EINVAL;
	}
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	nic->params.coalesce_us = coalesce->tx_coalesce_usecs;
	nic->params.coalesce_frames = coalesce->tx_max_coalesced_frames;
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	return 0;
}

static void get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring,
			  struct netlink_ext_ack *extack)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	ring->tx_max_pending = HWSIM_TX_RING_MAX;
	ring->tx_pending = nic->params.tx_ring;
}

/*
 * The rings are taken apart, as drivers do it: who has one of them gives it back first, and may
 * have it again afterwards.
 */
static int set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	unsigned long flags;

	if (ring->tx_pending < HWSIM_TX_RING_MIN) {
		NL_SET_ERR_MSG(extack, "tx must be 2 to 4096");
		return -EINVAL;
	}
	keepon_native_stop(dev);
	if (nic->claimed || hwsim_rx_lent(nic))
		return -EBUSY;
	/* what waits beyond a smaller one leaves as it would have */
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	nic->params.tx_ring = ring->tx_pending;
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	keepon_native_ready(dev);
	return 0;
}

static int get_ts_info(struct net_device *dev, struct keepon_ts_info *info)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	int err = keepon_native_ts_info(dev, info);

	if (err != -EOPNOTSUPP)
		return err;
	info->so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
				SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_HARDWARE |
				SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = ptp_clock_index(nic->port.tb->ptp);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

static int get_sset_count(struct net_device *dev, int sset)
{
	return sset == ETH_SS_STATS ? HWSIM_COUNTER_COUNT : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 sset, u8 *data)
{
	u32 i;

	for (i = 0; sset == ETH_SS_STATS && i < HWSIM_COUNTER_COUNT; i++)
		strscpy(data + i * ETH_GSTRING_LEN, hwsim_counter_name[i], ETH_GSTRING_LEN);
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *values)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	hwsim_stats_read(&nic->port, values);
}

#define COMMON_OPS                                                                                \
	.supported_coalesce_params = ETHTOOL_COALESCE_TX_USECS | ETHTOOL_COALESCE_TX_MAX_FRAMES,  \
	.get_drvinfo = get_drvinfo, .get_link = ethtool_op_get_link,                              \
	.get_link_ksettings = get_link_ksettings, .set_link_ksettings = set_link_ksettings,       \
	.get_coalesce = get_coalesce, .set_coalesce = set_coalesce,                               \
	.get_ringparam = get_ringparam, .set_ringparam = set_ringparam,                           \
	.get_ts_info = get_ts_info, .get_sset_count = get_sset_count, .get_strings = get_strings, \
	.get_ethtool_stats = get_ethtool_stats, .get_eee = hwsim_get_eee, .set_eee = hwsim_set_eee

const struct ethtool_ops hwsim_ethtool_ops = { COMMON_OPS };

const struct ethtool_ops hwsim_ethtool_pause_ops = {
	COMMON_OPS,
	.get_pauseparam = hwsim_get_pauseparam,
	.set_pauseparam = hwsim_set_pauseparam,
};

int hwsim_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	int err = keepon_native_hwtstamp_get(dev, config);

	if (err != -EOPNOTSUPP)
		return err;
	*config = nic->hwtstamp;
	return 0;
}

/** hwsim_hwtstamp_set() - all frames received can be stamped, so every filter becomes ALL */
int hwsim_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
		       struct netlink_ext_ack *extack)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	int err = keepon_native_hwtstamp_set(dev, config, extack);

	if (err != -EOPNOTSUPP)
		return err;
	if (config->flags)
		return -EINVAL;
	if (config->tx_type != HWTSTAMP_TX_OFF && config->tx_type != HWTSTAMP_TX_ON)
		return -ERANGE;
	if (config->rx_filter != HWTSTAMP_FILTER_NONE)
		config->rx_filter = HWTSTAMP_FILTER_ALL;
	nic->hwtstamp = *config;
	return 0;
}
