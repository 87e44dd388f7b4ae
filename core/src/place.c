// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A frame into any slot that is free, and how far ahead of the head that slot must be. */
#include "kpn_head.h"
#include "kpn_place.h"

/*
 * A slot was lost while its frame was copied: the next frames get ones as much further ahead, and
 * as much again.
 */
static KPN_NOINLINE void hurry_less(struct kpn_pacer *pacer, const struct kpn_placement *placement)
{
	s64 late_ns = (s64)(kpn_cpu_now(pacer) + KPN_STORE_NS + pacer->caps.store_ns_max -
			    placement->cpu_ns);
	u64 ahead_ns = pacer->hurry_ns + (late_ns > 0 ? 2 * (u64)late_ns : 0);

	pacer->hurry_ns = ahead_ns < KPN_HURRY_NS_MAX ? (u32)ahead_ns : KPN_HURRY_NS_MAX;
}

KPN_NOINLINE bool kpn_place(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq,
			    enum kpn_verdict verdict, const struct kpn_placement *placement)
{
	if (KPN_UNLIKELY(!kpn_place_inline(pacer, frame, seq, verdict, placement, KPN_STORE_NS))) {
		hurry_less(pacer, placement);
		return false;
	}
	/* a CPU that was held up once is not slow for ever */
	pacer->hurry_ns -= pacer->hurry_ns / 8;
	return true;
}
