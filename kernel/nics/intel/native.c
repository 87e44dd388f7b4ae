// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit ring lent to keepon.ko. A slot is a descriptor whose buffer stays where it is; its
 * second word says what the slot is, and one 64-bit store changes it: with IFCS the controller adds
 * a good FCS to a frame, without it the last four bytes of the buffer leave as they are, zero, which
 * is the FCS of no placeholder. No descriptor asks for a report (RS), so none is written back and
 * the ring goes round. Progress is TDH, which moves when the controller has fetched a frame.
 */
#include <linux/rtnetlink.h>
#include <linux/timekeeping.h>

#include "intel.h"
#include "keepon/wire.h"

enum {
	/*
	 * Chosen, not measured: nobody has seen these chips do it yet (docs/nics.md). A fetch of
	 * descriptor and data over the bus, and how late TDH may be told of it.
	 */
	RESTART_NS_MAX = 20000,
	INDEX_LATE_NS = 2000,
	POLL_NS_MIN = 10000,
	TRIM_BYTES_MAX = 64,
	TICK_NS = IS_ENABLED(CONFIG_X86) ? 1 : 100,
};

static ushort frames_ahead;
module_param_named(prefetch, frames_ahead, ushort, 0444);
MODULE_PARM_DESC(prefetch, "frames a controller fetches ahead, as measured; 0: by its data sheet");

/* ---- operations; serialised, any context ---- */

static u64 own_cpu_ns(void *context)
{
	return ktime_get_raw_fast_ns();
}

/* TDH counts modulo the ring, whose size the caps do not know. */
static u32 own_read_index(void *context)
{
	struct intel_nic *nic = context;
	u32 head = intel_read(nic, QUEUE_HEAD(nic->chip->tx_base));

	if (head >= nic->own.slots)
		return KPN_INDEX_GONE;
	nic->own_index += head - nic->own_head + (head < nic->own_head ? nic->own.slots : 0);
	nic->own_head = head;
	return nic->own_index % KPN_INDEX_MODULUS_MAX;
}

static void *own_buffer(void *context, u32 idx)
{
	struct intel_nic *nic = context;

	return intel_buffer(&nic->own_buffers, idx);
}

static void write_back(struct intel_nic *nic, u32 idx, u32 bytes)
{
	dma_sync_single_for_device(&nic->pdev->dev, intel_buffer_dma(&nic->own_buffers, idx), bytes,
				   DMA_TO_DEVICE);
}

static u64 placeholder_word(const struct intel_nic *nic, u32 frame_bytes)
{
	return intel_tx_word(nic->chip, frame_bytes, TX_LEGACY_EOP);
}

static u64 frame_word(const struct intel_nic *nic, u32 frame_bytes)
{
	return intel_tx_word(nic->chip, frame_bytes - KPN_FCS_BYTES,
			     TX_LEGACY_EOP | TX_LEGACY_IFCS);
}

static void store(struct intel_nic *nic, u32 idx, u64 word)
{
	/* the bytes are there before the descriptor says so */
	dma_wmb();
	WRITE_ONCE(nic->own.desc[idx].word, cpu_to_le64(word));
	/* a reading of the CPU counter after this is later than the store */
	mb();
}

static void own_commit(void *context, u32 idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes)
{
	struct intel_nic *nic = context;

	write_back(nic, idx, written_bytes);
	store(nic, idx, frame_word(nic, frame_bytes));
}

static void own_retire(void *context, u32 idx, u32 frame_bytes, u32 data_bytes)
{
	struct intel_nic *nic = context;

	store(nic, idx, placeholder_word(nic, frame_bytes));
	if (!data_bytes)
		return;
	memset(intel_buffer(&nic->own_buffers, idx), 0, data_bytes);
	write_back(nic, idx, data_bytes);
}

static void own_set_length(void *context, u32 idx, u32 frame_bytes)
{
	struct intel_nic *nic = context;
	u64 word = le64_to_cpu(nic->own.desc[idx].word);

	store(nic, idx,
	      word & TX_LEGACY_IFCS ? frame_word(nic, frame_bytes) :
				      placeholder_word(nic, frame_bytes));
}

/* Descriptors are never written back: none has to be handed over anew. */
static void own_rearm(void *context, u32 first_idx, u32 count)
{
}

static void own_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct intel_nic *nic = context;

	dma_wmb();
	intel_write(nic, QUEUE_TAIL(nic->chip->tx_base), tail_idx);
}

static void own_halt(void *context)
{
	intel_stop_transmit(context);
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
	return dev->netdev_ops == &intel_netdev_ops;
}

/* What the chip may hold: descriptors it has fetched, and frames in its FIFO. */
static u32 prefetch_slots(const struct intel_chip *chip, u32 slot_bytes)
{
	if (frames_ahead)
		return frames_ahead;
	return chip->desc_cache +
	       chip->tx_fifo_bytes / max_t(u32, slot_bytes, KPN_FRAME_BYTES_MIN) + 1;
}

/*
 * No more room to lengthen a slot than is ever of use: how far the index may be ahead of the wire
 * is a number of the longest slots, and a controller that fetches deeper than said is found out by
 * an index that is further ahead.
 */
static u32 longest_slot(u32 slot_bytes)
{
	return min_t(u32, max_t(u32, slot_bytes, KPN_FRAME_BYTES_MIN) + TRIM_BYTES_MAX,
		     INTEL_SLOT_BYTES_MAX);
}

static int native_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
			const char **why)
{
	struct intel_nic *nic = netdev_priv(dev);
	u32 slots = prefetch_slots(nic->chip, slot_bytes);
	u32 longest_bytes = longest_slot(slot_bytes);
	struct intel_link link = intel_link(nic);
	u64 byte_ps = kpn_byte_time_ps((link.mbps ?: SPEED_1000) * 1000000ull);
	u64 ahead_ns = div_u64((u64)slots * kpn_wire_bytes(longest_bytes) * byte_ps, 1000);
	const char *refused = NULL;

	if (nic->gone)
		refused = "it does not answer any more; reset it, or put it in again";
	else if (link.mbps && !link.full)
		refused = "its link is half duplex; let both ends negotiate full duplex";
	if (refused) {
		if (why)
			*why = refused;
		return -EOPNOTSUPP;
	}
	*caps = (struct keepon_native_caps){
		.claims = KEEPON_CLAIM_PACED | KEEPON_CLAIM_TX_STAMPS | KEEPON_CLAIM_PHC |
			  KEEPON_CLAIM_BAD_FCS,
		.context = KEEPON_CONTEXT_HARDIRQ,
		.nic = {
			.ring_slots_min = INTEL_RING_MIN,
			.ring_slots_max = INTEL_RING_MAX,
			.ring_slots_multiple = INTEL_RING_MULTIPLE,
			.reserved_slots = 1,
			.prefetch_slots_max = slots,
			.index_to_wire_ns_min = -INDEX_LATE_NS,
			.index_to_wire_ns_max = (s32)ahead_ns + RESTART_NS_MAX,
			.restart_ns_max = RESTART_NS_MAX,
			.cpu_tick_ns = TICK_NS,
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

static void free_own(struct intel_nic *nic)
{
	intel_buffers_free(nic, &nic->own_buffers);
	intel_ring_free(nic, &nic->own);
}

static int native_claim(struct net_device *dev, const struct keepon_native_setup *setup,
			struct keepon_native *native)
{
	struct intel_nic *nic = netdev_priv(dev);
	int error;

	if (nic->lent)
		return -EBUSY;
	if (!nic->up || nic->gone)
		return -ENETDOWN;
	if (setup->spare_buffers || setup->placeholder != KPN_PLACEHOLDER_BAD_FCS ||
	    setup->buffer_bytes > INTEL_BUFFER_BYTES)
		return -EINVAL;
	error = intel_ring_alloc(nic, &nic->own, setup->ring_slots);
	if (error)
		return error;
	error = intel_buffers_alloc(nic, &nic->own_buffers, setup->ring_slots, DMA_TO_DEVICE);
	if (error) {
		free_own(nic);
		return error;
	}
	nic->setup = *setup;
	netif_tx_lock_bh(dev);
	nic->lent = true;
	netif_tx_unlock_bh(dev);
	if (!intel_transmit_drain(nic))
		netdev_warn(dev,
			    "frames still waiting after 200 ms were dropped for the new owner\n");
	native->ops = &own_ops;
	native->nic = nic;
	return 0;
}

static void native_reset(struct net_device *dev, struct keepon_native *native)
{
	struct intel_nic *nic = netdev_priv(dev);
	u32 idx;

	intel_stop_transmit(nic);
	for (idx = 0; idx < nic->own.slots; idx++) {
		memset(intel_buffer(&nic->own_buffers, idx), 0, INTEL_BUFFER_BYTES);
		write_back(nic, idx, INTEL_BUFFER_BYTES);
		nic->own.desc[idx].address = cpu_to_le64(intel_buffer_dma(&nic->own_buffers, idx));
		nic->own.desc[idx].word = cpu_to_le64(placeholder_word(nic, nic->setup.slot_bytes));
	}
	nic->own_head = 0;
	nic->own_index = 0;
	dma_wmb();
	/* what is left in the FIFO of a halted transmitter only a reset takes out of it */
	intel_restart(nic, &nic->own);
}

static void native_release(struct net_device *dev, struct keepon_native *native)
{
	struct intel_nic *nic = netdev_priv(dev);

	intel_stop_transmit(nic);
	memset(nic->tx.desc, 0, nic->tx.slots * sizeof(*nic->tx.desc));
	intel_restart(nic, &nic->tx);
	free_own(nic);
	netif_tx_lock_bh(dev);
	nic->lent = false;
	netif_tx_unlock_bh(dev);
	netif_wake_queue(dev);
	native->ops = NULL;
	native->nic = NULL;
}

struct keepon_native_driver intel_native = {
	.name = INTEL_NAME,
	.module = THIS_MODULE,
	.owns = native_owns,
	.query = native_query,
	.claim = native_claim,
	.reset = native_reset,
	.release = native_release,
};
