// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which slot a txtime means while slots run freely: the paper's formula (C1) on the clock law; on
 * the grid kpn_target_of() computes it. Also the slot that the earliest frame held back waits for.
 */
#include "kpn_target.h"

/* 26 days: anchors are renewed every 13, so a slot this far from one is never near the head. */
#define TXTIME_SPAN_NS (1ll << 51)

u64 kpn_target_of_paper(const struct kpn_pacer *pacer, s64 ns)
{
	const struct kpn_cursor *head = &pacer->ring.head;
	s64 anchor_ns = pacer->clock.anchor.ns;
	s64 away_ns;
	s64 ahead_ps;

	/*
	 * The law holds within 53 days of its anchor. Any txtime further away is early, or late,
	 * all the same.
	 */
	if (__builtin_sub_overflow(ns, anchor_ns, &away_ns)) /* a txtime is not negative */
		away_ns = TXTIME_SPAN_NS + 1;
	if (away_ns > TXTIME_SPAN_NS)
		ns = anchor_ns + TXTIME_SPAN_NS;
	if (away_ns < -TXTIME_SPAN_NS)
		ns = anchor_ns - TXTIME_SPAN_NS;
	ahead_ps =
		(s64)(kpn_clock_position_at(&pacer->clock, (struct kpn_time){ ns, 0 }) - head->ps);
	if (ahead_ps < 0)
		return head->seq - 1 - kpn_div_u64(0 - (u64)ahead_ps - 1, pacer->time.slot_ps);
	return head->seq + kpn_div_u64((u64)ahead_ps, pacer->time.slot_ps);
}

void kpn_insert_rekey(struct kpn_pacer *pacer)
{
	const struct kpn_frame *frame = kpn_prebuffer_earliest(&pacer->prebuffer);

	pacer->frames.heap_due_seq = frame ? kpn_target_of(pacer, frame) : KPN_SEQ_NEVER;
}
