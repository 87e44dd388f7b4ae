// SPDX-License-Identifier: GPL-2.0-only
/* What registers count, for the stack's statistics and for ethtool, and what else that asks. */
#include <linux/ethtool.h>
#include <linux/log2.h>

#include "card.h"

void card_read_counters(struct card *card)
{
	spin_lock_bh(&card->counters_lock);
	card->driver->read_counters(card);
	spin_unlock_bh(&card->counters_lock);
}

/* Registers of one that is down, or asleep, say nothing. Going down takes the lock after @up. */
static void update(struct card *card)
{
	spin_lock_bh(&card->counters_lock);
	if (READ_ONCE(card->up))
		card->driver->read_counters(card);
	spin_unlock_bh(&card->counters_lock);
}

void card_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct card *card = netdev_priv(dev);
	u32 i;

	dev_fetch_sw_netstats(stats, dev->tstats);
	update(card);
	for (i = 0; i < card->driver->counters_count; i++) {
		const struct card_counter *counter = &card->driver->counters[i];

		if (counter->stat)
			*(u64 *)((void *)stats + counter->stat) += card->count[i];
	}
	stats->rx_errors = stats->rx_crc_errors + stats->rx_length_errors;
}

/* ---- ethtool ---- */

void card_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct card *card = netdev_priv(dev);

	strscpy(info->driver, card->driver->name, sizeof(info->driver));
	strscpy(info->bus_info, dev_name(card->device), sizeof(info->bus_info));
	strscpy(info->fw_version, card->chip, sizeof(info->fw_version));
}

void card_get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	struct card *card = netdev_priv(dev);

	ring->rx_max_pending = card->driver->slots_max;
	ring->tx_max_pending = card->driver->slots_max;
	ring->rx_pending = card->rx_slots;
	ring->tx_pending = card->tx_slots;
}

int card_set_ring_slots(struct net_device *dev, const struct ethtool_ringparam *ring)
{
	struct card *card = netdev_priv(dev);
	u32 rx_before = card->rx_slots, tx_before = card->tx_slots;
	bool running = netif_running(dev);
	int error = 0;

	if (ring->rx_mini_pending || ring->rx_jumbo_pending)
		return -EINVAL;
	keepon_native_stop(dev);
	if (running)
		card->driver->down(card);
	card->rx_slots = roundup_pow_of_two(ring->rx_pending);
	card->tx_slots = roundup_pow_of_two(ring->tx_pending);
	if (running)
		error = card->driver->up(card);
	if (error) {
		/* no memory for them, most likely */
		card->rx_slots = rx_before;
		card->tx_slots = tx_before;
		if (card->driver->up(card)) {
			netdev_err(dev, "it does not come back: set it down and up again\n");
			return error;
		}
	}
	keepon_native_ready(dev);
	return error;
}

int card_get_sset_count(struct net_device *dev, int set)
{
	struct card *card = netdev_priv(dev);

	return set == ETH_SS_STATS ? (int)card->driver->counters_count : -EOPNOTSUPP;
}

void card_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	struct card *card = netdev_priv(dev);
	u32 i;

	for (i = 0; i < card->driver->counters_count; i++)
		memcpy(data + i * ETH_GSTRING_LEN, card->driver->counters[i].name, ETH_GSTRING_LEN);
}

void card_get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct card *card = netdev_priv(dev);

	update(card);
	memcpy(data, card->count, card->driver->counters_count * sizeof(*data));
}

int card_get_ts_info(struct net_device *dev, struct keepon_ts_info *info)
{
	int error = keepon_native_ts_info(dev, info);

	return error == -EOPNOTSUPP ? ethtool_op_get_ts_info(dev, info) : error;
}
