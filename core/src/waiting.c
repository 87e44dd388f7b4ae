// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Frames that wait before the ring in the order of their class: best effort (in slots of the
 * lookahead, shaped classes by credit), and frames with a txtime that could not have their own
 * slot.
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

/*
 * FILL_MORE: a frame left the queue; FILL_WAIT: no frame can; FILL_LATE: a slot was lost while
 * copying
 */
enum fill {
	FILL_MORE,
	FILL_WAIT,
	FILL_LATE,
};

/*
 * Best effort gets lookahead_slots slots from the head on, so that no near slot stays empty while
 * frames go further ahead; at least lookahead_min from the first slot that can be changed.
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
 * The same for a frame that was just submitted: slots not yet offered to waiting frames of higher
 * classes are not for it. Without a pre-buffer it gets them, since it would be lost otherwise.
 */
static u64 offered_end(const struct kpn_pacer *pacer, u8 tc, const struct kpn_placement *placement)
{
	u64 end = best_effort_end(pacer, placement);

	if (KPN_UNLIKELY((pacer->prebuffer.backlog & BEST_EFFORT_QUEUES) >> tc >> 1) &&
	    end > pacer->frames.offered_seq && pacer->config.prebuffer_frames)
		return pacer->frames.offered_seq;
	return end;
}

/*
 * First slot for @frame, the next of its class: after the class's last slot, and as its credit
 * allows.
 */
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

/* This frame has slot @seq; the next of its class comes after it. */
static void take_slot(struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 seq)
{
	pacer->frames.cursor[frame->tc] = seq + frame->slots;
	if (KPN_UNLIKELY(pacer->frames.shaped >> frame->tc & 1))
		kpn_credit_spend(&pacer->frames.credit[frame->tc], seq, frame->slots);
}

/* Budget of a frame of several slots beyond that of a single slot. */
static void spend_more(struct kpn_pacer *pacer, const struct kpn_frame *frame)
{
	u32 slots;

	for (slots = frame->slots; KPN_UNLIKELY(slots > 1); slots--)
		kpn_spend(pacer);
}

/* Place the next best effort of class @tc, not before the last slot the class got. */
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
 * Place a frame with a txtime that found no slot in place of its own: it gets the first free slot
 * that comes into the window, as if that slot had been there when the frame was submitted.
 */
static KPN_NOINLINE enum fill fill_scheduled(struct kpn_pacer *pacer, u8 tc,
					     const struct kpn_placement *placement)
{
	struct kpn_frame *frame =
		kpn_prebuffer_take_first(&pacer->prebuffer, KPN_QUEUE_SCHEDULED + tc);
	u64 target = kpn_target_of(pacer, frame);
	struct kpn_fallback other = kpn_fallback_slots(pacer, tc, target, placement);

	/* a step moved its own slot into the future: the frames after it need not wait for that */
	if (KPN_UNLIKELY((s64)(target - placement->end_seq) >= 0)) {
		kpn_hold_again(pacer, frame);
		return FILL_MORE;
	}
	if (kpn_place_later(pacer, frame, other.from, other.end, placement)) {
		spend_more(pacer, frame);
		return FILL_MORE;
	}
	if (other.last) {
		pacer->frames.insert_margin_ns /= 2;
		/* STEPPED if a step took its slot away */
		kpn_end_frame(pacer, frame,
			      frame->verdict == KPN_VERDICT_STEPPED ? KPN_VERDICT_STEPPED :
								      KPN_VERDICT_NO_SLOT);
		return FILL_MORE;
	}
	kpn_prebuffer_put_back(&pacer->prebuffer, frame);
	return FILL_WAIT;
}

/* Place the frames of a queue, in their order. */
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
	struct kpn_placement placement = kpn_placement_with_margin(pacer, cpu_ns);
	u64 end = best_effort_end(pacer, &placement);

	while (waiting && pacer->frames.left) {
		u8 queue = (u8)(31 - __builtin_clz(waiting));

		/* the lost slot has cost a frame of the budget */
		if (fill_queue(pacer, queue, &placement) == FILL_LATE)
			placement = kpn_placement_with_margin(pacer, kpn_cpu_now(pacer));
		else
			waiting &= ~(1u << queue);
	}
	if (!waiting)
		pacer->frames.offered_seq = end;
}

enum kpn_verdict kpn_submit_best_effort(struct kpn_pacer *pacer, struct kpn_frame *frame,
					u64 cpu_ns)
{
	struct kpn_placement placement = kpn_placement_with_margin(pacer, cpu_ns);
	bool behind = pacer->prebuffer.backlog >> frame->tc & 1;

	/* no frame of the class waits, neither before the ring nor in changeable slots of it */
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

/* Start the credit of class @tc at its next slot that can still be changed. */
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
	/* frames sent under the old slope are paid for first */
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
	/* waiting frames may be sent earlier than the last slope allowed */
	if (pacer->frames.shaped >> tc & 1)
		pacer->frames.offered_seq = 0;
	pacer->frames.shaped &= ~(1u << tc);
	if (idle_slope_bps)
		pacer->frames.shaped |= 1u << tc;
	return 0;
}
