/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was on the wire and when: runs of equal slots, looked up backwards from now. It decides
 * nothing.
 */
#include "ring_nic_private.h"

uint64_t ring_nic_history_slots(const struct ring_nic_params *params)
{
	uint64_t shortest = ring_nic_pitch_ps(params, params->frame_bytes_min);
	/*
	 * In the FIFO or the lag of the index; 8 for both ends of each and the run being extended.
	 */
	uint64_t need =
		params->prefetch_slots + ring_nic_div(params->index_lag_ps_max, shortest) + 8;
	uint64_t slots = 16;

	need = ring_nic_max(need, params->history_runs);
	while (slots < need)
		slots *= 2;
	return slots;
}

void ring_nic_push(struct ring_nic *nic, const struct ring_nic_run *slots)
{
	struct ring_nic_run *last = ring_nic_run_at(nic, nic->run_end - 1);
	uint64_t count = slots->count;
	bool joined = false;

	/* Of slots with as many bytes the pitch tells whether they begin or end a frame. */
	if (nic->run_end > nic->run_first && last->pitch_ps == slots->pitch_ps &&
	    slots->start_ps == nic->end_ps && last->frame_bytes == slots->frame_bytes) {
		uint64_t step = slots->latch_ps -
				(last->latch_ps + (last->count - 1) * last->latch_pitch_ps);

		joined = (last->count == 1 || step == last->latch_pitch_ps) &&
			 (count == 1 || step == slots->latch_pitch_ps);
		if (joined) {
			last->latch_pitch_ps = step;
			last->count += count;
		}
	}
	if (!joined) {
		if (nic->run_end - nic->run_first > nic->run_mask)
			nic->run_first++;
		last = ring_nic_run_at(nic, nic->run_end++);
		*last = *slots;
		last->seq = nic->fetch_seq;
		last->sent_ps = nic->sent_ps;
	}
	nic->end_ps = slots->start_ps + count * slots->pitch_ps;
	nic->sent_ps += count * slots->pitch_ps;
	nic->fetch_seq += count;
	nic->fetch_idx = (uint32_t)(nic->fetch_idx + count);
	while (nic->fetch_idx >= nic->params.ring_slots)
		nic->fetch_idx -= nic->params.ring_slots;
}

/* FIFO bytes are short: walk back over the slots that fit beside one largest frame. */
static struct ring_nic_room room_by_bytes(const struct ring_nic *nic)
{
	struct ring_nic_room room = { .slots = 1, .cursor = nic->cursor };
	uint64_t bytes = nic->params.fifo_bytes - nic->params.frame_bytes_max;
	uint64_t slots = nic->params.prefetch_slots;
	uint64_t run;

	for (run = nic->run_end; run > nic->run_first; run--) {
		const struct ring_nic_run *r = ring_nic_run_at(nic, run - 1);
		uint64_t fit = ring_nic_min(slots, ring_nic_div(bytes, r->frame_bytes));

		if (fit < r->count) {
			room.end_ps = r->start_ps + (r->count - fit) * r->pitch_ps;
			room.pitch_ps = r->pitch_ps;
			if (run == nic->run_end && r->pitch_ps == nic->nominal_pitch_ps)
				room.slots = UINT64_MAX;
			return room;
		}
		slots -= r->count;
		bytes -= r->count * r->frame_bytes;
	}
	return room;
}

struct ring_nic_room ring_nic_room(const struct ring_nic *nic)
{
	struct ring_nic_room room = { .slots = 1, .cursor = nic->cursor };
	const struct ring_nic_run *r;
	uint64_t seq;

	if (nic->fifo_limited)
		return room_by_bytes(nic);
	if (nic->fetch_seq <= nic->params.prefetch_slots)
		return room;
	seq = nic->fetch_seq - nic->params.prefetch_slots - 1;
	for (r = ring_nic_run_at(nic, room.cursor); r->seq + r->count <= seq;
	     r = ring_nic_run_at(nic, room.cursor))
		room.cursor++;
	room.end_ps = r->start_ps + (seq - r->seq + 1) * r->pitch_ps;
	room.pitch_ps = r->pitch_ps;
	/* A run still being extended by nominal slots goes on making room at its own pitch. */
	if (room.cursor + 1 == nic->run_end && r->pitch_ps == nic->nominal_pitch_ps)
		room.slots = UINT64_MAX;
	else
		room.slots = r->seq + r->count - seq;
	return room;
}

/* Slots with first + i x pitch <= at. */
static uint64_t count_until(uint64_t first_ps, uint64_t pitch_ps, uint64_t count, uint64_t at_ps)
{
	if (at_ps < first_ps)
		return 0;
	if (at_ps - first_ps >= (count - 1) * pitch_ps)
		return count;
	return ring_nic_div(at_ps - first_ps, pitch_ps) + 1;
}

uint64_t ring_nic_completed(const struct ring_nic *nic, uint64_t at_ps)
{
	uint64_t run;

	at_ps = ring_nic_min(at_ps, nic->gone_ps);
	for (run = nic->run_end; run > nic->run_first; run--) {
		const struct ring_nic_run *r = ring_nic_run_at(nic, run - 1);
		uint64_t count =
			count_until(r->start_ps + r->pitch_ps, r->pitch_ps, r->count, at_ps);

		if (count)
			return r->seq + count;
	}
	return nic->run_end > nic->run_first ? ring_nic_run_at(nic, nic->run_first)->seq : 0;
}

uint64_t ring_nic_latched_at(const struct ring_nic *nic, uint64_t at_ps)
{
	uint64_t run;

	for (run = nic->run_end; run > nic->run_first; run--) {
		const struct ring_nic_run *r = ring_nic_run_at(nic, run - 1);
		uint64_t count = count_until(r->latch_ps, r->latch_pitch_ps, r->count, at_ps);

		if (count)
			return r->seq + count;
	}
	return nic->run_end > nic->run_first ? ring_nic_run_at(nic, nic->run_first)->seq : 0;
}

/*
 * The last run that begins at or before slot @seq; there is one. Most questions are about the last
 * two.
 */
static const struct ring_nic_run *run_with(const struct ring_nic *nic, uint64_t seq)
{
	uint64_t first = nic->run_first;
	uint64_t end = nic->run_end;
	uint64_t middle = end - 1;

	if (end - first > 2 && ring_nic_run_at(nic, end - 2)->seq <= seq)
		first = end - 2;
	while (end - first > 1) {
		if (ring_nic_run_at(nic, middle)->seq <= seq)
			first = middle;
		else
			end = middle;
		middle = first + (end - first) / 2;
	}
	return ring_nic_run_at(nic, first);
}

bool ring_nic_find_slot(const struct ring_nic *nic, uint64_t seq, struct ring_nic_slot *slot)
{
	const struct ring_nic_run *r;

	if (seq >= nic->fetch_seq || nic->run_end == nic->run_first ||
	    seq < ring_nic_run_at(nic, nic->run_first)->seq)
		return false;
	r = run_with(nic, seq);
	slot->start_ps = r->start_ps + (seq - r->seq) * r->pitch_ps;
	slot->latch_ps = r->latch_ps + (seq - r->seq) * r->latch_pitch_ps;
	slot->sent_ps = r->sent_ps + (seq - r->seq) * r->pitch_ps;
	slot->pitch_ps = r->pitch_ps;
	slot->frame_bytes = r->frame_bytes;
	slot->continues = r->continues;
	slot->alike = r->count - (seq - r->seq);
	return true;
}
