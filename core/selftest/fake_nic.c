/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The exact ring NIC of fake_nic.h: slot by slot, no closed forms, so that it is easy to believe.
 */
#include "fake_nic.h"

#include "keepon/wire.h"

enum { STEP_PS_MAX = 1000000000 };

#define PPT 1000000000000ull

/**
 * struct fake_desc - a descriptor and the slot it was last latched for
 * @bytes, @data_bytes, @real, @armed: as the CPU left them
 * @touched: its buffer was handed out since it was last seen to be zero
 * @seq, @start_ps, @end_ps, @pass_ps, @position_ps: of the last latch; @latched: there was one
 * @bell_ps, @restart_ps: of the doorbell that covered its next slot
 */
struct fake_desc {
	u64 seq;
	u64 start_ps;
	u64 end_ps;
	u64 pass_ps;
	u64 position_ps;
	u64 bell_ps;
	u64 restart_ps;
	u32 bytes;
	u32 data_bytes;
	bool real;
	bool armed;
	bool touched;
	bool latched;
};

static u64 draw(struct fake_nic *nic, u64 min, u64 max)
{
	u64 span = max - min + 1;
	u64 value;

	nic->random ^= nic->random << 13;
	nic->random ^= nic->random >> 7;
	nic->random ^= nic->random << 17;
	value = nic->random >> 16;
	/* limits themselves are drawn often: that is where bounds break */
	if (nic->random % 8 == 0)
		return min;
	if (nic->random % 8 == 1)
		return max;
	return min + (value - kpn_div_u64(value, span) * span);
}

size_t fake_nic_bytes(const struct fake_params *params)
{
	return (size_t)params->ring_slots *
	       (sizeof(struct fake_desc) + 3 * ((params->buffer_bytes + 7) & ~7u));
}

static u32 stride(const struct fake_nic *nic)
{
	return (nic->params.buffer_bytes + 7) & ~7u;
}

static u8 *buffer_of(const struct fake_nic *nic, u32 idx)
{
	return nic->buffers + (size_t)idx * stride(nic);
}

static u8 *committed_of(const struct fake_nic *nic, u32 idx)
{
	return nic->committed + (size_t)idx * stride(nic);
}

static u8 *device_of(const struct fake_nic *nic, u32 idx)
{
	return nic->device + (size_t)idx * stride(nic);
}

void fake_nic_init(struct fake_nic *nic, void *memory, const struct fake_params *params)
{
	u32 idx;

	memset(nic, 0, sizeof(*nic));
	memset(memory, 0, fake_nic_bytes(params));
	nic->params = *params;
	nic->desc = memory;
	nic->buffers = (u8 *)(nic->desc + params->ring_slots);
	nic->committed = nic->buffers + (size_t)params->ring_slots * stride(nic);
	nic->device = nic->committed + (size_t)params->ring_slots * stride(nic);
	for (idx = 0; idx < params->ring_slots; idx++)
		nic->desc[idx].bytes = params->slot_bytes;
	nic->cpu_ps = params->cpu_start_ns * 1000;
	nic->random = params->seed * 2 + 0x9e3779b97f4a7c15ull;
}

static u64 up_ns(u64 ps, u32 drift_ppb)
{
	u64 ns = kpn_div_u64(ps + 999, 1000);

	return ns + kpn_div_u64(ns * drift_ppb, 1000000000) + 1;
}

static u64 down_ns(u64 ps, u32 drift_ppb)
{
	u64 ns = kpn_div_u64(ps, 1000);
	u64 less = kpn_div_u64(ns * drift_ppb, 1000000000) + 1;

	return ns > less ? ns - less : 0;
}

struct kpn_nic_caps fake_nic_caps(const struct fake_params *params, u32 drift_ppb_max,
				  u32 shortest_bytes, u32 longest_bytes, u32 quantum_bytes)
{
	u64 ahead_min =
		(u64)params->prefetch_slots * kpn_wire_bytes(shortest_bytes) * params->byte_ps;
	u64 ahead_max =
		(u64)params->prefetch_slots * kpn_wire_bytes(longest_bytes) * params->byte_ps +
		params->restart_ps_max;
	struct kpn_nic_caps caps = {
		.ring_slots_min = 8,
		.ring_slots_max = 4096,
		.ring_slots_multiple = 1,
		.reserved_slots = params->reserved_slots,
		.prefetch_slots_max = params->prefetch_slots,
		.index_modulus = params->index_modulus,
		.index_to_wire_ns_min = -(s32)up_ns(params->index_lag_ps_max, drift_ppb_max),
		.index_to_wire_ns_max = -(s32)down_ns(params->index_lag_ps_min, drift_ppb_max),
		.restart_ns_min = (u32)down_ns(params->restart_ps_min, drift_ppb_max),
		.restart_ns_max = (u32)up_ns(params->restart_ps_max, drift_ppb_max),
		.start_quantum_bytes = quantum_bytes,
		.placeholder_bytes_min = params->frame_bytes_min,
		.frame_bytes_max = params->frame_bytes_max,
		.placeholder_kinds = 1u << KPN_PLACEHOLDER_BAD_FCS | (params->spare ? 6u : 0),
		.index_counts_done = params->index_counts_done,
		.has_spare_buffers = params->spare,
		.desc_persistent = params->persistent,
		/* a counter of whole ticks is rounded down to ns once more */
		.cpu_tick_ns = params->cpu_tick_ps ?
				       (u32)kpn_div_u64(params->cpu_tick_ps + 999, 1000) + 1 :
				       1,
	};

	if (!params->index_counts_done) {
		/*
		 * A frame that found the wire idle begins after a restart; only a lag shows it to
		 * the CPU unfetched.
		 */
		if (params->index_lag_ps_max && params->restart_ps_min < ahead_min)
			ahead_min = params->restart_ps_min;
		caps.index_to_wire_ns_min += (s32)down_ns(ahead_min, drift_ppb_max);
		caps.index_to_wire_ns_max += (s32)up_ns(ahead_max, drift_ppb_max);
	}
	return caps;
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

static bool all_zero(const u8 *data, u32 from, u32 to)
{
	u8 any = 0;

	for (; from < to; from++)
		any |= data[from];
	return !any;
}

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
	const u8 *data = device_of(nic, idx);

	if (nic->params.coherent)
		memcpy(device_of(nic, idx), buffer_of(nic, idx), nic->params.buffer_bytes);
	if (desc->bytes < nic->params.frame_bytes_min ||
	    desc->bytes > nic->params.frame_bytes_max || desc->bytes > nic->params.buffer_bytes)
		nic->faults |= FAKE_LENGTH;
	if (desc->real) {
		if (desc->data_bytes + KPN_FCS_BYTES > desc->bytes)
			nic->faults |= FAKE_CUT;
		if (!same(data, committed_of(nic, idx), nic->params.buffer_bytes))
			nic->faults |= nic->params.coherent ? FAKE_TORN : FAKE_STALE;
	} else if (desc->touched && !nic->params.apart) {
		if (all_zero(data, 0, nic->params.buffer_bytes))
			desc->touched = false;
		else
			nic->faults |= FAKE_DIRTY;
	}
}

static void latch(struct fake_nic *nic, u64 at_ps)
{
	const struct fake_params *params = &nic->params;
	u32 idx = nic->fetch_idx;
	struct fake_desc *desc = &nic->desc[idx];
	u64 earliest_ps = desc->bell_ps + desc->restart_ps;
	u64 lag_ps = draw(nic, params->index_lag_ps_min, params->index_lag_ps_max);
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
	desc->end_ps = desc->start_ps + (u64)kpn_wire_bytes(desc->bytes) * params->byte_ps;
	desc->position_ps = nic->position_ps;
	desc->pass_ps = (params->index_counts_done ? desc->end_ps : at_ps) + lag_ps;
	if (desc->pass_ps < before_ps)
		desc->pass_ps = before_ps;
	slot = (struct fake_slot){
		.seq = desc->seq,
		.latch_ps = at_ps,
		.start_ps = desc->start_ps,
		.position_ps = desc->position_ps,
		.data = device_of(nic, idx),
		.frame_bytes = desc->bytes,
		.data_bytes = desc->data_bytes,
		.real = desc->real,
	};
	nic->position_ps += desc->end_ps - desc->start_ps;
	nic->end_ps = desc->end_ps;
	nic->fetch_seq++;
	if (++nic->fetch_idx == params->ring_slots)
		nic->fetch_idx = 0;
	params->sink_slot(params->sink, &slot);
}

/* Latch everything due until now. */
static void run(struct fake_nic *nic)
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
	run(nic);
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

/* ---- kpn_nic_ops ---- */

/* A descriptor of which the CPU has not seen that its slot was passed stands for that slot. */
static bool is_late(const struct fake_nic *nic, const struct fake_desc *desc)
{
	return desc->latched && desc->seq >= nic->read_seq;
}

static struct fake_desc *written(struct fake_nic *nic, u32 idx, u32 fault)
{
	if (idx >= nic->params.ring_slots) {
		nic->faults |= FAKE_IDX;
		idx = 0;
	}
	if (is_late(nic, &nic->desc[idx]))
		nic->faults |= fault;
	return &nic->desc[idx];
}

static u64 op_cpu_ns(void *context)
{
	struct fake_nic *nic = context;

	fake_nic_advance(nic, nic->params.call_ps);
	return fake_nic_cpu_ns(nic);
}

static u32 op_read_index(void *context)
{
	struct fake_nic *nic = context;
	u64 before_ps = draw(nic, 0, nic->params.read_ps);

	nic->index_reads++;
	if (nic->gone)
		return KPN_INDEX_GONE;
	fake_nic_advance(nic, before_ps);
	if (!nic->frozen) {
		nic->read_seq = nic->passed_seq;
		nic->read_idx = nic->passed_idx;
	}
	nic->misread = nic->misread || nic->read_seq != nic->passed_seq;
	fake_nic_advance(nic, nic->params.read_ps - before_ps);
	if (!nic->params.index_modulus)
		return (u32)nic->read_seq & (KPN_INDEX_MODULUS_MAX - 1);
	return (u32)(nic->read_seq - kpn_div_u64(nic->read_seq, nic->params.index_modulus) *
					     nic->params.index_modulus);
}

static void *op_buffer(void *context, u32 idx)
{
	struct fake_nic *nic = context;

	fake_nic_advance(nic, nic->params.call_ps);
	if (idx >= nic->params.ring_slots) {
		nic->faults |= FAKE_IDX;
		idx = 0;
	}
	nic->desc[idx].touched = true;
	return buffer_of(nic, idx);
}

static void op_commit(void *context, u32 idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes)
{
	struct fake_nic *nic = context;
	struct fake_desc *desc;
	const u8 *data;
	u32 ahead;

	fake_nic_advance(nic, nic->params.call_ps);
	desc = written(nic, idx, FAKE_LATE_COMMIT);
	idx = (u32)(desc - nic->desc);
	data = buffer_of(nic, idx);
	if (data_bytes > nic->params.buffer_bytes ||
	    !all_zero(data, data_bytes, nic->params.buffer_bytes))
		nic->faults |= FAKE_DIRTY;
	if (written_bytes < data_bytes || written_bytes > nic->params.buffer_bytes)
		nic->faults |= FAKE_DIRTY;
	else
		memcpy(device_of(nic, idx), data, written_bytes);
	memcpy(committed_of(nic, idx), data, nic->params.buffer_bytes);
	nic->stores++;
	desc->bytes = frame_bytes;
	desc->data_bytes = data_bytes;
	desc->real = true;
	ahead = idx >= nic->read_idx ? idx - nic->read_idx :
				       idx + nic->params.ring_slots - nic->read_idx;
	nic->params.sink_commit(nic->params.sink, nic->read_seq + ahead, idx, data, data_bytes,
				is_late(nic, desc));
}

static void op_retire(void *context, u32 idx, u32 frame_bytes, u32 data_bytes)
{
	struct fake_nic *nic = context;
	struct fake_desc *desc;

	fake_nic_advance(nic, nic->params.call_ps);
	/* what is such a placeholder already stays as it is, but for its bytes */
	desc = written(nic, idx, 0);
	if (desc->real || desc->bytes != frame_bytes)
		written(nic, idx, FAKE_LATE_LENGTH);
	desc->bytes = frame_bytes;
	desc->data_bytes = 0;
	idx = (u32)(desc - nic->desc);
	if (desc->real)
		nic->params.sink_restore(nic->params.sink, idx, is_late(nic, desc));
	desc->real = false;
	nic->stores++;
	if (data_bytes > nic->params.buffer_bytes) {
		nic->faults |= FAKE_DIRTY;
		return;
	}
	memset(buffer_of(nic, idx), 0, data_bytes);
	memset(device_of(nic, idx), 0, data_bytes);
}

static void op_set_length(void *context, u32 idx, u32 frame_bytes)
{
	struct fake_nic *nic = context;

	fake_nic_advance(nic, nic->params.call_ps);
	nic->lengths++;
	written(nic, idx, FAKE_LATE_LENGTH)->bytes = frame_bytes;
}

static void op_rearm(void *context, u32 first_idx, u32 count)
{
	struct fake_nic *nic = context;

	fake_nic_advance(nic, nic->params.call_ps);
	if (nic->params.persistent || first_idx >= nic->params.ring_slots ||
	    count > nic->params.ring_slots)
		nic->faults |= FAKE_IDX;
	nic->rearmed += count;
	for (; count && first_idx < nic->params.ring_slots; count--) {
		nic->desc[first_idx].armed = true;
		if (++first_idx == nic->params.ring_slots)
			first_idx = 0;
	}
}

static void op_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct fake_nic *nic = context;
	u64 restart_ps = draw(nic, nic->params.restart_ps_min, nic->params.restart_ps_max);
	u32 posted_max = nic->params.ring_slots - nic->params.reserved_slots;

	fake_nic_advance(nic, nic->params.call_ps);
	nic->bells++;
	if (nic->halted)
		nic->faults |= FAKE_HALTED;
	if (tail_seq < nic->tail_seq || tail_seq - nic->read_seq > posted_max) {
		nic->faults |= FAKE_BELL;
		return;
	}
	while (nic->tail_seq < tail_seq) {
		nic->desc[nic->tail_idx].bell_ps = nic->now_ps;
		nic->desc[nic->tail_idx].restart_ps = restart_ps;
		nic->tail_seq++;
		if (++nic->tail_idx == nic->params.ring_slots)
			nic->tail_idx = 0;
	}
	if (nic->tail_idx != tail_idx)
		nic->faults |= FAKE_BELL;
	run(nic);
}

static void op_halt(void *context)
{
	struct fake_nic *nic = context;

	fake_nic_advance(nic, nic->params.call_ps);
	nic->halted = true;
}

const struct kpn_nic_ops fake_nic_ops = {
	.cpu_ns = op_cpu_ns,
	.read_index = op_read_index,
	.buffer = op_buffer,
	.commit = op_commit,
	.retire = op_retire,
	.set_length = op_set_length,
	.rearm = op_rearm,
	.doorbell = op_doorbell,
	.halt = op_halt,
};
