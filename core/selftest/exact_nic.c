/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The exact ring NIC of the vector tests; see exact_nic.h. */
#include "exact_nic.h"

#include "keepon/wire.h"

static u8 payload[EXACT_TAGS][EXACT_BUFFER_BYTES];

/* CPU time a piece of the wire takes when the wire is faster by ppb. */
static u64 cpu_ps(const struct exact_nic *nic, u64 wire_ps)
{
	u64 rate = (u64)(1000000000 + (s64)nic->ppb);

	return kpn_div_u64(wire_ps * 1000000000 + rate - 1, rate);
}

static u32 desc_of(const struct exact_nic *nic, u64 seq)
{
	return (u32)(seq - kpn_div_u64(seq, nic->config.ring_slots) * nic->config.ring_slots);
}

static u64 slot_wire_ps(const struct exact_nic *nic, u64 seq)
{
	return (u64)kpn_wire_bytes(nic->fetched_bytes[desc_of(nic, seq)]) * nic->byte_ps;
}

/* What lies in the buffer of slot @seq now is what everyone receives. */
static void fetch_one(struct exact_nic *nic, u64 seq)
{
	u32 desc = desc_of(nic, seq);
	u32 data_bytes = nic->data_bytes[desc];
	struct exact_sent *fetched = &nic->fetched[desc];
	u32 i;

	*fetched = (struct exact_sent){ .seq = seq };
	nic->fetched_bytes[desc] = nic->length_bytes[desc];
	if (!data_bytes)
		return;
	fetched->frame_bytes = nic->length_bytes[desc];
	fetched->tag = nic->buffers[desc][0];
	fetched->intact = true;
	for (i = 0; i < fetched->frame_bytes - KPN_FCS_BYTES; i++)
		fetched->intact = fetched->intact &&
				  nic->buffers[desc][i] == (i < data_bytes ? fetched->tag : 0);
}

static void fetch_ahead(struct exact_nic *nic)
{
	while (nic->fetch_seq != nic->tail_seq &&
	       nic->fetch_seq - nic->head_seq <= nic->caps.prefetch_slots_max)
		fetch_one(nic, nic->fetch_seq++);
}

/* The slot at the head starts. */
static void start_slot(struct exact_nic *nic)
{
	u32 desc = desc_of(nic, nic->head_seq);
	struct exact_sent *fetched = &nic->fetched[desc];

	fetch_ahead(nic);
	if (!fetched->frame_bytes || nic->log_count == EXACT_LOG_MAX)
		return;
	/* a NIC may read a buffer until its slot starts */
	fetched->intact = fetched->intact && nic->buffers[desc][0] == fetched->tag;
	nic->log[nic->log_count] = *fetched;
	nic->log[nic->log_count++].start_ps = nic->head_start_ps;
}

/* Bring the wire up to the CPU time. */
static void catch_up(struct exact_nic *nic)
{
	u64 now_ps = nic->now_ns * 1000;

	while (!nic->idle) {
		u64 wire_ps = slot_wire_ps(nic, nic->head_seq);
		u64 end_ps = nic->head_start_ps + cpu_ps(nic, wire_ps);

		if (end_ps > now_ps)
			return;
		nic->head_seq++;
		nic->head_wire_ps += wire_ps;
		nic->head_start_ps = end_ps;
		nic->ended_ps = end_ps;
		nic->idle = nic->head_seq == nic->tail_seq;
		if (!nic->idle)
			start_slot(nic);
	}
}

u64 exact_nic_position(const struct exact_nic *nic)
{
	u64 into_ps = nic->now_ns * 1000 - nic->head_start_ps;

	if (nic->idle || nic->now_ns * 1000 < nic->head_start_ps)
		return nic->head_wire_ps;
	return nic->head_wire_ps +
	       kpn_div_u64(into_ps * (u64)(1000000000 + (s64)nic->ppb), 1000000000);
}

/* Slots from the one on the wire to the last that may have been fetched are out of reach. */
static void check_store(struct exact_nic *nic, u32 desc_idx)
{
	u64 seq;

	exact_nic_go(nic, nic->store_ns + nic->late_store_ns);
	nic->late_store_ns = 0;
	catch_up(nic);
	for (seq = nic->head_seq;
	     seq != nic->tail_seq && seq - nic->head_seq <= nic->caps.prefetch_slots_max; seq++)
		nic->unsafe_writes += desc_of(nic, seq) == desc_idx;
}

static u64 op_cpu_ns(void *context)
{
	struct exact_nic *nic = context;

	if (nic->cpu_read_ns)
		exact_nic_go(nic, nic->cpu_read_ns);
	return nic->now_ns;
}

static u32 op_read_index(void *context)
{
	struct exact_nic *nic = context;
	u32 index;

	nic->index_reads++;
	if (nic->gone)
		return KPN_INDEX_GONE;
	exact_nic_go(nic, nic->read_ns / 2);
	if (nic->frozen)
		return nic->frozen_index;
	index = (u32)(nic->caps.index_counts_done ? nic->head_seq : nic->fetch_seq) +
		nic->index_lie;
	/* the slot before the one on the wire has ended, and that does not show yet */
	if (nic->lag_ns && nic->now_ns * 1000 < nic->ended_ps + nic->lag_ns * 1000)
		index -= nic->head_seq != 0;
	if (nic->caps.index_modulus)
		index %= nic->caps.index_modulus;
	exact_nic_go(nic, nic->read_ns - nic->read_ns / 2 + nic->after_read_ns);
	nic->after_read_ns = 0;
	return index;
}

static void *op_buffer(void *context, u32 desc_idx)
{
	struct exact_nic *nic = context;

	nic->buffer_calls++;
	exact_nic_go(nic, nic->copy_ns);
	return nic->buffers[desc_idx];
}

static void op_commit(void *context, u32 desc_idx, u32 frame_bytes, u32 data_bytes,
		      u32 written_bytes)
{
	struct exact_nic *nic = context;

	nic->written_bytes += written_bytes;
	check_store(nic, desc_idx);
	nic->commits++;
	nic->length_bytes[desc_idx] = frame_bytes;
	nic->data_bytes[desc_idx] = data_bytes;
}

static void op_retire(void *context, u32 desc_idx, u32 frame_bytes, u32 data_bytes)
{
	struct exact_nic *nic = context;

	check_store(nic, desc_idx);
	nic->restores += nic->data_bytes[desc_idx] != 0;
	nic->zeroed_bytes += data_bytes;
	nic->length_bytes[desc_idx] = frame_bytes;
	nic->data_bytes[desc_idx] = 0;
	memset(nic->buffers[desc_idx], 0, data_bytes);
}

static void op_set_length(void *context, u32 desc_idx, u32 frame_bytes)
{
	struct exact_nic *nic = context;

	check_store(nic, desc_idx);
	nic->lengths++;
	nic->length_bytes[desc_idx] = frame_bytes;
}

static void op_rearm(void *context, u32 first_idx, u32 count)
{
	struct exact_nic *nic = context;

	(void)first_idx;
	exact_nic_go(nic, nic->rearm_ns);
	nic->rearmed += count;
}

static void op_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct exact_nic *nic = context;

	exact_nic_go(nic, nic->bell_ns);
	nic->bell_ns = 0;
	catch_up(nic);
	nic->doorbells++;
	if (nic->halted)
		nic->unsafe_writes++;
	if (tail_idx != desc_of(nic, tail_seq) || tail_seq < nic->tail_seq)
		nic->unsafe_writes++;
	nic->tail_seq = tail_seq;
	if (!nic->idle)
		fetch_ahead(nic);
	if (!nic->idle || nic->tail_seq == nic->head_seq)
		return;
	nic->idle = false;
	nic->idle_starts++;
	nic->head_start_ps = (nic->now_ns + nic->caps.restart_ns_min) * 1000;
	start_slot(nic);
}

/* What is posted and was not fetched never leaves; the slot on the wire ends. */
static void op_halt(void *context)
{
	struct exact_nic *nic = context;

	catch_up(nic);
	nic->halted = true;
	nic->tail_seq = nic->fetch_seq;
	nic->idle = nic->idle || nic->head_seq == nic->tail_seq;
}

void exact_nic_collect(struct exact_nic *nic)
{
	struct kpn_frame *frame = kpn_pacer_take_ended(nic->pacer);
	u32 events = kpn_pacer_take_events(nic->pacer);
	u32 event;

	for (; frame; frame = frame->next) {
		nic->outcomes[frame->verdict]++;
		nic->verdict_of[*(const u8 *)frame->data % EXACT_TAGS] = frame->verdict;
		nic->last_outcome = frame;
		nic->last_start = frame->start;
	}
	for (event = 0; event < KPN_EVENT_COUNT; event++)
		nic->events[event] += events >> event & 1;
}

void exact_nic_stop(struct exact_nic *nic)
{
	kpn_pacer_stop(nic->pacer);
	while (kpn_pacer_drain(nic->pacer))
		exact_nic_collect(nic);
	exact_nic_collect(nic);
}

void exact_nic_prepare(struct exact_nic *nic)
{
	memset(nic, 0, sizeof(*nic));
	nic->memory = nic->own;
	nic->memory_bytes = sizeof(nic->own);
	nic->idle = true;
	nic->now_ns = 1000000;
	nic->read_ns = 200;
	nic->caps = (struct kpn_nic_caps){
		.ring_slots_min = 8,
		.ring_slots_max = EXACT_RING_SLOTS_MAX,
		.ring_slots_multiple = 1,
		.reserved_slots = 1,
		.prefetch_slots_max = 1,
		.restart_ns_min = 500,
		.restart_ns_max = 1500,
		.start_quantum_bytes = 1,
		.placeholder_bytes_min = 64,
		.frame_bytes_max = 1522,
		.placeholder_kinds = 1u << KPN_PLACEHOLDER_BAD_FCS,
		.index_counts_done = true,
		.desc_persistent = true,
	};
	kpn_config_defaults(&nic->config, &nic->caps, 1000000000, 1230);
	nic->config.ring_slots = 64;
	nic->config.batch_slots = 4;
	nic->config.depth_slots = 16;
	nic->config.prebuffer_frames = 8;
}

void exact_nic_paper(struct exact_nic *nic, u32 ring_slots, u32 batch_slots)
{
	static u16 masks[EXACT_RING_SLOTS_MAX];
	u32 i;

	exact_nic_prepare(nic);
	for (i = 0; i < EXACT_RING_SLOTS_MAX; i++)
		masks[i] = 0xffff;
	nic->poll_ns = 10000;
	nic->caps.prefetch_slots_max = 0;
	nic->config.mode = KPN_MODE_PAPER;
	nic->config.clock_read = KPN_CLOCK_COUNTER;
	nic->config.ring_slots = ring_slots;
	nic->config.partition_slots = ring_slots;
	nic->config.allowed = masks;
	nic->config.batch_slots = batch_slots;
	nic->config.depth_slots = batch_slots;
	nic->config.prebuffer_frames = 0;
	for (i = 0; i < KPN_CLASS_COUNT; i++)
		nic->config.classes[i].rounding = KPN_ROUND_FLOOR;
}

bool exact_nic_start(struct exact_nic *nic, s64 start_ns)
{
	static const struct kpn_nic_ops nic_ops = {
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
	u32 desc;

	if (kpn_config_validate(&nic->config, &nic->caps, NULL, 0) ||
	    kpn_pacer_bytes(&nic->config) > nic->memory_bytes)
		return false;
	nic->byte_ps = kpn_byte_time_ps(nic->config.rate_bps);
	nic->pacer = kpn_pacer_init(nic->memory, &nic->config, &nic->caps, &nic_ops, nic, start_ns);
	if (!nic->pacer)
		return false;
	for (desc = 0; desc < nic->config.ring_slots; desc++)
		nic->length_bytes[desc] = nic->config.slot_bytes;
	kpn_pacer_start(nic->pacer, nic_ops.cpu_ns(nic));
	exact_nic_collect(nic);
	return true;
}

void exact_nic_go(struct exact_nic *nic, u64 ns)
{
	nic->now_ns += ns;
	catch_up(nic);
}

void exact_nic_poll(struct exact_nic *nic, u64 ns)
{
	exact_nic_go(nic, ns);
	kpn_pacer_poll(nic->pacer);
	exact_nic_collect(nic);
}

void exact_nic_run(struct exact_nic *nic, u64 ns)
{
	u64 end_ns = nic->now_ns + ns;

	while (nic->now_ns < end_ns)
		exact_nic_poll(nic, nic->poll_ns ? nic->poll_ns :
						   kpn_pacer_poll_interval_ns(nic->pacer));
}

struct kpn_frame exact_frame(u8 tag, u16 frame_bytes, u8 tc, s64 txtime_ns)
{
	struct kpn_frame frame = {
		.data = payload[tag % EXACT_TAGS],
		.frame_bytes = frame_bytes,
		.tc = tc,
		.flags = txtime_ns < 0 ? 0 : KPN_FRAME_TXTIME,
		.txtime_ns = txtime_ns < 0 ? 0 : txtime_ns,
	};

	memset(payload[tag % EXACT_TAGS], tag, sizeof(payload[0]));
	return frame;
}

u32 exact_expect_on_time(struct kpn_selftest *t, int at, const struct kpn_frame *frames, u32 count,
			 struct kpn_bounds bounds)
{
	s64 bound_ns = (s64)kpn_div_u64(bounds.boundary_error_ps, 1000) + 2;
	u32 on_time = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		s64 error_ns = frames[i].start.ns - frames[i].txtime_ns;

		if (frames[i].verdict != KPN_VERDICT_ON_TIME)
			continue;
		on_time++;
		KPN_EXPECT_AT(t, at, error_ns <= bound_ns && error_ns >= -bound_ns);
	}
	return on_time;
}
