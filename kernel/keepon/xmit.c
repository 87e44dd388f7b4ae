// SPDX-License-Identifier: GPL-2.0-only
/*
 * A frame from the stack to the pacer. No register is read and no doorbell rung here: the core
 * writes the frame into its slot, the next poll does the rest.
 */
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ktime.h>
#include <net/sch_generic.h>

#include "keepon.h"
#include "keepon/wire.h"
#include "trace.h"

/*
 * Queue = traffic class, by the frame's priority. The stack would take sk_tx_queue_mapping, which
 * may be of another priority or of the card. Without mqprio the class of a frame is unknown: all
 * are class 0.
 */
u16 keepon_select_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev)
{
	if (!netdev_get_num_tc(dev))
		return 0;
	return dev->tc_to_txq[netdev_get_prio_tc_map(dev, skb->priority)].offset;
}

/*
 * PHC time now, and how far it is ahead of the clock of txtimes. CLOCK_TAI is read between two
 * readings of the CPU counter, and counts as read in their middle.
 */
static s64 read_clocks_locked(const struct keepon_engine *engine, s64 *ahead_ns)
{
	const struct keepon_plan *plan = &engine->keepon->plan;
	u64 cpu_ns = engine->native.ops->cpu_ns(engine->native.nic);
	s64 tai_ns;
	s64 now_ns;

	*ahead_ns = 0;
	if (plan->txtime != KEEPON_TXTIME_TAI)
		return keepon_clock_at_locked(engine, cpu_ns).ns;
	tai_ns = ktime_get_clocktai_ns();
	cpu_ns += (engine->native.ops->cpu_ns(engine->native.nic) - cpu_ns) / 2;
	now_ns = keepon_clock_at_locked(engine, cpu_ns).ns;
	*ahead_ns = now_ns - tai_ns;
	return now_ns;
}

/*
 * enum timing - meaning of a frame's skb->tstamp
 * @TIMING_NONE: nothing
 * @TIMING_OTHER: a time of a clock the wire does not follow: refused, as by etf, since as best
 *	effort the frame would silently lose its time
 */
enum timing { TIMING_NONE, TIMING_TXTIME, TIMING_DEADLINE, TIMING_OTHER };

/*
 * fq has waited for a time of CLOCK_MONOTONIC that has passed: nothing is left to do. Pacing times
 * of TCP are ignored.
 */
static noinline enum timing timing_of_rest(const struct sk_buff *skb, const struct sock *sk)
{
	if (sk_is_tcp(sk) || sk->sk_clockid == CLOCK_TAI)
		return TIMING_NONE;
	if (sk->sk_clockid == CLOCK_MONOTONIC)
		return ktime_after(skb->tstamp, ktime_get()) ? TIMING_OTHER : TIMING_NONE;
	return TIMING_OTHER;
}

/*
 * An offloaded etf has checked the frame: its time is of CLOCK_TAI, whatever set it. With
 * skip_sock_check that may be taprio (txtime-assist), which leaves no mark in the skb.
 */
static noinline enum timing timing_by_etf(const struct sock *sk)
{
	if (sk && sk_fullsock(sk) && sock_flag(sk, SOCK_TXTIME) && sk->sk_txtime_deadline_mode)
		return TIMING_DEADLINE;
	return TIMING_TXTIME;
}

static enum timing timing_of(const struct keepon *keepon, const struct sk_buff *skb, u16 tc)
{
	const struct sock *sk = skb->sk;

	if (!skb->tstamp)
		return TIMING_NONE;
	if (keepon->etf_queues >> tc & 1)
		return timing_by_etf(sk);
	if (!sk || !sk_fullsock(sk))
		return keepon_skb_txtime(skb) ? TIMING_TXTIME : TIMING_NONE;
	if (!sock_flag(sk, SOCK_TXTIME))
		return TIMING_NONE;
	if (unlikely(sk->sk_clockid != CLOCK_TAI || !keepon_skb_is_tai(skb)))
		return timing_of_rest(skb, sk);
	return sk->sk_txtime_deadline_mode ? TIMING_DEADLINE : TIMING_TXTIME;
}

/* etf as the qdisc sends deadline frames itself, with the time of sending in skb->tstamp. */
static bool is_etf_above(const struct net_device *dev, u16 tc)
{
	return !strcmp(rcu_dereference_bh(netdev_get_tx_queue(dev, tc)->qdisc)->ops->id, "etf");
}

/*
 * A frame with a deadline leaves as soon as possible. Return: pending, or the verdict of a refusal
 * before the pacer sees the frame.
 */
static noinline enum kpn_verdict set_deadline_locked(struct keepon_engine *engine,
						     struct keepon_frame *frame,
						     const struct sk_buff *skb)
{
	s64 ahead_ns;
	s64 now_ns = read_clocks_locked(engine, &ahead_ns);
	s64 deadline_ns = ktime_to_ns(skb->tstamp) + ahead_ns;

	if (is_etf_above(engine->keepon->dev, frame->frame.tc))
		return KPN_VERDICT_PENDING;
	frame->deadline_ns = deadline_ns;
	return deadline_ns < now_ns ? KPN_VERDICT_LATE : KPN_VERDICT_PENDING;
}

static noinline s64 tai_to_phc_locked(struct keepon_engine *engine, s64 tai_ns)
{
	s64 ahead_ns;

	read_clocks_locked(engine, &ahead_ns);
	return tai_ns + ahead_ns;
}

/* A frame with a txtime. Return: as set_deadline_locked(). */
static enum kpn_verdict schedule_locked(struct keepon_engine *engine, struct keepon_frame *frame,
					const struct sk_buff *skb)
{
	s64 txtime_ns = ktime_to_ns(skb->tstamp);

	if (engine->keepon->plan.txtime == KEEPON_TXTIME_TAI)
		txtime_ns = tai_to_phc_locked(engine, txtime_ns);
	frame->sender = keepon_share_locked(engine, frame->frame.tc, skb->sk);
	if (unlikely(!frame->sender))
		return KPN_VERDICT_NO_ROOM;
	frame->frame.flags = KPN_FRAME_TXTIME;
	frame->frame.txtime_ns = txtime_ns;
	return KPN_VERDICT_PENDING;
}

static enum kpn_verdict describe_locked(struct keepon_engine *engine, struct keepon_frame *frame,
					struct sk_buff *skb, u16 tc)
{
	frame->skb = skb;
	frame->sender = NULL;
	frame->deadline_ns = 0;
	frame->frame.data = skb->data;
	/* A length beyond any slot need not be exact. */
	frame->frame.frame_bytes = min_t(u32, skb->len + KPN_FCS_BYTES, U16_MAX);
	frame->frame.tc = tc;
	frame->frame.flags = 0;
	frame->frame.txtime_ns = 0;
	/* the egress hook has moved the card's frames with a txtime to the link */
	if (frame->queue->dev != engine->keepon->dev)
		return KPN_VERDICT_PENDING;
	switch (timing_of(engine->keepon, skb, tc)) {
	case TIMING_NONE: return KPN_VERDICT_PENDING;
	case TIMING_TXTIME: return schedule_locked(engine, frame, skb);
	case TIMING_DEADLINE: return set_deadline_locked(engine, frame, skb);
	case TIMING_OTHER: break;
	}
	/* Not a valid time for the core: counted as invalid. */
	frame->frame.flags = KPN_FRAME_TXTIME;
	frame->frame.txtime_ns = -1;
	return KPN_VERDICT_PENDING;
}

/*
 * BQL counts best effort only, each frame by its slots, which are its wire time however short it
 * is. A scheduled frame waits because its sender wants it to, and counting it would stop the queue
 * for a frame that has to leave earlier; the limit there is the number of frames held. So it is in
 * a shaped class, which gains credit only while the core has a frame of it waiting: one that BQL
 * kept in the qdisc would come after its slots went to others.
 */
static void account_locked(struct keepon_engine *engine, struct keepon_frame *frame, u16 tc)
{
	struct sk_buff *skb = frame->skb;
	bool timed = frame->sender;
	bool queued = !timed && !engine->keepon->credit[tc].idle_slope_bps;

	engine->free[tc] = frame->next;
	frame->txtime_ns = 0;
	frame->queued = queued;
	if (timed)
		keepon_share_add_locked(engine, frame->sender, tc);
	if (timed || frame->deadline_ns)
		frame->txtime_ns = ktime_to_ns(skb->tstamp);
	/* From here on skb->tstamp would be taken for the frame's TX timestamp. */
	skb->tstamp = 0;
	if (queued)
		netdev_tx_sent_queue(frame->queue, frame->frame.slots * engine->config.slot_bytes);
	if (++engine->held[tc] >= engine->held_max)
		netif_tx_stop_queue(frame->queue);
}

/*
 * max-sdu does not include a VLAN tag: when the stack compares, a VLAN device's tag is still in
 * skb->vlan_tci. A tag written by a program itself cannot be distinguished from it here.
 */
static u32 bytes_untagged(const struct sk_buff *skb)
{
	const struct ethhdr *header = (const struct ethhdr *)skb->data;

	return eth_type_vlan(header->h_proto) ? skb->len - VLAN_HLEN : skb->len;
}

/* Return: pending, the verdict, or KPN_VERDICT_COUNT + 1 if there is no record for the frame. */
enum { NO_RECORD = KPN_VERDICT_PENDING + 1 };

static u32 submit_locked(struct keepon *keepon, struct sk_buff *skb, struct netdev_queue *queue,
			 u16 tc)
{
	struct keepon_engine *engine = keepon->engine;
	struct keepon_frame *frame;
	u32 verdict;

	if (unlikely(!engine && queue->dev == keepon->dev))
		return KPN_VERDICT_FLUSHED;
	frame = engine ? engine->free[tc] : NULL;
	/* a queue of the card is woken when the wire starts, or the card's driver has the ring */
	if (unlikely(!frame)) {
		netif_tx_stop_queue(queue);
		return NO_RECORD;
	}
	frame->queue = queue;
	verdict = describe_locked(engine, frame, skb, tc);
	/* taprio's max-sdu: with full offload the stack leaves it to the device */
	if (unlikely(skb->len > keepon->taprio.frame_max[tc] &&
		     bytes_untagged(skb) > keepon->taprio.frame_max[tc]))
		verdict = KPN_VERDICT_OVERSIZE;
	if (unlikely(verdict != KPN_VERDICT_PENDING)) {
		keepon->taprio.window_drops[tc] += verdict == KPN_VERDICT_OVERSIZE;
		keepon->total.submitted++;
		keepon->total.verdicts[verdict]++;
		return verdict;
	}
	verdict = kpn_pacer_submit(engine->pacer, &frame->frame);
	if (likely(verdict == KPN_VERDICT_PENDING))
		account_locked(engine, frame, tc);
	else
		keepon->taprio.window_drops[tc] += verdict == KPN_VERDICT_OVERSIZE;
	return verdict;
}

static u32 submit(struct keepon *keepon, struct sk_buff *skb, struct netdev_queue *queue, u16 tc)
{
	unsigned long flags;
	u32 verdict;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	verdict = submit_locked(keepon, skb, queue, tc);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return verdict;
}

/* Drop the frame; with a txtime, report to its socket's error queue. */
static noinline void refuse(struct keepon *keepon, struct sk_buff *skb, struct net_device *dev,
			    u16 tc, u32 verdict)
{
	bool timed = keepon_skb_txtime(skb) || verdict == KPN_VERDICT_INVALID;
	s64 txtime_ns = timed ? ktime_to_ns(skb->tstamp) : 0;

	trace_keepon_outcome(keepon->dev, tc, verdict, 0, txtime_ns, &(struct kpn_time){});
	if (txtime_ns)
		keepon_report(skb, verdict, txtime_ns);
	if (verdict == KPN_VERDICT_OVERSIZE)
		keepon_say_oversize(keepon, skb->len + KPN_FCS_BYTES, tc);
	dev_core_stats_tx_dropped_inc(dev);
	dev_kfree_skb_any(skb);
}

/* Once submitted the skb may be freed: hold it for its software timestamp. */
static noinline u32 submit_stamped(struct keepon *keepon, struct sk_buff *skb,
				   struct netdev_queue *queue, u16 tc)
{
	struct sk_buff *stamped = skb_get(skb);
	u32 verdict = submit(keepon, skb, queue, tc);

	if (verdict == KPN_VERDICT_PENDING)
		skb_tx_timestamp(stamped);
	consume_skb(stamped);
	return verdict;
}

static __always_inline netdev_tx_t transmit(struct keepon *keepon, struct sk_buff *skb,
					    struct net_device *dev, u16 tc)
{
	struct netdev_queue *queue = netdev_get_tx_queue(dev, skb_get_queue_mapping(skb));
	u32 verdict;

	/*
	 * Without NETIF_F_SG the stack has linearised it already; other senders (pktgen, AF_XDP)
	 * may not have.
	 */
	if (skb_put_padto(skb, ETH_ZLEN)) {
		dev_core_stats_tx_dropped_inc(dev);
		return NETDEV_TX_OK;
	}
	if (skb_linearize(skb)) {
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	if (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP &&
	    READ_ONCE(keepon->hwtstamp.tx_type) == HWTSTAMP_TX_ON)
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_SW_TSTAMP))
		verdict = submit_stamped(keepon, skb, queue, tc);
	else
		verdict = submit(keepon, skb, queue, tc);
	if (likely(verdict == KPN_VERDICT_PENDING))
		return NETDEV_TX_OK;
	if (verdict == NO_RECORD)
		return NETDEV_TX_BUSY;
	refuse(keepon, skb, dev, tc, verdict);
	return NETDEV_TX_OK;
}

netdev_tx_t keepon_xmit(struct sk_buff *skb, struct net_device *dev)
{
	return transmit(netdev_priv(dev), skb, dev, skb_get_queue_mapping(skb));
}

netdev_tx_t keepon_card_transmit(void *owner, struct sk_buff *skb, struct net_device *dev)
{
	struct keepon *keepon = owner;

	return transmit(keepon, skb, dev, keepon_queue_of_rest(keepon->dev));
}
