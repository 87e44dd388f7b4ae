// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reports of a pacer on itself: state, counters, rate and limits. Nothing here changes what is
 * sent.
 */
#include "keepon/pacer.h"

#include "kpn_math.h"
#include "kpn_pacer_state.h"
#include "kpn_search.h"

u32 kpn_pacer_frame_slots(const struct kpn_pacer *pacer, u32 frame_bytes)
{
	if (frame_bytes <= pacer->frames.real_bytes_max)
		return 1;
	if (pacer->span.slots_max < 2 || frame_bytes > pacer->config.frame_bytes_max)
		return 0;
	return kpn_span_of(&pacer->span.rule, frame_bytes).slots;
}

u32 kpn_pacer_frame_bytes_max(const struct kpn_pacer *pacer, u8 tc)
{
	u32 least = pacer->frames.real_bytes_max;
	u32 most = pacer->span.slots_max > 1 ? pacer->config.frame_bytes_max : least;

	if (!kpn_has_slots(pacer, tc))
		return 0;
	while (least < most) {
		u32 middle = least + (most - least + 1) / 2;

		if (kpn_pacer_frame_slots(pacer, middle) <= kpn_row_max(pacer, tc))
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

u32 kpn_pacer_lead_slots(const struct kpn_pacer *pacer)
{
	return pacer->frames.lead_slots;
}

/* Distance of a position from the further end of an interval. */
static u64 reach_of(struct kpn_interval wire, u64 position_ps)
{
	s64 below_ps = (s64)(position_ps - wire.lower_ps);
	s64 above_ps = (s64)(wire.upper_ps - position_ps);

	return (u64)(below_ps > above_ps ? below_ps : above_ps);
}

/* Most PHC time that passes while the wire moves by @wire_ps. */
static u64 clock_ps(const struct kpn_clock *clock, u64 wire_ps)
{
	if (clock->scaled_ppm <= 0)
		return wire_ps;
	/* x 1000 / 2^10: from ns x 2^10 to ps */
	return ((kpn_mul_shr(wire_ps, clock->mult, 62) + 1) * 1000 >> 10) + 1;
}

struct kpn_state kpn_pacer_state(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct kpn_head head = kpn_pacer_head(pacer, cpu_ns);
	u64 error_ps = reach_of(head.wire, kpn_strip_read(&pacer->strip, head.wire));

	return (struct kpn_state){
		.synchronised = pacer->synchronised,
		.head_valid = head.valid,
		.clock_error_ps = clock_ps(&pacer->clock, error_ps),
		.base = pacer->phase_locked ? pacer->align.base : 0,
		.head_seq = pacer->ring.head.seq,
		.tail_seq = pacer->ring.tail.seq,
		.lock_seq = pacer->phase_locked ? pacer->align.lock_seq : 0,
		.planned_seq =
			pacer->todo & KPN_TODO_PLAN ? pacer->ring.plan.seq : pacer->ring.tail.seq,
		.pending = pacer->frames.pending,
		.scaled_ppm = pacer->clock.scaled_ppm,
	};
}

const struct kpn_stats *kpn_pacer_stats(struct kpn_pacer *pacer)
{
	pacer->stats.slots_completed = pacer->ring.head.seq;
	pacer->stats.slots_posted = pacer->ring.tail.seq;
	return &pacer->stats;
}

s64 kpn_pacer_rate(const struct kpn_pacer *pacer)
{
	return kpn_strip_rate(&pacer->strip);
}

u64 kpn_pacer_steady_ps(const struct kpn_pacer *pacer)
{
	return pacer->reading.steady_ps;
}

const struct kpn_clock *kpn_pacer_clock(const struct kpn_pacer *pacer)
{
	return &pacer->clock;
}

/*
 * Frames, with B the budget: B complete; all best effort in the ring (at most B) makes room, each
 * stored twice; B more are placed, tried in two other slots, or taken back, again stored twice. For
 * each class with waiting frames, one or two searches find no slot. A switch of tables searches a
 * slot open to no class on either side.
 */
struct kpn_limits kpn_pacer_limits(const struct kpn_pacer *pacer)
{
	const struct kpn_config *config = &pacer->config;
	/*
	 * Up to four searches for a row of slots, each of whose rows is checked once more; for a
	 * frame that may have another slot than its own, eight searches in place of two.
	 */
	u32 search_words = (config->ring_slots / 32 + 4) * (pacer->span.slots_max > 1 ? 20 : 1);
	/* the last frame of a budget can take more slots than are left of it */
	u32 budget = config->budget_frames + pacer->span.slots_max - 1;
	u32 switch_words = 2 * (pacer->posting.gap_slots_max / 32 + 4);

	return (struct kpn_limits){
		.frames = 7 * budget,
		.trims =
			4 * pacer->posting.trims_max + (pacer->span.slots_max > 1 ? 7 * budget : 0),
		.rearms = pacer->caps.desc_persistent ?
				  0 :
				  2 * (pacer->posting.rearm_max + pacer->span.slots_max - 1),
		.words = (3 * budget + 2 * KPN_CLASS_COUNT) * search_words + switch_words,
		.stall_ns = pacer->reading.stall_ns,
	};
}
