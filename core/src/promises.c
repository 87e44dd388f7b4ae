// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What a configuration promises: how near the grid slots start, and which rates it can follow. */
#include "kpn_promises.h"

/*
 * Where any slot may be trimmed, all slots may belong to frames of several, which take smaller
 * trims.
 */
static void least_span_trim(const struct kpn_pacer *pacer, u64 *trim_ps)
{
	if (pacer->span.keep_ps && *trim_ps > (u64)pacer->span.keep_ps)
		*trim_ps = (u64)pacer->span.keep_ps;
}

struct kpn_bounds kpn_pacer_bounds(const struct kpn_pacer *pacer, u32 rate_ppb, u32 rate_change_ppb)
{
	/*
	 * The strip is at most a slot wide, plus the lag of the index, a restart, and the greatest
	 * difference of the rates over the longest time between polls.
	 */
	u64 lag_ps = 1000ull * (u64)(pacer->caps.index_to_wire_ns_max -
				     (s64)pacer->caps.index_to_wire_ns_min) +
		     pacer->time.poll_ns * 2 + 1000ull * pacer->caps.restart_ns_max +
		     1000ull * (KPN_REPLAN_NS + pacer->caps.store_ns_max);
	struct kpn_align align;
	u32 unalterable;

	/* a staircase changes its rate at the head, which is as old as the last poll */
	if (pacer->config.clock_read == KPN_CLOCK_COUNTER)
		lag_ps += 1000ull * (pacer->time.poll_ns + pacer->time.dither_ns) +
			  pacer->time.slot_ps;
	unalterable = pacer->frames.fetched_slots + pacer->span.slots_max + 3 +
		      (u32)kpn_div_u64(lag_ps, pacer->time.slot_ps_min);
	align = pacer->align;
	least_span_trim(pacer, &align.down_ps);
	least_span_trim(pacer, &align.up_ps);
	return kpn_align_bounds(&align, unalterable, kpn_gap_slots(pacer), rate_ppb,
				rate_change_ppb);
}

/*
 * Until the next slot that may be trimmed, slots drift off the grid by rate x distance, which that
 * trim must undo; by the rate, the trim is shorter itself.
 */
u32 kpn_pacer_rate_ppb_max(const struct kpn_pacer *pacer)
{
	const struct kpn_align *align = &pacer->align;
	u64 least_ps = align->down_ps < align->up_ps ? align->down_ps : align->up_ps;
	u64 gap_slots = pacer->config.trim == KPN_TRIM_ANY ? pacer->span.slots_max :
							     pacer->posting.gap_slots_max;
	u64 gap_ps = pacer->time.slot_ps * gap_slots;
	u64 rounded_ps = ((gap_ps + least_ps) >> 32) + 4; /* what kpn_align_bounds() rounds up by */
	u64 most_ppb;

	least_span_trim(pacer, &least_ps);
	if (!pacer->phase_locked)
		return KPN_ADJ_PPB_MAX;
	if (least_ps <= rounded_ps)
		return 0;
	most_ppb = kpn_div_u64((least_ps - rounded_ps) * 1000000000, gap_ps + least_ps);
	return most_ppb < KPN_ADJ_PPB_MAX ? (u32)most_ppb : KPN_ADJ_PPB_MAX;
}

s64 kpn_pacer_scaled_ppm_max(const struct kpn_pacer *pacer)
{
	return (s64)kpn_div_u64((u64)kpn_pacer_rate_ppb_max(pacer) * 65536, 1000);
}
