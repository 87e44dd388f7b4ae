/* SPDX-License-Identifier: BSD-3-Clause */
#include "slow_nic.h"

void slow_init(struct slow_nic *slow, const struct ring_nic_params *params)
{
	uint32_t i;

	memset(slow, 0, sizeof(*slow));
	slow->params = *params;
	for (i = 0; i < params->ring_slots; i++)
		slow->length[i] = params->nominal_bytes;
}

static uint64_t scramble(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t slow_draw(uint64_t seed, uint64_t value, uint64_t min, uint64_t max)
{
	uint64_t high = scramble(seed ^ scramble(value)) >> 32;

	return min + ((high * (max - min + 1)) >> 32);
}

/* Slots that must have left before slot k finds room: all before the returned one. */
static uint64_t must_have_left(const struct slow_nic *slow, uint64_t k)
{
	uint64_t bytes = 0;
	uint64_t first = k;

	while (first > 0 && k - first < slow->params.prefetch_slots) {
		bytes += slow->slot[first - 1].frame_bytes;
		if (slow->params.fifo_bytes &&
		    bytes + slow->params.frame_bytes_max > slow->params.fifo_bytes)
			break;
		first--;
	}
	return first;
}

/* What the NIC reads. */
static const uint8_t *memory(const struct slow_nic *slow, uint32_t idx)
{
	const uint8_t *base =
		slow->params.coherent ? slow->params.buffers : slow->params.device_buffers;

	return base + idx * slow->params.buffer_stride;
}

/* Whether other data stands in the NIC's memory now than at the commit. */
static bool is_torn(const struct slow_nic *slow, uint32_t idx)
{
	return memcmp(slow->committed[idx], memory(slow, idx), slow->data_bytes[idx]) != 0;
}

/* Whether the NIC's memory had other bytes than the FCS at the commit than the CPU's buffer. */
static bool is_stale(const struct slow_nic *slow, uint32_t idx)
{
	uint32_t fcs = slow->part[idx] == SLOW_GOES_ON ? 0 : RING_NIC_FCS_BYTES;

	return slow->length[idx] > fcs &&
	       memcmp(slow->committed[idx], slow->meant[idx], slow->length[idx] - fcs) != 0;
}

uint64_t slow_digest(const uint8_t *data, uint32_t bytes)
{
	uint64_t digest = bytes;

	while (bytes--)
		digest = digest * 1099511628211u + *data++;
	return digest;
}

/* Slot k, just latched from @idx, as a part of what the slots before it began. */
static void put_together(struct slow_nic *slow, uint64_t k, uint32_t idx)
{
	struct slow_slot *slot = &slow->slot[k];
	const struct slow_slot *before = k > 0 && slow->slot[k - 1].continues ? slot - 1 : NULL;

	slot->first = before ? before->first : k;
	slot->total = (before ? before->total : 0) + slot->frame_bytes;
	slot->continues = slow->part[idx] == SLOW_GOES_ON;
	if (!before && slow->part[idx] == SLOW_ALONE)
		return;
	slot->real = slow->summed_bytes[idx] > 0 && slot->total == slow->summed_bytes[idx];
	slot->torn = false;
	slot->stale = is_stale(slow, idx);
	if (before) {
		slot->stale |= before->stale;
		slot->late |= before->late;
	}
	if (slot->total <= SLOW_FRAME_MAX)
		memcpy(slow->under_way + slot->total - slot->frame_bytes, memory(slow, idx),
		       slot->frame_bytes);
	if (!slot->real)
		return;
	slot->real = !slot->late && !memcmp(slow->under_way, slow->summed[idx], slot->total);
	slot->digest = slow_digest(slow->under_way, (uint32_t)slot->total - RING_NIC_FCS_BYTES);
}

/* Each pause is met by the first slot that would start at or after it, and by no other. */
static void hold_back(struct slow_nic *slow, struct slow_slot *slot, uint64_t wire_free_ps)
{
	uint32_t i;

	for (i = 0; i < slow->pauses; i++) {
		uint64_t begin_ps = slow->pause[i].at_ps;

		if (slow->pause_over[i] || slot->start_ps < begin_ps)
			continue;
		slow->pause_over[i] = true;
		if (begin_ps < wire_free_ps)
			begin_ps = wire_free_ps;
		if (slot->start_ps < begin_ps + slow->pause[i].idle_ps)
			slot->start_ps = begin_ps + slow->pause[i].idle_ps;
	}
}

void slow_advance(struct slow_nic *slow, uint64_t now_ps)
{
	if (now_ps > slow->now_ps)
		slow->now_ps = now_ps;
	while (slow->latched < slow->tail_seq && !slow->unarmed && !slow->halted) {
		uint64_t k = slow->latched;
		bool inside = k > 0 && slow->slot[k - 1].continues;
		uint32_t idx = (uint32_t)(k % slow->params.ring_slots);
		struct slow_slot *slot = &slow->slot[k];
		uint64_t left = must_have_left(slow, k);
		uint64_t room_ps = left > 0 ? slow->slot[left - 1].end_ps : 0;
		uint64_t end_ps = k > 0 ? slow->slot[k - 1].end_ps : 0;

		slot->latch_ps =
			(room_ps > slot->bell_ps ? room_ps : slot->bell_ps) + slow->params.fetch_ps;
		if (slot->latch_ps > slow->now_ps)
			return;
		if (!slow->params.persistent && (!slow->armed[idx] || slow->length[idx] == 0)) {
			slow->unarmed = true;
			slow->halts += !slow->armed[idx];
			slow->clobbered += slow->armed[idx];
			return;
		}
		slow->armed[idx] = false;
		slot->frame_bytes = slow->length[idx];
		slot->real = slow->real[idx];
		slot->torn = slot->real && is_torn(slow, idx);
		slot->stale = slot->real && is_stale(slow, idx);
		slot->start_ps = end_ps;
		if (slot->start_ps < slot->latch_ps)
			slot->start_ps = slot->latch_ps;
		if (slot->start_ps < slot->bell_start_ps)
			slot->start_ps = slot->bell_start_ps;
		slot->ready_ps = slot->start_ps;
		slot->late = inside && slot->start_ps > end_ps;
		if (!inside)
			hold_back(slow, slot, end_ps);
		put_together(slow, k, idx);
		if (slow->params.clobbers)
			slow->length[idx] = 0;
		slot->end_ps = slot->start_ps + slot->frame_bytes * slow->params.byte_time_ps;
		if (!inside)
			slot->end_ps += 8ull * slow->params.byte_time_ps;
		if (!slot->continues)
			slot->end_ps += 12ull * slow->params.byte_time_ps;
		slow->latched++;
	}
}

void slow_describe(struct slow_nic *slow, uint32_t idx, uint32_t frame_bytes, bool real,
		   uint64_t now_ps)
{
	slow_advance(slow, now_ps);
	if (frame_bytes < slow->params.frame_bytes_min)
		frame_bytes = slow->params.frame_bytes_min;
	if (frame_bytes > slow->params.frame_bytes_max)
		frame_bytes = slow->params.frame_bytes_max;
	slow->length[idx] = frame_bytes;
	slow->real[idx] = real;
	slow->part[idx] = SLOW_ALONE;
	slow->summed_bytes[idx] = 0;
}

void slow_set_length(struct slow_nic *slow, uint32_t idx, uint32_t bytes, uint64_t now_ps)
{
	uint8_t part = slow->part[idx];

	slow_describe(slow, idx, bytes, slow->real[idx], now_ps);
	if (part == SLOW_ALONE)
		return;
	slow->part[idx] = part;
	if (bytes < 1)
		bytes = 1;
	if (bytes > slow->params.frame_bytes_max)
		bytes = slow->params.frame_bytes_max;
	if (bytes > slow->params.buffer_stride)
		bytes = (uint32_t)slow->params.buffer_stride;
	slow->length[idx] = bytes;
}

void slow_commit_fragment(struct slow_nic *slow, uint32_t idx, uint32_t bytes, bool last,
			  uint64_t now_ps)
{
	slow_commit(slow, idx, bytes, 0, now_ps);
	slow->real[idx] = false;
	slow->part[idx] = last ? SLOW_ENDS : SLOW_GOES_ON;
	slow_set_length(slow, idx, bytes, now_ps);
}

void slow_seal(struct slow_nic *slow, uint32_t first, uint32_t fragments, uint64_t now_ps)
{
	uint32_t slots = slow->params.ring_slots;
	uint32_t last = (first + fragments - 1) % slots;
	uint32_t total = 0;
	uint32_t i;

	slow_advance(slow, now_ps);
	if (slow->part[last] != SLOW_ENDS || slow->length[last] < RING_NIC_FCS_BYTES)
		return;
	slow->summed_bytes[last] = 0;
	for (i = 0; i < fragments; i++) {
		uint32_t idx = (first + i) % slots;

		if (slow->length[idx] == 0 ||
		    total + slow->length[idx] > slow->params.frame_bytes_max)
			return;
		memcpy(slow->summed[last] + total, memory(slow, idx), slow->length[idx]);
		total += slow->length[idx];
	}
	slow->summed_bytes[last] = total;
}

void slow_commit(struct slow_nic *slow, uint32_t idx, uint32_t frame_bytes, uint32_t data_bytes,
		 uint64_t now_ps)
{
	slow_describe(slow, idx, frame_bytes, true, now_ps);
	slow->data_bytes[idx] = data_bytes;
	memcpy(slow->committed[idx], memory(slow, idx), slow->params.buffer_stride);
	memcpy(slow->meant[idx], slow->params.buffers + idx * slow->params.buffer_stride,
	       slow->params.buffer_stride);
}

void slow_halt(struct slow_nic *slow, uint64_t now_ps)
{
	slow_advance(slow, now_ps);
	slow->halted = true;
}

void slow_remove(struct slow_nic *slow, uint64_t now_ps)
{
	slow_halt(slow, now_ps);
	if (!slow->gone)
		slow->gone_ps = now_ps;
	slow->gone = true;
}

void slow_freeze_index(struct slow_nic *slow, bool frozen)
{
	if (frozen)
		slow->frozen_index = slow_index(slow, slow->now_ps);
	slow->index_frozen = frozen;
}

void slow_rearm(struct slow_nic *slow, uint32_t first, uint32_t count, uint64_t now_ps)
{
	slow_advance(slow, now_ps);
	while (count--) {
		slow->armed[first] = true;
		first = (first + 1) % slow->params.ring_slots;
	}
}

void slow_doorbell(struct slow_nic *slow, uint64_t tail_seq, uint64_t now_ps)
{
	uint64_t first = slow->tail_seq;
	uint64_t k;

	slow_advance(slow, now_ps);
	if (slow->halted)
		return;
	if (tail_seq < slow->tail_seq || tail_seq - slow->latched > slow->params.ring_slots) {
		slow->bell_errors++;
		return;
	}
	if (slow->unarmed)
		first = slow->latched;
	slow->unarmed = false;
	slow->tail_seq = tail_seq;
	for (k = first; k < tail_seq; k++) {
		slow->slot[k].bell_ps = now_ps;
		slow->slot[k].bell_start_ps = now_ps + slow_draw(slow->params.seed, ~tail_seq,
								 slow->params.restart_ps_min,
								 slow->params.restart_ps_max);
	}
}

uint64_t slow_index(struct slow_nic *slow, uint64_t now_ps)
{
	uint64_t index = 0;
	uint64_t k;

	slow_advance(slow, now_ps);
	if (slow->index_frozen)
		return slow->frozen_index;
	if (slow->gone)
		now_ps = slow->gone_ps;
	for (k = 0; k < slow->latched; k++) {
		const struct slow_slot *slot = &slow->slot[k];
		uint64_t event_ps =
			slow->params.index == RING_NIC_INDEX_DONE ? slot->end_ps : slot->latch_ps;

		if (event_ps + slow_draw(slow->params.seed, k, slow->params.index_lag_ps_min,
					 slow->params.index_lag_ps_max) <=
		    now_ps)
			index = k + 1;
	}
	return index;
}
