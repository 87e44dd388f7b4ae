/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Slots whose instants have changed. */
#ifndef KPN_REPLAN_H
#define KPN_REPLAN_H

#include "kpn_pacer_state.h"

/**
 * kpn_plan_again() - give slots from @from on their instants by the present clock
 *
 * Frames in these slots move to the slots of their txtimes, within the budget; in paper mode frames
 * keep their slots (B9).
 */
void kpn_plan_again(struct kpn_pacer *pacer, u64 from, u64 cpu_ns);

/** kpn_step() - kpn_plan_again() after a change of the time of day */
void kpn_step(struct kpn_pacer *pacer, u64 from, u64 cpu_ns);

/**
 * kpn_leaves_grid() - whether the change of rate from @before_ppm takes slots further off the grid
 * than kpn_pacer_bounds() says; @first: the first slot that can still be replanned
 *
 * Slots between the change and @first leave the grid by the amount that the bounds contain for the
 * largest change, unless @first is further away than usual: after a late poll, with a wide strip,
 * or soon after other changes. The error is largest where the rate of the lengths changes. Where
 * half a slot is less than the bound, a slot further off counts as its neighbour.
 */
bool kpn_leaves_grid(struct kpn_pacer *pacer, s64 before_ppm, u64 first, u64 cpu_ns);

/**
 * kpn_do_todo() - do the work left over by earlier calls, place frames whose window has opened,
 * then best effort
 */
void kpn_do_todo(struct kpn_pacer *pacer, u64 cpu_ns);

#endif
