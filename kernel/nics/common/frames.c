// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordinary frames. One that goes out has one buffer, so it needs one descriptor; one that came is
 * copied out of the buffer it arrived in, which stays where it is: no mapping, no page to recycle.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "card.h"

enum { DRAIN_MS = 200 };

int card_alloc(struct card *card)
{
	if (WARN_ON(!is_power_of_2(card->tx_slots) || !is_power_of_2(card->rx_slots)))
		return -EINVAL;
	card->tx_next = card_first(card->tx_slots);
	card->tx_done = card->tx_next;
	card->tx = kcalloc(card->tx_slots, sizeof(*card->tx), GFP_KERNEL);
	if (!card->tx)
		return -ENOMEM;
	return card_buffers_alloc(&card->rx_buffers, card->device, card->rx_slots, DMA_FROM_DEVICE);
}

void card_free(struct card *card)
{
	card_buffers_free(&card->rx_buffers);
	kfree(card->tx);
	card->tx = NULL;
}

/* ---- out ---- */

netdev_tx_t card_drop(struct card *card, struct sk_buff *skb)
{
	dev_kfree_skb_any(skb);
	dev_core_stats_tx_dropped_inc(card->dev);
	return NETDEV_TX_OK;
}

bool card_map(struct card *card, struct sk_buff *skb, dma_addr_t *dma)
{
	if (skb_put_padto(skb, ETH_ZLEN)) {
		/* it has been freed */
		dev_core_stats_tx_dropped_inc(card->dev);
		return false;
	}
	*dma = dma_map_single(card->device, skb->data, skb->len, DMA_TO_DEVICE);
	if (!dma_mapping_error(card->device, *dma))
		return true;
	card_drop(card, skb);
	return false;
}

void card_hand_over(struct card *card, struct sk_buff *skb, dma_addr_t dma)
{
	card->tx[card_slot(card->tx_next, card->tx_slots)] =
		(struct card_frame){ .skb = skb, .dma = dma };
	skb_tx_timestamp(skb);
	netdev_sent_queue(card->dev, skb->len);
	/* the frame may be freed from here on */
	smp_store_release(&card->tx_next, card->tx_next + 1);
	if (card_has_room(card))
		return;
	netif_stop_queue(card->dev);
	/* pairs with the barrier of card_sent() */
	smp_mb();
	if (card_has_room(card))
		netif_start_queue(card->dev);
}

static u32 give_back(struct card *card, int budget)
{
	struct card_frame *at = &card->tx[card_slot(card->tx_done, card->tx_slots)];
	struct sk_buff *skb = at->skb;
	u32 bytes = skb->len;

	dma_unmap_single(card->device, at->dma, bytes, DMA_TO_DEVICE);
	at->skb = NULL;
	napi_consume_skb(skb, budget);
	WRITE_ONCE(card->tx_done, card->tx_done + 1);
	return bytes;
}

void card_sent(struct card *card, u32 frames, int budget)
{
	struct net_device *dev = card->dev;
	u32 bytes = 0;
	u32 i;

	if (!frames)
		return;
	for (i = 0; i < frames; i++)
		bytes += give_back(card, budget);
	netdev_completed_queue(dev, frames, bytes);
	dev_sw_netstats_tx_add(dev, frames, bytes);
	/* pairs with the barrier of card_hand_over() */
	smp_mb();
	if (netif_queue_stopped(dev) && card_has_room(card))
		netif_wake_queue(dev);
}

void card_drop_all(struct card *card)
{
	while (card->tx_done != card->tx_next) {
		give_back(card, 0);
		dev_core_stats_tx_dropped_inc(card->dev);
	}
	card->tx_next = card_first(card->tx_slots);
	card->tx_done = card->tx_next;
	netdev_reset_queue(card->dev);
}

void card_give_up(struct card *card)
{
	/* NAPI must not complete them meanwhile */
	napi_disable(&card->napi);
	card_drop_all(card);
	napi_enable(&card->napi);
	card_poll_now(card);
}

bool card_drain(struct card *card)
{
	u32 waited_ms;

	for (waited_ms = 0; card_in_flight(card) && waited_ms < DRAIN_MS; waited_ms++) {
		card_poll_now(card);
		usleep_range(1000, 1100);
	}
	return !card_in_flight(card);
}

/* ---- in ---- */

void card_deliver(struct card *card, u32 idx, u32 from, u32 bytes, u64 place)
{
	struct net_device *dev = card->dev;
	struct sk_buff *skb = napi_alloc_skb(&card->napi, bytes);

	if (!skb) {
		dev_core_stats_rx_dropped_inc(dev);
		return;
	}
	card_buffer_take(&card->rx_buffers, idx, from, bytes);
	skb_put_data(skb, card_buffer(&card->rx_buffers, idx) + from, bytes);
	dev_sw_netstats_rx_add(dev, bytes);
	keepon_native_set_place(skb, place);
	skb->protocol = eth_type_trans(skb, dev);
	keepon_native_received(skb, dev);
	napi_gro_receive(&card->napi, skb);
}
