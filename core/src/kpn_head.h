/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where the wire is, and which slots can still be changed. Functions that every insertion or every
 * poll calls are inline.
 */
#ifndef KPN_HEAD_H
#define KPN_HEAD_H

#include "kpn_caps.h"
#include "kpn_pacer_state.h"

/**
 * struct kpn_valid_seq - a slot, and how long it stays the answer
 * @until_ns: CPU time up to which it holds if nothing is polled, posted or adjusted
 */
struct kpn_valid_seq {
	u64 seq;
	u64 until_ns;
};

/** kpn_upper_seq_slow_path() - kpn_upper_seq() when rates are due, or for an earlier moment */
struct kpn_valid_seq kpn_upper_seq_slow_path(const struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_upper_seq() - kpn_pacer_head().upper_seq alone, for insertions; the strip is valid. Both
 * numbers stay in registers: an address on the stack would cost more than the search.
 */
static inline struct kpn_valid_seq kpn_upper_seq(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	const struct kpn_strip *strip = &pacer->strip;
	const struct kpn_ring *ring = &pacer->ring;
	u64 dt_ns = cpu_ns + pacer->reading.tick_ns - strip->cpu_ns;
	struct kpn_under_way slot;
	u64 upper_ps;

	if (KPN_UNLIKELY((s64)dt_ns < 0 || cpu_ns + pacer->reading.tick_ns > strip->rate_due_ns))
		return kpn_upper_seq_slow_path(pacer, cpu_ns);
	upper_ps = strip->upper_ps + kpn_pace_ps(dt_ns, strip->pace_upper) + 1;
	if ((s64)(upper_ps - ring->tail.ps) > 0)
		return (struct kpn_valid_seq){ ring->tail.seq, cpu_ns };
	if (KPN_UNLIKELY((s64)(upper_ps - ring->head.ps) < 0))
		return (struct kpn_valid_seq){ ring->head.seq, cpu_ns };
	if (ring->trim_count) {
		slot = kpn_ring_seq_at(ring, upper_ps);
	} else {
		u64 slots = kpn_div_u64(upper_ps - ring->head.ps, ring->slot_ps);

		slot.seq = ring->head.seq + slots;
		slot.end_ps = ring->head.ps + (slots + 1) * ring->slot_ps;
	}
	/*
	 * The bound moves by less than 1024 ps a nanosecond, even if the rates are renewed within
	 * the slot.
	 */
	return (struct kpn_valid_seq){ slot.seq, cpu_ns + ((slot.end_ps - upper_ps) >> 10) };
}

/**
 * kpn_first_changeable() - first slot that can still be changed once planning is done; the tail if
 * the head is not valid
 */
u64 kpn_first_changeable(const struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_first_valid_seq_at() - kpn_first_seq_at(), and how long it holds
 *
 * Slots that were never posted cannot have been fetched, however deep the NIC fetches. In paper
 * mode the lead is a batch, posted or not (C3). Slots for which a step or a switch of tables came
 * too late are not given away any more: they belong to a class now, but may have been trimmed when
 * they belonged to none.
 */
static KPN_ALWAYS_INLINE struct kpn_valid_seq kpn_first_valid_seq_at(const struct kpn_pacer *pacer,
								     u64 cpu_ns)
{
	struct kpn_valid_seq first = kpn_upper_seq(pacer, cpu_ns);

	first.seq += pacer->frames.lead_slots;
	if (pacer->phase_locked && first.seq > pacer->ring.tail.seq)
		first.seq = pacer->ring.tail.seq;
	/* after an index stood still and went on, the strip can be behind the index */
	if (KPN_UNLIKELY(first.seq < pacer->ring.index_seq))
		first.seq = pacer->ring.index_seq;
	if (first.seq < pacer->frames.floor_seq)
		first.seq = pacer->frames.floor_seq;
	return first;
}

/** kpn_first_seq_at() - first slot that may be changed at a CPU time; the strip is valid */
u64 kpn_first_seq_at(const struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * struct kpn_placement - where frames may go at one moment; see struct kpn_window
 * @until_ns: CPU time up to which @first_seq certainly remains the first
 * @cpu_ns: the moment
 */
struct kpn_placement {
	u64 first_seq;
	u64 end_seq;
	u64 until_ns;
	u64 cpu_ns;
	bool valid;
};

/** kpn_head_is_believed() - whether the head is known well enough to insert frames */
static inline bool kpn_head_is_believed(const struct kpn_pacer *pacer)
{
	return pacer->strip.valid && !pacer->reading.distrust;
}

/** kpn_placement_from() - the placement at @cpu_ns whose first slot is @first */
static inline struct kpn_placement kpn_placement_from(const struct kpn_pacer *pacer,
						      struct kpn_valid_seq first, u64 cpu_ns,
						      bool valid)
{
	return (struct kpn_placement){ .first_seq = first.seq,
				       .end_seq = pacer->ring.head.seq + pacer->frames.window_slots,
				       .until_ns = first.until_ns,
				       .cpu_ns = cpu_ns,
				       .valid = valid };
}

/** kpn_placement_at() - where frames may go at a CPU time */
struct kpn_placement kpn_placement_at(const struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_placement_with_margin() - the same with a margin for the stores, for frames that may have any
 * of several slots: kpn_place() would find the slots within the margin lost
 */
static inline struct kpn_placement kpn_placement_with_margin(const struct kpn_pacer *pacer,
							     u64 cpu_ns)
{
	return kpn_placement_at(pacer, cpu_ns + KPN_STORE_NS + pacer->caps.store_ns_max +
					       pacer->frames.insert_margin_ns);
}

/** kpn_first_for() - first slot for @frame if it may have any of several */
static inline u64 kpn_first_for(const struct kpn_pacer *pacer, const struct kpn_frame *frame,
				const struct kpn_placement *placement)
{
	return placement->first_seq +
	       (KPN_UNLIKELY(frame->slots > 1) ? pacer->span.ahead_slots : 0);
}

/** kpn_span_stores_ns() - time that all stores of @frame, which takes several slots, may take */
static inline u64 kpn_span_stores_ns(const struct kpn_pacer *pacer, const struct kpn_frame *frame)
{
	return kpn_span_stores_ns_max(&pacer->caps, frame->slots);
}

/** kpn_lost_by() - whether slot @seq is no longer changeable at @cpu_ns; the strip is valid */
bool kpn_lost_by(const struct kpn_pacer *pacer, u64 seq, u64 cpu_ns);

/** kpn_fetched_by() - whether the NIC may have fetched slot @seq by @cpu_ns */
bool kpn_fetched_by(const struct kpn_pacer *pacer, u64 seq, u64 cpu_ns);

/**
 * kpn_may_be_fetched() - whether the NIC may have fetched slot @seq by now; at @until_ns it had not
 *
 * Called after a store: a CPU that is held up just before it (by firmware, by a hypervisor) stores
 * too late whatever was checked, and no NIC reports that.
 */
static inline bool kpn_may_be_fetched(const struct kpn_pacer *pacer, u64 seq, u64 until_ns)
{
	u64 cpu_ns = kpn_cpu_now(pacer) + pacer->caps.store_ns_max;

	return KPN_UNLIKELY(cpu_ns > until_ns) && kpn_fetched_by(pacer, seq, cpu_ns);
}

/**
 * kpn_nominal_bounds() - what the index says of the wire, as positions that hold at the moments
 * that the caps give; no slot is trimmed
 *
 * A done index at H: frame H-1 had ended, frame H had not. A fetch index at H: frame H-1 starts at
 * the latest its fetch latency after the reading, frame H at the earliest its own after.
 */
static inline struct kpn_interval kpn_nominal_bounds(const struct kpn_pacer *pacer)
{
	u64 lower_ps = pacer->ring.index_ps - pacer->reading.index_back_ps;

	return (struct kpn_interval){ .lower_ps = lower_ps,
				      .upper_ps = lower_ps + pacer->ring.slot_ps };
}

/* Descriptor of the slot that the index describes. */
static inline u32 kpn_index_desc(const struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	u32 desc = kpn_ring_desc(ring, ring->index_seq);

	if (pacer->caps.index_counts_done)
		return desc;
	return desc ? desc - 1 : ring->slots - 1;
}

/*
 * An index within the slots of a frame says that the frame is on the wire, or waits for it: no chip
 * says where its fragments and shortened slots begin. @slot is the slot of @bounds.
 */
static inline struct kpn_interval kpn_span_bounds(const struct kpn_pacer *pacer,
						  const struct kpn_slot *slot,
						  struct kpn_interval bounds)
{
	u64 slot_ps = pacer->ring.slot_ps;
	s64 delta_ps = (s64)(bounds.upper_ps - bounds.lower_ps - slot_ps);
	u32 behind = slot->frame->slots - 1u - slot->within;

	/* the last slot has the trims of all */
	if (behind)
		delta_ps = pacer->span.keep_ps;
	bounds.lower_ps -= slot->within * slot_ps;
	bounds.upper_ps = bounds.lower_ps + slot->frame->slots * slot_ps + (u64)delta_ps;
	return bounds;
}

/** kpn_index_bounds() - the same where slots may be trimmed, or a frame takes several */
static inline struct kpn_interval kpn_index_bounds(const struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	struct kpn_interval bounds = kpn_nominal_bounds(pacer);
	const struct kpn_slot *slot;

	if (pacer->caps.index_counts_done) {
		bounds.upper_ps += (u64)kpn_ring_delta_ps(ring, ring->index_seq);
	} else {
		/*
		 * The length of a completed slot is forgotten; the strip then has a tighter bound
		 * than this reading.
		 */
		bounds.lower_ps -= ring->index_seq == ring->head.seq ?
					   ring->slot_ps :
					   (u64)kpn_ring_delta_ps(ring, ring->index_seq - 1);
	}
	if (KPN_UNLIKELY(ring->span_count) &&
	    (pacer->caps.index_counts_done || ring->index_seq != ring->head.seq)) {
		slot = &ring->slot[kpn_index_desc(pacer)];
		if (slot->frame && slot->frame->slots > 1)
			bounds = kpn_span_bounds(pacer, slot, bounds);
	}
	return bounds;
}

/**
 * kpn_is_beyond_wire() - whether the index, already taken, is more than a slot beyond the furthest
 * position of the wire by the CPU counter
 */
bool kpn_is_beyond_wire(const struct kpn_pacer *pacer, u64 after_ns);

/** kpn_trimmed_passed_seq() - kpn_passed_seq() where slots may be trimmed */
u64 kpn_trimmed_passed_seq(const struct kpn_pacer *pacer, u64 lower_ps);

/**
 * kpn_passed_seq() - slot the wire has certainly reached: all slots before it have left
 *
 * A done index is that slot; a fetch index runs ahead of the wire, whose position is at least the
 * strip's lower bound. The bound is for the end of the tick in which the reading ended, so a tick
 * is subtracted.
 */
static inline u64 kpn_passed_seq(const struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	u64 seq = ring->index_seq;

	if (!pacer->caps.index_counts_done) {
		u64 lower_ps = pacer->strip.lower_ps - pacer->reading.tick_ps;
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

#endif
