// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit ring lent to keepon.ko. A slot is a descriptor whose buffer stays where it is, and
 * nothing of it changes for a frame: without APPEND_CRC the last four bytes of the buffer leave as
 * they are, and they are what tells a frame, which has its own good FCS there, from a placeholder,
 * which has zero, the FCS of no zeros. So a frame costs no access to a register, and one that is
 * fetched while it is written is bad, too. Handing slots out again is a write of the producer
 * index; progress is the consumer index, which counts frames.
 */
#include <linux/bitfield.h>
#include <linux/crc32.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "genet.h"
#include "keepon_compat.h"
#include "lend.h"

enum {
	RING_SLOTS_MIN = 64,
	STORE_CPU_NS = 2000, /* a length is read back, a whole frame has its FCS computed; chosen */
};

static ushort frames_ahead = 32;
module_param_named(prefetch, frames_ahead, ushort, 0444);
MODULE_PARM_DESC(prefetch,
		 "frames the controller fetches ahead of the one on the wire, as measured");

static bool index_done;
module_param(index_done, bool, 0444);
MODULE_PARM_DESC(index_done, "the consumer index counts frames that have left, not fetched ones");

/* ---- operations; serialised, any context ---- */

static u32 own_read_index(void *context)
{
	struct genet_nic *nic = context;
	u32 index = genet_read(nic, DMA_RING_AT(TDMA, RING_HW_INDEX));

	return index == ~0u ? KPN_INDEX_GONE : index & RING_INDEX;
}

/*
 * The length in the descriptor. It is read back, so that it has arrived when this returns; lengths
 * seldom change.
 */
static void store_length(struct genet_nic *nic, u32 idx, u32 frame_bytes)
{
	u32 at = DMA_DESC(TDMA, idx) + DESC_LENGTH_STATUS;

	if (nic->own[idx].frame_bytes == frame_bytes)
		return;
	nic->own[idx].frame_bytes = (u16)frame_bytes;
	genet_write(nic, at, genet_desc_word(frame_bytes, TX_QTAG));
	genet_read(nic, at);
}

/* From here on the slot is bad, whatever else its buffer holds. */
static void clear_fcs(struct genet_nic *nic, u32 idx)
{
	u32 at = nic->own[idx].fcs_at;

	if (!at)
		return;
	put_unaligned_le32(0, card_buffer(&nic->card.own_buffers, idx) + at);
	card_buffer_give(&nic->card.own_buffers, idx, at, KPN_FCS_BYTES);
	nic->own[idx].fcs_at = 0;
}

/* The bytes before it are in memory: it makes the frame. */
static void store_fcs(struct genet_nic *nic, u32 idx, u32 frame_bytes)
{
	u8 *frame = card_buffer(&nic->card.own_buffers, idx);
	u32 at = frame_bytes - KPN_FCS_BYTES;

	put_unaligned_le32(~crc32_le(~0u, frame, at), frame + at);
	card_buffer_give(&nic->card.own_buffers, idx, at, KPN_FCS_BYTES);
	nic->own[idx].fcs_at = (u16)at;
}

static void own_commit(void *context, u32 idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes)
{
	struct genet_nic *nic = context;

	clear_fcs(nic, idx);
	store_length(nic, idx, frame_bytes);
	card_buffer_give(&nic->card.own_buffers, idx, 0, written_bytes);
	dma_wmb();
	store_fcs(nic, idx, frame_bytes);
	/* a reading of the CPU counter after this is later than the store */
	mb();
}

static void own_retire(void *context, u32 idx, u32 frame_bytes, u32 data_bytes)
{
	struct genet_nic *nic = context;

	clear_fcs(nic, idx);
	store_length(nic, idx, frame_bytes);
	/* as in own_commit() */
	mb();
	if (!data_bytes)
		return;
	card_buffer_zero(&nic->card.own_buffers, idx, data_bytes);
}

static void own_set_length(void *context, u32 idx, u32 frame_bytes)
{
	struct genet_nic *nic = context;
	bool real = nic->own[idx].fcs_at;

	clear_fcs(nic, idx);
	if (real)
		store_fcs(nic, idx, frame_bytes);
	dma_wmb();
	store_length(nic, idx, frame_bytes);
	/* as in own_commit() */
	mb();
}

static void own_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct genet_nic *nic = context;

	genet_write(nic, DMA_RING_AT(TDMA, RING_SW_INDEX), (u32)tail_seq & RING_INDEX);
}

static void own_halt(void *context)
{
	genet_halt_dma(context, TDMA);
}

static const struct kpn_nic_ops own_ops = {
	.cpu_ns = card_cpu_ns,
	.read_index = own_read_index,
	.buffer = card_own_buffer,
	.commit = own_commit,
	.retire = own_retire,
	.set_length = own_set_length,
	.rearm = card_no_rearm,
	.doorbell = own_doorbell,
	.halt = own_halt,
};

/* ---- lending ---- */

static bool native_owns(const struct net_device *dev)
{
	return dev->netdev_ops == &genet_netdev_ops;
}

static int native_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
			const char **why)
{
	struct genet_nic *nic = netdev_priv(dev);

	*caps = (struct keepon_native_caps){
		.nic = {
			.ring_slots_min = RING_SLOTS_MIN,
			.ring_slots_max = GENET_SLOTS,
			.ring_slots_multiple = 1,
			.prefetch_slots_max = frames_ahead,
			.store_cpu_ns = STORE_CPU_NS,
			.index_modulus = RING_INDEX + 1,
			.index_counts_done = index_done,
		},
	};
	return card_query(&nic->card, genet_link(nic), slot_bytes, caps, why);
}

static int native_claim(struct net_device *dev, const struct keepon_native_setup *setup,
			struct keepon_native *native)
{
	struct genet_nic *nic = netdev_priv(dev);
	int error = card_may_claim(&nic->card, setup);

	if (error)
		return error;
	nic->own = kcalloc(setup->ring_slots, sizeof(*nic->own), GFP_KERNEL);
	if (!nic->own)
		return -ENOMEM;
	error = card_claim(&nic->card, setup, &own_ops, native);
	if (error) {
		kfree(nic->own);
		return error;
	}
	/* a frame of a lent ring interrupts nobody */
	genet_set_irqs(nic, IRQ_RX_DONE);
	return 0;
}

static void native_reset(struct net_device *dev, struct keepon_native *native)
{
	struct genet_nic *nic = netdev_priv(dev);
	struct card *card = &nic->card;
	u32 idx;

	genet_stop_transmit(nic);
	card_give_up(&nic->card);
	for (idx = 0; idx < card->own_slots; idx++) {
		card_buffer_zero(&card->own_buffers, idx, CARD_BUFFER_BYTES);
		genet_set_buffer(nic, TDMA, idx, card_buffer_dma(&card->own_buffers, idx));
		nic->own[idx] = (struct genet_slot){};
		store_length(nic, idx, card->own_slot_bytes);
	}
	genet_start_transmit(nic, card->own_slots);
}

static void native_release(struct net_device *dev, struct keepon_native *native)
{
	struct genet_nic *nic = netdev_priv(dev);

	genet_stop_transmit(nic);
	card_give_up(&nic->card);
	genet_start_transmit(nic, GENET_SLOTS);
	kfree(nic->own);
	genet_set_irqs(nic, IRQ_RX_DONE | IRQ_TX_DONE);
	card_release(&nic->card, native);
}

struct keepon_native_driver genet_native = {
	.name = GENET_NAME,
	.module = THIS_MODULE,
	.owns = native_owns,
	.query = native_query,
	.claim = native_claim,
	.reset = native_reset,
	.release = native_release,
	.query_rx = genet_query_rx,
	.claim_rx = genet_claim_rx,
	.release_rx = genet_release_rx,
};
