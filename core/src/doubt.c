// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The wire is less certain than index and CPU counter say: it may have been idle, or may have sent
 * lengths that were stored too late. docs/model.md says what each case does to clock and frames.
 */
#include "kpn_doubt.h"

/*
 * Least, or with @most greatest, movement of the wire in @ahead_ns, positive or negative, by the
 * rates in use.
 */
static u64 carried_ps(const struct kpn_strip *strip, s64 ahead_ns, bool most)
{
	if (ahead_ns >= 0)
		return kpn_pace_ps((u64)ahead_ns, most ? strip->pace_upper : strip->pace_lower) +
		       most;
	return 0 - (kpn_pace_ps(0 - (u64)ahead_ns, most ? strip->pace_lower : strip->pace_upper) +
		    !most);
}

static void use_rates(struct kpn_pacer *pacer)
{
	pacer->reading.lower_ahead_ps =
		carried_ps(&pacer->strip, 0 - (s64)pacer->caps.index_to_wire_ns_max, false);
	/* the duration of the reading is carried separately and rounded down */
	pacer->reading.upper_ahead_ps =
		carried_ps(&pacer->strip, 0 - (s64)pacer->caps.index_to_wire_ns_min, true) + 1;
}

void kpn_update_fast_path(struct kpn_pacer *pacer)
{
	const struct kpn_ring *ring = &pacer->ring;
	bool plain = !pacer->reading.distrust && ring->head.seq > pacer->reading.restart_seq &&
		     ring->tail.seq - ring->index_seq > pacer->reading.quiet_slots;

	pacer->reading.fast_path_end_seq = plain ? ring->tail.seq - pacer->reading.quiet_slots : 0;
	use_rates(pacer);
}

/*
 * The wire may have stood at the end of the posted slots, @tail_seq at @tail_ps, while the lower
 * bound went on, and may have restarted with the restart latency.
 */
static void loosen_at(struct kpn_pacer *pacer, u64 tail_seq, u64 tail_ps, u64 lower_ps)
{
	s64 beyond_ps = (s64)(lower_ps - tail_ps);

	pacer->stats.suspected_underruns++;
	pacer->synchronised = false;
	pacer->reading.restart_seq = tail_seq;
	pacer->reading.steady_ps = tail_ps;
	kpn_strip_loosen(&pacer->strip,
			 pacer->reading.restart_ps_max + (beyond_ps > 0 ? (u64)beyond_ps : 0), 0);
	kpn_emit(pacer, KPN_EVENT_SUSPECTED_UNDERRUN);
}

/* The clock was set while the wire may stand still: the time is wrong once the wire starts. */
static void suspect_again(struct kpn_pacer *pacer)
{
	if (!pacer->synchronised)
		return;
	pacer->synchronised = false;
	kpn_emit(pacer, KPN_EVENT_SUSPECTED_UNDERRUN);
}

void kpn_pacer_delay(struct kpn_pacer *pacer, u64 delay_ps)
{
	u64 cpu_ns = kpn_cpu_now(pacer);

	if (!pacer->running)
		return;
	pacer->synchronised = false;
	pacer->stats.suspected_underruns++;
	pacer->reading.steady_ps = pacer->ring.tail.ps;
	/*
	 * an index that lags belongs to the time before the delay until it has passed where the
	 * wire may be
	 */
	pacer->reading.restart_seq = kpn_pacer_head(pacer, cpu_ns).upper_seq;
	/* for so long the index may stand still although the NIC is not dead */
	pacer->reading.progress_ns = cpu_ns + kpn_div_u64(delay_ps, 1000);
	kpn_strip_loosen(&pacer->strip, delay_ps, 0);
	kpn_update_fast_path(pacer);
	kpn_emit(pacer, KPN_EVENT_SUSPECTED_UNDERRUN);
}

KPN_NOINLINE void kpn_suspect_idle(struct kpn_pacer *pacer, u64 cpu_ns)
{
	const struct kpn_ring *ring = &pacer->ring;
	struct kpn_interval wire = kpn_strip_at(&pacer->strip, cpu_ns);

	if ((s64)(ring->tail.ps - wire.upper_ps) >= (s64)pacer->reading.restart_ps_max)
		return;
	/*
	 * Suspected before, and no doorbell since: the wire has not restarted. If every poll
	 * lowered the bound again, the bound would never reach the tail and an idle wire would stay
	 * idle.
	 */
	if (pacer->reading.restart_seq == ring->tail.seq) {
		suspect_again(pacer);
		return;
	}
	/* lower the bound at the strip's own moment, a tick after the reading */
	loosen_at(pacer, ring->tail.seq, ring->tail.ps, pacer->strip.lower_ps);
}

void kpn_carry(struct kpn_pacer *pacer, u64 now_ns)
{
	struct kpn_strip *strip = &pacer->strip;
	u64 beyond_ps = (now_ns - strip->cpu_ns + 1) * 1002;

	kpn_strip_merge_late(strip, now_ns, strip->lower_ps, strip->upper_ps + beyond_ps);
}

void kpn_doubt_lengths(struct kpn_pacer *pacer, u64 changed_ps, u64 end_seq)
{
	kpn_carry(pacer, kpn_cpu_now(pacer) + pacer->reading.tick_ns);
	if (!pacer->reading.doubtful_ps || end_seq > pacer->reading.doubtful_seq)
		pacer->reading.doubtful_seq = end_seq;
	pacer->reading.doubtful_ps += changed_ps;
	/* wire and frames may be off by that much once these lengths have left */
	kpn_strip_loosen(&pacer->strip, changed_ps, changed_ps);
	pacer->reading.unsure_seq = pacer->ring.tail.seq;
	pacer->stats.doubts++;
	pacer->synchronised = false;
	pacer->reading.distrust = KPN_DISTRUST_POLLS;
	kpn_update_fast_path(pacer);
	kpn_emit(pacer, KPN_EVENT_DOUBT);
}

KPN_NOINLINE void kpn_keep_doubt(struct kpn_pacer *pacer, u64 passed_seq)
{
	pacer->synchronised = false;
	pacer->reading.distrust = KPN_DISTRUST_POLLS;
	if (passed_seq < pacer->reading.doubtful_seq)
		return;
	pacer->reading.doubtful_ps = 0;
	kpn_emit(pacer, KPN_EVENT_DOUBT);
}

void kpn_suspect_late_doorbell(struct kpn_pacer *pacer, u64 tail_seq, u64 tail_ps, u64 doorbell_ns)
{
	struct kpn_strip *strip = &pacer->strip;
	s64 beyond_ps;

	if ((s64)(tail_ps - kpn_strip_at(strip, doorbell_ns).upper_ps) >=
	    (s64)pacer->reading.restart_ps_max)
		return;
	/* before the doorbell there was no slot for the index to move to */
	pacer->reading.progress_ns = doorbell_ns;
	/* the rates learnt from here on must not contain the pause */
	kpn_carry(pacer, doorbell_ns + pacer->reading.tick_ns);
	beyond_ps = (s64)(strip->lower_ps + pacer->reading.restart_ps_max - tail_ps);
	/*
	 * the reading raised the suspicion already: since then the lower bound has moved on to the
	 * doorbell
	 */
	if (pacer->reading.restart_seq != tail_seq)
		loosen_at(pacer, tail_seq, tail_ps, strip->lower_ps);
	else if (beyond_ps > 0)
		kpn_strip_loosen(strip, (u64)beyond_ps, 0);
	suspect_again(pacer);
	kpn_update_fast_path(pacer);
}
