// SPDX-License-Identifier: GPL-2.0-only
/*
 * What arrives in the receive ring of a NIC while it is lent: every frame of the peer's wire that
 * came whole, placeholders included. Nothing happens per placeholder: the sender's past is looked
 * up in runs of equal slots when it is read, and before it is forgotten - by a link that goes
 * down, a wire taken away, a ring that stops. All times are the sender's.
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

/* Placeholders before slot @end_seq that are not in it yet. */
static void place_placeholders(struct hwsim_port *port, struct hwsim_ring *ring,
			       struct hwsim_rx_ring *rx, u64 end_seq)
{
	while (ring->rx_seq < end_seq) {
		struct ring_nic_slot slot;
		u64 slots = hwsim_ring_frame(ring, ring->rx_seq, end_seq, &slot);

		if (rx->held == rx->room) {
			rx->missed += end_seq - ring->rx_seq;
			ring->rx_seq = end_seq;
			return;
		}
		if (slots) {
			u64 wire_bytes = div_u64(slot.pitch_ps, ring->params.byte_time_ps);

			put(rx,
			    (struct hwsim_rx_run){
				    .end_ps = slot.start_ps + slot.pitch_ps - gap_ps(port),
				    .pitch_ps = slot.pitch_ps,
				    .frame_bytes = (u32)wire_bytes - HWSIM_PREAMBLE_BYTES -
						   HWSIM_GAP_BYTES,
			    },
			    slot.alike);
		} else {
			rx->missed++;
			slots = 1;
		}
		ring->rx_seq += slots;
	}
}

/* A lost frame and one that began too early did not arrive; one with a wrong FCS did. */
static void place_frame(struct hwsim_port *port, struct hwsim_rx_ring *rx,
			struct hwsim_frame *frame)
{
	struct hwsim_rx_run run = {
		.end_ps = hwsim_frame_end_ps(frame),
		.pitch_ps = (u64)(HWSIM_PREAMBLE_BYTES + frame->frame_bytes + HWSIM_GAP_BYTES) *
			    frame->byte_ps,
		.frame_bytes = frame->frame_bytes,
	};

	frame->rx_state = HWSIM_RX_SKIPPED;
	if (frame->verdict == HWSIM_LOST || frame->start_ps < port->rx_from_ps)
		return;
	frame->place = rx->arrived;
	frame->rx_state = put(rx, run, 1) ? HWSIM_RX_PLACED : HWSIM_RX_MISSED;
}

/* A wire may hold thousands that were collected before; counted from its end they are few. */
static struct hwsim_frame *first_pending(struct hwsim_port *port)
{
	struct hwsim_frame *frame;

	list_for_each_entry_reverse(frame, &port->air, list)
	{
		if (frame->rx_state != HWSIM_RX_PENDING)
			break;
	}
	return list_next_entry(frame, list);
}

static void collect(struct hwsim_port *port, struct hwsim_rx_ring *rx, u64 until_ps)
{
	struct hwsim_ring *ring = ring_of(port);
	struct hwsim_frame *frame = first_pending(port);

	list_for_each_entry_from(frame, &port->air, list)
	{
		if (hwsim_frame_end_ps(frame) > until_ps)
			break;
		if (ring && frame->life == ring->life) {
			place_placeholders(port, ring, rx, frame->seq);
			ring->rx_seq = max(ring->rx_seq, frame->seq + frame->slots);
		}
		place_frame(port, rx, frame);
	}
	if (ring)
		place_placeholders(port, ring, rx, hwsim_ring_left(ring, until_ps + gap_ps(port)));
}

/*
 * hwsim_rx_collect() - what left @port wholly until @until_ps stands in the receive ring of its
 * peer, if that is lent
 * @port: of the sender, locked, time has passed up to there
 * @until_ps: local
 */
void hwsim_rx_collect(struct hwsim_port *port, u64 until_ps)
{
	struct hwsim_rx_ring *rx;
	struct hwsim_port *peer;

	rcu_read_lock();
	peer = rcu_dereference(port->peer);
	rx = peer ? peer->rx : NULL;
	if (rx && port->up) {
		raw_spin_lock(&rx->lock);
		if (rx->runs)
			collect(port, rx, until_ps);
		raw_spin_unlock(&rx->lock);
	}
	rcu_read_unlock();
}

/*
 * hwsim_rx_skip() - what started before @before_ps does not get into it any more; @port of the
 * sender, locked
 */
void hwsim_rx_skip(struct hwsim_port *port, u64 before_ps)
{
	struct hwsim_ring *ring = ring_of(port);
	struct ring_nic_slot slot;
	u64 seq;

	port->rx_from_ps = max(port->rx_from_ps, before_ps);
	if (!ring)
		return;
	seq = ring_nic_completed(ring->model, before_ps);
	if (ring_nic_find_slot(ring->model, seq, &slot) && slot.start_ps < before_ps)
		seq++;
	ring->rx_seq = max(ring->rx_seq, seq);
}

/*
 * hwsim_rx_unplug() - the wire to @port is gone, and with it the time by which the index lags: all
 * that came shows
 */
void hwsim_rx_unplug(struct hwsim_port *port)
{
	struct hwsim_rx_ring *rx = port->rx;
	unsigned long flags;

	if (!rx)
		return;
	raw_spin_lock_irqsave(&rx->lock, flags);
	rx->due = rx->arrived;
	raw_spin_unlock_irqrestore(&rx->lock, flags);
}

/*
 * hwsim_rx_deliver() - the stack is to be given @frame
 * @port: of the receiver
 * @frame: with a good FCS
 * @lent: whether the receive ring is lent: then the frame has a place and no stamp
 * @place: its place, KEEPON_NO_PLACE if it began to arrive before the ring was lent
 *
 * Any context. Return: false if it found no descriptor, so that the stack does not see it.
 */
bool hwsim_rx_deliver(struct hwsim_port *port, const struct hwsim_frame *frame, bool *lent,
		      u64 *place)
{
	struct hwsim_rx_ring *rx = port->rx;
	unsigned long flags;

	*lent = false;
	*place = KEEPON_NO_PLACE;
	if (frame->rx_state == HWSIM_RX_MISSED)
		return false;
	if (!rx)
		return true;
	raw_spin_lock_irqsave(&rx->lock, flags);
	*lent = rx->runs;
	if (*lent && frame->rx_state == HWSIM_RX_PLACED) {
		*place = frame->place;
		rx->due = max(rx->due, *place + 1);
	}
	raw_spin_unlock_irqrestore(&rx->lock, flags);
	return true;
}

/** hwsim_rx_missed() - frames that found no descriptor since the NIC was made; any context */
u64 hwsim_rx_missed(struct hwsim_port *port)
{
	unsigned long flags;
	u64 missed;

	if (!port->rx)
		return 0;
	raw_spin_lock_irqsave(&port->rx->lock, flags);
	missed = port->rx->missed;
	raw_spin_unlock_irqrestore(&port->rx->lock, flags);
	return missed;
}
