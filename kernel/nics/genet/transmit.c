// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordinary frames out. A descriptor is three registers; the consumer index says how many frames the
 * controller has done with. A frame has one buffer, so it needs one descriptor.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "genet.h"

enum { DRAIN_MS = 200 };

/* ---- buffers ---- */

enum { CHUNK_BYTES = GENET_CHUNK * GENET_BUFFER_BYTES };

int genet_buffers_alloc(struct genet_nic *nic, struct genet_buffers *buffers,
			enum dma_data_direction direction)
{
	u32 i;

	buffers->direction = direction;
	for (i = 0; i < GENET_CHUNKS; i++) {
		buffers->chunk[i] = kzalloc(CHUNK_BYTES, GFP_KERNEL);
		if (!buffers->chunk[i])
			break;
		buffers->dma[i] =
			dma_map_single(&nic->pdev->dev, buffers->chunk[i], CHUNK_BYTES, direction);
		if (dma_mapping_error(&nic->pdev->dev, buffers->dma[i])) {
			kfree(buffers->chunk[i]);
			buffers->chunk[i] = NULL;
			break;
		}
	}
	if (i == GENET_CHUNKS)
		return 0;
	genet_buffers_free(nic, buffers);
	return -ENOMEM;
}

void genet_buffers_free(struct genet_nic *nic, struct genet_buffers *buffers)
{
	u32 i;

	for (i = 0; i < GENET_CHUNKS; i++) {
		if (!buffers->chunk[i])
			continue;
		dma_unmap_single(&nic->pdev->dev, buffers->dma[i], CHUNK_BYTES, buffers->direction);
		kfree(buffers->chunk[i]);
		buffers->chunk[i] = NULL;
	}
}

void genet_set_buffer(struct genet_nic *nic, u32 dma, u32 idx, dma_addr_t buffer)
{
	genet_write(nic, DMA_DESC(dma, idx) + DESC_ADDRESS_LOW, lower_32_bits(buffer));
	genet_write(nic, DMA_DESC(dma, idx) + DESC_ADDRESS_HIGH, upper_32_bits(buffer));
}

/* ---- frames ---- */

static u16 in_flight(const struct genet_nic *nic)
{
	return READ_ONCE(nic->tx_next) - READ_ONCE(nic->tx_done);
}

static bool has_room(const struct genet_nic *nic)
{
	return in_flight(nic) < GENET_SLOTS - 1;
}

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	dev_core_stats_tx_dropped_inc(dev);
	return NETDEV_TX_OK;
}

/* All frames handed over are posted, unless more come at once. */
static void post(const struct genet_nic *nic)
{
	if (!netdev_xmit_more() || netif_queue_stopped(nic->dev))
		genet_write(nic, DMA_RING_AT(TDMA, RING_SW_INDEX), nic->tx_next);
}

netdev_tx_t genet_transmit(struct sk_buff *skb, struct net_device *dev)
{
	struct genet_nic *nic = netdev_priv(dev);
	dma_addr_t dma;
	u32 idx;

	if (nic->lent)
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
	idx = nic->tx_next % GENET_SLOTS;
	nic->tx[idx] = (struct genet_frame){ .skb = skb, .dma = dma };
	genet_set_buffer(nic, TDMA, idx, dma);
	genet_write(nic, DMA_DESC(TDMA, idx) + DESC_LENGTH_STATUS,
		    genet_desc_word(skb->len, TX_APPEND_CRC | TX_QTAG));
	skb_tx_timestamp(skb);
	netdev_sent_queue(dev, skb->len);
	/* the frame may be freed from here on */
	smp_store_release(&nic->tx_next, nic->tx_next + 1);
	if (!has_room(nic)) {
		netif_stop_queue(dev);
		/* pairs with the barrier of genet_transmit_clean() */
		smp_mb();
		if (has_room(nic))
			netif_start_queue(dev);
	}
	post(nic);
	return NETDEV_TX_OK;
}

static u32 give_back(struct genet_nic *nic, u32 idx, int budget)
{
	struct genet_frame frame = nic->tx[idx];
	u32 bytes = frame.skb->len;

	dma_unmap_single(&nic->pdev->dev, frame.dma, bytes, DMA_TO_DEVICE);
	nic->tx[idx].skb = NULL;
	napi_consume_skb(frame.skb, budget);
	return bytes;
}

void genet_transmit_clean(struct genet_nic *nic, int budget)
{
	struct net_device *dev = nic->dev;
	u16 next = smp_load_acquire(&nic->tx_next); /* what was stored before it, too */
	u32 frames = 0;
	u32 bytes = 0;
	u16 end;

	/* the index of a lent ring is of other frames */
	if (nic->tx_done == next)
		return;
	end = (u16)genet_read(nic, DMA_RING_AT(TDMA, RING_HW_INDEX));
	if ((u16)(end - nic->tx_done) > (u16)(next - nic->tx_done))
		return; /* no count of ours */
	while (nic->tx_done != end) {
		bytes += give_back(nic, nic->tx_done % GENET_SLOTS, budget);
		frames++;
		WRITE_ONCE(nic->tx_done, nic->tx_done + 1);
	}
	if (!frames)
		return;
	netdev_completed_queue(dev, frames, bytes);
	dev_sw_netstats_tx_add(dev, frames, bytes);
	/* pairs with the barrier of genet_transmit() */
	smp_mb();
	if (netif_queue_stopped(dev) && has_room(nic))
		netif_wake_queue(dev);
}

void genet_transmit_drop(struct genet_nic *nic)
{
	while (nic->tx_done != nic->tx_next) {
		give_back(nic, nic->tx_done % GENET_SLOTS, 0);
		dev_core_stats_tx_dropped_inc(nic->dev);
		nic->tx_done++;
	}
	nic->tx_next = 0;
	nic->tx_done = 0;
	netdev_reset_queue(nic->dev);
}

bool genet_transmit_drain(struct genet_nic *nic)
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
