// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames in. Each is copied out of the buffer it arrived in, which stays where it is: descriptors
 * are written once, when the interface comes up. Length and errors are in a block before the frame,
 * in memory, where reading them costs less than in the descriptor.
 */
#include <linux/bitfield.h>
#include <linux/etherdevice.h>

#include "genet.h"

enum {
	RX_INDEX = DMA_RING_AT(RDMA, RING_HW_INDEX),
	DISCARDS_CLEAR = 0x8000,
};

static void give(struct genet_nic *nic, u32 idx)
{
	card_buffer_give(&nic->card.rx_buffers, idx, 0, CARD_BUFFER_BYTES);
}

void genet_receive_start(struct genet_nic *nic)
{
	u32 idx;

	for (idx = 0; idx < GENET_SLOTS; idx++) {
		give(nic, idx);
		genet_set_buffer(nic, RDMA, idx, card_buffer_dma(&nic->card.rx_buffers, idx));
	}
	nic->rx_place = 0;
	nic->rx_seen = 0;
	genet_start_dma(nic, RDMA, GENET_SLOTS);
	nic->discards = FIELD_GET(RING_DISCARDS, genet_read(nic, RX_INDEX));
}

static u32 read_index(struct genet_nic *nic)
{
	u32 index = genet_read(nic, RX_INDEX);
	u16 now = FIELD_GET(RING_DISCARDS, index);

	/* one that begins again has counted at least so many */
	WRITE_ONCE(nic->discarded,
		   nic->discarded + (u16)(now >= nic->discards ? now - nic->discards : now));
	nic->discards = now;
	return index;
}

/*
 * The controller's count stays at 65535, so it is cleared in time, as the kernel's bcmgenet does:
 * of what is written the index beside it takes nothing while it runs. What was discarded between
 * reading and writing nobody counts; the index returned is from after it.
 */
u32 genet_rx_index(struct genet_nic *nic)
{
	unsigned long flags;
	u32 index;

	raw_spin_lock_irqsave(&nic->discards_lock, flags);
	index = read_index(nic);
	if (nic->discards >= DISCARDS_CLEAR) {
		genet_write(nic, RX_INDEX, 0);
		index = read_index(nic);
	}
	raw_spin_unlock_irqrestore(&nic->discards_lock, flags);
	return index;
}

u32 genet_discarded(struct genet_nic *nic)
{
	genet_rx_index(nic);
	return READ_ONCE(nic->discarded);
}

static u32 read_status(struct genet_nic *nic, u32 idx)
{
	card_buffer_take(&nic->card.rx_buffers, idx, 0, GENET_STATUS_BYTES);
	return le32_to_cpu(READ_ONCE(*(__le32 *)card_buffer(&nic->card.rx_buffers, idx)));
}

/* The FCS is on the wire, too, but is not delivered. */
static u32 wire_length(u32 status)
{
	u32 bytes = FIELD_GET(DESC_LENGTH, status);

	return bytes > GENET_STATUS_BYTES ? bytes - GENET_STATUS_BYTES + ETH_FCS_LEN : 0;
}

u32 genet_rx_wire_bytes(struct genet_nic *nic, u32 idx)
{
	return wire_length(read_status(nic, idx));
}

/* Length of a frame without FCS, 0 for one that is not good. */
static u32 length_of(u32 status)
{
	u32 bytes = FIELD_GET(DESC_LENGTH, status);

	if ((status & (DESC_SOP | DESC_EOP)) != (DESC_SOP | DESC_EOP) || status & RX_ERRORS ||
	    bytes < GENET_STATUS_BYTES + ETH_HLEN ||
	    bytes > GENET_STATUS_BYTES + CARD_FRAME_BYTES_MAX)
		return 0;
	return bytes - GENET_STATUS_BYTES;
}

int genet_receive(struct genet_nic *nic, int budget)
{
	u16 end = (u16)genet_rx_index(nic);
	bool lent = nic->rx_lent;
	int done;

	for (done = 0; done < budget && (u16)nic->rx_place != end; done++) {
		u32 idx = nic->rx_place % GENET_SLOTS;
		u32 status = read_status(nic, idx);
		u32 bytes = length_of(status);

		if (bytes)
			card_deliver(&nic->card, idx, GENET_STATUS_BYTES, bytes,
				     lent ? nic->rx_place : KEEPON_NO_PLACE);
		else if (!lent) /* else it is a placeholder most likely, and rx_crc_errors */
			dev_core_stats_rx_dropped_inc(nic->card.dev);
		WRITE_ONCE(nic->rx_log[nic->rx_place % GENET_RX_LOG], (u16)wire_length(status));
		nic->rx_place++;
		/* who finds it seen finds its length, and its buffer is nothing else's before */
		smp_store_release(&nic->rx_seen, (u32)nic->rx_place);
		give(nic, idx);
	}
	if (done)
		genet_write(nic, DMA_RING_AT(RDMA, RING_SW_INDEX), (u16)nic->rx_place);
	return done;
}
