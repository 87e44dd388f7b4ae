/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Slots that belong to other instants now. */
#ifndef KPN_REPLAN_H
#define KPN_REPLAN_H

#include "kpn_pacer_state.h"

/**
 * kpn_plan_again() - slots from @from on belong to the instants the clock says now
 *
 * Frames beyond it get the slots their txtimes ask for, within the budget; in paper mode frames
 * keep their slots (B9).
 */
void kpn_plan_again(struct kpn_pacer *pacer, u64 from, u64 cpu_ns);

/** kpn_step() - kpn_plan_again() because the time of day changed */
void kpn_step(struct kpn_pacer *pacer, u64 from, u64 cpu_ns);

/**
 * kpn_leaves_grid() - whether slots are further off the grid than kpn_pacer_bounds() says, since
 * the rate was changed from @before_ppm; @first: the first that can still be replanned
 *
 * Slots between where the rate changed and that one go off the grid by what the bounds have in them
 * for the largest change they have seen, if that is not further than usual: after a late poll, with
 * a wide strip, or soon after other changes it is. They are furthest off where the rate of their
 * lengths turns. Where half a slot is less than the bound, a slot further off is its neighbour.
 */
bool kpn_leaves_grid(struct kpn_pacer *pacer, s64 before_ppm, u64 first, u64 cpu_ns);

/**
 * kpn_do_todo() - what an earlier call has left over, frames whose window has opened, best effort
 */
void kpn_do_todo(struct kpn_pacer *pacer, u64 cpu_ns);

#endif
