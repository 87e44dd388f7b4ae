// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames the lower device received are ours while the upper one is up. They are stamped here, on arrival in the stack: late by the
 * driver's interrupt and NAPI latency (docs/kernel.md). The lower device's own stamps are of another clock.
 */
#include "keepon.h"

rx_handler_result_t keepon_receive(struct sk_buff **pskb)
{
	struct sk_buff *skb = *pskb;
	struct net_device *dev = rcu_dereference(skb->dev->rx_handler_data);
	struct keepon *keepon = netdev_priv(dev);
	ktime_t stamp = 0;

	if (skb->pkt_type == PACKET_LOOPBACK || !netif_running(dev))
		return RX_HANDLER_PASS;
	skb = skb_share_check(skb, GFP_ATOMIC);
	*pskb = skb;
	if (!skb) {
		dev_core_stats_rx_dropped_inc(dev);
		return RX_HANDLER_CONSUMED;
	}
	if (READ_ONCE(keepon->hwtstamp.rx_filter) != HWTSTAMP_FILTER_NONE) {
		unsigned long flags;

		raw_spin_lock_irqsave(&keepon->lock, flags);
		stamp = keepon_stamp(keepon_clock_read_locked(keepon));
		raw_spin_unlock_irqrestore(&keepon->lock, flags);
	}
	skb_hwtstamps(skb)->hwtstamp = stamp;
	skb->dev = dev;
	dev_sw_netstats_rx_add(dev, skb->len + ETH_HLEN);
	return RX_HANDLER_ANOTHER;
}
