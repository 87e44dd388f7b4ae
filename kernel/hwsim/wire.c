// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames on a wire: from their start to the far end. One soft hrtimer per port is armed for the
 * next thing to happen; placeholders are no frames and cost no event.
 */
#include "record.h"
#include "rx_ring.h"

static void kick_work(struct irq_work *work)
{
	struct hwsim_port *port = container_of(work, struct hwsim_port, kick);
	unsigned long flags;

	raw_spin_lock_irqsave(&port->lock, flags);
	hwsim_port_kick(port);
	raw_spin_unlock_irqrestore(&port->lock, flags);
}

static bool met_link_down(const struct hwsim_port *port, const struct hwsim_frame *frame)
{
	return frame->end_true_ps > port->down_from_ps &&
	       hwsim_true_of_ps(port->tb, frame->start_ps) < port->down_until_ps;
}

static void count_sent(struct hwsim_port *port, const struct hwsim_frame *frame)
{
	switch (frame->verdict) {
	case HWSIM_TORN: hwsim_count(port, HWSIM_tx_torn, 1); fallthrough;
	case HWSIM_GOOD:
		hwsim_count(port, HWSIM_tx_frames, 1);
		hwsim_count(port, HWSIM_tx_bytes, frame->frame_bytes);
		break;
	case HWSIM_BAD_FCS: hwsim_count(port, HWSIM_tx_bad_fcs, 1); break;
	case HWSIM_LOST: hwsim_count(port, HWSIM_tx_lost, 1); break;
	default: hwsim_count(port, HWSIM_tx_cut, 1); break;
	}
}

/* Frames that have arrived until @now_ps move to @arrived, with their times and last verdict. */
static void collect(struct hwsim_port *port, u64 now_ps, struct list_head *arrived)
{
	struct hwsim_frame *frame;
	struct hwsim_frame *next;

	if (list_empty(&port->air))
		return;
	/* Converted there and back a time may be off by a picosecond or two. */
	hwsim_rx_collect(port, hwsim_local_ps(port->tb, now_ps - port->propagation_ps) + 2);
	list_for_each_entry_safe(frame, next, &port->air, list)
	{
		if (hwsim_port_arrival_ps(port, frame) > now_ps)
			return;
		frame->sfd_true_ps = hwsim_true_of_ps(
			port->tb, frame->start_ps + (u64)HWSIM_PREAMBLE_BYTES * frame->byte_ps);
		frame->end_true_ps = hwsim_true_of_ps(port->tb, hwsim_frame_end_ps(frame));
		if (met_link_down(port, frame))
			frame->verdict = HWSIM_CUT;
		count_sent(port, frame);
		if (port->record)
			hwsim_record_frame(port, frame);
		list_move_tail(&frame->list, arrived);
	}
}

static void deliver(struct hwsim_port *port, struct list_head *arrived)
{
	struct hwsim_frame *frame;
	struct hwsim_frame *next;
	struct hwsim_port *peer;

	rcu_read_lock();
	peer = rcu_dereference(port->peer);
	list_for_each_entry_safe(frame, next, arrived, list)
	{
		struct hwsim_arrival arrival = {
			.sfd_true_ps = frame->sfd_true_ps + port->propagation_ps,
			.end_true_ps = frame->end_true_ps + port->propagation_ps,
		};

		list_del(&frame->list);
		if (!peer || frame->verdict == HWSIM_LOST || frame->verdict == HWSIM_CUT) {
			hwsim_frame_free(frame);
			continue;
		}
		if (frame->verdict == HWSIM_BAD_FCS) { /* the FCS check of the far end */
			hwsim_count(peer, HWSIM_rx_fcs_errors, 1);
			hwsim_frame_free(frame);
			continue;
		}
		peer->ops->receive(peer, frame, &arrival);
	}
	rcu_read_unlock();
}

/*
 * hwsim_port_serve() - let time pass up to now: frames start, and those that have arrived are
 * delivered
 * @port: not locked; softirq
 *
 * Timers fire in no certain order when the CPU is late. A bridge asks all its neighbours before it
 * decides which frame is next. Neighbours that are bridges do the same, so bridges must not form a
 * ring (they would forward for ever anyway).
 */
void hwsim_port_serve(struct hwsim_port *port)
{
	u64 now_ps = hwsim_true_ps();
	LIST_HEAD(arrived);
	LIST_HEAD(dropped);
	unsigned long flags;

	if (port->ops->gather)
		port->ops->gather(port);
	raw_spin_lock_irqsave(&port->lock, flags);
	port->ops->advance(port, hwsim_local_ps(port->tb, now_ps));
	collect(port, now_ps, &arrived);
	list_splice_init(&port->dropped, &dropped);
	raw_spin_unlock_irqrestore(&port->lock, flags);
	hwsim_frames_free(&dropped);
	deliver(port, &arrived);
}

static enum hrtimer_restart port_timer(struct hrtimer *timer)
{
	struct hwsim_port *port = container_of(timer, struct hwsim_port, timer);
	unsigned long flags;
	bool flap_over;

	raw_spin_lock_irqsave(&port->lock, flags);
	port->armed_ps = HWSIM_NEVER_PS;
	flap_over = port->flap_until_ps && port->flap_until_ps <= hwsim_true_ps();
	raw_spin_unlock_irqrestore(&port->lock, flags);

	hwsim_port_serve(port);
	if (flap_over)
		hwsim_link_flap_over(port);
	if (port->ops->finish)
		port->ops->finish(port);

	raw_spin_lock_irqsave(&port->lock, flags);
	hwsim_port_kick(port);
	raw_spin_unlock_irqrestore(&port->lock, flags);
	return HRTIMER_NORESTART;
}

/** hwsim_port_init() - a port without a wire; takes over the caller's reference on @tb */
void hwsim_port_init(struct hwsim_port *port, const struct hwsim_port_ops *ops,
		     struct hwsim_timebase *tb, u64 rate_bps)
{
	raw_spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->air);
	INIT_LIST_HEAD(&port->dropped);
	port->ops = ops;
	port->tb = tb;
	port->rate_bps = rate_bps;
	port->byte_ps = (u32)div64_u64(8000000000000ull, rate_bps);
	port->down_until_ps = HWSIM_NEVER_PS;
	port->armed_ps = HWSIM_NEVER_PS;
	keepon_hrtimer_setup(&port->timer, port_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	port->kick = IRQ_WORK_INIT_HARD(kick_work);
}

/** hwsim_port_close() - it was unlinked, and nothing is given to it any more; may sleep */
void hwsim_port_close(struct hwsim_port *port)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&port->lock, flags);
	port->dead = true;
	raw_spin_unlock_irqrestore(&port->lock, flags);
	synchronize_rcu(); /* all deliveries to it have finished */
	irq_work_sync(&port->kick);
	hrtimer_cancel(&port->timer);
	hwsim_frames_free(&port->air);
	hwsim_frames_free(&port->dropped);
	hwsim_record_stop(port);
	hwsim_timebase_put(port->tb);
}
