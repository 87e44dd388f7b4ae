/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Completion of slots, inline because every poll does it; complete.c does the slots with frames or
 * trims.
 */
#ifndef KPN_COMPLETE_H
#define KPN_COMPLETE_H

#include "kpn_pacer_state.h"

/**
 * kpn_complete_touched() - move the head towards @to, at most the tail, over slots that may carry
 * frames or be trimmed
 *
 * Cost follows frames and trims; the head stops before a frame beyond the budget. For slots without
 * either, kpn_ring_skip() does the same.
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
