// SPDX-License-Identifier: GPL-2.0-only
/*
 * What arrives in the receive ring of a NIC while it is lent: every frame of the peer's wire that came whole, placeholders included. Nothing
 * happens per placeholder: the sender's past is looked up in runs of equal slots when somebody asks, and before it is forgotten - by a
 * link that goes down, a wire taken away, a ring that stops. All times are the sender's.
 */
#include "rx_ring.h"
#include "ring.h"

/* The sender's lent ring; NULL if it has none or it does not exist now. */
static struct hwsim_ring *ring_of(struct hwsim_port *port)
{
	struct hwsim_ring *ring = port->ops->placeholders ? hwsim_nic_of(port)->ring : NULL;

	return ring && ring->model ? ring : NULL;
}

static u64 gap_ps(const struct hwsim_port *port)
{
	return (u64)HWSIM_GAP_BYTES * port->byte_ps;
}

static void append(struct hwsim_rx_ring *rx, const struct hwsim_rx_run *run)
{
	struct hwsim_rx_run *last = rx->run_count ? hwsim_rx_run_at(rx, rx->run_count - 1) : NULL;

	if (last && last->frame_bytes == run->frame_bytes && last->pitch_ps == run->pitch_ps &&
	    last->end_ps + last->frames * last->pitch_ps == run->end_ps)
		last->frames += run->frames;
	else
		*hwsim_rx_run_at(rx, rx->run_count++) = *run;
}

/* Frames take descriptors; what finds none is missed. Return: how many have one. */
static u32 put(struct hwsim_rx_ring *rx, struct hwsim_rx_run run, u64 frames)
{
	run.frames = (u32)min_t(u64, frames, rx->room - rx->held);
	rx->missed += frames - run.frames;
	if (!run.frames)
		return 0;
	append(rx, &run);
	rx->held += run.frames;
	rx->arrived += run.frames;
	return run.frames;
}

/* Placeholders before slot @end_seq that were not heard yet. */
static void hear_placeholders(struct hwsim_port *port, struct hwsim_ring *ring, struct hwsim_rx_ring *rx, u64 end_seq)
{
	while (ring->heard_seq < end_seq) {
		struct ring_nic_slot slot;
		u64 frames = 1;

		if (rx->held == rx->room) {
			rx->missed += end_seq - ring->heard_seq;
			ring->heard_seq = end_seq;
			return;
		}
		if (ring_nic_find_slot(ring->model, ring->heard_seq, &slot)) {
			u64 wire_bytes = div_u64(slot.pitch_ps, ring->params.byte_time_ps);

			frames = min(slot.alike, end_seq - ring->heard_seq);
			put(rx,
			    (struct hwsim_rx_run){
				    .end_ps = slot.start_ps + slot.pitch_ps - gap_ps(port),
				    .pitch_ps = slot.pitch_ps,
				    .frame_bytes = (u32)wire_bytes - HWSIM_PREAMBLE_BYTES - HWSIM_GAP_BYTES,
			    },
			    frames);
		} else {
			rx->missed++;
		}
		ring->heard_seq += frames;
	}
}

/* A lost frame and one whose beginning was not heard did not arrive; one with a wrong FCS did. */
static void hear_frame(struct hwsim_port *port, struct hwsim_rx_ring *rx, struct hwsim_frame *frame)
{
	struct hwsim_rx_run run = {
		.end_ps = hwsim_frame_end_ps(frame),
		.pitch_ps = (u64)(HWSIM_PREAMBLE_BYTES + frame->frame_bytes + HWSIM_GAP_BYTES) * frame->byte_ps,
		.frame_bytes = frame->frame_bytes,
	};

	frame->heard = HWSIM_PASSED;
	if (frame->verdict == HWSIM_LOST || frame->start_ps < port->hear_from_ps)
		return;
	frame->place = rx->arrived;
	frame->heard = put(rx, run, 1) ? HWSIM_PLACED : HWSIM_MISSED;
}

static void hear(struct hwsim_port *port, struct hwsim_rx_ring *rx, u64 until_ps)
{
	struct hwsim_ring *ring = ring_of(port);
	struct hwsim_frame *frame;

	list_for_each_entry(frame, &port->air, list)
	{
		if (frame->heard != HWSIM_UNHEARD)
			continue;
		if (hwsim_frame_end_ps(frame) > until_ps)
			break;
		if (ring && frame->life == ring->life) {
			hear_placeholders(port, ring, rx, frame->seq);
			ring->heard_seq = max(ring->heard_seq, frame->seq + 1);
		}
		hear_frame(port, rx, frame);
	}
	if (ring)
		hear_placeholders(port, ring, rx, ring_nic_completed(ring->model, until_ps + gap_ps(port)));
}

/**
 * hwsim_rx_hear() - what left @port wholly until @until_ps stands in the receive ring of its peer, if that is lent
 * @port: of the sender, locked, time has passed up to there
 * @until_ps: local
 */
void hwsim_rx_hear(struct hwsim_port *port, u64 until_ps)
{
	struct hwsim_rx_ring *rx;
	struct hwsim_port *peer;

	rcu_read_lock();
	peer = rcu_dereference(port->peer);
	rx = peer ? peer->rx : NULL;
	if (rx && port->up) {
		spin_lock(&rx->lock);
		if (rx->runs)
			hear(port, rx, until_ps);
		spin_unlock(&rx->lock);
	}
	rcu_read_unlock();
}

/** hwsim_rx_pass() - what started before @before_ps is not heard any more; @port of the sender, locked */
void hwsim_rx_pass(struct hwsim_port *port, u64 before_ps)
{
	struct hwsim_ring *ring = ring_of(port);
	struct ring_nic_slot slot;
	u64 seq;

	port->hear_from_ps = max(port->hear_from_ps, before_ps);
	if (!ring)
		return;
	seq = ring_nic_completed(ring->model, before_ps);
	if (ring_nic_find_slot(ring->model, seq, &slot) && slot.start_ps < before_ps)
		seq++;
	ring->heard_seq = max(ring->heard_seq, seq);
}

/** hwsim_rx_unplug() - the wire to @port is gone, and with it the time by which the index lags: all that came shows */
void hwsim_rx_unplug(struct hwsim_port *port)
{
	struct hwsim_rx_ring *rx = port->rx;
	unsigned long flags;

	if (!rx)
		return;
	spin_lock_irqsave(&rx->lock, flags);
	rx->due = rx->arrived;
	spin_unlock_irqrestore(&rx->lock, flags);
}

/** hwsim_rx_deliver() - the stack gets @skb, which was @frame; false if it found no descriptor; any context */
bool hwsim_rx_deliver(struct hwsim_port *port, const struct hwsim_frame *frame, struct sk_buff *skb)
{
	struct hwsim_rx_ring *rx = port->rx;
	unsigned long flags;
	u64 place = KEEPON_NO_PLACE;
	bool lent;

	if (frame->heard == HWSIM_MISSED)
		return false;
	if (!rx)
		return true;
	spin_lock_irqsave(&rx->lock, flags);
	lent = rx->runs;
	if (lent && frame->heard == HWSIM_PLACED) {
		place = frame->place;
		rx->due = max(rx->due, place + 1);
	}
	spin_unlock_irqrestore(&rx->lock, flags);
	if (lent)
		keepon_native_set_place(skb, place);
	return true;
}

/** hwsim_rx_missed() - frames that found no descriptor since the NIC was made; any context */
u64 hwsim_rx_missed(struct hwsim_port *port)
{
	unsigned long flags;
	u64 missed;

	if (!port->rx)
		return 0;
	spin_lock_irqsave(&port->rx->lock, flags);
	missed = port->rx->missed;
	spin_unlock_irqrestore(&port->rx->lock, flags);
	return missed;
}
