/* SPDX-License-Identifier: BSD-3-Clause */
/* Doorbells and fetches of the ring NIC; times by the four equations of the header. */
#include "ring_nic_private.h"

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

/*
 * How many descriptors from @idx on, cyclically, before one in the set; UINT64_MAX if the set is
 * empty.
 */
static uint64_t bit_distance(const struct ring_nic *nic, const struct ring_nic_bits *bits,
			     uint32_t idx)
{
	uint32_t next;

	if (!bits->summary)
		return UINT64_MAX;
	next = bit_next(bits, idx);
	if (next < RING_NIC_SLOTS_MAX)
		return next - idx;
	return nic->params.ring_slots - idx + bit_next(bits, 0);
}

/* A range of a set of which no summary is kept: @count descriptors from @idx, not wrapping. */
static void assign_range(struct ring_nic_bits *bits, uint32_t idx, uint32_t count, bool value)
{
	while (count) {
		uint32_t bit = idx % 64;
		uint32_t take = (uint32_t)ring_nic_min(64 - bit, count);
		uint64_t mask = (take == 64 ? ~(uint64_t)0 : (((uint64_t)1 << take) - 1)) << bit;

		if (value)
			bits->word[idx / 64] |= mask;
		else
			bits->word[idx / 64] &= ~mask;
		idx += take;
		count -= take;
	}
}

/* The NIC has fetched @count descriptors from fetch_idx on, not wrapping, and gives them back. */
static void write_back(struct ring_nic *nic, uint32_t count)
{
	if (nic->params.persistent)
		return;
	assign_range(&nic->armed, nic->fetch_idx, count, false);
	if (nic->params.clobbers)
		assign_range(&nic->blank, nic->fetch_idx, count, true);
}

/*
 * Descriptors from fetch_idx on that can be fetched, at most @limit, at most to the end of the
 * ring.
 */
static uint64_t armed_run(const struct ring_nic *nic, uint64_t limit)
{
	uint32_t idx = nic->fetch_idx;
	uint64_t end = ring_nic_min(idx + limit, nic->params.ring_slots);

	while (idx < end) {
		uint64_t ready = nic->armed.word[idx / 64] & ~nic->blank.word[idx / 64];
		uint64_t gaps = ~ready & ~(uint64_t)0 << idx % 64;

		if (gaps) {
			idx = idx / 64 * 64 + ring_nic_lowest_bit(gaps);
			break;
		}
		idx = idx / 64 * 64 + 64;
	}
	return ring_nic_min(idx, end) - nic->fetch_idx;
}

/* When the next slot starts that is ready at @ready_ps: after every pause that came until then. */
static uint64_t after_pauses(struct ring_nic *nic, uint64_t ready_ps)
{
	uint64_t start_ps = nic_wire_start_ps(nic->pauses, nic->pause_end, &nic->pause_next,
					      nic->end_ps, ready_ps);

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
	/* What continues a frame is not held back: the pause comes behind the frame. */
	uint64_t start_ps = nic->inside ? ready_ps : after_pauses(nic, ready_ps);
	uint64_t seq = nic->fetch_seq;
	bool late = seq > 0 && ready_ps > nic->end_ps;
	struct ring_nic_frame frame;

	if (late) {
		nic->counters.idle_ps += ready_ps - nic->end_ps;
		nic->counters.underruns++;
	}
	if (seq > 0 && start_ps > nic->end_ps && nic->params.sink_idle)
		nic->params.sink_idle(nic->params.sink, nic->end_ps, start_ps);
	write_back(nic, 1);
	if (nic->inside || ring_nic_bit_test(&nic->fragment, idx)) {
		ring_nic_latch_part(nic, latch_ps, start_ps, late);
		return;
	}
	ring_nic_push(nic, &(struct ring_nic_run){
				   .count = 1,
				   .start_ps = start_ps,
				   .pitch_ps = ring_nic_pitch_ps(&nic->params, desc->frame_bytes),
				   .latch_ps = latch_ps,
				   .frame_bytes = desc->frame_bytes,
			   });
	if (!ring_nic_bit_test(&nic->real, idx)) {
		nic->counters.placeholders++;
		return;
	}
	frame = (struct ring_nic_frame){
		.seq = seq,
		.start_ps = start_ps,
		.data = ring_nic_memory(nic, idx),
		.desc_idx = idx,
		.slots = 1,
		.frame_bytes = desc->frame_bytes,
		.stale = desc->stale_at < desc->frame_bytes - (uint32_t)RING_NIC_FCS_BYTES,
	};
	frame.torn = ring_nic_data_sum(frame.data, desc->data_bytes) != desc->sum;
	nic->counters.frames++;
	nic->counters.frame_bytes += frame.frame_bytes;
	nic->counters.torn += frame.torn;
	nic->counters.stale += frame.stale;
	nic->params.sink_frame(nic->params.sink, &frame);
}

/*
 * Nominal placeholders from fetch_seq on that are latched back to back until now; 0 if that is not
 * so simple.
 */
static uint64_t chunk(const struct ring_nic *nic, const struct ring_nic_room *room,
		      const struct ring_nic_bell *bell)
{
	uint64_t latch_ps = room->end_ps + nic->params.fetch_ps;
	uint64_t count = bell->tail_seq - nic->fetch_seq;
	uint64_t left_ps = nic->now_ps - latch_ps;

	if (nic->inside || bell->when_ps > room->end_ps || bell->start_ps > nic->end_ps ||
	    latch_ps > nic->end_ps)
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
	if (count > 1 && latch_ps + (count - 1) * room->pitch_ps >
				 nic->end_ps + (count - 1) * nic->nominal_pitch_ps)
		count = 0;
	return count;
}

void ring_nic_advance(struct ring_nic *nic, uint64_t now_ps)
{
	if (now_ps <= nic->now_ps)
		return;
	nic->now_ps = now_ps;
	while (nic->fetch_seq < nic->tail_seq && !nic->unarmed && !nic->halted) {
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
			write_back(nic, (uint32_t)count);
			nic->counters.placeholders += count;
			ring_nic_push(nic, &(struct ring_nic_run){
						   .count = count,
						   .start_ps = nic->end_ps,
						   .pitch_ps = nic->nominal_pitch_ps,
						   .latch_ps = latch_ps,
						   .latch_pitch_ps = room.pitch_ps,
						   .frame_bytes = nic->params.nominal_bytes,
					   });
		} else if (!nic->params.persistent && !armed_run(nic, 1)) {
			nic->unarmed = true;
			if (ring_nic_bit_test(&nic->armed, nic->fetch_idx))
				nic->counters.clobbered++;
			else
				nic->counters.halts++;
		} else {
			latch_one(nic, latch_ps, bell->start_ps);
		}
	}
}

void ring_nic_rearm(struct ring_nic *nic, uint32_t first_idx, uint32_t count, uint64_t now_ps)
{
	uint32_t first;

	ring_nic_advance(nic, now_ps);
	if (nic->params.persistent)
		return;
	count = (uint32_t)ring_nic_min(count, nic->params.ring_slots);
	first = (uint32_t)ring_nic_min(count, nic->params.ring_slots - first_idx);
	assign_range(&nic->armed, first_idx, first, true);
	assign_range(&nic->armed, 0, count - first, true);
}

void ring_nic_doorbell(struct ring_nic *nic, uint64_t tail_seq, uint64_t now_ps)
{
	struct ring_nic_bell *bell;

	ring_nic_advance(nic, now_ps);
	if (nic->halted)
		return;
	if (tail_seq < nic->tail_seq || tail_seq - nic->fetch_seq > nic->params.ring_slots) {
		nic->counters.bell_errors++;
		return;
	}
	if (nic->unarmed)
		nic->bell_first = nic->bell_end; /* what waits counts as posted by this doorbell */
	else if (tail_seq == nic->tail_seq)
		return;
	nic->unarmed = false;
	nic->tail_seq = tail_seq;
	bell = &nic->bells[nic->bell_end++ & nic->bell_mask];
	bell->tail_seq = tail_seq;
	bell->when_ps = now_ps;
	bell->start_ps = now_ps + ring_nic_draw(nic, ~tail_seq, nic->params.restart_ps_min,
						nic->params.restart_ps_max);
}

void ring_nic_halt(struct ring_nic *nic, uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	nic->halted = true;
	nic->counters.mixed += nic->inside;
	nic->inside = false;
}

void ring_nic_remove(struct ring_nic *nic, uint64_t now_ps)
{
	ring_nic_halt(nic, now_ps);
	nic->gone_ps = ring_nic_min(nic->gone_ps, nic->now_ps);
}

bool ring_nic_present(const struct ring_nic *nic)
{
	return nic->gone_ps == RING_NIC_NEVER_PS;
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
	bool inside = nic->inside;
	struct ring_nic_room room;
	uint64_t frame_ps = 0; /* start of the frame slot idx belongs to; 0: latched long ago */
	uint64_t at_ps;

	if (nic->unarmed || nic->halted || distance >= nic->tail_seq - nic->fetch_seq)
		return false;
	while (nic->bells[bell & nic->bell_mask].tail_seq <= nic->fetch_seq)
		bell++;
	room = ring_nic_room(nic);
	at_ps = ring_nic_max(room.end_ps, nic->bells[bell & nic->bell_mask].when_ps) +
		nic->params.fetch_ps;
	at_ps = ring_nic_max(at_ps, nic->bells[bell & nic->bell_mask].start_ps);
	at_ps = ring_nic_max(at_ps, nic->end_ps);
	for (;;) {
		uint64_t nominal = bit_distance(nic, &nic->special, idx);
		bool continued;

		/* The first nominal placeholder ends the frame it finds: no preamble. */
		if (nominal && inside) {
			at_ps -= (uint64_t)RING_NIC_PREAMBLE_BYTES * nic->params.byte_time_ps;
			inside = false;
		}
		at_ps += nominal * nic->nominal_pitch_ps;
		idx = (uint32_t)(idx + nominal);
		if (idx >= nic->params.ring_slots)
			idx -= nic->params.ring_slots;
		if (!inside)
			frame_ps = at_ps;
		if (nominal >= distance)
			break;
		distance -= nominal + 1;
		continued = ring_nic_bit_test(&nic->continued, idx);
		at_ps += ring_nic_part_ps(&nic->params, nic->desc[idx].frame_bytes, !inside,
					  continued);
		inside = continued;
		if (++idx == nic->params.ring_slots)
			idx = 0;
	}
	*when_ps = frame_ps ? frame_ps : at_ps;
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
