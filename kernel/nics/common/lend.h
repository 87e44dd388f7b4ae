/* SPDX-License-Identifier: GPL-2.0-only */
/* The lent transmit ring of a card: its limits, who has it, operations that are the same for all. */
#ifndef KEEPON_CARD_LEND_H
#define KEEPON_CARD_LEND_H

#include "card.h"
#include "keepon/wire.h"

enum {
	/*
	 * Chosen, not measured: nobody has seen a card do it yet (docs/nics.md). A fetch of
	 * descriptor and data over the bus, how late an index may be told of it, and how often it
	 * can be asked.
	 */
	CARD_RESTART_NS_MAX = 20000,
	CARD_INDEX_LATE_NS = 2000,
	CARD_POLL_NS_MIN = 10000,
};

/**
 * card_query() - as in struct keepon_native_driver
 * @link: as it is now
 * @caps: all zero but what is the driver's to know: ring_slots_min, ring_slots_max,
 *	ring_slots_multiple, prefetch_slots_max, index_modulus and index_counts_done
 */
int card_query(const struct card *card, struct card_link link, u32 slot_bytes,
	       struct keepon_native_caps *caps, const char **why);
/** card_may_claim() - before anything else of a claim; what it returns is to be returned */
int card_may_claim(const struct card *card, const struct keepon_native_setup *setup);
/** card_claim() - buffers are there, the ordinary transmit path is closed and drained */
int card_claim(struct card *card, const struct keepon_native_setup *setup,
	       const struct kpn_nic_ops *ops, struct keepon_native *native);
/** card_release() - buffers are gone, the ordinary transmit path is open; its ring is fetched */
void card_release(struct card *card, struct keepon_native *native);

/* As in struct kpn_nic_ops; @context is the struct card, and what it is the start of. */
u64 card_cpu_ns(void *context);
void *card_own_buffer(void *context, u32 idx);
/** card_no_rearm() - for descriptors that are never written back: none is to be handed over anew */
void card_no_rearm(void *context, u32 first_idx, u32 count);

#endif
