// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit ring lent to keepon.ko. A slot is a descriptor whose buffer stays where it is; its
 * control word says what the slot is, and one 32-bit store changes it: without NO_FCS the
 * controller adds a good FCS to a frame, with it the last four bytes of the buffer leave as they
 * are, zero, which is the FCS of no placeholder.
 *
 * The controller writes each descriptor back as used when its frame has left, and stops at one that
 * is used. So every slot is handed over again before its next round, by a store of the word it had,
 * and the ring has to keep room for those that may still be written back: a store that comes before
 * that is lost. Progress is where the transmitter is in the ring.
 *
 * A frame of several descriptors ends in that with LAST; its FCS is the one in the last buffer.
 * NO_FCS is in all of them: the controller takes it from the first that it fetches, whichever that
 * is. It writes back that one alone; the others are marked as used when the frame is retired.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "gem.h"
#include "lend.h"

/* Of ZynqMP and Versal (UG1085); a Zynq-7000 has less. */
enum { PACKET_BUFFER_BYTES = 32 * 1024 };

static short frames_ahead = -1;
module_param_named(prefetch, frames_ahead, short, 0444);
MODULE_PARM_DESC(prefetch,
		 "descriptors the controller fetches ahead of the frame on the wire, as measured;"
		 " -1: as many as its packet buffer holds");

static bool index_done;
module_param(index_done, bool, 0444);
MODULE_PARM_DESC(index_done, "the queue pointer passes frames when they have left, not fetched");

static bool fragments = true;
module_param(fragments, bool, 0444);
MODULE_PARM_DESC(fragments, "a frame longer than a slot is sent from several buffers");

/* ---- operations; serialised, any context ---- */

/* The pointer counts modulo the ring, whose size the caps do not know. */
static u32 own_read_index(void *context)
{
	struct gem_nic *nic = context;
	u32 at = gem_position(nic, &nic->own);

	if (at >= nic->own.slots)
		return KPN_INDEX_GONE;
	/* a doorbell that comes when the transmitter has just stopped is lost */
	if (unlikely(at == nic->own_at && at != nic->own_tail) &&
	    !(gem_read(nic, TX_STATUS) & TX_STATUS_GO))
		gem_kick(nic);
	nic->own_index += at - nic->own_at + (at < nic->own_at ? nic->own.slots : 0);
	nic->own_at = at;
	return nic->own_index % KPN_INDEX_MODULUS_MAX;
}

/* From the place of the index last read to the tail. */
static bool is_handed_over(const struct gem_nic *nic, u32 idx)
{
	u32 slots = nic->own.slots;
	u32 posted = nic->own_tail - nic->own_at + (nic->own_tail < nic->own_at ? slots : 0);

	return idx - nic->own_at + (idx < nic->own_at ? slots : 0) < posted;
}

static u32 placeholder_word(const struct gem_nic *nic, u32 idx, u32 frame_bytes)
{
	return gem_tx_word(&nic->own, idx, frame_bytes, TX_NO_FCS);
}

static u32 frame_word(const struct gem_nic *nic, u32 idx, u32 frame_bytes)
{
	return gem_tx_word(&nic->own, idx, frame_bytes - KPN_FCS_BYTES, 0);
}

/* What the index has passed is not the controller's, whether it was written back or not. */
static void store(struct gem_nic *nic, u32 idx, u32 word)
{
	nic->own_word[idx] = word;
	/* the bytes are there before the descriptor says so */
	dma_wmb();
	gem_desc_write(nic, &nic->own, idx, DESC_CONTROL,
		       is_handed_over(nic, idx) ? word : word | TX_USED);
	/* a reading of the CPU counter after this is later than the store */
	mb();
}

static void own_commit(void *context, u32 idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes)
{
	struct gem_nic *nic = context;

	card_buffer_give(&nic->card.own_buffers, idx, 0, written_bytes);
	store(nic, idx, frame_word(nic, idx, frame_bytes));
}

static void put_fragment(struct card *card, u32 idx, u32 bytes, u32 rest_bytes)
{
	struct gem_nic *nic = gem_of(card);
	u32 word = placeholder_word(nic, idx, bytes);

	store(nic, idx, bytes < rest_bytes ? word & ~TX_LAST : word);
}

static void own_commit_fragments(void *context, u32 first_idx, const struct kpn_span *span,
				 u32 data_bytes)
{
	struct gem_nic *nic = context;
	u32 last = card_own_idx(&nic->card, first_idx, span->fragments - 1);

	card_commit_fragments(&nic->card, first_idx, span, data_bytes,
			      nic->own_word[last] & TX_LENGTH, put_fragment);
}

static void own_retire(void *context, u32 idx, u32 frame_bytes, u32 data_bytes)
{
	struct gem_nic *nic = context;

	store(nic, idx, placeholder_word(nic, idx, frame_bytes));
	if (!data_bytes)
		return;
	card_buffer_zero(&nic->card.own_buffers, idx, data_bytes);
}

static void own_set_length(void *context, u32 idx, u32 frame_bytes)
{
	struct gem_nic *nic = context;

	store(nic, idx,
	      nic->own_word[idx] & TX_NO_FCS ? placeholder_word(nic, idx, frame_bytes) :
					       frame_word(nic, idx, frame_bytes));
}

/*
 * Backwards, so that the controller goes on with the first when all the others are its own. One
 * look tells whether those before it were written back, too.
 */
static void own_rearm(void *context, u32 first_idx, u32 count)
{
	struct gem_nic *nic = context;
	u32 slots = nic->own.slots;
	u32 idx = (first_idx + count) % slots;

	if (!count)
		return;
	nic->own_tail = idx;
	idx = idx ? idx - 1 : slots - 1;
	if (unlikely(!(gem_desc_read(nic, &nic->own, idx, DESC_CONTROL) & TX_USED)))
		netdev_warn_once(nic->card.dev,
				 "a slot was not written back in time: say a greater prefetch\n");
	for (; idx != first_idx; idx = idx ? idx - 1 : slots - 1)
		gem_desc_write(nic, &nic->own, idx, DESC_CONTROL, nic->own_word[idx]);
	dma_wmb();
	gem_desc_write(nic, &nic->own, idx, DESC_CONTROL, nic->own_word[idx]);
}

static void own_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	gem_kick(context);
}

static void own_halt(void *context)
{
	gem_halt(context);
}

static const struct kpn_nic_ops own_ops = {
	.cpu_ns = card_cpu_ns,
	.read_index = own_read_index,
	.buffer = card_own_buffer,
	.commit = own_commit,
	.commit_fragments = own_commit_fragments,
	.retire = own_retire,
	.set_length = own_set_length,
	.rearm = own_rearm,
	.doorbell = own_doorbell,
	.halt = own_halt,
};

/* ---- lending ---- */

static bool native_owns(const struct net_device *dev)
{
	return dev->netdev_ops == &gem_netdev_ops;
}

static u32 prefetch_slots(u32 slot_bytes)
{
	if (frames_ahead >= 0)
		return (u32)frames_ahead;
	return PACKET_BUFFER_BYTES / max_t(u32, slot_bytes, KPN_FRAME_BYTES_MIN) + 1;
}

/* Descriptors of a longest frame. */
static u32 fragments_of_frame(u32 slot_bytes)
{
	u32 slot_wire_bytes = kpn_wire_bytes(max_t(u32, slot_bytes, KPN_FRAME_BYTES_MIN));

	return fragments ? DIV_ROUND_UP(kpn_wire_bytes(KEEPON_NATIVE_FRAME_BYTES_MAX),
					slot_wire_bytes) :
			   1;
}

/*
 * Slots that may be written back after the index has passed them: so many are never posted. Of a
 * frame that is the first of its slots, when all of them have left.
 */
static u32 late_slots(u32 mbps, u32 ahead, u32 slot_bytes)
{
	u64 shortest_ps =
		(u64)kpn_wire_bytes(KPN_FRAME_BYTES_MIN) * kpn_byte_time_ps(mbps * 1000000ull);
	u32 late = (u32)div64_u64(CARD_INDEX_LATE_NS * 1000ull + shortest_ps - 1, shortest_ps);

	return late + (index_done ? 0 : ahead + 1) + fragments_of_frame(slot_bytes) - 1;
}

static int native_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
			const char **why)
{
	struct gem_nic *nic = netdev_priv(dev);
	struct card_link link = gem_link(nic);
	u32 ahead = prefetch_slots(slot_bytes);
	int error;

	*caps = (struct keepon_native_caps){
		.nic = {
			.ring_slots_min = GEM_RING_MIN,
			.ring_slots_max = GEM_RING_MAX,
			.ring_slots_multiple = 1,
			.prefetch_slots_max = ahead,
			.index_counts_done = index_done,
			.fragments_max = fragments ? CARD_FRAGMENTS_MAX : 1,
		},
	};
	error = card_query(&nic->card, link, slot_bytes, caps, why);
	if (frames_ahead < 0)
		ahead += card_ahead_more(slot_bytes, fragments);
	caps->nic.prefetch_slots_max = ahead;
	caps->nic.desc_persistent = false;
	caps->nic.reserved_slots += late_slots(link.mbps ?: SPEED_1000, ahead, slot_bytes);
	return error;
}

static int native_claim(struct net_device *dev, const struct keepon_native_setup *setup,
			struct keepon_native *native)
{
	struct gem_nic *nic = netdev_priv(dev);
	int error = card_may_claim(&nic->card, setup);

	if (error)
		return error;
	nic->own_word = kcalloc(setup->ring_slots, sizeof(*nic->own_word), GFP_KERNEL);
	if (!nic->own_word)
		return -ENOMEM;
	error = gem_ring_alloc(nic, &nic->own, setup->ring_slots);
	error = error ?: card_claim(&nic->card, setup, &own_ops, native);
	if (error) {
		gem_ring_free(nic, &nic->own);
		kfree(nic->own_word);
		return error;
	}
	/* a frame of a lent ring interrupts nobody */
	gem_set_irqs(nic, IRQ_RX);
	return 0;
}

static void native_reset(struct net_device *dev, struct keepon_native *native)
{
	struct gem_nic *nic = netdev_priv(dev);
	struct card *card = &nic->card;
	u32 idx;

	gem_halt(nic);
	card_give_up(&nic->card);
	nic->own_index = 0;
	nic->own_at = 0;
	nic->own_tail = 0;
	for (idx = 0; idx < card->own_slots; idx++) {
		card_buffer_zero(&card->own_buffers, idx, CARD_BUFFER_BYTES);
		gem_set_buffer(nic, &nic->own, idx, card_buffer_dma(&card->own_buffers, idx), 0);
		store(nic, idx, placeholder_word(nic, idx, card->own_slot_bytes));
	}
	gem_send_from(nic, &nic->own);
}

static void native_release(struct net_device *dev, struct keepon_native *native)
{
	struct gem_nic *nic = netdev_priv(dev);

	gem_halt(nic);
	card_give_up(&nic->card);
	gem_ring_free(nic, &nic->own);
	kfree(nic->own_word);
	gem_ring_clear(nic, &nic->tx);
	gem_send_from(nic, &nic->tx);
	gem_set_irqs(nic, IRQ_RX | IRQ_TX);
	card_release(&nic->card, native);
}

struct keepon_native_driver gem_native = {
	.name = GEM_NAME,
	.module = THIS_MODULE,
	.owns = native_owns,
	.query = native_query,
	.claim = native_claim,
	.reset = native_reset,
	.release = native_release,
};
