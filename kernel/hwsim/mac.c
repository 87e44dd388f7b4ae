// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transmit queues of an ordinary NIC or of a bridge port. Which frame is next is decided when the
 * wire is free, not when a frame is queued. The decision is evaluated late but as of its moment:
 * time passes before a frame is added.
 */
#include "mac.h"

enum { COMPARATOR_NS = 32 }; /* launch times of the i210 have 32 ns steps */

void hwsim_mac_init(struct hwsim_mac *mac, bool strict)
{
	u32 q;

	memset(mac, 0, sizeof(*mac));
	mac->strict = strict;
	INIT_LIST_HEAD(&mac->coming);
	for (q = 0; q < HWSIM_QUEUES; q++)
		INIT_LIST_HEAD(&mac->queue[q]);
}

/** hwsim_mac_add() - @frame->queue and ready_ps are set; the port was advanced to now */
void hwsim_mac_add(struct hwsim_mac *mac, struct hwsim_frame *frame)
{
	list_add_tail(&frame->list, &mac->queue[frame->queue]);
	mac->waiting[frame->queue]++;
}

/*
 * hwsim_mac_add_by_time() - the same where frames may be added out of order and the port is only
 * advanced when all are there
 * @mac: of the port
 * @frame: queue and ready_ps are set
 *
 * Whether its queue has room is decided as of the moment at which it is ready, too.
 */
void hwsim_mac_add_by_time(struct hwsim_mac *mac, struct hwsim_frame *frame)
{
	struct hwsim_frame *before;

	list_for_each_entry_reverse(before, &mac->coming, list)
	{
		if (before->ready_ps <= frame->ready_ps)
			break;
	}
	/* behind that one; at the head if there is none */
	list_add(&frame->list, &before->list);
}

/*
 * Between two starts no frame leaves a queue, so that all that is ready until the next start finds
 * the queues as they are now.
 */
static void admit(struct hwsim_port *port, struct hwsim_mac *mac, u64 start_ps)
{
	struct hwsim_frame *frame;
	struct hwsim_frame *next;

	list_for_each_entry_safe(frame, next, &mac->coming, list)
	{
		if (frame->ready_ps > start_ps)
			return;
		list_del(&frame->list);
		if (mac->waiting[frame->queue] < mac->queue_frames) {
			hwsim_mac_add(mac, frame);
		} else {
			hwsim_count(port, HWSIM_tx_queue_drops, 1);
			list_add(&frame->list, &port->dropped);
		}
	}
}

/*
 * hwsim_mac_launch_ps() - local time at which the NIC's comparator lets a launch-time frame go
 * @port: locked
 * @frame: with launch set
 *
 * The txtime is that of the reference plane; the preamble goes before it. As in the simulator
 * (Intel i210 datasheet section 7.2.2.3: launch time in units of 32 ns).
 */
u64 hwsim_mac_launch_ps(struct hwsim_port *port, const struct hwsim_frame *frame)
{
	u32 preamble_ns = DIV_ROUND_UP(HWSIM_PREAMBLE_BYTES * port->byte_ps, 1000);
	s64 match_ns = frame->txtime_ns - preamble_ns + COMPARATOR_NS - 1;
	s32 rest;

	if (match_ns < 0)
		return 0;
	div_s64_rem(match_ns, COMPARATOR_NS, &rest);
	return hwsim_phc_to_local_ps(port->tb, match_ns - rest);
}

static u64 ready_ps(struct hwsim_port *port, const struct hwsim_frame *frame)
{
	return frame->launch ? max(frame->ready_ps, hwsim_mac_launch_ps(port, frame)) :
			       frame->ready_ps;
}

/*
 * Earliest start of a queue's first frame as if the wire were free; the frames behind it wait (head
 * of line).
 */
static u64 queue_ready_ps(struct hwsim_port *port, const struct hwsim_mac *mac, u32 q)
{
	if (list_empty(&mac->queue[q]))
		return HWSIM_NEVER_PS;
	return ready_ps(port, list_first_entry(&mac->queue[q], struct hwsim_frame, list));
}

/** hwsim_mac_next() - local time of the next start, HWSIM_NEVER_PS if nothing waits */
u64 hwsim_mac_next(struct hwsim_port *port, struct hwsim_mac *mac)
{
	u64 next_ps = HWSIM_NEVER_PS;
	u32 q;

	if (!list_empty(&mac->coming))
		next_ps = list_first_entry(&mac->coming, struct hwsim_frame, list)->ready_ps;
	for (q = 0; q < HWSIM_QUEUES; q++)
		next_ps = min(next_ps, queue_ready_ps(port, mac, q));
	if (next_ps == HWSIM_NEVER_PS)
		return next_ps;
	if (next_ps > mac->free_ps) /* it has gone to sleep */
		next_ps += mac->wake_ps;
	return max3(next_ps, mac->free_ps, mac->hold_ps);
}

/** hwsim_mac_advance() - start every frame that starts until @local_ps */
void hwsim_mac_advance(struct hwsim_port *port, struct hwsim_mac *mac, u64 local_ps)
{
	for (;;) {
		u64 start_ps = hwsim_mac_next(port, mac);
		struct hwsim_frame *frame;
		u32 step;
		u32 q = 0;

		if (start_ps == HWSIM_NEVER_PS || start_ps > local_ps)
			return;
		admit(port, mac, start_ps);
		for (step = 0; step < HWSIM_QUEUES; step++) {
			q = mac->strict ? step : (mac->turn + step) % HWSIM_QUEUES;
			if (queue_ready_ps(port, mac, q) <= start_ps)
				break;
		}
		mac->turn = q + 1;
		frame = list_first_entry(&mac->queue[q], struct hwsim_frame, list);
		list_del(&frame->list);
		mac->waiting[q]--;
		frame->start_ps = start_ps;
		frame->seq = port->sent_seq++;
		frame->byte_ps = port->byte_ps;
		mac->free_ps = hwsim_frame_end_ps(frame) + (u64)HWSIM_GAP_BYTES * port->byte_ps;
		if (port->ops->started)
			port->ops->started(port, frame);
		hwsim_port_send(port, frame);
	}
}

/*
 * hwsim_mac_hold() - no frame starts for @duration_ps from @from_ps on; the one on the wire is
 * finished
 */
void hwsim_mac_hold(struct hwsim_mac *mac, u64 from_ps, u64 duration_ps)
{
	mac->hold_ps = max(mac->hold_ps, max(from_ps, mac->free_ps) + duration_ps);
}

/** hwsim_mac_take_all() - move everything that waits to @frames */
void hwsim_mac_take_all(struct hwsim_mac *mac, struct list_head *frames)
{
	u32 q;

	list_splice_tail_init(&mac->coming, frames);
	for (q = 0; q < HWSIM_QUEUES; q++) {
		list_splice_tail_init(&mac->queue[q], frames);
		mac->waiting[q] = 0;
	}
}
