/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Taking what the index reads, inline because every poll does it, and taking it back. */
#ifndef KPN_INDEX_H
#define KPN_INDEX_H

#include "kpn_head.h"
#include "kpn_pacer_state.h"

/**
 * kpn_take_index() - the NIC's index has moved by @moved slots, at most to the tail, none of which
 * is trimmed
 */
static inline void kpn_take_index(struct kpn_pacer *pacer, u32 moved, u32 index, u64 after_ns)
{
	struct kpn_ring *ring = &pacer->ring;

	if (moved)
		pacer->reading.progress_ns = after_ns;
	pacer->reading.head_index = index;
	ring->index_seq += moved;
	ring->index_ps += moved * ring->slot_ps;
}

/** kpn_take_trims() - some of them may have been, after all */
static inline void kpn_take_trims(struct kpn_pacer *pacer, u32 moved)
{
	struct kpn_ring *ring = &pacer->ring;

	if (KPN_UNLIKELY(ring->trim_count))
		ring->index_ps +=
			kpn_ring_deltas_ps(ring, ring->index_seq - moved, ring->index_seq);
}

/** kpn_take_back() - the index, and its bounds, are where they were before it moved by @moved */
void kpn_take_back(struct kpn_pacer *pacer, u32 moved);

/**
 * kpn_index_leaps() - kpn_is_beyond_wire() of an index that moved by more than a doorbell fetches
 *
 * Where all but a few slots of the ring are posted nearly every wrong reading is of a posted slot,
 * and believed it would end frames that are still to leave.
 */
static inline bool kpn_index_leaps(const struct kpn_pacer *pacer, u64 after_ns, u32 moved)
{
	return KPN_UNLIKELY(moved > pacer->frames.fetched_slots + 2) &&
	       kpn_is_beyond_wire(pacer, after_ns);
}

/**
 * kpn_leapt_before() - whether an index that leaps is believed all the same
 *
 * It has gone on from where it leapt to before, as far as a wire comes in that time. What was wrong
 * then is what the strip made of earlier readings.
 */
bool kpn_leapt_before(struct kpn_pacer *pacer, u32 index, u64 after_ns);

#endif
