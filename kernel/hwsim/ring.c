// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit ring a NIC lends to keepon.ko: the ring NIC of nicmodel/, driven by the NIC's
 * oscillator (native.c lends it). What is written after the fetch of a descriptor comes too late or
 * leaves torn, as on hardware.
 */
#include "ring.h"
#include "record.h"

/*
 * Slots of differing lengths cost the CPU something each, and it is the one that must feed the
 * ring: few at a time.
 */
enum { RECORD_BEHIND_SLOTS = 64 };

/* in the shadow: no length */
enum { AS_WRITTEN = 0 };

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
	ring_nic_advance(nic->ring->model, local_ps);
}

/** hwsim_ring_next() - when to look again for a real frame; port locked, the ring runs */
u64 hwsim_ring_next(struct hwsim_nic *nic)
{
	u64 when_ps;

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
	ring_nic_advance(ring->model, hwsim_local_now_ps(nic->port.tb));
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

	ring_nic_advance(ring->model, local_ps);
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

/* ---- struct kpn_nic_ops ---- */

/** hwsim_ring_enter() - lock the port; the model if it runs, and the NIC's time */
struct hwsim_visit hwsim_ring_enter(struct hwsim_nic *nic) __acquires(&nic->port.lock)
{
	struct hwsim_visit visit = { 0 };

	raw_spin_lock_irqsave(&nic->port.lock, visit.flags);
	visit.local_ps = hwsim_local_now_ps(nic->port.tb);
	visit.model = hwsim_ring_runs(nic) ? nic->ring->model : NULL;
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

/* A counter of 54 MHz steps every 18.5 ns. */
static u64 op_cpu_ns(void *context)
{
	const struct hwsim_nic *nic = context;
	u64 ns = ktime_get_raw_ns();

	return nic->params.cpu_ticks_coarse ? div_u64(ns * 2, 37) * 37 / 2 : ns;
}

/** hwsim_draw() - a number in [min, max] that @value determines; max - min below 2^32 */
u64 hwsim_draw(u64 value, u64 min, u64 max)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return min + ((value >> 32) * (max - min + 1) >> 32);
}

/*
 * hwsim_read_begin() - a register is sampled somewhere within the bus transaction, and the CPU
 * waits for all of it
 * @nic: whose register it is
 * @value: fresh for each read
 *
 * What the model costs the CPU is no part of that: the sample is worked out in advance, with the
 * port locked until its moment has come.
 */
struct hwsim_read hwsim_read_begin(const struct hwsim_nic *nic, u64 value)
{
	u64 now_ps = hwsim_true_ps();
	u64 draw_ns =
		nic->params.index_read_ns ? hwsim_draw(value, 0, nic->params.index_read_ns) : 0;

	return (struct hwsim_read){ now_ps + draw_ns * 1000,
				    now_ps + nic->params.index_read_ns * 1000ull };
}

/** hwsim_wait_until() - the CPU does nothing until @true_ps */
void hwsim_wait_until(u64 true_ps)
{
	while (hwsim_true_ps() < true_ps)
		cpu_relax();
}

/* The CPU's clock is read with the instruction stream in order, so before and after the sample. */
static u32 op_read_index(void *context)
{
	struct hwsim_nic *nic = context;
	struct hwsim_read read;
	unsigned long flags;
	u64 index = 0;

	raw_spin_lock_irqsave(&nic->port.lock, flags);
	read = hwsim_read_begin(nic, nic->params.seed + ++nic->ring->draws);
	if (hwsim_ring_runs(nic))
		index = ring_nic_index(nic->ring->model,
				       hwsim_local_ps(nic->port.tb, read.sample_ps));
	index = nic->port.removed ? KPN_INDEX_GONE : index % HWSIM_INDEX_MODULUS;
	hwsim_wait_until(read.sample_ps);
	if (!list_empty(&nic->port.air))
		hwsim_port_kick(&nic->port);
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	hwsim_wait_until(read.until_ps);
	return (u32)index;
}

static void *op_buffer(void *context, u32 desc_idx)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model)
		ring_nic_buffer(visit.model, desc_idx, visit.local_ps);
	hwsim_ring_leave(nic, &visit, false);
	return nic->ring->buffers + desc_idx * nic->ring->params.buffer_stride;
}

static void op_commit(void *context, u32 desc_idx, u32 frame_bytes, u32 data_bytes,
		      u32 written_bytes)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		nic->ring->shadow[desc_idx] = (u16)frame_bytes;
		ring_nic_commit(visit.model, desc_idx, frame_bytes, data_bytes, written_bytes,
				visit.local_ps);
	}
	hwsim_ring_leave(nic, &visit, true);
	smp_mb(); /* the caller's next reading of the clock is later than the store */
}

/* The NIC fetches between any two stores. */
static void op_commit_fragments(void *context, u32 first_idx, const struct kpn_span *span,
				u32 data_bytes)
{
	struct hwsim_nic *nic = context;
	u32 idx = first_idx;
	u32 i;

	for (i = 0; i <= span->fragments; i++) {
		struct hwsim_visit visit = hwsim_ring_enter(nic);
		u32 from;

		if (visit.model && i < span->fragments) {
			nic->ring->shadow[idx] = AS_WRITTEN;
			ring_nic_commit_fragment(visit.model, idx,
						 kpn_span_fragment(span, i, &from),
						 i + 1 == span->fragments, visit.local_ps);
			idx = (idx + 1) % nic->ring->params.ring_slots;
		} else if (visit.model) {
			ring_nic_seal(visit.model, first_idx, span->fragments, visit.local_ps);
		}
		hwsim_ring_leave(nic, &visit, true);
	}
	smp_mb(); /* as in op_commit() */
}

static void op_retire(void *context, u32 desc_idx, u32 frame_bytes, u32 data_bytes)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		nic->ring->shadow[desc_idx] = (u16)frame_bytes;
		ring_nic_retire(visit.model, desc_idx, frame_bytes, data_bytes, visit.local_ps);
	}
	hwsim_ring_leave(nic, &visit, false);
	smp_mb(); /* as in op_commit() */
}

static void op_set_length(void *context, u32 desc_idx, u32 frame_bytes)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		nic->ring->shadow[desc_idx] = (u16)frame_bytes;
		ring_nic_set_length(visit.model, desc_idx, frame_bytes, visit.local_ps);
	}
	hwsim_ring_leave(nic, &visit, false);
}

/*
 * What a NIC that overwrites lengths has left of a descriptor is described again, from the copy; but
 * not a fragment, which is newer than that and would lose the FCS over all of them.
 */
static void describe_again(struct hwsim_ring *ring, u32 first_idx, u32 count, u64 local_ps)
{
	u32 idx = first_idx;

	for (; count; count--) {
		if (ring->shadow[idx] != AS_WRITTEN)
			ring_nic_set_length(ring->model, idx, ring->shadow[idx], local_ps);
		if (++idx == ring->params.ring_slots)
			idx = 0;
	}
}

static void op_rearm(void *context, u32 first_idx, u32 count)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		if (nic->params.clobbers && nic->params.rearm_shadow)
			describe_again(nic->ring, first_idx, count, visit.local_ps);
		ring_nic_rearm(visit.model, first_idx, count, visit.local_ps);
	}
	hwsim_ring_leave(nic, &visit, false);
}

static void op_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		ring_nic_doorbell(visit.model, tail_seq, visit.local_ps);
		if (nic->port.record &&
		    ring_nic_latched(visit.model) - nic->ring->recorded_seq > RECORD_BEHIND_SLOTS)
			hwsim_ring_record_now(nic);
	}
	hwsim_ring_leave(nic, &visit, true);
}

static void op_halt(void *context)
{
	hwsim_ring_halt(context);
}

const struct kpn_nic_ops hwsim_ring_ops = {
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
