// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Slots for a frame that cannot have the slot of its txtime, by the late policy of its class. */
#include "kpn_fallback.h"
#include "kpn_head.h"
#include "kpn_place.h"
#include "kpn_recall.h"
#include "kpn_search.h"
#include "kpn_target.h"

enum {
	/* slots that may be lost while a frame is copied before the frame gives up */
	PLACE_TRIES = 2,
	/* the same, with slots whose holder, of several slots, is too near to be recalled */
	PLACE_LOOKS = 8,
};

KPN_NOINLINE bool kpn_make_room(struct kpn_pacer *pacer, u64 seq)
{
	const struct kpn_frame *holder = kpn_ring_frame(&pacer->ring, seq);
	u64 start = kpn_ring_start(&pacer->ring, seq);

	/*
	 * The slot can still be changed, but before its holder is recalled, the holder or what
	 * follows it will be on the wire.
	 */
	if (KPN_UNLIKELY(pacer->ring.span_count) &&
	    kpn_lost_by(pacer, start, kpn_cpu_now(pacer) + pacer->span.stores_ns))
		return false;
	if (kpn_bits_test(&pacer->ring.yielding, kpn_ring_desc(&pacer->ring, seq)))
		kpn_recall_yielding(pacer, 1u << holder->tc, start, &pacer->stats.displaced);
	else if (start >= pacer->frames.review_seq && start < pacer->frames.review_end &&
		 pacer->frames.left && holder->verdict != KPN_VERDICT_IN_DOUBT &&
		 !kpn_may_stay(pacer, holder, start, kpn_target_of(pacer, holder)))
		kpn_withdraw_to_heap(pacer, start);
	return !kpn_ring_frame(&pacer->ring, seq);
}

bool kpn_vacate_for(struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 seq)
{
	u64 end = seq + frame->slots;

	if (KPN_LIKELY(frame->slots == 1))
		return kpn_vacate(pacer, seq);
	/* a frame that begins before @seq may reach into its first slot */
	if (!kpn_vacate(pacer, seq))
		return false;
	for (; seq < end; seq++) {
		seq = kpn_ring_next_near(&pacer->ring, &pacer->ring.claimed, seq, end);
		if (seq < end && !kpn_make_room(pacer, seq))
			return false;
	}
	return true;
}

/* First slot after the frame that did not make room for @frame in slot @seq. */
static u64 behind_holder(const struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 seq)
{
	u64 end = seq + frame->slots;

	for (; seq < end; seq++) {
		if (kpn_ring_frame(&pacer->ring, seq))
			return kpn_ring_last(&pacer->ring, seq) + 1;
	}
	return end;
}

bool kpn_place_later(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 from, u64 to,
		     const struct kpn_placement *placement)
{
	struct kpn_placement later;
	u32 most = pacer->span.slots_max > 1 ? PLACE_LOOKS : PLACE_TRIES;
	u32 tries = 0;
	u32 looks;

	if (KPN_UNLIKELY(frame->slots > 1) && from < kpn_first_for(pacer, frame, placement))
		from = kpn_first_for(pacer, frame, placement);
	for (looks = 0; looks < most && tries < PLACE_TRIES; looks++) {
		u64 seq = kpn_find_for(pacer, frame, from, to, true);

		if (seq >= to)
			return false;
		if (!kpn_vacate_for(pacer, frame, seq)) {
			from = behind_holder(pacer, frame, seq);
			continue;
		}
		if (kpn_place(pacer, frame, seq, KPN_VERDICT_MOVED, placement))
			return true;
		tries++;
		kpn_spend(pacer); /* the copy was wasted */
		later = kpn_placement_with_margin(pacer, kpn_cpu_now(pacer));
		placement = &later;
		from = kpn_first_for(pacer, frame, &later);
		if (from <= seq)
			from = seq + 1;
	}
	return false;
}

struct kpn_fallback kpn_fallback_slots(const struct kpn_pacer *pacer, u8 tc, u64 target,
				       const struct kpn_placement *placement)
{
	struct kpn_fallback other = { .from = placement->first_seq, .end = placement->end_seq };
	u64 lock_seq = kpn_lock_seq_of(pacer);
	u8 late = pacer->config.classes[tc].late;
	u64 late_end = late == KPN_LATE_RELAXED ? target + pacer->ring.slots : target;

	if ((s64)(target - other.from) > 0)
		other.from = target;
	if (lock_seq > other.from)
		other.from = lock_seq;
	if (late == KPN_LATE_RESCHEDULE)
		return other;
	if ((s64)(late_end - other.from) <= 0)
		late_end = other.from;
	else if ((s64)(late_end - other.end) > 0)
		return other;
	other.last = true;
	other.end = late_end;
	return other;
}
