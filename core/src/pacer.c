// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The facade: a pacer is made, started and polled. kpn_pacer_state.h lists the other files.
 *
 *        completed        | posted: the NIC may send these            | next lap
 *   ----------------------+-------------+-----------------------------+-----------------
 *                      head    head's upper   first slot that       tail       head + ring
 *                              bound          can still be changed
 *                                |<- horizon ->|<- insertion window ---------------->|
 */
#include "keepon/pacer.h"

#include "kpn_caps.h"
#include "kpn_complete.h"
#include "kpn_config_span.h"
#include "kpn_doubt.h"
#include "kpn_head.h"
#include "kpn_index.h"
#include "kpn_post.h"
#include "kpn_promises.h"
#include "kpn_reading.h"
#include "kpn_replan.h"
#include "kpn_search.h"
#include "kpn_stop.h"
#include "kpn_target.h"

enum {
	/* least value of trims_max and of rearm_max */
	BUDGET_WORK_MIN = 64,
};

static void *align_up(void *memory)
{
	return (void *)(((uintptr_t)memory + 7) & ~(uintptr_t)7);
}

size_t kpn_pacer_bytes(const struct kpn_config *config)
{
	u32 marks = config->padding == KPN_PADDING_ON_DEMAND ? config->ring_slots : 0;

	return sizeof(struct kpn_pacer) + sizeof(struct kpn_partition) +
	       kpn_ring_bytes(config->ring_slots) +
	       kpn_prebuffer_bytes(config->prebuffer_frames, config->ring_slots) +
	       kpn_partition_bytes(config->partition_slots) + marks * sizeof(u16) + 4 * sizeof(u64);
}

/*
 * The poll period (A25, A26): a batch's wire time minus the worst-case poll; phase-locked also at
 * most as long as the posted slots last (depth near batch).
 */
static void plan_polls(struct kpn_pacer *pacer)
{
	const struct kpn_config *config = &pacer->config;
	u64 poll_ns = kpn_div_u64(config->batch_slots * pacer->time.slot_ps, 1000);
	u64 spent_ns = config->poll_overhead_ns;

	if (pacer->phase_locked) {
		u64 depth_ns = posted_ns(config->depth_slots, pacer->time.slot_ps);
		u64 unposted = unposted_ns(config, &pacer->caps, pacer->time.slot_ps);

		if (depth_ns < poll_ns - spent_ns + unposted) {
			poll_ns = depth_ns;
			spent_ns = unposted;
		}
	}
	/*
	 * At least what the host sustains: validation has made sure of that. If the host states
	 * nothing, a counted underrun is better than a CPU that does nothing but poll.
	 */
	pacer->time.poll_ns =
		poll_ns > spent_ns + KPN_POLL_NS_MIN ? poll_ns - spent_ns : KPN_POLL_NS_MIN;
	/*
	 * One slot of dither samples the index at every phase; it is at most half the interval, and
	 * leaves at least what the host sustains.
	 */
	pacer->time.dither_ns = config->dither ? kpn_div_u64(pacer->time.slot_ps, 1000) : 0;
	if (pacer->time.dither_ns > pacer->time.poll_ns / 2)
		pacer->time.dither_ns = pacer->time.poll_ns / 2;
	if (pacer->time.dither_ns > pacer->time.poll_ns - pacer->caps.poll_ns_min)
		pacer->time.dither_ns = pacer->time.poll_ns - pacer->caps.poll_ns_min;
}

/* Most slots from the worst residual to the grid, which a rate beyond the trims never reaches. */
static u64 lock_slots_max(const struct kpn_pacer *pacer)
{
	u64 slots = kpn_pacer_bounds(pacer, pacer->config.drift_ppb_max, 0).lock_slots;

	return slots == KPN_SEQ_NEVER ? 0xffffffffu : (slots + 1) * kpn_gap_slots(pacer);
}

static void use_slot_time(struct kpn_pacer *pacer)
{
	const struct kpn_config *config = &pacer->config;
	u64 sfd_ns;

	pacer->time.byte_ps = kpn_byte_time_ps(config->rate_bps);
	pacer->time.slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * pacer->time.byte_ps;
	pacer->time.sfd_ps = (u64)KPN_PREAMBLE_BYTES * pacer->time.byte_ps;
	sfd_ns = kpn_div_u64(pacer->time.sfd_ps, 1000);
	pacer->time.early_ns = (s64)(config->tolerance_ns + sfd_ns + 1);
	pacer->time.early_rest_ps = (u32)((sfd_ns + 1) * 1000 - pacer->time.sfd_ps) - 1;
	pacer->time.slot_ps_min = pacer->time.slot_ps;
	pacer->frames.real_bytes_max = config->slot_bytes;
	if (pacer->phase_locked) {
		pacer->time.slot_ps_min -= (u64)config->trim_down_bytes * pacer->time.byte_ps;
		if (config->trim == KPN_TRIM_ANY)
			pacer->frames.real_bytes_max -= config->trim_down_bytes;
	}
	pacer->frames.horizon_slots = (u64)1 << 62;
	if (config->horizon_ns) {
		u64 thousands = kpn_div_u64(config->horizon_ns, pacer->time.slot_ps);
		u64 rest_ns = config->horizon_ns - thousands * pacer->time.slot_ps;

		pacer->frames.horizon_slots =
			thousands * 1000 + kpn_div_u64(rest_ns * 1000, pacer->time.slot_ps) + 1;
	}
}

/* Frames longer than a slot, and what the longest of them needs. */
static void use_spans(struct kpn_pacer *pacer)
{
	pacer->span.slots_max = kpn_span_slots_max(&pacer->config, &pacer->caps);
	pacer->frames.window_slots = pacer->config.ring_slots - (pacer->span.slots_max - 1);
	pacer->frames.fetched_slots = pacer->caps.prefetch_slots_max;
	if (pacer->span.slots_max < 2)
		return;
	pacer->span.rule = kpn_span_rule_of(&pacer->config, &pacer->caps);
	pacer->span.keep_ps = (s64)pacer->span.rule.keep_bytes * pacer->time.byte_ps;
	pacer->span.stores_ns = kpn_span_stores_ns_max(&pacer->caps, pacer->span.slots_max);
	pacer->span.ahead_slots =
		(u32)kpn_span_ahead(&pacer->caps, pacer->span.slots_max, pacer->time.slot_ps);
	/* the last slot of a frame can be longer, and so begin earlier, than a nominal slot */
	pacer->frames.fetched_slots++;
}

static u32 max_u32(u32 value, u32 least)
{
	return value < least ? least : value;
}

/*
 * Whether a doorbell may wait until a whole batch has left: if one poll is just too early for it,
 * the doorbells are two periods apart.
 */
static bool posts_batches(const struct kpn_pacer *pacer)
{
	const struct kpn_config *config = &pacer->config;
	u64 unposted = unposted_ns(config, &pacer->caps, pacer->time.slot_ps);

	if (config->depth_slots < 3 * config->batch_slots)
		return false;
	return posted_ns(config->depth_slots - 2 * config->batch_slots, pacer->time.slot_ps) >=
	       unposted;
}

static void use_budget(struct kpn_pacer *pacer)
{
	const struct kpn_config *config = &pacer->config;

	pacer->frames.yielding_max = config->budget_frames;
	pacer->frames.lookahead_min =
		2 * config->batch_slots + 1 + pacer->span.slots_max + pacer->span.ahead_slots;
	pacer->frames.lookahead_slots = config->depth_slots < pacer->frames.yielding_max ?
						config->depth_slots :
						pacer->frames.yielding_max;
	pacer->posting.trims_max = max_u32(2 * config->batch_slots, BUDGET_WORK_MIN);
	pacer->posting.rearm_max = ~0u;
	if (!pacer->caps.desc_persistent)
		pacer->posting.rearm_max = max_u32(4 * config->batch_slots, BUDGET_WORK_MIN);
	pacer->posting.usual_low =
		config->depth_slots - (posts_batches(pacer) ? config->batch_slots : 1);
	pacer->posting.posted_low = pacer->posting.usual_low;
}

/* The caps of the backend as slots and positions. */
static void use_caps(struct kpn_pacer *pacer)
{
	const struct kpn_nic_caps *caps = &pacer->caps;
	s64 lag_ns = 0 - (s64)caps->index_to_wire_ns_min;
	s64 reach_ns = caps->index_to_wire_ns_max;

	pacer->reading.tick_ns = max_u32(caps->cpu_tick_ns, 1);
	pacer->reading.tick_ps = pacer->reading.tick_ns * 1001ull;
	pacer->reading.index_modulus =
		caps->index_modulus ? caps->index_modulus : KPN_INDEX_MODULUS_MAX;
	pacer->reading.index_back_ps = caps->index_counts_done ? 0 : pacer->time.slot_ps;
	pacer->reading.restart_ps_max = caps->restart_ns_max * 1001ull + 1000;
	/* 1: the frame on the wire. In paper mode the lead is at least a batch (C3). */
	pacer->frames.lead_slots = pacer->frames.fetched_slots + 1;
	if (!pacer->phase_locked)
		pacer->frames.lead_slots =
			max_u32(pacer->frames.lead_slots, pacer->config.batch_slots);
	/*
	 * With fewer slots posted than this after a reading, the wire may have run dry, or may do
	 * so before the doorbell.
	 */
	pacer->reading.quiet_slots = 1 + pacer->span.slots_max +
				     (u32)kpn_div_u64(pacer->reading.restart_ps_max +
							      (lag_ns > 0 ? 1000 * (u64)lag_ns : 0),
						      pacer->time.slot_ps_min);
	/* No reading takes the fast path where its products could overflow. */
	if (lag_ns > (s64)KPN_PACE_NS_MAX / 2 || reach_ns > (s64)KPN_PACE_NS_MAX / 2)
		pacer->reading.quiet_slots = 0xffffffffu;
}

/* An index may stand still for a pause, a restart, its lag, some slots and some polls. */
static u64 stall_ns(const struct kpn_pacer *pacer)
{
	const struct kpn_nic_caps *caps = &pacer->caps;
	s64 spread_ns = (s64)caps->index_to_wire_ns_max - caps->index_to_wire_ns_min;

	return (u64)caps->pause_ns_max + caps->restart_ns_max + (u64)spread_ns +
	       4 * pacer->time.poll_ns +
	       (15 + pacer->span.slots_max) * kpn_div_u64(pacer->time.slot_ps, 1000) + 1000000;
}

/* Memory after the pacer: its layout depends on the configuration. */
static void lay_out(struct kpn_pacer *pacer)
{
	struct kpn_config *config = &pacer->config;
	struct kpn_partition *partition = align_up(pacer + 1);
	char *next = align_up(partition + 1);

	kpn_ring_init(&pacer->ring, next, config->ring_slots, pacer->time.slot_ps);
	next = align_up(next + kpn_ring_bytes(config->ring_slots));
	kpn_prebuffer_init(&pacer->prebuffer, next, config->prebuffer_frames, config->ring_slots);
	next = align_up(next + kpn_prebuffer_bytes(config->prebuffer_frames, config->ring_slots));
	kpn_partition_init(partition, next, config->allowed, config->partition_slots);
	pacer->frames.table[0].partition = partition;
	pacer->frames.classes = partition->classes;
	pacer->posting.gap_slots_max = partition->gap_slots;
	pacer->frames.switch_seq = KPN_SEQ_NEVER;
	config->allowed = NULL;
	pacer->frames.zeroed_mask = ~0u;
	if (config->padding == KPN_PADDING_ON_DEMAND) {
		pacer->frames.zeroed_mask = 0;
		pacer->frames.old_bytes =
			(u16 *)(next + kpn_partition_bytes(config->partition_slots));
		memset(pacer->frames.old_bytes, 0, config->ring_slots * sizeof(u16));
	}
}

struct kpn_pacer *kpn_pacer_init(void *memory, const struct kpn_config *config,
				 const struct kpn_nic_caps *caps, const struct kpn_nic_ops *nic_ops,
				 void *nic, s64 start_time_ns)
{
	struct kpn_pacer *pacer = align_up(memory);

	if (kpn_config_validate(config, caps, NULL, 0) || start_time_ns < 0 ||
	    start_time_ns > KPN_TIME_NS_MAX)
		return NULL;
	memset(pacer, 0, sizeof(*pacer));
	pacer->config = *config;
	pacer->caps = *caps;
	pacer->nic_ops = *nic_ops;
	pacer->nic = nic;
	pacer->ended_last = &pacer->ended;
	pacer->phase_locked = config->mode == KPN_MODE_PHASE_LOCKED;
	pacer->time.random = config->seed * 2 + 1;
	use_slot_time(pacer);
	use_spans(pacer);
	use_caps(pacer);
	use_budget(pacer);
	plan_polls(pacer);
	pacer->reading.stall_ns = stall_ns(pacer);
	lay_out(pacer);

	kpn_clock_init(&pacer->clock, 0, (struct kpn_time){ start_time_ns, 0 });
	kpn_strip_init(&pacer->strip, config->drift_ppb_max, config->wander_ppb_per_s_max,
		       pacer->time.poll_ns, pacer->reading.tick_ns);
	pacer->strip.pauses = caps->pause_ns_max != 0;
	pacer->strip.ends = true;
	kpn_align_init(&pacer->align, pacer->time.slot_ps,
		       (u64)max_u32(caps->start_quantum_bytes, 1) * pacer->time.byte_ps,
		       (u64)config->trim_down_bytes * pacer->time.byte_ps,
		       (u64)config->trim_up_bytes * pacer->time.byte_ps);
	if (pacer->phase_locked)
		pacer->posting.lock_slots_max = lock_slots_max(pacer);
	else
		pacer->align.next_trim_seq = KPN_SEQ_NEVER;
	kpn_insert_rekey(pacer);
	return pacer;
}

void kpn_pacer_start(struct kpn_pacer *pacer, u64 since_ns)
{
	u64 cpu_ns;

	KPN_ASSERT(!pacer->running && !pacer->ring.tail.seq);
	kpn_locate_tables(pacer);
	pacer->running = true;
	kpn_clock_adjtime(&pacer->clock,
			  (struct kpn_time){ (s64)(kpn_start_at_tail(pacer) - since_ns), 0 });
	cpu_ns = kpn_cpu_now(pacer);
	kpn_plan_again(pacer, kpn_first_changeable(pacer, cpu_ns), cpu_ns);
	kpn_update_fast_path(pacer);
}

static KPN_NOINLINE bool merge_uneven(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns,
				      u32 moved)
{
	kpn_take_trims(pacer, moved);
	return kpn_merge_reading(pacer, before_ns, after_ns, kpn_index_bounds(pacer));
}

/*
 * Nearly every reading takes the fast path: enough slots are posted, and nothing is in doubt. The
 * other paths are tail calls, so that the fast path keeps few registers live.
 */
bool kpn_pacer_poll(struct kpn_pacer *pacer)
{
	u64 before_ns;
	u64 after_ns;
	u32 index;
	u32 moved;
	bool merged;

	if (KPN_UNLIKELY(!pacer->running))
		return kpn_poll_stopped(pacer);
	before_ns = kpn_cpu_now(pacer);
	index = pacer->nic_ops.read_index(pacer->nic);
	after_ns = kpn_cpu_now(pacer);
	pacer->reading.read_ns = after_ns;
	pacer->stats.polls++;
	if (__builtin_sub_overflow(index, pacer->reading.head_index, &moved))
		moved += pacer->reading.index_modulus;
	if (KPN_UNLIKELY(pacer->ring.index_seq + moved >= pacer->reading.fast_path_end_seq ||
			 (!moved && (s64)(before_ns - pacer->reading.progress_ns) >
					    (s64)pacer->reading.stall_ns)))
		return kpn_poll_slow_path(pacer, before_ns, after_ns, index, moved);
	kpn_take_index(pacer, moved, index, after_ns);
	if (KPN_UNLIKELY(pacer->ring.trim_count | pacer->ring.span_count))
		merged = merge_uneven(pacer, before_ns, after_ns, moved);
	else
		merged = kpn_merge_reading(pacer, before_ns, after_ns, kpn_nominal_bounds(pacer));
	/* Rates are also due at a reading that took too long for the products. */
	if (KPN_UNLIKELY(!merged))
		return kpn_observe_slow_path(pacer, before_ns, pacer->reading.read_ns, moved);
	kpn_complete(pacer, kpn_passed_seq(pacer));
	if (pacer->prebuffer.heap_count | pacer->prebuffer.backlog | pacer->todo) {
		pacer->frames.left = pacer->config.budget_frames;
		kpn_do_todo(pacer, pacer->reading.read_ns);
	}
	kpn_advance_tail(pacer);
	return kpn_has_completions(pacer);
}

u64 kpn_pacer_poll_interval_ns(struct kpn_pacer *pacer)
{
	/* xorshift64*: any sequence without a period near that of the slots will do. */
	pacer->time.random ^= pacer->time.random >> 12;
	pacer->time.random ^= pacer->time.random << 25;
	pacer->time.random ^= pacer->time.random >> 27;
	return pacer->time.poll_ns -
	       kpn_mul(pacer->time.random * 2685821657736338717ull, pacer->time.dither_ns).high;
}

struct kpn_frame *kpn_pacer_take_ended(struct kpn_pacer *pacer)
{
	struct kpn_frame *ended = pacer->ended;

	pacer->ended = NULL;
	pacer->ended_last = &pacer->ended;
	return ended;
}

u32 kpn_pacer_take_events(struct kpn_pacer *pacer)
{
	u32 events = pacer->events;

	pacer->events = 0;
	return events;
}
