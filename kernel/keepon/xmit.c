// SPDX-License-Identifier: GPL-2.0-only
/*
 * A frame from the stack to the pacer. No register is read and no doorbell rung here (C21): the core writes the frame
 * into its slot, the next poll does the rest.
 */
#include <linux/if_ether.h>
#include <linux/ktime.h>

#include "keepon.h"
#include "keepon/wire.h"
#include "trace.h"

/*
 * Queue = traffic class. With mqprio the stack's own choice applies; without it nothing says what class a frame has, and spreading
 * flows over classes by hash would be arbitrary: all is class 0.
 */
u16 keepon_select_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev)
{
	return netdev_get_num_tc(dev) ? netdev_pick_tx(dev, skb, sb_dev) : 0;
}

/* By how much the PHC is ahead of CLOCK_TAI; two clocks cannot be read at once, so the middle of two readings of one. */
static s64 phc_ahead_ns_locked(struct keepon *keepon)
{
	const struct keepon_engine *engine = keepon->engine;
	u64 before_ns = engine->native.ops->cpu_ns(engine->native.nic);
	s64 tai_ns = ktime_get_clocktai_ns();
	u64 after_ns = engine->native.ops->cpu_ns(engine->native.nic);

	return keepon_clock_at_locked(engine, before_ns + (after_ns - before_ns) / 2).ns - tai_ns;
}

/*
 * Whether a socket wants this frame at a time of a clock the wire does not go by. Best effort would be a silent lie, so it is refused
 * as etf refuses it. Times of CLOCK_MONOTONIC that have come are those fq has waited for; there is nothing left to ask for.
 */
static bool wants_another_clock(const struct sk_buff *skb)
{
	const struct sock *sk = skb->sk;

	if (!skb->tstamp || !sk || !sk_fullsock(sk) || !sock_flag(sk, SOCK_TXTIME) || sk_is_tcp(sk))
		return false;
	if (sk->sk_clockid == CLOCK_MONOTONIC)
		return ktime_after(skb->tstamp, ktime_get());
	return sk->sk_clockid != CLOCK_TAI;
}

static void describe_locked(struct keepon *keepon, struct kpn_frame *frame, const struct sk_buff *skb, u16 tc)
{
	frame->data = skb->data;
	/* Far beyond any slot it does not matter by how much. */
	frame->frame_bytes = min_t(u32, skb->len + KPN_FCS_BYTES, U16_MAX);
	frame->tc = tc;
	frame->flags = 0;
	frame->txtime_ns = 0;
	if (wants_another_clock(skb)) {
		/* No time at all, for the core: counted as invalid. */
		frame->flags = KPN_FRAME_TXTIME;
		frame->txtime_ns = -1;
		return;
	}
	if (!keepon_skb_txtime(skb))
		return;
	frame->flags = KPN_FRAME_TXTIME;
	frame->txtime_ns = ktime_to_ns(skb->tstamp);
	if (keepon->plan.txtime == KEEPON_TXTIME_TAI)
		frame->txtime_ns += phc_ahead_ns_locked(keepon);
}

/*
 * Byte queue limits count best effort only. A scheduled frame waits because its sender wants it to, and counting it
 * would close the queue to one that has to leave before it; there the number of frames held is the limit.
 */
static void account_locked(struct keepon_engine *engine, struct netdev_queue *queue, struct keepon_frame *frame)
{
	u16 tc = frame->frame.tc;

	engine->free[tc] = frame->next;
	frame->txtime_ns = 0;
	frame->queued = !(frame->frame.flags & KPN_FRAME_TXTIME);
	if (!frame->queued) {
		/* Taken: from here on it would be mistaken for the stamp of a frame sent. */
		frame->txtime_ns = ktime_to_ns(frame->skb->tstamp);
		frame->skb->tstamp = 0;
	}
	if (frame->queued)
		netdev_tx_sent_queue(queue, frame->skb->len);
	if (++engine->held[tc] >= engine->held_max)
		netif_tx_stop_queue(queue);
}

/* Return: pending, the verdict, or KPN_VERDICT_COUNT + 1 if there is no room to keep it. */
enum { NO_RECORD = KPN_VERDICT_PENDING + 1 };

static u32 submit(struct keepon *keepon, struct sk_buff *skb, u16 tc)
{
	struct netdev_queue *queue = netdev_get_tx_queue(keepon->dev, tc);
	struct keepon_engine *engine;
	struct keepon_frame *frame;
	unsigned long flags;
	u32 verdict = KPN_VERDICT_FLUSHED;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	engine = keepon->engine;
	if (!engine)
		goto unlock;
	frame = engine->free[tc];
	if (!frame) {
		netif_tx_stop_queue(queue);
		verdict = NO_RECORD;
		goto unlock;
	}
	describe_locked(keepon, &frame->frame, skb, tc);
	frame->skb = skb;
	verdict = kpn_pacer_submit(engine->pacer, &frame->frame);
	if (verdict == KPN_VERDICT_PENDING)
		account_locked(engine, queue, frame);
unlock:
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return verdict;
}

netdev_tx_t keepon_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct keepon *keepon = netdev_priv(dev);
	u16 tc = skb_get_queue_mapping(skb);
	struct sk_buff *stamped = NULL;
	u32 verdict;

	/* Without features the stack has linearised it already; others (pktgen, AF_XDP) may not have. */
	if (skb_put_padto(skb, ETH_ZLEN)) {
		dev_core_stats_tx_dropped_inc(dev);
		return NETDEV_TX_OK;
	}
	if (skb_linearize(skb)) {
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	if (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP && READ_ONCE(keepon->hwtstamp.tx_type) == HWTSTAMP_TX_ON)
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
	/* Once submitted it may be gone any time, but the software stamp belongs after that. */
	if (skb_shinfo(skb)->tx_flags & SKBTX_SW_TSTAMP)
		stamped = skb_get(skb);

	verdict = submit(keepon, skb, tc);
	if (verdict == NO_RECORD) {
		if (stamped)
			consume_skb(stamped);
		return NETDEV_TX_BUSY;
	}
	if (verdict == KPN_VERDICT_PENDING) {
		if (stamped)
			skb_tx_timestamp(stamped);
	} else {
		bool timed = keepon_skb_txtime(skb) || verdict == KPN_VERDICT_INVALID;
		s64 txtime_ns = timed ? ktime_to_ns(skb->tstamp) : 0;

		trace_keepon_outcome(dev, tc, verdict, 0, txtime_ns, &(struct kpn_time){});
		if (txtime_ns)
			keepon_report(skb, verdict, txtime_ns);
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
	}
	if (stamped)
		consume_skb(stamped);
	keepon_outcomes_kick(keepon);
	return NETDEV_TX_OK;
}
