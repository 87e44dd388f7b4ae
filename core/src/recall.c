// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Frames taken back out of the ring: best effort that makes room, and frames whose slots are no
 * longer theirs because the clock stepped or the partition changed. One call takes back only so
 * many; the nearest first, because they are the next to leave.
 */
#include "kpn_head.h"
#include "kpn_place.h"
#include "kpn_recall.h"
#include "kpn_search.h"
#include "kpn_target.h"

/*
 * kpn_withdraw() of a frame of several slots: it stays as it is if the NIC may reach it before the
 * last store.
 */
static KPN_NOINLINE struct kpn_frame *withdraw_span(struct kpn_pacer *pacer, u64 seq, u32 desc,
						    struct kpn_frame *frame)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = seq + frame->slots;

	if (kpn_fetched_by(pacer, seq, kpn_cpu_now(pacer) + kpn_span_stores_ns(pacer, frame))) {
		kpn_ring_unyield(ring, desc);
		return NULL;
	}
	kpn_retire_span(pacer, desc, frame, kpn_ring_delta_ps(ring, end - 1));
	if (KPN_UNLIKELY(kpn_may_be_fetched(pacer, seq, 0))) {
		kpn_ring_unyield(ring, desc);
		frame->verdict = KPN_VERDICT_IN_DOUBT;
		kpn_doubt_lengths(pacer, frame->slots * ring->slot_ps, end);
		return NULL;
	}
	kpn_ring_release(ring, desc);
	return frame;
}

struct kpn_frame *kpn_withdraw(struct kpn_pacer *pacer, u64 seq)
{
	struct kpn_ring *ring = &pacer->ring;
	u32 desc = kpn_ring_desc(ring, seq);
	u32 slot_bytes = kpn_slot_bytes_with(pacer, ring->slot[desc].delta_ps);
	struct kpn_frame *frame = ring->slot[desc].frame;

	if (KPN_UNLIKELY(frame->slots > 1))
		return withdraw_span(pacer, seq, desc, frame);
	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, 0);
	if (KPN_UNLIKELY(kpn_may_be_fetched(pacer, seq, 0))) {
		kpn_ring_unyield(ring, desc);
		frame->verdict = KPN_VERDICT_IN_DOUBT;
		return NULL;
	}
	kpn_ring_release(ring, desc);
	kpn_retire(pacer, desc, slot_bytes, (u32)frame->frame_bytes - KPN_FCS_BYTES);
	return frame;
}

void kpn_recall_yielding(struct kpn_pacer *pacer, u32 classes, u64 from, u64 *counter)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->head.seq + ring->slots;
	struct kpn_frame *taken = NULL;
	u64 stayed = 0;
	u64 at;
	u8 tc;

	if (from < ring->head.seq)
		from = ring->head.seq;
	for (at = kpn_ring_next(ring, &ring->yielding, from, end); at < end;
	     at = kpn_ring_next(ring, &ring->yielding, at + 1, end)) {
		struct kpn_frame *frame = kpn_ring_frame(ring, at);

		if (!(classes >> frame->tc & 1) || kpn_ring_start(ring, at) != at)
			continue;
		if (KPN_UNLIKELY(!kpn_withdraw(pacer, at))) {
			stayed = at;
			continue;
		}
		frame->next = taken;
		taken = frame;
	}
	/* push in reverse order, so that the queue keeps its order */
	while (taken) {
		struct kpn_frame *frame = taken;

		taken = frame->next;
		++*counter;
		/* credit is refunded only after the last frame that stayed */
		if (KPN_UNLIKELY(pacer->frames.shaped >> frame->tc & 1) && frame->seq > stayed)
			kpn_credit_refund(&pacer->frames.credit[frame->tc], frame->seq,
					  frame->slots);
		kpn_prebuffer_put_back(&pacer->prebuffer, frame);
	}
	if (pacer->frames.offered_seq > from)
		pacer->frames.offered_seq = from;
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		if (classes >> tc & 1 && pacer->frames.cursor[tc] > from)
			pacer->frames.cursor[tc] = from;
	}
}

void kpn_hold_again(struct kpn_pacer *pacer, struct kpn_frame *frame)
{
	/* consecutive steps can take back more frames than the ring holds at once */
	if (KPN_UNLIKELY(!kpn_prebuffer_return(&pacer->prebuffer, frame)))
		kpn_end_frame(pacer, frame, KPN_VERDICT_STEPPED);
	kpn_insert_rekey(pacer);
}

bool kpn_withdraw_to_heap(struct kpn_pacer *pacer, u64 seq)
{
	struct kpn_frame *holder = kpn_ring_frame(&pacer->ring, seq);
	u32 slots = holder->slots;
	struct kpn_frame *frame = kpn_withdraw(pacer, seq);

	for (; slots; slots--)
		kpn_spend(pacer);
	if (KPN_UNLIKELY(!frame)) {
		/* too near for all the stores: the frame leaves where it is */
		if (holder->verdict != KPN_VERDICT_IN_DOUBT)
			holder->verdict = KPN_VERDICT_SENT_STALE;
		return false;
	}
	pacer->stats.recalled++;
	frame->verdict = KPN_VERDICT_STEPPED;
	kpn_hold_again(pacer, frame);
	return true;
}

void kpn_clear_from(struct kpn_pacer *pacer, u64 from)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->head.seq + ring->slots;
	u64 at;

	kpn_recall_yielding(pacer, ~0u, from, &pacer->stats.recalled);
	for (at = kpn_ring_next(ring, &ring->claimed, from, end); at < end && pacer->frames.left;
	     at = kpn_ring_next(ring, &ring->claimed, at + 1, end))
		kpn_withdraw_to_heap(pacer, at);
}

void kpn_review_from(struct kpn_pacer *pacer, u64 from)
{
	if (!(pacer->todo & KPN_TODO_REVIEW) || from < pacer->frames.review_seq)
		pacer->frames.review_seq = from;
	pacer->frames.review_end = pacer->ring.head.seq + pacer->ring.slots;
	pacer->todo |= KPN_TODO_REVIEW;
}

bool kpn_may_stay(const struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 at, u64 target)
{
	if (!kpn_allowed_to(pacer, frame, at))
		return false;
	return frame->verdict == KPN_VERDICT_MOVED ? (s64)(at - target) >= 0 : at == target;
}

static void review_one(struct kpn_pacer *pacer, u64 at, u64 first_seq)
{
	u32 desc = kpn_ring_desc(&pacer->ring, at);
	struct kpn_frame *frame = pacer->ring.slot[desc].frame;
	u64 target;

	if (kpn_bits_test(&pacer->ring.yielding, desc)) {
		if (at >= first_seq && !kpn_allowed_to(pacer, frame, at))
			kpn_recall_yielding(pacer, 1u << frame->tc, at, &pacer->stats.recalled);
		return;
	}
	if (!(frame->flags & KPN_FRAME_TXTIME) || frame->verdict == KPN_VERDICT_IN_DOUBT)
		return;
	target = kpn_target_of(pacer, frame);
	if (kpn_may_stay(pacer, frame, at, target))
		return;
	if (at >= first_seq)
		kpn_withdraw_to_heap(pacer, at);
	else
		frame->verdict = KPN_VERDICT_SENT_STALE;
}

void kpn_review(struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 first_seq = kpn_first_seq_at(pacer, cpu_ns);
	u32 looks = pacer->config.budget_frames;

	if (pacer->frames.review_seq < ring->head.seq)
		pacer->frames.review_seq = ring->head.seq;
	for (; looks && pacer->frames.left; looks--) {
		u64 at = kpn_ring_next(ring, &ring->claimed, pacer->frames.review_seq,
				       pacer->frames.review_end);

		pacer->frames.review_seq = at;
		if (at >= pacer->frames.review_end)
			break;
		pacer->frames.review_seq++;
		review_one(pacer, at, first_seq);
	}
	if (pacer->frames.review_seq >= pacer->frames.review_end)
		pacer->todo &= ~(u32)KPN_TODO_REVIEW;
}
