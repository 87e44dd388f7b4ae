/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Frames of the rig: bytes that follow from a frame's id, what NIC and pacer report of each one
 * from its commit to the wire and its outcome, and what must be true of that.
 */
#include "pacer_rig_rooms.h"

#include "keepon/wire.h"

enum {
	ID_OFFSET_BYTES = 6, /* of the frame's id in its data */
	ID_BYTES = 8,
	DATA_BYTES_LEAST = 14,
};

/* ---- bytes ---- */

static u8 pattern(u64 id, u32 at)
{
	u32 word = (u32)id * 2654435761u + at * 40503u + 0x5bd1e995u;

	word ^= word >> 15;
	/* never zero, so that every byte left over is seen */
	return (u8)(word | 1);
}

void rig_fill_frame(struct rig_frame *frame, u32 data_bytes)
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

/* ---- what the NIC reports ---- */

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
	u32 i;

	if (!frame || !frame->held) {
		rig_violate(rig, "committed bytes are those of no frame held");
		return;
	}
	/* a trim of a frame in several buffers */
	if (rig->in_desc[desc_idx] == frame)
		return;
	for (i = 0; i < frame->frame.slots; i++) {
		u32 idx = (desc_idx + i) % rig->nic.params.ring_slots;

		/*
		 * no lap of the ring is counted in seq + base of free-running slots: base is 0
		 * there
		 */
		rig_require(rig, is_allowed(rig, seq + i, seq + i + base, frame->frame.tc),
			    "a frame was placed in a slot its class does not own");
		rig_require(rig, !rig->in_desc[idx], "a frame was placed over another");
		rig->in_desc[idx] = frame;
	}
	frame->placed_seq = seq;
	frame->placed_base = base;
	frame->placements++;
	go_astray(rig, frame, late);
	rig_mix(rig, seq);
	rig_mix(rig, frame->id);
	if (rig->log.commit)
		rig->log.commit(rig->log.context, frame);
}

static void on_restore(void *context, u32 desc_idx, bool late)
{
	struct rig *rig = context;
	struct rig_frame *frame = rig->in_desc[desc_idx];
	u32 i;

	/* its first buffer is the first to be a placeholder again */
	for (i = 0; frame && i < rig->nic.params.ring_slots; i++) {
		u32 idx = (desc_idx + i) % rig->nic.params.ring_slots;

		if (rig->in_desc[idx] != frame)
			break;
		rig->in_desc[idx] = NULL;
	}
	if (frame)
		go_astray(rig, frame, late);
	if (frame && rig->log.withdraw)
		rig->log.withdraw(rig->log.context, frame);
}

static void on_slot(void *context, const struct fake_slot *slot)
{
	struct rig *rig = context;
	struct rig_frame *frame = NULL;

	rig_mix(rig, slot->start_ps + slot->frame_bytes);
	if (slot->real) {
		frame = frame_of_data(rig, slot->data, slot->data_bytes);
		if (!frame) {
			rig_violate(rig, "bytes on the wire are those of no frame");
			return;
		}
		rig_require(rig, rig->stopped || frame->held,
			    "a frame was on the wire after its outcome");
		rig_require(rig, slot->seq == frame->placed_seq,
			    "a frame left in another slot than it was placed in");
		frame->wire_count++;
		frame->wire_seq = slot->seq;
		frame->wire_position_ps = slot->position_ps;
		if (!(frame->frame.flags & KPN_FRAME_TXTIME)) {
			rig_require(rig,
				    rig->strayed || frame->order > rig->fifo_order[frame->frame.tc],
				    "best effort of a class left in another order than submitted");
			rig->fifo_order[frame->frame.tc] = frame->order;
		}
		rig_mix(rig, frame->id);
	}
	if (rig->log.slot)
		rig->log.slot(rig->log.context, slot, frame);
}

void rig_listen(struct rig *rig, struct fake_params *params)
{
	params->sink_slot = on_slot;
	params->sink_commit = on_commit;
	params->sink_restore = on_restore;
	params->sink = rig;
}

/* ---- what the pacer reports ---- */

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
	rig_require(rig, frame->held, "a frame had two outcomes");
	rig_require(rig, (u32)verdict < KPN_VERDICT_COUNT, "an outcome that is no verdict");
	if (kpn_verdict_is_sent(verdict)) {
		rig_require(rig, frame->astray || frame->wire_count == 1,
			    "a frame reported as sent was not on the wire exactly once");
		rig_require(rig, frame->astray || rig->bent || is_at_its_place(rig, frame, start),
			    "the time stamp is not the clock at the frame's place on the wire");
	} else if (verdict == KPN_VERDICT_IN_DOUBT) {
		rig_require(rig, rig->stopped, "a frame is in doubt though no CPU was held up");
		rig_require(rig,
			    !frame->wire_count || frame->astray || rig->bent ||
				    is_at_its_place(rig, frame, start),
			    "the time stamp of a frame in doubt is not where it left");
	} else {
		/* a stop before the stall is noticed believes the last reading */
		rig_require(rig,
			    !frame->wire_count || frame->astray ||
				    (verdict == KPN_VERDICT_FLUSHED && rig->nic.misread &&
				     !rig->stalled),
			    "a frame reported as not sent was on the wire");
		rig_require(rig, !start.ns && !start.frac,
			    "a time stamp for a frame that was not sent");
	}
	if (rig->log.outcome)
		rig->log.outcome(rig->log.context, frame, verdict, start);
	frame->held = false;
	rig->held--;
	rig_mix(rig, frame->id * 32 + (u64)verdict);
	rig_mix(rig, (u64)start.ns ^ (u64)start.frac << 32);
}

static void on_event(struct rig *rig, enum kpn_event event)
{
	rig->events[event]++;
	rig_require(rig, event != KPN_EVENT_LOST || rig->nic.gone,
		    "a NIC that can be read is taken for lost");
	rig_require(rig, event != KPN_EVENT_STALLED || rig->nic.frozen,
		    "a NIC that goes on is taken for dead");
	if (event == KPN_EVENT_PARTITION) {
		rig->table[0] = rig->table[1];
		rig->table[1].allowed = NULL;
	}
	rig->stalled = rig->stalled || event == KPN_EVENT_STALLED;
	rig->stopped = rig->stopped || event == KPN_EVENT_LOST || event == KPN_EVENT_STALLED;
	rig_mix(rig, 0xe0 + (u64)event);
	if (rig->log.event)
		rig->log.event(rig->log.context, event);
}

void rig_collect(struct rig *rig)
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
