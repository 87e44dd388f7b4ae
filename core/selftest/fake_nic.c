/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The exact ring NIC of fake_nic.h by itself: its time, the CPU counter beside it, and the wire,
 * slot by slot, no closed forms, so that it is easy to believe. Its side towards a driver is in
 * fake_nic_ops.c.
 */
#include "fake_nic_ring.h"

#include "keepon/wire.h"

enum { STEP_PS_MAX = 1000000000 };

#define PPT 1000000000000ull

size_t fake_nic_bytes(const struct fake_params *params)
{
	return (size_t)params->ring_slots *
	       (sizeof(struct fake_desc) + 3 * ((params->buffer_bytes + 7) & ~7u));
}

void fake_nic_init(struct fake_nic *nic, void *memory, const struct fake_params *params)
{
	u32 idx;

	memset(nic, 0, sizeof(*nic));
	memset(memory, 0, fake_nic_bytes(params));
	nic->params = *params;
	nic->desc = memory;
	nic->buffers = (u8 *)(nic->desc + params->ring_slots);
	nic->committed = nic->buffers + (size_t)params->ring_slots * fake_stride(nic);
	nic->device = nic->committed + (size_t)params->ring_slots * fake_stride(nic);
	for (idx = 0; idx < params->ring_slots; idx++)
		nic->desc[idx].bytes = params->slot_bytes;
	nic->cpu_ps = params->cpu_start_ns * 1000;
	nic->random = params->seed * 2 + 0x9e3779b97f4a7c15ull;
}

/* ---- time ---- */

static void ramp(struct fake_nic *nic)
{
	s64 rest = nic->drift_goal_ppt - nic->drift_ppt;
	s64 most = (s64)nic->ramp_ppt;

	if (rest > most)
		rest = most;
	if (rest < -most)
		rest = -most;
	nic->drift_ppt += rest;
}

static void pass_time(struct fake_nic *nic, u64 span_ps)
{
	while (span_ps) {
		u64 step_ps = span_ps < STEP_PS_MAX ? span_ps : STEP_PS_MAX;
		u64 magnitude = nic->drift_ppt < 0 ? 0 - (u64)nic->drift_ppt : (u64)nic->drift_ppt;
		u64 whole;
		u64 rest;

		if (nic->drift_ppt != nic->drift_goal_ppt && nic->ramp_ps < step_ps)
			step_ps = nic->ramp_ps;
		magnitude *= step_ps;
		whole = kpn_div_u64(magnitude, PPT);
		rest = magnitude - whole * PPT;
		nic->cpu_ps += step_ps;
		if (nic->drift_ppt >= 0) {
			nic->cpu_ps += whole;
			nic->cpu_rest += rest;
			if (nic->cpu_rest >= PPT) {
				nic->cpu_rest -= PPT;
				nic->cpu_ps++;
			}
		} else {
			nic->cpu_ps -= whole;
			if (nic->cpu_rest < rest) {
				nic->cpu_rest += PPT;
				nic->cpu_ps--;
			}
			nic->cpu_rest -= rest;
		}
		nic->now_ps += step_ps;
		span_ps -= step_ps;
		if (nic->drift_ppt != nic->drift_goal_ppt) {
			nic->ramp_ps -= step_ps;
			if (!nic->ramp_ps) {
				ramp(nic);
				nic->ramp_ps = FAKE_RAMP_PS;
			}
		}
	}
}

void fake_nic_drift(struct fake_nic *nic, s32 drift_ppb, u32 wander_ppb_per_s)
{
	nic->drift_goal_ppt = (s64)drift_ppb * 1000;
	nic->ramp_ps = FAKE_RAMP_PS;
	/* half the stated wander, as the steps of the ramp are sudden; ppb/s x 20 us = ppt / 50 */
	nic->ramp_ppt = wander_ppb_per_s / 100;
	if (!wander_ppb_per_s)
		nic->drift_ppt = nic->drift_goal_ppt;
}

/* ---- the wire ---- */

static bool same(const u8 *a, const u8 *b, u32 bytes)
{
	u8 difference = 0;
	u32 i;

	for (i = 0; i < bytes; i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

static void check_contents(struct fake_nic *nic, u32 idx)
{
	struct fake_desc *desc = &nic->desc[idx];
	const u8 *data = fake_device_of(nic, idx);

	if (nic->params.coherent)
		memcpy(fake_device_of(nic, idx), fake_buffer_of(nic, idx),
		       nic->params.buffer_bytes);
	if ((desc->bytes < nic->params.frame_bytes_min && !desc->fragment) ||
	    desc->bytes > nic->params.frame_bytes_max || desc->bytes > nic->params.buffer_bytes)
		nic->faults |= FAKE_LENGTH;
	if (desc->real) {
		if (desc->data_bytes + KPN_FCS_BYTES > desc->bytes && !desc->fragment)
			nic->faults |= FAKE_CUT;
		if (!same(data, fake_committed_of(nic, idx), nic->params.buffer_bytes))
			nic->faults |= nic->params.coherent ? FAKE_TORN : FAKE_STALE;
	} else if (desc->touched && !nic->params.apart) {
		if (fake_all_zero(data, 0, nic->params.buffer_bytes))
			desc->touched = false;
		else
			nic->faults |= FAKE_DIRTY;
	}
}

/* Preamble before the first buffer of a frame, gap behind the last. */
static u32 wire_bytes_of(const struct fake_nic *nic, const struct fake_desc *desc)
{
	return desc->bytes + (nic->joined ? 0u : KPN_PREAMBLE_BYTES) +
	       (desc->more ? 0u : KPN_GAP_BYTES);
}

/* Sum over a frame; the FCS of the fake. */
u32 fake_fcs(const u8 *data, u32 bytes)
{
	u32 sum = 0x811c9dc5u;

	for (; bytes; bytes--)
		sum = (sum ^ *data++) * 0x01000193u;
	return sum;
}

/* A buffer of several: a frame is reported when its last is latched, if the FCS is right. */
static void join(struct fake_nic *nic, const struct fake_desc *desc, const struct fake_slot *slot)
{
	struct fake_slot *whole = &nic->whole;
	u32 fcs;

	if (!nic->joined++) {
		*whole = *slot;
		whole->frame_bytes = 0;
		whole->real = true;
		whole->data = nic->frame;
	}
	if (whole->frame_bytes + desc->bytes <= FAKE_FRAME_BYTES)
		memcpy(nic->frame + whole->frame_bytes, slot->data, desc->bytes);
	whole->frame_bytes += desc->bytes;
	if (desc->more)
		return;
	nic->joined = 0;
	whole->data_bytes = desc->data_bytes;
	memcpy(&fcs, nic->frame + whole->frame_bytes - KPN_FCS_BYTES, sizeof(fcs));
	if (!desc->fragment || whole->frame_bytes > nic->params.frame_bytes_max ||
	    fake_fcs(nic->frame, whole->frame_bytes - KPN_FCS_BYTES) != fcs)
		nic->faults |= FAKE_MIXED;
	else
		nic->params.sink_slot(nic->params.sink, whole);
}

static void latch(struct fake_nic *nic, u64 at_ps)
{
	const struct fake_params *params = &nic->params;
	u32 idx = nic->fetch_idx;
	struct fake_desc *desc = &nic->desc[idx];
	u64 earliest_ps = desc->bell_ps + desc->restart_ps;
	u64 lag_ps = fake_draw(nic, params->index_lag_ps_min, params->index_lag_ps_max);
	u64 before_ps =
		nic->fetch_seq ? nic->desc[idx ? idx - 1 : params->ring_slots - 1].pass_ps : 0;
	struct fake_slot slot;

	if (!params->persistent && !desc->armed)
		nic->faults |= FAKE_UNARMED;
	desc->armed = false;
	check_contents(nic, idx);
	desc->seq = nic->fetch_seq;
	desc->latched = true;
	desc->start_ps = nic->end_ps > earliest_ps ? nic->end_ps : earliest_ps;
	desc->end_ps = desc->start_ps + (u64)wire_bytes_of(nic, desc) * params->byte_ps;
	desc->position_ps = nic->position_ps;
	desc->pass_ps = (params->index_counts_done ? desc->end_ps : at_ps) + lag_ps;
	if (desc->pass_ps < before_ps)
		desc->pass_ps = before_ps;
	slot = (struct fake_slot){
		.seq = desc->seq,
		.latch_ps = at_ps,
		.start_ps = desc->start_ps,
		.position_ps = desc->position_ps,
		.data = fake_device_of(nic, idx),
		.frame_bytes = desc->bytes,
		.data_bytes = desc->data_bytes,
		.real = desc->real,
	};
	nic->position_ps += desc->end_ps - desc->start_ps;
	nic->end_ps = desc->end_ps;
	nic->fetch_seq++;
	if (++nic->fetch_idx == params->ring_slots)
		nic->fetch_idx = 0;
	if (nic->joined || desc->fragment)
		join(nic, desc, &slot);
	else
		params->sink_slot(params->sink, &slot);
}

void fake_run(struct fake_nic *nic)
{
	u32 back = nic->params.prefetch_slots + 1;
	u32 slots = nic->params.ring_slots;

	while (nic->fetch_seq < nic->tail_seq && !nic->halted) {
		u64 at_ps = nic->desc[nic->fetch_idx].bell_ps;
		u32 room_idx = nic->fetch_idx >= back ? nic->fetch_idx - back :
							nic->fetch_idx + slots - back;

		if (nic->fetch_seq >= back && nic->desc[room_idx].end_ps > at_ps)
			at_ps = nic->desc[room_idx].end_ps;
		if (at_ps > nic->now_ps)
			break;
		latch(nic, at_ps);
	}
	while (nic->wire_seq < nic->fetch_seq && nic->desc[nic->wire_idx].end_ps <= nic->now_ps) {
		nic->wire_seq++;
		if (++nic->wire_idx == slots)
			nic->wire_idx = 0;
	}
	while (nic->passed_seq < nic->fetch_seq &&
	       nic->desc[nic->passed_idx].pass_ps <= nic->now_ps) {
		nic->passed_seq++;
		if (++nic->passed_idx == slots)
			nic->passed_idx = 0;
	}
}

void fake_nic_advance(struct fake_nic *nic, u64 span_ps)
{
	pass_time(nic, span_ps);
	fake_run(nic);
}

void fake_nic_pause(struct fake_nic *nic, u64 span_ps)
{
	u32 idx = nic->wire_idx;
	u64 seq;

	if (nic->now_ps < nic->pause_ps)
		return;
	for (seq = nic->wire_seq; seq < nic->fetch_seq; seq++) {
		struct fake_desc *desc = &nic->desc[idx];

		if (desc->start_ps > nic->now_ps) {
			desc->start_ps += span_ps;
			desc->end_ps += span_ps;
			if (nic->params.index_counts_done)
				desc->pass_ps += span_ps;
		}
		if (++idx == nic->params.ring_slots)
			idx = 0;
	}
	if (nic->end_ps < nic->now_ps)
		nic->end_ps = nic->now_ps;
	nic->pause_ps = nic->end_ps + span_ps;
	nic->end_ps += span_ps;
}

bool fake_nic_idle(const struct fake_nic *nic)
{
	return nic->wire_seq == nic->fetch_seq || nic->desc[nic->wire_idx].start_ps > nic->now_ps;
}

u64 fake_nic_position(const struct fake_nic *nic)
{
	const struct fake_desc *desc = &nic->desc[nic->wire_idx];

	if (nic->wire_seq == nic->fetch_seq)
		return nic->position_ps;
	return desc->position_ps +
	       (desc->start_ps < nic->now_ps ? nic->now_ps - desc->start_ps : 0);
}

u64 fake_nic_cpu_ns(const struct fake_nic *nic)
{
	u64 tick_ps = nic->params.cpu_tick_ps ? nic->params.cpu_tick_ps : 1000;

	return kpn_div_u64(kpn_div_u64(nic->cpu_ps, tick_ps) * tick_ps, 1000);
}
