// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The facade: start, poll, clock. What happens to frames is in insert.c, what is told of it all in pacer_told.c.
 *
 *        completed        | posted: the NIC may send these            | next lap
 *   ----------------------+-------------+-----------------------------+-----------------
 *                      head    head's upper   first slot that       tail       head + ring
 *                              bound (strip)  can still be changed
 *                                |<- horizon ->|<- insertion window ---------------->|
 */
#include "keepon/pacer.h"

#include "keepon/errno.h"
#include "kpn_clock_law.h"
#include "kpn_math.h"
#include "kpn_padding.h"

enum {
	/* After a slip this many readings must agree before frames are inserted again. */
	DISTRUST_POLLS = 16,
	POLL_NS_MIN = 200,
};

static void *align_up(void *memory)
{
	return (void *)(((uintptr_t)memory + 7) & ~(uintptr_t)7);
}

size_t kpn_pacer_bytes(const struct kpn_config *config)
{
	u32 marks = config->padding == KPN_PADDING_ON_DEMAND ? config->ring_slots : 0;

	return sizeof(struct kpn_pacer) + kpn_ring_bytes(config->ring_slots) +
	       kpn_prebuffer_bytes(config->prebuffer_frames) + (config->partition_slots + marks) * sizeof(u16) +
	       3 * sizeof(u64);
}

/*
 * The poll period (A25, A26): one batch of wire time less the worst-case poll; paper mode stops there. Otherwise, where
 * less than a batch would be left in hand (depth near batch), the wire must not run dry before the doorbell: the
 * slot in flight and a restart are kept free as well.
 */
static void plan_polls(struct kpn_pacer *pacer)
{
	const struct kpn_config *config = &pacer->config;
	u64 poll_ns = kpn_div_u64(config->batch_slots * pacer->slot_ps, 1000);
	u64 spent_ns = config->poll_overhead_ns;

	if (pacer->phase_locked) {
		u64 depth_ns = kpn_div_u64((config->depth_slots - 1) * pacer->slot_ps_min, 1000);

		if (depth_ns < poll_ns + pacer->caps.restart_ns_max) {
			poll_ns = depth_ns;
			spent_ns += pacer->caps.restart_ns_max;
		}
	}
	pacer->poll_ns = poll_ns > spent_ns + POLL_NS_MIN ? poll_ns - spent_ns : POLL_NS_MIN;
	/* One slot of dither gives every phase against the index; never more than half the interval. */
	pacer->dither_ns = config->dither ? kpn_div_u64(pacer->slot_ps, 1000) : 0;
	if (pacer->dither_ns > pacer->poll_ns / 2)
		pacer->dither_ns = pacer->poll_ns / 2;
}

/* Slots to the grid from the worst residual; a rate beyond what trims can follow never gets there. */
static u64 lock_slots_max(const struct kpn_pacer *pacer)
{
	u64 slots = kpn_pacer_bounds(pacer, pacer->config.drift_ppb_max, 0).lock_slots;

	return slots == KPN_SEQ_NEVER ? 0xffffffffu : (slots + 1) * pacer->gap_slots;
}

struct kpn_pacer *kpn_pacer_init(void *memory, const struct kpn_config *config, const struct kpn_nic_caps *caps,
				 const struct kpn_nic_ops *nic_ops, void *nic, const struct kpn_pacer_ops *ops,
				 void *context, s64 start_time_ns)
{
	struct kpn_pacer *pacer = align_up(memory);
	char *next = (char *)(pacer + 1);
	u32 wire_bytes = kpn_wire_bytes(config->slot_bytes);
	u16 *allowed;

	if (kpn_config_validate(config, caps, NULL, 0) || start_time_ns < 0 || start_time_ns > KPN_TIME_NS_MAX)
		return NULL;
	memset(pacer, 0, sizeof(*pacer));
	pacer->config = *config;
	pacer->caps = *caps;
	pacer->nic_ops = *nic_ops;
	pacer->nic = nic;
	pacer->ops = *ops;
	pacer->context = context;
	pacer->phase_locked = config->mode == KPN_MODE_PHASE_LOCKED;
	pacer->byte_ps = kpn_byte_time_ps(config->rate_bps);
	pacer->slot_ps = (u64)wire_bytes * pacer->byte_ps;
	pacer->sfd_ps = (u64)KPN_PREAMBLE_BYTES * pacer->byte_ps;
	pacer->early_ns = (s64)(config->tolerance_ns + kpn_div_u64(pacer->sfd_ps, 1000) + 1);
	pacer->early_rest_ps = (u32)((kpn_div_u64(pacer->sfd_ps, 1000) + 1) * 1000 - pacer->sfd_ps) - 1;
	pacer->slot_ps_min = pacer->slot_ps;
	pacer->real_bytes_max = config->slot_bytes;
	if (pacer->phase_locked) {
		pacer->slot_ps_min -= (u64)config->trim_down_bytes * pacer->byte_ps;
		if (config->trim == KPN_TRIM_ANY)
			pacer->real_bytes_max -= config->trim_down_bytes;
	}
	pacer->restart_ps_max = caps->restart_ns_max * 1001ull + 1000;
	/* The frame on the wire is one more that cannot be changed. In paper mode the lead is a batch (C3). */
	pacer->lead_slots = caps->prefetch_slots_max + 1;
	if (!pacer->phase_locked && config->batch_slots > pacer->lead_slots)
		pacer->lead_slots = config->batch_slots;
	pacer->lookahead_slots = 2 * config->batch_slots + 2;
	if (config->depth_slots > pacer->lookahead_slots)
		pacer->lookahead_slots = config->depth_slots;
	pacer->posted_low =
		config->depth_slots - (config->depth_slots >= 3 * config->batch_slots ? config->batch_slots : 1);
	/* Fewer posted than this after a reading: the wire may have run dry, or may before the doorbell. */
	pacer->quiet_slots =
		2 + (u32)kpn_div_u64(pacer->restart_ps_max + 1000ull * (u64)(0 - (s64)caps->index_to_wire_ns_min),
				     pacer->slot_ps_min);
	if (caps->index_counts_done) {
		pacer->lag_lower_ps = 999ull * (u64)(0 - (s64)caps->index_to_wire_ns_max);
		pacer->lag_upper_ns = (u64)(0 - (s64)caps->index_to_wire_ns_min);
	}
	/* A fetch index, and what the products of a plain reading could not hold, always get the full treatment. */
	if (!caps->index_counts_done || pacer->lag_upper_ns > KPN_PACE_NS_MAX)
		pacer->quiet_slots = 0xffffffffu;
	pacer->random = config->seed * 2 + 1;
	plan_polls(pacer);

	kpn_ring_init(&pacer->ring, next, config->ring_slots, pacer->slot_ps);
	next += kpn_ring_bytes(config->ring_slots);
	kpn_prebuffer_init(&pacer->prebuffer, next, config->prebuffer_frames);
	next = align_up(next + kpn_prebuffer_bytes(config->prebuffer_frames));
	allowed = (u16 *)next;
	memcpy(allowed, config->allowed, config->partition_slots * sizeof(u16));
	pacer->config.allowed = allowed;
	if (config->padding == KPN_PADDING_ON_DEMAND) {
		pacer->old_bytes = allowed + config->partition_slots;
		memset(pacer->old_bytes, 0, config->ring_slots * sizeof(u16));
	}
	pacer->partition = (struct kpn_partition){ allowed, config->partition_slots };
	pacer->gap_slots = config->trim == KPN_TRIM_RESERVED ? kpn_partition_gap_max(&pacer->partition) : 1;

	kpn_clock_init(&pacer->clock, 0, (struct kpn_time){ start_time_ns, 0 });
	kpn_strip_init(&pacer->strip, config->drift_ppb_max, config->wander_ppb_per_s_max, pacer->poll_ns);
	pacer->lag_upper_ps = kpn_pace_ps(pacer->lag_upper_ns, pacer->strip.pace_most) + 2;
	kpn_align_init(&pacer->align, pacer->slot_ps, (u64)caps->start_quantum_bytes * pacer->byte_ps,
		       (u64)config->trim_down_bytes * pacer->byte_ps, (u64)config->trim_up_bytes * pacer->byte_ps);
	if (pacer->phase_locked)
		pacer->lock_slots_max = lock_slots_max(pacer);
	else
		pacer->align.next_trim_seq = KPN_SEQ_NEVER;
	return pacer;
}

static void emit(struct kpn_pacer *pacer, enum kpn_event event)
{
	if (pacer->ops.event)
		pacer->ops.event(pacer->context, event);
}

static u64 cpu_now(const struct kpn_pacer *pacer)
{
	return pacer->nic_ops.cpu_ns(pacer->nic);
}

/* Post @count slots at the tail; trims are the only slots that cost anything. */
static inline void post(struct kpn_pacer *pacer, u32 count)
{
	if (KPN_LIKELY(pacer->align.next_trim_seq >= pacer->ring.tail_seq + count))
		kpn_ring_post(&pacer->ring, count);
	else
		kpn_post_trimming(pacer, count);
}

/* The same where the NIC writes descriptors back: they are handed over anew. */
static KPN_SELDOM void post_write_back(struct kpn_pacer *pacer, u32 count)
{
	u32 first = kpn_ring_desc(&pacer->ring, pacer->ring.tail_seq);

	post(pacer, count);
	pacer->nic_ops.rearm(pacer->nic, first, count);
}

static inline void post_to_depth(struct kpn_pacer *pacer, u32 posted)
{
	u32 count = pacer->config.depth_slots - posted;

	if (KPN_UNLIKELY(!pacer->caps.desc_persistent))
		post_write_back(pacer, count);
	else
		post(pacer, count);
	pacer->plain_seq += count;
}

static inline void ring_bell(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;

	pacer->stats.doorbells++;
	pacer->nic_ops.doorbell(pacer->nic, kpn_ring_desc(ring, ring->tail_seq), ring->tail_seq);
}

/*
 * Hand what lies between the tail and the posting depth to the NIC. Where three batches fit into the depth, posting waits for
 * a whole batch: a dithered poll that finds less leaves it to the next, and a batch remains even then.
 */
static inline void advance_tail(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	u32 posted = (u32)(ring->tail_seq - ring->head_seq);

	if (posted > pacer->posted_low)
		return;
	post_to_depth(pacer, posted);
	ring_bell(pacer);
}

/* First slot that can still be changed when re-planning is done; without a valid head none that is posted. */
static u64 first_changeable(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct kpn_head head = kpn_pacer_head(pacer, cpu_ns + KPN_REPLAN_NS);
	u64 first = head.upper_seq + pacer->caps.prefetch_slots_max + 1;

	if (!head.valid || first > pacer->ring.tail_seq)
		return pacer->ring.tail_seq;
	return first;
}

static void set_partition_index(struct kpn_pacer *pacer)
{
	u64 net_slot = pacer->ring.head_seq + (pacer->phase_locked ? pacer->align.base : 0);

	/* After a step to the origin of time the head can be before it: count back from there, not from 2^64. */
	if (KPN_UNLIKELY(net_slot >> 63))
		pacer->partition_idx = pacer->partition.slots - 1 - kpn_partition_index(&pacer->partition, ~net_slot);
	else
		pacer->partition_idx = kpn_partition_index(&pacer->partition, net_slot);
	pacer->partition_seq = pacer->ring.head_seq;
}

/*
 * Slots from @from on belong to the instants the clock says now. Frames that can be taken back get the slots their txtimes ask for,
 * and so do those in @waiting, taken back before; in paper mode frames keep their slots (B9).
 */
static void plan_again(struct kpn_pacer *pacer, u64 from, struct kpn_frame *waiting, u64 cpu_ns)
{
	struct kpn_frame *recalled = NULL;

	if (pacer->phase_locked) {
		if (kpn_align_choose_base(&pacer->align, &pacer->clock, from, kpn_ring_start_ps(&pacer->ring, from))) {
			pacer->step_seq = from;
			recalled = kpn_insert_recall(pacer, from);
			set_partition_index(pacer);
		}
		kpn_align_unlock(&pacer->align);
		kpn_post_again(pacer, from);
	}
	kpn_insert_rekey(pacer);
	kpn_insert_again(pacer, waiting, cpu_ns);
	kpn_insert_again(pacer, recalled, cpu_ns);
}

/* The time of day changed. */
static void step(struct kpn_pacer *pacer, u64 from, struct kpn_frame *waiting, u64 cpu_ns)
{
	pacer->stats.steps++;
	plan_again(pacer, from, waiting, cpu_ns);
	emit(pacer, KPN_EVENT_STEP);
}

/* Head slots up to @to have left. Return: where slot @to ends on the wire. */
static inline u64 complete(struct kpn_pacer *pacer, u64 to)
{
	if (KPN_UNLIKELY(to >= pacer->ring.quiet_seq))
		return kpn_complete_touched(pacer, to);
	kpn_ring_skip(&pacer->ring, to);
	return pacer->ring.head_ps + pacer->ring.slot_ps;
}

static u64 middle_of(struct kpn_interval interval)
{
	return interval.lower_ps + (interval.upper_ps - interval.lower_ps) / 2;
}

/* The time at @cpu_ns by a strip that nothing has contradicted; the wire cannot be past what was posted otherwise. */
static struct kpn_time time_believed(const struct kpn_pacer *pacer, const struct kpn_strip *strip, u64 cpu_ns)
{
	return kpn_clock_at(&pacer->clock, kpn_strip_told(strip, kpn_strip_at(strip, cpu_ns)));
}

/*
 * The wire stands at the tail and starts, within the restart latency of a doorbell, with whole placeholders: whatever is prepared
 * before the doorbell makes the wire late, and what it takes is not known beforehand. So no frame is in these slots, and what
 * time it is, and which slots are trimmed, is decided afterwards. Return: CPU time of the doorbell.
 */
static u64 start_at_tail(struct kpn_pacer *pacer)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 start_ps = ring->tail_ps;
	u64 before_ns;
	u64 after_ns;

	pacer->restart_seq = ring->tail_seq;
	pacer->steady_ps = start_ps;
	kpn_align_hold(&pacer->align);
	post_to_depth(pacer, 0);
	before_ns = cpu_now(pacer);
	ring_bell(pacer);
	after_ns = cpu_now(pacer);
	kpn_strip_reset(&pacer->strip, after_ns + 1, start_ps - pacer->restart_ps_max,
			start_ps + (after_ns + 1 - before_ns) * 1001);
	return before_ns + (after_ns - before_ns) / 2;
}

/*
 * The wire is idle: everything posted has left. The count stays; the wire starts, and the clock is set from the CPU
 * counter to what it would have been. What this is worth: strip width + restart latency + doorbell +
 * rate uncertainty x stall (docs/model.md).
 */
static KPN_SELDOM void recover_idle(struct kpn_pacer *pacer)
{
	const struct kpn_strip believed = pacer->strip;
	struct kpn_frame *waiting = NULL;
	u64 tail_ps = pacer->ring.tail_ps;
	struct kpn_time start;
	u64 cpu_ns;

	pacer->stats.underruns++;
	pacer->synchronised = false;
	if (pacer->phase_locked)
		waiting = kpn_insert_recall(pacer, pacer->ring.tail_seq);
	start = time_believed(pacer, &believed, start_at_tail(pacer));
	start.ns += (s64)(((u64)pacer->caps.restart_ns_min + pacer->caps.restart_ns_max) / 2);
	kpn_clock_settime(&pacer->clock, tail_ps, start);
	cpu_ns = cpu_now(pacer);
	step(pacer, first_changeable(pacer, cpu_ns), waiting, cpu_ns);
	emit(pacer, KPN_EVENT_UNDERRUN);
}

/* Index and CPU counter contradict each other: believe only the reading, keep the time of day. */
static KPN_SELDOM void recover_slip(struct kpn_pacer *pacer, u64 cpu_ns, u64 lower_ps, u64 upper_ps)
{
	struct kpn_time now = time_believed(pacer, &pacer->strip, cpu_ns);

	pacer->stats.slips++;
	pacer->synchronised = false;
	pacer->distrust = DISTRUST_POLLS;
	pacer->steady_ps = upper_ps;
	kpn_strip_reset(&pacer->strip, cpu_ns, lower_ps, upper_ps);
	kpn_clock_settime(&pacer->clock, middle_of((struct kpn_interval){ lower_ps, upper_ps }), now);
	step(pacer, first_changeable(pacer, cpu_ns), NULL, cpu_ns);
	emit(pacer, KPN_EVENT_SLIP);
}

/*
 * Little is posted: if the wire could end before a doorbell takes effect, it may have been idle. It stands at the tail
 * then, wherever the lower bound has run on to since, and starts within a restart.
 */
static KPN_SELDOM void suspect_idle(struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct kpn_interval wire = kpn_strip_at(&pacer->strip, cpu_ns);
	s64 beyond_ps = (s64)(wire.lower_ps - pacer->ring.tail_ps);

	if ((s64)(pacer->ring.tail_ps - wire.upper_ps) >= (s64)pacer->restart_ps_max)
		return;
	pacer->stats.suspected_underruns++;
	pacer->synchronised = false;
	pacer->restart_seq = pacer->ring.tail_seq;
	pacer->steady_ps = pacer->ring.tail_ps;
	kpn_strip_loosen(&pacer->strip, pacer->restart_ps_max + (beyond_ps > 0 ? (u64)beyond_ps : 0));
	emit(pacer, KPN_EVENT_SUSPECTED_UNDERRUN);
}

/*
 * One reading as two bounds. A done index at H: frame H-1 had ended when the reading ended, frame H had not when it
 * began. A fetch index at H: frame H-1 starts at the latest its fetch latency after the reading, frame H
 * at the earliest its own after.
 */
static inline void observe(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns)
{
	const struct kpn_ring *ring = &pacer->ring;
	u64 lower_ns = after_ns + 1 + (u64)(s64)pacer->caps.index_to_wire_ns_max;
	u64 upper_ns = before_ns + (u64)(s64)pacer->caps.index_to_wire_ns_min;
	u64 lower_ps = ring->head_ps;
	u64 upper_ps = ring->head_ps;

	if (pacer->caps.index_counts_done) {
		upper_ps += ring->slot_ps;
		if (ring->trim_count && ring->trims[ring->trim_first].seq == ring->head_seq)
			upper_ps += (u64)ring->trims[ring->trim_first].delta_ps;
	} else {
		/* At the tail the next fetch waits for a doorbell: when it comes says nothing about the wire. */
		if (pacer->index_seq == ring->tail_seq)
			return;
		if (pacer->index_seq != ring->head_seq)
			lower_ps = kpn_ring_start_ps(ring, pacer->index_seq - 1);
		else if ((s64)(lower_ns - after_ns - 1) < 0)
			lower_ns = after_ns + 1; /* the strip put the head there, not this index */
		upper_ps = kpn_ring_start_ps(ring, pacer->index_seq);
	}
	/* Until the index has passed where the wire last (re)started, the wire may still be waiting there. */
	if (KPN_UNLIKELY((s64)(ring->head_seq - pacer->restart_seq) <= 0)) {
		lower_ps -= pacer->restart_ps_max;
		if ((s64)(lower_ns - after_ns - 1) < 0)
			lower_ns = after_ns + 1;
		if ((s64)(upper_ns - after_ns - 1) > 0)
			upper_ns = after_ns + 1;
	}
	if (KPN_LIKELY(kpn_strip_observe(&pacer->strip, after_ns + 1, lower_ns, lower_ps, upper_ns, upper_ps))) {
		if (KPN_UNLIKELY(pacer->distrust))
			pacer->distrust--;
		return;
	}
	/* Carry the bare reading to now with the stated drift alone, generously. */
	lower_ps -= (lower_ns > after_ns + 1 ? lower_ns - after_ns - 1 : 0) * 1001;
	upper_ps += (upper_ns < after_ns + 1 ? after_ns + 1 - upper_ns : 0) * 1001;
	recover_slip(pacer, after_ns + 1, lower_ps, upper_ps);
}

/*
 * Complete and observe. A done index says itself what has left. A fetch index runs ahead of the wire by prefetch and
 * FIFO; a slot is complete when the strip says that the wire is past it, so that nobody is told of a frame
 * before it has left. Return: true if the wire is idle.
 */
static inline bool take_reading(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns)
{
	struct kpn_ring *ring = &pacer->ring;
	struct kpn_interval wire;
	u64 passed_seq;
	u64 end_ps;

	if (pacer->caps.index_counts_done) {
		complete(pacer, pacer->index_seq);
		if (KPN_UNLIKELY(ring->head_seq == ring->tail_seq))
			return true;
		observe(pacer, before_ns, after_ns);
		return false;
	}
	observe(pacer, before_ns, after_ns);
	wire = kpn_strip_at(&pacer->strip, after_ns);
	if (pacer->index_seq == ring->tail_seq && (s64)(wire.lower_ps - ring->tail_ps) >= 0) {
		complete(pacer, ring->tail_seq);
		return true;
	}
	passed_seq = kpn_ring_seq_at(ring, wire.lower_ps, &end_ps);
	complete(pacer, passed_seq < pacer->index_seq ? passed_seq : pacer->index_seq);
	return false;
}

/* How far the next reading may move the head and still be plain: the wire cannot have been idle, nor is anything in doubt. */
static void renew_plain(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	bool plain = !pacer->distrust && ring->head_seq > pacer->restart_seq &&
		     ring->tail_seq - ring->head_seq > pacer->quiet_slots;

	pacer->plain_seq = plain ? ring->tail_seq - pacer->quiet_slots : 0;
}

void kpn_pacer_start(struct kpn_pacer *pacer, u64 since_ns)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 cpu_ns;
	u32 desc;

	KPN_ASSERT(!pacer->running && !pacer->ring.tail_seq);
	for (desc = 0; desc < ring->slots; desc++)
		pacer->nic_ops.restore(pacer->nic, desc, pacer->config.slot_bytes);
	set_partition_index(pacer);
	pacer->running = true;
	kpn_clock_adjtime(&pacer->clock, (struct kpn_time){ (s64)(start_at_tail(pacer) - since_ns), 0 });
	cpu_ns = cpu_now(pacer);
	plan_again(pacer, first_changeable(pacer, cpu_ns), NULL, cpu_ns);
	renew_plain(pacer);
}

void kpn_pacer_stop(struct kpn_pacer *pacer)
{
	pacer->running = false;
	pacer->synchronised = false;
	kpn_strip_invalidate(&pacer->strip);
	kpn_insert_flush(pacer);
	kpn_wipe_all(pacer);
}

/* Everything else a poll can meet. */
static KPN_SELDOM void take_any_reading(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns)
{
	const struct kpn_ring *ring = &pacer->ring;

	if (take_reading(pacer, before_ns, after_ns))
		recover_idle(pacer);
	else if ((s64)(ring->tail_ps - pacer->strip.upper_ps) < (s64)pacer->restart_ps_max ||
		 pacer->index_seq == ring->tail_seq)
		suspect_idle(pacer, after_ns);
}

/*
 * The clock law holds within 53 days of its anchor, and a table index is counted on from a slot not long past. Between two
 * renewals lie 65536 polls and what fits between two renewals of the rates: less than 2^31 slots.
 */
static void renew_references(struct kpn_pacer *pacer)
{
	if (KPN_LIKELY(!((pacer->stats.polls - pacer->renewed_polls) >> 16)))
		return;
	pacer->renewed_polls = pacer->stats.polls;
	set_partition_index(pacer);
	if ((s64)(pacer->ring.head_ps - pacer->clock.anchor_ps) >> 60) {
		kpn_clock_reanchor(&pacer->clock, pacer->ring.head_ps);
		kpn_insert_rekey(pacer);
	}
}

/* The strip has more to do with a plain reading than to merge it: rates are due, or it contradicts. */
static KPN_SELDOM void observe_fully(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns)
{
	renew_references(pacer);
	observe(pacer, before_ns, after_ns);
	renew_plain(pacer);
}

/* A reading that is not plain. */
static KPN_SELDOM void poll_fully(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 index, u32 moved)
{
	if (pacer->caps.index_counts_done)
		pacer->index_seq = pacer->ring.head_seq;
	if (KPN_UNLIKELY(moved > pacer->ring.tail_seq - pacer->index_seq)) {
		pacer->stats.index_errors++;
		return;
	}
	renew_references(pacer);
	pacer->head_index = index;
	pacer->index_seq += moved;
	take_any_reading(pacer, before_ns, after_ns);
	kpn_insert_due(pacer, after_ns);
	advance_tail(pacer);
	renew_plain(pacer);
}

/*
 * Nearly every reading is plain: a done index, and enough posted. What take_reading() does in general is done here with both
 * bounds carried to the end of the reading by the stated drift.
 */
void kpn_pacer_poll(struct kpn_pacer *pacer)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 before_ns;
	u64 after_ns;
	u64 taken_ps;
	u64 end_ps;
	u64 to;
	u32 index;
	u32 moved;

	if (KPN_UNLIKELY(!pacer->running))
		return;
	before_ns = cpu_now(pacer);
	index = pacer->nic_ops.read_index(pacer->nic);
	after_ns = cpu_now(pacer);
	pacer->stats.polls++;
	if (__builtin_sub_overflow(index, pacer->head_index, &moved))
		moved += pacer->caps.index_modulus;
	to = ring->head_seq + moved;
	if (KPN_UNLIKELY(to >= pacer->plain_seq)) {
		poll_fully(pacer, before_ns, after_ns, index, moved);
		return;
	}
	pacer->head_index = index;
	end_ps = complete(pacer, to);
	/* Should it have taken too long for the product, rates are due as well, and nothing is taken from it. */
	taken_ps = kpn_pace_ps(after_ns + 1 - before_ns, pacer->strip.pace_most);
	if (KPN_UNLIKELY(!kpn_strip_merge(&pacer->strip, after_ns + 1, ring->head_ps + pacer->lag_lower_ps,
					  end_ps + pacer->lag_upper_ps + taken_ps)))
		observe_fully(pacer, before_ns, after_ns);
	if (pacer->prebuffer.heap_count | pacer->prebuffer.backlog)
		kpn_insert_due(pacer, after_ns);
	advance_tail(pacer);
}

u64 kpn_pacer_poll_interval_ns(struct kpn_pacer *pacer)
{
	/* xorshift64*: any sequence without a period near that of the slots will do. */
	pacer->random ^= pacer->random >> 12;
	pacer->random ^= pacer->random << 25;
	pacer->random ^= pacer->random >> 27;
	return pacer->poll_ns - kpn_mul(pacer->random * 2685821657736338717ull, pacer->dither_ns).high;
}

struct kpn_head kpn_pacer_head(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	const struct kpn_ring *ring = &pacer->ring;
	struct kpn_head head = { .upper_seq = ring->tail_seq, .valid = pacer->strip.valid && !pacer->distrust };
	u64 end_ps;

	if (!pacer->strip.valid)
		return head;
	head.wire = kpn_strip_at(&pacer->strip, cpu_ns);
	/* Nothing beyond the tail is sent. */
	if ((s64)(head.wire.upper_ps - ring->tail_ps) > 0)
		head.wire.upper_ps = ring->tail_ps;
	if ((s64)(head.wire.lower_ps - head.wire.upper_ps) > 0)
		head.wire.lower_ps = head.wire.upper_ps;
	head.upper_seq = kpn_ring_seq_at(ring, head.wire.upper_ps, &end_ps);
	return head;
}

static u64 position_now(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	return pacer->strip.valid ? middle_of(kpn_pacer_head(pacer, cpu_ns).wire) : pacer->ring.head_ps;
}

/*
 * The wire position that an interpolated clock reads as the time, as it nearly always is.
 * Return: false where rates are due, there are none, the moment is before the last poll, or the wire may run out of slots.
 */
static inline bool is_plainly_told(const struct kpn_pacer *pacer, u64 cpu_ns, u64 *position_ps)
{
	const struct kpn_strip *strip = &pacer->strip;
	u64 dt_ns = cpu_ns - strip->cpu_ns;
	struct kpn_interval wire = {
		.lower_ps = strip->lower_ps + kpn_pace_ps(dt_ns, strip->pace_lower),
		.upper_ps = strip->upper_ps + kpn_pace_ps(dt_ns + 1, strip->pace_upper) + 1,
	};

	*position_ps = kpn_strip_told(strip, wire);
	return dt_ns < strip->rate_due_ns - strip->cpu_ns && (s64)(wire.upper_ps - pacer->ring.tail_ps) <= 0;
}

/* The same in any case. */
static u64 position_told(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	u64 position_ps;

	if (!pacer->strip.valid)
		return pacer->ring.head_ps;
	if (is_plainly_told(pacer, cpu_ns, &position_ps))
		return position_ps;
	return kpn_strip_told(&pacer->strip, kpn_pacer_head(pacer, cpu_ns).wire);
}

static KPN_SELDOM struct kpn_time gettime_fully(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	return kpn_law_at(&pacer->clock, position_told(pacer, cpu_ns));
}

struct kpn_time kpn_pacer_gettime(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	u64 position_ps;

	if (pacer->config.clock_read != KPN_CLOCK_INTERPOLATED)
		return kpn_law_at(&pacer->clock, pacer->ring.head_ps);
	if (KPN_UNLIKELY(!is_plainly_told(pacer, cpu_ns, &position_ps)))
		return gettime_fully(pacer, cpu_ns);
	return kpn_law_at(&pacer->clock, position_ps);
}

int kpn_pacer_adjfine(struct kpn_pacer *pacer, s64 scaled_ppm)
{
	u64 cpu_ns = cpu_now(pacer);
	bool staircase = pacer->config.clock_read == KPN_CLOCK_COUNTER;
	u64 here_ps = staircase ? pacer->ring.head_ps : position_told(pacer, cpu_ns);
	int error = kpn_clock_adjfine(&pacer->clock, scaled_ppm, here_ps);

	if (error)
		return error;
	pacer->stats.rate_changes++;
	kpn_post_again(pacer, first_changeable(pacer, cpu_ns));
	kpn_insert_rekey(pacer);
	return 0;
}

int kpn_pacer_adjtime(struct kpn_pacer *pacer, s64 delta_ns)
{
	u64 cpu_ns = cpu_now(pacer);
	struct kpn_time now = kpn_clock_at(&pacer->clock, pacer->ring.head_ps);
	s64 after_ns;

	if (__builtin_add_overflow(now.ns, delta_ns, &after_ns) || after_ns < 0 || after_ns > KPN_TIME_NS_MAX)
		return -KPN_ERANGE;
	kpn_clock_adjtime(&pacer->clock, (struct kpn_time){ delta_ns, 0 });
	pacer->synchronised = pacer->running;
	step(pacer, first_changeable(pacer, cpu_ns), NULL, cpu_ns);
	return 0;
}

int kpn_pacer_settime(struct kpn_pacer *pacer, struct kpn_time t)
{
	u64 cpu_ns = cpu_now(pacer);

	if (t.ns < 0 || t.ns > KPN_TIME_NS_MAX)
		return -KPN_EINVAL;
	kpn_clock_settime(&pacer->clock, position_now(pacer, cpu_ns), t);
	kpn_strip_forget_told(&pacer->strip);
	pacer->synchronised = pacer->running;
	step(pacer, first_changeable(pacer, cpu_ns), NULL, cpu_ns);
	return 0;
}
