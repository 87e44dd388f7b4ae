/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Handing slots to the NIC, inline because every poll does it. What length they have is decided in
 * post.c.
 */
#ifndef KPN_POST_H
#define KPN_POST_H

#include "kpn_doubt.h"
#include "kpn_pacer_state.h"

/** kpn_post_planned() - the tail moves on by @count slots, some of which are due for a trim */
void kpn_post_planned(struct kpn_pacer *pacer, u32 count);

/** kpn_rearm() - hand the last @count slots before the tail over anew */
void kpn_rearm(struct kpn_pacer *pacer, u32 count);

/**
 * kpn_post_count() - append @count slots to those posted
 *
 * Nearly always none of them is trimmed; then planning keeps up by itself.
 */
static inline void kpn_post_count(struct kpn_pacer *pacer, u32 count)
{
	struct kpn_ring *ring = &pacer->ring;

	pacer->reading.plain_seq += count;
	if (KPN_UNLIKELY(pacer->align.next_trim_seq < ring->tail.seq + count &&
			 !(pacer->todo & KPN_TODO_PLAN)))
		kpn_post_planned(pacer, count);
	else
		kpn_ring_skip(ring, &ring->tail, ring->tail.seq + count);
	if (KPN_UNLIKELY(!pacer->caps.desc_persistent))
		kpn_rearm(pacer, count);
}

static inline void kpn_ring_bell(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;

	pacer->stats.doorbells++;
	pacer->nic_ops.doorbell(pacer->nic, ring->tail.desc, ring->tail.seq);
}

/** kpn_post_up_to() - the next poll posts slots before @end, even if enough is posted */
void kpn_post_up_to(struct kpn_pacer *pacer, u64 end);

/** kpn_more_count() - what is posted then, instead of @count */
u32 kpn_more_count(struct kpn_pacer *pacer, u32 count);

/**
 * kpn_advance_tail() - hand what lies between the tail and the posting depth to the NIC, and the
 * rest of a frame that begins there
 *
 * Where three batches fit into the depth, posting waits for a whole batch: a dithered poll that
 * finds less leaves it to the next, and a batch remains even then. A CPU can be held up between the
 * reading and the doorbell, for longer than what was posted lasts, and no NIC says so: the counter
 * is read once more.
 */
static inline void kpn_advance_tail(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	u32 posted = (u32)(ring->tail.seq - ring->head.seq);
	u64 tail_seq = ring->tail.seq;
	u64 tail_ps = ring->tail.ps;
	u64 rung_ns;
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
	kpn_ring_bell(pacer);
	rung_ns = kpn_cpu_now(pacer);
	if (KPN_UNLIKELY(
		    (s64)(tail_ps - pacer->strip.upper_ps - pacer->reading.restart_ps_max) <
		    (s64)((rung_ns - pacer->strip.cpu_ns + 2 * pacer->reading.tick_ns) * 1002)))
		kpn_suspect_late_bell(pacer, tail_seq, tail_ps, rung_ns);
	/* until here the wire could not go past the old tail, and nothing beyond was read */
	pacer->strip.end_ps = ring->tail.ps;
}

/**
 * kpn_plan_from() - lengths of posted slots from @from on, not before the head, are replanned by
 * kpn_plan_on()
 */
void kpn_plan_from(struct kpn_pacer *pacer, u64 from);

/**
 * kpn_plan_on() - so many lengths as one call may store, if any are to be planned: what can no
 * longer be changed by now keeps the length it has
 * @first: first slot that could be changed by a look at @looked_ns. The clock is read: what came
 *	before in the call took time, and where it took long, it is looked again
 */
void kpn_plan_on(struct kpn_pacer *pacer, u64 first, u64 looked_ns);

/**
 * kpn_start_at_tail() - the wire stands at the tail and starts with whole placeholders
 *
 * Within the restart latency of the doorbell. Posts no slot that carries a frame. Return: CPU time
 * of the doorbell.
 */
u64 kpn_start_at_tail(struct kpn_pacer *pacer);

#endif
