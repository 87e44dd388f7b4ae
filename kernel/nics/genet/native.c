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
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#ifdef CONFIG_ARM64
#include <asm/arch_timer.h>
#endif

#include "genet.h"
#include "keepon/wire.h"
#include "keepon_compat.h"

enum {
	/*
	 * Chosen, not measured: nobody has seen the chip do it yet (docs/nics.md). A fetch of
	 * descriptor and data over the bus, and how late the consumer index may be told of it.
	 */
	RESTART_NS_MAX = 20000,
	INDEX_LATE_NS = 2000,
	POLL_NS_MIN = 10000,
	TRIM_BYTES_MAX = 64,
	RING_SLOTS_MIN = 64,
};

static ushort frames_ahead = 32;
module_param_named(prefetch, frames_ahead, ushort, 0444);
MODULE_PARM_DESC(prefetch,
		 "frames the controller fetches ahead of the one on the wire, as measured");

static bool index_done;
module_param(index_done, bool, 0444);
MODULE_PARM_DESC(index_done, "the consumer index counts frames that have left, not fetched ones");

/* ---- operations; serialised, any context ---- */

static u64 own_cpu_ns(void *context)
{
	return ktime_get_raw_fast_ns();
}

static u32 own_read_index(void *context)
{
	struct genet_nic *nic = context;
	u32 index = genet_read(nic, DMA_RING_AT(TDMA, RING_HW_INDEX));

	return index == ~0u ? KPN_INDEX_GONE : index & RING_INDEX;
}

static void *own_buffer(void *context, u32 idx)
{
	struct genet_nic *nic = context;

	return genet_buffer(&nic->own_buffers, idx);
}

static void write_back(struct genet_nic *nic, u32 idx, u32 from, u32 bytes)
{
	dma_sync_single_for_device(&nic->pdev->dev, genet_buffer_dma(&nic->own_buffers, idx) + from,
				   bytes, DMA_TO_DEVICE);
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
	put_unaligned_le32(0, genet_buffer(&nic->own_buffers, idx) + at);
	write_back(nic, idx, at, KPN_FCS_BYTES);
	nic->own[idx].fcs_at = 0;
}

/* The bytes before it are in memory: it makes the frame. */
static void store_fcs(struct genet_nic *nic, u32 idx, u32 frame_bytes)
{
	u8 *frame = genet_buffer(&nic->own_buffers, idx);
	u32 at = frame_bytes - KPN_FCS_BYTES;

	put_unaligned_le32(~crc32_le(~0u, frame, at), frame + at);
	write_back(nic, idx, at, KPN_FCS_BYTES);
	nic->own[idx].fcs_at = (u16)at;
}

static void own_commit(void *context, u32 idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes)
{
	struct genet_nic *nic = context;

	clear_fcs(nic, idx);
	store_length(nic, idx, frame_bytes);
	write_back(nic, idx, 0, written_bytes);
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
	memset(genet_buffer(&nic->own_buffers, idx), 0, data_bytes);
	write_back(nic, idx, 0, data_bytes);
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

/* The controller writes nothing back: what a descriptor says stays. */
static void own_rearm(void *context, u32 first_idx, u32 count)
{
}

static void own_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct genet_nic *nic = context;

	genet_write(nic, DMA_RING_AT(TDMA, RING_SW_INDEX), (u32)tail_seq & RING_INDEX);
}

static void own_halt(void *context)
{
	genet_stop_dma(context, TDMA);
}

static const struct kpn_nic_ops own_ops = {
	.cpu_ns = own_cpu_ns,
	.read_index = own_read_index,
	.buffer = own_buffer,
	.commit = own_commit,
	.retire = own_retire,
	.set_length = own_set_length,
	.rearm = own_rearm,
	.doorbell = own_doorbell,
	.halt = own_halt,
};

/* ---- lending ---- */

static bool native_owns(const struct net_device *dev)
{
	return dev->netdev_ops == &genet_netdev_ops;
}

/* 18.5 ns on a Pi 4. */
static u32 tick_ns(void)
{
#ifdef CONFIG_ARM64
	return DIV_ROUND_UP(NSEC_PER_SEC, arch_timer_get_cntfrq());
#else
	return 100;
#endif
}

/*
 * No more room to lengthen a slot than is ever of use: how far the index may be ahead of the wire
 * is a number of the longest slots, and a controller that fetches deeper than said is found out by
 * an index that is further ahead.
 */
static u32 longest_slot(u32 slot_bytes)
{
	return min_t(u32, max_t(u32, slot_bytes, KPN_FRAME_BYTES_MIN) + TRIM_BYTES_MAX,
		     GENET_SLOT_BYTES_MAX);
}

static int native_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
			const char **why)
{
	struct genet_nic *nic = netdev_priv(dev);
	u32 longest_bytes = longest_slot(slot_bytes);
	u32 speed = genet_speed(nic) ?: SPEED_1000;
	u64 byte_ps = kpn_byte_time_ps(speed * 1000000ull);
	u64 ahead_ns = div_u64((u64)frames_ahead * kpn_wire_bytes(longest_bytes) * byte_ps, 1000);

	if (dev->phydev->link && dev->phydev->duplex != DUPLEX_FULL) {
		if (why)
			*why = "its link is half duplex; let both ends negotiate full duplex";
		return -EOPNOTSUPP;
	}
	*caps = (struct keepon_native_caps){
		.claims = KEEPON_CLAIM_PACED | KEEPON_CLAIM_TX_STAMPS | KEEPON_CLAIM_PHC |
			  KEEPON_CLAIM_BAD_FCS,
		.context = KEEPON_CONTEXT_HARDIRQ,
		.nic = {
			.ring_slots_min = RING_SLOTS_MIN,
			.ring_slots_max = GENET_SLOTS,
			.ring_slots_multiple = 1,
			.reserved_slots = 1,
			.prefetch_slots_max = frames_ahead,
			.index_modulus = RING_INDEX + 1,
			.index_counts_done = index_done,
			.index_to_wire_ns_min = -INDEX_LATE_NS,
			.index_to_wire_ns_max = index_done ? 0 : (s32)ahead_ns + RESTART_NS_MAX,
			.restart_ns_max = RESTART_NS_MAX,
			.cpu_tick_ns = tick_ns(),
			.poll_ns_min = POLL_NS_MIN,
			.start_quantum_bytes = 1,
			.placeholder_bytes_min = KPN_FRAME_BYTES_MIN,
			.frame_bytes_max = longest_bytes,
			.placeholder_kinds = BIT(KPN_PLACEHOLDER_BAD_FCS),
			.desc_persistent = true,
		},
	};
	return 0;
}

static void free_own(struct genet_nic *nic)
{
	genet_buffers_free(nic, &nic->own_buffers);
	kfree(nic->own);
	nic->own = NULL;
}

static int native_claim(struct net_device *dev, const struct keepon_native_setup *setup,
			struct keepon_native *native)
{
	struct genet_nic *nic = netdev_priv(dev);
	int error;

	if (nic->lent)
		return -EBUSY;
	if (!nic->up)
		return -ENETDOWN;
	if (setup->spare_buffers || setup->placeholder != KPN_PLACEHOLDER_BAD_FCS ||
	    setup->buffer_bytes > GENET_BUFFER_BYTES || setup->ring_slots > GENET_SLOTS)
		return -EINVAL;
	nic->own = kcalloc(setup->ring_slots, sizeof(*nic->own), GFP_KERNEL);
	if (!nic->own)
		return -ENOMEM;
	error = genet_buffers_alloc(nic, &nic->own_buffers, DMA_TO_DEVICE);
	if (error) {
		free_own(nic);
		return error;
	}
	nic->own_slots = setup->ring_slots;
	nic->own_slot_bytes = setup->slot_bytes;
	netif_tx_lock_bh(dev);
	nic->lent = true;
	netif_tx_unlock_bh(dev);
	if (!genet_transmit_drain(nic))
		netdev_warn(dev,
			    "frames still waiting after 200 ms were dropped for the new owner\n");
	/* a frame of a lent ring interrupts nobody */
	genet_set_irqs(nic, IRQ_RX_DONE);
	native->ops = &own_ops;
	native->nic = nic;
	return 0;
}

/* Wire idle and DMA off; no ordinary frame is left. NAPI must not complete them meanwhile. */
static void stop(struct genet_nic *nic)
{
	genet_stop_transmit(nic);
	napi_disable(&nic->napi);
	genet_transmit_drop(nic);
	napi_enable(&nic->napi);
	/* what came while nobody polled */
	local_bh_disable();
	napi_schedule(&nic->napi);
	local_bh_enable();
}

static void native_reset(struct net_device *dev, struct keepon_native *native)
{
	struct genet_nic *nic = netdev_priv(dev);
	u32 idx;

	stop(nic);
	for (idx = 0; idx < nic->own_slots; idx++) {
		memset(genet_buffer(&nic->own_buffers, idx), 0, GENET_BUFFER_BYTES);
		write_back(nic, idx, 0, GENET_BUFFER_BYTES);
		genet_set_buffer(nic, TDMA, idx, genet_buffer_dma(&nic->own_buffers, idx));
		nic->own[idx] = (struct genet_slot){};
		store_length(nic, idx, nic->own_slot_bytes);
	}
	genet_start_transmit(nic, nic->own_slots);
}

static void native_release(struct net_device *dev, struct keepon_native *native)
{
	struct genet_nic *nic = netdev_priv(dev);

	stop(nic);
	genet_start_transmit(nic, GENET_SLOTS);
	free_own(nic);
	genet_set_irqs(nic, IRQ_RX_DONE | IRQ_TX_DONE);
	netif_tx_lock_bh(dev);
	nic->lent = false;
	netif_tx_unlock_bh(dev);
	netif_wake_queue(dev);
	native->ops = NULL;
	native->nic = NULL;
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
