// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Frames: whether the slot of a txtime may be had, and everything that can become of a frame
 * (KeepON paper sections 3.3 and 5). Sees clock, ring and partition together.
 */
#include "kpn_doubt.h"
#include "kpn_head.h"
#include "kpn_insert.h"
#include "kpn_padding.h"
#include "kpn_search.h"
#include "kpn_target.h"

enum {
	FRAME_BYTES_LEAST = 18, /* two addresses, a type, an FCS */
	PLACE_TRIES = 2, /* slots that may be lost while a frame is copied before it gives up */
};

static enum kpn_verdict end_now(struct kpn_pacer *pacer, enum kpn_verdict verdict)
{
	pacer->stats.verdicts[verdict]++;
	return verdict;
}

/*
 * Whether slot @seq of a placement is lost by now, or will be in @ahead_ns and the time of a store.
 */
static inline bool lost(const struct kpn_pacer *pacer, u64 seq,
			const struct kpn_placement *placement, u64 ahead_ns)
{
	u64 cpu_ns = kpn_cpu_now(pacer) + ahead_ns + pacer->caps.store_ns_max;

	return KPN_UNLIKELY(cpu_ns > placement->until_ns) && kpn_lost_by(pacer, seq, cpu_ns);
}

/*
 * Length of the slot in @desc; what does not hold the frame yet (planning has not come so far)
 * becomes nominal first.
 */
static inline u32 length_for(struct kpn_pacer *pacer, u64 seq, u32 desc, u32 frame_bytes)
{
	s64 delta_ps = pacer->ring.slot[desc].delta_ps;
	u32 slot_bytes;

	if (KPN_LIKELY(!delta_ps))
		return pacer->config.slot_bytes;
	slot_bytes = kpn_slot_bytes_with(pacer, delta_ps);
	if (KPN_LIKELY(slot_bytes >= frame_bytes))
		return slot_bytes;
	KPN_ASSERT(pacer->todo & KPN_TODO_PLAN && seq >= pacer->ring.plan.seq);
	kpn_ring_set_delta(&pacer->ring, seq, desc, 0);
	pacer->strip.end_ps = pacer->ring.tail.ps;
	return pacer->config.slot_bytes;
}

/*
 * Copy first, then one store makes the slot real: the NIC never fetches half a frame (C19). Copying
 * took time, so just before that store the head is asked for once more. Return: false if the slot
 * is no longer to be had; a placeholder it has remained, whose bytes nobody receives.
 */
static KPN_ALWAYS_INLINE bool place_inline(struct kpn_pacer *pacer, struct kpn_frame *frame,
					   u64 seq, enum kpn_verdict verdict,
					   const struct kpn_placement *placement, u64 ahead_ns)
{
	u32 desc = kpn_ring_desc(&pacer->ring, seq);
	u32 data_bytes = frame->frame_bytes - KPN_FCS_BYTES;
	u32 written_bytes = data_bytes;
	u8 *buffer = pacer->nic_ops.buffer(pacer->nic, desc);
	s64 delta_ps;

	kpn_copy_frame(buffer, frame->data, data_bytes);
	if (KPN_UNLIKELY(pacer->old_bytes))
		written_bytes = kpn_pad(pacer, buffer, desc, data_bytes);
	if (KPN_UNLIKELY(lost(pacer, seq, placement, ahead_ns))) {
		/* nothing of it is written back yet: the next frame here has to say all of it */
		if (pacer->old_bytes)
			pacer->old_bytes[desc] = (u16)written_bytes;
		kpn_retire(pacer, desc, kpn_slot_bytes_with(pacer, pacer->ring.slot[desc].delta_ps),
			   data_bytes);
		return false;
	}
	delta_ps = pacer->ring.slot[desc].delta_ps;
	pacer->nic_ops.commit(pacer->nic, desc, length_for(pacer, seq, desc, frame->frame_bytes),
			      data_bytes, written_bytes);
	if (KPN_UNLIKELY(kpn_may_be_fetched(pacer, seq, placement->until_ns))) {
		verdict = KPN_VERDICT_IN_DOUBT;
		/* what did not hold it is a slot that was shortened */
		if (pacer->ring.slot[desc].delta_ps != delta_ps)
			kpn_doubt_lengths(pacer, (u64)-delta_ps, seq + 1);
	}
	frame->seq = seq;
	frame->verdict = (u8)verdict;
	kpn_ring_claim(&pacer->ring, seq, desc, frame, verdict == KPN_VERDICT_BEST_EFFORT);
	return true;
}

/*
 * A slot was lost while its frame was copied: the next frames get ones as much further ahead, and
 * as much again.
 */
static KPN_NOINLINE void hurry_less(struct kpn_pacer *pacer, const struct kpn_placement *placement)
{
	s64 late_ns = (s64)(kpn_cpu_now(pacer) + KPN_STORE_NS + pacer->caps.store_ns_max -
			    placement->cpu_ns);
	u64 ahead_ns = pacer->hurry_ns + (late_ns > 0 ? 2 * (u64)late_ns : 0);

	pacer->hurry_ns = ahead_ns < KPN_HURRY_NS_MAX ? (u32)ahead_ns : KPN_HURRY_NS_MAX;
}

/* The same for all but the usual: a scheduled frame in its own slot. */
KPN_NOINLINE bool kpn_place(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq,
			    enum kpn_verdict verdict, const struct kpn_placement *placement)
{
	if (KPN_UNLIKELY(!place_inline(pacer, frame, seq, verdict, placement, KPN_STORE_NS))) {
		hurry_less(pacer, placement);
		return false;
	}
	/* a CPU that was held up once is not slow for ever */
	pacer->hurry_ns -= pacer->hurry_ns / 8;
	return true;
}

/* Whether a scheduled frame can have slot @seq, whose holder makes room if it must. */
static KPN_NOINLINE bool make_room(struct kpn_pacer *pacer, u64 seq)
{
	const struct kpn_frame *holder = kpn_ring_frame(&pacer->ring, seq);

	if (kpn_bits_test(&pacer->ring.yielding, kpn_ring_desc(&pacer->ring, seq)))
		kpn_recall_yielding(pacer, 1u << holder->tc, seq, &pacer->stats.displaced);
	else if (seq >= pacer->review_seq && seq < pacer->review_end && pacer->frames_left &&
		 holder->verdict != KPN_VERDICT_IN_DOUBT &&
		 !kpn_may_stay(pacer, holder, seq, kpn_target_of(pacer, holder)))
		kpn_withdraw_to_heap(pacer, seq);
	return !kpn_ring_frame(&pacer->ring, seq);
}

static inline bool vacate(struct kpn_pacer *pacer, u64 seq)
{
	return KPN_LIKELY(!kpn_ring_frame(&pacer->ring, seq)) || make_room(pacer, seq);
}

bool kpn_place_later(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 from, u64 to,
		     const struct kpn_placement *placement)
{
	struct kpn_placement later;
	u32 tries;

	for (tries = 0; tries < PLACE_TRIES; tries++) {
		u64 seq = kpn_find_free(pacer, frame->tc, from, to, true);

		if (seq >= to)
			return false;
		if (vacate(pacer, seq) &&
		    kpn_place(pacer, frame, seq, KPN_VERDICT_MOVED, placement))
			return true;
		kpn_spend(pacer); /* it was copied for nothing */
		later = kpn_unhurried_at(pacer, kpn_cpu_now(pacer));
		placement = &later;
		from = later.first_seq > seq ? later.first_seq : seq + 1;
	}
	return false;
}

/* First slot that is, or certainly will be, on the grid. */
static u64 lock_seq_of(const struct kpn_pacer *pacer)
{
	if (!pacer->phase_locked)
		return 0;
	if (pacer->align.lock_seq != KPN_SEQ_NEVER)
		return pacer->align.lock_seq;
	return pacer->ring.tail.seq + pacer->lock_slots_max;
}

struct kpn_instead kpn_slots_instead(const struct kpn_pacer *pacer, u8 tc, u64 target,
				     const struct kpn_placement *placement)
{
	struct kpn_instead instead = { .from = placement->first_seq, .end = placement->end_seq };
	u64 lock_seq = lock_seq_of(pacer);
	u8 late = pacer->config.classes[tc].late;
	u64 late_end = late == KPN_LATE_RELAXED ? target + pacer->ring.slots : target;

	if ((s64)(target - instead.from) > 0)
		instead.from = target;
	if (lock_seq > instead.from)
		instead.from = lock_seq;
	if (late == KPN_LATE_RESCHEDULE)
		return instead;
	if ((s64)(late_end - instead.from) <= 0)
		late_end = instead.from;
	else if ((s64)(late_end - instead.end) > 0)
		return instead;
	instead.last = true;
	instead.end = late_end;
	return instead;
}

/*
 * Not the slot its txtime asks for: what its class wants then. Relaxed frames wait for slots that
 * have not come into the window yet, up to one ring after their own.
 */
static KPN_NOINLINE enum kpn_verdict place_elsewhere(struct kpn_pacer *pacer,
						     struct kpn_frame *frame, u64 target,
						     u64 cpu_ns, enum kpn_verdict verdict)
{
	struct kpn_placement placement;
	struct kpn_instead instead;

	placement = kpn_unhurried_at(pacer, cpu_ns);
	instead = kpn_slots_instead(pacer, frame->tc, target, &placement);
	if (instead.last && instead.from == instead.end) {
		/* one hold-up would be an end to them all */
		pacer->hurry_ns /= 2;
		return verdict;
	}
	if (kpn_place_later(pacer, frame, instead.from, instead.end, &placement))
		return KPN_VERDICT_PENDING;
	if (instead.last)
		return KPN_VERDICT_NO_SLOT;
	if (!kpn_prebuffer_append(&pacer->prebuffer, frame))
		return pacer->config.prebuffer_frames ? KPN_VERDICT_NO_ROOM : KPN_VERDICT_NO_SLOT;
	return KPN_VERDICT_PENDING;
}

/*
 * A frame in the slot its txtime asks for, before the end of the window. Return: pending, or why
 * not
 */
static KPN_ALWAYS_INLINE enum kpn_verdict place_own_inline(struct kpn_pacer *pacer,
							   struct kpn_frame *frame, u64 target,
							   const struct kpn_placement *placement)
{
	if (KPN_UNLIKELY((s64)(target - placement->first_seq) < 0))
		return KPN_VERDICT_LATE;
	if (KPN_UNLIKELY(target < lock_seq_of(pacer)))
		return KPN_VERDICT_UNLOCKED;
	if (!kpn_allowed_in(pacer, target, frame->tc))
		return KPN_VERDICT_NOT_ALLOWED;
	if (!vacate(pacer, target))
		return KPN_VERDICT_OCCUPIED;
	if (place_inline(pacer, frame, target, KPN_VERDICT_ON_TIME, placement, 0))
		return KPN_VERDICT_PENDING;
	return KPN_VERDICT_LATE; /* the slot was lost while copying */
}

/* The same for frames that were held back. */
static KPN_NOINLINE enum kpn_verdict place_own(struct kpn_pacer *pacer, struct kpn_frame *frame,
					       u64 target, const struct kpn_placement *placement)
{
	return place_own_inline(pacer, frame, target, placement);
}

/*
 * A frame that was held back and cannot have its own slot. If it may have another one it takes none
 * before those that are due now have had theirs. Return: false if it may not, or too many of its
 * class wait.
 */
static bool wait_for_another(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 target,
			     const struct kpn_placement *placement)
{
	struct kpn_instead instead;

	instead = kpn_slots_instead(pacer, frame->tc, target, placement);
	if (instead.last && instead.from == instead.end)
		return false;
	return kpn_prebuffer_append(&pacer->prebuffer, frame);
}

static KPN_NOINLINE enum kpn_verdict hold(struct kpn_pacer *pacer, struct kpn_frame *frame,
					  u64 target, enum kpn_verdict otherwise)
{
	if (!pacer->config.prebuffer_frames ||
	    (s64)(target - pacer->ring.head.seq) > (s64)pacer->horizon_slots)
		return otherwise;
	frame->verdict = KPN_VERDICT_PENDING;
	if (!kpn_prebuffer_schedule(&pacer->prebuffer, frame))
		return KPN_VERDICT_NO_ROOM;
	pacer->stats.prebuffered++;
	if (kpn_prebuffer_earliest(&pacer->prebuffer) == frame)
		kpn_insert_rekey(pacer);
	return KPN_VERDICT_PENDING;
}

/* Nobody knows where the wire is: it waits, if it can. */
static KPN_NOINLINE enum kpn_verdict submit_blindly(struct kpn_pacer *pacer,
						    struct kpn_frame *frame)
{
	if (!pacer->running)
		return KPN_VERDICT_FLUSHED;
	return hold(pacer, frame, kpn_target_of(pacer, frame), KPN_VERDICT_UNSYNCHRONISED);
}

static KPN_ALWAYS_INLINE enum kpn_verdict submit_scheduled(struct kpn_pacer *pacer,
							   struct kpn_frame *frame, u64 cpu_ns)
{
	struct kpn_placement placement;
	enum kpn_verdict verdict;
	u64 target;

	if (KPN_UNLIKELY(!kpn_head_is_believed(pacer)))
		return submit_blindly(pacer, frame);
	placement = kpn_placement_from(pacer, kpn_first_until_at(pacer, cpu_ns), cpu_ns, true);
	target = kpn_target_of(pacer, frame);
	if ((s64)(target - placement.end_seq) >= 0)
		return hold(pacer, frame, target, KPN_VERDICT_TOO_EARLY);
	/* frames handed over before it are due, too, and have not had their turn yet */
	if (KPN_UNLIKELY(target >= pacer->heap_due_seq) &&
	    (s64)(target - placement.first_seq) >= 0 && pacer->config.prebuffer_frames)
		return hold(pacer, frame, target, KPN_VERDICT_NO_ROOM);
	verdict = place_own_inline(pacer, frame, target, &placement);
	if (KPN_LIKELY(verdict == KPN_VERDICT_PENDING))
		return verdict;
	frame->verdict = KPN_VERDICT_PENDING;
	return place_elsewhere(pacer, frame, target, cpu_ns, verdict);
}

/* Why a frame cannot even be looked at. */
static KPN_NOINLINE enum kpn_verdict refusal(const struct kpn_frame *frame)
{
	if (frame->frame_bytes < FRAME_BYTES_LEAST || frame->tc >= KPN_CLASS_COUNT ||
	    ((frame->flags & KPN_FRAME_TXTIME) && frame->txtime_ns < 0))
		return KPN_VERDICT_INVALID;
	return KPN_VERDICT_OVERSIZE;
}

enum kpn_verdict kpn_pacer_submit(struct kpn_pacer *pacer, struct kpn_frame *frame)
{
	enum kpn_verdict verdict;

	pacer->stats.submitted++;
	pacer->frames_left = pacer->config.budget_frames;
	if (KPN_UNLIKELY((u32)frame->frame_bytes - FRAME_BYTES_LEAST >
				 pacer->real_bytes_max - FRAME_BYTES_LEAST ||
			 frame->tc >= KPN_CLASS_COUNT))
		verdict = refusal(frame);
	else if (KPN_UNLIKELY(!kpn_has_slots(pacer, frame->tc)))
		verdict = KPN_VERDICT_NOT_ALLOWED;
	else if (!(frame->flags & KPN_FRAME_TXTIME))
		verdict = kpn_submit_best_effort(pacer, frame, kpn_cpu_now(pacer));
	else if (KPN_UNLIKELY(frame->txtime_ns < 0))
		verdict = KPN_VERDICT_INVALID;
	else
		verdict = submit_scheduled(pacer, frame, kpn_cpu_now(pacer));
	if (verdict != KPN_VERDICT_PENDING)
		return end_now(pacer, verdict);
	pacer->pending++;
	return verdict;
}

/* A frame that was held back and cannot be sent; one that a step took out of its slot says so. */
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
	/* of the budget as much is kept as those need that wait for another slot now */
	while (prebuffer->heap_count && pacer->frames_left > waiting &&
	       (s64)(pacer->heap_due_seq - placement.end_seq) < 0) {
		struct kpn_frame *frame = kpn_prebuffer_take_earliest(prebuffer);
		bool recalled = frame->verdict == KPN_VERDICT_STEPPED;
		enum kpn_verdict verdict;

		/* before the frame is placed: what makes room for it takes from the budget, too */
		pacer->frames_left--;
		verdict = place_own(pacer, frame, pacer->heap_due_seq, &placement);
		if (KPN_UNLIKELY(verdict != KPN_VERDICT_PENDING)) {
			if (wait_for_another(pacer, frame, pacer->heap_due_seq, &placement)) {
				waiting++;
				verdict = KPN_VERDICT_PENDING;
			} else {
				verdict = place_elsewhere(pacer, frame, pacer->heap_due_seq, cpu_ns,
							  verdict);
			}
		}
		if (verdict != KPN_VERDICT_PENDING)
			end_held(pacer, frame, recalled, verdict);
		kpn_insert_rekey(pacer);
	}
	if (prebuffer->backlog && pacer->frames_left)
		kpn_fill(pacer, cpu_ns);
}
