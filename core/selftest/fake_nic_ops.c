/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The fake NIC's side towards a driver: what it honestly says of itself, and kpn_nic_ops, where
 * every late, torn or unclean write of the CPU is seen. What the NIC does by itself is in
 * fake_nic.c.
 */
#include "fake_nic_ring.h"

#include "keepon/wire.h"

/* ---- limits ---- */

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
		params->restart_ps_max + (u64)params->long_bytes * params->byte_ps;
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
		.fragments_max = params->fragments_max,
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
	u64 before_ps = fake_draw(nic, 0, nic->params.read_ps);

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
	return fake_buffer_of(nic, idx);
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
	data = fake_buffer_of(nic, idx);
	if (data_bytes > nic->params.buffer_bytes ||
	    !fake_all_zero(data, data_bytes, nic->params.buffer_bytes))
		nic->faults |= FAKE_DIRTY;
	if (written_bytes < data_bytes || written_bytes > nic->params.buffer_bytes)
		nic->faults |= FAKE_DIRTY;
	else
		memcpy(fake_device_of(nic, idx), data, written_bytes);
	memcpy(fake_committed_of(nic, idx), data, nic->params.buffer_bytes);
	nic->stores++;
	desc->bytes = frame_bytes;
	desc->data_bytes = data_bytes;
	desc->real = true;
	ahead = idx >= nic->read_idx ? idx - nic->read_idx :
				       idx + nic->params.ring_slots - nic->read_idx;
	nic->params.sink_commit(nic->params.sink, nic->read_seq + ahead, idx, data, data_bytes,
				is_late(nic, desc));
}

/* What stands in a buffer reaches the device, and is what may be latched. */
static void write_back(struct fake_nic *nic, u32 idx)
{
	memcpy(fake_device_of(nic, idx), fake_buffer_of(nic, idx), nic->params.buffer_bytes);
	memcpy(fake_committed_of(nic, idx), fake_buffer_of(nic, idx), nic->params.buffer_bytes);
}

static struct fake_desc *fragment_of(struct fake_nic *nic, u32 first_idx, u32 i)
{
	u32 idx = first_idx + i;

	return written(nic, idx >= nic->params.ring_slots ? idx - nic->params.ring_slots : idx,
		       FAKE_LATE_COMMIT);
}

/* The whole frame as it stands in its buffers; the sum over it goes into the last. */
static void seal(struct fake_nic *nic, u32 first_idx, const struct kpn_span *span, u32 data_bytes)
{
	u8 frame[FAKE_FRAME_BYTES];
	struct fake_desc *desc = fragment_of(nic, first_idx, span->fragments - 1);
	u32 bytes = 0;
	u32 from;
	u32 fcs;
	u32 i;

	for (i = 0; i < span->fragments; i++) {
		u32 idx = (u32)(fragment_of(nic, first_idx, i) - nic->desc);

		bytes = kpn_span_fragment(span, i, &from);
		memcpy(frame + from, fake_buffer_of(nic, idx), bytes);
	}
	memset(frame + span->frame_bytes - KPN_FCS_BYTES, 0, KPN_FCS_BYTES);
	if (!fake_all_zero(frame, data_bytes, span->frame_bytes))
		nic->faults |= FAKE_DIRTY;
	fcs = fake_fcs(frame, span->frame_bytes - KPN_FCS_BYTES);
	memcpy(fake_buffer_of(nic, (u32)(desc - nic->desc)) + bytes - KPN_FCS_BYTES, &fcs,
	       sizeof(fcs));
	write_back(nic, (u32)(desc - nic->desc));
	desc->data_bytes = data_bytes;
	nic->params.sink_commit(
		nic->params.sink,
		nic->read_seq + (first_idx >= nic->read_idx ?
					 first_idx - nic->read_idx :
					 first_idx + nic->params.ring_slots - nic->read_idx),
		first_idx, frame, data_bytes, is_late(nic, &nic->desc[first_idx]));
}

/* Every store takes its time, and the NIC fetches between any two. */
static void op_commit_fragments(void *context, u32 first_idx, const struct kpn_span *span,
				u32 data_bytes)
{
	struct fake_nic *nic = context;
	u32 last_bytes = fragment_of(nic, first_idx, span->fragments - 1)->bytes;
	u32 from;
	u32 i;

	for (i = 0; i < span->fragments; i++) {
		u32 bytes = kpn_span_fragment(span, i, &from);
		struct fake_desc *desc = fragment_of(nic, first_idx, i);
		u8 *buffer = fake_buffer_of(nic, (u32)(desc - nic->desc));

		fake_nic_advance(nic, nic->params.call_ps);
		/* an FCS that stood elsewhere in the last buffer until now */
		if (i + 1 == span->fragments && desc->fragment)
			memset(buffer + last_bytes - KPN_FCS_BYTES, 0, KPN_FCS_BYTES);
		desc = fragment_of(nic, first_idx, i);
		write_back(nic, (u32)(desc - nic->desc));
		nic->stores++;
		desc->bytes = bytes;
		desc->real = true;
		desc->fragment = true;
		desc->more = i + 1 < span->fragments;
		desc->data_bytes = 0;
		if (i && desc == &nic->desc[nic->tail_idx])
			nic->faults |= FAKE_SPLIT;
	}
	fake_nic_advance(nic, nic->params.call_ps);
	seal(nic, first_idx, span, data_bytes);
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
	if (desc->more && nic->desc[idx + 1 < nic->params.ring_slots ? idx + 1 : 0].fragment)
		nic->faults |= FAKE_SEALED;
	if (desc->real)
		nic->params.sink_restore(nic->params.sink, idx, is_late(nic, desc));
	desc->real = false;
	desc->fragment = false;
	desc->more = false;
	nic->stores++;
	if (data_bytes > nic->params.buffer_bytes) {
		nic->faults |= FAKE_DIRTY;
		return;
	}
	memset(fake_buffer_of(nic, idx), 0, data_bytes);
	memset(fake_device_of(nic, idx), 0, data_bytes);
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
	u64 restart_ps = fake_draw(nic, nic->params.restart_ps_min, nic->params.restart_ps_max);
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
	if (nic->desc[tail_idx ? tail_idx - 1 : nic->params.ring_slots - 1].more)
		nic->faults |= FAKE_SPLIT;
	fake_run(nic);
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
	.commit_fragments = op_commit_fragments,
	.retire = op_retire,
	.set_length = op_set_length,
	.rearm = op_rearm,
	.doorbell = op_doorbell,
	.halt = op_halt,
};
