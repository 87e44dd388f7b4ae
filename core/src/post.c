// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The length of each slot: planned when the slot is posted, and again when the clock has changed
 * under posted slots. Planning goes from the nearest slot to the farthest, and only so far in one
 * call; the rest keeps its length until a later poll gets there (docs/model.md).
 */
#include "kpn_doubt.h"
#include "kpn_head.h"
#include "kpn_place.h"
#include "kpn_post.h"
#include "kpn_search.h"

/* First slot from ring.plan on, before @end, that is due for a trim it may get; or @end. */
static KPN_ALWAYS_INLINE u64 next_due(const struct kpn_pacer *pacer, u64 end)
{
	u64 seq = pacer->align.next_trim_seq;

	if (seq < pacer->ring.plan.seq)
		seq = pacer->ring.plan.seq;
	if (seq >= end)
		return end;
	if (pacer->config.trim == KPN_TRIM_ANY)
		return KPN_UNLIKELY(pacer->ring.span_count) ? kpn_ring_last(&pacer->ring, seq) :
							      seq;
	seq = kpn_find_reserved(pacer, seq, end);
	/* after a step or a switch, slots that are now open to no class may still hold a frame */
	while (KPN_UNLIKELY(pacer->ring.span_count && seq != end &&
			    kpn_ring_last(&pacer->ring, seq) != kpn_ring_start(&pacer->ring, seq)))
		seq = kpn_find_reserved(pacer, kpn_ring_last(&pacer->ring, seq) + 1, end);
	return seq;
}

static void set_length(struct kpn_pacer *pacer, const struct kpn_cursor *at, s64 delta_ps)
{
	const struct kpn_frame *frame = pacer->ring.slot[at->desc].frame;

	if (KPN_UNLIKELY(frame && frame->slots > 1))
		kpn_trim_span(pacer, at->desc, frame, delta_ps);
	else
		pacer->nic_ops.set_length(pacer->nic, at->desc,
					  kpn_slot_bytes_with(pacer, delta_ps));
	kpn_ring_set_delta(&pacer->ring, at->seq, at->desc, delta_ps);
}

/* Whether @frame fits its slot, or its slots, if these differ by @delta_ps. */
static bool holds(const struct kpn_pacer *pacer, const struct kpn_frame *frame, s64 delta_ps)
{
	if (KPN_UNLIKELY(frame->slots > 1))
		return delta_ps <= pacer->span.keep_ps && delta_ps >= -pacer->span.keep_ps;
	return frame->frame_bytes <= kpn_slot_bytes_with(pacer, delta_ps);
}

/*
 * A frame's slots, the last at @seq, are trimmed by less than @delta_ps; the next slots get the
 * rest. Each frame's trim exceeds the drift during it, so no slot gets further off the grid.
 */
static s64 trim_in_part(struct kpn_pacer *pacer, u64 seq, s64 delta_ps)
{
	if (pacer->align.lock_seq > seq)
		kpn_align_unlock(&pacer->align);
	kpn_align_replan(&pacer->align, seq + 1);
	return delta_ps < 0 ? -pacer->span.keep_ps : pacer->span.keep_ps;
}

/*
 * By how much the slot at @plan, due for a trim, shall differ. After a step or a switch it may
 * still hold a frame of its former class that needs all of it: then the next slot due is trimmed.
 */
static s64 trim_of(struct kpn_pacer *pacer, const struct kpn_cursor *plan)
{
	const struct kpn_frame *frame = pacer->ring.slot[plan->desc].frame;
	s64 delta_ps = kpn_align_trim(&pacer->align, &pacer->clock, plan->seq, plan->ps);

	if (KPN_LIKELY(!frame || holds(pacer, frame, delta_ps)))
		return delta_ps;
	if (frame->slots > 1)
		return trim_in_part(pacer, plan->seq, delta_ps);
	/* until then slots are off the grid by the trim left out here */
	kpn_align_unlock(&pacer->align);
	kpn_align_replan(&pacer->align, plan->seq + 1);
	return 0;
}

/*
 * struct storing - stores into slots that the NIC may fetch meanwhile
 * @looked_ns: when the clock was last read
 * @plan_ns, @store_ns: longest duration of planning one length, and of the store itself, in this
 *	call
 * @kept_end: slots before it keep their length
 * @doubtful_ps: sum of the length changes, up and down, of slots that may have been fetched with
 *	the old length
 */
struct storing {
	u64 looked_ns;
	u64 plan_ns;
	u64 store_ns;
	u64 kept_end;
	u64 doubtful_ps;
};

/*
 * Slots before @first keep lengths of another rate, base or table: the slots after them have to
 * reach the grid again.
 */
static void pass_over(struct kpn_pacer *pacer, u64 first)
{
	kpn_align_replan(&pacer->align, first);
	kpn_align_unlock(&pacer->align);
	if (pacer->todo & KPN_TODO_TABLE && pacer->frames.floor_seq < first)
		pacer->frames.floor_seq = first;
}

/* Read the clock. Return: time since the last reading */
static u64 look(const struct kpn_pacer *pacer, struct storing *storing)
{
	u64 before_ns = storing->looked_ns;

	storing->looked_ns = kpn_cpu_now(pacer);
	return storing->looked_ns - before_ns;
}

/*
 * Whether a store into the slot at ring.plan would be too late. If planning a slot takes longer
 * than sending one, the wire catches up: slots that it reaches before the next one is planned keep
 * their lengths.
 */
static KPN_NOINLINE bool is_too_near(struct kpn_pacer *pacer, struct storing *storing)
{
	u64 took_ns = look(pacer, storing);

	if (took_ns > storing->plan_ns)
		storing->plan_ns = took_ns;
	if (!kpn_fetched_by(pacer, pacer->ring.plan.seq,
			    storing->looked_ns + storing->store_ns + pacer->caps.store_ns_max))
		return false;
	storing->kept_end = kpn_first_changeable(pacer, storing->looked_ns + storing->plan_ns +
								storing->store_ns);
	pass_over(pacer, storing->kept_end);
	return true;
}

/*
 * The NIC may have fetched the slot at ring.plan with either length. A frame whose last fragment is
 * there is in doubt, as its FCS was stored after the length.
 */
static void doubt(struct kpn_pacer *pacer, struct storing *storing, s64 by_ps)
{
	struct kpn_ring *ring = &pacer->ring;
	struct kpn_slot *slot = &ring->slot[ring->plan.desc];

	storing->doubtful_ps += (u64)(by_ps < 0 ? -by_ps : by_ps);
	if (!slot->frame || slot->frame->slots < 2 ||
	    kpn_span_of(&pacer->span.rule, slot->frame->frame_bytes).last_bytes)
		return;
	slot->frame->verdict = KPN_VERDICT_IN_DOUBT;
	kpn_ring_unyield(ring, kpn_ring_desc(ring, slot->frame->seq));
}

/*
 * A length that differs by @by_ps was stored in the slot at ring.plan: check whether it came in
 * time.
 */
static KPN_NOINLINE void look_again(struct kpn_pacer *pacer, struct storing *storing, s64 by_ps)
{
	u64 took_ns = look(pacer, storing);

	if (took_ns > storing->store_ns)
		storing->store_ns = took_ns;
	if (kpn_fetched_by(pacer, pacer->ring.plan.seq,
			   storing->looked_ns + pacer->caps.store_ns_max))
		doubt(pacer, storing, by_ps);
}

/*
 * Set the lengths of slots from ring.plan on; at most trims_max of them change. Stores go from the
 * nearest slot to the farthest.
 * @storing: NULL: the NIC does not know of these slots yet
 */
static KPN_ALWAYS_INLINE void plan_lengths(struct kpn_pacer *pacer, struct storing *storing)
{
	struct kpn_ring *ring = &pacer->ring;
	struct kpn_cursor *plan = &ring->plan;
	u32 left = pacer->posting.trims_max;

	for (; plan->seq != ring->tail.seq && left; left--) {
		u64 due = next_due(pacer, ring->tail.seq);
		u64 trimmed = due;
		s64 delta_ps = 0;
		s64 was_ps;

		/* slots posted just now are nominal */
		if (plan->seq < ring->trimmed_end)
			trimmed = kpn_ring_next(ring, &ring->trimmed, plan->seq, due);
		kpn_ring_skip(ring, plan, trimmed);
		if (trimmed == ring->tail.seq)
			break;
		was_ps = ring->slot[plan->desc].delta_ps;
		if (storing && plan->seq < storing->kept_end) {
			kpn_ring_step(ring, plan, was_ps);
			continue;
		}
		if (trimmed == due)
			delta_ps = trim_of(pacer, plan);
		if (delta_ps != was_ps) {
			if (storing && is_too_near(pacer, storing))
				continue;
			set_length(pacer, plan, delta_ps);
			if (storing)
				look_again(pacer, storing, delta_ps - was_ps);
		}
		pacer->stats.trims += delta_ps != 0;
		kpn_ring_step(ring, plan, delta_ps);
	}
	if (plan->seq == ring->tail.seq)
		pacer->todo &= ~(u32)(KPN_TODO_PLAN | KPN_TODO_TABLE);
	else
		pacer->todo |= KPN_TODO_PLAN;
}

void kpn_post_planned(struct kpn_pacer *pacer, u32 count)
{
	struct kpn_ring *ring = &pacer->ring;

	ring->plan = ring->tail;
	kpn_ring_skip(ring, &ring->tail, ring->tail.seq + count);
	plan_lengths(pacer, NULL);
}

void kpn_post_up_to(struct kpn_pacer *pacer, u64 end)
{
	if (pacer->posting.post_seq < end)
		pacer->posting.post_seq = end;
	pacer->posting.posted_low = KPN_POST_NOW;
}

u32 kpn_more_count(struct kpn_pacer *pacer, u32 count)
{
	const struct kpn_ring *ring = &pacer->ring;
	u64 most = ring->head.seq + pacer->config.depth_slots + pacer->span.slots_max - 1;
	u64 end = pacer->posting.post_seq < most ? pacer->posting.post_seq : most;
	s64 more = (s64)(end - ring->tail.seq);

	/* more slots than the depth may be posted; none is added then */
	if (more < (s32)count)
		more = (s32)count;
	if (more < 0)
		more = 0;
	if (more > (s64)pacer->posting.rearm_max)
		more = pacer->posting.rearm_max;
	if (ring->tail.seq + (u64)more >= pacer->posting.post_seq)
		pacer->posting.posted_low = pacer->posting.usual_low;
	return (u32)more;
}

void kpn_rearm(struct kpn_pacer *pacer, u32 count)
{
	u32 end = pacer->ring.tail.desc;

	pacer->nic_ops.rearm(pacer->nic,
			     end < count ? end + pacer->ring.slots - count : end - count, count);
}

void kpn_plan_from(struct kpn_pacer *pacer, u64 from)
{
	struct kpn_ring *ring = &pacer->ring;

	if (!pacer->phase_locked)
		return;
	if (!(pacer->todo & KPN_TODO_PLAN) || from < ring->plan.seq)
		ring->plan = kpn_ring_at(ring, from);
	pacer->todo |= KPN_TODO_PLAN;
	kpn_align_replan(&pacer->align, ring->plan.seq);
}

void kpn_plan_on(struct kpn_pacer *pacer, u64 first, u64 looked_ns)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 cpu_ns = kpn_cpu_now(pacer);
	struct storing storing = { .looked_ns = cpu_ns, .store_ns = KPN_REPLAN_NS };

	if (!(pacer->todo & KPN_TODO_PLAN))
		return;
	if (cpu_ns - looked_ns > KPN_REPLAN_NS / 2)
		first = kpn_first_changeable(pacer, cpu_ns);
	if (ring->plan.seq < first) {
		ring->plan = kpn_ring_at(ring, first);
		pass_over(pacer, first);
	}
	plan_lengths(pacer, &storing);
	/* so far no position in the changed slots was read as the time */
	pacer->strip.end_ps = ring->tail.ps;
	/* the CPU was held up between reading the head and a store */
	if (KPN_UNLIKELY(storing.doubtful_ps))
		kpn_doubt_lengths(pacer, storing.doubtful_ps, ring->plan.seq);
}

/*
 * Work before the doorbell delays the wire by an unknown time, so the start time and the trims are
 * decided after the doorbell.
 */
u64 kpn_start_at_tail(struct kpn_pacer *pacer)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 start_ps = ring->tail.ps;
	u64 end = ring->head.seq + pacer->config.depth_slots;
	u64 before_ns;
	u64 after_ns;

	pacer->reading.restart_seq = ring->tail.seq;
	pacer->reading.steady_ps = start_ps;
	kpn_align_hold(&pacer->align);
	if (pacer->phase_locked)
		end = kpn_ring_next(ring, &ring->claimed, ring->tail.seq, end);
	if (end - ring->tail.seq > pacer->posting.rearm_max)
		end = ring->tail.seq + pacer->posting.rearm_max;
	kpn_post_count(pacer, (u32)(end - ring->tail.seq));
	before_ns = kpn_cpu_now(pacer);
	kpn_ring_doorbell(pacer);
	after_ns = kpn_cpu_now(pacer);
	kpn_strip_reset(&pacer->strip, after_ns + pacer->reading.tick_ns,
			start_ps - pacer->reading.restart_ps_max,
			start_ps + (after_ns + pacer->reading.tick_ns - before_ns) * 1001);
	pacer->strip.end_ps = ring->tail.ps;
	pacer->reading.doubtful_ps = 0;
	pacer->reading.progress_ns = after_ns;
	return before_ns + (after_ns - before_ns) / 2;
}
