/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Distance of slots that may be trimmed, on which all promises rest. */
#ifndef KPN_PROMISES_H
#define KPN_PROMISES_H

#include "kpn_pacer_state.h"

/** kpn_gap_slots() - distance of slots that may be trimmed */
static inline u32 kpn_gap_slots(const struct kpn_pacer *pacer)
{
	if (pacer->config.trim == KPN_TRIM_ANY || !pacer->phase_locked)
		return pacer->span.slots_max;
	return pacer->frames.table[0].partition->gap_slots;
}

#endif
