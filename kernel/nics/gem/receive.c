// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames in. Each is copied out of the buffer it arrived in, so that a descriptor is given back at
 * once. Frames with a bad FCS never come here: the controller drops and counts them.
 */
#include <linux/etherdevice.h>

#include "gem.h"

static u32 slot(const struct gem_nic *nic)
{
	return card_slot(nic->rx_next, nic->rx.slots);
}

static void give(struct gem_nic *nic, u32 idx)
{
	card_buffer_give(&nic->card.rx_buffers, idx, 0, CARD_BUFFER_BYTES);
	gem_desc_write(nic, &nic->rx, idx, DESC_CONTROL, 0);
	/* the address word says that it is the controller's */
	dma_wmb();
	gem_set_buffer(nic, &nic->rx, idx, card_buffer_dma(&nic->card.rx_buffers, idx),
		       idx + 1 == nic->rx.slots ? RX_WRAP : 0);
}

void gem_receive_start(struct gem_nic *nic)
{
	u32 idx;

	for (idx = 0; idx < nic->rx.slots; idx++)
		give(nic, idx);
	nic->rx_next = card_first(nic->rx.slots);
	gem_write(nic, RX_QBAR, lower_32_bits(nic->rx.dma));
}

/* Length without FCS, 0 for what is no whole frame. */
static u32 length_of(u32 status)
{
	u32 bytes = FIELD_GET(RX_LENGTH, status);

	if ((status & (RX_SOF | RX_EOF)) != (RX_SOF | RX_EOF) || bytes < ETH_HLEN ||
	    bytes > CARD_FRAME_BYTES_MAX)
		return 0;
	return bytes;
}

bool gem_receive_pending(const struct gem_nic *nic)
{
	return gem_desc_read(nic, &nic->rx, slot(nic), DESC_ADDRESS) & RX_USED;
}

int gem_receive(struct gem_nic *nic, int budget)
{
	int done;

	for (done = 0; done < budget && gem_receive_pending(nic); done++) {
		u32 idx = slot(nic);
		u32 bytes;

		/* the rest of the descriptor and the frame are read after it */
		dma_rmb();
		bytes = length_of(gem_desc_read(nic, &nic->rx, idx, DESC_CONTROL));
		if (bytes)
			card_deliver(&nic->card, idx, 0, bytes, KEEPON_NO_PLACE);
		else
			dev_core_stats_rx_dropped_inc(nic->card.dev);
		give(nic, idx);
		nic->rx_next++;
	}
	if (gem_read(nic, RX_STATUS) & RX_STATUS_NO_BUFFER) {
		gem_write(nic, RX_STATUS, RX_STATUS_NO_BUFFER);
		gem_unblock_receiver(nic);
	}
	return done;
}
