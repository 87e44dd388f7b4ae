// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion of frames: the core lists the frames that ended, and NAPI completes them - timestamps,
 * error queue, statistics, BQL - as many at a time as its budget allows.
 */
#include <linux/errqueue.h>
#include <linux/rtnetlink.h>
#include <net/sock.h>

#include "keepon.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

void keepon_complete_soon(struct keepon *keepon)
{
	/* From a thread the softirq must run now, not with the next interrupt. */
	if (in_hardirq() || in_softirq() || irqs_disabled()) {
		napi_schedule(&keepon->napi);
		return;
	}
	local_bh_disable();
	napi_schedule(&keepon->napi);
	local_bh_enable();
}

/*
 * Which of the two codes of SO_EE_ORIGIN_TXTIME: the request was invalid, or its time was missed
 * (C7).
 */
static bool was_wrong(enum kpn_verdict verdict)
{
	switch (verdict) {
	case KPN_VERDICT_INVALID:
	case KPN_VERDICT_OVERSIZE:
	case KPN_VERDICT_NOT_ALLOWED:
	case KPN_VERDICT_TOO_EARLY: return true;
	default: return false;
	}
}

void keepon_report(struct sk_buff *skb, enum kpn_verdict verdict, s64 txtime_ns)
{
	struct sock_exterr_skb *error;
	struct sock *sk = skb->sk;
	struct sk_buff *clone;

	if (!sk || !sk_fullsock(sk) || !sk->sk_txtime_report_errors)
		return;
	clone = skb_clone(skb, GFP_ATOMIC);
	if (!clone)
		return;
	/* Otherwise the txtime would be reported as a TX timestamp. */
	clone->tstamp = 0;
	error = SKB_EXT_ERR(clone);
	memset(error, 0, sizeof(*error));
	error->ee.ee_errno = was_wrong(verdict) ? EINVAL : ECANCELED;
	error->ee.ee_origin = SO_EE_ORIGIN_TXTIME;
	error->ee.ee_code =
		was_wrong(verdict) ? SO_EE_CODE_TXTIME_INVALID_PARAM : SO_EE_CODE_TXTIME_MISSED;
	error->ee.ee_data = upper_32_bits((u64)txtime_ns);
	error->ee.ee_info = lower_32_bits((u64)txtime_ns);
	if (sock_queue_err_skb(sk, clone))
		kfree_skb(clone);
}

void keepon_say_oversize(struct keepon *keepon, u32 bytes, u16 tc)
{
	/* separate: it must not use up the rate limit of sentences about refused lists */
	static DEFINE_RATELIMIT_STATE(oversize_log, 5 * HZ, 2);
	unsigned long flags;
	u32 longest = 0;
	u32 slots = 0;

	if (!__ratelimit(&oversize_log))
		return;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon->engine) {
		longest = kpn_pacer_frame_bytes_max(keepon->engine->pacer, tc);
		slots = kpn_pacer_frame_slots(keepon->engine->pacer, bytes);
	}
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	if (bytes <= longest)
		netdev_warn(keepon->dev,
			    "oversize: %u bytes are more than taprio's max-sdu of class %u\n",
			    bytes, tc);
	else if (slots)
		netdev_warn(
			keepon->dev,
			"oversize: class %u sends frames of up to %u bytes, and one had %u; give it %u slots in a row, or longer ones\n",
			tc, longest, bytes, slots);
	else if (bytes > KPN_FRAME_BYTES_MAX)
		netdev_warn(
			keepon->dev,
			"oversize: no link sends more than %u bytes, tag and FCS included, and one frame had %u; lower the MTU it came with\n",
			KPN_FRAME_BYTES_MAX, bytes);
	else
		netdev_warn(
			keepon->dev,
			"oversize: class %u sends frames of up to %u bytes, and one had %u; ask for frame_bytes %u, and ring and depth for it, or longer slots\n",
			tc, longest, bytes, bytes);
}

static void give_stamp(struct sk_buff *skb, struct kpn_time start)
{
	struct skb_shared_hwtstamps stamps = { .hwtstamp = keepon_stamp(start) };

	if (skb_shinfo(skb)->tx_flags & SKBTX_IN_PROGRESS)
		skb_tstamp_tx(skb, &stamps);
}

/*
 * Keep the greatest delay beyond a txtime, in PHC time, of each class. For the core a deadline is
 * no txtime, whatever its sender calls it.
 */
static void note_lateness(struct keepon *keepon, const struct keepon_frame *frame)
{
	s64 late_ns = frame->frame.start.ns - frame->frame.txtime_ns;
	u32 *worst_ns = &keepon->late_ns[frame->frame.tc];

	if (unlikely(late_ns > *worst_ns) && frame->frame.flags & KPN_FRAME_TXTIME)
		WRITE_ONCE(*worst_ns, min_t(s64, late_ns, U32_MAX));
}

static void count_sent(struct net_device *dev, u32 bytes)
{
	/* other drivers have counters of their own */
	if (likely(dev->tstats))
		dev_sw_netstats_tx_add(dev, 1, bytes);
}

static void complete_one(struct keepon *keepon, struct keepon_frame *frame, int budget)
{
	enum kpn_verdict verdict = frame->frame.verdict;
	struct kpn_time start = frame->frame.start;
	struct sk_buff *skb = frame->skb;

	trace_keepon_outcome(keepon->dev, frame->frame.tc, verdict, frame->frame.seq,
			     frame->txtime_ns, &start);
	if (unlikely(verdict == KPN_VERDICT_SENT_STALE))
		WRITE_ONCE(keepon->taprio.overruns[frame->frame.tc],
			   keepon->taprio.overruns[frame->frame.tc] + 1);
	if (kpn_verdict_is_sent(verdict)) {
		note_lateness(keepon, frame);
		give_stamp(skb, start);
		if (frame->deadline_ns && start.ns > frame->deadline_ns)
			keepon_report(skb, KPN_VERDICT_LATE, frame->txtime_ns);
		count_sent(frame->queue->dev, skb->len);
		napi_consume_skb(skb, budget);
		return;
	}
	if (frame->txtime_ns)
		keepon_report(skb, verdict, frame->txtime_ns);
	if (verdict == KPN_VERDICT_IN_DOUBT) {
		/*
		 * If the frame left, this is its time: ptp4l can do without a frame, but takes a
		 * missing timestamp for a broken port.
		 */
		give_stamp(skb, start);
		napi_consume_skb(skb, budget);
		return;
	}
	if (verdict == KPN_VERDICT_OVERSIZE)
		keepon_say_oversize(keepon, frame->frame.frame_bytes, frame->frame.tc);
	dev_core_stats_tx_dropped_inc(frame->queue->dev);
	dev_kfree_skb_any(skb);
}

/*
 * struct finished - sums of one round, per class; @queued_slots: of @queued_frames, which are the
 * link's own; @card: the same for one queue of the card
 */
struct finished {
	u32 frames[KPN_CLASS_COUNT];
	u32 queued_frames[KPN_CLASS_COUNT];
	u32 queued_slots[KPN_CLASS_COUNT];
	struct {
		struct netdev_queue *queue;
		u32 frames;
		u32 slots;
	} card;
};

static struct keepon_frame *frame_of(struct kpn_frame *frame)
{
	return container_of(frame, struct keepon_frame, frame);
}

static void update_card_queue(struct finished *finished, u32 slot_bytes)
{
	if (finished->card.frames)
		netdev_tx_completed_queue(finished->card.queue, finished->card.frames,
					  finished->card.slots * slot_bytes);
	finished->card.frames = 0;
	finished->card.slots = 0;
}

static void sum_up(struct keepon *keepon, struct finished *finished,
		   const struct keepon_frame *frame)
{
	u32 tc = frame->frame.tc;

	finished->frames[tc]++;
	if (!frame->queued)
		return;
	if (frame->queue->dev == keepon->dev) {
		finished->queued_frames[tc]++;
		finished->queued_slots[tc] += frame->frame.slots;
		return;
	}
	/* most cards have one queue */
	if (frame->queue != finished->card.queue)
		update_card_queue(finished, keepon->engine->config.slot_bytes);
	finished->card.queue = frame->queue;
	finished->card.frames++;
	finished->card.slots += frame->frame.slots;
}

/*
 * Complete at most @most frames of @list.
 * @finished: sums of them, or NULL
 * @done: receives them, linked by keepon_frame.next
 *
 * Return: the rest of the list.
 */
static struct kpn_frame *complete_some(struct keepon *keepon, struct kpn_frame *list, int most,
				       int budget, struct finished *finished,
				       struct keepon_frame **done)
{
	*done = NULL;
	for (; list && most; most--) {
		struct keepon_frame *frame = frame_of(list);

		list = list->next;
		if (finished)
			sum_up(keepon, finished, frame);
		complete_one(keepon, frame, budget);
		frame->next = *done;
		*done = frame;
	}
	return list;
}

/*
 * Return records to the pool; a queue may be woken once a quarter of the pool is free, which
 * frames with a txtime cannot use. Return: bit per class whose queue may be woken.
 */
static u32 return_records(struct keepon *keepon, struct keepon_frame *list,
			  const struct finished *finished)
{
	struct keepon_engine *engine = keepon->engine;
	unsigned long flags;
	u32 wake = 0;
	u32 tc;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	while (list) {
		struct keepon_frame *frame = list;

		list = frame->next;
		tc = frame->frame.tc;
		keepon_share_end_locked(engine, frame);
		frame->next = engine->free[tc];
		engine->free[tc] = frame;
	}
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		engine->held[tc] -= finished->frames[tc];
		if (finished->frames[tc] && engine->held[tc] <= engine->timed_max)
			wake |= BIT(tc);
	}
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return wake;
}

static void report_events(struct keepon *keepon, u32 events)
{
	if (events & BIT(KPN_EVENT_UNDERRUN) && net_ratelimit())
		netdev_notice(
			keepon->dev,
			"underrun: the wire was idle; the clock is unsynchronised until it is set\n");
	if (events & BIT(KPN_EVENT_PARTITION))
		keepon_taprio_switched(keepon);
	if (events & BIT(KPN_EVENT_SLIP) && net_ratelimit())
		netdev_notice(
			keepon->dev,
			"slip: ring index and CPU counter contradict; the clock is unsynchronised\n");
	if (events & BIT(KPN_EVENT_DOUBT) && net_ratelimit())
		netdev_notice(
			keepon->dev,
			"doubt: the CPU was held up while it changed the lengths of slots; the clock is unsynchronised\n");
	if (!(events & (BIT(KPN_EVENT_LOST) | BIT(KPN_EVENT_STALLED))))
		return;
	netdev_err(keepon->dev, "%s: the wire has stopped; trying to start it again\n",
		   events & BIT(KPN_EVENT_LOST) ? "the card cannot be read" :
						  "the ring index stands still");
	keepon_engine_lost(keepon);
}

/* Append newly ended frames to those left over from the last call. Return: new events. */
static u32 collect_completions(struct keepon *keepon)
{
	struct keepon_engine *engine = keepon->engine;
	struct kpn_frame **end = &engine->ended;
	unsigned long flags;
	u32 events;

	/* New frames are taken only when less than a budget is left over, so the walk is short. */
	while (*end)
		end = &(*end)->next;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	*end = kpn_pacer_take_ended(engine->pacer);
	events = kpn_pacer_take_events(engine->pacer);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return events;
}

static void update_queues(struct keepon *keepon, struct finished *finished, u32 wake)
{
	u32 slot_bytes = keepon->engine->config.slot_bytes;
	u32 tc;

	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		struct netdev_queue *queue = netdev_get_tx_queue(keepon->dev, tc);

		if (finished->queued_frames[tc])
			netdev_tx_completed_queue(queue, finished->queued_frames[tc],
						  finished->queued_slots[tc] * slot_bytes);
		if (wake & BIT(tc) && netif_tx_queue_stopped(queue) &&
		    netif_carrier_ok(keepon->dev))
			netif_tx_wake_queue(queue);
	}
	update_card_queue(finished, slot_bytes);
	if (keepon_has_card(keepon->engine) && wake & BIT(keepon_queue_of_rest(keepon->dev)))
		keepon_card_wake(keepon);
}

int keepon_napi_poll(struct napi_struct *napi, int budget)
{
	struct keepon *keepon = container_of(napi, struct keepon, napi);
	struct keepon_engine *engine = keepon->engine;
	int most = max(budget, NAPI_POLL_WEIGHT);
	struct finished finished = {};
	struct keepon_frame *done;

	/* The engine exists: it stops only after NAPI was disabled. */
	if (!engine->ended)
		report_events(keepon, collect_completions(keepon));
	engine->ended = complete_some(keepon, engine->ended, most, budget, &finished, &done);
	if (done)
		update_queues(keepon, &finished, return_records(keepon, done, &finished));
	/* More frames are left: poll again, even if a transmit NAPI's budget is 0 (netpoll). */
	if (engine->ended)
		return budget;
	/* The next poll of the ring finds the frames that ended meanwhile. */
	napi_complete_done(napi, 0);
	return 0;
}

void keepon_complete_list(struct keepon *keepon, struct kpn_frame *list)
{
	struct keepon_frame *done;

	while (list)
		list = complete_some(keepon, list, NAPI_POLL_WEIGHT, 0, NULL, &done);
}
