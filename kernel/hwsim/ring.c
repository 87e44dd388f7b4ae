// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit ring a NIC lends to keepon.ko: the ring NIC of nicmodel/, driven by the NIC's
 * oscillator (native.c lends it). What is written after the fetch of a descriptor comes too late or
 * leaves torn, as on hardware.
 */
#include "ring.h"
#include "record.h"

/*
 * hwsim_ring_add_counters() - what a life of the ring adds; frames and torn ones are counted on the
 * wire, placeholders by the caller
 */
void hwsim_ring_add_counters(struct ring_nic_counters *sum, const struct ring_nic_counters *add)
{
	sum->idle_ps += add->idle_ps;
	sum->underruns += add->underruns;
	sum->paused_ps += add->paused_ps;
	sum->pauses += add->pauses;
	sum->halts += add->halts;
	sum->clobbered += add->clobbered;
	sum->stale += add->stale;
	sum->bell_errors += add->bell_errors;
}

/** hwsim_ring_sink() - a real frame was latched; port locked */
void hwsim_ring_sink(void *sink, const struct ring_nic_frame *slot)
{
	struct hwsim_nic *nic = sink;
	struct hwsim_frame *frame =
		hwsim_pool_take(&nic->pool, slot->data, slot->frame_bytes - HWSIM_FCS_BYTES);

	if (!frame) {
		hwsim_count(&nic->port, HWSIM_tx_unseen, 1);
		return;
	}
	frame->seq = slot->seq;
	frame->life = nic->ring->life;
	frame->slots = slot->slots;
	frame->start_ps = slot->start_ps;
	frame->byte_ps = nic->ring->params.byte_time_ps;
	/* The FCS is that of the bytes fetched: nobody on the wire sees a torn frame. */
	frame->verdict = slot->torn ? HWSIM_TORN : HWSIM_GOOD;
	hwsim_wire_send(&nic->port, frame);
}

/*
 * hwsim_ring_runs() - it fetches, unless halted; otherwise the ordinary transmit queues do; port
 * locked
 */
bool hwsim_ring_runs(const struct hwsim_nic *nic)
{
	return nic->ring && nic->ring->model;
}

/** hwsim_ring_advance() - port locked, the ring runs */
void hwsim_ring_advance(struct hwsim_nic *nic, u64 local_ps)
{
	hwsim_ring_take_stores(nic);
	ring_nic_advance(nic->ring->model, local_ps);
}

/** hwsim_ring_next() - when to look again for a real frame; port locked, the ring runs */
u64 hwsim_ring_next(struct hwsim_nic *nic)
{
	u64 when_ps;

	hwsim_ring_take_stores(nic);
	if (!ring_nic_next_frame(nic->ring->model, &when_ps))
		return HWSIM_NEVER_PS;
	return when_ps;
}

/*
 * hwsim_ring_frame() - what begins with slot @seq: so many equal placeholders, or several slots with
 * a bad FCS together; port locked, the ring runs
 * @end_seq: a later slot; those before it have been latched
 * @frame: filled, @alike with how many frames there are
 *
 * Return: slots, 0 if they are forgotten
 */
u64 hwsim_ring_frame(const struct hwsim_ring *ring, u64 seq, u64 end_seq,
		     struct ring_nic_slot *frame)
{
	struct ring_nic_slot last;
	u64 slots = 1;

	if (!ring_nic_find_slot(ring->model, seq, frame))
		return 0;
	if (!frame->continues) {
		frame->alike = min(frame->alike, end_seq - seq);
		return frame->alike;
	}
	for (last = *frame; last.continues && seq + slots < end_seq; slots++)
		ring_nic_find_slot(ring->model, seq + slots, &last);
	frame->pitch_ps = last.start_ps + last.pitch_ps - frame->start_ps;
	frame->alike = 1;
	return slots;
}

/*
 * hwsim_ring_left() - slots of frames that have left wholly until @local_ps, of this life; what a
 * halt has cut is one; port locked, the ring runs
 */
u64 hwsim_ring_left(const struct hwsim_ring *ring, u64 local_ps)
{
	u64 end_seq = ring_nic_completed(ring->model, local_ps);
	struct ring_nic_slot slot;

	if (ring->halted && end_seq == ring_nic_latched(ring->model))
		return end_seq;
	while (end_seq && ring_nic_find_slot(ring->model, end_seq - 1, &slot) && slot.continues)
		end_seq--;
	return end_seq;
}

/* Frames that end in a slot latched from @seq on, whatever their FCS. */
static u64 frames_latched_from(const struct hwsim_ring *ring, u64 seq)
{
	u64 end_seq = ring_nic_latched(ring->model);
	struct ring_nic_slot slot;
	u64 frames = 0;

	for (; seq < end_seq && ring_nic_find_slot(ring->model, seq, &slot); seq += slot.alike) {
		if (!slot.continues || (ring->halted && seq + slot.alike >= end_seq))
			frames += slot.continues ? 1 : slot.alike;
	}
	return frames;
}

/*
 * hwsim_ring_placeholders() - placeholders, and what else of the ring had a bad FCS, that have left
 * wholly until @local_ps, over all lives; port locked
 */
u64 hwsim_ring_placeholders(struct hwsim_nic *nic, u64 local_ps)
{
	struct hwsim_ring *ring = nic->ring;
	const struct ring_nic_counters *latched;
	struct hwsim_frame *frame;
	u64 good_ahead;
	u64 left;

	if (!ring)
		return 0;
	if (!ring->model)
		return ring->gone.placeholders;
	hwsim_ring_advance(nic, hwsim_local_now_ps(nic->port.tb));
	left = hwsim_ring_left(ring, local_ps);
	good_ahead = ring->cut_frames;
	list_for_each_entry_reverse(frame, &nic->port.air, list)
	{
		if (frame->life != ring->life || frame->seq < left)
			break;
		good_ahead++;
	}
	latched = ring_nic_read_counters(ring->model);
	return ring->gone.placeholders + latched->placeholders + latched->mixed + good_ahead -
	       frames_latched_from(ring, left);
}

/** hwsim_ring_counters() - add those of the ring to @values (HWSIM_COUNTER_COUNT); port locked */
void hwsim_ring_counters(struct hwsim_nic *nic, u64 *values)
{
	struct ring_nic_counters sum = { 0 };

	if (!nic->ring)
		return;
	hwsim_ring_add_counters(&sum, &nic->ring->gone);
	if (nic->ring->model)
		hwsim_ring_add_counters(&sum, ring_nic_read_counters(nic->ring->model));
	values[HWSIM_tx_underruns] += sum.underruns;
	values[HWSIM_tx_idle_ns] += div_u64(sum.idle_ps, 1000);
	values[HWSIM_tx_halts] += sum.halts;
	values[HWSIM_tx_clobbered] += sum.clobbered;
	values[HWSIM_tx_stale] += sum.stale;
	values[HWSIM_tx_bell_errors] += sum.bell_errors;
	values[HWSIM_tx_paused] += sum.pauses;
	values[HWSIM_tx_paused_ns] += div_u64(sum.paused_ps, 1000);
}

/* ---- the wire record ---- */

static void record_alike(struct hwsim_nic *nic, u64 seq, u64 count,
			 const struct ring_nic_slot *first)
{
	u64 pitch_bytes = div_u64(first->pitch_ps, nic->ring->params.byte_time_ps);
	u64 frame_bytes = pitch_bytes - RING_NIC_PREAMBLE_BYTES - RING_NIC_GAP_BYTES;

	/* descriptors of several frames together may be longer than any frame */
	hwsim_record_run(&nic->port, seq, count, first->start_ps, first->pitch_ps,
			 (u32)min_t(u64, frame_bytes, HWSIM_FRAME_BYTES_MAX));
}

/*
 * hwsim_ring_record() - runs of placeholders before slot @end_seq go into the record; port locked
 */
void hwsim_ring_record(struct hwsim_nic *nic, u64 end_seq)
{
	struct hwsim_ring *ring = nic->ring;
	struct ring_nic_slot first = { 0 };
	u64 first_seq = 0;
	u64 count = 0;
	u64 lost = 0;
	u64 slots;
	u64 seq;

	if (!ring || !ring->model)
		return;
	for (seq = ring->recorded_seq; seq < end_seq; seq += slots) {
		struct ring_nic_slot slot;

		slots = hwsim_ring_frame(ring, seq, end_seq, &slot);
		if (!slots) {
			lost++;
			slots = 1;
			continue;
		}
		if (!count || slot.pitch_ps != first.pitch_ps ||
		    slot.start_ps != first.start_ps + count * first.pitch_ps) {
			if (count)
				record_alike(nic, first_seq, count, &first);
			first = slot;
			first_seq = seq;
			count = 0;
		}
		count += slot.alike;
	}
	if (lost) {
		hwsim_record_mark(&nic->port, "forgotten", lost);
		if (nic->port.capture)
			hwsim_capture_forgotten(nic->port.capture, lost);
	}
	if (count)
		record_alike(nic, first_seq, count, &first);
	ring->recorded_seq = max(ring->recorded_seq, end_seq);
}

/*
 * Slots that have left until now and are followed by no real frame still on its way; port locked,
 * there is a model
 */
static u64 left_until_now(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	u64 local_ps = hwsim_local_now_ps(nic->port.tb);
	struct hwsim_frame *frame;
	u64 end_seq;

	hwsim_ring_advance(nic, local_ps);
	end_seq = hwsim_ring_left(ring, local_ps);
	frame = list_first_entry_or_null(&nic->port.air, struct hwsim_frame, list);
	return frame && frame->life == ring->life ? min(end_seq, frame->seq) : end_seq;
}

/*
 * hwsim_ring_record_now() - what has left until now and is followed by no real frame yet; port
 * locked
 */
void hwsim_ring_record_now(struct hwsim_nic *nic)
{
	if (nic->ring && nic->ring->model)
		hwsim_ring_record(nic, left_until_now(nic));
}

/** hwsim_ring_recorded() - the slots of @frame stand in the record; port locked */
void hwsim_ring_recorded(struct hwsim_nic *nic, const struct hwsim_frame *frame)
{
	if (nic->ring && frame->life == nic->ring->life)
		nic->ring->recorded_seq = max(nic->ring->recorded_seq, frame->seq + frame->slots);
}

/*
 * hwsim_ring_record_from_now() - a record begins; one that ends has everything before; port locked
 */
void hwsim_ring_record_from_now(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;

	if (nic->port.record)
		hwsim_ring_record_now(nic);
	else if (ring && ring->model)
		ring->recorded_seq = max(ring->recorded_seq, left_until_now(nic));
}

/* ---- calls from the driver ---- */

/** hwsim_ring_enter() - lock the port; the model if it runs, with all stores, and the NIC's time */
struct hwsim_visit hwsim_ring_enter(struct hwsim_nic *nic) __acquires(&nic->port.lock)
{
	struct hwsim_visit visit = { 0 };

	raw_spin_lock_irqsave(&nic->port.lock, visit.flags);
	visit.local_ps = hwsim_local_now_ps(nic->port.tb);
	visit.model = hwsim_ring_runs(nic) ? nic->ring->model : NULL;
	if (visit.model)
		hwsim_ring_take_stores(nic);
	return visit;
}

/*
 * hwsim_ring_leave() - unlock the port; @kick: something may happen sooner than the timer is armed
 * for
 */
void hwsim_ring_leave(struct hwsim_nic *nic, const struct hwsim_visit *visit, bool kick)
	__releases(&nic->port.lock)
{
	if (kick || !list_empty(&nic->port.air))
		hwsim_port_kick_soon(&nic->port);
	raw_spin_unlock_irqrestore(&nic->port.lock, visit->flags);
}
