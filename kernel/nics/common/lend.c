// SPDX-License-Identifier: GPL-2.0-only
/* The lent transmit ring: what is the same whatever the chip. */
#include <linux/crc32.h>
#include <linux/rtnetlink.h>
#include <linux/timekeeping.h>
#ifdef CONFIG_ARM64
#include <asm/arch_timer.h>
#endif

#include "lend.h"

enum { TRIM_BYTES = 16 }; /* by so much slots are lengthened, unless more is asked for */

/* ---- operations ---- */

u64 card_cpu_ns(void *context)
{
	return ktime_get_raw_fast_ns();
}

void *card_own_buffer(void *context, u32 idx)
{
	struct card *card = context;

	return card_buffer(&card->own_buffers, idx);
}

void card_no_rearm(void *context, u32 first_idx, u32 count)
{
}

/* In the last buffer of a frame that was trimmed differently its FCS is elsewhere, or zeros are. */
static void clear_behind_data(struct card *card, u32 idx, const struct kpn_span *span,
			      u32 data_bytes, u32 old_bytes)
{
	u32 from;

	kpn_span_fragment(span, span->fragments - 1, &from);
	data_bytes = data_bytes > from ? data_bytes - from : 0;
	if (old_bytes <= data_bytes)
		return;
	memset(card_buffer(&card->own_buffers, idx) + data_bytes, 0, old_bytes - data_bytes);
	card_buffer_give(&card->own_buffers, idx, data_bytes, old_bytes - data_bytes);
}

void card_commit_fragments(struct card *card, u32 first_idx, const struct kpn_span *span,
			   u32 data_bytes, u32 old_bytes,
			   void (*put)(struct card *card, u32 idx, u32 bytes, u32 rest_bytes))
{
	const struct card_buffers *buffers = &card->own_buffers;
	u32 idx = card_own_idx(card, first_idx, span->fragments - 1);
	u32 crc = ~0u;
	__le32 fcs;
	u32 bytes;
	u32 from;
	u32 i;

	clear_behind_data(card, idx, span, data_bytes, old_bytes);
	for (i = 0; i + 1 < span->fragments; i++) {
		idx = card_own_idx(card, first_idx, i);
		bytes = kpn_span_fragment(span, i, &from);
		crc = crc32_le(crc, card_buffer(buffers, idx), bytes);
		card_buffer_give(buffers, idx, 0, bytes);
		put(card, idx, bytes, span->frame_bytes - from);
	}
	idx = card_own_idx(card, first_idx, i);
	bytes = kpn_span_fragment(span, i, &from) - KPN_FCS_BYTES;
	fcs = cpu_to_le32(~crc32_le(crc, card_buffer(buffers, idx), bytes));
	card_buffer_give(buffers, idx, 0, bytes);
	put(card, idx, bytes + KPN_FCS_BYTES, bytes + KPN_FCS_BYTES);
	/* all of them say what they are before there is a good FCS */
	dma_wmb();
	memcpy(card_buffer(buffers, idx) + bytes, &fcs, sizeof(fcs));
	card_buffer_give(buffers, idx, bytes, sizeof(fcs));
	/* a reading of the CPU counter after this is later than the store */
	mb();
}

/* ---- limits ---- */

/* 18.5 ns on a Pi 4. */
static u32 tick_ns(void)
{
#ifdef CONFIG_ARM64
	return DIV_ROUND_UP(NSEC_PER_SEC, arch_timer_get_cntfrq());
#else
	return IS_ENABLED(CONFIG_X86) ? 1 : 100;
#endif
}

static u32 slot_wire_bytes(u32 slot_bytes)
{
	return kpn_wire_bytes(max_t(u32, slot_bytes, KPN_FRAME_BYTES_MIN));
}

/*
 * What so many slots take at most: all of them lengthened, and one the first of a longest frame,
 * whose others are not among them. A controller that fetches deeper than said is found out by an
 * index that is further ahead.
 */
static u64 slots_ns(u32 slots, u32 slot_bytes, u64 byte_ps)
{
	u64 bytes = (u64)slots * (slot_wire_bytes(slot_bytes) + TRIM_BYTES);

	return div_u64((bytes + kpn_wire_bytes(KEEPON_NATIVE_FRAME_BYTES_MAX)) * byte_ps, 1000);
}

static const char *refused(const struct card *card, struct card_link link)
{
	if (card->gone)
		return "it does not answer any more; reset it, or put it in again";
	if (link.mbps && !link.full)
		return "its link is half duplex; let both ends negotiate full duplex";
	return NULL;
}

int card_query(const struct card *card, struct card_link link, u32 slot_bytes,
	       struct keepon_native_caps *caps, const char **why)
{
	u64 byte_ps = kpn_byte_time_ps((link.mbps ?: SPEED_1000) * 1000000ull);
	struct kpn_nic_caps *nic = &caps->nic;
	u64 ahead_ns = slots_ns(nic->prefetch_slots_max, slot_bytes, byte_ps);
	const char *reason = refused(card, link);

	if (reason) {
		if (why)
			*why = reason;
		return -EOPNOTSUPP;
	}
	caps->claims = KEEPON_CLAIM_PACED | KEEPON_CLAIM_TX_STAMPS | KEEPON_CLAIM_PHC |
		       KEEPON_CLAIM_BAD_FCS;
	caps->context = KEEPON_CONTEXT_HARDIRQ;
	nic->reserved_slots = 1;
	nic->index_to_wire_ns_min = -CARD_INDEX_LATE_NS;
	nic->index_to_wire_ns_max =
		nic->index_counts_done ? 0 : (s32)ahead_ns + CARD_RESTART_NS_MAX;
	nic->restart_ns_max = CARD_RESTART_NS_MAX;
	if (nic->fragments_max > 1)
		nic->store_cpu_ns = CARD_FRAGMENT_CPU_NS;
	nic->cpu_tick_ns = tick_ns();
	nic->poll_ns_min = CARD_POLL_NS_MIN;
	nic->start_quantum_bytes = 1;
	nic->placeholder_bytes_min = KPN_FRAME_BYTES_MIN;
	nic->frame_bytes_max = KEEPON_NATIVE_FRAME_BYTES_MAX;
	nic->placeholder_kinds = BIT(KPN_PLACEHOLDER_BAD_FCS);
	nic->desc_persistent = true;
	return 0;
}

/* ---- who has it ---- */

int card_may_claim(const struct card *card, const struct keepon_native_setup *setup)
{
	if (card->lent)
		return -EBUSY;
	if (!card->up || card->gone)
		return -ENETDOWN;
	if (setup->spare_buffers || setup->placeholder != KPN_PLACEHOLDER_BAD_FCS ||
	    setup->buffer_bytes > CARD_BUFFER_BYTES || setup->ring_slots > card->driver->slots_max)
		return -EINVAL;
	return 0;
}

static void set_lent(struct card *card, bool lent)
{
	netif_tx_lock_bh(card->dev);
	card->lent = lent;
	netif_tx_unlock_bh(card->dev);
}

int card_claim(struct card *card, const struct keepon_native_setup *setup,
	       const struct kpn_nic_ops *ops, struct keepon_native *native)
{
	int error = card_buffers_alloc(&card->own_buffers, card->device, setup->ring_slots,
				       DMA_TO_DEVICE);

	if (error)
		return error;
	card->own_slots = setup->ring_slots;
	card->own_slot_bytes = setup->slot_bytes;
	set_lent(card, true);
	if (!card_drain(card))
		netdev_warn(card->dev,
			    "frames still waiting after 200 ms were dropped for the new owner\n");
	native->ops = ops;
	native->nic = card;
	return 0;
}

void card_release(struct card *card, struct keepon_native *native)
{
	card_buffers_free(&card->own_buffers);
	set_lent(card, false);
	netif_wake_queue(card->dev);
	native->ops = NULL;
	native->nic = NULL;
}
