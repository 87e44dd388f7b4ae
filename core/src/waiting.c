// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Frames that wait before the ring in the order of their class: best effort, which gets slots of
 * the lookahead only and, of a shaped class, as its credit allows; and frames with a txtime whose own
 * slot was not to be had.
 */
#include "kpn_fallback.h"
#include "kpn_head.h"
#include "kpn_pacer_state.h"
#include "kpn_place.h"
#include "kpn_recall.h"
#include "kpn_search.h"
#include "kpn_target.h"
#include "kpn_waiting.h"

enum { BEST_EFFORT_QUEUES = (1 << KPN_QUEUE_SCHEDULED) - 1 };

/* FILL_MORE: one left the queue; FILL_WAIT: none can; FILL_LATE: a slot was lost while copying */
enum fill {
	FILL_MORE,
	FILL_WAIT,
	FILL_LATE,
};

/*
 * As many slots from the head on as there may be frames in the ring, so that none is left empty for
 * others further ahead. If the first that can be changed is as far away, a few from there.
 */
static u64 best_effort_end(const struct kpn_pacer *pacer, const struct kpn_placement *placement)
{
	u64 least = placement->first_seq + pacer->frames.lookahead_min;
	u64 end = pacer->ring.head.seq + pacer->frames.lookahead_slots;

	if (end < least)
		end = least;
	return placement->end_seq < end ? placement->end_seq : end;
}

/*
 * The same for a frame that was just handed over: slots that have not been offered yet to what waits
 * of higher classes are not for it. Without a pre-buffer it would be lost instead.
 */
static u64 offered_end(const struct kpn_pacer *pacer, u8 tc, const struct kpn_placement *placement)
{
	u64 end = best_effort_end(pacer, placement);

	if (KPN_UNLIKELY((pacer->prebuffer.backlog & BEST_EFFORT_QUEUES) >> tc >> 1) &&
	    end > pacer->frames.offered_seq && pacer->config.prebuffer_frames)
		return pacer->frames.offered_seq;
	return end;
}

/* First slot for @frame, the next of its class: in its order, and as its credit allows. */
static u64 best_effort_from(const struct kpn_pacer *pacer, const struct kpn_frame *frame,
			    const struct kpn_placement *placement)
{
	u8 tc = frame->tc;
	u64 from = pacer->frames.cursor[tc];
	u64 first = kpn_first_for(pacer, frame, placement);

	if (from < first)
		from = first;
	if (KPN_UNLIKELY(pacer->frames.shaped >> tc & 1) &&
	    from < kpn_credit_seq(&pacer->frames.credit[tc]))
		from = kpn_credit_seq(&pacer->frames.credit[tc]);
	return from;
}

/* The next frame of the class comes after this one, in slot @seq. */
static void take_slot(struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 seq)
{
	pacer->frames.cursor[frame->tc] = seq + frame->slots;
	if (KPN_UNLIKELY(pacer->frames.shaped >> frame->tc & 1))
		kpn_credit_spend(&pacer->frames.credit[frame->tc], seq, frame->slots);
}

/* What a frame of several slots costs of the budget beyond one of a single slot. */
static void spend_more(struct kpn_pacer *pacer, const struct kpn_frame *frame)
{
	u32 slots;

	for (slots = frame->slots; KPN_UNLIKELY(slots > 1); slots--)
		kpn_spend(pacer);
}

/* Best effort of class @tc in its order: not before the last slot it got. */
static enum fill fill_best_effort(struct kpn_pacer *pacer, u8 tc,
				  const struct kpn_placement *placement)
{
	u64 end = best_effort_end(pacer, placement);
	struct kpn_frame *frame = pacer->prebuffer.first[tc];
	u64 seq = kpn_find_for(pacer, frame, best_effort_from(pacer, frame, placement), end, false);

	if (seq >= end || pacer->ring.yielding_count >= pacer->frames.yielding_max)
		return FILL_WAIT;
	kpn_prebuffer_take_first(&pacer->prebuffer, tc);
	spend_more(pacer, frame);
	if (kpn_place(pacer, frame, seq, KPN_VERDICT_BEST_EFFORT, placement)) {
		take_slot(pacer, frame, seq);
		return FILL_MORE;
	}
	kpn_prebuffer_put_back(&pacer->prebuffer, frame);
	return FILL_LATE;
}

/*
 * A frame with a txtime that found no slot instead of its own: it gets the first one that comes
 * into the window, as it would have if that had been there when it was handed over.
 */
static KPN_NOINLINE enum fill fill_scheduled(struct kpn_pacer *pacer, u8 tc,
					     const struct kpn_placement *placement)
{
	struct kpn_frame *frame =
		kpn_prebuffer_take_first(&pacer->prebuffer, KPN_QUEUE_SCHEDULED + tc);
	u64 target = kpn_target_of(pacer, frame);
	struct kpn_instead instead = kpn_slots_instead(pacer, tc, target, placement);

	/* since a step its own slot is still to come: those behind it need not wait for that */
	if (KPN_UNLIKELY((s64)(target - placement->end_seq) >= 0)) {
		kpn_hold_again(pacer, frame);
		return FILL_MORE;
	}
	if (kpn_place_later(pacer, frame, instead.from, instead.end, placement)) {
		spend_more(pacer, frame);
		return FILL_MORE;
	}
	if (instead.last) {
		pacer->frames.hurry_ns /= 2;
		/* one that a step took out of its slot says so */
		kpn_end_frame(pacer, frame,
			      frame->verdict == KPN_VERDICT_STEPPED ? KPN_VERDICT_STEPPED :
								      KPN_VERDICT_NO_SLOT);
		return FILL_MORE;
	}
	kpn_prebuffer_put_back(&pacer->prebuffer, frame);
	return FILL_WAIT;
}

/* What waits in a queue, in its order. */
static enum fill fill_queue(struct kpn_pacer *pacer, u8 queue,
			    const struct kpn_placement *placement)
{
	struct kpn_prebuffer *prebuffer = &pacer->prebuffer;
	u8 tc = queue % KPN_CLASS_COUNT;
	enum fill fill;

	while (prebuffer->backlog >> queue & 1 && pacer->frames.left) {
		if (KPN_UNLIKELY(!kpn_has_slots(pacer, tc))) {
			kpn_end_frame(pacer, kpn_prebuffer_take_first(prebuffer, queue),
				      KPN_VERDICT_NOT_ALLOWED);
			kpn_spend(pacer);
			continue;
		}
		if (KPN_UNLIKELY(prebuffer->first[queue]->slots > kpn_row_max(pacer, tc))) {
			kpn_end_frame(pacer, kpn_prebuffer_take_first(prebuffer, queue),
				      KPN_VERDICT_OVERSIZE);
			kpn_spend(pacer);
			continue;
		}
		if (KPN_UNLIKELY(queue >= KPN_QUEUE_SCHEDULED))
			fill = fill_scheduled(pacer, tc, placement);
		else
			fill = fill_best_effort(pacer, tc, placement);
		if (fill != FILL_WAIT)
			kpn_spend(pacer);
		if (fill != FILL_MORE)
			return fill;
	}
	return FILL_WAIT;
}

void kpn_fill(struct kpn_pacer *pacer, u64 cpu_ns)
{
	u32 waiting = pacer->prebuffer.backlog;
	struct kpn_placement placement = kpn_unhurried_at(pacer, cpu_ns);
	u64 end = best_effort_end(pacer, &placement);

	while (waiting && pacer->frames.left) {
		u8 queue = (u8)(31 - __builtin_clz(waiting));

		/* what was lost has cost a frame of the budget */
		if (fill_queue(pacer, queue, &placement) == FILL_LATE)
			placement = kpn_unhurried_at(pacer, kpn_cpu_now(pacer));
		else
			waiting &= ~(1u << queue);
	}
	if (!waiting)
		pacer->frames.offered_seq = end;
}

enum kpn_verdict kpn_submit_best_effort(struct kpn_pacer *pacer, struct kpn_frame *frame,
					u64 cpu_ns)
{
	struct kpn_placement placement = kpn_unhurried_at(pacer, cpu_ns);
	bool behind = pacer->prebuffer.backlog >> frame->tc & 1;

	/* neither before the ring nor in it, where it can still be changed, a frame of the class waits */
	if (KPN_UNLIKELY(pacer->frames.shaped >> frame->tc & 1) && !behind &&
	    pacer->frames.cursor[frame->tc] <= placement.first_seq)
		kpn_credit_rest(&pacer->frames.credit[frame->tc], placement.first_seq);
	if (placement.valid && !behind && pacer->ring.yielding_count < pacer->frames.yielding_max) {
		u64 end = offered_end(pacer, frame->tc, &placement);
		u64 seq = kpn_find_for(pacer, frame, best_effort_from(pacer, frame, &placement),
				       end, false);

		if (seq < end &&
		    kpn_place(pacer, frame, seq, KPN_VERDICT_BEST_EFFORT, &placement)) {
			take_slot(pacer, frame, seq);
			return KPN_VERDICT_PENDING;
		}
		if (seq >= end && !(pacer->prebuffer.backlog & BEST_EFFORT_QUEUES))
			pacer->frames.offered_seq = end;
	}
	if (!pacer->running) /* the strip is not valid then */
		return KPN_VERDICT_FLUSHED;
	if (!kpn_prebuffer_append(&pacer->prebuffer, frame))
		return pacer->config.prebuffer_frames ? KPN_VERDICT_NO_ROOM : KPN_VERDICT_NO_SLOT;
	return KPN_VERDICT_PENDING;
}

/* Credit of class @tc from the next slot on that can still be its own. */
static int begin_credit(struct kpn_pacer *pacer, u8 tc, u64 idle_slope_bps, u32 high_bytes)
{
	u64 since = kpn_first_changeable(pacer, kpn_cpu_now(pacer));
	struct kpn_credit credit;
	int error;

	if (since < pacer->frames.cursor[tc])
		since = pacer->frames.cursor[tc];
	error = kpn_credit_init(&credit, pacer->config.rate_bps,
				kpn_wire_bytes(pacer->config.slot_bytes), idle_slope_bps,
				high_bytes, since);
	if (error)
		return error;
	/* what was sent under another slope is paid for first */
	if (pacer->frames.shaped >> tc & 1)
		kpn_credit_carry(&credit, &pacer->frames.credit[tc]);
	pacer->frames.credit[tc] = credit;
	return 0;
}

int kpn_pacer_set_credit(struct kpn_pacer *pacer, u8 tc, u64 idle_slope_bps, u32 high_bytes)
{
	int error = 0;

	if (tc >= KPN_CLASS_COUNT)
		return -KPN_EINVAL;
	if (idle_slope_bps)
		error = begin_credit(pacer, tc, idle_slope_bps, high_bytes);
	if (error)
		return error;
	/* what waits may be sent before what the last slope allowed */
	if (pacer->frames.shaped >> tc & 1)
		pacer->frames.offered_seq = 0;
	pacer->frames.shaped &= ~(1u << tc);
	if (idle_slope_bps)
		pacer->frames.shaped |= 1u << tc;
	return 0;
}
