/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The slot of a txtime; inline on the grid, because every insertion needs it. */
#ifndef KPN_TARGET_H
#define KPN_TARGET_H

#include "kpn_pacer_state.h"

/** kpn_target_of_paper() - slot of a txtime while slots run freely */
u64 kpn_target_of_paper(const struct kpn_pacer *pacer, s64 ns);

/**
 * kpn_target_of() - slot of a txtime
 *
 * On the grid: floor takes the slot in progress, counted from slot start; up takes the first whose
 * reference plane is not before txtime - tolerance.
 */
static inline u64 kpn_target_of(const struct kpn_pacer *pacer, const struct kpn_frame *frame)
{
	s64 ns = frame->txtime_ns;

	if (KPN_UNLIKELY(!pacer->phase_locked))
		return kpn_target_of_paper(pacer, ns);
	if (pacer->config.classes[frame->tc].rounding == KPN_ROUND_FLOOR)
		return kpn_grid_floor(&pacer->align.grid, ns, 0) - pacer->align.base;
	/*
	 * First slot not before x = txtime - tolerance - sfd: the slot after the last one that
	 * starts at or before x - 1 ps.
	 */
	ns -= pacer->time.early_ns;
	if (ns < 0)
		return 0 - pacer->align.base;
	return kpn_grid_floor(&pacer->align.grid, ns, pacer->time.early_rest_ps) + 1 -
	       pacer->align.base;
}

/** kpn_insert_rekey() - txtimes map to other slots, or another held back frame is the earliest */
void kpn_insert_rekey(struct kpn_pacer *pacer);

#endif
