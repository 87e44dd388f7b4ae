/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What has left, inline because every poll asks; what is touched is in complete.c. */
#ifndef KPN_COMPLETE_H
#define KPN_COMPLETE_H

#include "kpn_pacer_state.h"

/**
 * kpn_complete_touched() - the head moves towards @to, at most the tail, over slots that may carry
 * frames or be trimmed
 *
 * Cost follows frames and trims; it stops before the frame that the budget does not allow. Where
 * nothing is touched, kpn_ring_skip() does the same.
 */
void kpn_complete_touched(struct kpn_pacer *pacer, u64 to);

/** kpn_complete() - slots before @to have left */
static inline void kpn_complete(struct kpn_pacer *pacer, u64 to)
{
	if (KPN_UNLIKELY(to > pacer->ring.quiet_seq))
		kpn_complete_touched(pacer, to);
	else
		kpn_ring_skip(&pacer->ring, &pacer->ring.head, to);
}

#endif
