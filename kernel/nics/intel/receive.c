// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames in. Each is copied out of the buffer it arrived in, so that a descriptor is given back at
 * once.
 */
#include <linux/bitfield.h>
#include <linux/etherdevice.h>

#include "intel.h"

/* Tail registers are written once for so many descriptors: each write crosses the bus. */
enum { RETURN_SLOTS = 16 };

/* Write-back has overwritten what the descriptor said. */
static void give(struct intel_nic *nic, u32 idx)
{
	card_buffer_give(&nic->card.rx_buffers, idx, 0, CARD_BUFFER_BYTES);
	nic->rx.desc[idx].address = cpu_to_le64(card_buffer_dma(&nic->card.rx_buffers, idx));
	nic->rx.desc[idx].word = 0;
}

void intel_receive_start(struct intel_nic *nic)
{
	u32 base = nic->chip->rx_base;
	u32 idx;

	for (idx = 0; idx < nic->rx.slots; idx++)
		give(nic, idx);
	nic->rx_next = card_first(nic->rx.slots);
	intel_set_queue(nic, base, &nic->rx);
	if (nic->chip->advanced) {
		intel_write(nic, QUEUE_SRRCTL(base),
			    SRRCTL_ADVANCED |
				    FIELD_PREP(SRRCTL_BUFFER_KB, CARD_BUFFER_BYTES / 1024));
		intel_write(nic, QUEUE_DCTL(base), DCTL_ENABLE);
		intel_flush(nic);
	}
	/* one stays ours: equal indices mean that the controller has none */
	dma_wmb();
	intel_write(nic, QUEUE_TAIL(base), nic->rx.slots - 1);
}

/* Length without FCS, 0 for a frame that is not good; -1 while there is none. */
static int arrived(const struct intel_chip *chip, const struct intel_desc *desc)
{
	u64 word = le64_to_cpu(READ_ONCE(desc->word));

	if (chip->advanced) {
		if (!(word & RX_ADVANCED_DD))
			return -1;
		if (!(word & RX_ADVANCED_EOP) || word & RX_ADVANCED_ERROR)
			return 0;
		return FIELD_GET(RX_ADVANCED_LENGTH, word);
	}
	if (!(word & RX_LEGACY_DD))
		return -1;
	if (!(word & RX_LEGACY_EOP) || word & RX_LEGACY_ERRORS)
		return 0;
	return FIELD_GET(RX_LEGACY_LENGTH, word);
}

int intel_receive(struct intel_nic *nic, int budget)
{
	u32 returned = 0;
	int done;

	for (done = 0; done < budget; done++) {
		u32 idx = card_slot(nic->rx_next, nic->rx.slots);
		int bytes = arrived(nic->chip, &nic->rx.desc[idx]);

		if (bytes < 0)
			break;
		/* the rest of the descriptor and the frame are read after its DD */
		dma_rmb();
		if (bytes >= ETH_HLEN && bytes <= CARD_FRAME_BYTES_MAX)
			card_deliver(&nic->card, idx, 0, (u32)bytes, KEEPON_NO_PLACE);
		else
			dev_core_stats_rx_dropped_inc(nic->card.dev);
		give(nic, idx);
		nic->rx_next++;
		if (++returned % RETURN_SLOTS == 0) {
			dma_wmb();
			intel_write(nic, QUEUE_TAIL(nic->chip->rx_base), idx);
		}
	}
	if (returned % RETURN_SLOTS) {
		dma_wmb();
		intel_write(nic, QUEUE_TAIL(nic->chip->rx_base),
			    card_slot(nic->rx_next - 1, nic->rx.slots));
	}
	return done;
}
