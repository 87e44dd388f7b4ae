// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Where the wire is, which slots can still be changed, and where frames may go. */
#include "kpn_head.h"

struct kpn_head kpn_pacer_head(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	const struct kpn_ring *ring = &pacer->ring;
	struct kpn_head head = { .upper_seq = ring->tail.seq,
				 .valid = pacer->strip.valid && !pacer->reading.distrust };

	if (!pacer->strip.valid)
		return head;
	head.wire = kpn_strip_at(&pacer->strip, cpu_ns);
	/* Slots beyond the tail are never sent. */
	head.may_stand = (s64)(head.wire.upper_ps - ring->tail.ps) > 0;
	if (head.may_stand)
		head.wire.upper_ps = ring->tail.ps;
	if ((s64)(head.wire.lower_ps - head.wire.upper_ps) > 0)
		head.wire.lower_ps = head.wire.upper_ps;
	head.upper_seq = kpn_ring_seq_at(ring, head.wire.upper_ps).seq;
	return head;
}

struct kpn_valid_seq kpn_upper_seq_slow_path(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	return (struct kpn_valid_seq){ kpn_pacer_head(pacer, cpu_ns).upper_seq, cpu_ns };
}

u64 kpn_first_changeable(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	u64 stores_ns = pacer->ring.span_count ? pacer->span.stores_ns : 0;
	struct kpn_head head = kpn_pacer_head(pacer, cpu_ns + KPN_REPLAN_NS + stores_ns +
							     pacer->caps.store_ns_max);
	u64 first = head.upper_seq + pacer->frames.fetched_slots + 1;

	if (!head.valid || first > pacer->ring.tail.seq)
		return pacer->ring.tail.seq;
	/* slots that the index has passed are gone, whatever the strip says */
	return first < pacer->ring.index_seq ? pacer->ring.index_seq : first;
}

u64 kpn_first_seq_at(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	return kpn_first_valid_seq_at(pacer, cpu_ns).seq;
}

KPN_NOINLINE struct kpn_placement kpn_placement_at(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct kpn_valid_seq first = { pacer->ring.tail.seq + pacer->frames.lead_slots, 0 };
	bool valid = kpn_head_is_believed(pacer);

	if (KPN_LIKELY(valid))
		first = kpn_first_valid_seq_at(pacer, cpu_ns);
	return kpn_placement_from(pacer, first, cpu_ns, valid);
}

struct kpn_window kpn_pacer_window(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct kpn_placement placement = kpn_placement_at(pacer, cpu_ns);

	return (struct kpn_window){ placement.first_seq, placement.end_seq, placement.valid };
}

KPN_NOINLINE bool kpn_lost_by(const struct kpn_pacer *pacer, u64 seq, u64 cpu_ns)
{
	return (s64)(seq - kpn_first_seq_at(pacer, cpu_ns)) < 0;
}

KPN_NOINLINE bool kpn_fetched_by(const struct kpn_pacer *pacer, u64 seq, u64 cpu_ns)
{
	return pacer->strip.valid && seq < pacer->ring.tail.seq &&
	       seq <= kpn_upper_seq(pacer, cpu_ns).seq + pacer->frames.fetched_slots;
}

u64 kpn_trimmed_passed_seq(const struct kpn_pacer *pacer, u64 lower_ps)
{
	return kpn_ring_seq_at(&pacer->ring, lower_ps).seq;
}

bool kpn_is_beyond_wire(const struct kpn_pacer *pacer, u64 after_ns)
{
	s64 ahead_ns = pacer->caps.index_counts_done ? 0 : pacer->caps.index_to_wire_ns_max;
	u64 reach_ps = pacer->time.slot_ps + pacer->reading.doubtful_ps + (u64)ahead_ns * 1002;
	u64 upper_ps = kpn_strip_at(&pacer->strip, after_ns).upper_ps;

	return (s64)(kpn_index_bounds(pacer).lower_ps - reach_ps - upper_ps) > 0;
}
