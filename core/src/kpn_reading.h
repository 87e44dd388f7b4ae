/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The common part of every reading of the index, inline because every poll does it; the rest is in
 * reading.c.
 */
#ifndef KPN_READING_H
#define KPN_READING_H

#include "kpn_pacer_state.h"

/**
 * kpn_merge_reading() - kpn_strip_merge() of the bounds of a reading from @before_ns to @after_ns
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
 * kpn_poll_slow_path() - the rest of a poll off the fast path, with every case. Return: as
 * kpn_pacer_poll()
 */
bool kpn_poll_slow_path(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 index, u32 moved);

/**
 * kpn_observe_slow_path() - the same where the index is taken and only has to be observed: rates
 * are due, or the reading contradicts
 */
bool kpn_observe_slow_path(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 moved);

#endif
