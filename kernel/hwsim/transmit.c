// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ordinary driver: transmit rings, coalesced completion interrupts, byte queue limits, stamps.
 * A launch-time NIC is the same with a comparator in front of queues that have etf offload.
 */
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/if_ether.h>
#include <linux/slab.h>

#include "nic.h"

enum { DRAIN_MS = 200 };

/** struct hwsim_done - in the cb of an skb whose frame has started; local times */
struct hwsim_done {
	u64 start_ps;
	u64 end_ps;
	u32 byte_ps;
	u16 queue;
};

static struct hwsim_done *done_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct hwsim_done) > sizeof(skb->cb));
	return (struct hwsim_done *)skb->cb;
}

static bool may_reach_wire(const struct hwsim_nic *nic)
{
	return nic->port.open && !nic->port.removed;
}

/*
 * The sender brought its own FCS (SO_NOFCS, pktgen-like senders): the last 4 bytes, right or wrong.
 */
static void take_own_fcs(struct hwsim_frame *frame)
{
	u32 data_bytes = frame->data_bytes - HWSIM_FCS_BYTES;
	__le32 fcs;

	memcpy(&fcs, frame->data + data_bytes, sizeof(fcs));
	frame->fcs_error = crc32_le(~0, frame->data, data_bytes) ^ ~0u ^ le32_to_cpu(fcs);
	if (frame->fcs_error)
		frame->verdict = HWSIM_BAD_FCS;
	frame->data_bytes = data_bytes;
	frame->frame_bytes -= HWSIM_FCS_BYTES;
}

/** hwsim_transmit() - ndo_start_xmit */
netdev_tx_t hwsim_transmit(struct sk_buff *skb, struct net_device *dev)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	struct hwsim_port *port = &nic->port;
	u16 q = skb_get_queue_mapping(skb);
	u32 bytes_max = HWSIM_FRAME_BYTES_MAX - (skb->no_fcs ? 0 : HWSIM_FCS_BYTES);
	struct hwsim_frame *frame = NULL;
	unsigned long flags;
	u64 local_ps;

	/* changes under the same lock of the stack */
	if (nic->claimed)
		return keepon_native_transmit(skb, dev);
	if (skb->len <= bytes_max && (!skb->no_fcs || skb->len >= HWSIM_FRAME_BYTES_MIN))
		frame = hwsim_frame_create(skb, NULL, skb->len);
	if (!frame)
		goto drop;
	if (skb->no_fcs)
		take_own_fcs(frame);
	frame->queue = (u8)q;
	frame->original = skb;
	if (nic->launch_queues & BIT(q) && keepon_skb_txtime(skb)) {
		frame->launch = true;
		frame->txtime_ns = ktime_to_ns(skb->tstamp);
	}
	skb_txtime_consumed(
		skb); /* or the socket would take it for a software stamp and hide the hardware's */
	if (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP && nic->hwtstamp.tx_type == HWTSTAMP_TX_ON)
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
	skb_tx_timestamp(skb);

	raw_spin_lock_irqsave(&port->lock, flags);
	if (!may_reach_wire(nic)) {
		raw_spin_unlock_irqrestore(&port->lock, flags);
		frame->original = NULL;
		goto drop;
	}
	local_ps = hwsim_local_now_ps(port->tb);
	port->ops->advance(port, local_ps);
	frame->ready_ps = local_ps + nic->params.fetch_ns * 1000ull;
	if (frame->launch && frame->ready_ps > hwsim_mac_launch_ps(port, frame))
		hwsim_count(port, HWSIM_tx_late_launches, 1);
	hwsim_mac_add(&nic->mac, frame);
	netdev_tx_sent_queue(netdev_get_tx_queue(dev, q), skb->len);
	if (++nic->unfinished[q] >= nic->params.tx_ring)
		netif_tx_stop_queue(netdev_get_tx_queue(dev, q));
	hwsim_port_kick(port);
	raw_spin_unlock_irqrestore(&port->lock, flags);
	return NETDEV_TX_OK;

drop:
	if (frame)
		hwsim_frame_free(frame);
	hwsim_count(port, HWSIM_tx_dropped, 1);
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

/*
 * The interrupt comes coalesce_us after the first frame that ended, or with the coalesce_frames-th.
 * Port locked.
 */
static void plan_interrupt(struct hwsim_nic *nic)
{
	struct sk_buff *skb;
	u32 count = 0;

	nic->irq_ps = HWSIM_NEVER_PS;
	skb_queue_walk(&nic->done, skb)
	{
		if (!count)
			nic->irq_ps = done_of(skb)->end_ps + nic->params.coalesce_us * 1000000ull;
		if (++count == nic->params.coalesce_frames) {
			nic->irq_ps = min(nic->irq_ps, done_of(skb)->end_ps);
			return;
		}
	}
}

/** hwsim_transmit_started() - the stack's skb waits for the transmit interrupt from now on */
void hwsim_transmit_started(struct hwsim_port *port, struct hwsim_frame *frame)
{
	struct hwsim_nic *nic = hwsim_nic_of(port);
	struct sk_buff *skb = frame->original;

	frame->original = NULL;
	*done_of(skb) = (struct hwsim_done){
		.start_ps = frame->start_ps,
		.end_ps = hwsim_frame_end_ps(frame),
		.byte_ps = frame->byte_ps,
		.queue = frame->queue,
	};
	__skb_queue_tail(&nic->done, skb);
	if (skb_queue_len(&nic->done) <= nic->params.coalesce_frames)
		plan_interrupt(nic);
}

static void complete_one(struct hwsim_nic *nic, struct sk_buff *skb)
{
	struct hwsim_done done = *done_of(skb);

	if (skb_shinfo(skb)->tx_flags & SKBTX_IN_PROGRESS) {
		u64 sfd_ps = done.start_ps + (u64)HWSIM_PREAMBLE_BYTES * done.byte_ps;
		struct skb_shared_hwtstamps stamps = {
			.hwtstamp = ns_to_ktime(hwsim_phc_at(nic->port.tb, sfd_ps).ns),
		};

		skb_tstamp_tx(skb, &stamps);
	}
	dev_consume_skb_any(skb);
}

/** hwsim_transmit_finish() - the transmit interrupt, if it is due; softirq */
void hwsim_transmit_finish(struct hwsim_port *port)
{
	struct hwsim_nic *nic = hwsim_nic_of(port);
	unsigned int packets[HWSIM_QUEUES] = { 0 };
	unsigned int bytes[HWSIM_QUEUES] = { 0 };
	struct sk_buff_head ended;
	struct sk_buff *skb;
	unsigned long flags;
	u64 local_ps;
	u32 q;

	__skb_queue_head_init(&ended);
	raw_spin_lock_irqsave(&port->lock, flags);
	local_ps = hwsim_local_now_ps(port->tb);
	if (nic->irq_ps > local_ps) {
		raw_spin_unlock_irqrestore(&port->lock, flags);
		return;
	}
	while ((skb = skb_peek(&nic->done)) && done_of(skb)->end_ps <= local_ps) {
		__skb_unlink(skb, &nic->done);
		__skb_queue_tail(&ended, skb);
		packets[done_of(skb)->queue]++;
		bytes[done_of(skb)->queue] += skb->len;
	}
	plan_interrupt(nic);
	hwsim_count(port, HWSIM_tx_interrupts, 1);
	for (q = 0; q < nic->params.queues; q++) {
		struct netdev_queue *txq = netdev_get_tx_queue(nic->dev, q);

		if (!packets[q])
			continue;
		nic->unfinished[q] -= packets[q];
		netdev_tx_completed_queue(txq, packets[q], bytes[q]);
		if (netif_tx_queue_stopped(txq) && port->open &&
		    nic->unfinished[q] <= nic->params.tx_ring * 3 / 4)
			netif_tx_wake_queue(txq);
	}
	raw_spin_unlock_irqrestore(&port->lock, flags);
	while ((skb = __skb_dequeue(&ended)))
		complete_one(nic, skb);
}

/** hwsim_transmit_flush() - drop what waits; the interface is closed or its ring lent; may sleep */
void hwsim_transmit_flush(struct hwsim_nic *nic)
{
	struct hwsim_frame *frame;
	struct hwsim_frame *next;
	struct sk_buff_head done;
	LIST_HEAD(waiting);
	unsigned long flags;
	u32 q;

	__skb_queue_head_init(&done);
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	hwsim_mac_take_all(&nic->mac, &waiting);
	skb_queue_splice_init(&nic->done, &done);
	nic->irq_ps = HWSIM_NEVER_PS;
	for (q = 0; q < nic->params.queues; q++) {
		nic->unfinished[q] = 0;
		netdev_tx_reset_queue(netdev_get_tx_queue(nic->dev, q));
	}
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	list_for_each_entry_safe(frame, next, &waiting, list)
	{
		hwsim_count(&nic->port, HWSIM_tx_dropped, 1);
		list_del(&frame->list);
		hwsim_frame_free(frame);
	}
	__skb_queue_purge(&done);
}

static bool drained(struct hwsim_nic *nic)
{
	unsigned long flags;
	u64 local_ps;
	bool empty;

	raw_spin_lock_irqsave(&nic->port.lock, flags);
	local_ps = hwsim_local_now_ps(nic->port.tb);
	nic->port.ops->advance(&nic->port, local_ps);
	empty = skb_queue_empty(&nic->done) &&
		hwsim_mac_next(&nic->port, &nic->mac) == HWSIM_NEVER_PS &&
		nic->mac.free_ps <= local_ps;
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	return empty;
}

/*
 * hwsim_transmit_drain() - wait until everything has left and was completed; what takes too long is
 * dropped; may sleep
 */
bool hwsim_transmit_drain(struct hwsim_nic *nic)
{
	u32 waited;

	for (waited = 0; waited < DRAIN_MS; waited++) {
		if (drained(nic))
			return true;
		usleep_range(1000, 1500);
	}
	hwsim_transmit_flush(nic);
	return false;
}

/** hwsim_nic_is() - @dev is one of ours: it transmits here */
bool hwsim_nic_is(const struct net_device *dev)
{
	return dev->netdev_ops->ndo_start_xmit == hwsim_transmit;
}
