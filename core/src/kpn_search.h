/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which partition is in force at a slot, and the next slot of a class. */
#ifndef KPN_SEARCH_H
#define KPN_SEARCH_H

#include "kpn_pacer_state.h"

/** kpn_table_at() - the partition in force at slot @seq */
static inline const struct kpn_table *kpn_table_at(const struct kpn_pacer *pacer, u64 seq)
{
	return &pacer->frames.table[KPN_UNLIKELY(seq >= pacer->frames.switch_seq) ? 1 : 0];
}

static inline u32 kpn_plane_index(const struct kpn_table *table, u64 seq)
{
	u64 index = table->index + (seq - table->seq);

	/* without a step the distance grows for ever */
	if (KPN_UNLIKELY(index >> 32))
		return kpn_partition_index(table->partition, index);
	return (u32)index % table->partition->plane_slots;
}

/** kpn_allowed_in() - whether class @tc may use slot @seq */
static inline bool kpn_allowed_in(const struct kpn_pacer *pacer, u64 seq, u8 tc)
{
	const struct kpn_table *table = kpn_table_at(pacer, seq);

	return kpn_partition_allows(table->partition, kpn_plane_index(table, seq), tc);
}

/**
 * kpn_has_slots() - whether frames of class @tc are accepted: it has slots now, or gets some from a
 * table that begins within the horizon, the longest that a frame waits
 */
static inline bool kpn_has_slots(const struct kpn_pacer *pacer, u8 tc)
{
	const struct kpn_partition *next = pacer->frames.table[1].partition;

	if (KPN_LIKELY(pacer->frames.classes >> tc & 1))
		return true;
	return next && next->classes >> tc & 1 &&
	       (s64)(pacer->frames.switch_seq - pacer->ring.head.seq) <=
		       (s64)pacer->frames.horizon_slots;
}

/** kpn_row_max() - most slots in a row of class @tc, now or from the table of kpn_has_slots() */
static inline u32 kpn_row_max(const struct kpn_pacer *pacer, u8 tc)
{
	const struct kpn_partition *next = pacer->frames.table[1].partition;
	u32 slots = pacer->frames.table[0].partition->row_max[tc];

	if (next && next->row_max[tc] > slots &&
	    (s64)(pacer->frames.switch_seq - pacer->ring.head.seq) <=
		    (s64)pacer->frames.horizon_slots)
		slots = next->row_max[tc];
	return slots;
}

/**
 * kpn_find_free() - first slot in [from, to) of class @tc without a frame, or @to; @yielding: or
 * with a frame that yields
 */
u64 kpn_find_free(const struct kpn_pacer *pacer, u8 tc, u64 from, u64 to, bool yielding);

/** kpn_row_allowed() - whether class @tc may use @slots slots from @seq on */
bool kpn_row_allowed(const struct kpn_pacer *pacer, u64 seq, u32 slots, u8 tc);

/** kpn_allowed_to() - whether @frame may be in slot @seq and the following ones it takes */
static inline bool kpn_allowed_to(const struct kpn_pacer *pacer, const struct kpn_frame *frame,
				  u64 seq)
{
	if (KPN_UNLIKELY(frame->slots > 1))
		return kpn_row_allowed(pacer, seq, frame->slots, frame->tc);
	return kpn_allowed_in(pacer, seq, frame->tc);
}

/** kpn_row_fits() - whether the trims of @slots free slots from @seq on allow one frame in them */
static inline bool kpn_row_fits(const struct kpn_pacer *pacer, u64 seq, u32 slots)
{
	s64 delta_ps = 0;

	if (pacer->ring.trim_count)
		delta_ps = (s64)kpn_ring_deltas_ps(&pacer->ring, seq, seq + slots);
	return delta_ps <= pacer->span.keep_ps && delta_ps >= -pacer->span.keep_ps;
}

/**
 * kpn_find_row() - first of @slots slots in a row of class @tc that can carry one frame,
 * before @to; or @to if there is none
 *
 * The ring has room for a row from @to on. Costs a few times O(words).
 */
u64 kpn_find_row(const struct kpn_pacer *pacer, u8 tc, u64 from, u64 to, u32 slots, bool yielding);

/** kpn_find_for() - kpn_find_free() of the slots that @frame takes */
static inline u64 kpn_find_for(const struct kpn_pacer *pacer, const struct kpn_frame *frame,
			       u64 from, u64 to, bool yielding)
{
	if (KPN_UNLIKELY(frame->slots > 1))
		return kpn_find_row(pacer, frame->tc, from, to, frame->slots, yielding);
	return kpn_find_free(pacer, frame->tc, from, to, yielding);
}

/** kpn_find_reserved() - first slot in [from, to) open to no class, or @to */
u64 kpn_find_reserved(const struct kpn_pacer *pacer, u64 from, u64 to);

/**
 * kpn_index_of() - plane index of @net_slot
 *
 * After a step to the origin of time a slot can be before the origin: count back from there, not
 * from 2^64.
 */
u32 kpn_index_of(const struct kpn_partition *partition, u64 net_slot);

/** kpn_locate_tables() - find the partitions again after a change of base or head */
void kpn_locate_tables(struct kpn_pacer *pacer);

/**
 * kpn_place_switch() - let the second partition, if there is one, begin at its net_slot, but not
 * before @from
 */
void kpn_place_switch(struct kpn_pacer *pacer, u64 from);

/** kpn_switch_tables() - the head has passed the first slot of the second partition */
void kpn_switch_tables(struct kpn_pacer *pacer);

#endif
