// SPDX-License-Identifier: GPL-2.0-only
/*
 * What everybody may ask of a port: take a frame, and look again soon. wire.c serves it.
 */
#include "wire.h"

/** hwsim_port_arrival_ps() - true time at which the far end's stack has @frame */
u64 hwsim_port_arrival_ps(const struct hwsim_port *port, const struct hwsim_frame *frame)
{
	return hwsim_true_of_ps(port->tb, hwsim_frame_end_ps(frame)) + port->flight_ps;
}

/*
 * hwsim_port_send() - @frame starts, or will: start_ps, byte_ps, seq and verdict are set; port
 * locked, any context
 */
void hwsim_port_send(struct hwsim_port *port, struct hwsim_frame *frame)
{
	if (port->lose_next) {
		port->lose_next--;
		frame->verdict = HWSIM_LOST;
	} else if (port->corrupt_next) {
		port->corrupt_next--;
		if (frame->verdict <= HWSIM_TORN) {
			frame->verdict = HWSIM_BAD_FCS;
			frame->fcs_error = U32_MAX;
		}
	}
	list_add_tail(&frame->list, &port->air);
}

/** hwsim_port_kick() - arm the timer for the next thing to happen; port locked, any context */
void hwsim_port_kick(struct hwsim_port *port)
{
	u64 local_ps = port->ops->next(port);
	u64 next_ps =
		local_ps == HWSIM_NEVER_PS ? HWSIM_NEVER_PS : hwsim_true_of_ps(port->tb, local_ps);
	u64 delay_ns = 1;
	u64 now_ps;

	if (!list_empty(&port->air))
		next_ps =
			min(next_ps,
			    hwsim_port_arrival_ps(
				    port, list_first_entry(&port->air, struct hwsim_frame, list)));
	if (port->flap_until_ps)
		next_ps = min(next_ps, port->flap_until_ps);
	if (port->dead || next_ps >= port->armed_ps)
		return;
	port->armed_ps = next_ps;
	now_ps = hwsim_true_ps();
	if (next_ps > now_ps)
		delay_ns += div_u64(next_ps - now_ps, 1000);
	hrtimer_start(&port->timer, ktime_add_ns(ktime_get(), delay_ns), HRTIMER_MODE_ABS_SOFT);
}

/*
 * hwsim_port_kick_soon() - the same as soon as interrupts are on again. What stores into a ring
 * must not take the CPU longer than on a card: its owner measures that.
 */
void hwsim_port_kick_soon(struct hwsim_port *port)
{
	irq_work_queue(&port->kick);
}
