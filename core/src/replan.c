// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The clock has changed under posted slots: new lengths for the slots, new slots for their frames.
 */
#include "kpn_insert.h"
#include "kpn_post.h"
#include "kpn_recall.h"
#include "kpn_replan.h"
#include "kpn_search.h"
#include "kpn_target.h"

void kpn_plan_again(struct kpn_pacer *pacer, u64 from, u64 cpu_ns)
{
	if (pacer->phase_locked) {
		u64 start_ps = kpn_ring_at(&pacer->ring, from).ps;

		if (kpn_align_choose_base(&pacer->align, &pacer->clock, from, start_ps)) {
			pacer->frames.step_seq = from;
			pacer->frames.floor_seq = from;
			if (pacer->config.trim == KPN_TRIM_RESERVED)
				pacer->todo |= KPN_TODO_TABLE;
			kpn_place_switch(pacer, from);
			kpn_locate_tables(pacer);
			kpn_recall_yielding(pacer, ~0u, from, &pacer->stats.recalled);
			kpn_review_from(pacer, from);
		}
		kpn_align_unlock(&pacer->align);
		kpn_plan_from(pacer, from);
		kpn_plan_on(pacer, from, cpu_ns);
	} else {
		/* frames keep their slots (B9), whose instants have changed */
		pacer->frames.step_seq = pacer->ring.head.seq + pacer->ring.slots;
	}
	kpn_insert_rekey(pacer);
	kpn_insert_due(pacer, cpu_ns);
}

void kpn_step(struct kpn_pacer *pacer, u64 from, u64 cpu_ns)
{
	pacer->stats.steps++;
	kpn_plan_again(pacer, from, cpu_ns);
	kpn_emit(pacer, KPN_EVENT_STEP);
}

/* The magnitude of a rate in parts per billion, rounded up. */
static u32 ppb_of(s64 scaled_ppm)
{
	u64 magnitude = scaled_ppm < 0 ? 0 - (u64)scaled_ppm : (u64)scaled_ppm;

	return (u32)(magnitude * 1000 >> 16) + 1;
}

static bool beyond(const struct kpn_pacer *pacer, u64 seq, u64 bound_ps)
{
	return kpn_align_beyond(&pacer->align, &pacer->clock, seq,
				kpn_ring_at(&pacer->ring, seq).ps, bound_ps);
}

/*
 * From slot @first on lengths follow a new rate, which differs by @change_ppb. *@change_ppb becomes
 * the greatest change that slots from @wire_seq on have seen. Return: false if they have seen too
 * many.
 */
static bool note_rate_change(struct kpn_pacer *pacer, u64 wire_seq, u64 first, u32 *change_ppb)
{
	u64 *room = NULL;
	u32 i;

	for (i = 0; i < KPN_RATE_CHANGES; i++) {
		if (pacer->frames.rate_change_seq[i] <= wire_seq)
			room = &pacer->frames.rate_change_seq[i];
		else if (*change_ppb < pacer->frames.rate_change_ppb)
			*change_ppb = pacer->frames.rate_change_ppb;
	}
	pacer->frames.rate_change_ppb = *change_ppb;
	if (!room)
		return false;
	*room = first;
	return true;
}

bool kpn_leaves_grid(struct kpn_pacer *pacer, s64 before_ppm, u64 first, u64 cpu_ns)
{
	const struct kpn_ring *ring = &pacer->ring;
	struct kpn_head head = kpn_pacer_head(pacer, cpu_ns);
	u32 rate_ppb = ppb_of(pacer->clock.scaled_ppm);
	u32 change_ppb = ppb_of(pacer->clock.scaled_ppm - before_ppm);
	u64 wire_seq = ring->head.seq;
	u64 bound_ps;
	u32 i;

	if (head.valid)
		wire_seq = kpn_ring_seq_at(ring, head.wire.lower_ps).seq;
	if (!note_rate_change(pacer, wire_seq, first, &change_ppb) || !head.valid)
		return true;
	if (rate_ppb < ppb_of(before_ppm))
		rate_ppb = ppb_of(before_ppm);
	bound_ps = kpn_pacer_bounds(pacer, rate_ppb, change_ppb).boundary_error_ps;
	if (bound_ps > pacer->time.slot_ps / 2)
		bound_ps = pacer->time.slot_ps / 2;
	for (i = 0; i < KPN_RATE_CHANGES; i++) {
		u64 seq = pacer->frames.rate_change_seq[i];

		if (seq > wire_seq && seq <= ring->tail.seq && beyond(pacer, seq, bound_ps))
			return true;
	}
	return beyond(pacer, wire_seq, bound_ps);
}

void kpn_do_todo(struct kpn_pacer *pacer, u64 cpu_ns)
{
	bool due = pacer->frames.heap_due_seq != KPN_SEQ_NEVER &&
		   (s64)(pacer->frames.heap_due_seq - pacer->ring.head.seq) <
			   (s64)pacer->frames.window_slots;

	if (pacer->todo & KPN_TODO_SWITCH && pacer->ring.head.seq >= pacer->frames.switch_seq)
		kpn_switch_tables(pacer);
	if (pacer->todo & KPN_TODO_PLAN)
		kpn_plan_on(pacer, 0, cpu_ns - KPN_REPLAN_NS);
	if (due || pacer->prebuffer.backlog || pacer->todo & KPN_TODO_REVIEW)
		kpn_insert_due(pacer, cpu_ns);
}
