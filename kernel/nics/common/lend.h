/* SPDX-License-Identifier: GPL-2.0-only */
/* The lent transmit ring of a card: its limits, who has it, operations that are the same for all. */
#ifndef KEEPON_CARD_LEND_H
#define KEEPON_CARD_LEND_H

#include "card.h"
#include "keepon/wire.h"

enum {
	/*
	 * Chosen, not measured on a card yet (docs/nics.md). A fetch of descriptor and data over
	 * the bus, how late an index may show it, and how often the index can be read.
	 */
	CARD_RESTART_NS_MAX = 20000,
	CARD_INDEX_LATE_NS = 2000,
	CARD_POLL_NS_MIN = 10000,
	/* without instructions for a CRC; 200 were too few in a guest of 500 million a second */
	CARD_FRAGMENT_CPU_NS = 1000,
	CARD_FRAGMENTS_MAX = 32, /* slots of 64 bytes take 20 for a longest frame */
};

/**
 * card_query() - as in struct keepon_native_driver
 * @link: as it is now
 * @caps: all zero but what is the driver's to know: ring_slots_min, ring_slots_max,
 *	ring_slots_multiple, prefetch_slots_max, index_modulus, index_counts_done, fragments_max
 *	and, where it does not send fragments, store_cpu_ns
 */
int card_query(const struct card *card, struct card_link link, u32 slot_bytes,
	       struct keepon_native_caps *caps, const char **why);
/**
 * card_ahead_more() - frames that a controller may hold beyond those of nominal length, for what it
 * holds is bytes: of a frame in one buffer the other slots are as short as may be, of one in
 * fragments the last
 */
static inline u32 card_ahead_more(u32 slot_bytes, bool fragments)
{
	return fragments ? 1 : keepon_native_frame_slots(slot_bytes) - 1;
}

/** card_may_claim() - before anything else of a claim; what it returns is to be returned */
int card_may_claim(const struct card *card, const struct keepon_native_setup *setup);
/** card_claim() - buffers are there, the ordinary transmit path is closed and drained */
int card_claim(struct card *card, const struct keepon_native_setup *setup,
	       const struct kpn_nic_ops *ops, struct keepon_native *native);
/** card_release() - buffers are gone, the ordinary transmit path is open; its ring is fetched */
void card_release(struct card *card, struct keepon_native *native);

/** card_own_idx() - descriptor of the lent ring, @n behind @first_idx */
static inline u32 card_own_idx(const struct card *card, u32 first_idx, u32 n)
{
	return first_idx + n < card->own_slots ? first_idx + n : first_idx + n - card->own_slots;
}

/**
 * card_commit_fragments() - as in struct kpn_nic_ops
 * @old_bytes: in the descriptor of the last fragment until now
 * @put: descriptor @idx has so many bytes of a frame that has @rest_bytes from there on, as many as
 *	@bytes in its last; no FCS is inserted. What was stored before is seen before
 */
void card_commit_fragments(struct card *card, u32 first_idx, const struct kpn_span *span,
			   u32 data_bytes, u32 old_bytes,
			   void (*put)(struct card *card, u32 idx, u32 bytes, u32 rest_bytes));

/* As in struct kpn_nic_ops; @context is the struct card, and what it is the start of. */
u64 card_cpu_ns(void *context);
void *card_own_buffer(void *context, u32 idx);
/** card_no_rearm() - for descriptors that are never written back: none is to be handed over again */
void card_no_rearm(void *context, u32 first_idx, u32 count);

#endif
