/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Handing slots to the NIC, inline because every poll does it. post.c decides their lengths.
 */
#ifndef KPN_POST_H
#define KPN_POST_H

#include "kpn_doubt.h"
#include "kpn_pacer_state.h"

/** kpn_post_planned() - move the tail on by @count slots, some of which are due for a trim */
void kpn_post_planned(struct kpn_pacer *pacer, u32 count);

/** kpn_rearm() - hand the last @count slots before the tail to the NIC again */
void kpn_rearm(struct kpn_pacer *pacer, u32 count);

/**
 * kpn_post_count() - append @count slots to those posted
 *
 * Nearly always none of them is trimmed; then no planning is needed.
 */
static inline void kpn_post_count(struct kpn_pacer *pacer, u32 count)
{
	struct kpn_ring *ring = &pacer->ring;

	pacer->reading.fast_path_end_seq += count;
	if (KPN_UNLIKELY(pacer->align.next_trim_seq < ring->tail.seq + count &&
			 !(pacer->todo & KPN_TODO_PLAN)))
		kpn_post_planned(pacer, count);
	else
		kpn_ring_skip(ring, &ring->tail, ring->tail.seq + count);
	if (KPN_UNLIKELY(!pacer->caps.desc_persistent))
		kpn_rearm(pacer, count);
}

static inline void kpn_ring_doorbell(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;

	pacer->stats.doorbells++;
	pacer->nic_ops.doorbell(pacer->nic, ring->tail.desc, ring->tail.seq);
}

/** kpn_post_up_to() - the next poll posts slots before @end, even if enough is posted */
void kpn_post_up_to(struct kpn_pacer *pacer, u64 end);

/** kpn_more_count() - how many slots to post then, in place of @count */
u32 kpn_more_count(struct kpn_pacer *pacer, u32 count);

/**
 * kpn_advance_tail() - post slots up to the posting depth, and the rest of a frame that the depth
 * would divide
 *
 * Where three batches fit the depth, posting waits for a whole batch: a dithered poll that finds
 * less leaves it to the next poll, and even then a batch remains posted. A CPU can be held up
 * between the reading and the doorbell for longer than the posted slots last, and no NIC reports
 * that: so the counter is read once more.
 */
static inline void kpn_advance_tail(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	u32 posted = (u32)(ring->tail.seq - ring->head.seq);
	u64 tail_seq = ring->tail.seq;
	u64 tail_ps = ring->tail.ps;
	u64 doorbell_ns;
	u32 count;

	if (posted > pacer->posting.posted_low)
		return;
	count = pacer->config.depth_slots - posted;
	if (KPN_UNLIKELY(pacer->posting.posted_low == KPN_POST_NOW))
		count = kpn_more_count(pacer, count);
	if (KPN_UNLIKELY(count > pacer->posting.rearm_max))
		count = pacer->posting.rearm_max;
	if (KPN_UNLIKELY(ring->span_count))
		count = (u32)(kpn_ring_behind(ring, tail_seq + count) - tail_seq);
	kpn_post_count(pacer, count);
	kpn_ring_doorbell(pacer);
	doorbell_ns = kpn_cpu_now(pacer);
	if (KPN_UNLIKELY(
		    (s64)(tail_ps - pacer->strip.upper_ps - pacer->reading.restart_ps_max) <
		    (s64)((doorbell_ns - pacer->strip.cpu_ns + 2 * pacer->reading.tick_ns) * 1002)))
		kpn_suspect_late_doorbell(pacer, tail_seq, tail_ps, doorbell_ns);
	/*
	 * until now the wire could not pass the old tail, and no later position was read as the
	 * time
	 */
	pacer->strip.end_ps = ring->tail.ps;
}

/**
 * kpn_plan_from() - have kpn_plan_on() replan the lengths of posted slots from @from on, not before
 * the head
 */
void kpn_plan_from(struct kpn_pacer *pacer, u64 from);

/**
 * kpn_plan_on() - plan as many lengths as one call may store; slots that can no longer be changed
 * keep their length
 * @first: first slot that could be changed, as of @looked_ns. Earlier work of the call took time:
 *	the clock is read, and if that was long, @first is determined again
 */
void kpn_plan_on(struct kpn_pacer *pacer, u64 first, u64 looked_ns);

/**
 * kpn_start_at_tail() - start a wire that stands at the tail with whole placeholders
 *
 * The wire starts within the restart latency of the doorbell. No slot with a frame is posted.
 * Return: CPU time of the doorbell.
 */
u64 kpn_start_at_tail(struct kpn_pacer *pacer);

#endif
