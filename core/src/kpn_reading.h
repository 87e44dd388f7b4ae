/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What every reading of the index does, inline because every poll does it; the rest is in
 * reading.c.
 */
#ifndef KPN_READING_H
#define KPN_READING_H

#include "kpn_pacer_state.h"

/**
 * kpn_take_index() - the NIC's index has moved by @moved slots, at most to the tail, none of which
 * is trimmed
 */
static inline void kpn_take_index(struct kpn_pacer *pacer, u32 moved, u32 index, u64 after_ns)
{
	struct kpn_ring *ring = &pacer->ring;

	if (moved)
		pacer->progress_ns = after_ns;
	pacer->head_index = index;
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

/** kpn_is_beyond_wire() - kpn_index_leaps() for an index that moved by more than a doorbell fetches */
bool kpn_is_beyond_wire(const struct kpn_pacer *pacer, u64 after_ns);

/**
 * kpn_index_leaps() - whether the index, taken already, is more than a slot further on than any
 * wire can have come by the CPU counter
 *
 * Where all but a few slots of the ring are posted nearly every wrong reading is of a posted slot,
 * and believed it would end frames that are still to leave.
 */
static inline bool kpn_index_leaps(const struct kpn_pacer *pacer, u64 after_ns, u32 moved)
{
	return KPN_UNLIKELY(moved > pacer->caps.prefetch_slots_max + 2) &&
	       kpn_is_beyond_wire(pacer, after_ns);
}

/**
 * kpn_leapt_before() - whether an index that leaps is believed all the same
 *
 * It has gone on from where it leapt to before, as far as a wire comes in that time. What was wrong
 * then is what the strip made of earlier readings.
 */
bool kpn_leapt_before(struct kpn_pacer *pacer, u32 index, u64 after_ns);

/**
 * kpn_nominal_bounds() - what the index says of the wire, as positions that hold at moments told by
 * the limits; no slot is trimmed
 *
 * A done index at H: frame H-1 had ended, frame H had not. A fetch index at H: frame H-1 starts at
 * the latest its fetch latency after the reading, frame H at the earliest its own after.
 */
static inline struct kpn_interval kpn_nominal_bounds(const struct kpn_pacer *pacer)
{
	u64 lower_ps = pacer->ring.index_ps - pacer->index_back_ps;

	return (struct kpn_interval){ .lower_ps = lower_ps,
				      .upper_ps = lower_ps + pacer->ring.slot_ps };
}

/** kpn_index_bounds() - the same where slots may be trimmed */
static inline struct kpn_interval kpn_index_bounds(const struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	struct kpn_interval bounds = kpn_nominal_bounds(pacer);

	if (pacer->caps.index_counts_done) {
		bounds.upper_ps += (u64)kpn_ring_delta_ps(ring, ring->index_seq);
	} else {
		/*
		 * Of a slot that is complete the length is forgotten; the strip knows more of it
		 * than this reading says.
		 */
		bounds.lower_ps -= ring->index_seq == ring->head.seq ?
					   ring->slot_ps :
					   (u64)kpn_ring_delta_ps(ring, ring->index_seq - 1);
	}
	return bounds;
}

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
	u64 now_ns = after_ns + pacer->tick_ns;

	return kpn_strip_merge(strip, now_ns, bounds.lower_ps + pacer->lower_ahead_ps,
			       bounds.upper_ps + pacer->upper_ahead_ps +
				       kpn_pace_ps(now_ns - before_ns, strip->pace_upper));
}

/** kpn_trimmed_passed_seq() - kpn_passed_seq() where slots may be trimmed */
u64 kpn_trimmed_passed_seq(const struct kpn_pacer *pacer, u64 lower_ps);

/**
 * kpn_passed_seq() - slot the wire has certainly reached: those before it have left
 *
 * A done index says so itself; a fetch index runs ahead of the wire, and the strip's lower bound
 * says where that is. The bound is for the end of the tick in which the reading ended, so a tick is
 * taken off.
 */
static inline u64 kpn_passed_seq(const struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	u64 seq = ring->index_seq;

	if (!pacer->caps.index_counts_done) {
		u64 lower_ps = pacer->strip.lower_ps - pacer->tick_ps;
		u64 passed = ring->head.seq;

		if (KPN_UNLIKELY(ring->trim_count))
			passed = kpn_trimmed_passed_seq(pacer, lower_ps);
		else if (KPN_LIKELY((s64)(lower_ps - ring->head.ps) >= 0))
			passed += kpn_div_u64(lower_ps - ring->head.ps, ring->slot_ps);
		if (passed < seq)
			seq = passed;
	}
	return seq;
}

/** kpn_complete() - slots before @to have left */
static inline void kpn_complete(struct kpn_pacer *pacer, u64 to)
{
	if (KPN_UNLIKELY(to > pacer->ring.quiet_seq))
		kpn_complete_touched(pacer, to);
	else
		kpn_ring_skip(&pacer->ring, &pacer->ring.head, to);
}

#endif
