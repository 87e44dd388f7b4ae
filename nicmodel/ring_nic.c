/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors, doorbells and fetches of the ring NIC; times by the four equations of the header. */
#include "ring_nic_private.h"

static bool bit_test(const struct ring_nic_bits *bits, uint32_t idx)
{
	return bits->word[idx / 64] >> idx % 64 & 1;
}

static void bit_assign(struct ring_nic_bits *bits, uint32_t idx, bool value)
{
	uint64_t *word = &bits->word[idx / 64];
	uint64_t mask = (uint64_t)1 << idx % 64;

	*word = value ? *word | mask : *word & ~mask;
	mask = (uint64_t)1 << idx / 64;
	bits->summary = *word ? bits->summary | mask : bits->summary & ~mask;
}

/* First set bit at or after @idx, RING_NIC_SLOTS_MAX if there is none. */
static uint32_t bit_next(const struct ring_nic_bits *bits, uint32_t idx)
{
	uint32_t w = idx / 64;
	uint64_t word = bits->word[w] & ~(uint64_t)0 << idx % 64;
	uint64_t summary;

	if (word)
		return w * 64 + ring_nic_lowest_bit(word);
	summary = w == 63 ? 0 : bits->summary & ~(uint64_t)0 << (w + 1);
	if (!summary)
		return RING_NIC_SLOTS_MAX;
	w = ring_nic_lowest_bit(summary);
	return w * 64 + ring_nic_lowest_bit(bits->word[w]);
}

/* How many descriptors from @idx on, cyclically, before one in the set; UINT64_MAX if the set is empty. */
static uint64_t bit_distance(const struct ring_nic *nic, const struct ring_nic_bits *bits, uint32_t idx)
{
	uint32_t next;

	if (!bits->summary)
		return UINT64_MAX;
	next = bit_next(bits, idx);
	if (next < RING_NIC_SLOTS_MAX)
		return next - idx;
	return nic->params.ring_slots - idx + bit_next(bits, 0);
}

/* The armed set in ranges: set or clear @count descriptors from @idx, not wrapping. */
static void arm_range(struct ring_nic *nic, uint32_t idx, uint32_t count, bool value)
{
	while (count) {
		uint32_t bit = idx % 64;
		uint32_t take = (uint32_t)ring_nic_min(64 - bit, count);
		uint64_t mask = (take == 64 ? ~(uint64_t)0 : (((uint64_t)1 << take) - 1)) << bit;

		if (value)
			nic->armed.word[idx / 64] |= mask;
		else
			nic->armed.word[idx / 64] &= ~mask;
		idx += take;
		count -= take;
	}
}

static void arm(struct ring_nic *nic, uint32_t idx, uint32_t count, bool value)
{
	uint32_t first = (uint32_t)ring_nic_min(count, nic->params.ring_slots - idx);

	arm_range(nic, idx, first, value);
	arm_range(nic, 0, count - first, value);
}

/* Armed descriptors from fetch_idx on, at most @limit, at most to the end of the ring. */
static uint64_t armed_run(const struct ring_nic *nic, uint64_t limit)
{
	uint32_t idx = nic->fetch_idx;
	uint64_t end = ring_nic_min(idx + limit, nic->params.ring_slots);

	while (idx < end) {
		uint64_t gaps = ~nic->armed.word[idx / 64] & ~(uint64_t)0 << idx % 64;

		if (gaps) {
			idx = idx / 64 * 64 + ring_nic_lowest_bit(gaps);
			break;
		}
		idx = idx / 64 * 64 + 64;
	}
	return ring_nic_min(idx, end) - nic->fetch_idx;
}

static uint64_t pitch_ps(const struct ring_nic *nic, uint32_t frame_bytes)
{
	return (uint64_t)(frame_bytes + RING_NIC_PREAMBLE_BYTES + RING_NIC_GAP_BYTES) * nic->params.byte_time_ps;
}

/* Four independent lanes: the multiplications overlap. Any change of a byte changes its lane. */
static uint64_t data_sum(const uint8_t *data, uint32_t bytes)
{
	uint64_t lane[4] = { 1, 2, 3, 4 };
	uint64_t word[4];
	uint32_t i;

	for (; bytes >= sizeof(word); data += sizeof(word), bytes -= (uint32_t)sizeof(word)) {
		__builtin_memcpy(word, data, sizeof(word)); /* four loads, even in a freestanding build */
		for (i = 0; i < 4; i++)
			lane[i] = (lane[i] ^ word[i]) * 0x9e3779b97f4a7c15ull;
	}
	memset(word, 0, sizeof(word));
	memcpy(word, data, bytes);
	for (i = 0; i < 4; i++)
		lane[i] = (lane[i] ^ word[i]) * 0x9e3779b97f4a7c15ull;
	return lane[0] ^ lane[1] >> 1 ^ lane[2] >> 2 ^ lane[3] >> 3;
}

/* When the next slot starts that is ready at @ready_ps: after every pause that came until then. */
static uint64_t after_pauses(struct ring_nic *nic, uint64_t ready_ps)
{
	uint64_t start_ps = ready_ps;

	while (nic->pause_next < nic->pause_end && nic->pauses[nic->pause_next].at_ps <= start_ps) {
		const struct ring_nic_pause *pause = &nic->pauses[nic->pause_next++];

		start_ps = ring_nic_max(start_ps, ring_nic_max(nic->end_ps, pause->at_ps) + pause->idle_ps);
	}
	if (start_ps > ready_ps) {
		nic->counters.paused_ps += start_ps - ready_ps;
		nic->counters.pauses++;
	}
	return start_ps;
}

static void latch_one(struct ring_nic *nic, uint64_t latch_ps, uint64_t start_min_ps)
{
	uint32_t idx = nic->fetch_idx;
	const struct ring_nic_desc *desc = &nic->desc[idx];
	uint64_t ready_ps = ring_nic_max(ring_nic_max(nic->end_ps, latch_ps), start_min_ps);
	uint64_t start_ps = after_pauses(nic, ready_ps);
	uint64_t seq = nic->fetch_seq;
	struct ring_nic_frame frame;

	if (seq > 0 && ready_ps > nic->end_ps) {
		nic->counters.idle_ps += ready_ps - nic->end_ps;
		nic->counters.underruns++;
	}
	if (seq > 0 && start_ps > nic->end_ps && nic->params.sink_idle)
		nic->params.sink_idle(nic->params.sink, nic->end_ps, start_ps);
	if (!nic->params.persistent)
		arm(nic, idx, 1, false);
	ring_nic_push(nic, 1, start_ps, pitch_ps(nic, desc->frame_bytes), latch_ps, 0);
	if (!bit_test(&nic->real, idx)) {
		nic->counters.placeholders++;
		return;
	}
	frame = (struct ring_nic_frame){
		.seq = seq,
		.start_ps = start_ps,
		.data = nic->params.buffers + idx * nic->params.buffer_stride,
		.desc_idx = idx,
		.frame_bytes = desc->frame_bytes,
	};
	frame.torn = data_sum(frame.data, desc->data_bytes) != desc->sum;
	nic->counters.frames++;
	nic->counters.frame_bytes += frame.frame_bytes;
	nic->counters.torn += frame.torn;
	nic->params.sink_frame(nic->params.sink, &frame);
}

/* Nominal placeholders from fetch_seq on that are latched back to back until now; 0 if that is not so simple. */
static uint64_t chunk(const struct ring_nic *nic, const struct ring_nic_room *room, const struct ring_nic_bell *bell)
{
	uint64_t latch_ps = room->end_ps + nic->params.fetch_ps;
	uint64_t count = bell->tail_seq - nic->fetch_seq;
	uint64_t left_ps = nic->now_ps - latch_ps;

	if (bell->when_ps > room->end_ps || bell->start_ps > nic->end_ps || latch_ps > nic->end_ps)
		return 0;
	count = ring_nic_min(count, bit_distance(nic, &nic->special, nic->fetch_idx));
	count = ring_nic_min(count, room->slots);
	if (!nic->params.persistent)
		count = armed_run(nic, count);
	if (count > 1 && (count - 1) * room->pitch_ps > left_ps)
		count = ring_nic_div(left_ps, room->pitch_ps) + 1;
	if (nic->pause_next < nic->pause_end) {
		uint64_t at_ps = nic->pauses[nic->pause_next].at_ps;

		if (at_ps <= nic->end_ps)
			return 0;
		if (count > 1 && nic->end_ps + (count - 1) * nic->nominal_pitch_ps >= at_ps)
			count = ring_nic_div(at_ps - nic->end_ps - 1, nic->nominal_pitch_ps) + 1;
	}
	/* Room coming more slowly than slots go: the last one must still be latched in time. */
	if (count > 1 && latch_ps + (count - 1) * room->pitch_ps > nic->end_ps + (count - 1) * nic->nominal_pitch_ps)
		count = 0;
	return count;
}

void ring_nic_advance(struct ring_nic *nic, uint64_t now_ps)
{
	if (now_ps <= nic->now_ps)
		return;
	nic->now_ps = now_ps;
	while (nic->fetch_seq < nic->tail_seq && !nic->halted) {
		const struct ring_nic_bell *bell = &nic->bells[nic->bell_first & nic->bell_mask];
		struct ring_nic_room room;
		uint64_t latch_ps;
		uint64_t count;

		if (bell->tail_seq <= nic->fetch_seq) {
			nic->bell_first++;
			continue;
		}
		room = ring_nic_room(nic);
		nic->cursor = room.cursor;
		latch_ps = ring_nic_max(room.end_ps, bell->when_ps) + nic->params.fetch_ps;
		if (latch_ps > now_ps)
			return;
		count = chunk(nic, &room, bell);
		if (count) {
			if (!nic->params.persistent)
				arm(nic, nic->fetch_idx, (uint32_t)count, false);
			nic->counters.placeholders += count;
			ring_nic_push(nic, count, nic->end_ps, nic->nominal_pitch_ps, latch_ps, room.pitch_ps);
		} else if (!nic->params.persistent && !bit_test(&nic->armed, nic->fetch_idx)) {
			nic->halted = true;
			nic->counters.halts++;
		} else {
			latch_one(nic, latch_ps, bell->start_ps);
		}
	}
}

static void describe(struct ring_nic *nic, uint32_t idx, uint32_t frame_bytes, bool real)
{
	uint64_t bytes =
		ring_nic_min(ring_nic_max(frame_bytes, nic->params.frame_bytes_min), nic->params.frame_bytes_max);

	nic->desc[idx].frame_bytes = (uint16_t)bytes;
	bit_assign(&nic->real, idx, real);
	bit_assign(&nic->special, idx, real || bytes != nic->params.nominal_bytes);
}

uint8_t *ring_nic_buffer(struct ring_nic *nic, uint32_t desc_idx, uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	return nic->params.buffers + desc_idx * nic->params.buffer_stride;
}

void ring_nic_commit(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes, uint32_t data_bytes,
		     uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	data_bytes = (uint32_t)ring_nic_min(data_bytes, nic->params.buffer_stride);
	nic->desc[desc_idx].data_bytes = (uint16_t)data_bytes;
	nic->desc[desc_idx].sum = data_sum(nic->params.buffers + desc_idx * nic->params.buffer_stride, data_bytes);
	describe(nic, desc_idx, frame_bytes, true);
}

void ring_nic_restore(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes, uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	describe(nic, desc_idx, frame_bytes, false);
}

void ring_nic_set_length(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes, uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	describe(nic, desc_idx, frame_bytes, bit_test(&nic->real, desc_idx));
}

void ring_nic_rearm(struct ring_nic *nic, uint32_t first_idx, uint32_t count, uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	if (!nic->params.persistent)
		arm(nic, first_idx, (uint32_t)ring_nic_min(count, nic->params.ring_slots), true);
}

void ring_nic_doorbell(struct ring_nic *nic, uint64_t tail_seq, uint64_t now_ps)
{
	struct ring_nic_bell *bell;

	ring_nic_advance(nic, now_ps);
	if (tail_seq < nic->tail_seq || tail_seq - nic->fetch_seq > nic->params.ring_slots) {
		nic->counters.bell_errors++;
		return;
	}
	if (nic->halted)
		nic->bell_first = nic->bell_end; /* what waits counts as posted by this doorbell */
	else if (tail_seq == nic->tail_seq)
		return;
	nic->halted = false;
	nic->tail_seq = tail_seq;
	bell = &nic->bells[nic->bell_end++ & nic->bell_mask];
	bell->tail_seq = tail_seq;
	bell->when_ps = now_ps;
	bell->start_ps = now_ps + ring_nic_draw(nic, ~tail_seq, nic->params.restart_ps_min, nic->params.restart_ps_max);
}

void ring_nic_set_pauses(struct ring_nic *nic, const struct ring_nic_pause *pauses, size_t count)
{
	nic->pauses = pauses;
	nic->pause_end = count;
}

bool ring_nic_next_frame(const struct ring_nic *nic, uint64_t *when_ps)
{
	uint64_t distance = bit_distance(nic, &nic->real, nic->fetch_idx);
	uint64_t bell = nic->bell_first;
	uint32_t idx = nic->fetch_idx;
	struct ring_nic_room room;
	uint64_t at_ps;
	uint64_t ahead;

	if (nic->halted || distance >= nic->tail_seq - nic->fetch_seq)
		return false;
	while (nic->bells[bell & nic->bell_mask].tail_seq <= nic->fetch_seq)
		bell++;
	room = ring_nic_room(nic);
	at_ps = ring_nic_max(room.end_ps, nic->bells[bell & nic->bell_mask].when_ps) + nic->params.fetch_ps;
	at_ps = ring_nic_max(at_ps, nic->bells[bell & nic->bell_mask].start_ps);
	at_ps = ring_nic_max(at_ps, nic->end_ps) + distance * nic->nominal_pitch_ps;
	for (ahead = bit_distance(nic, &nic->special, idx); ahead < distance;) {
		idx = (uint32_t)(nic->fetch_idx + ahead);
		if (idx >= nic->params.ring_slots)
			idx -= nic->params.ring_slots;
		at_ps += pitch_ps(nic, nic->desc[idx].frame_bytes) - nic->nominal_pitch_ps;
		if (++idx == nic->params.ring_slots)
			idx = 0;
		ahead += 1 + bit_distance(nic, &nic->special, idx);
	}
	*when_ps = at_ps;
	return true;
}

uint64_t ring_nic_latched(const struct ring_nic *nic)
{
	return nic->fetch_seq;
}

const struct ring_nic_counters *ring_nic_read_counters(const struct ring_nic *nic)
{
	return &nic->counters;
}

const char *ring_nic_problem(const struct ring_nic_params *params)
{
	if (params->ring_slots < RING_NIC_SLOTS_MIN || params->ring_slots > RING_NIC_SLOTS_MAX)
		return "ring_slots is not within 2-4096";
	if (params->frame_bytes_max > RING_NIC_FRAME_BYTES_MAX || params->frame_bytes_min > params->frame_bytes_max ||
	    params->frame_bytes_min <= RING_NIC_FCS_BYTES)
		return "frame_bytes_min-frame_bytes_max is not within 5-16384";
	if (params->nominal_bytes < params->frame_bytes_min || params->nominal_bytes > params->frame_bytes_max)
		return "nominal_bytes is not within frame_bytes_min-frame_bytes_max";
	if (params->prefetch_slots > RING_NIC_PREFETCH_MAX)
		return "prefetch_slots is above 1024";
	if (params->fifo_bytes && params->fifo_bytes < params->frame_bytes_max)
		return "fifo_bytes does not hold one largest frame";
	if (!params->byte_time_ps)
		return "byte_time_ps is 0";
	if (!params->fetch_ps)
		return "fetch_ps is 0: a fetch would come before the write that asks for it";
	if (params->restart_ps_min > params->restart_ps_max || params->restart_ps_min < params->fetch_ps ||
	    params->restart_ps_max >> 32)
		return "restart_ps_min-restart_ps_max is not within fetch_ps-4 ms";
	if (params->index_lag_ps_min > params->index_lag_ps_max || params->index_lag_ps_max >> 32)
		return "index_lag_ps_min-index_lag_ps_max is not within 0-4 ms";
	if (params->index > RING_NIC_INDEX_FETCH)
		return "index is no enum ring_nic_index";
	if (!params->buffers || params->buffer_stride + RING_NIC_FCS_BYTES < params->frame_bytes_max)
		return "buffers do not hold a largest frame";
	if (!params->sink_frame)
		return "sink_frame is missing";
	return NULL;
}

/* Doorbells not used up: each raised the tail, so there are at most as many as slots, and one being added. */
static uint64_t bell_slots(const struct ring_nic_params *params)
{
	uint64_t slots = 4;

	while (slots < params->ring_slots + 2ull)
		slots *= 2;
	return slots;
}

static size_t state_bytes(void)
{
	return (sizeof(struct ring_nic) + 7) / 8 * 8;
}

size_t ring_nic_bytes(const struct ring_nic_params *params)
{
	return state_bytes() + ring_nic_history_slots(params) * sizeof(struct ring_nic_run) +
	       bell_slots(params) * sizeof(struct ring_nic_bell) + params->ring_slots * sizeof(struct ring_nic_desc);
}

struct ring_nic *ring_nic_init(void *memory, const struct ring_nic_params *params)
{
	struct ring_nic *nic = memory;
	uint64_t longest;
	uint32_t idx;

	if (ring_nic_problem(params))
		return NULL;
	memset(memory, 0, ring_nic_bytes(params));
	nic->params = *params;
	nic->run_mask = ring_nic_history_slots(params) - 1;
	nic->bell_mask = bell_slots(params) - 1;
	nic->runs = (struct ring_nic_run *)((uint8_t *)memory + state_bytes());
	nic->bells = (struct ring_nic_bell *)(nic->runs + nic->run_mask + 1);
	nic->desc = (struct ring_nic_desc *)(nic->bells + nic->bell_mask + 1);
	nic->nominal_pitch_ps = pitch_ps(nic, params->nominal_bytes);
	longest = (params->prefetch_slots + 1ull) * params->frame_bytes_max;
	nic->fifo_limited = params->fifo_bytes && params->fifo_bytes < longest;
	for (idx = 0; idx < params->ring_slots; idx++)
		nic->desc[idx].frame_bytes = (uint16_t)params->nominal_bytes;
	return nic;
}
