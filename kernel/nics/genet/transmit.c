// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordinary frames out. A descriptor is three registers; the consumer index says how many frames the
 * controller has done with.
 */
#include "genet.h"

/* The controller begins with 0. */
static u32 index_of(u32 count)
{
	return (count - card_first(GENET_SLOTS)) & RING_INDEX;
}

static void put(struct card *card, u32 idx, dma_addr_t dma, u32 bytes)
{
	struct genet_nic *nic = genet_of(card);

	genet_set_buffer(nic, TDMA, idx, dma);
	genet_write(nic, DMA_DESC(TDMA, idx) + DESC_LENGTH_STATUS,
		    genet_desc_word(bytes, TX_APPEND_CRC | TX_QTAG));
}

static void post(struct card *card)
{
	genet_write(genet_of(card), DMA_RING_AT(TDMA, RING_SW_INDEX), index_of(card->tx_next));
}

netdev_tx_t genet_transmit(struct sk_buff *skb, struct net_device *dev)
{
	return card_transmit(netdev_priv(dev), skb, put, post);
}

void genet_transmit_clean(struct genet_nic *nic, int budget)
{
	struct card *card = &nic->card;
	u32 next = smp_load_acquire(&card->tx_next); /* what was stored before it, too */
	u16 frames;

	/* the index of a lent ring is of other frames */
	if (card->tx_done == next)
		return;
	frames = (u16)(genet_read(nic, DMA_RING_AT(TDMA, RING_HW_INDEX)) - index_of(card->tx_done));
	if (frames <= next - card->tx_done) /* else it is no count of ours */
		card_sent(card, frames, budget);
}
