// SPDX-License-Identifier: GPL-2.0-only
/* Hardware timestamps: which are possible (B14), and switching them on and off. */
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock_kernel.h>

#include "keepon.h"

ktime_t keepon_stamp(struct kpn_time t)
{
	return ns_to_ktime(t.ns + (t.frac >> 31));
}

/* Whether instants of this link are good enough for hardware timestamps. */
static bool has_stamps(const struct keepon *keepon)
{
	return keepon->plan.claims & KEEPON_CLAIM_TX_STAMPS;
}

void keepon_stamp_limit(struct keepon *keepon)
{
	if (has_stamps(keepon))
		return;
	WRITE_ONCE(keepon->hwtstamp.tx_type, HWTSTAMP_TX_OFF);
	WRITE_ONCE(keepon->hwtstamp.rx_filter, HWTSTAMP_FILTER_NONE);
}

int keepon_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config)
{
	const struct keepon *keepon = netdev_priv(dev);

	config->flags = 0;
	config->tx_type = keepon->hwtstamp.tx_type;
	config->rx_filter = keepon->hwtstamp.rx_filter;
	return 0;
}

int keepon_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
			struct netlink_ext_ack *extack)
{
	struct keepon *keepon = netdev_priv(dev);

	if (config->flags)
		return -EINVAL;
	if (config->tx_type != HWTSTAMP_TX_OFF && config->tx_type != HWTSTAMP_TX_ON) {
		keepon_explain(
			extack,
			"tx_type %d: stamps of sent frames are off (0) or on (1); one-step is not possible",
			config->tx_type);
		return -ERANGE;
	}
	if (!has_stamps(keepon) &&
	    (config->tx_type != HWTSTAMP_TX_OFF || config->rx_filter != HWTSTAMP_FILTER_NONE)) {
		keepon_explain(
			extack,
			"nobody has measured when frames really leave %s; use stamps of software",
			keepon->lower->name);
		return -EOPNOTSUPP;
	}
	/* All frames are stamped with any filter. */
	if (config->rx_filter != HWTSTAMP_FILTER_NONE)
		config->rx_filter = HWTSTAMP_FILTER_ALL;
	WRITE_ONCE(keepon->hwtstamp.tx_type, config->tx_type);
	WRITE_ONCE(keepon->hwtstamp.rx_filter, config->rx_filter);
	return 0;
}

int keepon_get_ts_info(struct net_device *dev, struct keepon_ts_info *info)
{
	const struct keepon *keepon = netdev_priv(dev);

	bool has_clock = keepon->plan.claims & (KEEPON_CLAIM_PHC | KEEPON_CLAIM_UNMEASURED);

	info->so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
				SOF_TIMESTAMPING_SOFTWARE;
	info->phc_index = keepon->phc && has_clock ? ptp_clock_index(keepon->phc) : -1;
	info->tx_types = BIT(HWTSTAMP_TX_OFF);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE);
	if (!has_stamps(keepon))
		return 0;
	info->so_timestamping |= SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
				 SOF_TIMESTAMPING_RAW_HARDWARE;
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}
