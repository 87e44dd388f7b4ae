/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What every reading of the index does, inline because every poll does it; the rest is in
 * reading.c.
 */
#ifndef KPN_READING_H
#define KPN_READING_H

#include "kpn_pacer_state.h"

/**
 * kpn_merge_reading() - kpn_strip_merge() of bounds that a reading between @before_ns and @after_ns
 * says
 *
 * Bounds are for the end of the tick in which the reading ended.
 */
static inline bool kpn_merge_reading(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns,
				     struct kpn_interval bounds)
{
	struct kpn_strip *strip = &pacer->strip;
	u64 now_ns = after_ns + pacer->reading.tick_ns;

	return kpn_strip_merge(strip, now_ns, bounds.lower_ps + pacer->reading.lower_ahead_ps,
			       bounds.upper_ps + pacer->reading.upper_ahead_ps +
				       kpn_pace_ps(now_ns - before_ns, strip->pace_upper));
}

/**
 * kpn_poll_slowly() - the rest of a poll whose reading is not plain; everything it can meet.
 * Return: of kpn_pacer_poll()
 */
bool kpn_poll_slowly(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 index, u32 moved);

/**
 * kpn_observe_slowly() - the same where the index is taken and only has to be observed: rates are
 * due, or it contradicts
 */
bool kpn_observe_slowly(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 moved);

#endif
