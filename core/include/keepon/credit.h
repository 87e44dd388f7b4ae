/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The credit of one class, by the law of the credit-based shaper (IEEE 802.1Q-2022 clause 8.6.8.2
 * and Annex L). It counts slots, as the wire does, not time: a frame has its slot to itself,
 * padding included, so that every frame costs the same. This file knows no ring, no clock and no
 * partition.
 *
 *	slot	0   1   2   3   4   5   6   7   8   9   10	port rate / idle slope = 2.5
 *	sent	#           #       #           #       #
 *	due	0         2.5       5         7.5       10
 */
#ifndef KPN_CREDIT_H
#define KPN_CREDIT_H

#include "kpn_platform.h"

enum {
	KPN_CREDIT_PART_BITS = 24, /* of a slot: idle slopes are kept within 60 ppb, rounded down */
	KPN_IDLE_SLOPE_BPS_MIN = 1000,
};

/** struct kpn_slots - a number of slots, and 2^-24 parts of one */
struct kpn_slots {
	u64 whole;
	u32 part;
};

/**
 * struct kpn_credit - credit of one class
 * @cost: slots in which the idle slope earns the credit of a one-slot frame
 * @high: most credit that is saved up while a frame waits
 * @due: slot at which the credit is, or was, 0; no frame is sent before it
 * @since: frames in slots before it have cost nothing
 */
struct kpn_credit {
	struct kpn_slots cost;
	struct kpn_slots high;
	struct kpn_slots due;
	u64 since;
};

/**
 * kpn_credit_init() - no credit before slot @since
 * @rate_bps: of the link; @wire_bytes: of a slot, preamble and gap included
 * @idle_slope_bps: KPN_IDLE_SLOPE_BPS_MIN to @rate_bps
 * @high_bytes: hiCredit
 *
 * Return: 0, or -KPN_ERANGE, nothing was changed.
 */
int kpn_credit_init(struct kpn_credit *credit, u64 rate_bps, u32 wire_bytes, u64 idle_slope_bps,
		    u32 high_bytes, u64 since);

/**
 * kpn_credit_carry() - carry the debt of @before over to @credit, which has just begun and whose
 * first slot is after all slots in which @before sent frames
 *
 * The debt is one frame at most; the steeper of the two slopes pays it.
 */
void kpn_credit_carry(struct kpn_credit *credit, const struct kpn_credit *before);

/**
 * kpn_credit_high_bytes() - hiCredit with which a class reaches its idle slope although it may have
 * to wait @gap_slots for a slot of its own
 *
 * The other arguments are those of kpn_credit_init().
 */
u64 kpn_credit_high_bytes(u64 rate_bps, u32 wire_bytes, u64 idle_slope_bps, u32 gap_slots);

/** kpn_credit_seq() - first slot in which the next frame may be sent */
static inline u64 kpn_credit_seq(const struct kpn_credit *credit)
{
	return credit->due.whole + !!credit->due.part;
}

/** kpn_credit_rest() - no frame waited before slot @seq: the credit saved up until then is lost */
void kpn_credit_rest(struct kpn_credit *credit, u64 seq);

/** kpn_credit_spend() - a frame of @slots is sent from slot @seq on, not before kpn_credit_seq() */
void kpn_credit_spend(struct kpn_credit *credit, u64 seq, u32 slots);

/** kpn_credit_refund() - that frame is not sent from slot @seq on, and none was after it */
void kpn_credit_refund(struct kpn_credit *credit, u64 seq, u32 slots);

#endif
