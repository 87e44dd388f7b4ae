/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The wire is less certain: it may have stood still, or lengths were stored too late. */
#ifndef KPN_DOUBT_H
#define KPN_DOUBT_H

#include "kpn_pacer_state.h"

enum {
	/* After a slip this many readings must agree before frames are inserted again. */
	KPN_DISTRUST_POLLS = 16,
};

/** kpn_update_fast_path() - renew its end: how far the next reading may move the index */
void kpn_update_fast_path(struct kpn_pacer *pacer);

/**
 * kpn_suspect_late_doorbell() - suspect that the wire stood still at @tail_seq before the doorbell
 * for the slots after it, which was over at CPU time @doorbell_ns
 */
void kpn_suspect_late_doorbell(struct kpn_pacer *pacer, u64 tail_seq, u64 tail_ps, u64 doorbell_ns);

/**
 * kpn_suspect_idle() - few slots are posted: suspect an idle wire if it could reach their end
 * before a doorbell takes effect
 */
void kpn_suspect_idle(struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_carry() - carry the strip on to @now_ns, whatever a reading says: slots that the wire has
 * certainly passed must be posted again before it runs dry
 */
void kpn_carry(struct kpn_pacer *pacer, u64 now_ns);

/**
 * kpn_doubt_lengths() - lengths were stored in slots before @end_seq that may have been fetched
 * with the old ones: until these slots have left, and for some readings more, the wire position is
 * less certain by @changed_ps either way, and the clock is unsynchronised
 */
void kpn_doubt_lengths(struct kpn_pacer *pacer, u64 changed_ps, u64 end_seq);

/** kpn_keep_doubt() - after a reading before which the slots before @passed_seq had left */
void kpn_keep_doubt(struct kpn_pacer *pacer, u64 passed_seq);

/**
 * kpn_trust_more() - a reading has agreed
 *
 * A reading whose index has not moved does not count: the index may be frozen while the wire goes
 * on.
 */
static inline void kpn_trust_more(struct kpn_pacer *pacer, u32 moved)
{
	if (KPN_UNLIKELY(pacer->reading.distrust) && moved)
		pacer->reading.distrust--;
}

#endif
