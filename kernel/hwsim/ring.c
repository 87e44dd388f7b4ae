// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit ring a NIC lends to keepon.ko: the ring NIC of nicmodel/, driven by the NIC's
 * oscillator (native.c lends it). What is written after the fetch of a descriptor comes too late or
 * leaves torn, as on hardware.
 */
#include "ring.h"

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
	hwsim_port_send(&nic->port, frame);
}

/*
 * hwsim_ring_runs() - it fetches, unless halted; otherwise the ordinary transmit queues do; port
 * locked
 */
bool hwsim_ring_runs(const struct hwsim_nic *nic)
{
	return nic->ring && nic->ring->model;
}

/*
 * hwsim_ring_take_stores() - the NIC finds in memory what was stored, each at its time; the port
 * is locked and the ring runs
 */
void hwsim_ring_take_stores(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	u32 i;

	for (i = 0; i < ring->store_count; i++) {
		const struct hwsim_store *s = &ring->stores[i];
		u64 local_ps = hwsim_local_ps(nic->port.tb, s->true_ps);

		ring->shadow[s->idx] = s->shadow;
		switch (s->kind) {
		case HWSIM_STORE_FRAME:
			ring_nic_commit(ring->model, s->idx, s->bytes, s->data_bytes,
					s->written_bytes, local_ps);
			break;
		case HWSIM_STORE_FRAGMENT:
			ring_nic_commit_fragment(ring->model, s->idx, s->bytes, s->last, local_ps);
			break;
		case HWSIM_STORE_FCS:
			ring_nic_seal(ring->model, s->idx, s->fragments, local_ps);
			break;
		case HWSIM_STORE_PLACEHOLDER:
			ring_nic_retire(ring->model, s->idx, s->bytes, s->data_bytes, local_ps);
			break;
		case HWSIM_STORE_LENGTH:
			ring_nic_set_length(ring->model, s->idx, s->bytes, local_ps);
			break;
		}
	}
	ring->store_count = 0;
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

/* ---- calls from the driver, and what befalls its ring ---- */

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

/*
 * hwsim_ring_halt() - the NIC fetches no more, whatever the owner of the ring still asks for; until
 * the next reset
 */
void hwsim_ring_halt(struct hwsim_nic *nic)
{
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		ring_nic_halt(visit.model, visit.local_ps);
		nic->ring->halted = true;
	}
	hwsim_ring_leave(nic, &visit, false);
}

/*
 * hwsim_ring_freeze_index() - the index stands still while the wire goes on; -ENODEV without a
 * running ring; any context
 */
int hwsim_ring_freeze_index(struct hwsim_nic *nic, bool frozen)
{
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		ring_nic_advance(visit.model, visit.local_ps);
		ring_nic_freeze_index(visit.model, frozen);
	}
	hwsim_ring_leave(nic, &visit, false);
	return visit.model ? 0 : -ENODEV;
}

/*
 * hwsim_ring_pause() - the peer sends PAUSE now; -ENODEV without a running ring, -ENOSPC after too
 * many; any context
 */
int hwsim_ring_pause(struct hwsim_nic *nic, u64 duration_ps)
{
	struct hwsim_visit visit = hwsim_ring_enter(nic);
	struct hwsim_ring *ring = nic->ring;
	int err = 0;

	if (!visit.model) {
		err = -ENODEV;
	} else if (ring->pause_count == HWSIM_PAUSES_MAX) {
		err = -ENOSPC;
	} else {
		ring_nic_advance(visit.model, visit.local_ps);
		ring->pauses[ring->pause_count++] =
			(struct ring_nic_pause){ visit.local_ps, duration_ps };
		ring_nic_set_pauses(visit.model, ring->pauses, ring->pause_count);
	}
	hwsim_ring_leave(nic, &visit, true);
	return err;
}
