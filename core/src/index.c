// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * An index that is further on than the wire can be. Either this reading is wrong and refused, or
 * the earlier ones were and this one is believed.
 */
#include "kpn_index.h"

void kpn_index_undo(struct kpn_pacer *pacer, u32 moved)
{
	struct kpn_ring *ring = &pacer->ring;
	u32 index = pacer->reading.head_index;

	pacer->reading.head_index =
		index - moved + (index < moved ? pacer->reading.index_modulus : 0);
	ring->index_ps -= moved * ring->slot_ps +
			  kpn_ring_deltas_ps(ring, ring->index_seq - moved, ring->index_seq);
	ring->index_seq -= moved;
}

bool kpn_jump_confirmed(struct kpn_pacer *pacer, u32 index, u64 after_ns)
{
	u32 on = index - pacer->reading.jump_index +
		 (index < pacer->reading.jump_index ? pacer->reading.index_modulus : 0);
	u64 most =
		kpn_div_u64((after_ns - pacer->reading.jump_ns) * 1002, pacer->time.slot_ps_min) +
		pacer->span.slots_max + 1;
	bool again = pacer->reading.jump_ns && on && on <= most;

	pacer->reading.jump_index = index;
	pacer->reading.jump_ns = again ? 0 : after_ns;
	return again;
}
