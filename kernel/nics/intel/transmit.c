// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordinary frames out. Each asks for a report (RS), which is written back into its descriptor.
 */
#include <linux/dma-mapping.h>

#include "intel.h"

/* ---- memory ---- */

int intel_ring_alloc(struct intel_nic *nic, struct intel_ring *ring, u32 slots)
{
	ring->desc = dma_alloc_coherent(nic->card.device, slots * sizeof(*ring->desc), &ring->dma,
					GFP_KERNEL);
	ring->slots = slots;
	return ring->desc ? 0 : -ENOMEM;
}

void intel_ring_free(struct intel_nic *nic, struct intel_ring *ring)
{
	if (ring->desc)
		dma_free_coherent(nic->card.device, ring->slots * sizeof(*ring->desc), ring->desc,
				  ring->dma);
	ring->desc = NULL;
}

/* ---- frames ---- */

netdev_tx_t intel_transmit(struct sk_buff *skb, struct net_device *dev)
{
	struct intel_nic *nic = netdev_priv(dev);
	struct card *card = &nic->card;
	struct intel_desc *desc;
	dma_addr_t dma;

	if (card->lent || card->gone)
		return card_drop(card, skb);
	if (!card_has_room(card)) {
		netif_stop_queue(dev);
		return NETDEV_TX_BUSY;
	}
	if (card_map(card, skb, &dma)) {
		desc = &nic->tx.desc[card_slot(card->tx_next, card->tx_slots)];
		desc->address = cpu_to_le64(dma);
		desc->word = cpu_to_le64(intel_tx_word(
			nic->chip, skb->len, TX_LEGACY_EOP | TX_LEGACY_IFCS | TX_LEGACY_RS));
		card_hand_over(card, skb, dma);
	}
	if (card_must_post(card))
		intel_write(nic, QUEUE_TAIL(nic->chip->tx_base),
			    card_slot(card->tx_next, card->tx_slots));
	return NETDEV_TX_OK;
}

void intel_transmit_clean(struct intel_nic *nic, int budget)
{
	struct card *card = &nic->card;
	/* what was stored before it, too */
	u32 waiting = smp_load_acquire(&card->tx_next) - card->tx_done;
	u32 frames;

	for (frames = 0; frames < waiting; frames++) {
		u32 idx = card_slot(card->tx_done + frames, card->tx_slots);

		if (!(le64_to_cpu(READ_ONCE(nic->tx.desc[idx].word)) & TX_DONE))
			break;
	}
	card_sent(card, frames, budget);
}
