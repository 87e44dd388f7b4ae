// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A pacer stops: the NIC is halted; frames that have certainly left end as sent, frames that may
 * have left are in doubt, and the rest is flushed, as many frames as one call may end.
 */
#include "kpn_complete.h"
#include "kpn_head.h"
#include "kpn_index.h"
#include "kpn_stop.h"
#include "kpn_target.h"

/*
 * A last reading of the index shows what the halted NIC has certainly sent; slots it had fetched
 * beyond that are in doubt.
 */
void kpn_pacer_stop(struct kpn_pacer *pacer)
{
	struct kpn_ring *ring = &pacer->ring;
	struct kpn_head head;
	u32 index;
	u32 moved;

	if (!pacer->running)
		return;
	pacer->nic_ops.halt(pacer->nic);
	pacer->running = false;
	pacer->synchronised = false;
	head = kpn_pacer_head(pacer, kpn_cpu_now(pacer));
	index = pacer->nic_ops.read_index(pacer->nic);
	moved = index - pacer->reading.head_index +
		(index < pacer->reading.head_index ? pacer->reading.index_modulus : 0);
	if (index < pacer->reading.index_modulus && moved <= ring->tail.seq - ring->index_seq) {
		kpn_take_index(pacer, moved, index, pacer->reading.progress_ns);
		kpn_take_trims(pacer, moved);
		if (kpn_index_jumps(pacer, kpn_cpu_now(pacer), moved))
			kpn_index_undo(pacer, moved);
	}
	pacer->stop.sent_seq = kpn_ring_start(ring, kpn_passed_seq(pacer));
	pacer->stop.doubt_seq = head.upper_seq + pacer->frames.fetched_slots + 1;
	/* Without a head that is believed, every posted slot may have left. */
	if (!head.valid || pacer->stop.doubt_seq > ring->tail.seq)
		pacer->stop.doubt_seq = ring->tail.seq;
	kpn_strip_invalidate(&pacer->strip);
}

void kpn_lose(struct kpn_pacer *pacer, enum kpn_event event)
{
	kpn_pacer_stop(pacer);
	pacer->stats.losses++;
	kpn_emit(pacer, event);
}

/* End the frame after @place in a halted ring: it may have left only if it was fetched. */
static void end_halted(struct kpn_pacer *pacer, const struct kpn_cursor *place)
{
	struct kpn_frame *frame = kpn_ring_release(&pacer->ring, place->desc);

	if (place->seq >= pacer->stop.doubt_seq) {
		kpn_end_frame(pacer, frame, KPN_VERDICT_FLUSHED);
		return;
	}
	kpn_end_frame(pacer, frame, KPN_VERDICT_IN_DOUBT);
	frame->start = kpn_clock_at(&pacer->clock, place->ps + pacer->time.sfd_ps);
}

static u32 drain_ring(struct kpn_pacer *pacer, u32 left)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->head.seq + ring->slots;
	u64 at = kpn_ring_next(ring, &ring->claimed, ring->head.seq, end);
	struct kpn_cursor place = ring->head;

	for (; at < end && left; left--) {
		kpn_ring_move(ring, &place, at);
		end_halted(pacer, &place);
		at = kpn_ring_next(ring, &ring->claimed, at, end);
	}
	return left;
}

bool kpn_pacer_drain(struct kpn_pacer *pacer)
{
	struct kpn_prebuffer *prebuffer = &pacer->prebuffer;
	u32 left = pacer->config.budget_frames;
	u8 queue;

	KPN_ASSERT(!pacer->running);
	if (pacer->ring.head.seq < pacer->stop.sent_seq) {
		kpn_complete_touched(pacer, pacer->stop.sent_seq);
		return true;
	}
	left = drain_ring(pacer, left);
	for (; prebuffer->heap_count && left; left--)
		kpn_end_frame(pacer, kpn_prebuffer_take_earliest(prebuffer), KPN_VERDICT_FLUSHED);
	for (queue = 0; queue < KPN_QUEUE_COUNT; queue++) {
		for (; prebuffer->backlog >> queue & 1 && left; left--)
			kpn_end_frame(pacer, kpn_prebuffer_take_first(prebuffer, queue),
				      KPN_VERDICT_FLUSHED);
	}
	kpn_insert_rekey(pacer);
	return pacer->frames.pending;
}

KPN_NOINLINE bool kpn_poll_stopped(struct kpn_pacer *pacer)
{
	kpn_pacer_drain(pacer);
	return kpn_has_completions(pacer);
}
