/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Taking a reading of the index, inline because every poll does it, and undoing that. */
#ifndef KPN_INDEX_H
#define KPN_INDEX_H

#include "kpn_head.h"
#include "kpn_pacer_state.h"

/**
 * kpn_take_index() - the NIC's index has moved by @moved slots, at most to the tail; none of them
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

/** kpn_take_trims() - add the trims of those slots, if there were any after all */
static inline void kpn_take_trims(struct kpn_pacer *pacer, u32 moved)
{
	struct kpn_ring *ring = &pacer->ring;

	if (KPN_UNLIKELY(ring->trim_count))
		ring->index_ps +=
			kpn_ring_deltas_ps(ring, ring->index_seq - moved, ring->index_seq);
}

/** kpn_index_undo() - undo a move of the index by @moved */
void kpn_index_undo(struct kpn_pacer *pacer, u32 moved);

/**
 * kpn_index_jumps() - kpn_is_beyond_wire() of an index that moved further than one doorbell fetches
 *
 * Where nearly all slots of the ring are posted, nearly every wrong reading names a posted slot;
 * believing it would end frames that are still to leave.
 */
static inline bool kpn_index_jumps(const struct kpn_pacer *pacer, u64 after_ns, u32 moved)
{
	return KPN_UNLIKELY(moved > pacer->frames.fetched_slots + 2) &&
	       kpn_is_beyond_wire(pacer, after_ns);
}

/**
 * kpn_jump_confirmed() - whether to believe an index that jumped
 *
 * It is believed if it has moved on from its last jump by no more than a wire can in that time.
 * Then the strip was wrong, not the index.
 */
bool kpn_jump_confirmed(struct kpn_pacer *pacer, u32 index, u64 after_ns);

#endif
