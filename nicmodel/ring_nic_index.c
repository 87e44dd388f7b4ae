/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CPU reads: the index, and where the wire is. */
#include "ring_nic_private.h"

uint64_t ring_nic_index(struct ring_nic *nic, uint64_t now_ps)
{
	uint64_t min = nic->params.index_lag_ps_min;
	uint64_t max = nic->params.index_lag_ps_max;
	bool done = nic->params.index == RING_NIC_INDEX_DONE;
	struct ring_nic_slot slot;
	uint64_t seq;

	ring_nic_advance(nic, now_ps);
	if (nic->index_frozen)
		return nic->shown_index;
	now_ps = ring_nic_min(now_ps, nic->gone_ps);
	if (now_ps < min)
		return 0;
	seq = done ? ring_nic_completed(nic, now_ps - min) : ring_nic_latched_at(nic, now_ps - min);
	/*
	 * A later slot that shows early moves the index past an earlier one that would show late.
	 */
	while (max != min && seq > 0 && ring_nic_find_slot(nic, seq - 1, &slot)) {
		uint64_t event_ps = done ? slot.start_ps + slot.pitch_ps : slot.latch_ps;

		if (event_ps + ring_nic_draw(nic, seq - 1, min, max) <= now_ps)
			break;
		seq--;
	}
	return seq;
}

void ring_nic_freeze_index(struct ring_nic *nic, bool frozen)
{
	if (frozen && !nic->index_frozen)
		nic->shown_index = ring_nic_index(nic, nic->now_ps);
	nic->index_frozen = frozen;
}

struct ring_nic_position ring_nic_locate(struct ring_nic *nic, uint64_t now_ps)
{
	struct ring_nic_position position = { .idle = true };
	struct ring_nic_slot slot;

	ring_nic_advance(nic, now_ps);
	now_ps = ring_nic_min(now_ps, nic->gone_ps);
	position.seq = ring_nic_completed(nic, now_ps);
	position.sent_ps = nic->sent_ps;
	if (ring_nic_find_slot(nic, position.seq, &slot)) {
		position.sent_ps = slot.sent_ps;
		if (now_ps >= slot.start_ps) {
			position.idle = !ring_nic_present(nic);
			position.offset_ps = now_ps - slot.start_ps;
			position.sent_ps += position.offset_ps;
		}
	}
	return position;
}
