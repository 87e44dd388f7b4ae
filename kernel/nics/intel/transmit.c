// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordinary frames out. Each asks for a report (RS), which is written back into its descriptor; a
 * frame has one buffer, so it needs one descriptor.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "intel.h"

enum { DRAIN_MS = 200 };

/* ---- memory ---- */

int intel_ring_alloc(struct intel_nic *nic, struct intel_ring *ring, u32 slots)
{
	ring->desc = dma_alloc_coherent(&nic->pdev->dev, slots * sizeof(*ring->desc), &ring->dma,
					GFP_KERNEL);
	ring->slots = slots;
	return ring->desc ? 0 : -ENOMEM;
}

void intel_ring_free(struct intel_nic *nic, struct intel_ring *ring)
{
	if (ring->desc)
		dma_free_coherent(&nic->pdev->dev, ring->slots * sizeof(*ring->desc), ring->desc,
				  ring->dma);
	ring->desc = NULL;
}

int intel_buffers_alloc(struct intel_nic *nic, struct intel_buffers *buffers, u32 count,
			enum dma_data_direction direction)
{
	u32 chunks = DIV_ROUND_UP(count, INTEL_CHUNK);
	u32 i;

	buffers->chunk = kcalloc(chunks, sizeof(*buffers->chunk), GFP_KERNEL);
	buffers->dma = kcalloc(chunks, sizeof(*buffers->dma), GFP_KERNEL);
	buffers->count = count;
	buffers->direction = direction;
	for (i = 0; i < chunks && buffers->chunk && buffers->dma; i++) {
		buffers->chunk[i] =
			dma_alloc_noncoherent(&nic->pdev->dev, INTEL_CHUNK * INTEL_BUFFER_BYTES,
					      &buffers->dma[i], direction, GFP_KERNEL);
		/* no error where there is memory, but the DMA debugger wants it asked */
		if (!buffers->chunk[i] || dma_mapping_error(&nic->pdev->dev, buffers->dma[i]))
			break;
	}
	if (buffers->chunk && buffers->dma && i == chunks)
		return 0;
	intel_buffers_free(nic, buffers);
	return -ENOMEM;
}

void intel_buffers_free(struct intel_nic *nic, struct intel_buffers *buffers)
{
	u32 i;

	for (i = 0; buffers->chunk && buffers->dma && i * INTEL_CHUNK < buffers->count; i++) {
		if (buffers->chunk[i])
			dma_free_noncoherent(&nic->pdev->dev, INTEL_CHUNK * INTEL_BUFFER_BYTES,
					     buffers->chunk[i], buffers->dma[i],
					     buffers->direction);
	}
	kfree(buffers->chunk);
	kfree(buffers->dma);
	*buffers = (struct intel_buffers){};
}

/* ---- frames ---- */

static u32 in_flight(const struct intel_nic *nic)
{
	return READ_ONCE(nic->tx_next) - READ_ONCE(nic->tx_done);
}

/* A full ring would look empty. */
static bool has_room(const struct intel_nic *nic)
{
	return in_flight(nic) < nic->tx.slots - 1;
}

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	dev_core_stats_tx_dropped_inc(dev);
	return NETDEV_TX_OK;
}

/* All frames handed over are posted, unless more come at once. */
static void post(const struct intel_nic *nic)
{
	if (!netdev_xmit_more() || netif_queue_stopped(nic->dev))
		intel_write(nic, QUEUE_TAIL(nic->chip->tx_base), nic->tx_next % nic->tx.slots);
}

netdev_tx_t intel_transmit(struct sk_buff *skb, struct net_device *dev)
{
	struct intel_nic *nic = netdev_priv(dev);
	struct intel_desc *desc;
	dma_addr_t dma;
	u32 idx;

	if (nic->lent || nic->gone)
		return drop(skb, dev);
	if (!has_room(nic)) {
		netif_stop_queue(dev);
		return NETDEV_TX_BUSY;
	}
	if (skb_put_padto(skb, ETH_ZLEN)) {
		dev_core_stats_tx_dropped_inc(dev);
		post(nic);
		return NETDEV_TX_OK;
	}
	dma = dma_map_single(&nic->pdev->dev, skb->data, skb->len, DMA_TO_DEVICE);
	if (dma_mapping_error(&nic->pdev->dev, dma)) {
		post(nic);
		return drop(skb, dev);
	}
	idx = nic->tx_next % nic->tx.slots;
	nic->tx_skb[idx] = skb;
	nic->tx_dma[idx] = dma;
	desc = &nic->tx.desc[idx];
	desc->address = cpu_to_le64(dma);
	desc->word = cpu_to_le64(
		intel_tx_word(nic->chip, skb->len, TX_LEGACY_EOP | TX_LEGACY_IFCS | TX_LEGACY_RS));
	skb_tx_timestamp(skb);
	netdev_sent_queue(dev, skb->len);
	/* the frame may be freed from here on */
	smp_store_release(&nic->tx_next, nic->tx_next + 1);
	if (!has_room(nic)) {
		netif_stop_queue(dev);
		/* pairs with the barrier of intel_transmit_clean() */
		smp_mb();
		if (has_room(nic))
			netif_start_queue(dev);
	}
	post(nic);
	return NETDEV_TX_OK;
}

static u32 give_back(struct intel_nic *nic, u32 idx, int budget)
{
	struct sk_buff *skb = nic->tx_skb[idx];
	u32 bytes = skb->len;

	dma_unmap_single(&nic->pdev->dev, nic->tx_dma[idx], bytes, DMA_TO_DEVICE);
	nic->tx_skb[idx] = NULL;
	napi_consume_skb(skb, budget);
	return bytes;
}

void intel_transmit_clean(struct intel_nic *nic, int budget)
{
	struct net_device *dev = nic->dev;
	u32 end = smp_load_acquire(&nic->tx_next); /* what was stored before it, too */
	u32 frames = 0;
	u32 bytes = 0;

	while (nic->tx_done != end) {
		u32 idx = nic->tx_done % nic->tx.slots;

		if (!(le64_to_cpu(READ_ONCE(nic->tx.desc[idx].word)) & TX_DONE))
			break;
		bytes += give_back(nic, idx, budget);
		frames++;
		WRITE_ONCE(nic->tx_done, nic->tx_done + 1);
	}
	if (!frames)
		return;
	netdev_completed_queue(dev, frames, bytes);
	dev_sw_netstats_tx_add(dev, frames, bytes);
	/* pairs with the barrier of intel_transmit() */
	smp_mb();
	if (netif_queue_stopped(dev) && has_room(nic))
		netif_wake_queue(dev);
}

void intel_transmit_drop(struct intel_nic *nic)
{
	while (nic->tx_done != nic->tx_next) {
		give_back(nic, nic->tx_done % nic->tx.slots, 0);
		dev_core_stats_tx_dropped_inc(nic->dev);
		nic->tx_done++;
	}
	nic->tx_next = 0;
	nic->tx_done = 0;
	netdev_reset_queue(nic->dev);
}

bool intel_transmit_drain(struct intel_nic *nic)
{
	u32 waited_ms;

	for (waited_ms = 0; in_flight(nic) && waited_ms < DRAIN_MS; waited_ms++) {
		local_bh_disable(); /* the poll runs when they are enabled */
		napi_schedule(&nic->napi);
		local_bh_enable();
		usleep_range(1000, 1100);
	}
	return !in_flight(nic);
}
