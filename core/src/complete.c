// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Slots that have left the wire and were not plain placeholders: frames go back to the caller with
 * the instant at which they were on the wire, their slots become placeholders again, and trimmed
 * slots become nominal again.
 */
#include "kpn_clock_law.h"
#include "kpn_complete.h"
#include "kpn_place.h"
#include "kpn_search.h"
#include "kpn_target.h"

/*
 * Move the head to @to over slots without frames; make trimmed slots nominal again, as many as one
 * call may store. Return: whether the head has reached @to.
 */
static bool pass(struct kpn_pacer *pacer, u64 to)
{
	struct kpn_ring *ring = &pacer->ring;
	struct kpn_cursor *head = &ring->head;

	while (KPN_UNLIKELY(ring->trim_count)) {
		u64 trimmed = kpn_ring_next_near(ring, &ring->trimmed, head->seq, to);
		u32 desc;

		kpn_ring_skip(ring, head, trimmed);
		if (trimmed == to)
			return true;
		if (!pacer->posting.trims_left)
			return false;
		pacer->posting.trims_left--;
		desc = head->desc;
		kpn_ring_step(ring, head, ring->slot[desc].delta_ps);
		pacer->nic_ops.set_length(pacer->nic, desc, pacer->config.slot_bytes);
		kpn_ring_forget_delta(ring, desc);
	}
	kpn_ring_skip(ring, head, to);
	return true;
}

/*
 * Whether slot @seq is not the slot that its frame asks for: because a step came too late for it or
 * its review is still to come, or because the way to the grid was planned again and ends later. A
 * moved frame may be in any slot of its class that is on the grid and not before its own.
 */
static bool is_stale(const struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 seq)
{
	bool unseen = pacer->todo & KPN_TODO_REVIEW && seq >= pacer->frames.review_seq &&
		      seq < pacer->frames.review_end;

	if (frame->verdict != KPN_VERDICT_ON_TIME && frame->verdict != KPN_VERDICT_MOVED)
		return false;
	if (seq < pacer->reading.unsure_seq)
		return true;
	/* the NIC has overtaken re-planning: lengths from ring.plan on follow another rate */
	if (pacer->todo & KPN_TODO_PLAN && seq > pacer->ring.plan.seq)
		return true;
	if (pacer->phase_locked && seq < pacer->align.lock_seq)
		return true;
	if (seq >= pacer->frames.step_seq && !unseen)
		return false;
	if (!kpn_allowed_to(pacer, frame, seq))
		return true;
	if (frame->verdict == KPN_VERDICT_MOVED)
		return (s64)(seq - kpn_target_of(pacer, frame)) < 0;
	return (pacer->phase_locked && seq < pacer->frames.step_seq) ||
	       kpn_target_of(pacer, frame) != seq;
}

/*
 * Frames in @bits of a word, from slot @first_seq on, have left: mark those whose slots are no
 * longer theirs.
 */
static KPN_NOINLINE void mark_stale(struct kpn_pacer *pacer, const struct kpn_slot *slot,
				    u64 first_seq, u64 bits)
{
	for (; bits; bits &= bits - 1) {
		u32 bit = kpn_lowest_bit(bits);

		if (is_stale(pacer, slot[bit].frame, first_seq + bit))
			slot[bit].frame->verdict = KPN_VERDICT_SENT_STALE;
	}
}

/* Remove the descriptors of @word in @done from the yielding ones. */
static KPN_NOINLINE void forget_yielding(struct kpn_ring *ring, u32 word, u64 done)
{
	u64 yielded = ring->yielding.word[word] & done;

	kpn_bits_remove(&ring->yielding, word, done);
	for (; yielded; yielded &= yielded - 1)
		ring->yielding_count--;
}

/* First slot from @from on that carries a frame, KPN_SEQ_NEVER if there is none. */
static KPN_NOINLINE u64 next_claimed(const struct kpn_ring *ring, u64 from)
{
	u64 end = ring->head.seq + ring->slots;
	u64 claimed = kpn_ring_next(ring, &ring->claimed,
				    from < ring->head.seq ? ring->head.seq : from, end);

	return claimed == end ? KPN_SEQ_NEVER : claimed;
}

static KPN_NOINLINE u64 lowest_bits(u64 bits, u32 count)
{
	u64 rest = bits;

	for (; rest && count; count--)
		rest &= rest - 1;
	return bits & ~rest;
}

/* Make the slots of @frame, from descriptor @desc on, nominal again; each counts in the budget. */
static KPN_NOINLINE void finish_span(struct kpn_pacer *pacer, u32 desc,
				     const struct kpn_frame *frame, u32 *left)
{
	u32 more = frame->slots - 1u;

	kpn_retire_span(pacer, desc, frame, 0);
	kpn_ring_free_inner(&pacer->ring, desc, frame);
	*left = *left > more ? *left - more : 0;
}

/*
 * Frames in @bits, a bit per descriptor from @desc on, whose slot started at @first_ps, have left;
 * no slot is trimmed between two of them. Make their slots nominal placeholders again. @left: rest
 * of the budget; where @spans, the extra slots of frames of several slots are subtracted. Return:
 * number of frames.
 */
static KPN_ALWAYS_INLINE u32 finish(struct kpn_pacer *pacer, u32 desc, u64 first_ps, u64 bits,
				    u32 *left, bool spans)
{
	struct kpn_slot *slot = pacer->ring.slot + desc;
	u64 slot_ps = pacer->ring.slot_ps;
	struct kpn_u128 anchor = kpn_law_anchor(&pacer->clock);
	u64 span_ps = first_ps + pacer->time.sfd_ps - pacer->clock.anchor_ps;
	struct kpn_frame **last = pacer->ended_last;
	u32 count = 0;

	for (; bits; bits &= bits - 1, count++) {
		u32 bit = kpn_lowest_bit(bits);
		struct kpn_frame *frame = slot[bit].frame;

		KPN_ASSERT(frame);
		slot[bit].frame = NULL;
		*last = frame;
		last = &frame->next;
		pacer->stats.verdicts[frame->verdict]++;
		frame->start = kpn_law_after(&pacer->clock, anchor, (s64)(span_ps + bit * slot_ps));
		if (spans && frame->slots > 1)
			finish_span(pacer, desc + bit, frame, left);
		else
			kpn_retire(pacer, desc + bit, pacer->config.slot_bytes,
				   (u32)frame->frame_bytes - KPN_FCS_BYTES);
	}
	*last = NULL;
	pacer->ended_last = last;
	return count;
}

/*
 * Frames in slots [at, to) whose descriptors share a word of the set have left, at most *@left of
 * them; no slot from the head to before @to - 1 is trimmed. quiet_seq becomes the next slot that
 * carries a frame.
 */
static KPN_ALWAYS_INLINE void finish_word(struct kpn_pacer *pacer, u64 at, u64 to, u32 *left,
					  bool spans)
{
	struct kpn_ring *ring = &pacer->ring;
	u32 desc = kpn_ring_desc(ring, at);
	u32 word = desc / KPN_WORD_BITS;
	u32 shift = desc % KPN_WORD_BITS;
	u64 bits = ring->claimed.word[word] >> shift;
	u64 done = to - at < KPN_WORD_BITS ? bits & ~(~0ull << (to - at)) : bits;
	u32 count;

	if (KPN_UNLIKELY(to - at > *left))
		done = lowest_bits(done, *left);
	kpn_bits_remove(&ring->claimed, word, done << shift);
	if (KPN_UNLIKELY(ring->yielding.word[word] & done << shift))
		forget_yielding(ring, word, done << shift);
	bits &= ~done;
	ring->quiet_seq = KPN_LIKELY(bits) ? at + kpn_lowest_bit(bits) : next_claimed(ring, at);
	if (KPN_UNLIKELY(at < pacer->frames.step_seq || at < pacer->reading.unsure_seq ||
			 pacer->todo & (KPN_TODO_REVIEW | KPN_TODO_PLAN) ||
			 (pacer->phase_locked && at < pacer->align.lock_seq)))
		mark_stale(pacer, &ring->slot[desc], at, done);
	count = finish(pacer, desc, ring->head.ps + (at - ring->head.seq) * ring->slot_ps, done,
		       left, spans);
	*left = !spans || *left > count ? *left - count : 0;
	ring->claimed_count -= count;
	pacer->stats.frames_completed += count;
	pacer->frames.pending -= count;
}

/* Move the head over slot @seq, which carried a frame and is nominal again. */
static void leave_trimmed(struct kpn_ring *ring, u64 seq)
{
	u32 desc;

	kpn_ring_skip(ring, &ring->head, seq);
	desc = ring->head.desc;
	kpn_ring_step(ring, &ring->head, ring->slot[desc].delta_ps);
	kpn_ring_forget_delta(ring, desc);
}

/*
 * finish_word() where slots are trimmed: up to the next trimmed slot, or that slot alone. Return:
 * false if the head cannot get there.
 */
static KPN_NOINLINE bool finish_trimmed(struct kpn_pacer *pacer, u64 at, u64 to, u32 *left)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 trimmed;

	if (!pacer->posting.trims_left || !pass(pacer, at))
		return false;
	trimmed = kpn_ring_next(ring, &ring->trimmed, at, to);
	finish_word(pacer, at, trimmed == at ? at + 1 : trimmed, left, true);
	if (trimmed == at)
		leave_trimmed(ring, at);
	return true;
}

/* kpn_complete_touched() where slots are trimmed, or a frame takes several. */
static KPN_NOINLINE void complete_uneven(struct kpn_pacer *pacer, u64 to)
{
	struct kpn_ring *ring = &pacer->ring;
	u32 left = pacer->config.budget_frames;
	u64 trimmed;

	/* a frame has left when its last slot has */
	to = kpn_ring_start(ring, to);
	pacer->posting.trims_left = pacer->posting.trims_max;
	ring->quiet_seq = next_claimed(ring, ring->quiet_seq);
	while (ring->quiet_seq < to && left && finish_trimmed(pacer, ring->quiet_seq, to, &left))
		;
	pass(pacer, ring->quiet_seq < to ? ring->quiet_seq : to);
	trimmed = kpn_ring_next(ring, &ring->trimmed, ring->head.seq, ring->tail.seq);
	if (ring->trim_count && trimmed < ring->quiet_seq)
		ring->quiet_seq = trimmed;
}

void kpn_complete_touched(struct kpn_pacer *pacer, u64 to)
{
	struct kpn_ring *ring = &pacer->ring;
	u32 left = pacer->config.budget_frames;

	if (KPN_UNLIKELY(ring->trim_count | ring->span_count)) {
		complete_uneven(pacer, to);
		return;
	}
	while (ring->quiet_seq < to && left)
		finish_word(pacer, ring->quiet_seq, to, &left, false);
	kpn_ring_skip(ring, &ring->head, ring->quiet_seq < to ? ring->quiet_seq : to);
}
