// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Readings of the index off the fast path: rates to renew, a wire that was or may have been idle,
 * an index that contradicts the CPU counter, stands still or cannot be read. docs/model.md says
 * what each case does to clock and frames.
 */
#include "kpn_complete.h"
#include "kpn_doubt.h"
#include "kpn_head.h"
#include "kpn_index.h"
#include "kpn_post.h"
#include "kpn_reading.h"
#include "kpn_recall.h"
#include "kpn_replan.h"
#include "kpn_search.h"
#include "kpn_stop.h"
#include "kpn_target.h"

/* Positions are compared modulo 2^64: one further back than this is kept at this distance. */
#define AGE_PS_MAX (1ull << 60)

/*
 * The time at @cpu_ns by a strip that no reading has contradicted, not limited to the posted slots
 * as in kpn_pacer_head().
 */
static struct kpn_time time_believed(const struct kpn_pacer *pacer, const struct kpn_strip *strip,
				     u64 cpu_ns)
{
	return kpn_clock_at(&pacer->clock, kpn_strip_read(strip, kpn_strip_at(strip, cpu_ns)));
}

/*
 * The wire is idle: all posted slots have left. The slot count stays; the wire starts, and the CPU
 * counter gives the time that the clock would have had. Its error: strip width + restart latency +
 * doorbell + rate uncertainty x stall (docs/model.md).
 */
static KPN_NOINLINE void recover_idle(struct kpn_pacer *pacer)
{
	const struct kpn_strip believed = pacer->strip;
	struct kpn_ring *ring = &pacer->ring;
	u64 tail_ps = ring->tail.ps;
	struct kpn_time start;
	u64 cpu_ns;

	pacer->stats.underruns++;
	pacer->synchronised = false;
	pacer->todo &= ~(u32)(KPN_TODO_PLAN | KPN_TODO_TABLE);
	if (pacer->phase_locked)
		kpn_clear_from(pacer, ring->tail.seq);
	start = time_believed(pacer, &believed, kpn_start_at_tail(pacer));
	start.ns += (s64)(((u64)pacer->caps.restart_ns_min + pacer->caps.restart_ns_max) / 2);
	kpn_clock_settime(&pacer->clock, tail_ps, start);
	cpu_ns = kpn_cpu_now(pacer);
	kpn_step(pacer, kpn_first_changeable(pacer, cpu_ns), cpu_ns);
	kpn_emit(pacer, KPN_EVENT_UNDERRUN);
}

/* Index and CPU counter contradict each other: believe only the reading, keep the time of day. */
static KPN_NOINLINE void recover_slip(struct kpn_pacer *pacer, u64 cpu_ns, u64 lower_ps,
				      u64 upper_ps)
{
	struct kpn_time now = time_believed(pacer, &pacer->strip, cpu_ns);

	pacer->stats.slips++;
	pacer->synchronised = false;
	pacer->reading.distrust = KPN_DISTRUST_POLLS;
	pacer->reading.steady_ps = upper_ps;
	kpn_strip_reset(&pacer->strip, cpu_ns, lower_ps, upper_ps);
	kpn_clock_settime(&pacer->clock, kpn_middle_of((struct kpn_interval){ lower_ps, upper_ps }),
			  now);
	kpn_step(pacer, kpn_first_changeable(pacer, cpu_ns), cpu_ns);
	kpn_emit(pacer, KPN_EVENT_SLIP);
}

/*
 * A fetch index at the tail waits for a doorbell: the last slot, which starts at @last_ps, has been
 * fetched, and this bounds the wire from below even if it stands still. Without this bound, a wire
 * that once stood still for long would be believed that far back for ever.
 */
static void observe_waiting(struct kpn_pacer *pacer, u64 now_ns, u64 last_ps, u32 moved)
{
	struct kpn_strip *strip = &pacer->strip;
	u64 beyond_ps = (now_ns - strip->cpu_ns + 1) * 1002;
	u64 lower_ps = last_ps - pacer->reading.restart_ps_max - pacer->reading.doubtful_ps -
		       (u64)(s64)pacer->caps.index_to_wire_ns_max * 1002;

	if (kpn_strip_merge_late(strip, now_ns, lower_ps, strip->upper_ps + beyond_ps))
		kpn_trust_more(pacer, moved);
	else
		kpn_carry(pacer, now_ns);
}

/* One reading as two bounds, with all corrections; the index has moved by @moved. */
static void observe(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 moved)
{
	const struct kpn_ring *ring = &pacer->ring;
	struct kpn_interval bounds = kpn_index_bounds(pacer);
	u64 now_ns = after_ns + pacer->reading.tick_ns;
	u64 lower_ns = now_ns + (u64)(s64)pacer->caps.index_to_wire_ns_max;
	u64 upper_ns = before_ns + (u64)(s64)pacer->caps.index_to_wire_ns_min;

	if (!pacer->caps.index_counts_done && ring->index_seq == ring->tail.seq) {
		observe_waiting(pacer, now_ns, bounds.lower_ps, moved);
		return;
	}
	/*
	 * Slots whose lengths were stored too late show their true lengths only when the wire has
	 * passed them: until then the reading may belong to either length.
	 */
	bounds.lower_ps -= pacer->reading.doubtful_ps;
	bounds.upper_ps += pacer->reading.doubtful_ps;
	/*
	 * Until the index has passed the slot of the last (re)start, the wire may still be waiting
	 * there.
	 */
	if (KPN_UNLIKELY(ring->head.seq <= pacer->reading.restart_seq)) {
		bounds.lower_ps -= pacer->reading.restart_ps_max;
		if ((s64)(lower_ns - now_ns) < 0)
			lower_ns = now_ns;
		if ((s64)(upper_ns - now_ns) > 0)
			upper_ns = now_ns;
	}
	if (KPN_LIKELY(kpn_strip_observe(&pacer->strip, now_ns, lower_ns, bounds.lower_ps, upper_ns,
					 bounds.upper_ps))) {
		kpn_trust_more(pacer, moved);
		return;
	}
	/* Carry the bare reading to now with the stated drift alone, generously rounded. */
	bounds.lower_ps -= (lower_ns > now_ns ? lower_ns - now_ns : 0) * 1001;
	bounds.upper_ps += (upper_ns < now_ns ? now_ns - upper_ns : 0) * 1001;
	recover_slip(pacer, now_ns, bounds.lower_ps, bounds.upper_ps);
}

/*
 * The clock law holds within 53 days of its anchor, a table index counts from a slot not long past,
 * and positions are compared modulo 2^64. Between two renewals are 65536 polls plus the time
 * between two renewals of the rates: less than 2^31 slots.
 */
static void renew_references(struct kpn_pacer *pacer)
{
	u64 head_ps = pacer->ring.head.ps;

	if (KPN_LIKELY(!((pacer->stats.polls - pacer->reading.renewed_polls) >> 16)))
		return;
	pacer->reading.renewed_polls = pacer->stats.polls;
	kpn_locate_tables(pacer);
	if ((s64)(head_ps - pacer->reading.steady_ps) > (s64)AGE_PS_MAX)
		pacer->reading.steady_ps = head_ps - AGE_PS_MAX;
	if ((s64)(head_ps - pacer->clock.anchor_ps) >> 60) {
		kpn_clock_reanchor(&pacer->clock, head_ps);
		kpn_insert_rekey(pacer);
	}
}

/*
 * An index outside the posted slots is meaningless, and earlier readings no longer suffice for
 * insertions.
 */
static void refuse_index(struct kpn_pacer *pacer)
{
	pacer->stats.index_errors++;
	pacer->synchronised = false;
	pacer->reading.distrust = KPN_DISTRUST_POLLS;
	pacer->reading.fast_path_end_seq = 0;
	kpn_emit(pacer, KPN_EVENT_SLIP);
}

/*
 * Whether the index has not moved for too long. For a refused index the time counts from its first
 * refusal, each gap between two readings as stall_ns / 4 at most: so a dead NIC is refused at least
 * five times, and long pauses between few readings do not add up.
 */
static bool stands_still(struct kpn_pacer *pacer, bool refused, u64 before_ns)
{
	u64 looked_ns = before_ns - pacer->reading.looked_ns;
	u64 most_ns = pacer->reading.stall_ns / 4 + 1;

	pacer->reading.looked_ns = before_ns;
	if (!refused) {
		pacer->reading.refused_ns = 0;
		return (s64)(before_ns - pacer->reading.progress_ns) > (s64)pacer->reading.stall_ns;
	}
	if (!pacer->reading.refused_ns)
		looked_ns = 1;
	pacer->reading.refused_ns += looked_ns < most_ns ? looked_ns : most_ns;
	return pacer->reading.refused_ns > pacer->reading.stall_ns;
}

/* Take the index, or refuse it: it is outside the posted slots, or the wire cannot be so far. */
static bool is_refused(struct kpn_pacer *pacer, u64 after_ns, u32 index, u32 moved)
{
	struct kpn_ring *ring = &pacer->ring;
	bool refused = moved > ring->tail.seq - ring->index_seq;

	if (!refused) {
		renew_references(pacer);
		kpn_take_index(pacer, moved, index, after_ns);
		kpn_take_trims(pacer, moved);
		refused = kpn_index_jumps(pacer, after_ns, moved) &&
			  !kpn_jump_confirmed(pacer, index, after_ns);
		if (KPN_UNLIKELY(refused))
			kpn_index_undo(pacer, moved);
		else
			pacer->reading.jump_ns = 0;
	}
	if (refused) {
		refuse_index(pacer);
		kpn_carry(pacer, after_ns + pacer->reading.tick_ns);
	}
	return refused;
}

bool kpn_poll_slow_path(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 index, u32 moved)
{
	struct kpn_ring *ring = &pacer->ring;
	bool refused;
	bool idle;

	pacer->frames.left = pacer->config.budget_frames;
	if (index >= pacer->reading.index_modulus) {
		kpn_lose(pacer, KPN_EVENT_LOST);
		return kpn_has_completions(pacer);
	}
	refused = is_refused(pacer, after_ns, index, moved);
	if (refused)
		moved = 0;
	/* At the tail there is no slot to move to, however long ago the last poll was. */
	if (ring->index_seq == ring->tail.seq)
		pacer->reading.progress_ns = after_ns;
	if (stands_still(pacer, refused, before_ns) && !moved) {
		kpn_lose(pacer, KPN_EVENT_STALLED);
		return kpn_has_completions(pacer);
	}
	if (pacer->caps.index_counts_done && ring->index_seq != ring->head.seq)
		kpn_complete(pacer, ring->index_seq);
	idle = ring->index_seq == ring->tail.seq;
	if (!refused && (!idle || !pacer->caps.index_counts_done))
		observe(pacer, before_ns, after_ns, moved);
	if (KPN_UNLIKELY(pacer->reading.doubtful_ps))
		kpn_keep_doubt(pacer,
			       pacer->caps.index_counts_done ? ring->index_seq : ring->head.seq);
	if (!pacer->caps.index_counts_done) {
		if (idle)
			idle = (s64)(kpn_strip_at(&pacer->strip, after_ns).lower_ps -
				     ring->tail.ps) >= 0;
		kpn_complete(pacer, idle ? ring->tail.seq : kpn_passed_seq(pacer));
	}
	/* the clock set below is not the clock of frames that have left before: end these first */
	if (idle && ring->head.seq != ring->tail.seq) {
		pacer->synchronised = false;
		kpn_update_fast_path(pacer);
		return kpn_has_completions(pacer);
	}
	if (idle)
		recover_idle(pacer);
	else if ((s64)(ring->tail.ps - pacer->strip.upper_ps) <
			 (s64)pacer->reading.restart_ps_max ||
		 ring->index_seq == ring->tail.seq)
		kpn_suspect_idle(pacer, after_ns);
	kpn_do_todo(pacer, after_ns);
	/*
	 * One doorbell a poll; a wire just started has enough slots for the time until the next
	 * poll.
	 */
	if (!idle)
		kpn_advance_tail(pacer);
	kpn_update_fast_path(pacer);
	return kpn_has_completions(pacer);
}

bool kpn_observe_slow_path(struct kpn_pacer *pacer, u64 before_ns, u64 after_ns, u32 moved)
{
	u32 index = pacer->reading.head_index;

	if (KPN_UNLIKELY(kpn_index_jumps(pacer, after_ns, moved))) {
		kpn_index_undo(pacer, moved);
		return kpn_poll_slow_path(pacer, before_ns, after_ns, index, moved);
	}
	pacer->frames.left = pacer->config.budget_frames;
	renew_references(pacer);
	/* distrust is 0 here, so kpn_trust_more() needs no movement */
	observe(pacer, before_ns, after_ns, 0);
	kpn_update_fast_path(pacer);
	kpn_complete(pacer, kpn_passed_seq(pacer));
	kpn_do_todo(pacer, after_ns);
	kpn_advance_tail(pacer);
	return kpn_has_completions(pacer);
}
