// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of frames: the core reports each under the lock, they are listed, and NAPI hands them back - stamps, error
 * queue, statistics, byte queue limits - where that may take its time.
 */
#include <linux/errqueue.h>
#include <linux/rtnetlink.h>
#include <net/sock.h>

#include "keepon.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static void take_outcome(void *context, struct kpn_frame *frame, enum kpn_verdict verdict, struct kpn_time start)
{
	struct keepon_frame *ended = container_of(frame, struct keepon_frame, frame);
	struct keepon *keepon = context;

	ended->verdict = verdict;
	ended->start = start;
	ended->next = NULL;
	*keepon->outcomes_end = ended;
	keepon->outcomes_end = &ended->next;
}

static void take_event(void *context, enum kpn_event event)
{
	struct keepon *keepon = context;

	keepon->unsaid |= BIT(event);
}

const struct kpn_pacer_ops keepon_pacer_ops = {
	.outcome = take_outcome,
	.event = take_event,
};

void keepon_outcomes_kick(struct keepon *keepon)
{
	if (!READ_ONCE(keepon->outcomes) && !READ_ONCE(keepon->unsaid))
		return;
	/* From a thread the softirq must run now, not with the next interrupt. */
	if (in_hardirq() || in_softirq() || irqs_disabled()) {
		napi_schedule(&keepon->napi);
		return;
	}
	local_bh_disable();
	napi_schedule(&keepon->napi);
	local_bh_enable();
}

/* Which of the two codes of SO_EE_ORIGIN_TXTIME: the request was wrong, or its time was missed (C7). */
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
	/* A time left here would be shown as the instant it was sent. */
	clone->tstamp = 0;
	error = SKB_EXT_ERR(clone);
	memset(error, 0, sizeof(*error));
	error->ee.ee_errno = was_wrong(verdict) ? EINVAL : ECANCELED;
	error->ee.ee_origin = SO_EE_ORIGIN_TXTIME;
	error->ee.ee_code = was_wrong(verdict) ? SO_EE_CODE_TXTIME_INVALID_PARAM : SO_EE_CODE_TXTIME_MISSED;
	error->ee.ee_data = upper_32_bits((u64)txtime_ns);
	error->ee.ee_info = lower_32_bits((u64)txtime_ns);
	if (sock_queue_err_skb(sk, clone))
		kfree_skb(clone);
}

static void give_stamp(struct sk_buff *skb, struct kpn_time start)
{
	struct skb_shared_hwtstamps stamps = { .hwtstamp = keepon_stamp(start) };

	if (skb_shinfo(skb)->tx_flags & SKBTX_IN_PROGRESS)
		skb_tstamp_tx(skb, &stamps);
}

static void hand_back(struct keepon *keepon, struct keepon_frame *frame, int budget)
{
	struct sk_buff *skb = frame->skb;

	trace_keepon_outcome(keepon->dev, frame->frame.tc, frame->verdict, frame->frame.seq, frame->txtime_ns,
			     &frame->start);
	if (!kpn_verdict_is_sent(frame->verdict)) {
		/* If it left, then there: ptp4l lives with a lost frame, but takes a lost stamp for a broken port. */
		if (frame->verdict == KPN_VERDICT_IN_DOUBT)
			give_stamp(skb, frame->start);
		if (frame->txtime_ns)
			keepon_report(skb, frame->verdict, frame->txtime_ns);
		dev_core_stats_tx_dropped_inc(keepon->dev);
		dev_kfree_skb_any(skb);
		return;
	}
	give_stamp(skb, frame->start);
	dev_sw_netstats_tx_add(keepon->dev, 1, skb->len);
	napi_consume_skb(skb, budget);
}

/* struct finished - sums of one round, per class */
struct finished {
	u32 frames[KPN_CLASS_COUNT];
	u32 queued_frames[KPN_CLASS_COUNT];
	u32 queued_bytes[KPN_CLASS_COUNT];
};

static struct keepon_frame *take_list(struct keepon *keepon, u32 *unsaid)
{
	struct keepon_frame *list;
	unsigned long flags;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	list = keepon->outcomes;
	keepon->outcomes = NULL;
	keepon->outcomes_end = &keepon->outcomes;
	*unsaid = keepon->unsaid;
	keepon->unsaid = 0;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return list;
}

/* Records go back to the pool; queues go on when a quarter of it is free. Return: bit per class whose queue may go on. */
static u32 return_records(struct keepon *keepon, struct keepon_frame *list, const struct finished *finished)
{
	struct keepon_engine *engine = keepon->engine;
	unsigned long flags;
	u32 wake = 0;
	u32 tc;

	/* The last ones, of a run that is over: their pool goes with it. */
	if (!engine)
		return 0;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	while (list) {
		struct keepon_frame *frame = list;

		list = frame->next;
		tc = frame->frame.tc;
		frame->next = engine->free[tc];
		engine->free[tc] = frame;
	}
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		engine->held[tc] -= finished->frames[tc];
		if (finished->frames[tc] && engine->held[tc] <= engine->held_max - DIV_ROUND_UP(engine->held_max, 4))
			wake |= BIT(tc);
	}
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return wake;
}

static void say_events(struct keepon *keepon, u32 events)
{
	if (events & BIT(KPN_EVENT_UNDERRUN) && net_ratelimit())
		netdev_notice(keepon->dev,
			      "underrun: the wire was idle; the clock is unsynchronised until it is set\n");
	if (events & BIT(KPN_EVENT_SLIP) && net_ratelimit())
		netdev_notice(keepon->dev,
			      "slip: ring index and CPU counter contradict; the clock is unsynchronised\n");
}

void keepon_outcomes_finish(struct keepon *keepon, int budget)
{
	struct finished finished = {};
	struct keepon_frame *frame;
	struct keepon_frame *list;
	u32 unsaid;
	u32 wake;
	u32 tc;

	list = take_list(keepon, &unsaid);
	say_events(keepon, unsaid);
	if (!list)
		return;
	for (frame = list; frame; frame = frame->next) {
		tc = frame->frame.tc;
		finished.frames[tc]++;
		if (frame->queued) {
			finished.queued_frames[tc]++;
			finished.queued_bytes[tc] += frame->skb->len;
		}
		hand_back(keepon, frame, budget);
	}
	wake = return_records(keepon, list, &finished);
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		struct netdev_queue *queue = netdev_get_tx_queue(keepon->dev, tc);

		if (finished.queued_frames[tc])
			netdev_tx_completed_queue(queue, finished.queued_frames[tc], finished.queued_bytes[tc]);
		if (wake & BIT(tc) && netif_tx_queue_stopped(queue) && netif_carrier_ok(keepon->dev))
			netif_tx_wake_queue(queue);
	}
}

int keepon_napi_poll(struct napi_struct *napi, int budget)
{
	struct keepon *keepon = container_of(napi, struct keepon, napi);

	keepon_outcomes_finish(keepon, budget);
	/* What ended meanwhile has scheduled us again. */
	napi_complete_done(napi, 0);
	return 0;
}
