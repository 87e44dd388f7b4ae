// SPDX-License-Identifier: GPL-2.0-only
/* The two queues of qdisc "guard", and the senders' error queues. */
#include <linux/errqueue.h>
#include <linux/if_ether.h>
#include <net/sock.h>

#include "guard.h"
#include "keepon_compat.h"

static s64 now_ns(void)
{
	return ktime_to_ns(ktime_get_clocktai());
}

/* With FCS, as short ones are padded. */
static u32 frame_bytes(const struct sk_buff *skb)
{
	return max_t(u32, skb->len + ETH_FCS_LEN, ETH_ZLEN + ETH_FCS_LEN);
}

static void report(struct sk_buff *skb, u8 code, u32 error)
{
	s64 txtime_ns = ktime_to_ns(skb->tstamp);
	struct sock_exterr_skb *err;
	struct sock *sk = skb->sk;
	struct sk_buff *clone;

	if (!sk || !sk_fullsock(sk) || !sk->sk_txtime_report_errors)
		return;
	clone = skb_clone(skb, GFP_ATOMIC);
	if (!clone)
		return;
	/* A time left here would be shown as the instant it was sent. */
	clone->tstamp = 0;
	err = SKB_EXT_ERR(clone);
	memset(err, 0, sizeof(*err));
	err->ee.ee_errno = error;
	err->ee.ee_origin = SO_EE_ORIGIN_TXTIME;
	err->ee.ee_code = code;
	err->ee.ee_data = upper_32_bits((u64)txtime_ns);
	err->ee.ee_info = lower_32_bits((u64)txtime_ns);
	if (sock_queue_err_skb(sk, clone))
		kfree_skb(clone);
}

/* Those of equal txtime stay in the order in which they came. */
static void insert(struct guard_sched *q, struct sk_buff *skb)
{
	struct rb_node **link = &q->timed.rb_root.rb_node;
	struct rb_node *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (ktime_before(skb->tstamp, rb_to_skb(parent)->tstamp)) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(&skb->rbnode, parent, link);
	rb_insert_color_cached(&skb->rbnode, &q->timed, leftmost);
	q->timed_count++;
}

static struct sk_buff *first_timed(const struct guard_sched *q)
{
	struct rb_node *node = rb_first_cached(&q->timed);

	return node ? rb_to_skb(node) : NULL;
}

/* The node shares its memory with the links of other lists. */
static void take_timed(struct Qdisc *sch, struct sk_buff *skb)
{
	struct guard_sched *q = qdisc_priv(sch);

	rb_erase_cached(&skb->rbnode, &q->timed);
	q->timed_count--;
	skb->next = NULL;
	skb->prev = NULL;
	skb->dev = qdisc_dev(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
}

static int queued(struct sk_buff *skb, struct Qdisc *sch)
{
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static int enqueue_timed(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct guard_sched *q = qdisc_priv(sch);

	if (!keepon_skb_txtime(skb)) {
		q->wrong++;
		report(skb, SO_EE_CODE_TXTIME_INVALID_PARAM, EINVAL);
		return qdisc_drop(skb, sch, to_free);
	}
	if (q->timed_count >= q->options.limit_frames)
		return qdisc_drop(skb, sch, to_free);
	switch (kpn_guard_enter(&q->guard, ktime_to_ns(skb->tstamp), frame_bytes(skb), now_ns())) {
	case KPN_GUARD_QUEUE: break;
	case KPN_GUARD_TOO_LATE:
		report(skb, SO_EE_CODE_TXTIME_MISSED, ECANCELED);
		return qdisc_drop(skb, sch, to_free);
	case KPN_GUARD_TOO_LONG:
		q->wrong++;
		report(skb, SO_EE_CODE_TXTIME_INVALID_PARAM, EINVAL);
		return qdisc_drop(skb, sch, to_free);
	}
	insert(q, skb);
	return queued(skb, sch);
}

static int enqueue_other(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct guard_sched *q = qdisc_priv(sch);

	if (frame_bytes(skb) > q->guard.config.mtu_bytes) {
		q->wrong++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (q->others.qlen >= q->options.limit_frames)
		return qdisc_drop(skb, sch, to_free);
	__qdisc_enqueue_tail(skb, &q->others);
	return queued(skb, sch);
}

/* What a NIC would cut into frames is cut here: each of them has a time of its own. */
static int enqueue_segments(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	struct sk_buff *segments = skb_gso_segment(skb, features);
	struct sk_buff *segment;
	struct sk_buff *next;
	u32 count = 0;

	if (IS_ERR_OR_NULL(segments))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segments, segment, next)
	{
		skb_mark_not_on_list(segment);
		qdisc_skb_cb(segment)->pkt_len = segment->len;
		count += enqueue_other(segment, sch, to_free) == NET_XMIT_SUCCESS;
	}
	consume_skb(skb);
	return count ? NET_XMIT_SUCCESS : NET_XMIT_DROP;
}

int guard_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sock *sk = skb->sk;

	if (sk && sk_fullsock(sk) && sock_flag(sk, SOCK_TXTIME) && skb->tstamp)
		return enqueue_timed(skb, sch, to_free);
	if (skb_is_gso(skb))
		return enqueue_segments(skb, sch, to_free);
	return enqueue_other(skb, sch, to_free);
}

static void drop_late(struct Qdisc *sch, struct sk_buff *skb)
{
	take_timed(sch, skb);
	report(skb, SO_EE_CODE_TXTIME_MISSED, ECANCELED);
	qdisc_qstats_drop(sch);
	kfree_skb(skb);
}

struct sk_buff *guard_dequeue(struct Qdisc *sch)
{
	struct guard_sched *q = qdisc_priv(sch);

	for (;;) {
		struct sk_buff *timed = first_timed(q);
		struct sk_buff *other = q->others.head;
		struct kpn_guard_heads heads = {
			.txtime_ns = timed ? ktime_to_ns(timed->tstamp) : 0,
			.timed_bytes = timed ? frame_bytes(timed) : 0,
			.other_bytes = other ? frame_bytes(other) : 0,
		};
		s64 wake_ns;

		switch (kpn_guard_next(&q->guard, &heads, now_ns(), &wake_ns)) {
		case KPN_GUARD_WAIT:
			if (wake_ns != KPN_GUARD_NEVER_NS)
				qdisc_watchdog_schedule_ns(&q->watchdog, (u64)wake_ns);
			return NULL;
		case KPN_GUARD_DROP_TIMED: drop_late(sch, timed); continue;
		case KPN_GUARD_SEND_TIMED:
			take_timed(sch, timed);
			qdisc_bstats_update(sch, timed);
			return timed;
		case KPN_GUARD_SEND_OTHER:
			other = __qdisc_dequeue_head(&q->others);
			qdisc_qstats_backlog_dec(sch, other);
			sch->q.qlen--;
			qdisc_bstats_update(sch, other);
			return other;
		}
	}
}

void guard_purge(struct Qdisc *sch)
{
	struct guard_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	while ((skb = first_timed(q))) {
		take_timed(sch, skb);
		rtnl_kfree_skbs(skb, skb);
	}
	while ((skb = __qdisc_dequeue_head(&q->others)))
		rtnl_kfree_skbs(skb, skb);
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}
