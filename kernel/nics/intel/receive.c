// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames in. Each is copied out of the buffer it arrived in, which stays where it is: no mapping, no
 * page to recycle, and a descriptor is given back at once.
 */
#include <linux/bitfield.h>
#include <linux/etherdevice.h>

#include "intel.h"

/* Tail registers are written once for so many descriptors: each write crosses the bus. */
enum { RETURN_SLOTS = 16 };

int intel_receive_alloc(struct intel_nic *nic)
{
	int error = intel_ring_alloc(nic, &nic->rx, nic->rx_slots);

	if (!error)
		error = intel_buffers_alloc(nic, &nic->rx_buffers, nic->rx_slots, DMA_FROM_DEVICE);
	if (error)
		intel_ring_free(nic, &nic->rx);
	return error;
}

void intel_receive_free(struct intel_nic *nic)
{
	intel_buffers_free(nic, &nic->rx_buffers);
	intel_ring_free(nic, &nic->rx);
}

/* Write-back has overwritten what the descriptor said. */
static void give(struct intel_nic *nic, u32 idx)
{
	dma_addr_t dma = intel_buffer_dma(&nic->rx_buffers, idx);

	dma_sync_single_for_device(&nic->pdev->dev, dma, INTEL_BUFFER_BYTES, DMA_FROM_DEVICE);
	nic->rx.desc[idx].address = cpu_to_le64(dma);
	nic->rx.desc[idx].word = 0;
}

void intel_receive_start(struct intel_nic *nic)
{
	u32 base = nic->chip->rx_base;
	u32 idx;

	for (idx = 0; idx < nic->rx.slots; idx++)
		give(nic, idx);
	nic->rx_next = 0;
	intel_set_queue(nic, base, &nic->rx);
	if (nic->chip->advanced) {
		intel_write(nic, QUEUE_SRRCTL(base),
			    SRRCTL_ADVANCED |
				    FIELD_PREP(SRRCTL_BUFFER_KB, INTEL_BUFFER_BYTES / 1024));
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

static void deliver(struct intel_nic *nic, u32 idx, u32 bytes)
{
	struct net_device *dev = nic->dev;
	struct sk_buff *skb = napi_alloc_skb(&nic->napi, bytes);

	if (!skb) {
		dev_core_stats_rx_dropped_inc(dev);
		return;
	}
	dma_sync_single_for_cpu(&nic->pdev->dev, intel_buffer_dma(&nic->rx_buffers, idx), bytes,
				DMA_FROM_DEVICE);
	skb_put_data(skb, intel_buffer(&nic->rx_buffers, idx), bytes);
	dev_sw_netstats_rx_add(dev, bytes);
	skb->protocol = eth_type_trans(skb, dev);
	napi_gro_receive(&nic->napi, skb);
}

int intel_receive(struct intel_nic *nic, int budget)
{
	u32 returned = 0;
	int done;

	for (done = 0; done < budget; done++) {
		u32 idx = nic->rx_next % nic->rx.slots;
		int bytes = arrived(nic->chip, &nic->rx.desc[idx]);

		if (bytes < 0)
			break;
		/* the rest of the descriptor and the frame are read after its DD */
		dma_rmb();
		if (bytes >= ETH_HLEN && bytes <= INTEL_FRAME_BYTES_MAX)
			deliver(nic, idx, (u32)bytes);
		else
			dev_core_stats_rx_dropped_inc(nic->dev);
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
			    (nic->rx_next - 1) % nic->rx.slots);
	}
	return done;
}
