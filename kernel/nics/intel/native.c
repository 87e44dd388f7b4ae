// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit ring lent to keepon.ko. A slot is a descriptor whose buffer stays where it is; its
 * second word says what the slot is, and one 64-bit store changes it: with IFCS the controller adds
 * a good FCS to a frame, without it the last four bytes of the buffer leave as they are, zero, which
 * is the FCS of no placeholder. No descriptor asks for a report (RS), so none is written back and
 * the ring goes round. Progress is TDH, which moves when the controller has fetched a frame, or, with
 * index_done, when one has left.
 *
 * A frame of several descriptors ends in that with EOP and has the FCS that lies in its last buffer.
 * IFCS is in none of them: chips take it from the first (82576 and later) or the last (8254x).
 */
#include <linux/moduleparam.h>

#include "intel.h"
#include "lend.h"

static ushort frames_ahead;
module_param_named(prefetch, frames_ahead, ushort, 0444);
MODULE_PARM_DESC(prefetch,
		 "descriptors a controller fetches ahead, as measured; 0: by its data sheet");

static bool index_done;
module_param(index_done, bool, 0444);
MODULE_PARM_DESC(index_done, "TDH counts frames that have left, not fetched ones");

static bool fragments = true;
module_param(fragments, bool, 0444);
MODULE_PARM_DESC(fragments, "a frame longer than a slot is sent from several buffers");

/* ---- operations; serialised, any context ---- */

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

static u64 placeholder_word(const struct intel_nic *nic, u32 frame_bytes)
{
	return intel_tx_word(nic->chip, frame_bytes, frame_bytes, TX_LEGACY_EOP);
}

static u64 frame_word(const struct intel_nic *nic, u32 frame_bytes)
{
	u32 data_bytes = frame_bytes - KPN_FCS_BYTES;

	return intel_tx_word(nic->chip, data_bytes, data_bytes, TX_LEGACY_EOP | TX_LEGACY_IFCS);
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

	card_buffer_give(&nic->card.own_buffers, idx, 0, written_bytes);
	store(nic, idx, frame_word(nic, frame_bytes));
}

static void put_fragment(struct card *card, u32 idx, u32 bytes, u32 rest_bytes)
{
	struct intel_nic *nic = intel_of(card);

	store(nic, idx,
	      intel_tx_word(nic->chip, bytes, rest_bytes, bytes < rest_bytes ? 0 : TX_LEGACY_EOP));
}

static void own_commit_fragments(void *context, u32 first_idx, const struct kpn_span *span,
				 u32 data_bytes)
{
	struct intel_nic *nic = context;
	u32 last = card_own_idx(&nic->card, first_idx, span->fragments - 1);
	u32 old_bytes = le64_to_cpu(nic->own.desc[last].word) & TX_LENGTH;

	card_commit_fragments(&nic->card, first_idx, span, data_bytes, old_bytes, put_fragment);
}

static void own_retire(void *context, u32 idx, u32 frame_bytes, u32 data_bytes)
{
	struct intel_nic *nic = context;

	store(nic, idx, placeholder_word(nic, frame_bytes));
	if (!data_bytes)
		return;
	card_buffer_zero(&nic->card.own_buffers, idx, data_bytes);
}

static void own_set_length(void *context, u32 idx, u32 frame_bytes)
{
	struct intel_nic *nic = context;
	u64 word = le64_to_cpu(nic->own.desc[idx].word);

	store(nic, idx,
	      word & TX_LEGACY_IFCS ? frame_word(nic, frame_bytes) :
				      placeholder_word(nic, frame_bytes));
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
	.cpu_ns = card_cpu_ns,
	.read_index = own_read_index,
	.buffer = card_own_buffer,
	.commit = own_commit,
	.commit_fragments = own_commit_fragments,
	.retire = own_retire,
	.set_length = own_set_length,
	.rearm = card_no_rearm,
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
	return INTEL_DESC_CACHE +
	       chip->tx_fifo_bytes / max_t(u32, slot_bytes, KPN_FRAME_BYTES_MIN) + 1;
}

static int native_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
			const char **why)
{
	struct intel_nic *nic = netdev_priv(dev);
	int error;

	*caps = (struct keepon_native_caps){
		.nic = {
			.ring_slots_min = INTEL_RING_MIN,
			.ring_slots_max = INTEL_RING_MAX,
			.ring_slots_multiple = INTEL_RING_MULTIPLE,
			.prefetch_slots_max = prefetch_slots(nic->chip, slot_bytes),
			.index_counts_done = index_done,
			.fragments_max = fragments ? CARD_FRAGMENTS_MAX : 1,
		},
	};
	error = card_query(&nic->card, intel_link(nic), slot_bytes, caps, why);
	if (!frames_ahead)
		caps->nic.prefetch_slots_max += card_ahead_more(slot_bytes, fragments);
	return error;
}

static int native_claim(struct net_device *dev, const struct keepon_native_setup *setup,
			struct keepon_native *native)
{
	struct intel_nic *nic = netdev_priv(dev);
	int error = card_may_claim(&nic->card, setup);

	if (error)
		return error;
	error = intel_ring_alloc(nic, &nic->own, setup->ring_slots);
	error = error ?: card_claim(&nic->card, setup, &own_ops, native);
	if (error)
		intel_ring_free(nic, &nic->own);
	return error;
}

static void native_reset(struct net_device *dev, struct keepon_native *native)
{
	struct intel_nic *nic = netdev_priv(dev);
	struct card *card = &nic->card;
	u32 idx;

	intel_stop_transmit(nic);
	for (idx = 0; idx < card->own_slots; idx++) {
		card_buffer_zero(&card->own_buffers, idx, CARD_BUFFER_BYTES);
		nic->own.desc[idx].address = cpu_to_le64(card_buffer_dma(&card->own_buffers, idx));
		nic->own.desc[idx].word = cpu_to_le64(placeholder_word(nic, card->own_slot_bytes));
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
	intel_ring_free(nic, &nic->own);
	card_release(&nic->card, native);
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
