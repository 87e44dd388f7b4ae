// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Frames: whether a frame can have the slot of its txtime, and all possible outcomes of a frame
 * (KeepON paper sections 3.3 and 5). Sees clock, ring and partition together.
 */
#include "kpn_fallback.h"
#include "kpn_head.h"
#include "kpn_insert.h"
#include "kpn_place.h"
#include "kpn_post.h"
#include "kpn_recall.h"
#include "kpn_search.h"
#include "kpn_target.h"
#include "kpn_waiting.h"

enum { FRAME_BYTES_LEAST = 18 }; /* two addresses, a type, an FCS */

static enum kpn_verdict end_now(struct kpn_pacer *pacer, enum kpn_verdict verdict)
{
	pacer->stats.verdicts[verdict]++;
	return verdict;
}

/*
 * The frame cannot have the slot of its txtime: do what the late policy of its class says. Relaxed
 * frames wait for slots that are still to come into the window, up to one ring after their own.
 */
static KPN_NOINLINE enum kpn_verdict place_elsewhere(struct kpn_pacer *pacer,
						     struct kpn_frame *frame, u64 target,
						     u64 cpu_ns, enum kpn_verdict verdict)
{
	struct kpn_placement placement;
	struct kpn_fallback other;

	placement = kpn_placement_with_margin(pacer, cpu_ns);
	other = kpn_fallback_slots(pacer, frame->tc, target, &placement);
	if (other.last && other.from == other.end) {
		/* halve the margin, or one slow copy would make every later frame late */
		pacer->frames.insert_margin_ns /= 2;
		return verdict;
	}
	if (kpn_place_later(pacer, frame, other.from, other.end, &placement))
		return KPN_VERDICT_PENDING;
	if (other.last)
		return KPN_VERDICT_NO_SLOT;
	if (!kpn_prebuffer_append(&pacer->prebuffer, frame))
		return pacer->config.prebuffer_frames ? KPN_VERDICT_NO_ROOM : KPN_VERDICT_NO_SLOT;
	return KPN_VERDICT_PENDING;
}

/*
 * Whether @frame has to wait because the tail is within its slots, from @target on: some are posted
 * and others are not. The next poll posts them all.
 */
static bool waits_for_tail(struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 target)
{
	u64 end = target + frame->slots;

	if (KPN_LIKELY(frame->slots == 1) || target >= pacer->ring.tail.seq ||
	    end <= pacer->ring.tail.seq)
		return false;
	kpn_post_up_to(pacer, end);
	return true;
}

/* place_own_inline() of a frame of several slots, all of them posted or none */
static KPN_NOINLINE enum kpn_verdict place_own_span(struct kpn_pacer *pacer,
						    struct kpn_frame *frame, u64 target,
						    const struct kpn_placement *placement)
{
	if (!kpn_row_allowed(pacer, target, frame->slots, frame->tc))
		return KPN_VERDICT_NOT_ALLOWED;
	if (!kpn_vacate_for(pacer, frame, target))
		return KPN_VERDICT_OCCUPIED;
	/* slots trimmed by so much are not on the grid */
	if (!kpn_row_fits(pacer, target, frame->slots))
		return KPN_VERDICT_UNLOCKED;
	if (kpn_place_span(pacer, frame, target, KPN_VERDICT_ON_TIME, placement, 0))
		return KPN_VERDICT_PENDING;
	return KPN_VERDICT_LATE;
}

/*
 * Place a frame in the slot of its txtime, before the end of the window. @spans: it takes several
 * slots. Return: pending, or the verdict.
 */
static KPN_ALWAYS_INLINE enum kpn_verdict place_own_inline(struct kpn_pacer *pacer,
							   struct kpn_frame *frame, u64 target,
							   const struct kpn_placement *placement,
							   bool spans)
{
	if (KPN_UNLIKELY((s64)(target - placement->first_seq) < 0))
		return KPN_VERDICT_LATE;
	if (KPN_UNLIKELY(target < kpn_lock_seq_of(pacer)))
		return KPN_VERDICT_UNLOCKED;
	if (spans)
		return place_own_span(pacer, frame, target, placement);
	if (!kpn_allowed_in(pacer, target, frame->tc))
		return KPN_VERDICT_NOT_ALLOWED;
	if (!kpn_vacate(pacer, target))
		return KPN_VERDICT_OCCUPIED;
	if (kpn_place_inline(pacer, frame, target, KPN_VERDICT_ON_TIME, placement, 0))
		return KPN_VERDICT_PENDING;
	return KPN_VERDICT_LATE; /* the slot was lost while copying */
}

/* The same out of line, for frames that were held back. */
static KPN_NOINLINE enum kpn_verdict place_own(struct kpn_pacer *pacer, struct kpn_frame *frame,
					       u64 target, const struct kpn_placement *placement)
{
	return place_own_inline(pacer, frame, target, placement, frame->slots > 1);
}

/*
 * A frame that was held back cannot have its own slot. If another slot will do, the frame waits
 * until the frames due now have had their slots. Return: false if no other slot will do, or the
 * queue of its class is full.
 */
static bool wait_for_another(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 target,
			     const struct kpn_placement *placement)
{
	struct kpn_fallback other;

	other = kpn_fallback_slots(pacer, frame->tc, target, placement);
	if (other.last && other.from == other.end)
		return false;
	return kpn_prebuffer_append(&pacer->prebuffer, frame);
}

static KPN_NOINLINE enum kpn_verdict hold(struct kpn_pacer *pacer, struct kpn_frame *frame,
					  u64 target, enum kpn_verdict otherwise)
{
	if (!pacer->config.prebuffer_frames ||
	    (s64)(target - pacer->ring.head.seq) > (s64)pacer->frames.horizon_slots)
		return otherwise;
	frame->verdict = KPN_VERDICT_PENDING;
	if (!kpn_prebuffer_schedule(&pacer->prebuffer, frame))
		return KPN_VERDICT_NO_ROOM;
	pacer->stats.prebuffered++;
	if (kpn_prebuffer_earliest(&pacer->prebuffer) == frame)
		kpn_insert_rekey(pacer);
	return KPN_VERDICT_PENDING;
}

/* The position of the wire is unknown: the frame waits, if it can. */
static KPN_NOINLINE enum kpn_verdict submit_blindly(struct kpn_pacer *pacer,
						    struct kpn_frame *frame)
{
	if (!pacer->running)
		return KPN_VERDICT_FLUSHED;
	return hold(pacer, frame, kpn_target_of(pacer, frame), KPN_VERDICT_UNSYNCHRONISED);
}

static KPN_ALWAYS_INLINE enum kpn_verdict
submit_scheduled(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 cpu_ns, bool spans)
{
	struct kpn_placement placement;
	enum kpn_verdict verdict;
	u64 target;

	if (KPN_UNLIKELY(!kpn_head_is_believed(pacer)))
		return submit_blindly(pacer, frame);
	placement = kpn_placement_from(pacer, kpn_first_valid_seq_at(pacer, cpu_ns), cpu_ns, true);
	target = kpn_target_of(pacer, frame);
	if ((s64)(target - placement.end_seq) >= 0)
		return hold(pacer, frame, target, KPN_VERDICT_TOO_EARLY);
	/* frames submitted before it are due, too, and have not had their turn yet */
	if (KPN_UNLIKELY(target >= pacer->frames.heap_due_seq) &&
	    (s64)(target - placement.first_seq) >= 0 && pacer->config.prebuffer_frames)
		return hold(pacer, frame, target, KPN_VERDICT_NO_ROOM);
	if (spans && waits_for_tail(pacer, frame, target))
		return hold(pacer, frame, target, KPN_VERDICT_NO_ROOM);
	verdict = place_own_inline(pacer, frame, target, &placement, spans);
	if (KPN_LIKELY(verdict == KPN_VERDICT_PENDING))
		return verdict;
	frame->verdict = KPN_VERDICT_PENDING;
	return place_elsewhere(pacer, frame, target, cpu_ns, verdict);
}

static KPN_ALWAYS_INLINE enum kpn_verdict submit(struct kpn_pacer *pacer, struct kpn_frame *frame,
						 bool spans)
{
	if (KPN_UNLIKELY(!kpn_has_slots(pacer, frame->tc)))
		return KPN_VERDICT_NOT_ALLOWED;
	if (!(frame->flags & KPN_FRAME_TXTIME))
		return kpn_submit_best_effort(pacer, frame, kpn_cpu_now(pacer));
	if (KPN_UNLIKELY(frame->txtime_ns < 0))
		return KPN_VERDICT_INVALID;
	return submit_scheduled(pacer, frame, kpn_cpu_now(pacer), spans);
}

/* A frame that does not fit one slot, or is malformed. */
static KPN_NOINLINE enum kpn_verdict submit_long(struct kpn_pacer *pacer, struct kpn_frame *frame)
{
	if (frame->frame_bytes < FRAME_BYTES_LEAST || frame->tc >= KPN_CLASS_COUNT ||
	    ((frame->flags & KPN_FRAME_TXTIME) && frame->txtime_ns < 0))
		return KPN_VERDICT_INVALID;
	if (frame->frame_bytes > pacer->config.frame_bytes_max || pacer->span.slots_max < 2)
		return KPN_VERDICT_OVERSIZE;
	if (!kpn_has_slots(pacer, frame->tc))
		return KPN_VERDICT_NOT_ALLOWED;
	frame->slots = (u8)kpn_span_of(&pacer->span.rule, frame->frame_bytes).slots;
	if (frame->slots > kpn_row_max(pacer, frame->tc))
		return KPN_VERDICT_OVERSIZE;
	return submit(pacer, frame, true);
}

enum kpn_verdict kpn_pacer_submit(struct kpn_pacer *pacer, struct kpn_frame *frame)
{
	enum kpn_verdict verdict;

	pacer->stats.submitted++;
	pacer->frames.left = pacer->config.budget_frames;
	frame->slots = 1;
	if (KPN_UNLIKELY((u32)frame->frame_bytes - FRAME_BYTES_LEAST >
				 pacer->frames.real_bytes_max - FRAME_BYTES_LEAST ||
			 frame->tc >= KPN_CLASS_COUNT))
		verdict = submit_long(pacer, frame);
	else
		verdict = submit(pacer, frame, false);
	if (verdict != KPN_VERDICT_PENDING)
		return end_now(pacer, verdict);
	pacer->frames.pending++;
	return verdict;
}

/* End a frame that was held back and cannot be sent; STEPPED if a step took its slot away. */
static void end_held(struct kpn_pacer *pacer, struct kpn_frame *frame, bool recalled,
		     enum kpn_verdict verdict)
{
	kpn_end_frame(pacer, frame, recalled ? KPN_VERDICT_STEPPED : verdict);
}

void kpn_insert_due(struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct kpn_prebuffer *prebuffer = &pacer->prebuffer;
	struct kpn_placement placement = kpn_placement_at(pacer, cpu_ns);
	u32 waiting = 0;

	if (!placement.valid)
		return;
	if (KPN_UNLIKELY(pacer->todo & KPN_TODO_REVIEW))
		kpn_review(pacer, cpu_ns);
	/* keep as much of the budget as the frames need that now wait for another slot */
	while (prebuffer->heap_count && pacer->frames.left > waiting &&
	       (s64)(pacer->frames.heap_due_seq - placement.end_seq) < 0) {
		struct kpn_frame *frame = kpn_prebuffer_earliest(prebuffer);
		bool recalled = frame->verdict == KPN_VERDICT_STEPPED;
		enum kpn_verdict verdict;

		if (waits_for_tail(pacer, frame, pacer->frames.heap_due_seq))
			break;
		kpn_prebuffer_take_earliest(prebuffer);
		/* before the frame is placed: making room for it costs budget, too */
		pacer->frames.left -=
			pacer->frames.left < frame->slots ? pacer->frames.left : frame->slots;
		verdict = place_own(pacer, frame, pacer->frames.heap_due_seq, &placement);
		if (KPN_UNLIKELY(verdict != KPN_VERDICT_PENDING)) {
			if (wait_for_another(pacer, frame, pacer->frames.heap_due_seq,
					     &placement)) {
				waiting++;
				verdict = KPN_VERDICT_PENDING;
			} else {
				verdict = place_elsewhere(pacer, frame, pacer->frames.heap_due_seq,
							  cpu_ns, verdict);
			}
		}
		if (verdict != KPN_VERDICT_PENDING)
			end_held(pacer, frame, recalled, verdict);
		kpn_insert_rekey(pacer);
	}
	if (prebuffer->backlog && pacer->frames.left)
		kpn_fill(pacer, cpu_ns);
}
