// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordinary frames out. A descriptor is the controller's until it is written back as used; the
 * transmitter stops at one that is used.
 */
#include "gem.h"

static void put(struct card *card, u32 idx, dma_addr_t dma, u32 bytes)
{
	struct gem_nic *nic = gem_of(card);

	gem_set_buffer(nic, &nic->tx, idx, dma, 0);
	/* the controller may look at any time */
	dma_wmb();
	gem_desc_write(nic, &nic->tx, idx, DESC_CONTROL, gem_tx_word(&nic->tx, idx, bytes, 0));
}

static void post(struct card *card)
{
	gem_kick(gem_of(card));
}

netdev_tx_t gem_transmit(struct sk_buff *skb, struct net_device *dev)
{
	return card_transmit(netdev_priv(dev), skb, put, post);
}

static bool has_left(const struct gem_nic *nic, u32 count)
{
	u32 idx = card_slot(count, nic->card.tx_slots);

	return gem_desc_read(nic, &nic->tx, idx, DESC_CONTROL) & TX_USED;
}

/* A start that comes when the transmitter has just met a used descriptor is lost. */
static bool has_stopped(const struct gem_nic *nic)
{
	return (gem_read(nic, TX_STATUS) & (TX_STATUS_GO | TX_STATUS_USED_MET)) ==
	       TX_STATUS_USED_MET;
}

void gem_transmit_clean(struct gem_nic *nic, int budget)
{
	struct card *card = &nic->card;
	/* what was stored before it, too */
	u32 waiting = smp_load_acquire(&card->tx_next) - card->tx_done;
	u32 frames;

	for (frames = 0; frames < waiting; frames++) {
		if (!has_left(nic, card->tx_done + frames))
			break;
	}
	if (frames < waiting && has_stopped(nic)) {
		gem_write(nic, TX_STATUS, TX_STATUS_USED_MET);
		gem_kick(nic);
	}
	card_sent(card, frames, budget);
}

bool gem_transmit_pending(const struct gem_nic *nic)
{
	return card_in_flight(&nic->card) && (has_left(nic, nic->card.tx_done) || has_stopped(nic));
}
