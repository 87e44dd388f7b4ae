/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Couples pacer and fake NIC: memory for both, and the operations of pacer_rig.h, each followed by
 * the invariants of pacer_rig_checks.c.
 */
#include "pacer_rig_rooms.h"

#include "keepon/wire.h"

static size_t frames_bytes(u32 frame_count)
{
	return ((size_t)frame_count * sizeof(struct rig_frame) + 7) & ~(size_t)7;
}

static size_t nic_bytes(const struct fake_params *params)
{
	return (fake_nic_bytes(params) + 7) & ~(size_t)7;
}

static size_t table_bytes(const struct fake_params *params)
{
	return (params->ring_slots * sizeof(struct rig_frame *) + 7) & ~(size_t)7;
}

size_t rig_bytes(const struct kpn_config *config, const struct fake_params *params, u32 frame_count)
{
	return frames_bytes(frame_count) + table_bytes(params) + nic_bytes(params) +
	       kpn_pacer_bytes(config);
}

bool rig_init(struct rig *rig, void *memory, const struct kpn_config *config,
	      const struct kpn_nic_caps *caps, const struct fake_params *params, u32 frame_count,
	      s64 start_time_ns, const struct rig_log *log)
{
	struct fake_params sunk = *params;
	u8 *next = memory;

	memset(rig, 0, sizeof(*rig));
	memset(memory, 0, frames_bytes(frame_count) + table_bytes(params));
	sunk.apart = kpn_config_spare_buffers(config);
	rig_listen(rig, &sunk);
	rig->config = *config;
	rig->table[0] = (struct rig_table){ config->allowed, config->partition_slots };
	rig->frames = memory;
	rig->frame_count = frame_count;
	rig->next_id = 1;
	rig->byte_ps = params->byte_ps;
	rig->assumptions_hold = true;
	rig->hash = 0xcbf29ce484222325ull;
	if (log)
		rig->log = *log;
	next += frames_bytes(frame_count);
	rig->in_desc = (struct rig_frame **)(void *)next;
	next += table_bytes(params);
	fake_nic_init(&rig->nic, next, &sunk);
	next += nic_bytes(params);
	rig->pacer = kpn_pacer_init(next, config, caps, &fake_nic_ops, &rig->nic, start_time_ns);
	return rig->pacer != NULL;
}

void rig_start(struct rig *rig)
{
	kpn_pacer_start(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	rig_check(rig);
}

void rig_stop(struct rig *rig)
{
	rig->stopped = true;
	kpn_pacer_stop(rig->pacer);
	rig_check(rig);
	while (kpn_pacer_drain(rig->pacer) && !rig->violation)
		rig_check(rig);
	rig_check(rig);
	rig_require(rig, !rig->held, "frames are held after the stop");
}

void rig_poll(struct rig *rig)
{
	u64 reads = rig->nic.index_reads;
	u64 bells = rig->nic.bells;
	bool stopped = rig->stopped;
	u64 most = stopped ? 0 : 2;

	kpn_pacer_poll(rig->pacer);
	rig_check(rig);
	/* one that stops the pacer looks once more */
	most -= !stopped && !rig->stopped;
	rig_require(rig,
		    rig->nic.index_reads - reads <= most &&
			    (stopped || rig->nic.index_reads > reads),
		    "a poll reads the index once");
	rig_require(rig, rig->nic.bells <= bells + 1, "a poll rings once at most");
}

void rig_advance(struct rig *rig, u64 span_ps)
{
	fake_nic_advance(&rig->nic, span_ps);
	rig_check(rig);
}

void rig_pause(struct rig *rig, u64 span_ps)
{
	fake_nic_pause(&rig->nic, span_ps);
	rig->assumptions_hold = false;
	rig_check(rig);
}

int rig_submit(struct rig *rig, u32 frame_bytes, u8 tc, u8 flags, s64 txtime_ns, u64 *id)
{
	u64 reads = rig->nic.index_reads;
	u64 bells = rig->nic.bells;
	struct rig_frame *frame = NULL;
	enum kpn_verdict verdict;
	u32 tried;

	for (tried = 0; tried < rig->frame_count; tried++) {
		frame = &rig->frames[(u32)rig->next_id % rig->frame_count];
		if (!frame->held)
			break;
		rig->next_id++;
	}
	if (tried == rig->frame_count)
		return -1;
	memset(frame, 0, offsetof(struct rig_frame, data));
	frame->id = rig->next_id++;
	frame->order = frame->id;
	frame->placed_seq = KPN_SEQ_NEVER;
	frame->frame = (struct kpn_frame){
		.data = frame->data,
		.frame_bytes = (u16)frame_bytes,
		.tc = tc,
		.flags = flags,
		.txtime_ns = txtime_ns,
		.cookie = frame,
	};
	if (frame_bytes >= KPN_FCS_BYTES && frame_bytes - KPN_FCS_BYTES <= RIG_DATA_BYTES)
		rig_fill_frame(frame, frame_bytes - KPN_FCS_BYTES);
	frame->held = true;
	rig->held++;
	if (id)
		*id = frame->id;
	verdict = kpn_pacer_submit(rig->pacer, &frame->frame);
	if (verdict != KPN_VERDICT_PENDING) {
		frame->held = false;
		rig->held--;
		rig_require(rig, !frame->placements, "a refused frame was placed");
	}
	rig_require(rig, rig->nic.index_reads == reads, "submit read the index");
	rig_require(rig, rig->nic.bells == bells, "submit rang the doorbell");
	rig_mix(rig, (u64)verdict);
	rig_check(rig);
	return (int)verdict;
}

/* Setting the clock moves no slot and no count (B9). */
static void check_counts(struct rig *rig, struct kpn_state before)
{
	struct kpn_state after = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));

	rig_require(rig, before.head_seq == after.head_seq && before.tail_seq == after.tail_seq,
		    "setting the clock changed a count");
	rig_check(rig);
}

int rig_adjfine(struct rig *rig, s64 scaled_ppm)
{
	struct kpn_state before = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	int error = kpn_pacer_adjfine(rig->pacer, scaled_ppm);

	check_counts(rig, before);
	return error;
}

int rig_adjtime(struct rig *rig, s64 delta_ns)
{
	struct kpn_state before = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	int error = kpn_pacer_adjtime(rig->pacer, delta_ns);

	check_counts(rig, before);
	return error;
}

int rig_set_partition(struct rig *rig, const struct kpn_partition *partition, const u16 *allowed,
		      u64 at_net_slot)
{
	const struct rig before = *rig;
	int error;

	/* the call itself may place frames by the next table; one still to come gives way */
	rig->table[1] = (struct rig_table){ allowed, partition->slots };
	rig->switch_net_slot = at_net_slot;
	rig->switch_tail_seq = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic)).tail_seq;
	error = kpn_pacer_set_partition(rig->pacer, partition, at_net_slot);
	if (error) {
		rig->table[1] = before.table[1];
		rig->switch_net_slot = before.switch_net_slot;
		rig->switch_tail_seq = before.switch_tail_seq;
	}
	rig_check(rig);
	return error;
}

int rig_settime(struct rig *rig, struct kpn_time t)
{
	struct kpn_state before = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	int error = kpn_pacer_settime(rig->pacer, t);

	check_counts(rig, before);
	return error;
}
