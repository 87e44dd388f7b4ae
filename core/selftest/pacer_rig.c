/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Couples pacer and fake NIC, follows frames, checks invariants; see pacer_rig.h. */
#include "pacer_rig.h"

#include "keepon/wire.h"

enum {
	ID_OFFSET_BYTES = 6, /* of the frame's id in its data */
	ID_BYTES = 8,
	DATA_BYTES_LEAST = 14,
};

static void violate(struct rig *rig, const char *text)
{
	if (!rig->violation)
		rig->violation = text;
}

static void require(struct rig *rig, bool condition, const char *text)
{
	if (!condition)
		violate(rig, text);
}

static void mix(struct rig *rig, u64 value)
{
	rig->hash = (rig->hash ^ value) * 0x100000001b3ull;
	rig->hash ^= rig->hash >> 29;
}

/* ---- frames ---- */

static u8 pattern(u64 id, u32 at)
{
	u32 word = (u32)id * 2654435761u + at * 40503u + 0x5bd1e995u;

	word ^= word >> 15;
	/* never zero, so that every byte left over is seen */
	return (u8)(word | 1);
}

static void fill_frame(struct rig_frame *frame, u32 data_bytes)
{
	u32 i;

	for (i = 0; i < data_bytes; i++)
		frame->data[i] = pattern(frame->id, i);
	for (i = 0; i < ID_BYTES && ID_OFFSET_BYTES + i < data_bytes; i++)
		frame->data[ID_OFFSET_BYTES + i] = (u8)(frame->id >> 8 * i);
}

static struct rig_frame *frame_of_data(struct rig *rig, const u8 *data, u32 data_bytes)
{
	struct rig_frame *frame;
	u64 id = 0;
	u32 i;

	if (data_bytes < DATA_BYTES_LEAST)
		return NULL;
	for (i = 0; i < ID_BYTES; i++)
		id |= (u64)data[ID_OFFSET_BYTES + i] << 8 * i;
	frame = &rig->frames[(u32)id % rig->frame_count];
	if (frame->id != id || frame->frame.frame_bytes != data_bytes + KPN_FCS_BYTES ||
	    memcmp(frame->data, data, data_bytes) != 0)
		return NULL;
	return frame;
}

const struct rig_frame *rig_frame_by_id(const struct rig *rig, u64 id)
{
	const struct rig_frame *frame = &rig->frames[(u32)id % rig->frame_count];

	return frame->id == id ? frame : NULL;
}

/* ---- what NIC and pacer report ---- */

static bool is_allowed_by(const u16 *allowed, u64 slots, u64 net_slot, u8 tc)
{
	/* slots before the origin of time count back from it */
	u64 distance = net_slot >> 63 ? ~net_slot : net_slot;
	u64 index = distance - kpn_div_u64(distance, slots) * slots;

	if (net_slot >> 63)
		index = slots - 1 - index;
	return allowed[index] >> tc & 1;
}

/*
 * By the table in force at a slot. Slots posted when the switch was asked for may have kept the old
 * table, if they could not be changed any more.
 */
static bool is_allowed(const struct rig *rig, u64 seq, u64 net_slot, u8 tc)
{
	const struct rig_table *now = &rig->table[0];
	const struct rig_table *next = &rig->table[1];

	if (next->allowed && (s64)(net_slot - rig->switch_net_slot) >= 0) {
		if (is_allowed_by(next->allowed, next->slots, net_slot, tc))
			return true;
		if (seq >= rig->switch_tail_seq)
			return false;
	}
	return is_allowed_by(now->allowed, now->slots, net_slot, tc);
}

static void go_astray(struct rig *rig, struct rig_frame *frame, bool late)
{
	frame->astray = frame->astray || late;
	rig->strayed = rig->strayed || late;
}

static void on_commit(void *context, u64 seq, u32 desc_idx, const u8 *data, u32 data_bytes,
		      bool late)
{
	struct rig *rig = context;
	struct rig_frame *frame = frame_of_data(rig, data, data_bytes);
	u64 base = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic)).base;

	if (!frame || !frame->held) {
		violate(rig, "committed bytes are those of no frame held");
		return;
	}
	/* no lap of the ring is counted in seq + base of free-running slots: base is 0 there */
	require(rig, is_allowed(rig, seq, seq + base, frame->frame.tc),
		"a frame was placed in a slot its class does not own");
	require(rig, !rig->in_desc[desc_idx], "a frame was placed over another");
	rig->in_desc[desc_idx] = frame;
	frame->placed_seq = seq;
	frame->placed_base = base;
	frame->placements++;
	go_astray(rig, frame, late);
	mix(rig, seq);
	mix(rig, frame->id);
	if (rig->log.commit)
		rig->log.commit(rig->log.context, frame);
}

static void on_restore(void *context, u32 desc_idx, bool late)
{
	struct rig *rig = context;
	struct rig_frame *frame = rig->in_desc[desc_idx];

	rig->in_desc[desc_idx] = NULL;
	if (frame)
		go_astray(rig, frame, late);
	if (frame && rig->log.withdraw)
		rig->log.withdraw(rig->log.context, frame);
}

static void on_slot(void *context, const struct fake_slot *slot)
{
	struct rig *rig = context;
	struct rig_frame *frame = NULL;

	mix(rig, slot->start_ps + slot->frame_bytes);
	if (slot->real) {
		frame = frame_of_data(rig, slot->data, slot->data_bytes);
		if (!frame) {
			violate(rig, "bytes on the wire are those of no frame");
			return;
		}
		require(rig, rig->stopped || frame->held,
			"a frame was on the wire after its outcome");
		require(rig, slot->seq == frame->placed_seq,
			"a frame left in another slot than it was placed in");
		frame->wire_count++;
		frame->wire_seq = slot->seq;
		frame->wire_position_ps = slot->position_ps;
		if (!(frame->frame.flags & KPN_FRAME_TXTIME)) {
			require(rig,
				rig->strayed || frame->order > rig->fifo_order[frame->frame.tc],
				"best effort of a class left in another order than submitted");
			rig->fifo_order[frame->frame.tc] = frame->order;
		}
		mix(rig, frame->id);
	}
	if (rig->log.slot)
		rig->log.slot(rig->log.context, slot, frame);
}

static bool is_at_its_place_by(const struct kpn_clock *clock, u64 position_ps,
			       struct kpn_time start)
{
	struct kpn_time expected = kpn_clock_at(clock, position_ps);

	return start.ns == expected.ns && start.frac == expected.frac;
}

/*
 * A frame that ended in the call just made has its stamp by the clock before it, or as that call
 * has set it.
 */
static bool is_at_its_place(const struct rig *rig, const struct rig_frame *frame,
			    struct kpn_time start)
{
	u64 position_ps = frame->wire_position_ps + KPN_PREAMBLE_BYTES * rig->byte_ps;

	return is_at_its_place_by(&rig->clock, position_ps, start) ||
	       is_at_its_place_by(kpn_pacer_clock(rig->pacer), position_ps, start);
}

static void on_outcome(struct rig *rig, struct rig_frame *frame, enum kpn_verdict verdict,
		       struct kpn_time start)
{
	require(rig, frame->held, "a frame had two outcomes");
	require(rig, (u32)verdict < KPN_VERDICT_COUNT, "an outcome that is no verdict");
	if (kpn_verdict_is_sent(verdict)) {
		require(rig, frame->astray || frame->wire_count == 1,
			"a frame reported as sent was not on the wire exactly once");
		require(rig, frame->astray || rig->bent || is_at_its_place(rig, frame, start),
			"the time stamp is not the clock at the frame's place on the wire");
	} else if (verdict == KPN_VERDICT_IN_DOUBT) {
		require(rig, rig->stopped, "a frame is in doubt though no CPU was held up");
		require(rig,
			!frame->wire_count || frame->astray || rig->bent ||
				is_at_its_place(rig, frame, start),
			"the time stamp of a frame in doubt is not where it left");
	} else {
		/* a stop before the stall is noticed believes the last reading */
		require(rig,
			!frame->wire_count || frame->astray ||
				(verdict == KPN_VERDICT_FLUSHED && rig->nic.misread &&
				 !rig->stalled),
			"a frame reported as not sent was on the wire");
		require(rig, !start.ns && !start.frac,
			"a time stamp for a frame that was not sent");
	}
	if (rig->log.outcome)
		rig->log.outcome(rig->log.context, frame, verdict, start);
	frame->held = false;
	rig->held--;
	mix(rig, frame->id * 32 + (u64)verdict);
	mix(rig, (u64)start.ns ^ (u64)start.frac << 32);
}

static void on_event(struct rig *rig, enum kpn_event event)
{
	rig->events[event]++;
	require(rig, event != KPN_EVENT_LOST || rig->nic.gone,
		"a NIC that can be read is taken for lost");
	require(rig, event != KPN_EVENT_STALLED || rig->nic.frozen,
		"a NIC that goes on is taken for dead");
	if (event == KPN_EVENT_PARTITION) {
		rig->table[0] = rig->table[1];
		rig->table[1].allowed = NULL;
	}
	rig->stalled = rig->stalled || event == KPN_EVENT_STALLED;
	rig->stopped = rig->stopped || event == KPN_EVENT_LOST || event == KPN_EVENT_STALLED;
	mix(rig, 0xe0 + (u64)event);
	if (rig->log.event)
		rig->log.event(rig->log.context, event);
}

/* Take what ended and what happened in the call just made. */
static void collect(struct rig *rig)
{
	struct kpn_frame *frame = kpn_pacer_take_ended(rig->pacer);
	u32 events = kpn_pacer_take_events(rig->pacer);
	u32 event;

	for (event = 0; event < KPN_EVENT_COUNT; event++) {
		if (events >> event & 1)
			on_event(rig, event);
	}
	while (frame) {
		struct kpn_frame *next = frame->next;

		on_outcome(rig, frame->cookie, frame->verdict, frame->start);
		frame = next;
	}
}

/* ---- invariants ---- */

static const char *fault_text(u32 faults)
{
	static const char *const texts[] = {
		"a frame was written into a slot the NIC had latched before",
		"length or kind of a slot was changed after the NIC had latched it",
		"bytes of a frame changed after its commit",
		"bytes of an earlier frame in padding or placeholder",
		"a slot is shorter than the frame in it",
		"a slot has a length the NIC cannot send",
		"a write-back descriptor was posted without being re-armed",
		"a doorbell beyond what may be posted",
		"a descriptor outside the ring",
		"bytes that were written and not written back were fetched",
		"a doorbell after the halt",
	};

	return texts[__builtin_ctz(faults)];
}

static void check_head(struct rig *rig, u64 cpu_ns)
{
	struct kpn_head head = kpn_pacer_head(rig->pacer, cpu_ns);
	struct kpn_window window = kpn_pacer_window(rig->pacer, cpu_ns);
	u64 position_ps = fake_nic_position(&rig->nic);

	require(rig, window.valid == head.valid, "window and head disagree about being valid");
	if (!head.valid || !rig->assumptions_hold)
		return;
	require(rig, (s64)(position_ps - head.wire.lower_ps) >= 0,
		"the wire is before the head's interval");
	require(rig, (s64)(head.wire.upper_ps - position_ps) >= 0,
		"the wire is past the head's interval");
	require(rig, head.upper_seq >= rig->nic.wire_seq,
		"the wire is past the head's upper bound");
	require(rig, window.first_seq >= rig->nic.fetch_seq,
		"the window begins with a slot the NIC has latched");
}

/* No call does more than the limits say. */
static void check_work(struct rig *rig)
{
	struct kpn_limits limits = kpn_pacer_limits(rig->pacer);
	struct fake_nic *nic = &rig->nic;

	require(rig, nic->stores - rig->stores <= limits.frames,
		"a call stored more frames than its limit");
	require(rig, nic->lengths - rig->lengths <= limits.trims,
		"a call changed more lengths than its limit");
	require(rig, nic->rearmed - rig->rearmed <= limits.rearms,
		"a call handed over more descriptors than its limit");
	rig->stores = nic->stores;
	rig->lengths = nic->lengths;
	rig->rearmed = nic->rearmed;
}

static void check_state(struct rig *rig)
{
	const struct kpn_stats *stats = kpn_pacer_stats(rig->pacer);
	u64 cpu_ns = fake_nic_cpu_ns(&rig->nic);
	struct kpn_state state = kpn_pacer_state(rig->pacer, cpu_ns);
	u64 posted = state.tail_seq - state.head_seq;

	require(rig, stats->submitted == kpn_stats_ended(stats) + state.pending,
		"submitted is not ended by verdict plus pending");
	require(rig, state.pending == rig->held, "pending is not the number of frames held");
	require(rig, state.head_seq >= rig->head_seq, "the head went back");
	require(rig, state.tail_seq >= rig->tail_seq, "the tail went back");
	require(rig, state.head_seq <= state.tail_seq && posted <= rig->config.depth_slots,
		"more is posted than the posting depth");
	require(rig, stats->slots_completed == state.head_seq, "completed slots are not the head");
	require(rig, stats->slots_posted == state.tail_seq, "posted slots are not the tail");
	require(rig, rig->stopped || state.tail_seq == rig->nic.tail_seq,
		"the tail is not what the doorbell said");
	require(rig, stats->doorbells == rig->nic.bells, "doorbells are not counted");
	rig->bent = rig->bent || rig->nic.faults & FAKE_LATE_LENGTH;
	if (rig->nic.misread)
		rig->nic.faults &= ~(u32)(FAKE_LATE_COMMIT | FAKE_LATE_LENGTH);
	if (rig->nic.faults)
		violate(rig, fault_text(rig->nic.faults));
	rig->head_seq = state.head_seq;
	rig->tail_seq = state.tail_seq;
	if (!rig->stopped)
		check_head(rig, cpu_ns);
	mix(rig, state.head_seq);
	mix(rig, state.base);
	mix(rig, state.lock_seq);
	mix(rig, state.clock_error_ps);
}

static void check(struct rig *rig)
{
	rig->calls++;
	check_work(rig);
	collect(rig);
	rig->clock = *kpn_pacer_clock(rig->pacer);
	check_state(rig);
}

/* ---- operations ---- */

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
	sunk.sink_slot = on_slot;
	sunk.sink_commit = on_commit;
	sunk.sink_restore = on_restore;
	sunk.sink = rig;
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
	check(rig);
}

void rig_stop(struct rig *rig)
{
	rig->stopped = true;
	kpn_pacer_stop(rig->pacer);
	check(rig);
	while (kpn_pacer_drain(rig->pacer) && !rig->violation)
		check(rig);
	check(rig);
	require(rig, !rig->held, "frames are held after the stop");
}

void rig_poll(struct rig *rig)
{
	u64 reads = rig->nic.index_reads;
	u64 bells = rig->nic.bells;
	bool stopped = rig->stopped;
	u64 most = stopped ? 0 : 2;

	kpn_pacer_poll(rig->pacer);
	check(rig);
	/* one that stops the pacer looks once more */
	most -= !stopped && !rig->stopped;
	require(rig,
		rig->nic.index_reads - reads <= most && (stopped || rig->nic.index_reads > reads),
		"a poll reads the index once");
	require(rig, rig->nic.bells <= bells + 1, "a poll rings once at most");
}

void rig_advance(struct rig *rig, u64 span_ps)
{
	fake_nic_advance(&rig->nic, span_ps);
	check(rig);
}

void rig_pause(struct rig *rig, u64 span_ps)
{
	fake_nic_pause(&rig->nic, span_ps);
	rig->assumptions_hold = false;
	check(rig);
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
		fill_frame(frame, frame_bytes - KPN_FCS_BYTES);
	frame->held = true;
	rig->held++;
	if (id)
		*id = frame->id;
	verdict = kpn_pacer_submit(rig->pacer, &frame->frame);
	if (verdict != KPN_VERDICT_PENDING) {
		frame->held = false;
		rig->held--;
		require(rig, !frame->placements, "a refused frame was placed");
	}
	require(rig, rig->nic.index_reads == reads, "submit read the index");
	require(rig, rig->nic.bells == bells, "submit rang the doorbell");
	mix(rig, (u64)verdict);
	check(rig);
	return (int)verdict;
}

/* Setting the clock moves no slot and no count (B9). */
static void check_counts(struct rig *rig, struct kpn_state before)
{
	struct kpn_state after = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));

	require(rig, before.head_seq == after.head_seq && before.tail_seq == after.tail_seq,
		"setting the clock changed a count");
	check(rig);
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
	check(rig);
	return error;
}

int rig_settime(struct rig *rig, struct kpn_time t)
{
	struct kpn_state before = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	int error = kpn_pacer_settime(rig->pacer, t);

	check_counts(rig, before);
	return error;
}
