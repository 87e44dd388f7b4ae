// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Another partition from a slot on, while the wire runs. */
#include "kpn_head.h"
#include "kpn_insert.h"
#include "kpn_post.h"
#include "kpn_recall.h"
#include "kpn_search.h"

/* Distance back from @net_slot to the last slot before it open to no class; the table has one. */
static u32 reserved_ago(const struct kpn_partition *partition, u64 net_slot)
{
	u32 index = kpn_index_of(partition, net_slot);
	u32 ago = 0;

	for (;;) {
		u32 end = index ? index : partition->plane_slots;
		u32 span = end < KPN_WORD_BITS ? end : KPN_WORD_BITS;
		u64 window = kpn_partition_window(partition, KPN_PLANE_RESERVED, end - span)
			     << (KPN_WORD_BITS - span);

		if (window)
			return ago + (u32)__builtin_clzll(window) + 1;
		ago += span;
		index = end - span;
	}
}

/* Distance from @net_slot to the first slot open to no class; the table has one. */
static u32 reserved_ahead(const struct kpn_partition *partition, u64 net_slot)
{
	u32 index = kpn_index_of(partition, net_slot);
	u32 ahead = 0;

	for (;;) {
		u32 rest = partition->plane_slots - index;
		u32 span = rest < KPN_WORD_BITS ? rest : KPN_WORD_BITS;
		u64 window = kpn_partition_window(partition, KPN_PLANE_RESERVED, index);

		if (span < KPN_WORD_BITS)
			window &= (1ull << span) - 1;
		if (window)
			return ahead + kpn_lowest_bit(window);
		ahead += span;
		index = span == rest ? 0 : index + span;
	}
}

int kpn_pacer_set_partition(struct kpn_pacer *pacer, const struct kpn_partition *next,
			    u64 at_net_slot)
{
	u64 cpu_ns = kpn_cpu_now(pacer);
	u64 first = kpn_first_changeable(pacer, cpu_ns);
	u64 changed;

	if (!pacer->phase_locked ||
	    (pacer->config.trim == KPN_TRIM_RESERVED &&
	     (!next->gap_slots || next->gap_slots > pacer->posting.gap_slots_max)))
		return -KPN_EINVAL;
	/* The pending table has already given slots away that can no longer be changed. */
	if (pacer->frames.table[1].partition && pacer->frames.switch_seq < first)
		return -KPN_EBUSY;
	if (pacer->config.trim == KPN_TRIM_RESERVED &&
	    (s64)(at_net_slot - pacer->align.base - first) >= 0 &&
	    reserved_ago(pacer->frames.table[0].partition, at_net_slot) +
			    reserved_ahead(next, at_net_slot) >
		    pacer->posting.gap_slots_max)
		return -KPN_ERANGE;
	changed = pacer->frames.switch_seq;
	pacer->frames.switch_net_slot = at_net_slot;
	pacer->frames.table[1].partition = next;
	pacer->todo |= KPN_TODO_SWITCH;
	pacer->frames.left = pacer->config.budget_frames;
	kpn_place_switch(pacer, first);
	kpn_locate_tables(pacer);
	if (changed > pacer->frames.switch_seq)
		changed = pacer->frames.switch_seq;
	/* a frame that begins before it may reach into slots of the new table */
	if (changed - pacer->ring.head.seq < pacer->ring.slots)
		kpn_review_from(pacer, kpn_ring_start(&pacer->ring, changed));
	else
		kpn_review_from(pacer, changed);
	if (pacer->config.trim == KPN_TRIM_RESERVED) {
		pacer->todo |= KPN_TODO_TABLE;
		kpn_plan_from(pacer,
			      changed < pacer->ring.tail.seq ? changed : pacer->ring.tail.seq);
	}
	kpn_insert_due(pacer, cpu_ns);
	return 0;
}

const struct kpn_partition *kpn_pacer_partition(const struct kpn_pacer *pacer, bool next)
{
	return pacer->frames.table[next].partition;
}
