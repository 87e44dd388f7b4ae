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

static void put(struct card *card, u32 idx, dma_addr_t dma, u32 bytes)
{
	struct intel_nic *nic = intel_of(card);
	u64 flags = TX_LEGACY_EOP | TX_LEGACY_IFCS | TX_LEGACY_RS;

	nic->tx.desc[idx].address = cpu_to_le64(dma);
	nic->tx.desc[idx].word = cpu_to_le64(intel_tx_word(nic->chip, bytes, bytes, flags));
}

static void post(struct card *card)
{
	struct intel_nic *nic = intel_of(card);

	intel_write(nic, QUEUE_TAIL(nic->chip->tx_base), card_slot(card->tx_next, card->tx_slots));
}

netdev_tx_t intel_transmit(struct sk_buff *skb, struct net_device *dev)
{
	return card_transmit(netdev_priv(dev), skb, put, post);
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
